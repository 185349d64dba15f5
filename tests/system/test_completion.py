#!/usr/bin/python3
"""What bash and zsh offer behind the words of a cuzkctl command line."""

import shutil
import subprocess

from harness import CUZKCTL, ROOT, Circuit, Daemon, Suite, expect, expect_equal, run

SCRIPTS = ROOT / "packaging" / "completions"
BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_cuzkctl
printf '%s\\n' "${COMPREPLY[@]}"
"""
# zsh completes only in a line editor: its functions are replaced by ones that print.
ZSH = """
compadd() { [[ $1 == -- ]] && shift; for w in "$@"; do [[ $w == $PREFIX* ]] && print -r -- $w; done; true; }
_files() { print files; }
script=$1; shift
words=("$@"); CURRENT=$#; PREFIX=${@[-1]}
source $script
"""
SHELLS = {
    "bash": ["bash", "--norc", "-c", BASH, "bash", SCRIPTS / "cuzkctl.bash"],
    "zsh": ["zsh", "-f", "-c", ZSH, "zsh", SCRIPTS / "_cuzkctl"],
}


def offered(shell, *words, socket=None):
    where = ["--socket", str(socket)] if socket else []
    done = run(*SHELLS[shell], CUZKCTL, *where, *words)
    expect(not done.err, str(done))
    return sorted(done.out.split())


def verbs_and_options(shell):
    text = run(CUZKCTL, "--help").out.split("Verbs:\n")[1].split("\n\n")[0]
    verbs = sorted({line.split()[0] for line in text.splitlines()})
    expect_equal(offered(shell, ""), verbs, "verbs")
    expect_equal(offered(shell, "circ"), ["circuit"], "circ")
    for word in ("add", "list", "remove"):
        expect(word in offered(shell, "circuit", ""), f"circuit {word} is not offered")
    expect_equal(offered(shell, "circuit", "re"), ["remove"], "circuit re")
    expect_equal(offered(shell, "prove", "--wit"), ["--witness"], "prove --wit")
    expect("--state" in offered(shell, "jobs", "--"), "jobs --state")
    expect("--json" in offered(shell, "--"), "--json")
    expect_equal(offered(shell, "submit", "--priority", ""), ["critical", "high", "low", "normal"],
                 "priorities")
    expect_equal(offered(shell, "jobs", "--state", "q"), ["queued"], "states")
    expect_equal(offered(shell, "verify", "x"), [], "where nothing can stand")


def names_of_the_daemon(shell, daemon, circuit, job):
    where = {"socket": daemon.socket}
    expect_equal(offered(shell, "prove", "--circuit", "", **where), [circuit], "circuits")
    expect_equal(offered(shell, "prove", "--json", "--circuit", circuit[:3], **where), [circuit],
                 "circuits behind a flag")
    expect_equal(offered(shell, "circuit", "remove", "", **where), [circuit], "circuits to remove")
    expect_equal(offered(shell, "circuit", "add", "", **where), [], "names of new circuits")
    expect_equal(offered(shell, "restart", "gpu", **where), ["gpu", "gpu-0"], "workers")
    expect_equal(offered(shell, "drain", "--no-wait", "a", **where), ["all"], "workers")
    expect_equal(offered(shell, "log-level", "w", **where), ["warn"], "levels")
    expect_equal(offered(shell, "log-level", "warn", "sy", **where), ["synth", "synth-0"], "workers")
    expect_equal(offered(shell, "wait", "", **where), [str(job)], "jobs")
    expect_equal(offered(shell, "--json", "result", "", **where), [str(job)], "jobs")


def silent_without_a_daemon(shell):
    expect_equal(offered(shell, "prove", "--circuit", "", socket="/nonexistent.sock"), [], "circuits")


def files(daemon):
    done = subprocess.run([*map(str, SHELLS["bash"]), str(CUZKCTL), "prove", "--witness", "cu"],
                          cwd=daemon.folder, capture_output=True, text=True, check=False)
    expect_equal(done.stdout.split(), ["cuzkd.conf"], "files")


def main():
    suite, circuit = Suite("completion"), Circuit("mul", "bn128")
    with Daemon() as daemon:
        daemon.add(circuit)
        job = daemon.ctl_json("submit", "--circuit", circuit.label, "--witness",
                              circuit.witnesses[0])["job"]
        for shell in SHELLS:
            if not shutil.which(shell):
                suite.skip(f"{shell}_completes", f"{shell} is not installed")
                continue
            suite.case(f"{shell}_offers_verbs_and_options", verbs_and_options, shell)
            suite.case(f"{shell}_offers_names_of_the_daemon", names_of_the_daemon, shell, daemon,
                       circuit.label, job)
            suite.case(f"{shell}_is_silent_without_a_daemon", silent_without_a_daemon, shell)
        suite.case("bash_offers_files", files, daemon)
    suite.exit()


if __name__ == "__main__":
    main()
