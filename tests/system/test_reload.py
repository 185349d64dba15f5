#!/usr/bin/python3
"""The configuration read again: rings and workers of another number and size under load, files with
faults, pages that return later, limits below what is in use."""

import json
import os
import re
import signal
import threading
import time
from pathlib import Path

from harness import (BUILD, Circuit, Daemon, Failure, Suite, expect, expect_equal, huge_pages, run,
                     verify, wait_until, write_config)

STUB = BUILD / "tests" / "gpu-worker" / "stub" / "libcuzk-stub.so"
MIB = 1 << 20


def rewrite(daemon, sections):
    for name, keys in sections.items():
        daemon.sections.setdefault(name, {}).update(keys)
    write_config(daemon.config, daemon.sections)


def reload(daemon, sections):
    rewrite(daemon, sections)
    return daemon.ctl_json("reload")


def rings(daemon):
    """[(name, slab bytes, slabs, wanted, retiring)]"""
    return [(r["name"], r["slab_bytes"], r["slabs"], r["wanted"], r["retiring"])
            for r in daemon.status()["rings"]]


def settled(daemon, wanted, seconds=20):
    """Waits until the rings are exactly these: [(name, slab bytes, slabs)]."""
    wanted = [(name, size, count, count, 0) for name, size, count in wanted]
    return wait_until(lambda: sorted(rings(daemon)) == sorted(wanted), seconds,
                      f"rings are {wanted}, and are {rings(daemon)}")


class Load:
    """Jobs one after the other, from some threads, until it is left; then every proof is verified."""

    def __init__(self, daemon, circuit, threads=2, partitions=6):
        self.daemon, self.circuit, self.partitions = daemon, circuit, partitions
        self.jobs, self.failures, self.stop = [], [], False
        self.threads = [threading.Thread(target=self._run, args=(i,)) for i in range(threads)]

    def _run(self, thread):
        count = 0
        witnesses = [self.circuit.witnesses[i % len(self.circuit.witnesses)]
                     for i in range(self.partitions)]
        while not self.stop:
            try:
                self.jobs.append(self.daemon.prove(self.circuit.label, witnesses,
                                                   tag=f"load{thread}-{count}"))
            except Exception as failure:  # told by __exit__
                self.failures.append(failure)
                return
            count += 1

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        wait_until(lambda: self.jobs or self.failures, 60, "the first job under load")
        return self

    def __exit__(self, kind, value, trace):
        self.stop = True
        for thread in self.threads:
            thread.join()
        if kind is None:
            expect_equal(self.failures, [], "jobs that failed")
            for proof, public in self.jobs[:2] + self.jobs[-2:]:
                expect_equal(len(json.loads(Path(proof).read_text())), self.partitions, "proofs")
                expect_equal(verify(self.circuit.vkey, proof, public).code, 0, "verify")
            attempts = set(re.findall(r"attempts=(\d+)", self.daemon.log()))
            expect_equal(attempts, {"0"}, "attempts of all partitions")


def grows_and_shrinks_under_load(daemon, circuit):
    with Load(daemon, circuit):
        for count in (7, 1, 3, 12, 2, 4):
            report = reload(daemon, {"Ring": {"Slabs": count}})
            expect_equal(report["now"], ["Ring.Slabs"], "now")
            settled(daemon, [("default", 8 * MIB, count)])
    times = re.findall(r"SUP_TIMING ring_resize ring=default slab_bytes=8388608 slabs_before=\d+ "
                       r"slabs_after=\d+ outcome=ok total_ms=([0-9.]+)", daemon.log())
    expect_equal(len(times), 6, "timing lines")
    print(f"  SUP_TIMING ring_resize under load, ms: {' '.join(times)}", flush=True)


def size_changes_under_load(daemon, circuit):
    with Load(daemon, circuit):
        for size in (16, 4, 8):
            reload(daemon, {"Ring": {"SlabSize": f"{size}M"}})
            settled(daemon, [("default", size * MIB, 4)])


def classes_come_and_go(daemon, circuit):
    with Load(daemon, circuit):
        report = reload(daemon, {'Ring "large"': {"Slabs": 2, "SlabSize": "16M"},
                                 'Ring "small"': {"Slabs": 3, "SlabSize": "1M"}})
        expect_equal([(c["key"], c["old"], c["new"]) for c in report["changed"]],
                     [('Ring "large"', "absent", "2 slabs of 16M"),
                      ('Ring "small"', "absent", "3 slabs of 1M")], "changes")
        settled(daemon, [("default", 8 * MIB, 4), ("large", 16 * MIB, 2), ("small", MIB, 3)])
        # The jobs lie in the smallest that fits now.
        wait_until(lambda: [r for r in daemon.status()["rings"]
                            if r["name"] == "small" and r["head"] > 0], 20, "small is used")
        del daemon.sections['Ring "large"'], daemon.sections['Ring "small"']
        reload(daemon, {})
        settled(daemon, [("default", 8 * MIB, 4)])


def workers_change_under_load(daemon, circuit):
    def names():
        return sorted(w["name"] for w in daemon.workers() if w["state"] in ("idle", "busy"))

    with Load(daemon, circuit):
        for synths, finalizers in ((3, 2), (1, 1)):
            report = reload(daemon, {"Synthesis": {"Workers": synths},
                                     "Finalizer": {"Workers": finalizers}})
            expect_equal(report["now"], ["Synthesis.Workers", "Finalizer.Workers"], "now")
            wanted = sorted([f"synth-{i}" for i in range(synths)] + ["gpu-0"] +
                            [f"finalizer-{i}" for i in range(finalizers)])
            wait_until(lambda: names() == wanted, 20, f"workers are {wanted}")
        before = {w["name"]: w["pid"] for w in daemon.workers()}
        report = reload(daemon, {"GPU": {"Threads": 1}, "Synthesis": {"MallocTrim": "off"}})
        expect_equal(report["restarts"], ["synth-0", "gpu-0"], "restarts")
        wait_until(lambda: all(w["pid"] != before[w["name"]] and w["state"] in ("idle", "busy")
                               for w in daemon.workers() if w["kind"] != "finalizer"), 20,
                   "they are replaced")
        for worker in daemon.workers():
            words = Path(f"/proc/{worker['pid']}/cmdline").read_bytes().decode().split("\0")
            if worker["kind"] == "gpu":
                expect_equal(words[words.index("--threads") + 1], "1", "threads")
            if worker["kind"] == "synth":
                expect_equal(words[words.index("--malloc-trim") + 1], "off", "trim")
        rewrite(daemon, {"GPU": {"Threads": 2}, "Synthesis": {"MallocTrim": "idle"}})
        os.kill(daemon.process.pid, signal.SIGHUP)
        wait_until(lambda: "reload: GPU.Threads 1 -> 2" in daemon.log(), 10, "SIGHUP is heard")


def bad_file_changes_nothing(daemon):
    good = daemon.config.read_text()
    before = rings(daemon)
    for text, words in (("[Ring]\nSlabs=0\n", ("cuzkd.conf:2: Slabs=0", "1 to 1024")),
                        ("[Ring]\nSlab=9\n", ("cuzkd.conf:2: unknown key Slab=", "did you mean Slabs=")),
                        ("[Ring]\nSlabs=9\nSlabs=8\n", ("cuzkd.conf:3:", "already set in line 2")),
                        ("[Ring]\nSlabs=9\nSlabSize=3M\nHugePages=require\n",
                         ("cuzkd.conf:3: SlabSize=3M", "not a multiple"))):
        daemon.config.write_text(text)
        refused = daemon.ctl("reload")
        expect_equal(refused.code, 4, "exit code")
        for word in words:
            expect(word in refused.err, lambda: f"lacks {word}: {refused}")
        expect("reload refused, nothing changes" in daemon.log(), "no line in the log")
    daemon.config.unlink()
    expect_equal(daemon.ctl("reload").code, 4, "exit code without a file")
    daemon.config.write_text(good)
    expect_equal(daemon.ctl_json("reload")["changed"], [], "changes")
    expect_equal(rings(daemon), before, "rings")
    expect("nothing has changed" in daemon.ctl_ok("reload").out, "for people")


def restart_is_said(daemon):
    report = reload(daemon, {"Supervisor": {"EventLoop": "ppoll", "AttemptsMax": 7}})
    expect_equal((report["now"], report["refused"]),
                 (["Supervisor.AttemptsMax"], ["Supervisor.EventLoop"]), "effects")
    shown = daemon.ctl_ok("reload").out
    expect("Supervisor.EventLoop  auto -> ppoll  NOT IN EFFECT" in shown, shown)
    expect("AttemptsMax" not in shown, shown)
    del daemon.sections["Supervisor"]["EventLoop"]
    expect_equal(reload(daemon, {})["changed"], [], "back")


def needs_the_admin_socket(daemon):
    import rpc
    with rpc.Client(daemon.socket) as client:
        try:
            client.call("reload")
        except rpc.Error as error:
            expect_equal(error.code, "denied", "code")
        else:
            raise Failure("the submit socket reloads")


def main():
    suite = Suite("reload")
    circuit = Circuit("mul", "bn128")
    larger = Circuit("chain12", "bn128")
    with Daemon() as daemon:
        daemon.add(circuit)
        daemon.prove(circuit.label, [circuit.witnesses[0]])
        before = daemon.idle_state()
        suite.case("ring_grows_and_shrinks_under_load", grows_and_shrinks_under_load, daemon, circuit)
        suite.case("slab_size_changes_under_load", size_changes_under_load, daemon, circuit)
        suite.case("size_classes_come_and_go_under_load", classes_come_and_go, daemon, circuit)
        suite.case("workers_change_under_load", workers_change_under_load, daemon, circuit)
        suite.case("bad_file_changes_nothing", bad_file_changes_nothing, daemon)
        suite.case("what_needs_a_restart_is_said", restart_is_said, daemon)
        suite.case("state_is_as_before", daemon.expect_back_to, before)
    suite.exit()


if __name__ == "__main__":
    main()
