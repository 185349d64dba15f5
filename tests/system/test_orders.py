#!/usr/bin/python3
"""One worker at a time: restart, drain, resume, trim and log-level under load, a worker that stands
still and one that is only slow, a new program picked up and a broken one refused. Orders cost no
partition an attempt and lose no proof."""

import os
import re
import shutil
import signal
import time

import harness
from harness import (BUILD, Circuit, Daemon, Suite, expect, expect_equal, split_arrays, verify,
                     wait_until)

STUB = BUILD / "tests" / "gpu-worker" / "stub" / "libcuzk-stub.so"
PARTITIONS = 40
STALL_S = 3 * harness.PATIENCE


def submit(daemon, circuit, partitions=PARTITIONS):
    witnesses = [circuit.witnesses[i % 2] for i in range(partitions)]
    options = [x for w in witnesses for x in ("--witness", w)]
    return str(daemon.ctl_json("submit", "--circuit", circuit.label, *options)["job"])


def worker(daemon, name):
    return {w["name"]: w for w in daemon.workers()}[name]


def is_up(daemon, name):
    return worker(daemon, name)["state"] in ("idle", "busy")


def attempts(daemon, job):
    """{partition: attempts} of the job's lines in the log."""
    found = re.findall(rf"SUP_TIMING partition job={job} partition=(\d+) .* attempts=(\d+)",
                       daemon.log())
    return {int(p): int(n) for p, n in found}


def expect_all_proved(daemon, circuit, job, partitions=PARTITIONS, attempts_max=0):
    daemon.ctl_ok("wait", job, timeout=120)
    proof, public = daemon.folder / f"{job}.proof", daemon.folder / f"{job}.public"
    daemon.ctl_ok("result", job, "--proof", proof, "--public", public)
    pairs = split_arrays(proof, public, daemon.folder)
    expect_equal(len(pairs), partitions, "proofs")
    expect_equal(verify(circuit.vkey, *pairs[-1]).code, 0, "verify")
    used = attempts(daemon, job)
    expect_equal(len(used), partitions, "partitions in the log")
    expect(max(used.values()) <= attempts_max, f"attempts: {used}")


def restart_under_load(daemon, circuit, *options):
    before = {w["name"]: w["pid"] for w in daemon.workers()}
    job = submit(daemon, circuit)
    for name in before:
        result = daemon.ctl_ok("restart", name, *options)
        expect(f"{name} is replaced" in result.out, result.out)
    after = {w["name"]: w["pid"] for w in daemon.workers()}
    expect(not set(before.values()) & set(after.values()), f"{before} {after}")
    expect_all_proved(daemon, circuit, job)


def restart_all_under_load(daemon, circuit):
    job = submit(daemon, circuit)
    ended = daemon.ctl_json("restart", "all")["workers"]
    expect_equal({w["state"] for w in ended}, {"done"}, "outcomes")
    expect_equal(len(ended), len(daemon.workers()), "workers")
    expect_all_proved(daemon, circuit, job)


def drain_and_resume(daemon, circuit):
    job = submit(daemon, circuit)
    expect("is down until resume" in daemon.ctl_ok("drain", "finalizer-0").out, "drain")
    down = worker(daemon, "finalizer-0")
    expect_equal((down["state"], down["pid"], down["held"]), ("drained", 0, 0), "finalizer-0")
    refused = daemon.ctl("restart", "finalizer-0")
    expect(refused.code == 1 and "cuzkctl resume finalizer-0" in refused.err, str(refused))
    expect("drained:finalizer-0" in daemon.status()["flags"], "flag")
    daemon.ctl_ok("reload")
    # The other one of its kind does the work.
    expect_all_proved(daemon, circuit, job)
    expect_equal(worker(daemon, "finalizer-0")["state"], "drained", "state")
    daemon.ctl_ok("resume", "finalizer-0")
    expect(is_up(daemon, "finalizer-0"), "it is up again")
    expect("drained:finalizer-0" not in daemon.status()["flags"], "flag")


def drain_all_holds_the_work_back(daemon, circuit):
    job = submit(daemon, circuit)
    daemon.ctl_ok("drain", "all")
    expect_equal({w["state"] for w in daemon.workers()}, {"drained"}, "states")
    waited = daemon.ctl("wait", job, "--timeout", "300ms")
    expect_equal(waited.code, 7, f"wait while all is down: {waited}")
    daemon.ctl_ok("resume", "all")
    expect_all_proved(daemon, circuit, job)


def order_without_waiting(daemon, circuit):
    job = submit(daemon, circuit)
    result = daemon.ctl_ok("restart", "gpu-0", "--no-wait")
    expect(result.out.startswith("gpu-0: "), result.out)
    wait_until(lambda: worker(daemon, "gpu-0").get("order", {}).get("state") == "done", 60,
               "the order is carried out")
    expect_all_proved(daemon, circuit, job)


def timeout_leaves_the_order_standing(daemon, circuit):
    pid = worker(daemon, "gpu-0")["pid"]
    os.kill(pid, signal.SIGSTOP)
    result = daemon.ctl("restart", "gpu-0", "--timeout", "200ms")
    expect(result.code == 7 and "the order stands" in result.err, str(result))
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: worker(daemon, "gpu-0")["order"]["state"] == "done", 60, "it is replaced")


def wrong_words_are_refused(daemon):
    result = daemon.ctl("restart", "gpu-7")
    expect(result.code == 4 and "there is no worker gpu-7" in result.err, str(result))
    expect(daemon.ctl("restart").code == 2, "no worker named")
    expect(daemon.ctl("log-level", "loud").code == 2, "no such level")
    expect(daemon.ctl("log-level", "info", "gpu-0", "x").code == 2, "too many words")


def trim_says_what_it_gave_back(daemon):
    ended = daemon.ctl_json("trim", "all")["workers"]
    expect_equal({w["state"] for w in ended}, {"done"}, "outcomes")
    expect(all("given_back_bytes" in w for w in ended), f"{ended}")
    expect("MiB given back" in daemon.ctl_ok("trim", "gpu-0").out, "text")


def log_level_at_run_time(daemon, circuit):
    def lines(since):
        return [l for l in daemon.log()[since:].splitlines() if " info " in l or " debug " in l]

    daemon.ctl_ok("log-level", "warn")
    levels = {w["log_level"] for w in daemon.workers()}
    expect_equal(levels, {"warn"}, "levels")
    daemon.ctl_ok("restart", "finalizer-1")
    since = len(daemon.log())
    daemon.prove(circuit.label, [circuit.witnesses[0]], "quiet")
    expect_equal(lines(since), [], "lines below warn")
    daemon.ctl_ok("log-level", "debug", "gpu-0")
    expect_equal(worker(daemon, "gpu-0")["log_level"], "debug", "level")
    since = len(daemon.log())
    daemon.prove(circuit.label, [circuit.witnesses[0]], "loud")
    wait_until(lambda: any("GPU_TIMING" in l for l in lines(since)), 10, "gpu-0 logs again")
    expect(all(" gpu-0:" in l for l in lines(since)), f"{lines(since)}")
    daemon.ctl_ok("log-level", "debug")
    expect_equal({w["log_level"] for w in daemon.workers()}, {"debug"}, "levels")


def one_that_stands_still_is_replaced(daemon, circuit, name):
    before = worker(daemon, name)
    since = len(daemon.log())
    if name.startswith("gpu"):  # in the midst of its work; the others have little of it
        job = submit(daemon, circuit)
        wait_until(lambda: worker(daemon, name)["state"] == "busy", 30, f"{name} works")
    os.kill(before["pid"], signal.SIGSTOP)
    if not name.startswith("gpu"):
        job = submit(daemon, circuit)
    wait_until(lambda: worker(daemon, name)["pid"] not in (0, before["pid"])
               and is_up(daemon, name), 20 + 2 * STALL_S, f"{name} is replaced")
    # One attempt, if it held nothing but that partition.
    expect_all_proved(daemon, circuit, job, attempts_max=1)
    log = daemon.log()[since:]
    expect("makes no progress for" in log and "StallTimeout=" in log, "the reason is logged")
    expect("stopped" in log and "in the kernel at" in log, "its state in /proc is logged")
    expect("no progress for" in worker(daemon, name)["last_error"],
           worker(daemon, name)["last_error"])


def one_that_is_slow_is_left_alone(daemon, circuit):
    """Stopped for most of every second: it advances in between."""
    before = {w["name"]: (w["pid"], w["restarts"]) for w in daemon.workers()}
    pid = before["gpu-0"][0]
    job = submit(daemon, circuit, 128)
    end = time.monotonic() + 2 * STALL_S
    wait_until(lambda: worker(daemon, "gpu-0")["state"] == "busy", 30, "gpu-0 works")
    done = worker(daemon, "gpu-0")["partitions_done"]
    while time.monotonic() < end:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(STALL_S / 3)
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.1)
    daemon.ctl_ok("cancel", job)
    after = {w["name"]: (w["pid"], w["restarts"]) for w in daemon.workers()}
    expect_equal(after, before, "processes and restarts")
    expect(done < 128, "it had work for all that time")


def one_that_does_not_stop_is_replaced(daemon):
    """Told to stop, and deaf: found all the same, and its end is still the operator's wish."""
    pid = worker(daemon, "finalizer-0")["pid"]
    os.kill(pid, signal.SIGSTOP)
    daemon.ctl_ok("restart", "finalizer-0", timeout=60 + 3 * STALL_S)
    expect(worker(daemon, "finalizer-0")["pid"] != pid, "another process")


def programs_are_picked_up(circuit):
    with Daemon(start=False) as daemon:
        programs = daemon.folder / "bin"
        programs.mkdir()
        for folder, name in (("supervisor", "cuzkd"), ("synth-worker", "cuzk-synth"),
                             ("gpu-worker", "cuzk-gpu"), ("finalizer", "cuzk-finalizer"),
                             ("intake", "cuzk-intake")):
            if (BUILD / folder / name).exists():
                shutil.copy(BUILD / folder / name, programs / name)
        own, harness.CUZKD = harness.CUZKD, programs / "cuzkd"
        try:
            daemon.start()
            pick_up(daemon, circuit, programs)
            daemon.stop()
        finally:
            harness.CUZKD = own


def pick_up(daemon, circuit, programs):
    daemon.add(circuit)
    program = programs / "cuzk-finalizer"
    new = programs / "new"
    shutil.copy(program, new)
    wanted = new.stat().st_ino
    new.rename(program)
    daemon.ctl_ok("restart", "finalizer-0")
    pid = worker(daemon, "finalizer-0")["pid"]
    expect_equal(os.stat(f"/proc/{pid}/exe").st_ino, wanted, "inode of the program that runs")

    def refused(why):
        for options in ((), ("--now",)):
            result = daemon.ctl("restart", "finalizer-0", *options)
            expect(result.code == 1 and "goes on as it is" in result.err, str(result))
            expect(why in result.err, result.err)
            expect_equal(worker(daemon, "finalizer-0")["pid"], pid, "process")
        daemon.prove(circuit.label, [circuit.witnesses[0]])

    program.chmod(0o600)
    refused("cannot be executed")
    program.chmod(0o700)
    program.rename(programs / "away")
    refused("No such file")
    for content, why in ((b"\x7fELF and nothing more", "Exec format error"),
                         (b"#!/bin/sh\necho it lacks a library >&2\nexit 127\n",
                          "it lacks a library"),
                         (b"#!/bin/sh\nkill -SEGV $$\n", "SIGSEGV")):
        new.write_bytes(content)
        new.chmod(0o700)
        new.rename(program)
        refused(why)
    # Of another build: the words that the supervisor and the program compare.
    new.write_bytes(f"""#!/bin/sh
case "$*" in *--check*) exec {programs}/away --index 0 --check 3-0;; esac
exit 1
""".encode())
    new.chmod(0o700)
    new.rename(program)
    refused("another build")
    (programs / "away").rename(program)
    daemon.ctl_ok("restart", "finalizer-0")


def device_that_hangs_is_found(circuit):
    """A stand-in for a card, whose 28th sum never ends: the worker's loop turns all the same. Its
    plug-in is a file of the test's own."""
    with Daemon({"Supervisor": {"StallTimeout": f"{int(1000 * STALL_S)}ms"},
                 "GPU": {"Backend": "cuda"}}, start=False) as daemon:
        plugin = daemon.folder / "plugin.so"
        shutil.copy(STUB, plugin)
        daemon.environment.update(CUZK_TEST_PLUGIN=str(plugin), CUZK_STUB="hang=msm_sum:28")
        daemon.start()
        daemon.add(circuit)
        # Twenty sums are of the start. The second partition hangs, with the third in hand; alone the
        # second is proved and the third hangs; alone it is proved.
        job = submit(daemon, circuit, 3)
        expect_all_proved(daemon, circuit, job, 3, attempts_max=1)
        expect("makes no progress for" in daemon.log(), "the reason is logged")
        expect_equal(worker(daemon, "gpu-0")["restarts"], 2, "restarts")
        pid = worker(daemon, "gpu-0")["pid"]
        plugin.rename(daemon.folder / "away")
        result = daemon.ctl("restart", "gpu-0")
        expect(result.code == 1 and "plugin.so" in result.err, str(result))
        expect_equal(worker(daemon, "gpu-0")["pid"], pid, "process")


def recycled_by_partitions(circuit):
    sections = {"Synthesis": {"Workers": 2, "Threads": 1, "RecycleAfter": 5},
                "GPU": {"RecycleAfter": 10}, "Finalizer": {"RecycleAfter": 5}}
    with Daemon(sections) as daemon:
        daemon.add(circuit)
        job = submit(daemon, circuit)
        expect_all_proved(daemon, circuit, job)
        wait_until(lambda: all(w["restarts"] > 0 for w in daemon.workers()
                               if w["kind"] != "synth"), 30, "they are replaced")
        expect("RecycleAfter=10" in daemon.log(), "the reason is logged")
        orders = [w["order"]["kind"] for w in daemon.workers() if "order" in w]
        expect_equal(set(orders), {"recycle"}, "orders")


def crash_loop_backs_off(daemon, circuit):
    """Killed again and again: each time it comes back, ever later; then all is as before."""
    gaps = []
    for _ in range(5):
        pid = wait_until(lambda: is_up(daemon, "finalizer-1") and worker(daemon, "finalizer-1")["pid"],
                         60, "it is up")
        os.kill(pid, signal.SIGKILL)
        begin = time.monotonic()
        wait_until(lambda: worker(daemon, "finalizer-1")["pid"] not in (0, pid), 60, "it is back")
        gaps.append(time.monotonic() - begin)
    # 0, 100, 200, 400, 800 ms: the last gap cannot be shorter than its back-off.
    expect(gaps[4] >= 0.7, f"gaps {gaps}")
    # An operator need not wait for it.
    wait_until(lambda: is_up(daemon, "finalizer-1"), 60, "it is up")
    daemon.ctl_ok("restart", "finalizer-1")


def main():
    suite = Suite("orders")
    circuit = Circuit("chain12", "bn128")
    sections = {"Synthesis": {"Workers": 2, "Threads": 1}, "Finalizer": {"Workers": 2}}
    with Daemon(sections) as daemon:
        daemon.add(circuit)
        daemon.prove(circuit.label, [circuit.witnesses[0]])
        before = daemon.idle_state()
        suite.case("restart_under_load", restart_under_load, daemon, circuit)
        suite.case("restart_now_under_load", restart_under_load, daemon, circuit, "--now")
        suite.case("restart_all_under_load", restart_all_under_load, daemon, circuit)
        suite.case("drain_and_resume", drain_and_resume, daemon, circuit)
        suite.case("drain_all_holds_the_work_back", drain_all_holds_the_work_back, daemon, circuit)
        suite.case("order_without_waiting", order_without_waiting, daemon, circuit)
        suite.case("timeout_leaves_the_order_standing", timeout_leaves_the_order_standing, daemon,
                   circuit)
        suite.case("wrong_words_are_refused", wrong_words_are_refused, daemon)
        suite.case("trim_says_what_it_gave_back", trim_says_what_it_gave_back, daemon)
        suite.case("log_level_at_run_time", log_level_at_run_time, daemon, circuit)
        suite.case("crash_loop_backs_off", crash_loop_backs_off, daemon, circuit)
        suite.case("nothing_is_left_behind", daemon.expect_back_to, before)
        suite.case("daemon_stops_and_leaves_nothing", daemon.stop)
    sections["Supervisor"] = {"StallTimeout": f"{int(1000 * STALL_S)}ms"}
    with Daemon(sections) as daemon:
        daemon.add(circuit)
        daemon.prove(circuit.label, [circuit.witnesses[0]])
        before = daemon.idle_state()
        suite.case("one_that_is_slow_is_left_alone", one_that_is_slow_is_left_alone, daemon, circuit)
        for name in ("gpu-0", "synth-0", "finalizer-0"):
            suite.case(f"one_that_stands_still_is_replaced_{name}",
                       one_that_stands_still_is_replaced, daemon, circuit, name)
        suite.case("one_that_does_not_stop_is_replaced", one_that_does_not_stop_is_replaced, daemon)
        suite.case("nothing_is_left_behind_by_stalls", daemon.expect_back_to, before)
        suite.case("daemon_with_stalls_stops", daemon.stop)
    suite.case("programs_are_picked_up", programs_are_picked_up, circuit)
    suite.case("device_that_hangs_is_found", device_that_hangs_is_found, circuit)
    suite.case("recycled_by_partitions", recycled_by_partitions, circuit)
    suite.exit()


if __name__ == "__main__":
    main()
