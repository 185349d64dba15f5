#!/usr/bin/python3
"""What the journal costs: small submits a second through the real socket, with all workers drained so
that only admission and the journal are measured; then, with many ended jobs in the journal, the
same once more and the time of a start. The disk's own fsyncs a second stand beside it.

  bench/submits.py [--folder DIR] [--clients 8] [--submits 4000] [--ended 100000]

CUZK_BUILD names a build folder with the test hooks, as for the system tests (default build-test)."""

import argparse
import multiprocessing
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "system"))

import msgpack  # noqa: E402
import rpc  # noqa: E402
from harness import Circuit, Daemon  # noqa: E402

PIPELINED = 16  # submits of one connection that wait for their answer


def fsyncs_a_second(folder, seconds=2.0):
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        count, begin = 0, time.monotonic()
        while time.monotonic() - begin < seconds:
            os.pwrite(file.fileno(), b"x" * 4096, count * 4096 % (1 << 20))
            os.fdatasync(file.fileno())
            count += 1
        return count / (time.monotonic() - begin)


def client(path, circuit, witness, count, ready, go, times):
    """Pipelined: a client that waits for each answer measures the disk's latency instead."""
    sent, latencies = {}, []
    with rpc.Client(path) as connection:
        ready.release()
        go.wait()
        done, message = 0, 0
        while done < count:
            while message < count and len(sent) < PIPELINED:
                params = {"circuit": circuit, "inputs": [{"inline": witness}]}
                sent[message] = time.monotonic()
                connection.send(msgpack.packb([0, message, "submit", [params]]))
                message += 1
            _, answered, error, _ = connection.receive()
            if error:
                raise SystemExit(f"refused: {error}")
            latencies.append(time.monotonic() - sent.pop(answered))
            done += 1
    times.put(latencies)


def measure(daemon, circuit, clients, submits):
    ready, go, times = multiprocessing.Semaphore(0), multiprocessing.Event(), multiprocessing.Queue()
    witness = circuit.witnesses[0].read_bytes()
    arguments = (daemon.socket, circuit.label, witness, submits // clients, ready, go, times)
    processes = [multiprocessing.Process(target=client, args=arguments) for _ in range(clients)]
    for process in processes:
        process.start()
    for _ in processes:
        ready.acquire()
    before = daemon.status()["journal"]
    begin = time.monotonic()
    go.set()
    latencies = [x for _ in processes for x in times.get()]
    took = time.monotonic() - begin
    for process in processes:
        process.join()
    after = daemon.status()["journal"]
    commits = after["commits"] - before["commits"]
    latencies.sort()
    print(f"  {len(latencies) / took:.0f} submits/s by {clients} clients ({len(latencies)} in"
          f" {took:.2f} s), {commits} transactions, {len(latencies) / commits:.0f} jobs each;"
          f" latency median {statistics.median(latencies) * 1e3:.1f} ms, 99 %"
          f" {latencies[len(latencies) * 99 // 100] * 1e3:.1f} ms", flush=True)


def drain(daemon):
    daemon.ctl_ok("drain", "all")


def start(daemon):
    begin = time.monotonic()
    daemon.start()
    return time.monotonic() - begin


def restart(daemon):
    daemon.process.terminate()
    daemon.process.wait()
    return start(daemon)


def fill(daemon, count):
    """Copies of one job that has ended, with its proof, under numbers of their own."""
    path = daemon.folder / "state" / "journal.db"
    with sqlite3.connect(path) as handle:
        columns = [row[1] for row in handle.execute("PRAGMA table_info(job)")]
        number = handle.execute("SELECT max(number) FROM job WHERE state=2").fetchone()[0]
        others = ",".join(c for c in columns if c not in ("number", "client_key"))
        top = handle.execute("SELECT max(number) FROM job").fetchone()[0]
        handle.execute(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<{count})"
                       f" INSERT INTO job(number,{others}) SELECT {top}+i,{others} FROM n, job"
                       f" WHERE number={number}")
        handle.execute(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<{count})"
                       f" INSERT INTO proof SELECT ({top}+i)<<7, proof, publics, phases, sha256"
                       f" FROM n, proof WHERE id={number}<<7")
    handle.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", help="where the state folder goes (default: the temporary folder)")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--submits", type=int, default=4000, help="at most 4096: the jobs' limit")
    parser.add_argument("--ended", type=int, default=100000)
    options = parser.parse_args()
    if options.folder:
        tempfile.tempdir = options.folder
    circuit = Circuit("mul", "bn128")
    quiet = {"Supervisor": {"LogLevel": "warn", "StopTimeout": "100ms"}}
    with Daemon(quiet) as daemon:
        print(f"disk of {daemon.folder}: {fsyncs_a_second(daemon.folder):.0f} fdatasync/s of 4 KiB")
        daemon.add(circuit)
        with rpc.Client(daemon.socket) as connection:
            connection.wait(connection.submit(circuit.label, [circuit.witnesses[0].read_bytes()]))
        print(f"start with 1 job in the journal: {restart(daemon):.2f} s")
        drain(daemon)
        measure(daemon, circuit, options.clients, options.submits)
        daemon.process.kill()
        daemon.process.wait()
        with sqlite3.connect(daemon.folder / "state" / "journal.db") as handle:
            handle.execute("DELETE FROM job WHERE state<2")
            handle.execute("DELETE FROM input")
        handle.close()
        fill(daemon, options.ended)
        print(f"start with {options.ended} ended jobs: {start(daemon):.2f} s")
        drain(daemon)
        measure(daemon, circuit, options.clients, options.submits)
        daemon.discard()


if __name__ == "__main__":
    main()
