#!/usr/bin/python3
"""Slabs outlive the supervisor in the descriptor store of the service manager, which the test plays:
the next process takes their memory over without touching it again, and refuses what it cannot
believe. What it refuses is let go of, so that no page stays behind."""

import mmap
import os
import re
import signal
import struct

from harness import Circuit, Suite, expect, expect_equal, split_arrays, verify, wait_gone, wait_until
from manager import Managed

SLABS = 4
# struct slab_ring_header: magic, abi, table_bytes, entry_bytes, channel_abi, boot_id.
MAGIC, ABI, BOOT_ID = 0, 8, 24


def inodes(daemon):
    with daemon.lock:
        return {name: os.fstat(fd).st_ino for name, fd in daemon.store}


def slabs_of(daemon):
    return {name: inode for name, inode in inodes(daemon).items() if name.startswith("slab-")}


def scribble(daemon, name, at, data):
    with daemon.lock:
        fd = next(fd for n, fd in daemon.store if n == name)
    with mmap.mmap(fd, 0) as memory:
        memory[at:at + len(data)] = data


def rewrite(daemon, section, key, value):
    text = daemon.config.read_text()
    body = re.sub(rf"(\[{section}\][^\[]*?)\n{key}=[^\n]*", rf"\1\n{key}={value}", text)
    expect(body != text, f"{section}.{key} is not in the configuration")
    daemon.config.write_text(body)


def log_since(daemon, mark):
    return daemon.log()[mark:]


def restart(daemon, how="stop"):
    mark = len(daemon.log())
    daemon.stop() if how == "stop" else daemon.kill()
    daemon.start()
    return log_since(daemon, mark)


def everything_is_stored(daemon):
    names = [f"slab-{i}" for i in range(SLABS)] + ["ring-default"]
    expect_equal(daemon.stored(), sorted(names), "what is in the store")
    expect_equal(set(daemon.heard("FDPOLL")), {"0"}, "FDPOLL")


def memory_is_taken_over(daemon, circuit, how):
    before = slabs_of(daemon)
    log = restart(daemon, how)
    expect_equal(slabs_of(daemon), before, "slabs in the store")
    expect(f"{SLABS} slabs of an earlier process are taken over" in log, log[-2000:])
    everything_is_stored(daemon)
    for i in range(SLABS + 1):
        daemon.prove("c", [circuit.witnesses[0]], tag=f"again{i}")


def table_is_refused(daemon, circuit, at, data, words):
    before = slabs_of(daemon)
    scribble(daemon, "ring-default", at, data)
    log = restart(daemon)
    expect(words in log and "is not believed" in log, log[-2000:])
    after = slabs_of(daemon)
    expect(not set(before.values()) & set(after.values()), f"old slabs are kept: {before} {after}")
    everything_is_stored(daemon)
    daemon.prove("c", [circuit.witnesses[0]])


def a_missing_table_starts_over(daemon):
    before = slabs_of(daemon)
    with daemon.lock:
        os.close(next(fd for n, fd in daemon.store if n == "ring-default"))
        daemon.store = [e for e in daemon.store if e[0] != "ring-default"]
    log = restart(daemon)
    expect(f"{SLABS} descriptors of an earlier process have no use now" in log, log[-2000:])
    expect(not set(before.values()) & set(slabs_of(daemon).values()), "old slabs are kept")


def a_strange_slab_is_refused(daemon):
    """An unsealed file, and one with holes, under the name of a slab: made anew, the others stay."""
    before = slabs_of(daemon)
    strange = os.memfd_create("strange", os.MFD_ALLOW_SEALING)
    os.ftruncate(strange, 8 << 20)
    with daemon.lock:
        for i, (name, fd) in enumerate(daemon.store):
            if name == "slab-1":
                os.close(fd)
                daemon.store[i] = (name, strange)
    log = restart(daemon)
    expect("slab-1 of an earlier process is not taken over: it is not sealed" in log, log[-2000:])
    after = slabs_of(daemon)
    expect_equal(len(set(before.values()) & set(after.values())), SLABS - 1, "slabs kept")
    everything_is_stored(daemon)


def another_size_starts_over(daemon):
    before = slabs_of(daemon)
    rewrite(daemon, "Ring", "SlabSize", "16M")
    log = restart(daemon)
    expect("the configuration wants another size" in log, log[-2000:])
    expect(not set(before.values()) & set(slabs_of(daemon).values()), "old slabs are kept")
    everything_is_stored(daemon)


def another_count_keeps_what_fits(daemon):
    before = slabs_of(daemon)
    rewrite(daemon, "Ring", "Slabs", "2")
    restart(daemon)
    fewer = slabs_of(daemon)
    expect_equal(len(fewer), 2, "slabs in the store")
    expect(set(fewer.values()) <= set(before.values()), "slabs were made anew")
    rewrite(daemon, "Ring", "Slabs", str(SLABS))
    restart(daemon)
    more = slabs_of(daemon)
    expect_equal(len(more), SLABS, "slabs in the store")
    expect(set(fewer.values()) <= set(more.values()), "the two were not kept")


def another_ring_gets_its_own(daemon):
    """A second ring before the first one: indices move, and the store follows."""
    before = slabs_of(daemon)
    text = daemon.config.read_text()
    daemon.config.write_text("[Ring \"small\"]\nSlabs=2\nSlabSize=4M\n" + text)
    log = restart(daemon)
    kept = set(before.values()) & set(slabs_of(daemon).values())
    expect_equal(len(kept), SLABS, f"slabs kept: {log[-1500:]}")
    expect_equal(daemon.stored(), sorted([f"slab-{i}" for i in range(SLABS + 2)] +
                                         ["ring-default", "ring-small"]), "what is in the store")
    daemon.config.write_text(text)
    restart(daemon)
    everything_is_stored(daemon)
    expect_equal(set(slabs_of(daemon).values()), set(before.values()), "slabs")


def an_emptied_store_starts_over(daemon, circuit):
    daemon.stop()
    daemon.forget()
    daemon.start()
    everything_is_stored(daemon)
    daemon.prove("c", [circuit.witnesses[0]])


def syntheses(log, job):
    return len(re.findall(rf"SYN_TIMING partition job={job} .*outcome=ok", log))


def worker_pid(daemon, name):
    return next(w["pid"] for w in daemon.workers() if w["name"] == name)


def submit(daemon, circuit, count):
    witnesses = [x for i in range(count)
                 for x in ("--witness", circuit.witnesses[i % len(circuit.witnesses)])]
    return daemon.ctl_json("submit", "--circuit", "c", *witnesses)["job"]


def all_verify(daemon, circuit, job, count):
    proof, public = daemon.folder / f"{job}.proof", daemon.folder / f"{job}.public"
    daemon.ctl_ok("wait", job)
    daemon.ctl_ok("result", job, "--proof", proof, "--public", public)
    pairs = split_arrays(proof, public, daemon.folder) if count > 1 else [(proof, public)]
    for pair in pairs:
        expect_equal(verify(circuit.vkey, *pair).code, 0, f"verify of job {job}")


def leave_ready(daemon, circuit, count):
    """A job whose partitions are all synthesised, and none proved."""
    os.kill(worker_pid(daemon, "gpu-0"), signal.SIGSTOP)
    mark = len(daemon.log())
    job = submit(daemon, circuit, count)
    wait_until(lambda: syntheses(log_since(daemon, mark), job) == count, 20, "it is synthesised")
    daemon.status()  # the supervisor has taken the answers that it was sent before
    return job


def end(daemon, how):
    process, daemon.process = daemon.process, None
    process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGTERM)
    expect_equal(process.wait(30), -signal.SIGKILL if how == "kill" else 0, "exit code")
    expect_equal(wait_gone(daemon.mark), {}, "processes left behind")


def finished_syntheses_are_used(daemon, circuit, how):
    job = leave_ready(daemon, circuit, 3)
    end(daemon, how)
    mark = len(daemon.log())
    daemon.start()
    all_verify(daemon, circuit, job, 3)
    daemon.expect_sound()
    log = log_since(daemon, mark)
    expect("3 of 3 finished syntheses of an earlier process are used" in log, log[-3000:])
    expect_equal(syntheses(log, job), 0, "syntheses made again")


def another_key_is_synthesised_again(daemon, circuit):
    job = leave_ready(daemon, circuit, 2)
    digest = next(c["key_digest"] for c in daemon.status()["circuits"]).encode()
    end(daemon, "kill")
    with daemon.lock:
        fd = next(fd for n, fd in daemon.store if n == "ring-default")
    with mmap.mmap(fd, 0) as memory:
        at, changed = memory.find(digest), 0
        while at >= 0:
            memory[at:at + 1] = b"0" if digest[:1] != b"0" else b"1"
            at, changed = memory.find(digest), changed + 1
    expect(changed >= 2, f"{changed} entries name the key")
    mark = len(daemon.log())
    daemon.start()
    all_verify(daemon, circuit, job, 2)
    log = log_since(daemon, mark)
    expect("its synthesis is of another key or way of evaluation, and starts over" in log,
           log[-3000:])
    expect_equal(syntheses(log, job), 2, "syntheses made again")


def a_slab_that_was_being_written_is_not_used(daemon, circuit):
    os.kill(worker_pid(daemon, "synth-0"), signal.SIGSTOP)
    job = submit(daemon, circuit, 2)
    wait_until(lambda: any(r["occupancy"] for r in daemon.status()["rings"]), 10, "one is granted")
    end(daemon, "kill")
    mark = len(daemon.log())
    daemon.start()
    all_verify(daemon, circuit, job, 2)
    log = log_since(daemon, mark)
    expect("finished syntheses" not in log.replace("0 of them with a finished", ""), log[-3000:])
    expect_equal(syntheses(log, job), 2, "syntheses made again")


def a_job_that_ended_leaves_nothing(daemon, circuit):
    """Cancelled before the kill: nothing of it is used, and its slabs are free."""
    job = leave_ready(daemon, circuit, 2)
    daemon.ctl_ok("cancel", job)
    end(daemon, "kill")
    mark = len(daemon.log())
    daemon.start()
    expect("0 of" in log_since(daemon, mark) or "are used" not in log_since(daemon, mark),
           log_since(daemon, mark)[-3000:])
    daemon.prove("c", [circuit.witnesses[0]])


def partitions(suite, circuit):
    with Managed({"Supervisor": {"StopTimeout": "1s"}}) as daemon:
        daemon.add(circuit, "c")
        daemon.prove("c", [circuit.witnesses[0]])
        for how in ("kill", "stop"):
            suite.case(f"finished_syntheses_are_used_after_{how}", finished_syntheses_are_used,
                       daemon, circuit, how)
        suite.case("another_key_is_synthesised_again", another_key_is_synthesised_again, daemon,
                   circuit)
        suite.case("a_slab_that_was_being_written_is_not_used",
                   a_slab_that_was_being_written_is_not_used, daemon, circuit)
        suite.case("a_job_that_ended_leaves_nothing", a_job_that_ended_leaves_nothing, daemon,
                   circuit)


def main():
    suite = Suite("adoption")
    circuit = Circuit("mul", "bn128")
    with Managed() as daemon:
        daemon.add(circuit, "c")
        daemon.prove("c", [circuit.witnesses[0]])
        suite.case("everything_is_stored", everything_is_stored, daemon)
        for how in ("stop", "kill"):
            suite.case(f"memory_is_taken_over_after_{how}", memory_is_taken_over, daemon, circuit,
                       how)
        for name, at, data, words in (
                ("another_boot", BOOT_ID, b"00000000-0000-0000-0000-000000000000", "another boot"),
                ("another_abi", ABI, struct.pack("<I", 99), "another version"),
                ("no_table", MAGIC, bytes(8), "it is no table")):
            suite.case(f"{name}_is_refused", table_is_refused, daemon, circuit, at, data, words)
        suite.case("a_missing_table_starts_over", a_missing_table_starts_over, daemon)
        suite.case("a_strange_slab_is_refused", a_strange_slab_is_refused, daemon)
        suite.case("another_size_starts_over", another_size_starts_over, daemon)
        suite.case("another_count_keeps_what_fits", another_count_keeps_what_fits, daemon)
        suite.case("another_ring_gets_its_own", another_ring_gets_its_own, daemon)
        suite.case("an_emptied_store_starts_over", an_emptied_store_starts_over, daemon, circuit)
    partitions(suite, Circuit("chain12", "bn128"))
    suite.exit()


if __name__ == "__main__":
    main()
