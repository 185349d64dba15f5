"""Witness files on their way through the spool: large ones beside small jobs, files that hang, change
or are none, a full disk, processes that die."""

import ctypes
import os
import signal
import threading
import time

import msgpack
from hanging import HangingFolder, Unavailable
from harness import (Circuit, Daemon, Failure, Suite, expect, expect_equal, marked_processes,
                     wait_until, write_config)
from rpc import Client, RemoteError

MIB = 1 << 20


def spool_of(daemon):
    return daemon.status()["spool"]


def spool_files(daemon):
    return sorted(os.listdir(daemon.folder / "state" / "spool"))


def intakes(daemon):
    return [pid for pid, name in marked_processes(daemon.mark).items() if name == "cuzk-intake"]


def garbage(daemon, name, size, fill=b"witness "):
    path = daemon.folder / name
    with open(path, "wb") as file:
        block = fill * (MIB // len(fill))
        for _ in range(size // MIB):
            file.write(block)
        file.write(block[:size % MIB])
    return path


def expect_refused(code, words, call, *arguments):
    try:
        call(*arguments)
    except RemoteError as error:
        expect_equal(error.code, code, f"code of \"{error}\"")
        for word in words:
            expect(word in error.message, f"lacks \"{word}\": {error}")
        return error
    raise Failure("it was taken")


class Background:
    """A submit in a thread, with what came of it."""

    def __init__(self, daemon, circuit, path):
        self.result = None
        self.thread = threading.Thread(target=self._run, args=(daemon, circuit, path))
        self.thread.start()

    def _run(self, daemon, circuit, path):
        try:
            with Client(daemon.socket) as client:
                self.result = client.submit(circuit, [path])
        except Exception as error:
            self.result = error

    def join(self):
        self.thread.join(60)
        if isinstance(self.result, RemoteError):
            raise self.result
        expect(isinstance(self.result, int), f"submit: {self.result!r}")
        return self.result


def large_files_leave_small_jobs_alone(daemon, circuit):
    """1 to 200 MiB. They are no witnesses: synthesis says so, from the copy."""
    before = spool_of(daemon)
    paths = [garbage(daemon, f"large-{n}", n * MIB + n) for n in (1, 13, 64, 200)]
    small = circuit.witnesses[0].read_bytes()
    with Client(daemon.socket) as client:
        waits, alone = [], []
        for times, jobs in ((alone, None), (waits, [Background(daemon, circuit.label, p)
                                                    for p in paths])):
            while len(times) < 20 or (jobs and any(j.thread.is_alive() for j in jobs)):
                begin = time.monotonic()
                expect_equal(client.wait(client.submit(circuit.label, [small]))["state"], "done",
                             "a small job")
                times.append(time.monotonic() - begin)
        for job in jobs:
            answer = client.wait(job.join())
            expect_equal(answer["state"], "failed", "a file that is no witness")
    print(f"  {len(waits)} small jobs beside them, at most {max(waits):.3f} s, "
          f"alone {max(alone):.3f} s", flush=True)
    expect(max(waits) < 5, "a small job waited for a large file")
    after = spool_of(daemon)
    expect_equal(after["files_copied"] - before["files_copied"], 4, "files copied")
    expect_equal(after["bytes_copied"] - before["bytes_copied"], 278 * (MIB + 1), "bytes copied")
    for path in paths:
        path.unlink()


def a_witness_is_proved_from_its_copy(daemon, circuit):
    """The client's file is gone when synthesis reads."""
    path = daemon.folder / "short-lived.wtns"
    path.write_bytes(circuit.witnesses[0].read_bytes())
    with Client(daemon.socket) as client:
        job = client.submit(circuit.label, [path])
        os.truncate(path, 0)
        path.unlink()
        expect_equal(client.wait(job)["state"], "done", "the job")


def what_is_no_file_is_refused(daemon, circuit):
    fifo = daemon.folder / "fifo"
    os.mkfifo(fifo)
    reader, writer = os.pipe()
    with Client(daemon.socket) as client:
        def send(fd):
            items = dict(circuit=circuit.label, inputs=[{"fd": True}], fds=1)
            client.call("submit", items, [fd])
        fd = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        expect_refused("bad_input", ["a pipe"], send, fd)
        expect_refused("bad_input", ["a pipe"], send, reader)
        expect_refused("bad_input", ["a directory"], send, os.open("/", os.O_RDONLY))
        expect_refused("bad_input", ["a device"], send, os.open("/dev/zero", os.O_RDONLY))
        expect_refused("bad_input", ["empty"], send, os.open("/proc/self/maps", os.O_RDONLY))
        # One that says it has 4096 bytes, and has fewer.
        said = "/sys/kernel/mm/transparent_hugepage/enabled"
        if os.path.exists(said):
            expect_refused("bad_input", ["witness file 0", "shorter"], send,
                           os.open(said, os.O_RDONLY))
    os.close(writer)
    fifo.unlink()


def stopped_at_a_file(daemon, path, circuit):
    """A submit whose copy has begun and goes no further: (the submit, the stopped process)."""
    background = Background(daemon, circuit.label, path)
    def begun():
        for pid in intakes(daemon):
            try:
                files = {os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")}
            except OSError:
                continue
            if any(f.startswith(str(path)) for f in files):
                os.kill(pid, signal.SIGSTOP)
                return pid
        return None
    return background, wait_until(begun, 20, "the copy begins")


def changed_while_copied(daemon, circuit):
    path = garbage(daemon, "changing", 160 * MIB)
    cases = {"shorter": lambda: os.truncate(path, MIB),
             "longer": lambda: os.truncate(path, 400 * MIB),
             "written to": lambda: os.utime(path)}
    for word, change in cases.items():
        background, pid = stopped_at_a_file(daemon, path, circuit)
        change()
        os.kill(pid, signal.SIGCONT)
        expect_refused("bad_input", ["witness file 0", word], background.join)
        garbage(daemon, "changing", 160 * MIB)
    path.unlink()


def a_process_killed_over_a_file_loses_nothing(daemon, circuit):
    path = garbage(daemon, "killed", 160 * MIB)
    background, pid = stopped_at_a_file(daemon, path, circuit)
    os.kill(pid, signal.SIGKILL)
    with Client(daemon.socket) as client:
        expect_equal(client.wait(background.join())["state"], "failed", "the job of garbage")
    path.unlink()


def a_process_that_is_stopped_is_given_up(daemon, circuit):
    """Where no file system can be made to hang, this is the next best."""
    path = garbage(daemon, "stopped", 64 * MIB)
    begin = time.monotonic()
    background, pid = stopped_at_a_file(daemon, path, circuit)
    daemon.prove(circuit.label, [circuit.witnesses[0]], timeout=20)
    try:
        background.join()
        raise Failure("it was taken")
    except RemoteError as error:
        # busy: it was stopped while it waited for the disk, which is not the client's fault
        expect(error.code == "bad_input" and "too slow" in error.message, f"{error}")
    print(f"  given up after {time.monotonic() - begin:.1f} s", flush=True)
    wait_until(lambda: pid not in intakes(daemon), 10, "the stopped process is gone")
    path.unlink()


def a_file_system_that_hangs_holds_nobody_up(daemon, circuit, folder):
    """Not the supervisor, which neither asks it nor waits for a close; not other jobs; not the start
    of a process."""
    client = Client(daemon.socket)
    fd = os.open(folder.path, os.O_RDONLY)
    folder.hang()
    begin = time.monotonic()
    client.send(msgpack.packb([0, 1, "submit", [dict(circuit=circuit.label, inputs=[{"fd": True}],
                                                     fds=1)]]), [fd])
    os.close(fd)
    client.socket.settimeout(0.01)
    slowest, victim, reply = 0, None, None
    while reply is None:
        expect(time.monotonic() - begin < 30, "no answer")
        try:
            reply = client.receive()
        except TimeoutError:
            pass
        asked = time.monotonic()
        copying = spool_of(daemon)["copying"]
        slowest = max(slowest, time.monotonic() - asked)
        if victim is None and copying:
            victim = next(w for w in daemon.workers() if w["kind"] == "finalizer")["pid"]
            os.kill(victim, signal.SIGKILL)
        daemon.prove(circuit.label, [circuit.witnesses[0]], timeout=20)
    error = reply[2]
    expect(error and error["code"] == "bad_input", f"reply {reply}")
    expect("too slow" in error["message"], f"{error}")
    expect(victim is not None, "the copy never began")
    expect(slowest < 2, f"status took {slowest:.1f} s")
    # What waits for it in the kernel does not die. Others have their files copied all the same.
    wait_until(lambda: spool_of(daemon)["lost"] == 1, 20, "a process is written off")
    a_witness_is_proved_from_its_copy(daemon, circuit)
    print(f"  status at most {slowest:.3f} s", flush=True)
    folder.end()


def hanging_case(suite, daemon, circuit):
    name = "a_file_system_that_hangs_holds_nobody_up"
    try:
        with HangingFolder(32 * MIB) as folder:
            suite.case(name, a_file_system_that_hangs_holds_nobody_up, daemon, circuit, folder)
    except Unavailable as why:
        suite.skip(name, str(why))


def nothing_is_left(daemon):
    wait_until(lambda: spool_files(daemon) == [], 10, "the spool is empty")
    wait_until(lambda: spool_of(daemon)["lost"] == 0, 10, "the kernel lets go of what was killed")
    spool = spool_of(daemon)
    expect_equal({k: spool[k] for k in ("files", "bytes", "pending_bytes", "copying", "waiting",
                                        "lost")},
                 dict(files=0, bytes=0, pending_bytes=0, copying=0, waiting=0, lost=0), "figures")
    wait_until(lambda: len(intakes(daemon)) == 1, 10, "one process is left")


def orphans_are_collected(daemon, circuit):
    """After kill -9 in the middle of a copy, and with files that nobody knows."""
    path = garbage(daemon, "orphan", 160 * MIB)
    background, _ = stopped_at_a_file(daemon, path, circuit)
    wait_until(lambda: spool_files(daemon), 10, "a file is in the spool")
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait()
    background.thread.join(60)
    expect(spool_files(daemon), "the copy is gone already")
    (daemon.folder / "state" / "spool" / "999999-3").write_bytes(b"x")
    daemon.start()
    expect_equal(spool_files(daemon), [], "files in the spool")
    daemon.prove(circuit.label, [circuit.witnesses[0]])
    path.unlink()


def witnesses_are_for_their_owner_alone(daemon, circuit):
    path = garbage(daemon, "secret", 96 * MIB)
    background, pid = stopped_at_a_file(daemon, path, circuit)
    spool = daemon.folder / "state" / "spool"
    try:
        wait_until(lambda: spool_files(daemon), 10, "a file is in the spool")
        expect_equal(os.stat(spool).st_mode & 0o7777, 0o700, "mode of the folder")
        for name in spool_files(daemon):
            expect_equal(os.stat(spool / name).st_mode & 0o7777, 0o600, f"mode of {name}")
        limits = open(f"/proc/{pid}/limits").read()
        core = next(l for l in limits.splitlines() if l.startswith("Max core file size")).split()
        expect_equal(core[4:6], ["0", "0"], "core limit")
    finally:
        os.kill(pid, signal.SIGCONT)
    background.join()
    path.unlink()
    expect("witness witness" not in daemon.log(), "the log has a witness")


def full_disk(daemon, circuit, spool):
    """Submits with files are refused, before and at the copy; small ones go on; it recovers."""
    filler, path = spool / "filler", garbage(daemon, "big", 20 * MIB)
    with Client(daemon.socket) as client:
        expect_equal(client.wait(client.submit(circuit.label, [path]))["state"], "failed", "garbage")
        error = expect_refused("busy", ["MiB left"], client.submit, circuit.label,
                               [garbage(daemon, "bigger", 60 * MIB)])
        expect(error.retry_after_ms > 0, "no time to come back")
        wait_until(lambda: spool_of(daemon)["files"] == 0, 10, "the spool is empty")
        # Full behind the daemon's back, at once.
        with open(filler, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, 95 * MIB)
        expect_refused("busy", ["nothing was accepted"], client.submit, circuit.label, [path])
        expect("spool_full" in daemon.status()["flags"] or spool_of(daemon)["free_bytes"] == 0,
               "status does not say that it is full")
        small = circuit.witnesses[0].read_bytes()
        expect_equal(client.wait(client.submit(circuit.label, [small]))["state"], "done", "inline")
        filler.unlink()
        def taken():
            try:
                return client.submit(circuit.label, [path])
            except RemoteError as error:
                expect_equal(error.code, "busy", "code")
                return 0
        job = wait_until(taken, 20, "files are taken again")
        expect_equal(client.wait(job)["state"], "failed", "garbage")
        expect("spool_full" not in daemon.status()["flags"], "still full")
    expect_equal([n for n in os.listdir(spool) if n.endswith(".part")], [], "half-made files")


def full_disk_case(suite, circuit):
    name, libc = "a_full_disk_refuses_and_recovers_by_itself", ctypes.CDLL(None, use_errno=True)
    daemon = Daemon(start=False)
    spool = daemon.folder / "small"
    spool.mkdir()
    if libc.mount(b"none", str(spool).encode(), b"tmpfs", 6, b"size=100m,mode=700") < 0:
        suite.skip(name, f"a small disk cannot be mounted: {os.strerror(ctypes.get_errno())}")
        daemon.discard()
        return
    try:
        daemon.sections["Supervisor"]["SpoolDirectory"] = spool
        write_config(daemon.config, daemon.sections)
        with daemon:
            daemon.start()
            daemon.add(circuit)
            suite.case(name, full_disk, daemon, circuit, spool)
            suite.case("daemon_with_a_small_disk_stops", daemon.stop)
    finally:
        libc.umount2(str(spool).encode(), 2)


def main():
    suite, circuit = Suite("spool"), Circuit("mul", "bn128")
    merkle = Circuit("merkle20", "bn128")
    # Enough room for a stopped process to be found before its time is up.
    with Daemon({"Supervisor": {"IntakeTimeout": "3s"}}) as daemon:
        daemon.add(circuit)
        daemon.add(merkle)
        daemon.prove(circuit.label, [circuit.witnesses[0]])
        daemon.prove(merkle.label, [merkle.witnesses[0]])
        before = daemon.idle_state()
        for case, which in ((a_witness_is_proved_from_its_copy, merkle),
                            (large_files_leave_small_jobs_alone, circuit),
                            (what_is_no_file_is_refused, circuit),
                            (changed_while_copied, circuit),
                            (a_process_killed_over_a_file_loses_nothing, circuit),
                            (witnesses_are_for_their_owner_alone, circuit),
                            (a_process_that_is_stopped_is_given_up, circuit)):
            suite.case(case.__name__, case, daemon, which)
        hanging_case(suite, daemon, merkle)
        suite.case("nothing_is_left", nothing_is_left, daemon)
        suite.case("nothing_is_held_afterwards", daemon.expect_back_to, before)
        suite.case("orphans_are_collected", orphans_are_collected, daemon, circuit)
        suite.case("daemon_stops_and_leaves_nothing", daemon.stop)
    full_disk_case(suite, circuit)
    suite.exit()


if __name__ == "__main__":
    main()
