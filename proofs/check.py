"""Check the proofs: `make proofs`.

1. Without Coq: every statement of docs/theory that has a *Machine-checked by* line has a row with the same names in
   docs/theory/machine-checked.md, and the reverse; every name is a theorem of proofs/*.v; no file assumes anything.
2. With Coq: everything compiles, together with cases that are written from the library (cases.py); planted faults are
   rejected; and each named theorem rests on Coq's four axioms for classical real numbers and on nothing else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BOOK = HERE.parent / "docs" / "theory"
PAGE = BOOK / "machine-checked.md"
BUILD = HERE.parent / ".cache" / "proofs"

PACKAGES = "coq libcoq-mathcomp-ssreflect libcoq-coquelicot libcoq-mathcomp-zify"
MISSING = f"make proofs: skipped, because Coq is not installed. On Debian: apt-get install {PACKAGES}"

AXIOMS = {
    "ClassicalDedekindReals.sig_not_dec",
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
    "Classical_Prop.classic",
}
"""What Coq's own real numbers, and Coquelicot's integrals over them, rest on."""

ASSUMING = (
    r"\b(?:Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|Abort|bypass_check|type_in_type)\b"
    r"|\b(?:Unset|Set) [\w ]*(?:Guard|Universe|Positivity)"
)
"""Words by which a Coq file leaves something unproved, or switches a check of Coq off."""

STATEMENT = re.compile(r'^<a id="(?P<anchor>[\w-]+)"></a>\n\n### (?P<body>(?:(?!<a id|## ).*\n)*)', re.MULTILINE)
LINE = re.compile(r"^\*Machine-checked by\* (?P<names>.*?)\.$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| \[[^]]+\]\([\w.-]+#(?P<anchor>[\w-]+)\) \| (?P<names>.*?) \|", re.MULTILINE)
NAME = re.compile(r"`([A-Z]\w*\.(?!v`)\w+)`")
DEFINED = re.compile(r"^(?:Theorem|Lemma|Corollary|Definition|Fixpoint) (\w+)", re.MULTILINE)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def without_comments(source: str) -> str:
    """Coq source without its comments, which may be nested."""
    depth, kept = 0, []
    for part in re.split(r"(\(\*|\*\))", source):
        if part == "(*":
            depth += 1
        elif part == "*)" and depth:
            depth -= 1
        elif not depth:
            kept.append(part)
    return "".join(kept)


def lines_of_the_book() -> dict[str, list[str]]:
    """The names after *Machine-checked by*, by the anchor of their statement."""
    found = {}
    for chapter in sorted(BOOK.glob("[0-9]*.md")):
        for statement in STATEMENT.finditer(read(chapter)):
            line = LINE.search(statement["body"])
            if line:
                found[statement["anchor"]] = NAME.findall(line["names"])
    return found


def rows_of_the_page() -> dict[str, list[str]]:
    """The names in the table of the page, by the anchor of their statement."""
    return {row["anchor"]: NAME.findall(row["names"]) for row in ROW.finditer(read(PAGE))}


def other_names() -> list[str]:
    """What else the page names: theorems that no statement of the book corresponds to."""
    listed = {name for names in rows_of_the_page().values() for name in names}
    return [name for name in dict.fromkeys(NAME.findall(read(PAGE))) if name not in listed]


def sources() -> dict[str, str]:
    return {path.stem: read(path) for path in sorted(HERE.glob("*.v"))}


def problems(book: dict[str, list[str]], page: dict[str, list[str]], files: dict[str, str]) -> list[str]:
    """What is wrong with the names, and where a file assumes something; no Coq is needed to see it."""
    found = [
        f"{anchor}: the line in docs/theory and the row of {PAGE.name} differ"
        for anchor in sorted({*book, *page})
        if book.get(anchor) != page.get(anchor)
    ]
    defined = {f"{file}.{name}" for file, text in files.items() for name in DEFINED.findall(without_comments(text))}
    for anchor, names in page.items():
        found += [f"{anchor}: there is no theorem {name}" for name in names if name not in defined]
        if not names:
            found.append(f"{anchor}: no theorem is named")
    for file, text in files.items():
        found += [f"{file}.v: {word}" for word in re.findall(ASSUMING, without_comments(text))]
    ordered = [Path(name).stem for name in read(HERE / "_CoqProject").split() if name.endswith(".v")]
    if sorted(ordered) != sorted(files):
        found.append("_CoqProject does not list each file once")
    return found


def copy(name: str, text: str) -> None:
    """Write a file of the build, unless it is there as it should be: what did not change is not compiled again."""
    path = BUILD / name
    if not path.exists() or read(path) != text:
        path.write_text(text, encoding="utf-8")


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=BUILD, capture_output=True, text=True, check=False)


def coqc(name: str, text: str) -> subprocess.CompletedProcess[str]:
    copy(name, text)
    return run("coqc", "-q", "-R", ".", "Shortlist", "-w", "none", name)


def compile_all() -> str | None:
    """Compile the files that changed; return what went wrong."""
    BUILD.mkdir(parents=True, exist_ok=True)
    for stale in BUILD.glob("*.v"):
        if not (HERE / stale.name).exists():
            stale.unlink()
    for name, text in sources().items():
        copy(f"{name}.v", text)
    copy("_CoqProject", read(HERE / "_CoqProject"))
    made = run("coq_makefile", "-f", "_CoqProject", "-o", "Makefile")
    done = run("make", f"-j{os.cpu_count() or 1}", "--no-print-directory") if not made.returncode else made
    if not done.returncode:
        return None
    hint = (
        f"\nAre all packages there? apt-get install {PACKAGES}" if "Cannot find a physical path" in done.stderr else ""
    )
    return done.stdout[-2000:] + done.stderr[-4000:] + hint


def axioms_in(output: str) -> set[str]:
    """The axioms that `Print Assumptions` lists; a line that cannot be read counts as one."""
    told = output.strip().splitlines()
    if told == ["Closed under the global context"]:
        return set()
    heads = [line.split()[0] for line in told if line[:1].strip()]  # what follows a name is indented
    return set(heads[1:]) if heads[:1] == ["Axioms:"] else {"what could not be read", *heads}


def assumptions(names: list[str]) -> set[str]:
    """The axioms that these theorems rest on, all together: to ask for each would look at the same proofs again."""
    files = " ".join(sorted({name.partition(".")[0] for name in names}))
    together = ", ".join(f"@{name}" for name in names)
    done = coqc(
        "Assumptions.v",
        f"From Shortlist Require {files}.\nDefinition everything := ({together}).\nPrint Assumptions everything.\n",
    )
    if done.returncode:
        raise SystemExit(f"make proofs: {done.stderr or done.stdout}")
    return axioms_in(done.stdout)


def main() -> int:
    wrong = problems(lines_of_the_book(), rows_of_the_page(), sources())
    if wrong:
        print("make proofs:", *wrong, sep="\n  ")
        return 1
    if not shutil.which("coqc"):
        print(MISSING)
        return 0
    error = compile_all()
    if error:
        print(error)
        return 1
    names = [*dict.fromkeys(name for row in rows_of_the_page().values() for name in row), *other_names()]
    beyond = assumptions(names) - AXIOMS
    if beyond:
        print(f"make proofs: a theorem rests on {', '.join(sorted(beyond))}")
        return 1
    from cases import check_cases  # the library is needed from here on

    told = check_cases(coqc)
    print(f"make proofs: {len(names)} theorems compiled, none rests on an axiom beyond those of Coq's real numbers")
    print(f"make proofs: {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
