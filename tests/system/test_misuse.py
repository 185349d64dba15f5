#!/usr/bin/python3
"""What is done to a daemon from outside: its files moved away, signals at odd moments, a service
manager that does not read, another process in its journal. It says what is wrong, loses no job
that it has promised to keep, and does not hang."""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time

import rpc
from harness import (CUZKD, Circuit, Daemon, Suite, expect, expect_equal, wait_gone, wait_until,
                     write_config)


def kill(daemon):
    daemon.process.kill()
    daemon.process.wait()
    expect_equal(wait_gone(daemon.mark), {}, "processes left after kill -9")


def launch(daemon):
    """Starts it without waiting."""
    with open(daemon.log_path, "ab") as log:
        daemon.process = subprocess.Popen([CUZKD, "--config", daemon.config], stdout=log,
                                          stderr=log, stdin=subprocess.DEVNULL,
                                          env=daemon.environment)


def refused(client, circuit, inputs):
    try:
        found = client.submit(circuit.label, inputs)
    except rpc.RemoteError as error:
        expect_equal(error.code, "busy", "error code")
        return error.message
    raise AssertionError(f"taken as job {found}")


def flags(daemon):
    return daemon.status()["flags"]


def inline(circuit):
    return [circuit.witnesses[0].read_bytes()]


def journal_moved_away(daemon, circuit):
    """What is written to a file that nobody finds again is no promise."""
    state, aside = daemon.folder / "state", daemon.folder / "aside"
    with rpc.Client(daemon.socket) as client:
        for victims in (["journal.db"], ["journal.db-wal"], None):
            if victims is None:
                state.rename(aside)
                state.mkdir(mode=0o700)
            else:
                aside.mkdir()
                for name in victims:
                    (state / name).rename(aside / name)
            message = refused(client, circuit, inline(circuit))
            expect("moved or removed" in message or "Stale" in message, message)
            wait_until(lambda: "journal_moved" in flags(daemon), 10, "the flag")
            expect("moved or removed" in refused(client, circuit, inline(circuit)), "says why")
            if victims is None:
                shutil.rmtree(state)
                aside.rename(state)
            else:
                for name in victims:
                    (aside / name).rename(state / name)
                aside.rmdir()
            wait_until(lambda: "journal_moved" not in flags(daemon), 10, "the flag goes")
            job = client.submit(circuit.label, inline(circuit))
            expect_equal(client.wait(job)["state"], "done", "a job afterwards")
    kill(daemon)
    daemon.start()
    with rpc.Client(daemon.socket) as client:
        expect_equal(client.wait(job)["state"], "done", "the job after kill -9")


def spool_folder_removed(daemon, circuit):
    (daemon.folder / "state" / "spool").rmdir()
    before = daemon.log().count(" error ")
    with rpc.Client(daemon.socket) as client:
        for _ in range(3):
            message = refused(client, circuit, circuit.witnesses[:1])
        expect("was removed" in message and "restart" in message, message)
        expect("spool_full" in flags(daemon), "the flag")
        time.sleep(4)  # longer than until it looks again
        expect("spool_full" in flags(daemon), "the flag stays")
        job = client.submit(circuit.label, inline(circuit))
        expect_equal(client.wait(job)["state"], "done", "a job without files")
    expect_equal(daemon.log().count(" error ") - before, 1, "lines of the log")
    daemon.process.terminate()
    expect_equal(daemon.process.wait(40), 0, "exit code")
    daemon.start()
    with rpc.Client(daemon.socket) as client:
        job = client.submit(circuit.label, circuit.witnesses[:1])
        expect_equal(client.wait(job)["state"], "done", "a job with a file after a restart")


def damaged_records_expire(daemon, circuit):
    """Jobs that failed because their records are damaged end like all others."""
    daemon.ctl_ok("drain", "all")
    with rpc.Client(daemon.socket) as client:
        jobs = [client.submit(circuit.label, inline(circuit)) for _ in range(4)]
    kill(daemon)
    handle = sqlite3.connect(daemon.folder / "state" / "journal.db")
    handle.execute("UPDATE input SET sha256=zeroblob(32) WHERE id>>7 > ?", (jobs[0],))
    handle.commit()
    handle.close()
    daemon.start()
    with rpc.Client(daemon.socket) as client:
        states = [client.wait(job)["state"] for job in jobs]
        expect_equal(states, ["done"] + 3 * ["failed"], "states")
        daemon.sections["Supervisor"]["ResultsAge"] = "1s"
        write_config(daemon.config, daemon.sections)
        daemon.ctl_ok("reload")
        wait_until(lambda: daemon.status()["journal"]["kept"] == 0, 10, "all have expired")


def somebody_reads_the_journal_at_start(daemon):
    """A backup that has it open for a moment delays a start and does not end it."""
    daemon.process.terminate()
    expect_equal(daemon.process.wait(40), 0, "exit code")
    handle = sqlite3.connect(daemon.folder / "state" / "journal.db", isolation_level=None,
                             check_same_thread=False)
    handle.execute("BEGIN")
    handle.execute("SELECT count(*) FROM job").fetchall()
    timer = threading.Timer(1.5, handle.close)
    timer.start()
    daemon.start()
    timer.join()


def stopped_while_it_waits_for_another(daemon):
    process = subprocess.Popen([CUZKD, "--config", daemon.config], env=daemon.environment,
                               stderr=subprocess.PIPE)
    time.sleep(0.7)
    process.terminate()
    log = process.communicate(timeout=30)[1].decode()
    expect_equal(process.returncode, 0, f"exit code:\n{log}")
    expect(" error " not in log, log)


def reload_while_slabs_are_made():
    with Daemon({"Ring": {"Slabs": 40, "SlabSize": "64M"}}, start=False) as daemon:
        launch(daemon)
        wait_until(lambda: os.path.exists(daemon.socket), 20, "the socket")
        daemon.sections["Ring"]["Slabs"] = 2
        write_config(daemon.config, daemon.sections)
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(daemon.is_ready, 60, "the daemon is ready")
        expect("reload refused" not in daemon.log(), "refuses the reload")
        wait_until(lambda: daemon.status()["rings"][0]["slabs"] == 2, 20, "the ring of two slabs")


def socket_of_another_stays(daemon):
    """Its socket was removed and another daemon listens there by now."""
    os.unlink(daemon.socket)
    with Daemon({"Supervisor": {"Socket": daemon.socket,
                                "AdminSocket": f"{daemon.folder}/other.sock"}}, start=False) as other:
        launch(other)
        wait_until(lambda: os.path.exists(daemon.socket), 30, "the other's socket")
        daemon.process.terminate()
        expect_equal(daemon.process.wait(40), 0, "exit code")
        with rpc.Client(daemon.socket) as client:
            expect_equal(client.call("hello")["pid"], other.process.pid, "who answers")
        other.process.terminate()
        expect_equal(other.process.wait(40), 0, "exit code of the other")
        other.process = None
        expect(not os.path.exists(daemon.socket), "the other leaves its socket")
    daemon.start()


def manager_that_does_not_read(circuit):
    """Its queue is full from the start: the daemon serves, and READY comes when it reads."""
    with Daemon(start=False) as daemon:
        path = f"{daemon.folder}/notify"
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(path)
        other = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            while True:
                other.sendto(b"X=1", path)
        except BlockingIOError:
            pass
        daemon.environment["NOTIFY_SOCKET"] = path
        daemon.start()
        daemon.add(circuit)
        daemon.prove(circuit.label, circuit.witnesses[:1])
        manager.settimeout(20)
        stored, ready = 0, False
        while not ready:
            data, fds, _, _ = socket.recv_fds(manager, 4096, 8)
            for fd in fds:
                os.close(fd)
            expect(not ready or not fds, "slabs are stored before it is ready")
            stored += len(fds)
            ready = data.startswith(b"READY=1")
        expect_equal(stored, 5, "a table and four slabs in the store")


def main():
    suite = Suite("misuse")
    circuit = Circuit("mul", "bn128")
    with Daemon() as daemon:
        daemon.add(circuit)
        suite.case("journal_moved_away", journal_moved_away, daemon, circuit)
        suite.case("spool_folder_removed", spool_folder_removed, daemon, circuit)
        suite.case("stopped_while_it_waits_for_another", stopped_while_it_waits_for_another, daemon)
        suite.case("somebody_reads_the_journal_at_start", somebody_reads_the_journal_at_start,
                   daemon)
        suite.case("socket_of_another_stays", socket_of_another_stays, daemon)
        suite.case("damaged_records_expire", damaged_records_expire, daemon, circuit)
    suite.case("reload_while_slabs_are_made", reload_while_slabs_are_made)
    suite.case("manager_that_does_not_read", manager_that_does_not_read, circuit)
    suite.exit()


if __name__ == "__main__":
    main()
