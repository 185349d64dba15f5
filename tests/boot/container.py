"""A Debian tree that boots a real systemd as PID 1 in systemd-nspawn, with the packages of ./dev deb.

The bare tree, with what the packages depend on and nothing of ours, is made once by debootstrap and kept
under $XDG_CACHE_HOME/cuzkd-tests; a test writes into an overlay over it. Nothing registers with the
host's systemd, and there may be none.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from harness import ROOT, Failure, expect, expect_equal, run, wait_until

DEBS = Path(os.environ.get("CUZK_DEBS", ROOT / "build-deb"))
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cuzkd-tests"
TREE_PACKAGES = ["systemd-sysv", "dbus", "procps"]


def why_not():
    """Why no container can be booted here, or None."""
    if os.geteuid() != 0:
        return "not root"
    for program, package in (("debootstrap", "debootstrap"), ("systemd-nspawn", "systemd-container")):
        if not shutil.which(program):
            return f"{program} is not installed (package {package})"
    if not deb("cuzkd"):
        return "no packages in build-deb (./dev deb)"
    return None


def deb(name):
    """The package's file, or None."""
    return next(iter(DEBS.glob(f"{name}_*.deb")), None)


def field(path, name):
    return run("dpkg-deb", "-f", path, name).out.strip()


def base_tree():
    """The bare tree, made when it is not there. Depends on the packages' dependencies."""
    words = re.split(r"[,|]", ",".join(field(deb(n), "Depends") for n in ("cuzkd", "libcuzk0")))
    needs = sorted({w.split("(")[0].strip() for w in words} | set(TREE_PACKAGES))
    needs = [n for n in needs if not n.startswith(("systemd-standalone", "libcuzk"))
             and n != "systemd-sysusers"]
    codename = re.search(r"^VERSION_CODENAME=(\w+)$", Path("/etc/os-release").read_text(), re.M)[1]
    label = hashlib.sha256(" ".join(needs).encode()).hexdigest()[:8]
    tree = CACHE / f"{codename}-{label}"
    if not tree.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=CACHE, prefix="part-"))
        made = run("debootstrap", "--variant=minbase", "--include=" + ",".join(needs), codename, part,
                   timeout=600)
        if made.code != 0:
            shutil.rmtree(part)
            raise Failure(f"debootstrap: {made}")
        for path in (part / "var/cache/apt/archives").glob("*.deb"):
            path.unlink()
        part.chmod(0o755)
        try:
            part.rename(tree)
        except OSError:  # another run was faster
            shutil.rmtree(part)
    return tree


def cgroup_trees():
    """The trees that systemd keeps processes in, of whatever version."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [target for _, target, kind, options, *_ in mounts
            if kind == "cgroup2" or kind == "cgroup" and "name=systemd" in options.split(",")]


class Container:
    """Use as a context manager; leaving it takes everything away."""

    def __init__(self, binds=()):
        """binds: {host path: path inside}, read-only."""
        base = base_tree()
        self.folder = Path(tempfile.mkdtemp(prefix="cuzk-boot-"))
        for name in ("up", "work", "root"):
            (self.folder / name).mkdir()
        self.root = self.folder / "root"
        mounted = run("mount", "-t", "overlay", "overlay", "-o",
                      f"lowerdir={base},upperdir={self.folder}/up,workdir={self.folder}/work", self.root)
        if mounted.code != 0:  # no overlays on overlays
            self.root.rmdir()
            expect(run("cp", "-a", base, self.root).code == 0, "cannot copy the tree")
        self.binds = dict(binds)
        self.console = self.folder / "console"
        # Of its own: what the systemd inside finds in its cgroups are its own processes.
        self.cgroups = [Path(path) / self.folder.name for path in cgroup_trees()]
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process is not None:
            self._kill()
        for group in self.cgroups:
            for folder, _, _ in os.walk(group, topdown=False):
                os.rmdir(folder)
        for _ in range(50):
            if run("umount", self.root).code == 0 or not os.path.ismount(self.root):
                break
            time.sleep(0.1)
        if os.environ.get("CUZK_TEST_KEEP"):
            print(f"  kept {self.folder}", flush=True)
        elif not os.path.ismount(self.root):
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- life

    def boot(self):
        binds = [f"--bind-ro={source}:{target}" for source, target in self.binds.items()]
        for group in self.cgroups:
            group.mkdir(exist_ok=True)
        with open(self.console, "ab") as console:
            self.process = subprocess.Popen(
                ["systemd-nspawn", "-D", self.root, "-b", "--register=no", "--keep-unit", "--quiet",
                 "--private-network", "--resolv-conf=off", "--timezone=off", "--link-journal=no",
                 # Its own filter knows neither, other than the kernel of a real machine.
                 "--system-call-filter=@sandbox landlock_create_ruleset landlock_add_rule "
                 "landlock_restrict_self io_uring_setup io_uring_enter io_uring_register",
                 "--console=pipe", f"--machine=cuzkd-{os.getpid()}", *binds],
                stdin=subprocess.DEVNULL, stdout=console, stderr=console,
                preexec_fn=self._enter_cgroups)
        self.wait_booted()

    def _enter_cgroups(self):
        for group in self.cgroups:
            (group / "cgroup.procs").write_text("0")

    def leader(self):
        """The container's PID 1 as the host sees it, or None."""
        try:
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        except FileNotFoundError:
            return None
        for pid in children.split():
            try:
                if "systemd" == Path(f"/proc/{pid}/comm").read_text().strip():
                    return int(pid)
            except FileNotFoundError:
                pass
        return None

    def wait_booted(self):
        def is_up():
            expect(self.process.poll() is None,
                   lambda: f"the container ended:\n{self.console.read_text(errors='replace')[-3000:]}")
            return self.leader() and self.run("systemctl", "is-system-running").out.strip() in (
                "running", "degraded")
        wait_until(is_up, 60, "the container is up")

    def reboot(self):
        """As when somebody types it: services are stopped."""
        self.run("systemctl", "reboot")
        self._end(133)  # with --keep-unit nspawn leaves the new start to its caller
        self.boot()

    def crash(self):
        """As when the power fails, but that what was written and not yet synced is kept."""
        self._kill()
        self.boot()

    def _kill(self):
        """The death of process 1 is that of the whole container, and certain once nspawn has ended."""
        first = self.leader()
        if first:
            os.kill(first, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait(60)

    def power_off(self):
        self.run("systemctl", "poweroff")
        self._end(0)

    def _end(self, code):
        try:
            self.process.wait(90)
        except subprocess.TimeoutExpired:
            raise Failure("the container does not end") from None
        expect_equal(self.process.returncode, code, "exit of systemd-nspawn")

    # ---- inside

    def enter(self, *command, user=None):
        """The command line that runs it inside."""
        who = ["runuser", "-u", user, "--"] if user else []
        return ["nsenter", "-t", str(self.leader()), "-a", "--", "/usr/bin/env", "-i",
                "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C",
                *who, *map(str, command)]

    def run(self, *command, user=None, timeout=120):
        return run(*self.enter(*command, user=user), timeout=timeout)

    def ok(self, *command, user=None, timeout=120):
        result = self.run(*command, user=user, timeout=timeout)
        expect(result.code == 0, lambda: f"{' '.join(map(str, command))}: {result}")
        return result

    def property(self, unit, name):
        return self.ok("systemctl", "show", "-p", name, "--value", unit).out.strip()

    def write(self, path, text, mode=0o644):
        """A file of the running container."""
        target = Path(f"/proc/{self.leader()}/root{path}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def path(self, path):
        """Where the host finds a file of the running container."""
        return Path(f"/proc/{self.leader()}/root{path}")

    def exists(self, path):
        return self.run("test", "-e", path).code == 0

    def kill(self, pid, number=signal.SIGKILL):
        """A process by its number inside."""
        self.ok("kill", f"-{int(number)}", pid)
