"""A private daemon for the measurement: a folder, a configuration, its processes, its log. Standard
library only. Talks through cuzkctl --json."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# From this file's folder: everything in one folder, a build tree, an installation.
PLACES = (".", "../../supervisor", "../../client", "..", "../cupti", "../../gpu-worker/cuda",
          "../../../bin", "../../../sbin")
HUGEPAGE = 2 << 20


class Stopped(Exception):
    """The measurement cannot go on; the text says why."""


def find_program(name, needed=True):
    for place in PLACES:
        path = HERE / place / name
        if path.is_file():
            return path.resolve()
    if needed:
        raise Stopped(f"cannot find {name} near {HERE}: build everything, or install it all")
    return None


def run(*command, timeout=600, environment=None):
    """Standard output of a program; a failure stops the measurement with what it said."""
    words = [str(c) for c in command]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        raise Stopped(f"hangs: {' '.join(words)}") from None
    if done.returncode != 0:
        raise Stopped(f"{Path(words[0]).name} {words[1] if len(words) > 1 else ''} ended with "
                      f"{done.returncode}:\n{done.stderr[-2000:]}{done.stdout[-1000:]}")
    return done.stdout


def monotonic_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def hugepages_free():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("HugePages_Free"):
            return int(line.split()[1])
    return 0


def reserve_hugepages(size):
    """Tries to have that many bytes of free 2 MiB pages; returns whether there are. A machine whose
    memory grows with its use gives them a few at a time."""
    path, wanted = Path("/proc/sys/vm/nr_hugepages"), -(-size // HUGEPAGE)
    for _ in range(20):
        free = hugepages_free()
        if free >= wanted:
            return True
        try:
            path.write_text(str(int(path.read_text()) + wanted - free))
        except OSError:
            return False
        if hugepages_free() == free:
            time.sleep(0.2)
    return hugepages_free() >= wanted


class Daemon:
    """cuzkd in a folder. Use as a context manager: leaving it ends every process."""

    def __init__(self, folder, sections, environment=None):
        self.folder = Path(folder)
        self.socket, self.log_path = self.folder / "cuzkd.sock", self.folder / "log"
        self.environment = dict(os.environ, **(environment or {}))
        self.environment.pop("NOTIFY_SOCKET", None)
        self.process = None
        supervisor = {"Socket": self.socket, "StateDirectory": self.folder / "state",
                      "CacheDirectory": self.folder / "cache", "StopTimeout": "5s"}
        sections = dict(sections, Supervisor=dict(supervisor, **sections.get("Supervisor", {})))
        self.config = self.folder / "cuzkd.conf"
        self.config.write_text("".join(
            f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in keys.items()) + "\n"
            for name, keys in sections.items()))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.end()

    def start(self, timeout=180):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([find_program("cuzkd"), "--config", self.config],
                                            env=self.environment, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + timeout
        while not self.is_ready():
            if self.process.poll() is not None:
                raise Stopped(f"the daemon ended at start:\n{self.log()[-3000:]}")
            if time.monotonic() > deadline:
                self.end()
                raise Stopped(f"the daemon is not ready after {timeout} s:\n{self.log()[-3000:]}")
            time.sleep(0.05)

    def is_ready(self):
        if not self.socket.exists():
            return False
        try:
            workers = self.ctl("workers")["workers"]
        except Stopped:
            return False
        return all(w["state"] in ("idle", "busy") for w in workers)

    def end(self):
        if self.process is None:
            return
        process, self.process = self.process, None
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            print("the daemon does not stop on SIGTERM: killed", file=sys.stderr)
            process.kill()  # its workers die with it
            process.wait()

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def ctl(self, *words, timeout=600):
        out = run(find_program("cuzkctl"), "--json", "--socket", self.socket, *words,
                  timeout=timeout)
        return json.loads(out) if out.strip() else {}

    def add_circuit(self, name, key, r1cs=None):
        more = ["--r1cs", r1cs] if r1cs else []
        self.ctl("circuit", "add", name, "--zkey", key, *more, timeout=1800)

    def submit(self, circuit, witnesses):
        files = [x for w in witnesses for x in ("--witness", w)]
        return self.ctl("submit", "--circuit", circuit, *files)["job"]

    def jobs(self, limit):
        return {j["job"]: j for j in self.ctl("jobs", "--limit", limit)["jobs"]}

    def gpu_worker(self):
        return next(w for w in self.ctl("workers")["workers"] if w["kind"] == "gpu")


class Follower:
    """`cuzk-bench-pipeline trace` beside a daemon, into a file."""

    def __init__(self, daemon, path):
        self.path = Path(path)
        self.file = open(path, "wb")
        self.process = subprocess.Popen(
            [find_program("cuzk-bench-pipeline"), "trace", "--pid", str(daemon.process.pid)],
            stdin=subprocess.DEVNULL, stdout=self.file)

    def stop(self):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(10)
        self.process = None
        self.file.close()


class Load:
    """Keeps a backlog of jobs waiting: as soon as fewer than `backlog` jobs are unfinished the next
    is submitted."""

    def __init__(self, daemon, circuit, witnesses, partitions, backlog):
        self.daemon, self.circuit, self.backlog = daemon, circuit, backlog
        self.witnesses = [witnesses[i % len(witnesses)] for i in range(partitions)]
        self.submitted, self.known, self.starved = [], {}, 0

    def step(self):
        """One look at the jobs, and what is to be submitted."""
        self.known.update(self.daemon.jobs(2 * self.backlog + 8))
        mine = [self.known[j] for j in self.submitted]
        unfinished = [j for j in mine if j["state"] in ("queued", "running")]
        if mine and not any(j["done"] == 0 for j in unfinished):
            self.starved += 1  # the next job was not there yet: no backlog for a moment
        failed = [j for j in mine if j["state"] == "failed"]
        if failed:
            raise Stopped(f"job {failed[0]['job']} failed: {failed[0].get('error')}")
        for _ in range(self.backlog - len(unfinished)):
            number = self.daemon.submit(self.circuit, self.witnesses)
            self.submitted.append(number)
            self.known[number] = {"job": number, "state": "queued", "done": 0}

    def done(self):
        return sum(self.known[j]["done"] for j in self.submitted)

    def run(self, seconds, pause=0.05):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.step()
            time.sleep(pause)

    def run_until_done(self, partitions, timeout=600):
        """Until that many partitions of this load are proved."""
        deadline = time.monotonic() + timeout
        while True:
            self.step()
            if self.done() >= partitions:
                return
            if time.monotonic() > deadline:
                raise Stopped(f"not {partitions} proofs within {timeout} s; the log ends:\n"
                              f"{self.daemon.log()[-3000:]}")
            time.sleep(0.05)

    def cancel_rest(self):
        for job, said in self.daemon.jobs(2 * self.backlog + 8).items():
            if job in self.known and said["state"] in ("queued", "running"):
                try:
                    self.daemon.ctl("cancel", job)
                except Stopped:
                    pass  # it had just ended
