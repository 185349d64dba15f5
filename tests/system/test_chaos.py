#!/usr/bin/python3
"""Random events against a stream of jobs: workers, intake and helpers killed, stopped and asked to
end, jobs cancelled, clients cut off, circuits added and removed, workers restarted and drained by an
operator, the configuration read again with other rings and other counts of workers. Nothing is
lost, no client key yields two jobs, every proof verifies, and everything is back afterwards.

--events=N (default 60; a full run has 500), CUZK_TEST_SEED=N repeats a run's choices."""

import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from chaos import USERS, Accounts, Stream, connect
from harness import (Circuit, Daemon, Snark, Suite, expect, expect_equal, marked_processes,
                     seeded_random, wait_until, write_config)
import rpc

EVENTS = next((int(a[9:]) for a in sys.argv[1:] if a.startswith("--events=")), 60)
sys.argv = [a for a in sys.argv if not a.startswith("--events=")]


class Chaos:
    def __init__(self, daemon, rng, streams, extra):
        self.daemon, self.rng, self.streams, self.extra = daemon, rng, streams, extra
        self.admin = connect(daemon.socket.replace(".sock", "-admin.sock"))
        self.counts = Counter()
        self.drained = set()
        self.registrar = None
        self.stopped = []  # [(when, pid)]: stopped, to be killed later
        self.events = {
            "kill": (self.kill, 20), "stop_and_kill": (self.stop_and_kill, 6),
            "terminate": (self.terminate, 6), "kill_intake": (self.kill_intake, 4),
            "kill_helper": (self.kill_helper, 4), "cancel": (self.cancel, 12),
            "disconnect": (self.disconnect, 10), "circuit": (self.circuit, 8),
            "restart": (self.restart, 8), "restart_now": (self.restart_now, 6),
            "drain": (self.drain, 4), "resume": (self.resume, 4), "trim": (self.trim, 4),
            "reload": (self.reload, 8), "check": (self.check, 6),
        }

    def run(self, count):
        names = list(self.events)
        weights = [self.events[name][1] for name in names]
        while sum(self.counts.values()) < count:
            name = self.rng.choices(names, weights)[0]
            if self.events[name][0]() is not False:
                self.counts[name] += 1
            self.kill_stopped()
            self.nudge()
            time.sleep(self.rng.expovariate(1 / 0.05))
        self.kill_stopped(everyone=True)
        if self.drained:
            self.order("worker_resume", worker="all")
            self.drained.clear()
        if self.registrar:
            self.registrar.join()

    # ---- help

    def order(self, method, **params):
        """An order may come too late, or for a worker that is just not there: that is an answer."""
        try:
            return self.admin.call(method, params)
        except rpc.RemoteError as error:
            expect(error.code in ("failed", "busy", "not_found"), f"{method} {params}: {error}")
            return None

    def pick(self, states=None):
        workers = [w for w in self.admin.call("workers")["workers"]
                   if w["pid"] and (states is None or w["state"] in states)]
        busy = [w for w in workers if w["state"] == "busy"]
        some = busy if busy and self.rng.random() < 0.6 else workers
        return self.rng.choice(some) if some else None

    def signal(self, number, worker):
        if worker is None:
            return False
        try:
            os.kill(worker["pid"], number)
        except ProcessLookupError:
            return False
        return True

    def nudge(self):
        """As an operator would: whoever waits for its back-off is started now."""
        for worker in self.admin.call("workers")["workers"]:
            if worker["state"] == "dead":
                self.order("worker_restart", worker=worker["name"])

    # ---- events

    def kill(self):
        return self.signal(signal.SIGKILL, self.pick())

    def stop_and_kill(self):
        worker = self.pick(("idle", "busy"))
        if not self.signal(signal.SIGSTOP, worker):
            return False
        self.stopped.append((time.monotonic() + self.rng.random() * 0.3, worker["pid"]))
        return True

    def kill_stopped(self, everyone=False):
        for when, pid in list(self.stopped):
            if everyone or time.monotonic() > when:
                self.stopped.remove((when, pid))
                self.signal(signal.SIGKILL, {"pid": pid})

    def terminate(self):
        return self.signal(signal.SIGTERM, self.pick())

    def processes(self, *words):
        """Of the daemon, those whose command line has one of the words."""
        found = []
        for pid in marked_processes(self.daemon.mark):
            try:
                line = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(word.encode() in line[0] or word.encode() in line[1:] for word in words):
                found.append(pid)
        return found

    def kill_one(self, *words):
        found = self.processes(*words)
        return bool(found) and self.signal(signal.SIGKILL, {"pid": self.rng.choice(found)})

    def kill_intake(self):
        return self.kill_one("cuzk-intake")

    def kill_helper(self):
        return self.kill_one("--prepare", "--load")

    def cancel(self):
        stream = self.rng.choice(self.streams)
        job = stream.pick_open()
        if job is None:
            return False
        job.is_cancelled = True
        self.admin.call("cancel", {"job": job.number})
        return True

    def disconnect(self):
        self.rng.choice(self.streams).disconnect()
        return True

    def circuit(self):
        """Added and removed by another client, beside everything else."""
        if self.registrar and self.registrar.is_alive():
            return False
        self.registrar = threading.Thread(target=self.add_and_remove, daemon=True)
        self.registrar.start()
        return True

    def add_and_remove(self):
        name = "extra"
        with connect(self.daemon.socket.replace(".sock", "-admin.sock"), timeout=120) as client:
            descriptors = [os.open(self.extra.zkey, os.O_RDONLY)]
            try:
                client.call("circuit_add", {"name": name, "fds": 1}, descriptors)
                job = client.submit(name, [self.extra.witnesses[0]])
                state = client.wait(job)["state"]
                expect(state in ("done", "failed"), f"job of the extra circuit: {state}")
            except rpc.RemoteError as error:
                expect(error.code in ("failed", "bad_input", "busy", "exists"), f"add: {error}")
            finally:
                os.close(descriptors[0])
            while True:
                try:
                    client.call("circuit_remove", {"name": name})
                    return
                except rpc.RemoteError as error:
                    if error.code != "busy":
                        return
                    time.sleep(0.05)

    def restart(self, **more):
        worker = self.pick()
        return worker is not None and self.order("worker_restart", worker=worker["name"],
                                                 **more) is not None

    def restart_now(self):
        return self.restart(now=True)

    def drain(self):
        """Never the last of its kind for long: resume follows by itself."""
        worker = self.pick()
        if worker is None or self.order("worker_drain", worker=worker["name"]) is None:
            return False
        self.drained.add(worker["name"])
        return True

    def resume(self):
        if not self.drained:
            return False
        self.order("worker_resume", worker=self.drained.pop())
        return True

    def trim(self):
        worker = self.pick(("idle", "busy"))
        return worker is not None and self.order("worker_trim", worker=worker["name"]) is not None

    def reload(self):
        sections = self.daemon.sections
        sections["Ring"]["Slabs"] = self.rng.randrange(1, 7)
        sections["Ring"]["SlabSize"] = self.rng.choice(("8M", "8M", "4M"))
        sections["Synthesis"]["Workers"] = self.rng.randrange(1, 4)
        sections["Finalizer"]["Workers"] = self.rng.randrange(1, 3)
        write_config(self.daemon.config, sections)
        return self.order("reload") is not None

    def check(self):
        self.daemon.expect_sound()
        return True


def run_events(chaos, count):
    begin = time.monotonic()
    try:
        chaos.run(count)
    finally:
        for stream in chaos.streams:
            stream.is_ending = True
    deadline = time.monotonic() + 120
    for stream in chaos.streams:
        while stream.is_alive() and time.monotonic() < deadline:
            chaos.nudge()
            stream.join(0.2)
    alive = [job.number for stream in chaos.streams for job in stream.open]
    expect_equal(alive, [], "jobs that do not end")
    print(f"  {sum(chaos.counts.values())} events in {time.monotonic() - begin:.1f} s: "
          + ", ".join(f"{n} {name}" for name, n in sorted(chaos.counts.items())), flush=True)


def back_to_the_start(daemon, before, sections):
    """With the configuration of the start everything is as it was."""
    daemon.sections.clear()
    daemon.sections.update({name: dict(keys) for name, keys in sections.items()})
    write_config(daemon.config, daemon.sections)
    daemon.ctl_ok("reload")
    # One may have been drained, removed and put back; one may still be on its way out.
    wait_until(lambda: daemon.ctl("resume", "all").code == 0, 30, "all workers are resumed")
    daemon.expect_sound(idle=True)
    daemon.expect_back_to(before)
    daemon.expect_sound(idle=True)


def main():
    suite, rng = Suite("chaos"), seeded_random()
    circuits = [Circuit("mul", "bn128"), Circuit("mul", "bls12381"), Circuit("chain12", "bn128")]
    users = USERS if os.geteuid() == 0 else (os.geteuid(),) * 3
    with Daemon({"Supervisor": {"LogLevel": "info"}, "Synthesis": {"Workers": 2, "Threads": 1},
                 "Finalizer": {"Workers": 2}}) as daemon:
        sections = {name: dict(keys) for name, keys in daemon.sections.items()}
        for path in (daemon.folder, Path(daemon.socket).parent):
            path.chmod(0o755)
        os.chmod(daemon.socket, 0o666)
        for circuit in circuits:
            daemon.add(circuit)
        expected = Accounts([]).expected_signals(daemon, circuits)
        before = daemon.idle_state()
        daemon.expect_sound(idle=True)
        streams = [Stream(daemon.socket, uid, random.Random(rng.random()), circuits)
                   for uid in users]
        for stream in streams:
            stream.start()
        chaos = Chaos(daemon, rng, streams, circuits[0])
        suite.case("every_job_ends_whatever_happens", run_events, chaos, EVENTS)
        accounts = Accounts(streams)
        print(f"  {accounts.summary()}", flush=True)
        for job in accounts.of("failed"):
            print(f"  by rule: job {job.number}: {job.answer['error']['message']}", flush=True)
        suite.case("nothing_is_lost", accounts.nothing_is_lost)
        suite.case("no_client_key_has_two_jobs", accounts.no_key_has_two_jobs, chaos.admin)
        chaos.admin.socket.close()
        suite.case("everything_is_back", back_to_the_start, daemon, before, sections)
        count = suite.case("every_proof_verifies", accounts.every_proof_verifies, daemon, expected,
                           Snark())
        print(f"  {count} proofs", flush=True)
        suite.case("daemon_stops_and_leaves_nothing", daemon.stop)
    suite.exit()


if __name__ == "__main__":
    main()
