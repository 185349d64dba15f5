"""What test_chaos.py and test_restart.py share: streams of jobs that go on whatever happens to the
daemon, and the accounts of what became of each job."""

import json
import os
import re
import socket
import threading
import time

from harness import expect, expect_equal, verify
import rpc

# Ways in which a job may fail though nobody is at fault: its worker, or the process that read its
# key, was killed as often as the rule says.
BY_RULE = re.compile(r"it killed its worker \d+ times|loading its key ended the GPU worker"
                     r"|the process that read the key ended early")
ENDED = ("done", "failed", "cancelled")
USERS = (0, 12345, 12346)


def connect_as(path, uid, timeout):
    """A connection that the daemon sees as that user's. Only root can."""
    if uid == os.geteuid():
        return rpc.Client(path, timeout)
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(path)
                socket.send_fds(theirs, [b"x"], [connection.fileno()])
            code = 0
        finally:
            os._exit(code)
    theirs.close()
    data, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    ours.close()
    os.waitpid(pid, 0)
    if not descriptors:
        raise ConnectionError("the daemon is not there")
    client = rpc.Client.__new__(rpc.Client)
    client.adopt(socket.socket(fileno=descriptors[0]), timeout)
    return client


def connect(path, uid=None, timeout=60, patience=30):
    """A client, also while the daemon is coming up again."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return connect_as(path, os.geteuid() if uid is None else uid, timeout)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


class Job:
    def __init__(self, circuit, picks, key):
        self.circuit, self.picks, self.key = circuit, picks, key
        self.number = None  # None: it is not known whether it was taken
        self.is_cancelled = False
        self.answer = None  # the last of `wait`
        self.proofs = self.signals = None


class Stream(threading.Thread):
    """One client that keeps a few jobs going and never gives one up."""

    def __init__(self, socket_path, uid, rng, circuits, deep=6, partitions=4):
        super().__init__(daemon=True)
        self.path, self.uid, self.rng, self.circuits = socket_path, uid, rng, circuits
        self.deep, self.partitions = deep, partitions
        self.client = None
        self.lock = threading.Lock()
        self.open, self.jobs = [], []
        self.refused = 0
        self.is_ending = False
        self.error = None
        self.serial = 0

    # ---- from other threads

    def disconnect(self):
        """Breaks the connection under its hands."""
        client = self.client
        if client:
            try:
                client.socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def pick_open(self):
        with self.lock:
            known = [job for job in self.open if job.number is not None]
            return self.rng.choice(known) if known else None

    # ---- its own

    def run(self):
        try:
            while not self.is_ending or self.open:
                self.step()
        except Exception as error:  # reported by the case, in the main thread
            self.error = error
        if self.client:
            self.client.socket.close()

    def step(self):
        try:
            if self.client is None:
                self.client = connect(self.path, self.uid)
            if not self.is_ending and len(self.open) < self.deep:
                self.submit()
            elif self.open:
                self.wait(self.open[0])
        except (ConnectionError, OSError):
            self.lose_connection()

    def lose_connection(self):
        if self.client:
            self.client.socket.close()
        self.client = None

    def submit(self):
        """Takes up again what it does not know the end of; the key makes that safe."""
        pending = next((job for job in self.open if job.number is None), None)
        if pending is None:
            pending = self.make_job()
            with self.lock:
                self.open.append(pending)
        paths = [pending.circuit.witnesses[i] for i in pending.picks]
        inline = self.rng.random() < 0.5
        items = [path.read_bytes() if inline and path.stat().st_size <= 4096 else path
                 for path in paths]
        priority = self.rng.choice(("low", "normal", "normal", "high", "critical"))
        try:
            number = self.client.submit(pending.circuit.label, items, priority=priority,
                                        client_key=pending.key)
        except rpc.RemoteError as error:
            if error.code not in ("busy", "shutting_down"):
                # A circuit that was given up, or removed meanwhile.
                self.refused += 1
                with self.lock:
                    self.open.remove(pending)
            time.sleep(0.05)
            return
        with self.lock:
            pending.number = number
            self.jobs.append(pending)

    def make_job(self):
        self.serial += 1
        circuit = self.rng.choice(self.circuits)
        count = self.rng.randrange(1, self.partitions + 1)
        picks = [self.rng.randrange(len(circuit.witnesses)) for _ in range(count)]
        return Job(circuit, picks, f"{self.name}-{self.serial}")

    def wait(self, job):
        if job.number is None:
            self.submit()
            return
        answer = self.client.call("wait", {"job": job.number, "timeout_ms": 200})
        if answer["state"] not in ENDED:
            return
        if answer["state"] == "done":
            proofs = self.client.call("result", {"job": job.number})["proofs"]
            signals = [self.client.public(job.number, i) for i in range(len(proofs))]
            job.proofs, job.signals = proofs, signals
        job.answer = answer
        with self.lock:
            self.open.remove(job)


class Accounts:
    """What became of all jobs of some streams."""

    def __init__(self, streams):
        self.streams = streams
        self.jobs = [job for stream in streams for job in stream.jobs]

    def of(self, state):
        return [job for job in self.jobs if job.answer and job.answer["state"] == state]

    def nothing_is_lost(self):
        errors = [f"{type(s.error).__name__}: {s.error}" for s in self.streams if s.error]
        expect_equal(errors, [], "errors of the clients")
        expect_equal([job.number for job in self.jobs if job.answer is None], [], "jobs without end")
        for job in self.of("failed"):
            expect(BY_RULE.search(job.answer["error"]["message"]),
                   f"job {job.number} failed by no rule: {job.answer}")
        for job in self.of("cancelled"):
            expect(job.is_cancelled, f"job {job.number} is cancelled and nobody asked for it")

    def no_key_has_two_jobs(self, admin):
        """By our own account and by the daemon's."""
        numbers, found = {}, {}
        for stream in self.streams:
            for job in stream.jobs:
                numbers.setdefault((stream.uid, job.key), set()).add(job.number)
        for job in admin.call("jobs", {"limit": 1000})["jobs"]:
            if "client_key" in job:
                found.setdefault((job["uid"], job["client_key"]), set()).add(job["job"])
        for account in (numbers, found):
            twice = {key: jobs for key, jobs in account.items() if len(jobs) > 1}
            expect_equal(twice, {}, "client keys with several jobs")
        expect(found, "the daemon lists no client key")

    def expected_signals(self, daemon, circuits):
        """{(label, witness): signals}, from a job of its own each."""
        expected = {}
        with connect(daemon.socket) as client:
            for circuit in circuits:
                for i, witness in enumerate(circuit.witnesses):
                    job = client.submit(circuit.label, [witness])
                    expect_equal(client.wait(job)["state"], "done", "the job")
                    expected[circuit.label, i] = client.public(job, 0)
        return expected

    def every_proof_verifies(self, daemon, expected, snark=None):
        """Each partition has the public signals of its own witness, and its proof holds."""
        snark_jobs, count = [], 0
        for job in self.of("done"):
            expect_equal(len(job.proofs), len(job.picks), f"proofs of job {job.number}")
            wanted = [expected[job.circuit.label, i] for i in job.picks]
            expect_equal(job.signals, wanted, f"public signals of job {job.number}")
            paths = [daemon.folder / f"chaos.{job.number}.{kind}" for kind in ("proof", "public")]
            for path, value in zip(paths, (job.proofs, job.signals)):
                path.write_text(json.dumps(value))
            result = verify(job.circuit.vkey, *paths)
            expect(result.code == 0, lambda: f"job {job.number}: {result}")
            for i in range(len(job.proofs)):
                snark_jobs.append({"name": f"{job.number}.{i}", "vkey": job.circuit.vkey,
                                   "proof": paths[0], "public": paths[1], "index": i})
            count += len(job.proofs)
        expect(count > 0, "nothing was proved")
        if snark and not snark.why:
            sample = snark_jobs[::max(1, len(snark_jobs) // 200)]
            expect_equal(snark.verify(sample), [], "proofs that snarkjs refuses")
        return count

    def summary(self):
        partitions = sum(len(job.picks) for job in self.jobs)
        refused = sum(stream.refused for stream in self.streams)
        return (f"{len(self.jobs)} jobs of {partitions} partitions: {len(self.of('done'))} done, "
                f"{len(self.of('cancelled'))} cancelled, {len(self.of('failed'))} failed by rule, "
                f"{refused} refused")
