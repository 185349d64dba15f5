#!/usr/bin/python3
"""Runs every test of an already built tree (./dev test builds it) and counts cases.

Unit-test programs print "ok NAME" or "FAILED NAME" a case and "cases: P passed, F failed"; system
tests also "skipped NAME: why". A program that ends badly without such a line counts as one failure.
The last line printed is "N passed, N failed, N skipped".
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CASES = re.compile(r"^cases: (\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.MULTILINE)
NAMED = re.compile(r"^(FAILED .*|skipped .*)$", re.MULTILINE)
SYSTEM_TESTS = sorted(path.stem.removeprefix("test_")
                      for path in (ROOT / "tests" / "system").glob("test_*.py"))
FUZZ_SECONDS = int(os.environ.get("CUZK_FUZZ_SECONDS", "5"))
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0",
              "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"}


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.notes = []

    def add(self, where, code, output, seconds):
        """One finished program. Code 77 is meson's "skipped"."""
        found = CASES.findall(output)
        passed, failed, skipped = (sum(int(f[i] or 0) for f in found) for i in range(3))
        if code == 77 and not found:
            skipped = 1
            self.notes.append(f"{where}: skipped {output.strip().splitlines()[-1:] or ''}")
        elif code == 0 and not found:
            passed = 1
        elif code != 0 and not failed:
            failed = 1
            self.notes.append(f"{where}: FAILED, exit {code}")
        self.notes += [f"{where}: {line}" for line in NAMED.findall(output)]
        self.passed, self.failed = self.passed + passed, self.failed + failed
        self.skipped += skipped
        print(f"  {where}: {passed} passed, {failed} failed, {skipped} skipped ({seconds:.1f} s)",
              flush=True)
        if failed:
            print("    " + "\n    ".join(output.strip().splitlines()[-60:]), flush=True)


def run(command, timeout, **environment):
    """(exit code, output, seconds); a time-out is exit code 124."""
    begin = time.monotonic()
    process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT,
                               env=dict(os.environ, **environment), start_new_session=True)
    try:
        output = process.communicate(timeout=timeout)[0]
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, code = process.communicate()[0], 124
        output += f"\nstopped after {timeout} s\n".encode()
    return code, output.decode(errors="replace"), time.monotonic() - begin


def unit_tests(totals, folder, multiplier):
    """All unit tests of a build folder; those of the rings bring their ThreadSanitizer twins."""
    log = ROOT / folder / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    # Under a sanitizer, what takes minutes there adds little to the other tests of the same code.
    left_out = ["--no-suite", "fuzz"] + (["--no-suite", "long"] if multiplier > 1 else [])
    code, output, _ = run(["meson", "test", "-C", folder, "-t", str(multiplier), *left_out], 1200,
                          **SANITIZERS)
    if not log.exists():
        totals.add(folder, code or 1, output, 0)
        return
    for line in log.read_text().splitlines():
        test = json.loads(line)
        text = test.get("stdout", "") + test.get("stderr", "")
        bad = test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL")
        totals.add(f"{folder} {test['name']}", test["returncode"] or int(bad), text,
                   test["duration"])


def fuzzers(totals):
    """Each for a few seconds on a copy-on-write corpus: new inputs go to the build folder."""
    for program in sorted((ROOT / "build-clang" / "tests" / "fuzz").glob("fuzz_*")):
        if program.is_dir() or not os.access(program, os.X_OK):
            continue
        found = ROOT / "build-clang" / "fuzz" / program.name
        found.mkdir(parents=True, exist_ok=True)
        corpus = ROOT / "tests" / "fuzz" / "corpus" / program.name.removeprefix("fuzz_")
        code, output, seconds = run(
            [program, f"-max_total_time={FUZZ_SECONDS}", "-timeout=20", "-rss_limit_mb=2048",
             f"-artifact_prefix={found}/", found, *([corpus] if corpus.is_dir() else [])],
            FUZZ_SECONDS + 120, **SANITIZERS)
        totals.add(f"{program.name}", code, "" if code == 0 else output, seconds)


def system_tests(totals, folder, patience, names):
    for name in names:
        environment = {"CUZK_BUILD": str(ROOT / folder), "CUZK_TEST_PATIENCE": str(patience)}
        if patience > 1:
            # Workers are undumpable, which the leak check's ptrace does not survive.
            environment["ASAN_OPTIONS"] = "detect_leaks=0"
        totals.add(f"{folder} system {name}",
                   *run(["/usr/bin/python3", f"tests/system/test_{name}.py"], 600 * patience,
                        **environment))


def boot_test(totals):
    """Real systemd in a container, with the packages in build-deb."""
    totals.add("boot", *run(["/usr/bin/python3", "tests/boot/test_boot.py"], 900,
                            CUZK_BUILD=str(ROOT / "build-test")))


def main():
    totals, begin = Totals(), time.monotonic()
    steps = {
        "unit": lambda: unit_tests(totals, "build-test", 1),
        "unit-asan": lambda: unit_tests(totals, "build-clang", 6),
        "fuzz": lambda: fuzzers(totals),
        "system": lambda: system_tests(totals, "build-test", 1, SYSTEM_TESTS),
        "boot": lambda: boot_test(totals),
        "system-asan": lambda: system_tests(totals, "build-clang", 5, ("bad_input", "client")),
    }
    # The boot test by name only: it wants packages, and with them takes longer than all the rest.
    for name in sys.argv[1:] or [step for step in steps if step != "boot"]:
        print(f"== {name}", flush=True)
        steps[name]()
    print(f"\n{time.monotonic() - begin:.0f} s")
    for note in totals.notes:
        print(note)
    print(f"{totals.passed} passed, {totals.failed} failed, {totals.skipped} skipped")
    return 1 if totals.failed else 0


if __name__ == "__main__":
    sys.exit(main())
