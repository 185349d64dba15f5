#!/usr/bin/python3
"""What the service itself costs, `./dev bench --service`: how long a start takes, an answer, a
successor of a dead worker, a ring's resize, a durable submit, and what the service uses while it has
nothing to do. A private daemon with the CPU backend; CUZK_BUILD names the build (default build)."""

import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("CUZK_BUILD", str(ROOT / "build"))
sys.path.insert(0, str(ROOT / "tests" / "system"))
import harness  # noqa: E402 (needs CUZK_BUILD)
import rpc  # noqa: E402

import msgpack  # noqa: E402

KINDS = ("synth", "gpu", "finalizer")


def row(name, text, aim=""):
    print(f"{name:42} {text:>34}   {aim}", flush=True)


def spread(values, unit="ms", scale=1000.0):
    """Median and worst."""
    return f"{statistics.median(values) * scale:.1f} {unit}, at most {max(values) * scale:.1f}"


def admin(daemon, timeout=60):
    return rpc.Client(daemon.socket.replace(".sock", "-admin.sock"), timeout)


# ---- starts and answers


def wait_ready(daemon):
    """Serving with all workers, asked every millisecond."""
    while True:
        try:
            with rpc.Client(daemon.socket) as client:
                while client.call("status")["phase"] != "serving":
                    time.sleep(0.001)
                return
        except OSError:
            time.sleep(0.001)


def start_seconds(daemon, repeats):
    seconds = []
    for _ in range(repeats):
        begin = time.monotonic()
        with open(daemon.log_path, "ab") as log:
            daemon.process = subprocess.Popen(
                [harness.CUZKD, "--config", daemon.config], env=daemon.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_ready(daemon)
        seconds.append(time.monotonic() - begin)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.wait()
    return seconds


def answers(daemon, repeats):
    """(status over an open connection, cuzkctl status as a process, check)."""
    calls, processes, checks = [], [], []
    with admin(daemon) as client:
        for _ in range(repeats):
            for method, into in (("status", calls), ("check", checks)):
                begin = time.monotonic()
                client.call(method)
                into.append(time.monotonic() - begin)
    for _ in range(max(5, repeats // 5)):
        begin = time.monotonic()
        daemon.ctl_ok("status")
        processes.append(time.monotonic() - begin)
    return calls, processes, checks


# ---- at rest


def cpu_ns(pid):
    """Time on a processor of all threads, and how often they went to sleep."""
    spent = sleeps = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        folder = Path(f"/proc/{pid}/task/{task}")
        spent += int((folder / "schedstat").read_text().split()[0])
        sleeps += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)",
                                (folder / "status").read_text(), re.MULTILINE).group(1))
    return spent, sleeps


def at_rest(daemon, seconds):
    """{process name: (share of a core, wake-ups a second)}, all of a name together."""
    names = harness.marked_processes(daemon.mark)
    time.sleep(3)
    before, begin = {pid: cpu_ns(pid) for pid in names}, time.monotonic()
    time.sleep(seconds)
    passed, shares = time.monotonic() - begin, {}
    for pid, name in names.items():
        now = cpu_ns(pid)
        share, wakes = shares.get(name, (0, 0))
        shares[name] = (share + (now[0] - before[pid][0]) / passed / 1e9,
                        wakes + (now[1] - before[pid][1]) / passed)
    return shares


# ---- a death


class Load(threading.Thread):
    """Keeps jobs waiting, so that a successor has something to be given."""

    def __init__(self, daemon, circuit):
        super().__init__(daemon=True)
        self.daemon_, self.circuit, self.is_ending = daemon, circuit, False

    def run(self):
        with rpc.Client(self.daemon_.socket, timeout=600) as client:
            jobs = []
            while not self.is_ending or jobs:
                if not self.is_ending and len(jobs) < 6:
                    jobs.append(client.submit(self.circuit.label, [self.circuit.witnesses[0]] * 8))
                else:
                    client.wait(jobs.pop(0))


def logged(daemon, pattern, since, wanted=1, patience=30):
    """Matches of the log behind a position, once there are so many."""
    return harness.wait_until(
        lambda: (lambda found: found if len(found) >= wanted else None)(
            re.findall(pattern, daemon.log()[since:])), patience, f"the log says {pattern}")


def deaths(daemon, repeats):
    """{kind: [(death to first grant, by the daemon's clock; kill to log line, by ours)]}"""
    found = {kind: [] for kind in KINDS}
    with admin(daemon) as client:
        for _ in range(repeats):
            for kind in KINDS:
                workers = [w for w in client.call("workers")["workers"] if w["kind"] == kind]
                worker = next((w for w in workers if w["state"] == "busy"), workers[0])
                since, killed = len(daemon.log()), datetime.now(timezone.utc)
                os.kill(worker["pid"], signal.SIGKILL)
                (stamp, ready, grant), = logged(
                    daemon, rf"(\S+) info cuzkd: SUP_TIMING successor worker={worker['name']} "
                            rf"ready_ms=([\d.]+) first_grant_ms=([\d.]+)", since)[:1]
                told = datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S.%fZ").replace(
                    tzinfo=timezone.utc)
                found[kind].append((float(grant) / 1e3, (told - killed).total_seconds()))
                client.call("worker_restart", {"worker": worker["name"]})  # and no back-off next
                harness.wait_until(lambda: all(w["state"] in ("idle", "busy") and
                                               not w.get("order", {}).get("state") in
                                               ("pending", "draining", "stopping", "starting")
                                               for w in client.call("workers")["workers"]), 60,
                                   "all workers are back")
    return found


# ---- rings


def resizes(daemon, repeats):
    """Seconds of [Ring] Slabs= 4 to 8 and back, at rest or under load."""
    seconds = []
    for i in range(2 * repeats):
        since = len(daemon.log())
        daemon.sections["Ring"]["Slabs"] = 4 if i % 2 else 8
        harness.write_config(daemon.config, daemon.sections)
        daemon.ctl_ok("reload")
        found = logged(daemon, r"SUP_TIMING ring_resize .* total_ms=([\d.]+)", since)
        seconds.append(float(found[0]) / 1e3)
    return seconds


# ---- submits


def submit_many(daemon, label, witness, clients, each, ahead):
    """Small inline jobs over several connections, `ahead` requests under way on each. Seconds until
    all are answered, and the time of each answer."""
    times, errors, barrier = [], [], threading.Barrier(clients + 1)

    def one():
        with rpc.Client(daemon.socket, timeout=600) as client:
            frames = [msgpack.packb([0, i, "submit", [{"circuit": label, "fds": 0,
                                                       "inputs": [{"inline": witness}]}]])
                      for i in range(each)]
            sent, asked = 0, {}
            barrier.wait()
            for _ in range(each):
                while sent < each and len(asked) < ahead:
                    asked[sent] = time.monotonic()
                    client.send(frames[sent])
                    sent += 1
                _, number, error, _ = client.receive()
                times.append(time.monotonic() - asked.pop(number))
                if error:
                    errors.append(error["message"])

    threads = [threading.Thread(target=one) for _ in range(clients)]
    for thread in threads:
        thread.start()
    barrier.wait()
    begin = time.monotonic()
    for thread in threads:
        thread.join()
    harness.expect(not errors, f"{len(errors)} submits were refused: {errors[:1]}")
    return time.monotonic() - begin, times


def sync_seconds(folder, repeats=50):
    """What one fsync of 4 KiB takes where the journal lies."""
    seconds = []
    with open(folder / "sync", "wb", buffering=0) as file:
        for _ in range(repeats):
            begin = time.monotonic()
            file.write(bytes(4096))
            os.fsync(file.fileno())
            seconds.append(time.monotonic() - begin)
    (folder / "sync").unlink()
    return seconds


def submits(daemon, circuit):
    """Nothing is proved meanwhile: all workers are drained."""
    witness = circuit.witnesses[0].read_bytes()
    daemon.ctl_ok("drain", "all")
    row("an fsync of 4 KiB on that disk", spread(sync_seconds(daemon.folder)))
    # JOBS_ACTIVE_MAX bounds how many there can be at once.
    for clients, each, ahead in ((1, 200, 1), (32, 100, 8)):
        seconds, times = submit_many(daemon, circuit.label, witness, clients, each, ahead)
        row(f"durable submits, {clients} clients, {ahead} ahead",
            f"{clients * each / seconds:.0f} a second, {spread(times)}",
            "aim: over 2000 a second" if clients > 1 else "")
        with admin(daemon) as client:
            while jobs := [job["job"] for job in client.call("jobs", {"limit": 1000,
                                                                      "state": "queued"})["jobs"]]:
                for job in jobs:
                    client.call("cancel", {"job": job})
    daemon.ctl_ok("resume", "all")


def main():
    parser = argparse.ArgumentParser(description="Measures what the service itself costs.")
    parser.add_argument("--repeats", type=int, default=10, help="of each measurement")
    parser.add_argument("--idle-seconds", type=float, default=60)
    args = parser.parse_args()
    small, larger = harness.Circuit("mul", "bn128"), harness.Circuit("chain12", "bn128")
    daemon = harness.Daemon({"Supervisor": {"LogLevel": "info"},
                             "Synthesis": {"Workers": 2, "Threads": 1},
                             "GPU": {"Threads": 1}}, start=False)
    try:
        row("start to READY", spread(start_seconds(daemon, args.repeats)))
        daemon.start()
        for circuit in (small, larger):
            daemon.add(circuit)
            daemon.prove(circuit.label, [circuit.witnesses[0]])
        calls, processes, checks = answers(daemon, 10 * args.repeats)
        row("status, open connection", spread(calls))
        row("cuzkctl status", spread(processes))
        row("check", spread(checks))
        shares = at_rest(daemon, args.idle_seconds)
        for name, (share, wakes) in sorted(shares.items()):
            row(f"at rest: {name}", f"{share * 100:.4f} % of a core, {wakes:.1f} wake-ups/s")
        row("at rest: all", f"{sum(s for s, _ in shares.values()) * 100:.4f} % of a core",
            "aim: under 0.1 %")
        row("ring of 4 slabs to 8 and back, at rest", spread(resizes(daemon, args.repeats)))
        load = Load(daemon, larger)
        load.start()
        time.sleep(1)
        row("the same under load", spread(resizes(daemon, args.repeats)))
        for kind, pairs in deaths(daemon, args.repeats).items():
            row(f"{kind}: death to its successor's grant", spread([p[0] for p in pairs]),
                "aim: under 50 ms" if kind != "gpu" else "")
            row(f"{kind}: the same from the kill", spread([p[1] for p in pairs]))
        load.is_ending = True
        load.join()
        submits(daemon, small)
        daemon.stop()
    finally:
        daemon.discard()
    return 0


if __name__ == "__main__":
    sys.exit(main())
