#!/usr/bin/python3
"""What an operator sees: exit codes, --json, configuration messages, stopping, secrets, hugepages."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import tempfile
import time
from pathlib import Path

from harness import (CUZKCTL, CUZKD, Circuit, Daemon, Failure, Suite, default_config, expect,
                     expect_equal, huge_pages, marked_processes, run, verify, wait_until,
                     write_config)
import formats

TIMING = re.compile(r"(SYN|GPU|FIN|SUP)_TIMING [a-z_]+ job=(\d+) partition=(\d+) outcome=(\w+)"
                    r"((?: \w+_ms=\d+\.\d{3}| attempts=\d+)+)$")
# Of a worker's start, which belongs to no job.
TIMING_START = re.compile(r"GPU_TIMING start( \w+_ms=\d+\.\d{3})+$")


def ctl(*arguments, **named):
    return run(CUZKCTL, *arguments, **named)


# ---- cuzkctl alone

def usage_errors():
    for arguments in ((), ("no-such-verb",), ("--no-such-option", "status"), ("prove",),
                      ("prove", "--circuit", "x"), ("circuit",), ("circuit", "no-such"),
                      ("circuit", "add"), ("circuit", "add", "name"), ("wait",), ("wait", "abc"),
                      ("wait", "-1"), ("cancel", "12x"), ("verify",), ("verify", "--vkey", "x"),
                      ("status", "extra"), ("--socket",)):
        result = ctl(*arguments)
        expect(result.code == 2, lambda: f"cuzkctl {arguments}: expected exit 2: {result}")
        expect(result.err.strip(), f"cuzkctl {arguments}: no word about it")


def help_and_version():
    for program in (CUZKCTL, CUZKD):
        for option, words in (("--help", "sage"), ("--version", ".")):
            result = run(program, option)
            expect(result.code == 0 and words in result.out, lambda: f"{program} {option}: {result}")


def no_daemon_is_3():
    with tempfile.TemporaryDirectory() as folder:
        witness = f"{folder}/w"
        Path(witness).write_bytes(b"x")
        for arguments in (("status",), ("workers",), ("jobs",), ("circuit", "list"), ("wait", "1"),
                          ("cancel", "1"), ("circuit", "remove", "x"),
                          ("circuit", "add", "x", "--zkey", witness),
                          ("submit", "--circuit", "x", "--witness", witness)):
            result = ctl("--socket", f"{folder}/no.sock", *arguments)
            expect(result.code == 3, lambda: f"{arguments}: expected exit 3: {result}")
            expect("no.sock" in result.err or "no-admin.sock" in result.err,
                   lambda: f"does not say where it looked: {result}")


def verify_needs_no_daemon(circuit):
    proof, public = circuit.snark_proofs[0]
    files = ("--vkey", circuit.vkey, "--proof", proof, "--public", public)
    expect_equal(ctl("verify", *files).code, 0, "verify")
    answer = ctl("--json", "verify", *files)
    expect_equal(answer.code, 0, "verify --json")
    expect(isinstance(answer.json(), dict), "verify --json prints an object")
    other = circuit.snark_proofs[1][1]
    expect_equal(ctl("verify", *files[:-1], other).code, 1, "verify of another statement")
    expect_equal(ctl("verify", *files[:-1], "/no/such").code, 4, "verify without its file")


# ---- configuration

BAD_CONFIGS = [
    ("unknown_key", "[Ring]\nSlabz=4\n", r":2: .*Slabs"),
    ("unknown_section", "[Rings]\nSlabs=4\n", r":1: .*Ring"),
    ("key_of_another_section", "[Ring]\nSocket=/x\n", r":2: "),
    ("bad_number", "[Ring]\nSlabs=many\n", r":2: .*Slabs"),
    ("number_too_small", "[Ring]\nSlabs=0\n", r":2: .*1"),
    ("number_too_large", "[Ring]\nSlabs=99999999999999999999\n", r":2: "),
    ("bad_size", "[Ring]\nSlabSize=5X\n", r":2: .*SlabSize"),
    ("size_not_of_pages", "[Ring]\nSlabSize=3000000\n", r"SlabSize|HugePageSize|multiple"),
    ("size_overflows", "[Ring]\nSlabSize=99999999999G\n", r":2: "),
    ("bad_choice", "[Ring]\nHugePages=maybe\n", r":2: .*require"),
    ("bad_time", "[Supervisor]\nStopTimeout=soon\n", r":2: "),
    ("no_section", "Slabs=4\n", r":1: "),
    ("no_equals", "[Ring]\nSlabs 4\n", r":2: "),
    ("key_twice", "[Ring]\nSlabs=4\nSlabs=5\n", r":3: .*Slabs"),
    ("unclosed_section", "[Ring\nSlabs=4\n", r":1: "),
    ("circuit_without_key", "[Circuit \"a\"]\nR1cs=/x\n", r"Zkey"),
    ("circuit_bad_name", "[Circuit \"a b\"]\nZkey=/x\n", r":1: "),
    ("socket_too_long", f"[Supervisor]\nSocket=/{'x' * 200}.sock\n", r":2: .*Socket"),
    ("relative_socket", "[Supervisor]\nSocket=run.sock\n", r":2: .*Socket"),
]


def refuses_config(text, pattern):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bad.conf"
        path.write_text(text)
        for more in ((), ("--check-config",)):
            result = run(CUZKD, "--config", path, *more, timeout=20)
            expect(result.code != 0, lambda: f"started with {text!r}")
            expect(re.search(pattern, result.err), lambda: f"/{pattern}/ not in {result.err!r}")
            expect("bad.conf" in result.err, lambda: f"does not name the file: {result.err!r}")


def absent_config_is_named():
    result = run(CUZKD, "--config", "/no/such.conf")
    expect(result.code != 0 and "/no/such.conf" in result.err, lambda: str(result))


def check_config_prints_effective_values():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "good.conf"
        sections = default_config(folder)
        sections["Ring \"large\""] = {"Slabs": 2, "SlabSize": "64M"}
        write_config(path, sections)
        (Path(folder) / "good.conf.d").mkdir()
        write_config(Path(folder) / "good.conf.d" / "10-more.conf", {"Ring": {"Slabs": 7}})
        result = run(CUZKD, "--config", path, "--check-config")
        expect_equal(result.code, 0, "exit code")
        for words in ("Slabs=7", "[Ring \"large\"]", "10-more.conf", "StopTimeout"):
            expect(words in result.out, lambda: f"{words} not in {result.out}")
        expect_equal(sorted(p.name for p in Path(folder).iterdir()), ["good.conf", "good.conf.d"],
                     "--check-config writes nothing")


def check_config_says_what_is_short():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.conf"
        sections = default_config(folder)
        for keys, code, words in (
                ({"Slabs": 1024, "SlabSize": "1T"}, 5, "memory is short: up to 1"),
                ({"HugePages": "require", "Slabs": 1024, "SlabSize": "1T"}, 3, "hugepages are short"),
                ({"Slabs": 2, "SlabSize": "2M"}, 0, "it fits")):
            sections["Ring"] = {"HugePages": "off", **keys}
            write_config(path, sections)
            result = run(CUZKD, "--config", path, "--check-config")
            expect_equal(result.code, code, f"exit code of {keys}")
            for word in (words, "all together, at most", "prepared keys so far (0)"):
                expect(word in result.out, lambda: f"{word} not in {result.out}")


# ---- a running daemon

def json_everywhere(daemon, circuit):
    folder = daemon.folder
    outputs = ("--proof", folder / "j.proof", "--public", folder / "j.public")
    job = str(daemon.ctl_json("submit", "--circuit", circuit.label, "--witness",
                              circuit.witnesses[0], "--priority", "high")["job"])
    for arguments in (("status",), ("workers",), ("jobs",), ("circuit", "list"), ("wait", job),
                      ("result", job, *outputs),
                      ("prove", "--circuit", circuit.label, "--witness", circuit.witnesses[0],
                       *outputs)):
        for order in (("--json", *arguments), (*arguments, "--json")):
            value = daemon.ctl_ok(*order).json()
            expect(isinstance(value, dict), f"{arguments}: an object")
    result = daemon.ctl("--json", "wait", "999999")
    expect(result.code != 0, "wait for no job")
    text = result.out or result.err
    expect("error" in json.loads(text.strip().splitlines()[-1]), lambda: f"error as JSON: {result}")


def exit_codes(daemon, circuit):
    witness = circuit.witnesses[0]
    outputs = ("--proof", daemon.folder / "e.proof", "--public", daemon.folder / "e.public")
    expect_equal(daemon.ctl("wait", "999999").code in (1, 2, 4), True, "wait for no job fails")
    many = [x for _ in range(60) for x in ("--witness", witness)]
    job = str(daemon.ctl_json("submit", "--circuit", circuit.label, *many)["job"])
    expect_equal(daemon.ctl("wait", job, "--timeout", "0").code, 7, "wait that times out")
    expect_equal(daemon.ctl("cancel", job).code, 0, "cancel")
    expect_equal(daemon.ctl("wait", job).code, 6, "wait for a cancelled job")
    expect_equal(daemon.ctl("result", job, *outputs).code, 6, "result of a cancelled job")
    expect_equal(daemon.ctl_json("cancel", job)["outcome"], "cancelled", "second cancel")
    result = daemon.ctl("prove", "--circuit", circuit.label, "--priority", "urgent", "--witness",
                        witness, *outputs)
    expect(result.code == 2 and "critical" in result.err, lambda: f"bad priority: {result}")
    result = daemon.ctl("prove", "--circuit", "absent", "--witness", witness, *outputs)
    expect(result.code not in (0, 2, 3) and "absent" in result.err, lambda: str(result))
    result = daemon.ctl("circuit", "add", circuit.label, "--zkey", circuit.zkey)
    expect(result.code == 9 and "exists" in result.err, lambda: str(result))
    for name in ("a/b", "x" * 65, "", "a b"):
        result = daemon.ctl("circuit", "add", name, "--zkey", circuit.zkey)
        expect(result.code == 2, lambda: f"bad name {name!r}: {result}")
    expect(daemon.ctl("circuit", "remove", "absent").code not in (0, 3), "remove of no circuit")
    result = daemon.ctl("prove", "--circuit", circuit.label, "--witness", witness, "--proof",
                        "/no/such/folder/p", "--public", "/no/such/folder/q")
    expect(result.code not in (0, 3), lambda: f"output that cannot be written: {result}")


def status_for_people(daemon):
    text = daemon.ctl_ok("status").out
    for words in ("cpu", "ordinary", "synth-0", "gpu-0", "finalizer-0"):
        expect(words in text, lambda: f"{words!r} not in:\n{text}")
    status = daemon.status()
    expect("cpu_backend" in status["flags"], f"flags: {status['flags']}")
    expect("ordinary_pages" in status["flags"], f"flags: {status['flags']}")


def modes_of_files(daemon):
    run_folder = Path(daemon.socket).parent
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in run_folder.iterdir() if p.is_socket()}
    expect_equal(modes, {"cuzkd.sock": 0o660, "cuzkd-admin.sock": 0o600}, "modes of the sockets")
    for folder in ("state", "cache"):
        for path in (daemon.folder / folder).rglob("*"):
            if path.is_file():
                expect(not path.stat().st_mode & 0o077, f"others may read {path}")


def timing_lines(daemon, circuit):
    """One form, on success and failure alike; the job's own lines are all there."""
    job = daemon.ctl_json("submit", "--circuit", circuit.label, "--witness", circuit.witnesses[0],
                          "--witness", circuit.witnesses[1])["job"]
    daemon.ctl_ok("wait", str(job))
    broken = bytearray(circuit.witnesses[0].read_bytes())
    broken[-1] ^= 1
    path = daemon.folder / "unsatisfied.wtns"
    path.write_bytes(broken)
    bad = daemon.ctl_json("submit", "--circuit", circuit.label, "--witness", path)["job"]
    daemon.ctl("wait", str(bad))
    seen = {}
    for line in daemon.log().splitlines():
        if TIMING_START.search(line):
            continue
        if "_TIMING" in line:
            match = TIMING.search(line)
            expect(match, f"another form: {line}")
            kind, of_job, partition, outcome, phases = match.groups()
            expect(" total_ms=" in phases or kind == "SUP", f"no total: {line}")
            seen.setdefault(int(of_job), set()).add((kind, int(partition), outcome))
    wanted = {(kind, p, "ok") for kind in ("SYN", "GPU", "FIN", "SUP") for p in (0, 1)}
    expect(wanted <= seen[job], f"lines of the good job: {sorted(seen[job])}")
    expect(("SYN", 0, "failed") in seen[bad], f"lines of the failed job: {sorted(seen[bad])}")
    expect(("SUP", 0, "failed") in seen[bad], f"lines of the failed job: {sorted(seen[bad])}")


def secrets_stay_secret(circuit):
    """A private witness value appears in no log line, no file and no other output."""
    prime = formats.PRIMES[circuit.curve]
    marker = 0x0123456789abcdef_deadbeefcafef00d_5ec4e75ec4e75ec4e_1337 % prime
    # c = a*b with a the marker and b 3: the marker is private. And once unsatisfied.
    with Daemon() as daemon:
        daemon.add(circuit)
        good, bad = daemon.folder.parent / f"{daemon.mark}.g", daemon.folder.parent / f"{daemon.mark}.b"
        try:
            formats.write_wtns(good, prime, [1, 3 * marker % prime, marker, 3])
            formats.write_wtns(bad, prime, [1, 3 * marker % prime, marker, 4])
            proof, _ = daemon.prove(circuit.label, [good])
            refused = daemon.ctl("prove", "--circuit", circuit.label, "--witness", bad, "--proof",
                                 daemon.folder / "x", "--public", daemon.folder / "y")
            expect_equal(refused.code, 4, "the unsatisfied witness")
        finally:
            good.unlink(missing_ok=True)
            bad.unlink(missing_ok=True)
        texts = [str(marker), f"{marker:x}"]
        raw = [t.encode() for t in texts] + [f"{marker:X}".encode(), marker.to_bytes(32, "little"),
                                             marker.to_bytes(32, "big")]
        haystacks = {"errors": (refused.out + refused.err).encode(), "proof": proof.read_bytes(),
                     "status": json.dumps(daemon.status()).encode()}
        # While a job lives its small witnesses are in the journal (0600); soon after they are not.
        journal = list((daemon.folder / "state").glob("journal.db*"))
        expect(journal, "there is a journal")
        wait_until(lambda: not any(n in p.read_bytes() for p in journal for n in raw), 10,
                   "the journal has overwritten the secret")
        for path in daemon.folder.rglob("*"):
            if path.is_file():
                haystacks[str(path)] = path.read_bytes()
        expect(any("state" in k for k in haystacks), "the state folder holds files")
        for where, data in haystacks.items():
            expect(not any(needle in data for needle in raw), f"the secret is in {where}")


def workers_are_undumpable(daemon):
    """Other users cannot read a worker's memory or environment; no core is written."""
    for worker in daemon.workers():
        owner = os.stat(f"/proc/{worker['pid']}/environ").st_uid
        expect_equal(owner, 0, f"owner of {worker['name']}'s /proc files")


def second_daemon_is_refused(daemon):
    result = run(CUZKD, "--config", daemon.config, timeout=20)
    expect(result.code != 0, "a second daemon started with the same folders")
    expect(re.search(r"already|another|in use|lock", result.err), lambda: f"{result.err!r}")
    daemon.status()


def stop_is_clean(number):
    with Daemon() as daemon:
        daemon.process.send_signal(number)
        expect_equal(daemon.process.wait(30), 0, "exit code")
        daemon.process = None
        daemon.expect_nothing_left()


def stop_finishes_or_keeps_jobs(circuit):
    """SIGTERM with jobs queued: ends within its time; a waiting client goes on at the next start."""
    with Daemon({"Supervisor": {"StopTimeout": "5s"}}) as daemon:
        daemon.add(circuit)
        witnesses = [x for _ in range(100) for x in ("--witness", circuit.witnesses[0])]
        job = str(daemon.ctl_json("submit", "--circuit", circuit.label, *witnesses)["job"])
        waiter = subprocess.Popen([CUZKCTL, "--socket", daemon.socket, "wait", job],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  env={k: v for k, v in daemon.environment.items()
                                       if k != "CUZK_TEST_RUN"})
        time.sleep(0.3)
        begin = time.monotonic()
        daemon.process.send_signal(signal.SIGTERM)
        expect_equal(daemon.process.wait(15), 0, "exit code")
        expect(time.monotonic() - begin < 12, "took longer than StopTimeout")
        daemon.start()
        _, errors = waiter.communicate(timeout=60)
        expect_equal(waiter.returncode, 0, f"the waiting client: {errors}")


def wait_for_a_daemon_that_does_not_answer_is_bounded():
    """Every connection is closed: tried again with pauses, up to --timeout, and the job is named."""
    connections = 0
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = Path(folder) / "deaf.sock"
        listener.bind(str(path))
        listener.listen(64)
        waiter = subprocess.Popen([CUZKCTL, "--socket", path, "wait", "17", "--timeout", "2s"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        listener.settimeout(1)
        while waiter.poll() is None:
            try:
                listener.accept()[0].close()
                connections += 1
            except TimeoutError:
                pass
        _, errors = waiter.communicate(timeout=20)
    expect_equal(waiter.returncode, 7, f"exit code: {errors}")
    expect("cuzkctl wait 17" in errors and "waiting up to" in errors, errors)
    expect(2 <= connections <= 15, f"{connections} connections in 2 s")


def restart_keeps_circuits(circuit):
    with Daemon() as daemon:
        daemon.add(circuit)
        key = daemon.ctl_json("circuit", "list")["circuits"][0]["key_digest"]
        daemon.stop()
        daemon.start()
        listed = daemon.ctl_json("circuit", "list")["circuits"]
        expect_equal([(c["name"], c["key_digest"]) for c in listed], [(circuit.label, key)], "list")
        proof, public = daemon.prove(circuit.label, [circuit.witnesses[0]])
        expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")
        daemon.ctl_ok("circuit", "remove", circuit.label)
        expect_equal(daemon.ctl_json("circuit", "list")["circuits"], [], "list after remove")
        daemon.stop()
        daemon.start()
        expect_equal(daemon.ctl_json("circuit", "list")["circuits"], [], "list after the restart")


def circuit_from_config(circuit):
    with Daemon({'Circuit "configured"': {"Zkey": circuit.zkey, "R1cs": circuit.r1cs}}) as daemon:
        wait_until(lambda: any(c["name"] == "configured" and c["state"] in ("ready", "loaded")
                               for c in daemon.ctl_json("circuit", "list")["circuits"]), 60,
                   "the configured circuit is ready")
        proof, public = daemon.prove("configured", [circuit.witnesses[0]])
        expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")


def replaced_key_leaves_the_cache(circuit, other):
    """The configuration names another file under the same name: the earlier prepared key goes."""
    def keys_once_ready(daemon):
        wait_until(lambda: all(c["state"] in ("ready", "loaded")
                               for c in daemon.ctl_json("circuit", "list")["circuits"]), 60,
                   "the configured circuit is ready")
        digest = daemon.ctl_json("circuit", "list")["circuits"][0]["key_digest"]
        expect_equal([p.name for p in (daemon.folder / "cache" / "keys").iterdir()],
                     [f"{digest}.czk"], "prepared keys")
        return digest

    with Daemon({'Circuit "c"': {"Zkey": circuit.zkey}}) as daemon:
        first = keys_once_ready(daemon)
        daemon.stop()
        daemon.sections['Circuit "c"']["Zkey"] = other.zkey
        write_config(daemon.config, daemon.sections)
        daemon.start()
        expect(keys_once_ready(daemon) != first, "the key has not changed")


def dead_supervisor_takes_all_along(circuit):
    """kill -9 of cuzkd: every worker ends, and a new daemon starts in the same folders."""
    with Daemon() as daemon:
        daemon.add(circuit)
        daemon.prove(circuit.label, [circuit.witnesses[0]])
        daemon.process.kill()
        daemon.process.wait()
        wait_until(lambda: not marked_processes(daemon.mark), 10, "all workers are gone")
        daemon.start()
        daemon.prove(circuit.label, [circuit.witnesses[0]])


def job_with_a_bad_partition_fails(daemon, circuit):
    broken = bytearray(circuit.witnesses[0].read_bytes())
    broken[-1] ^= 1
    path = daemon.folder / "bad-partition.wtns"
    path.write_bytes(broken)
    witnesses = [circuit.witnesses[0]] * 6 + [path] + [circuit.witnesses[1]] * 6
    options = [x for w in witnesses for x in ("--witness", w)]
    result = daemon.ctl("prove", "--circuit", circuit.label, *options, "--proof",
                        daemon.folder / "b.proof", "--public", daemon.folder / "b.public")
    expect_equal(result.code, 4, "exit code")
    expect(re.search(r"partition\D*6|constraint", result.err), lambda: str(result))


# ---- hugepages

class HugePagePool:
    """Sets the machine's number of hugepages for a while."""
    path = Path("/proc/sys/vm/nr_hugepages")

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        self.before = self.path.read_text()
        self.path.write_text(str(self.count))
        return huge_pages()[0]

    def __exit__(self, *_):
        self.path.write_text(self.before)


def hugepages_can_be_set():
    try:
        with HugePagePool(huge_pages()[0] + 8) as total:
            return total >= 8
    except OSError:
        return False


def require_refuses_without_pages():
    with HugePagePool(0):
        try:
            with Daemon({"Ring": {"HugePages": "require"}}):
                raise Failure("started without hugepages")
        except Failure as failure:
            text = str(failure)
        expect("hugepages" in text.lower() and "nr_hugepages" in text,
               f"names neither cause nor remedy: {text[-600:]}")


def prefer_falls_back(circuit):
    with HugePagePool(0), Daemon({"Ring": {"HugePages": "prefer"}}) as daemon:
        expect("ordinary_pages" in daemon.status()["flags"], "no flag")
        expect(re.search(r"WARN.*page|page.*WARN|warn.*page", daemon.log()), "no warning logged")
        daemon.add(circuit)
        daemon.prove(circuit.label, [circuit.witnesses[0]])


def require_uses_and_returns_pages(circuit):
    with HugePagePool(64):
        with Daemon({"Ring": {"HugePages": "require", "SlabSize": "8M"}}) as daemon:
            free = huge_pages()[1]
            status = daemon.status()
            expect(status["hugepages"]["is_hugepage"], f"{status['hugepages']}")
            expect("ordinary_pages" not in status["flags"], f"{status['flags']}")
            expect(free <= 64 - 16, f"4 slabs of 8M take 16 pages; {free} of 64 are free")
            daemon.add(circuit)
            proof, public = daemon.prove(circuit.label, [circuit.witnesses[0]])
            expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")
            daemon.stop()
        expect_equal(huge_pages(), (64, 64), "hugepages (total, free) after the stop")


def stopped_daemon_is_timeout(daemon, circuit):
    """--timeout bounds the whole call, also where nobody answers."""
    files = ("--proof", daemon.folder / "p", "--public", daemon.folder / "q", "--timeout", "1s")
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        begin = time.monotonic()
        for verb in (("prove", "--circuit", circuit.label, "--witness", circuit.witnesses[0], *files),
                     ("wait", "1", "--timeout", "1s")):
            result = daemon.ctl(*verb)
            expect(result.code == 7 and "stopped or overloaded" in result.err, lambda: str(result))
        expect(time.monotonic() - begin < 20, "two seconds were given")
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def main():
    suite = Suite("cli")
    circuit, chain = Circuit("mul", "bn128"), Circuit("chain12", "bn128")
    one = suite.case
    one("usage_errors_are_2", usage_errors)
    one("help_and_version", help_and_version)
    one("no_daemon_is_3", no_daemon_is_3)
    one("verify_needs_no_daemon", verify_needs_no_daemon, circuit)
    for name, text, pattern in BAD_CONFIGS:
        one(f"config_{name}_is_refused", refuses_config, text, pattern)
    one("absent_config_is_named", absent_config_is_named)
    one("check_config_prints_effective_values", check_config_prints_effective_values)
    one("check_config_says_what_is_short", check_config_says_what_is_short)
    with Daemon() as daemon:
        for each in (circuit, chain):
            daemon.add(each)
            daemon.prove(each.label, [each.witnesses[0]])
        before = daemon.idle_state()
        one("json_everywhere", json_everywhere, daemon, circuit)
        one("exit_codes", exit_codes, daemon, chain)
        one("stopped_daemon_is_timeout", stopped_daemon_is_timeout, daemon, chain)
        one("status_for_people", status_for_people, daemon)
        one("modes_of_files", modes_of_files, daemon)
        one("timing_lines_have_one_form", timing_lines, daemon, chain)
        if os.geteuid() == 0:
            one("workers_are_undumpable", workers_are_undumpable, daemon)
        one("second_daemon_is_refused", second_daemon_is_refused, daemon)
        one("job_with_a_bad_partition_fails", job_with_a_bad_partition_fails, daemon, chain)
        one("nothing_is_held_afterwards", daemon.expect_back_to, before)
        one("daemon_stops_and_leaves_nothing", daemon.stop)
    one("secrets_stay_secret", secrets_stay_secret, circuit)
    for number in (signal.SIGTERM, signal.SIGINT):
        one(f"{number.name.lower()}_stops_cleanly", stop_is_clean, number)
    one("stop_with_jobs_queued_ends_in_time", stop_finishes_or_keeps_jobs, chain)
    one("wait_for_a_daemon_that_does_not_answer_is_bounded",
        wait_for_a_daemon_that_does_not_answer_is_bounded)
    one("restart_keeps_circuits", restart_keeps_circuits, circuit)
    one("circuit_from_config", circuit_from_config, circuit)
    one("replaced_key_leaves_the_cache", replaced_key_leaves_the_cache, circuit, chain)
    one("dead_supervisor_takes_all_along", dead_supervisor_takes_all_along, circuit)
    pages = (("hugepages_require_refuses_without_pages", require_refuses_without_pages),
             ("hugepages_prefer_falls_back", prefer_falls_back, circuit),
             ("hugepages_require_uses_and_returns_them", require_uses_and_returns_pages, circuit))
    can_set = hugepages_can_be_set()
    for name, *what in pages:
        if can_set:
            one(name, *what)
        else:
            suite.skip(name, "this user may not set the number of hugepages, or none are free")
    suite.exit()


if __name__ == "__main__":
    main()
