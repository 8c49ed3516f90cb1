#!/usr/bin/env python3
r"""Fills the last column of docs/contract.md: which tests prove which promise.

A test names its promises in the doc comment above it (`/// R8, R9: ...`) or in its own name
(`r8_...`). Inside a macro call that makes tests (`on_every_backend! { /// R1 \n name: ... }`) the doc
comment belongs to the name below it. The doc comment at the head of a file (`//! R12: ...`) counts for
every test of that file.

  docs/contract-table.py           rewrite the page
  docs/contract-table.py --check   fail if the page is out of date or a promise has no test
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "contract.md"
# How many promises each letter has. A row of the page whose letter or number is not here is an error: every letter of the
# contract is checked.
LENGTHS = {"R": 32, "D": 22, "A": 12, "W": 21, "P": 13, "T": 7, "X": 11}
PROMISES = [f"{letter}{n}" for letter, last in LENGTHS.items() for n in range(1, last + 1)]

LETTERS = "".join(LENGTHS)
ID = re.compile(rf"\b([{LETTERS}])(\d{{1,2}})(?:\s*[–-]\s*\1?(\d{{1,2}}))?\b")
ID_IN_NAME = re.compile(rf"(?:^|_)([{LETTERS.lower()}]\d{{1,2}})(?=_|$)")
FUNCTION = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:async )?fn (\w+)")
MACRO = re.compile(r"^(?!macro_rules)\w+! \{$")
LISTED = re.compile(r"^([a-z]\w*): [a-z]")


def ids_in(text):
    """R8, and the ends and the middle of R8–R11."""
    found = set()
    for letter, first, last in ID.findall(text):
        found.update(f"{letter}{n}" for n in range(int(first), int(last or first) + 1))
    return found


def tests_in(path):
    """(name, ids) of every test in a file."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    for_all = ids_in(" ".join(line for line in lines if line.startswith("//!")))
    in_tests = "tests" in path.relative_to(ROOT).parts
    above, is_test, in_macro = [], False, False
    for line in lines:
        if line.startswith("///"):
            above.append(line)
            continue
        if line.startswith("#["):
            is_test = is_test or bool(re.match(r"#\[(\w+::)*test\b", line))
            continue
        name = None
        if is_test and (function := FUNCTION.match(line)):
            name = function.group(1)
        elif in_macro and (listed := LISTED.match(line)):
            name = listed.group(1)
        if in_tests and MACRO.match(line):
            in_macro = True
        elif line == "}":
            in_macro = False
        if name:
            named = {found.upper() for found in ID_IN_NAME.findall(name)}
            yield name, for_all | named | ids_in(" ".join(above))
        above, is_test = [], False


def proofs():
    """Promise -> file -> names of tests, in the order of the files."""
    found = {promise: {} for promise in PROMISES}
    files = {*ROOT.glob("crates/**/tests/**/*.rs"), *ROOT.glob("crates/**/src/**/*.rs")}
    for path in sorted(files):
        for name, ids in tests_in(path):
            for promise in ids & found.keys():
                found[promise].setdefault(path.relative_to(ROOT / "crates").as_posix(), []).append(name)
    return found


def cell(files):
    parts = []
    for file, names in files.items():
        parts.append(f"{file}: " + ", ".join(f"`{name}`" for name in dict.fromkeys(names)))
    return "<br>".join(parts) or "-"


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    found = proofs()
    page = PAGE.read_text(encoding="utf-8")
    rows, lines = set(), []
    for line in page.splitlines():
        row = re.match(r"\| ([A-Z]\d{1,2}) \| (.*) \|.*\|$", line)
        if row:
            rows.add(row.group(1))
            line = f"| {row.group(1)} | {row.group(2)} | {cell(found.get(row.group(1), {}))} |"
        lines.append(line)
    filled = "\n".join(lines) + "\n"
    bare = [promise for promise in PROMISES if not found[promise]]
    absent = [promise for promise in PROMISES if promise not in rows]
    unknown = sorted(rows - set(PROMISES))
    twice = sorted(row for row in rows if sum(line.startswith(f"| {row} |") for line in lines) > 1)
    wrong = [f"no row in the page: {', '.join(absent)}"] if absent else []
    wrong += [f"not in LENGTHS: {', '.join(unknown)}"] if unknown else []
    wrong += [f"two rows: {', '.join(twice)}"] if twice else []
    wrong += [f"no test names: {', '.join(bare)}"] if bare else []
    if check and filled != page:
        wrong.append("the page is out of date; run docs/contract-table.py")
    if not check:
        PAGE.write_text(filled, encoding="utf-8")
    for told in wrong:
        print(f"docs/contract.md: {told}", file=sys.stderr)
    sys.exit(1 if check and wrong else 0)


main()
