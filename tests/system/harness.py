"""What every system test shares: cases and their count, and one private daemon in a folder of its own.

A test file reads:

    suite = Suite("prove")
    with Daemon() as daemon:
        suite.case("mul_proves", check_mul, daemon)
    suite.exit()

CUZK_BUILD names the build folder with the programs under test (default build-test). Every process a
test starts carries CUZK_TEST_RUN in its environment; whoever still carries it after stop() is a
leftover, whatever became of its parents.
"""

import json
import lzma
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tools"))

BUILD = Path(os.environ.get("CUZK_BUILD", ROOT / "build-test")).resolve()
CUZKD = BUILD / "supervisor" / "cuzkd"
CUZKCTL = BUILD / "client" / "cuzkctl"
CUZK_BENCH = BUILD / "bench" / "cuzk-bench"
FIXTURES = ROOT / "tests" / "fixtures"
GOOD = FIXTURES / "good"
BAD = FIXTURES / "bad"
# Keys and uncompressed circuits made on first use; snarkjs.
MADE = BUILD / "test-data"

# Sanitizer builds are slower: every wait is stretched by this.
PATIENCE = float(os.environ.get("CUZK_TEST_PATIENCE", "1"))


class Failure(Exception):
    """A case's claim does not hold."""


def expect(condition, text):
    if not condition:
        raise Failure(text() if callable(text) else text)


def expect_equal(found, wanted, what):
    expect(found == wanted, f"{what}: found {found!r}, expected {wanted!r}")


def wait_until(condition, seconds, what):
    """Polls until condition() is true; returns its value."""
    deadline = time.monotonic() + seconds * PATIENCE
    while True:
        value = condition()
        if value:
            return value
        expect(time.monotonic() < deadline, f"not within {seconds} s: {what}")
        time.sleep(0.02)


class Suite:
    def __init__(self, name):
        self.name, self.passed, self.failed, self.skipped = name, 0, 0, 0
        only = sys.argv[1] if len(sys.argv) > 1 else ""
        self.only = only

    def case(self, name, function, *arguments, **named):
        """Runs one case; returns what it returned, or None when it failed."""
        if self.only not in name:
            return None
        try:
            result = function(*arguments, **named)
        except Failure as failure:
            print(f"FAILED {name}: {failure}", flush=True)
            self.failed += 1
            return None
        except Exception:
            traceback.print_exc(file=sys.stdout)
            print(f"FAILED {name}", flush=True)
            self.failed += 1
            return None
        print(f"ok {name}", flush=True)
        self.passed += 1
        return result

    def skip(self, name, why):
        print(f"skipped {name}: {why}", flush=True)
        self.skipped += 1

    def exit(self):
        print(f"cases: {self.passed} passed, {self.failed} failed, {self.skipped} skipped",
              flush=True)
        sys.exit(1 if self.failed else 0)


def seeded_random():
    """A random.Random whose seed is printed; CUZK_TEST_SEED=N repeats a run."""
    seed = int(os.environ.get("CUZK_TEST_SEED", "0")) or random.SystemRandom().randrange(1 << 32)
    print(f"  seed {seed}", flush=True)
    return random.Random(seed)


class Circuit:
    """One circuit of the fixtures with its key, made where the fixtures hold none."""

    def __init__(self, name, curve):
        self.name, self.curve = name, curve
        self.label = f"{name}.{curve}"
        folder = GOOD / self.label
        self.zkey, self.vkey = folder / "circuit.zkey", folder / "vkey.json"
        self.r1cs = self._plain(folder / "circuit.r1cs")
        self.witnesses = [self._plain(folder / f"w{i}.wtns") for i in (1, 2)
                          if list(folder.glob(f"w{i}.wtns*"))]
        if not self.zkey.exists():
            self._make_key()

    @property
    def snark_proofs(self):
        """[(proof, public)] made by snarkjs."""
        folder = GOOD / self.label
        return [(p, folder / p.name.replace("proof", "public"))
                for p in sorted(folder.glob("proof*.json"))]

    def _plain(self, path):
        if path.exists():
            return path
        plain = MADE / self.label / path.name
        if not plain.exists():
            plain.parent.mkdir(parents=True, exist_ok=True)
            with lzma.open(f"{path}.xz") as file:
                plain.write_bytes(file.read())
        return plain

    def _make_key(self):
        self.zkey, self.vkey = (MADE / self.label / n for n in ("circuit.zkey", "vkey.json"))
        if self.zkey.exists() and self.zkey.stat().st_mtime > CUZK_BENCH.stat().st_mtime:
            return
        self.zkey.parent.mkdir(parents=True, exist_ok=True)
        part = self.zkey.with_suffix(".part")
        result = run(CUZK_BENCH, "make-key", "--r1cs", self.r1cs, "--zkey", part, "--vkey",
                     self.vkey, timeout=600)
        expect(result.code == 0, lambda: f"make-key: {result}")
        part.rename(self.zkey)


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __str__(self):
        return f"exit {self.code}\n--- stdout\n{self.out[-2000:]}\n--- stderr\n{self.err[-2000:]}"

    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            raise Failure(f"standard output is no JSON: {self}") from None


def run(*command, timeout=120, **named):
    """A program's Result; a program that hangs fails the case."""
    try:
        done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout * PATIENCE, **named)
    except subprocess.TimeoutExpired:
        raise Failure(f"hangs: {' '.join(map(str, command))}") from None
    return Result(done.returncode, done.stdout.decode(errors="replace"),
                  done.stderr.decode(errors="replace"))


def default_config(folder):
    return {
        "Supervisor": {"Socket": f"{folder}/run/cuzkd.sock", "StateDirectory": f"{folder}/state",
                       "CacheDirectory": f"{folder}/cache", "LogLevel": "debug"},
        "Ring": {"HugePages": "off", "Slabs": 4, "SlabSize": "8M"},
        "Synthesis": {"Workers": 1, "Threads": 2},
        "GPU": {"Backend": "cpu", "Threads": 2},
        "Finalizer": {"Workers": 1},
    }


def write_config(path, sections):
    lines = []
    for name, keys in sections.items():
        lines.append(f"[{name}]")
        lines += [f"{key}={value}" for key, value in keys.items()]
    Path(path).write_text("\n".join(lines) + "\n")


def huge_pages():
    """(total, free) default-size hugepages of the machine."""
    words = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return tuple(int(words[k]) for k in ("HugePages_Total", "HugePages_Free"))


def huge_pages_used():
    total, free = huge_pages()
    return total - free


def marked_processes(mark):
    """{pid: name} of live processes that carry the mark in their environment."""
    needle = f"CUZK_TEST_RUN={mark}".encode()
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if needle in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "comm").read_text().strip()
        except OSError:
            pass  # it ended, or is no process of ours
    return found


class Daemon:
    """cuzkd with a private config in a temporary folder. Use as a context manager: leaving it
    stops the daemon and fails if anything is left behind."""

    def __init__(self, sections=None, environment=None, start=True):
        """sections: {section: {key: value}} laid over default_config."""
        self.folder = Path(tempfile.mkdtemp(prefix="cuzk-test-"))
        self.config = self.folder / "cuzkd.conf"
        self.sections = default_config(self.folder)
        for name, keys in (sections or {}).items():
            self.sections.setdefault(name, {}).update(keys)
        write_config(self.config, self.sections)
        self.socket = self.sections["Supervisor"]["Socket"]
        self.mark = uuid.uuid4().hex
        self.environment = dict(os.environ, CUZK_TEST_RUN=self.mark, **(environment or {}))
        self.environment.pop("NOTIFY_SOCKET", None)
        self.log_path = self.folder / "log"
        self.process = None
        self.pages_before = huge_pages_used()
        if start:
            try:
                self.start()
            except BaseException:
                self.discard()
                raise

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if self.process is not None and kind is None:
                self.stop()
        finally:
            self.discard()

    # ---- life

    def start(self, timeout=60):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([CUZKD, "--config", self.config], env=self.environment,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self.is_ready, timeout, "the daemon is ready")

    def is_ready(self):
        expect(self.process.poll() is None,
               lambda: f"the daemon ended at start with {self.process.returncode}:\n{self.log()[-3000:]}")
        if not os.path.exists(self.socket):
            return False
        result = self.ctl("workers", "--json")
        return result.code == 0 and all(w["state"] in ("idle", "busy")
                                        for w in result.json()["workers"])

    def stop(self, timeout=40):
        """Its records agree; then SIGTERM: expects exit 0 and nothing left behind."""
        self.expect_sound()
        process, self.process = self.process, None
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failure(f"does not stop on SIGTERM:\n{self.log()[-3000:]}") from None
        expect_equal(code, 0, "exit code after SIGTERM")
        self.expect_nothing_left()

    def expect_nothing_left(self):
        expect_equal(wait_gone(self.mark), {}, "processes left behind")
        if self.sections["Ring"].get("HugePages") != "off":  # else others' come and go
            expect_equal(huge_pages_used(), self.pages_before, "hugepages in use after the stop")
        sockets = [p for p in Path(self.socket).parent.glob("*") if p.is_socket()]
        expect_equal(sockets, [], "sockets left behind")

    def refuses_to_start(self, *words):
        """Made with start=False: its GPU worker ends the start with one error line that has all
        these words. Discards the daemon."""
        try:
            try:
                self.start()
            except Failure as failure:
                expect("ended at start with 1" in str(failure), f"{failure}")
            else:
                raise Failure("it starts")
            lines = [l for l in self.log().splitlines() if "error gpu-0" in l]
            expect_equal(len(lines), 1, "error lines of the worker")
            for word in words:
                expect(word in lines[0], f"lacks {word}: {lines[0]}")
        finally:
            self.discard()

    def discard(self):
        """Ends whatever of ours still lives and removes the folder (kept with CUZK_TEST_KEEP=1)."""
        for pid in marked_processes(self.mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.process is not None:
            self.process.wait()
            self.process = None
        if os.environ.get("CUZK_TEST_KEEP"):
            print(f"  kept {self.folder}", flush=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    # ---- talking to it

    def ctl(self, *arguments, timeout=120, environment=None):
        return run(CUZKCTL, "--socket", self.socket, *arguments, timeout=timeout,
                   env=dict(self.environment, **(environment or {})))

    def ctl_ok(self, *arguments, timeout=120):
        result = self.ctl(*arguments, timeout=timeout)
        expect(result.code == 0, lambda: f"cuzkctl {' '.join(map(str, arguments))}: {result}")
        return result

    def ctl_json(self, *arguments, timeout=120):
        return self.ctl_ok("--json", *arguments, timeout=timeout).json()

    def status(self):
        return self.ctl_json("status")

    def workers(self):
        return self.ctl_json("workers")["workers"]

    def add(self, circuit, name=None, with_r1cs=True):
        """Registers a Circuit under its label (or name)."""
        more = ["--r1cs", circuit.r1cs] if with_r1cs else []
        self.ctl_ok("circuit", "add", name or circuit.label, "--zkey", circuit.zkey, *more,
                    timeout=300)

    def prove(self, name, witnesses, tag="out", timeout=300):
        """Proves one job; returns (proof path, public path)."""
        proof, public = self.folder / f"{tag}.proof.json", self.folder / f"{tag}.public.json"
        options = [x for w in witnesses for x in ("--witness", w)]
        self.ctl_ok("prove", "--circuit", name, *options, "--proof", proof, "--public", public,
                    timeout=timeout)
        return proof, public

    # ---- invariants

    def idle_state(self):
        """What must be the same before and after any amount of work: processes, slots, slabs,
        descriptors of the supervisor. Waits until the daemon is idle."""
        def idle():
            status = self.status()
            jobs = status["jobs"]
            busy = jobs["queued"] or jobs["running"] or any(r["occupancy"] for r in status["rings"])
            ready = all(w["state"] == "idle" for w in self.workers())
            # One copies files whenever there are any; the others end when they have nothing to do.
            copiers = list(marked_processes(self.mark).values()).count("cuzk-intake")
            return status if not busy and ready and copiers <= 1 else None

        status = wait_until(idle, 60, "the daemon is idle with all workers back")
        own = marked_processes(self.mark)
        return {
            "processes": sorted(own.values()),
            "slots": (status["slots"]["free"], status["slots"]["total"]),
            "rings": [(r["name"], r["slabs"], r["occupancy"]) for r in status["rings"]],
            "descriptors": self.descriptors(),
        }

    def descriptors(self):
        """How many the supervisor has open beside connections, once none comes or goes: a
        connection that ended is closed a moment later, by a thread."""
        def told():
            reply = self.expect_sound(idle=True)
            item = next(c for c in reply["checks"] if c["name"] == "descriptors")
            return item["text"] if item["outcome"] == "fine" else None

        text = wait_until(told, 30, "the descriptors are counted")
        expect(text.split()[1:2] == ["open"], f"no count of descriptors: {text}")
        return int(text.split()[0])

    def check(self):
        """What the daemon says of its own records: (exit code, reply)."""
        result = self.ctl("--json", "check")
        expect(result.code in (0, 8), lambda: f"cuzkctl check: {result}")
        return result.code, result.json()

    def expect_sound(self, idle=False):
        """Every invariant holds; with idle=True once nothing is in flight, so that all are told."""
        deadline = time.monotonic() + 30 * PATIENCE
        while True:
            code, reply = self.check()
            broken = [f"{c['name']}: {c['text']} ({c['faults']} faults)" for c in reply["checks"]
                      if c["outcome"] == "broken"]
            expect(code == 0 and reply["fine"] and not broken, f"records do not agree: {broken}")
            if reply["idle"] or not idle:
                return reply
            expect(time.monotonic() < deadline, f"does not become idle: {reply}")
            time.sleep(0.05)

    def expect_back_to(self, before):
        """The idle state, waiting a little for the last descriptors to close."""
        deadline = time.monotonic() + 10 * PATIENCE
        while True:
            now = self.idle_state()
            if now == before:
                return
            if time.monotonic() > deadline:
                expect_equal(now, before, "state after the work")
            time.sleep(0.1)


def wait_gone(mark, seconds=5):
    """Processes with the mark that still live after a grace period."""
    deadline = time.monotonic() + seconds * PATIENCE
    while True:
        left = marked_processes(mark)
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)


def split_arrays(proof, public, into):
    """Splits a job's arrays of proofs and public signals into single files: [(proof, public)]."""
    proofs, publics = (json.loads(Path(p).read_text()) for p in (proof, public))
    expect_equal(len(publics), len(proofs), "count of public signal lists")
    pairs = []
    for i, (one, signals) in enumerate(zip(proofs, publics)):
        pair = Path(into) / f"{Path(proof).name}.{i}", Path(into) / f"{Path(public).name}.{i}"
        pair[0].write_text(json.dumps(one))
        pair[1].write_text(json.dumps(signals))
        pairs.append(pair)
    return pairs


def verify(vkey, proof, public):
    """cuzkctl verify (no daemon)."""
    return run(CUZKCTL, "verify", "--vkey", vkey, "--proof", proof, "--public", public)


class Snark:
    """snarkjs in one node process for any number of proofs. `why` says why there is none."""

    def __init__(self):
        self.why = self._install()

    @staticmethod
    def modules():
        return MADE / "npm" / "node_modules"

    def _install(self):
        if not shutil.which("node"):
            return "node is not installed"
        folder, marker = MADE / "npm", MADE / "npm" / "installed"
        lock = (ROOT / "tests/system/package-lock.json").read_text()
        if marker.exists() and marker.read_text() == lock:
            return None
        if not shutil.which("npm"):
            return "npm is not installed"
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(ROOT / "tests/system" / name, folder / name)
        result = run("npm", "ci", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts",
                     cwd=folder, timeout=240)
        if result.code != 0:
            return "npm cannot install snarkjs (no network?): " + result.err.strip()[-200:]
        marker.write_text(lock)
        return None

    def verify(self, jobs, timeout=600):
        """jobs: [{"name","vkey","proof","public"[,"index"]}]; returns the names refused."""
        lines = "".join(json.dumps({k: v if isinstance(v, int) else str(v) for k, v in j.items()})
                        + "\n" for j in jobs)
        done = subprocess.run(["node", ROOT / "tests/system/verify.cjs"], input=lines.encode(),
                              env=dict(os.environ, NODE_PATH=str(self.modules())),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout * PATIENCE)
        expect(done.returncode == 0, lambda: "snarkjs: " + done.stderr.decode()[-2000:])
        answers = [line.split(" ", 1) for line in done.stdout.decode().splitlines()]
        expect_equal(len(answers), len(jobs), "answers of snarkjs")
        return [name for verdict, name in answers if verdict != "true"]
