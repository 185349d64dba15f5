#!/usr/bin/python3
"""The manual pages name every verb and option that --help names, and no other; the pages are well
formed, and there is one for each program that is installed."""

import json
import os
import re
import shutil

from harness import BUILD, CUZK_BENCH, CUZKCTL, CUZKD, ROOT, Suite, expect, expect_equal, run

PAGES = ROOT / "docs" / "man"
OPTION = re.compile(r"(?<![\w-])--[a-z0-9][a-z0-9-]*")


def plain(name):
    """A page without its fonts."""
    text = (PAGES / name).read_text()
    return re.sub(r"\\f[BIRP]", "", text).replace("\\-", "-").replace('"', "")


def section(text, heading):
    found = re.search(rf"^\.SH {heading}\n(.*?)(?=^\.SH |\Z)", text, re.DOTALL | re.MULTILINE)
    expect(found, f"no section {heading}")
    return found.group(1)


def items(text):
    """[(head line, whole text)] of the tagged paragraphs at the outer level."""
    depth, found = 0, []
    lines = text.splitlines()
    for i, line in enumerate(lines):
        depth += (line == ".RS") - (line == ".RE")
        if line == ".TP" and depth == 0:
            found.append([re.sub(r"^\.[BI]R? ", "", lines[i + 1]), ""])
        elif found:
            found[-1][1] += line + "\n"
    return found


def options_of(program, *words):
    result = run(program, *words, "--help")
    return set(OPTION.findall(result.out + result.err)) - {"--help"}


def cuzkctl_page():
    text = plain("cuzkctl.1")
    overview = run(CUZKCTL, "--help").out
    verbs = re.findall(r"^  ((?:[a-z-]+ )?[a-z-]+) ", overview.split("Verbs:\n")[1].split("\n\n")[0],
                       re.MULTILINE)
    everywhere = options_of(CUZKCTL)
    described = items(section(text, "VERBS"))
    heads = {}
    for head, _ in described:
        verb = next((v for v in sorted(verbs, key=len, reverse=True)
                     if head == v or head.startswith(v + " ")), None)
        expect(verb, f"the page describes \"{head}\", which is no verb")
        heads[verb] = head
    expect_equal(sorted(heads), sorted(verbs), "verbs of the page")
    for verb, head in heads.items():
        expect_equal(sorted(OPTION.findall(head)),
                     sorted(options_of(CUZKCTL, *verb.split()) - everywhere), f"options of {verb}")
    named = {o for head, _ in items(section(text, "OPTIONS")) for o in OPTION.findall(head)}
    expect_equal(sorted(named), sorted(everywhere | {"--help"}), "options everywhere")


def cuzkd_page():
    named = {o for head, _ in items(section(plain("cuzkd.8"), "OPTIONS")) for o in OPTION.findall(head)}
    expect_equal(sorted(named), sorted(options_of(CUZKD) | {"--help"}), "options")


def bench_page():
    described = {head.split()[0]: body for head, body in items(section(plain("cuzk-bench.1"),
                                                                       "SUBCOMMANDS"))}
    names = re.findall(r"^  ([a-z-]+) ", run(CUZK_BENCH, "--help").out, re.MULTILINE)
    expect_equal(sorted(described), sorted(names), "subcommands")
    for name in set(names) - {"gpu"}:  # that one has letters, and a build with CUDA
        expect_equal(sorted(set(OPTION.findall(described[name]))),
                     sorted(options_of(CUZK_BENCH, name)), f"options of {name}")


def library_page():
    declared = re.findall(r"\b(cuzk_\w+)\(", re.sub(r"/\*.*?\*/", "", (ROOT / "client/libcuzk.h")
                                                      .read_text(), flags=re.DOTALL))
    named = re.findall(r"\b(cuzk_\w+)\(", section(plain("libcuzk.3"), "SYNOPSIS"))
    expect_equal(sorted(named), sorted(declared), "functions")


def pages_for_all_programs():
    installed = json.loads(run("meson", "introspect", "--installed", BUILD).out).values()
    programs = {os.path.basename(p) for p in installed
                if re.search(r"/(bin|libexec/cuzkd)/cuzk[a-z-]*$", p) and "bench/" not in p}
    links = re.findall(r"'(cuzk-[a-z-]+)'", (PAGES / "meson.build").read_text())
    links += re.findall(r"install_symlink\('(cuzk-[a-z-]+)\.", (PAGES / "meson.build").read_text())
    pages = {p.stem for p in PAGES.glob("cuzk*.[18]")} | set(links)
    expect_equal(sorted(programs - pages), [], "programs without a page")


def guide_quotes_real_lines():
    """What docs/operating.md quotes of the log and of the flags is in the source."""
    folders = ("supervisor", "runtime", "shm", "gpu-worker", "synth-worker", "finalizer", "intake")
    literals = []
    for folder in folders:
        for path in (ROOT / folder).rglob("*.c"):
            # Neighbouring literals are one.
            literals.append(re.sub(r'"\s*\n?\s*"', "", path.read_text()))
    source = "\n".join(literals)
    guide = (ROOT / "docs" / "operating.md").read_text().split("## Alarms")[1].split("\n## ")[0]
    quoted = []
    for row in re.findall(r"^\| (`.*?) \|", guide, re.MULTILINE):
        quoted += re.findall(r"`([^`]*)`", row)
    expect(len(quoted) > 20, f"only {len(quoted)} lines are quoted")
    flags = re.search(r"^static void write_flags.*?^}", (ROOT / "supervisor/status.c").read_text(),
                      re.DOTALL | re.MULTILINE).group(0)
    flags = set(re.findall(r'"([a-z_]{4,})(?::[^"]*)?"', flags)) - {"flags"}
    expect_equal(sorted(flags - {q.split(":")[0] for q in quoted}), [], "flags that it lacks")
    missing = [q for q in quoted if q.split(":")[0] not in source]
    expect_equal(missing, [], "quoted and in no source file")


def well_formed_for_mandoc():
    for page in sorted(PAGES.glob("*.[1-8]")):
        complaints = [l for l in run("mandoc", "-Tlint", "-W", "warning", page).out.splitlines()
                      if "missing date" not in l]  # a page is as old as the program it comes with
        expect_equal(complaints, [], page.name)


def well_formed_for_man():
    for page in sorted(PAGES.glob("*.[1-8]")):
        result = run("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page,
                     env=dict(os.environ, LC_ALL="C.UTF-8", MANROFFSEQ="", MANWIDTH="80"))
        expect_equal((result.code, result.err), (0, ""), page.name)


def main():
    suite = Suite("manual")
    suite.case("cuzkctl_page_has_every_verb_and_option", cuzkctl_page)
    suite.case("cuzkd_page_has_every_option", cuzkd_page)
    suite.case("cuzk_bench_page_has_every_subcommand_and_option", bench_page)
    suite.case("libcuzk_page_has_every_function", library_page)
    suite.case("every_program_has_a_page", pages_for_all_programs)
    suite.case("operators_guide_quotes_real_lines", guide_quotes_real_lines)
    for program, function in (("mandoc", well_formed_for_mandoc), ("man", well_formed_for_man)):
        if shutil.which(program):
            suite.case(f"pages_are_well_formed_for_{program}", function)
        else:
            suite.skip(f"pages_are_well_formed_for_{program}", f"{program} is not installed")
    suite.exit()


if __name__ == "__main__":
    main()
