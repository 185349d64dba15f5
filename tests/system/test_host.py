#!/usr/bin/python3
"""Hosts that fail the daemon: full disks, damaged files, closed descriptors, too little memory. The
answer blames the host and not the input, says what to do, and all is well once the host is."""

import os
import re
import subprocess
import time

from harness import CUZKCTL, CUZKD, Circuit, Daemon, Suite, expect, expect_equal, run, wait_until


def add(daemon, circuit, code, *words, name="c"):
    result = daemon.ctl("circuit", "add", name, "--zkey", circuit.zkey)
    expect(result.code == code and all(word in result.err for word in words), str(result))


def fill(folder):
    with open(folder / "filling", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


def full_cache_blames_the_host(daemon, small, large):
    keys = daemon.folder / "small" / "cache" / "keys"
    add(daemon, large, 1, "No space left on device")
    expect_equal(os.listdir(keys), [], "keys left behind")
    add(daemon, small, 0)
    daemon.prove("c", [small.witnesses[0]])
    daemon.ctl_ok("circuit", "remove", "c")


def full_state_leaves_no_key(daemon, small):
    folder = daemon.folder / "small"
    fill(folder)
    add(daemon, small, 1, "No space left on device")
    expect_equal(os.listdir(daemon.folder / "cache" / "keys"), [], "keys left behind")
    expect_equal(os.listdir(folder / "state" / "circuits"), [], "records left behind")
    (folder / "filling").unlink()
    add(daemon, small, 0)
    fill(folder)
    for _ in range(2):
        result = daemon.ctl("submit", "--circuit", "c", "--witness", small.witnesses[0])
        expect(result.code == 5 and "state folder" in result.err, str(result))
    (folder / "filling").unlink()
    wait_until(lambda: "journal_unwritable" not in daemon.status()["flags"], 20, "the flag goes")
    daemon.prove("c", [small.witnesses[0]])


def with_small_disk(suite, small, large):
    for case, what, arguments in ((full_cache_blames_the_host, "Cache", (small, large)),
                                  (full_state_leaves_no_key, "State", (small,))):
        daemon = Daemon(start=False)
        folder = daemon.folder / "small"
        folder.mkdir()
        size = "1m" if what == "Cache" else "64m"  # the journal keeps 32 MiB free
        mount = run("mount", "-t", "tmpfs", "-o", f"size={size}", "small", folder)
        try:
            if mount.code != 0:
                suite.skip(case.__name__, "cannot mount a small file system")
                continue
            text = daemon.config.read_text().replace(
                f"{what}Directory={daemon.folder}", f"{what}Directory={folder}")
            daemon.config.write_text(text)
            daemon.start()
            suite.case(case.__name__, case, daemon, *arguments)
            suite.case(f"{case.__name__}_stops", daemon.stop)
        finally:
            if daemon.process:
                daemon.process.kill()
                daemon.process.wait()
                daemon.process = None
            run("umount", "-l", folder)
            daemon.discard()


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path):
    path.write_bytes(path.read_bytes()[:100])


def fifo(path):
    path.unlink()
    os.mkfifo(path)


def damaged_key_says_what_to_do(daemon, circuit, damage):
    """Whatever became of a prepared key: the daemon starts, says so, and the circuit can be added
    again."""
    daemon.stop()
    for key in (daemon.folder / "cache" / "keys").iterdir():
        damage(key)
    daemon.start(timeout=10)
    result = daemon.ctl("prove", "--circuit", "c", "--witness", circuit.witnesses[0], "--proof",
                        daemon.folder / "proof", "--public", daemon.folder / "public")
    expect(result.code == 1 and "remove the circuit and add it again" in result.err, str(result))
    daemon.ctl_ok("circuit", "remove", "c")
    add(daemon, circuit, 0)
    daemon.prove("c", [circuit.witnesses[0]])


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return {int(word) for word in file.read().split()}


def killed_helper_blames_the_host(daemon, circuit):
    """The process that prepares a key is killed, as by the kernel when memory is short."""
    pids = children(daemon.process.pid)
    adding = subprocess.Popen([CUZKCTL, "--socket", daemon.socket, "circuit", "add", "killed",
                               "--zkey", circuit.zkey], stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    helpers, deadline = set(), time.monotonic() + 20
    while not helpers and time.monotonic() < deadline: # it runs for some ten milliseconds
        helpers = children(daemon.process.pid) - pids
    expect(helpers, "no helper runs")
    os.kill(helpers.pop(), 9)
    error = adding.communicate(timeout=60)[1].decode()
    expect(adding.returncode == 1 and "memory" in error, f"exit {adding.returncode}: {error}")
    add(daemon, circuit, 0, name="killed")


def closed_standard_descriptors(circuit, closed):
    """What the daemon logs must not end in a file that got the number of stderr."""
    daemon = Daemon(start=False)
    try:
        daemon.process = subprocess.Popen(
            ["sh", "-c", f'exec "{CUZKD}" --config "{daemon.config}" {closed}'],
            env=daemon.environment)
        wait_until(daemon.is_ready, 60, "the daemon is ready")
        folder = f"/proc/{daemon.process.pid}/fd"
        for number in ("0", "1", "2"):
            target = os.readlink(f"{folder}/{number}")
            expect(target.startswith(("/dev/", "pipe:", "/")) and "lock" not in target,
                   f"descriptor {number} is {target}")
        add(daemon, circuit, 0)
        daemon.prove("c", [circuit.witnesses[0]])
        expect_equal((daemon.folder / "state" / "lock").read_bytes(), b"", "the lock file")
        daemon.stop()
    finally:
        daemon.discard()


def ctl_with_closed_output(daemon, circuit):
    """Its report of the job must not end in the proof."""
    proof, public = daemon.folder / "closed.proof", daemon.folder / "closed.public"
    result = run("sh", "-c", f'exec "{CUZKCTL}" --socket "{daemon.socket}" prove --circuit c '
                 f'--witness "{circuit.witnesses[0]}" --proof "{proof}" --public "{public}" '
                 ">&- 2>&- <&-")
    expect(result.code == 0, str(result))
    checked = run(CUZKCTL, "verify", "--vkey", circuit.vkey, "--proof", proof, "--public", public)
    expect(checked.code == 0, str(checked))


def unwritten_result_can_be_fetched(daemon, circuit):
    """The disk of the output is full: the work is not lost, and the way to it is told."""
    proof, public = daemon.folder / "late.proof", daemon.folder / "late.public"
    result = daemon.ctl("prove", "--circuit", "c", "--witness", circuit.witnesses[0], "--proof",
                        "/dev/full", "--public", public)
    told = re.search(r"cuzkctl result (\d+) --proof", result.err)
    expect(result.code == 1 and told, str(result))
    daemon.ctl_ok("result", told[1], "--proof", proof, "--public", public)
    expect_equal(run(CUZKCTL, "verify", "--vkey", circuit.vkey, "--proof", proof, "--public",
                     public).code, 0, "verify")


def too_large_slabs_are_refused_at_once():
    daemon = Daemon({"Ring": {"SlabSize": "1T", "Slabs": 1}}, start=False)
    try:
        begin = time.monotonic()
        result = run(CUZKD, "--config", daemon.config, timeout=20, env=daemon.environment)
        expect(result.code == 1 and "available" in result.err, str(result))
        expect(time.monotonic() - begin < 10, "it touched all memory first")
    finally:
        daemon.discard()


def main():
    suite = Suite("host")
    small, large = Circuit("mul", "bn128"), Circuit("chain12", "bn128")
    with_small_disk(suite, small, large)
    with Daemon() as daemon:
        add(daemon, small, 0)
        for damage in (flip, cut, fifo):
            suite.case(f"damaged_key_says_what_to_do_{damage.__name__}",
                       damaged_key_says_what_to_do, daemon, small, damage)
        suite.case("killed_helper_blames_the_host", killed_helper_blames_the_host, daemon,
                   Circuit("merkle20", "bn128"))
        suite.case("ctl_with_closed_output", ctl_with_closed_output, daemon, small)
        suite.case("unwritten_result_can_be_fetched", unwritten_result_can_be_fetched, daemon, small)
        suite.case("daemon_stops_and_leaves_nothing", daemon.stop)
    for closed in ("<&- >&- 2>&-", ">&- 2>&-", "2>&-"):
        suite.case(f"closed_standard_descriptors {closed}", closed_standard_descriptors, small,
                   closed)
    suite.case("too_large_slabs_are_refused_at_once", too_large_slabs_are_refused_at_once)
    suite.exit()


if __name__ == "__main__":
    main()
