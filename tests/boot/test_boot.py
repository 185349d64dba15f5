#!/usr/bin/python3
"""The packages under a real systemd that is PID 1 of a container: installed, started, loaded with jobs while
workers are killed and the unit restarted, upgraded, rebooted, stopped, removed, purged. Every job is
accounted for, every proof verifies, nothing is left and the journal has no warning that was not asked for.

Cases build on one another, in order; run with no argument.
"""

import json
import os
import re
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system"))

from container import DEBS, Container, base_tree, deb, field, why_not  # noqa: E402
from harness import (FIXTURES, ROOT, Circuit, Snark, Suite, expect, expect_equal, huge_pages,  # noqa: E402
                     huge_pages_used, run, split_arrays, verify, wait_until)

USER = "prover"  # a member of the group cuzkd
UNIT = "cuzkd.service"
KINDS = ("synth", "gpu", "finalizer")
SLABS, SLAB_MIB = 3, 2
PAGES = 32  # of 2 MiB that the host is asked for, so that their return is seen
PAGE_POOL = Path("/proc/sys/vm/nr_hugepages")
CONFIG = """[Supervisor]
StallTimeout=3s

[Ring]
HugePages={pages}
Slabs={slabs}
SlabSize={mib}M

[Synthesis]
Workers=1
Threads=1

[GPU]
Backend=cpu
Threads=1

[Finalizer]
Workers=1
"""


class Boot:
    """One container and what the cases tell one another."""

    def __init__(self, container, circuit):
        self.container, self.circuit = container, circuit
        self.keys = []  # client keys of all jobs
        self.lock = threading.Lock()
        self.expected = []  # patterns of warnings that the cases have asked for
        self.has_pages = huge_pages()[1] >= PAGES
        self.pages_before = huge_pages_used()
        self.out = container.folder / "out"
        self.out.mkdir()
        self.proofs = []  # [(name, vkey, proof, public)]

    # ---- talking to the service

    def ctl(self, *arguments, user=USER, timeout=120):
        return self.container.run("cuzkctl", *arguments, user=user, timeout=timeout)

    def ctl_json(self, *arguments, user=USER, timeout=120):
        result = self.ctl("--json", *arguments, user=user, timeout=timeout)
        expect(result.code == 0, lambda: f"cuzkctl {' '.join(map(str, arguments))}: {result}")
        return result.json()

    def witnesses(self, count):
        return [x for i in range(count)
                for x in ("--witness", f"/fixtures/{self.circuit.label}/w{i % 2 + 1}.wtns")]

    def submit(self, count=4):
        """The job's client key, which outlives the daemon as the number does."""
        with self.lock:
            self.keys.append(key := f"key-{len(self.keys)}")
        self.ctl_json("submit", "--circuit", self.circuit.label, *self.witnesses(count), "--client-key",
                      key)
        return f"@{key}"

    def collect(self, job, count=4):
        """Waits for a job; its proofs verify."""
        done = self.ctl("wait", job, timeout=300)
        expect(done.code == 0, lambda: f"job {job}: {done}")
        place = f"/tmp/{job}"
        result = self.ctl("result", job, "--proof", f"{place}.proof", "--public", f"{place}.public")
        expect(result.code == 0, lambda: f"result of job {job}: {result}")
        files = []
        for kind in ("proof", "public"):
            files.append(self.out / f"{job}.{kind}")
            shutil.copy(self.container.path(f"{place}.{kind}"), files[-1])
        if count == 1:
            pairs = [tuple(files)]
        else:
            pairs = split_arrays(*files, self.out)
        expect_equal(len(pairs), count, f"proofs of job {job}")
        for i, pair in enumerate(pairs):
            expect_equal(verify(self.circuit.vkey, *pair).code, 0, f"verify of job {job}.{i}")
            self.proofs.append((f"job {job}.{i}", self.circuit.vkey, *pair))

    def workers(self):
        return self.ctl_json("workers")["workers"]

    def operate(self, *arguments):
        self.container.ok("cuzkctl", *arguments)

    def configure(self, slabs, mib):
        self.container.write("/etc/cuzkd/cuzkd.conf.d/test.conf", CONFIG.format(
            pages="require" if self.has_pages else "off", slabs=slabs, mib=mib))

    def wait_ready(self):
        def ready():
            found = self.ctl("--json", "workers")
            return found.code == 0 and all(w["state"] in ("idle", "busy")
                                           for w in found.json()["workers"])
        wait_until(ready, 60, "the service answers and its workers are ready")

    def main_pid(self):
        return int(self.container.property(UNIT, "MainPID"))

    def own_processes(self):
        return self.container.run("ps", "-u", "cuzkd", "-o", "pid=,args=").out.strip()


# ---- install and start

def installs(boot):
    container = boot.container
    for path in DEBS.glob("*.deb"):
        if "dbgsym" not in path.name and "-dev_" not in path.name and "-cuda_" not in path.name:
            shutil.copy(path, container.path("/root"))
    container.ok("sh", "-c", "apt-get install -y --no-install-recommends /root/*.deb",
                 timeout=300)
    expect(container.run("getent", "passwd", "cuzkd").code == 0, "no user cuzkd")
    expect_equal(container.ok("dpkg", "--verify", "cuzkd", "libcuzk0").out, "", "files altered")
    conffiles = container.ok("dpkg-query", "-W", "-f", "${Conffiles}", "cuzkd").out
    expect("/etc/cuzkd/cuzkd.conf " in conffiles, "cuzkd.conf is no conffile")
    expect_equal(container.run("systemctl", "is-enabled", UNIT).out.strip(), "disabled", UNIT)
    expect_equal(container.run("systemctl", "is-active", UNIT).out.strip(), "inactive", UNIT)


def starts(boot):
    container = boot.container
    boot.configure(SLABS, SLAB_MIB)
    container.ok("useradd", "-m", "-G", "cuzkd", USER)
    container.ok("useradd", "-m", "stranger")
    container.ok("runuser", "-u", "cuzkd", "--", "cuzkd", "--check-config")
    container.ok("systemctl", "enable", "--now", UNIT)
    expect_equal(container.property(UNIT, "ActiveState"), "active", UNIT)
    expect_equal(container.run("systemctl", "is-system-running").out.strip(), "running", "the system")
    boot.wait_ready()
    if not boot.has_pages:
        boot.expected.append("^cuzkd: slabs lie on ordinary pages")
    for pid in container.ok("ps", "-u", "cuzkd", "-o", "pid=").out.split():
        status = container.ok("cat", f"/proc/{pid}/status").out
        expect_equal(re.search(r"NoNewPrivs:\s*(\d)", status)[1], "1", "NoNewPrivs")
        expect_equal(int(re.search(r"CapEff:\s*(\w+)", status)[1], 16), 0, "capabilities")


def members_prove_and_strangers_do_not(boot):
    container, circuit = boot.container, boot.circuit
    files = f"/fixtures/{circuit.label}"
    arguments = ("circuit", "add", circuit.label, "--zkey", f"{files}/circuit.zkey", "--r1cs",
                 f"{files}/circuit.r1cs")
    expect_equal(boot.ctl(*arguments).code, 3, "a member adds a circuit")
    container.ok("cuzkctl", *arguments)
    expect_equal(boot.ctl("status", user="stranger").code, 3, "a stranger asks")
    boot.collect(boot.submit(1), 1)
    boot.collect(boot.submit(5), 5)


def pages_are_taken(boot):
    used = huge_pages_used() - boot.pages_before
    expect(used >= SLABS * SLAB_MIB // 2, f"{used} hugepages are used for {SLABS} slabs")


def hardened(boot):
    found = boot.container.ok("systemd-analyze", "security", "--no-pager", UNIT).out.strip()
    print("  " + found.splitlines()[-1], flush=True)
    figure = float(re.search(r"level for \S+: ([\d.]+)", found)[1])
    expect(figure <= 2.0, f"systemd-analyze security says {figure}")


# ---- trouble

class Load:
    """Clients that prove one job after the other until it is left. Each rides through whatever happens
    to the daemon: all their jobs are done in the end."""

    def __init__(self, boot, clients=2, partitions=6):
        self.boot, self.partitions = boot, partitions
        self.jobs, self.failures, self.is_over = [], [], False
        self.threads = [threading.Thread(target=self._prove) for _ in range(clients)]

    def _prove(self):
        while not self.is_over:
            with self.boot.lock:
                self.boot.keys.append(key := f"key-{len(self.boot.keys)}")
            deadline = time.monotonic() + 120
            while True:
                done = self.boot.ctl(
                    "prove", "--circuit", self.boot.circuit.label, *self.boot.witnesses(self.partitions),
                    "--client-key", key, "--proof", f"/tmp/{key}.proof", "--public",
                    f"/tmp/{key}.public", timeout=300)
                # No daemon, or busy: what a client key is for.
                if done.code not in (3, 5) or time.monotonic() > deadline:
                    break
                time.sleep(0.1)
            if done.code != 0:
                self.failures.append(f"{key}: {done}")
                return
            self.jobs.append(key)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        wait_until(lambda: self.jobs or self.failures, 60, "the first job is done")
        return self

    def progresses(self, count=2):
        """As many more jobs are done."""
        goal = len(self.jobs) + count
        wait_until(lambda: len(self.jobs) >= goal or self.failures, 120, f"{count} more jobs are done")

    def __exit__(self, kind, *_):
        self.is_over = True
        for thread in self.threads:
            thread.join()
        if kind is None:
            expect_equal(self.failures, [], "jobs that clients did not get done")
            for key in self.jobs:
                self.boot.collect(f"@{key}", self.partitions)


def survives_killed_workers(boot):
    boot.expected += [r"^cuzkd: \S+ \(killed by SIGKILL\S*.*\) is gone with \d+ partitions in hand"]
    with Load(boot) as load:
        for kind in KINDS:
            boot.container.kill(next(w for w in boot.workers() if w["kind"] == kind)["pid"])
            load.progresses()
    boot.wait_ready()


def finds_stopped_workers(boot):
    boot.expected += [r"makes no progress for", r"is in state T", r": its trace, ",
                      r"\(no progress for .*\) is gone with \d+ partitions in hand"]
    with Load(boot) as load:
        for kind in KINDS:
            victim = next(w for w in boot.workers() if w["kind"] == kind)
            boot.container.kill(victim["pid"], signal.SIGSTOP)
            wait_until(lambda v=victim: not boot.container.exists(f"/proc/{v['pid']}"), 60,
                       f"{victim['name']} is found and killed")
            load.progresses()
    boot.wait_ready()


def obeys_operators(boot):
    with Load(boot) as load:
        before = {w["name"]: w["pid"] for w in boot.workers()}
        boot.operate("restart", "all")
        load.progresses()
        wait_until(lambda: not {w["pid"] for w in boot.workers()} & set(before.values()), 60,
                   "all workers are replaced")
        boot.operate("drain", "synth-0")
        boot.operate("resume", "synth-0")
        load.progresses()
        boot.operate("restart", "gpu-0", "--now")
        load.progresses()


def reloads_with_other_rings(boot):
    container = boot.container

    def rings():
        return [(r["slab_bytes"] >> 20, r["slabs"]) for r in boot.ctl_json("status")["rings"]]

    with Load(boot) as load:
        for slabs, mib in ((5, 2), (2, 4), (SLABS, SLAB_MIB)):
            boot.configure(slabs, mib)
            container.ok("systemctl", "reload", UNIT)
            wait_until(lambda: rings() == [(mib, slabs)], 60, f"the ring has {slabs} slabs of {mib} MiB")
            load.progresses()
        boot.expected += ["^cuzkd: reload refused, nothing changes", "^Reload failed for cuzkd.service"]
        container.write("/etc/cuzkd/cuzkd.conf.d/zz.conf", "[Ring]\nSlobs=3\n")
        expect(container.run("systemctl", "reload", UNIT).code != 0, "a bad configuration is taken")
        container.ok("rm", "/etc/cuzkd/cuzkd.conf.d/zz.conf")
        expect_equal(rings(), [(SLAB_MIB, SLABS)], "rings after a refused reload")
        load.progresses()


def survives_restarts_of_the_unit(boot):
    with Load(boot) as load:
        for _ in range(3):
            before = boot.main_pid()
            boot.container.ok("systemctl", "restart", UNIT)
            expect(boot.main_pid() not in (0, before), "the unit was not restarted")
            load.progresses()
        stored = int(boot.container.property(UNIT, "NFileDescriptorStore"))
        expect(stored >= SLABS + 1, f"{stored} descriptors are stored")


def survives_its_own_death(boot):
    boot.expected += [r"^cuzkd.service: (Main process exited|Failed with result)",
                      # said by one that noticed before the kernel ended it
                      r"^\S+: the (channel to the supervisor broke|supervisor \(process \d+\) is gone)"]
    with Load(boot) as load:
        for _ in range(2):
            before = boot.main_pid()
            boot.container.kill(before)
            wait_until(lambda: boot.main_pid() not in (0, before), 60, "systemd starts it again")
            load.progresses()


def stops_under_load(boot):
    jobs = [boot.submit(16) for _ in range(6)]
    boot.container.ok("systemctl", "stop", UNIT)
    expect_equal(boot.own_processes(), "", "processes left")
    boot.container.ok("systemctl", "start", UNIT)
    for job in jobs:
        boot.collect(job, 16)


def survives_a_reboot(boot):
    jobs = [boot.submit(16) for _ in range(6)]
    boot.container.reboot()
    boot.wait_ready()
    for job in jobs:
        boot.collect(job, 16)


def survives_a_power_cut(boot):
    jobs = [boot.submit(16) for _ in range(6)]
    boot.container.crash()
    boot.wait_ready()
    for job in jobs:
        boot.collect(job, 16)


def accounts_for_every_job(boot):
    jobs = boot.ctl_json("jobs", "--limit", "1000")["jobs"]
    states = {j["client_key"]: j["state"] for j in jobs}
    expect_equal(len(states), len(jobs), "jobs of one client key")
    expect_equal(sorted(states), sorted(boot.keys), "client keys of all jobs")
    expect_equal({k: s for k, s in states.items() if s != "done"}, {}, "jobs that are not done")
    boot.container.ok("cuzkctl", "check")


def upgrades(boot):
    """The same files under a higher version: the unit is restarted, the configuration stays as it was
    edited, and what was enabled stays so."""
    container, before = boot.container, boot.main_pid()
    container.ok("sh", "-c", "echo '# edited' >> /etc/cuzkd/cuzkd.conf")
    work = container.folder / "upgrade"
    for name in ("cuzkd", "libcuzk0"):
        shutil.rmtree(work, ignore_errors=True)
        run("dpkg-deb", "-R", deb(name), work)
        control = work / "DEBIAN/control"
        version = field(deb(name), "Version")
        control.write_text(control.read_text().replace(f"Version: {version}", f"Version: {version}+1"))
        expect_equal(run("dpkg-deb", "--root-owner-group", "-b", work,
                         container.path(f"/root/{name}+1.deb")).code, 0, "dpkg-deb")
    with Load(boot) as load:
        container.ok("sh", "-c", "apt-get install -y /root/*+1.deb", timeout=300)
        load.progresses()
    expect(boot.main_pid() not in (0, before), "the unit was not restarted")
    expect_equal(container.run("systemctl", "is-enabled", UNIT).out.strip(), "enabled", UNIT)
    expect("# edited" in container.ok("cat", "/etc/cuzkd/cuzkd.conf").out, "the configuration is gone")
    boot.collect(boot.submit(2), 2)


# ---- the end

def stops(boot):
    container = boot.container
    container.ok("systemctl", "stop", UNIT)
    expect_equal(container.property(UNIT, "Result"), "success", "result of the unit")
    expect_equal(container.property(UNIT, "ExecMainStatus"), "0", "exit status")
    expect_equal(boot.own_processes(), "", "processes left")
    expect_equal(container.run("systemctl", "is-system-running").out.strip(), "running", "the system")
    if boot.has_pages:
        wait_until(lambda: huge_pages_used() <= boot.pages_before, 10, "the hugepages are free again")


def journal_is_clean(boot):
    lines = boot.container.ok("journalctl", "--no-pager", "-o", "json", "-p", "warning", "-u", UNIT,
                              "-u", "cuzkd.socket", "-u", "cuzkd-admin.socket").out.splitlines()
    unexpected = []
    for line in map(json.loads, lines):
        if not any(re.search(e, line["MESSAGE"]) for e in boot.expected):
            unexpected.append(line["MESSAGE"])
    expect_equal(unexpected, [], "warnings")


def removes_and_purges(boot):
    container = boot.container
    container.ok("systemctl", "start", UNIT)
    container.ok("apt-get", "remove", "-y", "cuzkd")
    expect_equal(boot.own_processes(), "", "processes left")
    for path in ("/etc/cuzkd/cuzkd.conf", "/var/lib/cuzkd/circuits"):
        expect(container.exists(path), f"a removal took {path}")
    container.ok("ln", "-s", "/srv", "/var/cache/cuzkd/elsewhere")
    container.write("/srv/kept", "")
    container.ok("apt-get", "purge", "-y", "cuzkd")
    for path in ("/etc/cuzkd/cuzkd.conf", "/var/lib/cuzkd", "/var/cache/cuzkd",
                 "/lib/systemd/system/cuzkd.service",
                 "/etc/systemd/system/multi-user.target.wants/cuzkd.service"):
        expect(not container.exists(path), f"a purge left {path}")
    expect(container.exists("/srv/kept"), "a purge followed a link")
    expect_equal(container.run("systemctl", "is-system-running").out.strip(), "running", "the system")


def build_dependencies_are_those_of_dev():
    listed = re.search(r'build_packages="([^"]*)"', (ROOT / "dev").read_text())[1].split()
    control = (ROOT / "packaging/debian/control").read_text()
    stanza = re.search(r"^Build-Depends:(.*?)^\w", control, re.DOTALL | re.MULTILINE)[1]
    named = {w.split("(")[0].strip() for w in stanza.split(",")}
    expect_equal(sorted({w for w in listed if w not in ("gcc", "libc6-dev")} - named), [],
                 "packages of ./dev that debian/control lacks")


def development_files_work(circuit):
    """libcuzk-dev and libcuzk0, unpacked: a program builds against both kinds of library and runs."""
    work = DEBS / "unpacked"
    shutil.rmtree(work, ignore_errors=True)
    for name in ("libcuzk-dev", "libcuzk0"):
        expect_equal(run("dpkg-deb", "-x", deb(name), work).code, 0, "dpkg-deb")
    folder = next(work.glob("usr/lib/*/pkgconfig"))
    (work / "program.c").write_text("""#include <libcuzk.h>
#include <stdio.h>
int main(void)
{
    struct cuzk *cuzk;
    struct cuzk_error error;
    puts(cuzk_version());
    return cuzk_open("/nonexistent", &cuzk, &error) == CUZK_NO_DAEMON ? 0 : 1;
}
""")
    for more in ([], ["--static"]):
        flags = run("pkg-config", *more, "--cflags", "--libs", "libcuzk",
                    env=dict(os.environ, PKG_CONFIG_PATH=str(folder),
                             PKG_CONFIG_SYSROOT_DIR=str(work))).out.split()
        static = ["-Wl,-Bstatic", "-lcuzk", "-Wl,-Bdynamic"] if more else ["-lcuzk"]
        flags = [x for f in flags for x in (static if f == "-lcuzk" else [f])]
        # Only our own folders are below the root of the unpacked tree.
        flags = [f for f in flags if not f.startswith(("-I", "-L")) or Path(f[2:]).exists()]
        built = run("cc", "-Wall", "-Werror", work / "program.c", "-o", work / "program", *flags)
        expect(built.code == 0, str(built))
        ran = run(work / "program", env=dict(os.environ, LD_LIBRARY_PATH=str(folder.parent)))
        expect(ran.code == 0, str(ran))
        needed = run("readelf", "-d", work / "program").out
        expect_equal("libcuzk.so.0" in needed, not more, "links the shared library")
    shutil.rmtree(work)


def lintian_finds_no_error():
    found = run("lintian", "--fail-on", "error", *(p for p in DEBS.glob("*.deb") if "dbgsym" not in p.name),
                timeout=300)
    expect(found.code == 0, str(found))


def snarkjs_agrees(boot, snark):
    refused = snark.verify([{"name": n, "vkey": v, "proof": p, "public": s}
                            for n, v, p, s in boot.proofs])
    expect_equal(refused, [], "proofs that snarkjs refuses")
    print(f"  {len(boot.proofs)} proofs of {len(boot.keys)} jobs", flush=True)


def main():
    suite = Suite("boot")
    why = why_not()
    if why:
        suite.skip("boot", why)
        suite.exit()
    circuit = Circuit("chain12", "bn128")
    suite.case("build_dependencies_are_those_of_dev", build_dependencies_are_those_of_dev)
    suite.case("development_files_work", development_files_work, circuit)
    if shutil.which("lintian"):
        suite.case("lintian_finds_no_error", lintian_finds_no_error)
    else:
        suite.skip("lintian_finds_no_error", "lintian is not installed")
    begin = time.monotonic()
    base_tree()
    pool = PAGE_POOL.read_text()
    try:
        PAGE_POOL.write_text(str(int(pool) + PAGES))
        boot_and_test(suite, circuit)
    finally:
        PAGE_POOL.write_text(pool)
    print(f"  {time.monotonic() - begin:.0f} s", flush=True)
    suite.exit()


def boot_and_test(suite, circuit):
    with Container({FIXTURES / "good" / circuit.label: f"/fixtures/{circuit.label}"}) as container:
        container.boot()
        boot = Boot(container, circuit)
        suite.case("installs_and_waits_for_its_configuration", installs, boot)
        suite.case("starts", starts, boot)
        if suite.failed:
            return
        suite.case("members_prove_and_strangers_do_not", members_prove_and_strangers_do_not, boot)
        if boot.has_pages:
            suite.case("takes_hugepages", pages_are_taken, boot)
        else:
            suite.skip("takes_hugepages", "too few are free on this host")
        suite.case("is_hardened", hardened, boot)
        suite.case("survives_killed_workers", survives_killed_workers, boot)
        suite.case("finds_stopped_workers", finds_stopped_workers, boot)
        suite.case("obeys_operators", obeys_operators, boot)
        suite.case("reloads_with_other_rings", reloads_with_other_rings, boot)
        suite.case("survives_restarts_of_the_unit", survives_restarts_of_the_unit, boot)
        suite.case("survives_its_own_death", survives_its_own_death, boot)
        suite.case("restarts_on_an_upgrade_and_keeps_its_configuration", upgrades, boot)
        suite.case("stops_under_load_and_goes_on", stops_under_load, boot)
        suite.case("survives_a_reboot", survives_a_reboot, boot)
        suite.case("survives_a_power_cut", survives_a_power_cut, boot)
        suite.case("accounts_for_every_job", accounts_for_every_job, boot)
        suite.case("stops_and_leaves_nothing", stops, boot)
        suite.case("journal_has_no_warning_that_was_not_asked_for", journal_is_clean, boot)
        suite.case("keeps_configuration_when_removed_and_takes_all_when_purged", removes_and_purges, boot)
        snark = Snark()
        if snark.why:
            suite.skip("snarkjs_accepts_every_proof", snark.why)
        else:
            suite.case("snarkjs_accepts_every_proof", snarkjs_agrees, boot, snark)
        suite.case("powers_off", container.power_off)


if __name__ == "__main__":
    main()
