#!/usr/bin/python3
"""Clients that mean harm: none of them costs the daemon more than its bounds say, keeps others from
being served, or leaves anything behind."""

import os
import socket
import subprocess
import threading
import time

import msgpack

from harness import CUZKD, Circuit, Daemon, Suite, expect, run, wait_until
import rpc


def request(method, msgid=1):
    return msgpack.packb([0, msgid, method, [{}]])


def connect(daemon):
    """A connection that never blocks; None when the daemon's queue is full for longer."""
    for _ in range(200):
        connection = socket.socket(socket.AF_UNIX)
        connection.setblocking(False)
        try:
            connection.connect(daemon.socket)
            return connection
        except BlockingIOError:
            connection.close()
            time.sleep(0.02)
    return None


def send(connection, data):
    """What the socket takes."""
    try:
        return connection.send(data)
    except OSError:
        return 0


def resident_kib(daemon):
    with open(f"/proc/{daemon.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def admin_seconds(daemon):
    """How long an operator waits for an answer."""
    begin = time.monotonic()
    with rpc.Client(daemon.socket.replace(".sock", "-admin.sock"), timeout=30) as client:
        client.call("hello")
    return time.monotonic() - begin


def who_reads_nothing_costs_little(daemon, circuit):
    """200 clients send thousands of requests each and read no answer."""
    before, flood = resident_kib(daemon), b"".join(request("status") for _ in range(3000))
    connections = [connect(daemon) for _ in range(200)]
    expect(all(connections), "the daemon takes no more connections")
    for connection in connections:
        send(connection, flood)
    worst = 0
    for _ in range(10):
        worst = max(worst, admin_seconds(daemon))
        time.sleep(0.1)
    grown = resident_kib(daemon) - before
    daemon.prove(circuit.label, [circuit.witnesses[0]], timeout=20)
    for connection in connections:
        connection.close()
    print(f"  {grown} KiB more, an operator waited {worst:.3f} s at most")
    # 64 KiB of answers and 64 KiB of requests for each, and what the allocator adds.
    expect(grown < 200 * 400, f"the daemon grew by {grown} KiB")


def who_asks_without_end_costs_little(daemon, circuit):
    """Clients that read their answers and ask faster than they are served."""
    before, stop = resident_kib(daemon), threading.Event()
    flood = b"".join(request("hello") for _ in range(6000))

    def ask():
        connection, at = connect(daemon), 0
        while not stop.is_set():
            sent = send(connection, flood[at:])
            at = (at + sent) % len(flood)
            try:
                connection.recv(1 << 20)
            except BlockingIOError:
                if not sent:
                    time.sleep(0.001)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(4)
        grown = resident_kib(daemon) - before
        daemon.prove(circuit.label, [circuit.witnesses[0]], timeout=20)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    print(f"  {grown} KiB more")
    expect(grown < 8 * 1024, f"the daemon grew by {grown} KiB")


def pipelined_requests_are_all_answered(daemon):
    """Many more than one turn takes, with answers larger than may be queued."""
    with rpc.Client(daemon.socket) as client:
        count = 2000

        def read_all():
            for _ in range(count):
                answered.append(client.receive()[1])

        answered = []
        reader = threading.Thread(target=read_all)
        reader.start()
        client.socket.sendall(b"".join(request("status", i) for i in range(count)))
        reader.join(60)
        expect(sorted(answered) == list(range(count)), f"{len(answered)} of {count} answers")


def start_with_few_descriptors(daemon, count):
    with open(daemon.log_path, "ab") as log:
        daemon.process = subprocess.Popen(
            ["prlimit", f"--nofile={count}", CUZKD, "--config", daemon.config],
            env=daemon.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    wait_until(daemon.is_ready, 60, "the daemon is ready")


def connections_leave_descriptors(daemon, circuit):
    """Idle connections take a part of the descriptors: an operator gets in, workers come back."""
    connections = [connect(daemon) for _ in range(120)]
    time.sleep(0.5)
    expect(admin_seconds(daemon) < 5, "an operator waits")
    victim = next(w for w in rpc.Client(daemon.socket.replace(".sock", "-admin.sock"))
                  .call("workers")["workers"] if w["kind"] == "gpu")
    os.kill(victim["pid"], 9)
    for connection in connections:
        if connection:
            connection.close()
    time.sleep(1)
    daemon.prove(circuit.label, [circuit.witnesses[0]], timeout=20)
    expect("connections are refused" in daemon.log(), "the log does not tell of refusals")
    expect("Too many open files" not in daemon.log(), lambda: daemon.log()[-1500:])


def hoarded_descriptors_are_bounded(daemon, circuit):
    """Descriptors sent ahead of a request that never ends."""
    connections, null = [connect(daemon) for _ in range(30)], os.open("/dev/null", os.O_RDONLY)
    before = len(os.listdir(f"/proc/{daemon.process.pid}/fd"))
    for connection in connections:
        if connection:
            try:
                socket.send_fds(connection, [b"\x94"], [null] * 100)
            except OSError:
                pass
    os.close(null)
    time.sleep(0.5)
    held = len(os.listdir(f"/proc/{daemon.process.pid}/fd")) - before
    print(f"  {held} descriptors held")
    expect(held < 300 + 30, f"{held} descriptors of 1000 held")
    for victim in daemon.workers():
        os.kill(victim["pid"], 9)
    daemon.prove(circuit.label, [circuit.witnesses[0]], timeout=20)
    expect("Too many open files" not in daemon.log(), lambda: daemon.log()[-1500:])
    for connection in connections:
        if connection:
            connection.close()


def main():
    suite, circuit = Suite("hostile"), Circuit("mul", "bn128")
    with Daemon({"Ring": {"SlabSize": "1M"}, "Supervisor": {"LogLevel": "info"}}) as daemon:
        daemon.add(circuit)
        daemon.prove(circuit.label, [circuit.witnesses[0]])
        before = daemon.idle_state()
        # The quieter first: what the heap keeps would hide its growth.
        for case in (who_asks_without_end_costs_little, who_reads_nothing_costs_little):
            suite.case(case.__name__, case, daemon, circuit)
        suite.case("pipelined_requests_are_all_answered", pipelined_requests_are_all_answered,
                   daemon)
        suite.case("nothing_is_held_afterwards", daemon.expect_back_to, before)
        suite.case("daemon_stops_and_leaves_nothing", daemon.stop)
    for count, case in ((100, connections_leave_descriptors),
                        (1000, hoarded_descriptors_are_bounded)):
        with Daemon({"Ring": {"SlabSize": "1M"}}, start=False) as daemon:
            start_with_few_descriptors(daemon, count)
            daemon.add(circuit)
            suite.case(case.__name__, case, daemon, circuit)
    suite.exit()


if __name__ == "__main__":
    main()
