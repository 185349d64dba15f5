#!/usr/bin/python3
"""cuzkctl doctor: without a daemon, beside one, beside a stopped one. What it makes of odd hosts is in
tests/client/test_doctor.c."""

import json
import signal
import time

from harness import CUZKCTL, Daemon, Suite, expect, expect_equal, run


def findings(result):
    """{check: [finding]} of --json."""
    found = {}
    for finding in result.json()["findings"]:
        found.setdefault(finding["check"], []).append(finding)
    return found


def without_a_daemon():
    daemon = Daemon(start=False)
    try:
        result = daemon.ctl("doctor", "--config", daemon.config, "--json")
        expect(result.code == 0, str(result))
        found = findings(result)
        expect_equal([f["level"] for f in found["sockets"]], ["warn"], "sockets")
        expect("not running" in found["sockets"][0]["found"], f"{found['sockets']}")
        expect_equal(found["config"][0]["level"], "ok", "config")
        for check in ("memory", "cpu", "swap", "disk", "io_uring", "sandbox", "driver", "numa"):
            expect(check in found, f"no {check}: {sorted(found)}")
    finally:
        daemon.discard()


def beside_a_daemon():
    with Daemon() as daemon:
        result = daemon.ctl("doctor", "--config", daemon.config, "--json")
        expect(result.code == 0, str(result))
        found = findings(result)
        expect_equal([f["level"] for f in found["sockets"]], ["ok", "ok"], "sockets")
        expect("the service" in found["limits"][0]["found"], f"{found['limits']}")
        flags = {f["found"] for f in found["flags"]}
        expect("status shows cpu_backend" in flags, f"{flags}")
        text = daemon.ctl("doctor", "--config", daemon.config)
        expect(text.code == 0 and " fail\n" in text.out[-40:], str(text))
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            begin = time.monotonic()
            result = daemon.ctl("doctor", "--config", daemon.config, "--json")
            expect(time.monotonic() - begin < 20, "it waits long for a stopped daemon")
            expect_equal(result.code, 1, "exit code beside a stopped daemon")
            expect_equal(findings(result)["sockets"][0]["level"], "fail", "sockets")
        finally:
            daemon.process.send_signal(signal.SIGCONT)


def bad_config_fails():
    daemon = Daemon({"Supervisor": {"Sokcet": "/x"}}, start=False)
    try:
        result = run(CUZKCTL, "doctor", "--config", daemon.config, "--json")
        expect_equal(result.code, 1, "exit code")
        first = json.loads(result.out)["findings"][0]
        expect(first["check"] == "config" and first["level"] == "fail" and
               "Socket=" in first["found"], f"{first}")
    finally:
        daemon.discard()


def main():
    suite = Suite("doctor")
    suite.case("works_without_a_daemon", without_a_daemon)
    suite.case("works_beside_a_daemon_and_a_stopped_one", beside_a_daemon)
    suite.case("bad_configuration_fails", bad_config_fails)
    suite.exit()


if __name__ == "__main__":
    main()
