#!/usr/bin/python3
"""Workers in their sandbox: what the kernel says they run under, a worker that tries what it may
not, and hosts that have no sandbox to give. What each profile forbids is tried one by one in
tests/runtime/test_sandbox.c."""

import ctypes
import fcntl
import os
import struct
import subprocess
import time
from pathlib import Path

from harness import (BUILD, CUZKD, Circuit, Daemon, Suite, expect, expect_equal, marked_processes,
                     run, verify, wait_until)

LANDLOCK_CREATE_RULESET = 444


def kernel_words(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return dict(line.split(":\t", 1) for line in text.splitlines())


def has_sandbox(daemon):
    """A build with sanitizers and a kernel without have none; the daemon says which."""
    return "the sandbox of the workers is not whole" not in daemon.log()


def check_workers(suite):
    circuit = Circuit("mul", "bn128")
    with Daemon() as daemon:
        if not has_sandbox(daemon):
            suite.skip("workers_run_in_it", "no sandbox here")
            return
        daemon.add(circuit)
        daemon.prove(circuit.label, circuit.witnesses)
        status = daemon.status()
        expect(not any("sandbox" in f for f in status["flags"]), f"flags {status['flags']}")
        for worker in status["workers"]:
            expect_equal(worker["sandbox"], "full", worker["name"])
            words = kernel_words(worker["pid"])
            expect_equal((words["Seccomp"], words["NoNewPrivs"]), ("2", "1"), worker["name"])
            # Undumpable: its files in /proc are root's, whoever runs it.
            expect_equal(os.stat(f"/proc/{worker['pid']}/mem").st_uid, 0, worker["name"])
        copiers = [pid for pid, name in marked_processes(daemon.mark).items()
                   if name == "cuzk-intake"]
        expect(copiers, "no cuzk-intake")
        for pid in copiers:
            wait_until(lambda: kernel_words(pid)["Seccomp"] == "2", 10, "cuzk-intake is inside")


def check_helper(suite):
    """cuzk-synth --prepare, held at its end: nobody reads the pipe that its result goes to."""
    circuit = Circuit("mul", "bn128")
    with Daemon() as daemon:
        if not has_sandbox(daemon):
            suite.skip("helpers_run_in_it", "no sandbox here")
            return
    result, full = os.pipe()
    os.set_blocking(full, False)
    try:
        while True:
            os.write(full, bytes(4096))
    except BlockingIOError:
        os.set_blocking(full, True)
    key = os.open(circuit.zkey, os.O_RDONLY)
    output = os.memfd_create("key")

    def place():
        copies = [os.dup(fd) for fd in (key, output, full)]
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in copies]
        for number, fd in enumerate(high, 3):
            os.dup2(fd, number)

    process = subprocess.Popen([BUILD / "synth-worker" / "cuzk-synth", "--prepare", "--threads", "1"],
                               preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL)
    try:
        wait_until(lambda: os.fstat(output).st_size > 0, 30, "the key is written")
        words = kernel_words(process.pid)
        expect_equal((words["Seccomp"], words["NoNewPrivs"]), ("2", "1"), "the helper")
        expect(process.poll() is None, "it ended")
    finally:
        process.kill()
        process.wait()
        for fd in (result, full, key, output):
            os.close(fd)


def check_violation(suite):
    """The finalizer of a test build is told to run a program: its end is named, nothing else is
    harmed, and the service goes on."""
    circuit = Circuit("mul", "bn128")
    with Daemon({"Supervisor": {"AttemptsMax": 2}},
                environment={"CUZK_TEST_FORBIDDEN": "1"}) as daemon:
        if not has_sandbox(daemon):
            suite.skip("violation_is_named", "no sandbox here")
            return
        daemon.add(circuit)
        result = daemon.ctl("prove", "--circuit", circuit.label, "--witness", circuit.witnesses[0],
                            "--proof", daemon.folder / "p", "--public", daemon.folder / "q")
        words = "its sandbox forbids the system call execve (59)"
        expect(result.code == 1 and words in result.err, str(result))
        expect(f"finalizer-0: {words}" in daemon.log(), "the log does not name the call")
        worker = next(w for w in daemon.workers() if w["kind"] == "finalizer")
        expect(words in worker["last_error"], f"last error {worker['last_error']}")


def check_off():
    circuit = Circuit("mul", "bn128")
    with Daemon({"Supervisor": {"Sandbox": "off"}}) as daemon:
        daemon.add(circuit)
        proof, public = daemon.prove(circuit.label, [circuit.witnesses[0]])
        expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")
        expect("workers run without a sandbox" in daemon.log(), "the log does not say so")
        flags = daemon.status()["flags"]
        for name in ("synth-0", "gpu-0", "finalizer-0"):
            expect(f"not_sandboxed:{name}" in flags, f"flags {flags}")


def without_landlock():
    """From here on in this process and its children the kernel has no Landlock, as in an older
    container: a seccomp filter answers ENOSYS."""
    libc = ctypes.CDLL(None, use_errno=True)
    rules = [(0x20, 0, 0, 0),  # load the number
             (0x15, 0, 1, LANDLOCK_CREATE_RULESET),
             (0x06, 0, 0, 0x00050000 | 38),
             (0x06, 0, 0, 0x7FFF0000)]
    code = b"".join(struct.pack("=HBBI", *rule) for rule in rules)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("=H6xQ", len(rules), ctypes.addressof(buffer))
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, program, 0, 0) != 0:
        os._exit(77)


def in_child(function):
    """Runs it in a process of its own; it fails there as here."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            without_landlock()
            function()
            code = 0
        except Exception as error:
            print(f"  {error}", flush=True)
        finally:
            os._exit(code)
    expect_equal(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, "exit code of the case")


def prefer_without_landlock():
    circuit = Circuit("mul", "bn128")
    with Daemon() as daemon:
        daemon.add(circuit)
        daemon.prove(circuit.label, circuit.witnesses)
        for worker in daemon.workers():
            expect_equal(worker["sandbox"], "calls", worker["name"])
        expect("not_sandboxed:synth-0" in daemon.status()["flags"], "no flag")
        lines = [l for l in daemon.log().splitlines() if "the sandbox of" in l]
        expect(len(lines) == 1 and "Landlock" in lines[0], f"lines of the log: {lines}")


def require_without_landlock():
    daemon = Daemon({"Supervisor": {"Sandbox": "require"}}, start=False)
    try:
        begin = time.monotonic()
        result = run(CUZKD, "--config", daemon.config, timeout=60)
        expect(result.code == 1 and "cannot be put into a sandbox: Landlock" in result.err and
               "Sandbox=prefer" in result.err, str(result))
        expect(time.monotonic() - begin < 20, "it takes long to say so")
    finally:
        daemon.discard()


def main():
    suite = Suite("sandbox")
    suite.case("workers_run_in_it", check_workers, suite)
    suite.case("helpers_run_in_it", check_helper, suite)
    suite.case("violation_is_named", check_violation, suite)
    suite.case("off_goes_on_and_says_so", check_off)
    with Daemon() as daemon:
        whole = has_sandbox(daemon)
    if whole:
        suite.case("prefer_goes_on_with_what_there_is", in_child, prefer_without_landlock)
        suite.case("require_does_not_start_without", in_child, require_without_landlock)
    else:
        suite.skip("kernels_without", "no sandbox here")
    suite.exit()


if __name__ == "__main__":
    main()
