#!/usr/bin/python3
"""The configuration read again: rings and workers of another number and size under load, files with
faults, pages that return later, limits below what is in use."""

import fcntl
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


def limit_below_what_is_in_use(daemon, circuit):
    """All slabs are bound by a GPU worker that is stopped: the ring shrinks as they come free."""
    gpu = [w["pid"] for w in daemon.workers() if w["kind"] == "gpu"][0]
    os.kill(gpu, signal.SIGSTOP)
    try:
        job = daemon.ctl_json("submit", "--circuit", circuit.label,
                              *[x for _ in range(12) for x in ("--witness", circuit.witnesses[0])])
        ring = lambda: daemon.status()["rings"][0]
        wait_until(lambda: ring()["occupancy"] == 4, 20, "all slabs are held")
        reload(daemon, {"Ring": {"Slabs": 1}})
        time.sleep(0.3)
        now = ring()
        expect_equal((now["slabs"], now["wanted"], now["occupancy"], now["retiring"]), (4, 1, 4, 0),
                     "slabs, wanted, held, retiring")
        shown = daemon.ctl_ok("status").out
        expect("4 of 1 slabs, changing" in shown, shown)
    finally:
        os.kill(gpu, signal.SIGCONT)
    expect_equal(daemon.ctl_json("wait", str(job["job"]))["state"], "done", "the job")
    settled(daemon, [("default", 8 * MIB, 1)])
    reload(daemon, {"Ring": {"Slabs": 4}})
    settled(daemon, [("default", 8 * MIB, 4)])


def removed_class_finishes_its_jobs(circuit):
    """A job fits only slabs that the configuration has no more: it is finished, then the circuit is
    refused, until there is a class for it again."""
    large = {'Ring "large"': {"Slabs": 2, "SlabSize": "4M"}}
    with Daemon({"Ring": {"SlabSize": "1M"}, **large}) as daemon:
        daemon.add(circuit)
        witnesses = [x for _ in range(6) for x in ("--witness", circuit.witnesses[0])]
        job = daemon.ctl_json("submit", "--circuit", circuit.label, *witnesses)["job"]
        wait_until(lambda: [r for r in daemon.status()["rings"] if r["occupancy"]], 60, "it runs")
        del daemon.sections['Ring "large"']
        reload(daemon, {})
        refused = daemon.ctl("submit", "--circuit", circuit.label, *witnesses)
        expect_equal(refused.code, 1, "exit code of a new job")
        expect("fits no slab" in refused.err or "needs a slab" in refused.err, f"{refused}")
        proof, public = daemon.folder / "p", daemon.folder / "q"
        expect_equal(daemon.ctl_json("wait", str(job), timeout=300)["state"], "done", "the job")
        daemon.ctl_ok("result", str(job), "--proof", proof, "--public", public)
        expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")
        settled(daemon, [("default", MIB, 4)])
        listed = daemon.ctl_json("circuit", "list")["circuits"][0]
        expect_equal(listed["state"], "failed", "the circuit")
        expect("cuzkctl reload" in listed["error"], f"{listed}")
        reload(daemon, large)
        settled(daemon, [("default", MIB, 4), ("large", 4 * MIB, 2)])
        proof, public = daemon.prove(circuit.label, [circuit.witnesses[0]])
        expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")


def set_pages(pages):
    Path("/proc/sys/vm/nr_hugepages").write_text(str(pages))
    return huge_pages()[0] == pages


def pages_return_later(circuit):
    """The pool has too few pages: the ring has what it can, says so, and goes on when they are back."""
    lock = open("/tmp/cuzkd-test-hugepages.lock", "w")  # with the other tests that set the pool
    fcntl.flock(lock, fcntl.LOCK_EX)
    total, free = huge_pages()
    used = total - free
    try:
        if not set_pages(used + 4):
            raise Failure("the pool cannot be set")
        sections = {"Ring": {"HugePages": "require", "Slabs": 2, "SlabSize": "2M"}}
        with Daemon(sections) as daemon:
            daemon.add(circuit)
            daemon.prove(circuit.label, [circuit.witnesses[0]])
            with Load(daemon, circuit, threads=1):
                reload(daemon, {"Ring": {"Slabs": 6}})
                short = wait_until(lambda: [r for r in daemon.status()["rings"]
                                            if r.get("waits_for")], 20, "pages are short")[0]
                expect(2 <= short["slabs"] < 6 and "hugepages of 2 MiB" in short["waits_for"],
                       f"{short}")
                expect("of 6 slabs, waiting for memory" in daemon.ctl_ok("status").out, "for people")
                set_pages(used + 10)
                settled(daemon, [("default", 2 * MIB, 6)])
                # More than there is room for beside the old ones: they make way one by one.
                set_pages(used + 8)
                reload(daemon, {"Ring": {"Slabs": 1, "SlabSize": "10M"}})
                settled(daemon, [("default", 10 * MIB, 1)])
            expect_equal(daemon.log().count("waits for pages"), 2, "warnings")
            daemon.stop()
    finally:
        set_pages(total)
        lock.close()


class Device(Daemon):
    def __init__(self, stub, sections=None):
        super().__init__({"GPU": {"Backend": "cuda"}, **(sections or {})},
                         environment={"CUZK_TEST_PLUGIN": str(STUB), "CUZK_STUB": stub})


def slabs_are_registered_once(circuit):
    folder = Path(os.environ.get("TMPDIR", "/tmp"))
    report = folder / f"cuzk-test-registered-{os.getpid()}"
    try:
        with Device(f"report={report}") as daemon:
            daemon.add(circuit)
            daemon.prove(circuit.label, [circuit.witnesses[0]])

            def pinned():
                return daemon.status()["gpu"][0]["slabs_pinned"]

            with Load(daemon, circuit):
                for count in (7, 2, 5):
                    reload(daemon, {"Ring": {"Slabs": count}})
                    settled(daemon, [("default", 8 * MIB, count)])
                    expect_equal(pinned(), count, "registered")
            daemon.stop()
        words = dict(line.rsplit(" ", 1) for line in report.read_text().splitlines())
        # The known answer on two curves and the key come on top of the slabs.
        made = int(words["host_register"]) - int(words["host_unregister"])
        expect_equal((made, words["registered"]), (0, "0"), "left registered")
        expect_equal(int(words["host_register"]), 2 + 1 + 4 + 3 + 3, "registrations")
    finally:
        report.unlink(missing_ok=True)


def refused_slab_is_not_issued(circuit):
    with Device("fail=host_register:8:2") as daemon:  # two known answers, four slabs, the key
        daemon.add(circuit)
        daemon.prove(circuit.label, [circuit.witnesses[0]])
        reload(daemon, {"Ring": {"Slabs": 5}})
        ring = wait_until(lambda: [r for r in daemon.status()["rings"] if r.get("waits_for")], 20,
                          "the device refuses it")[0]
        expect_equal((ring["slabs"], ring["wanted"]), (4, 5), "slabs")
        expect("gpu-0 refuses a slab: " in ring["waits_for"], f"{ring}")
        proof, public = daemon.prove(circuit.label, circuit.witnesses * 4)
        expect_equal(verify(circuit.vkey, proof, public).code, 0, "verify")
        expect_equal([w["restarts"] for w in daemon.workers()], [0, 0, 0], "restarts")
        reload(daemon, {"Ring": {"Slabs": 6}})  # tried again at once, and it works now
        settled(daemon, [("default", 8 * MIB, 6)])


def needs_the_admin_socket(daemon):
    import rpc
    with rpc.Client(daemon.socket) as client:
        try:
            client.call("reload")
        except rpc.RemoteError as error:
            expect_equal(error.code, "denied", "code")
        else:
            raise Failure("the submit socket reloads")


def main():
    suite = Suite("reload")
    circuit = Circuit("mul", "bn128")
    with Daemon() as daemon:
        daemon.add(circuit)
        daemon.prove(circuit.label, [circuit.witnesses[0]])
        before = daemon.idle_state()
        suite.case("ring_grows_and_shrinks_under_load", grows_and_shrinks_under_load, daemon, circuit)
        suite.case("slab_size_changes_under_load", size_changes_under_load, daemon, circuit)
        suite.case("size_classes_come_and_go_under_load", classes_come_and_go, daemon, circuit)
        suite.case("workers_change_under_load", workers_change_under_load, daemon, circuit)
        suite.case("limit_below_what_is_in_use_holds_as_slabs_come_free", limit_below_what_is_in_use,
                   daemon, circuit)
        suite.case("bad_file_changes_nothing", bad_file_changes_nothing, daemon)
        suite.case("what_needs_a_restart_is_said", restart_is_said, daemon)
        suite.case("only_the_admin_socket_reloads", needs_the_admin_socket, daemon)
        suite.case("state_is_as_before", daemon.expect_back_to, before)
    suite.case("removed_class_finishes_its_jobs", removed_class_finishes_its_jobs,
               Circuit("sha256_bits", "bn128"))
    for name, what in (("slabs_are_registered_once", slabs_are_registered_once),
                       ("slab_that_the_device_refuses_is_not_issued", refused_slab_is_not_issued)):
        if STUB.exists():
            suite.case(name, what, circuit)
        else:
            suite.skip(name, "the stand-in device is not built")
    if os.access("/proc/sys/vm/nr_hugepages", os.W_OK):
        suite.case("pages_that_return_later_are_taken", pages_return_later, circuit)
    else:
        suite.skip("pages_that_return_later_are_taken", "vm.nr_hugepages cannot be set here")
    suite.exit()


if __name__ == "__main__":
    main()
