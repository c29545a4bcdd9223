"""The table of AscendC names in docs/simulator.md: what the simulator has, how exact, and what shows it.

`api.toml` holds one line a name, for every name of `toolchains/ascendc_names.toml`: its state and its
evidence. "Exact" is only what a test compares, by its own word: the mark `@proves` (tests/support/proof.py),
which is read here from the text of the tests. The table also says which share of what kernels call is there,
by the two frequency tables of research/ascendc.md that `api.toml` repeats as data.

    python -m npu_worker.sim.table            compare: exit 1 and say what differs
    python -m npu_worker.sim.table --write    take names up that headers have gained, and write the table
"""

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import cast

from schema.errors import BadInput

HERE = Path(__file__).resolve().parent
NAMES = HERE.parent / "toolchains" / "ascendc_names.toml"
API = HERE / "api.toml"
INCLUDE = HERE / "include"
ROOT = HERE.parent.parent
DOCUMENT = ROOT / "docs" / "simulator.md"
EVIDENCE = ("integration", "kernels", "acceptance")
KINDS = ("functions", "types", "members", "macros", "headers")
BEGIN, END = "<!-- names: begin -->", "<!-- names: end -->"
UNTESTED = "no test uses it yet"
UNPROVEN = "computed as documented; no test compares it bit for bit yet"
NEW = "new: exactness not yet stated"
_TITLES = {
    "functions": "Functions",
    "types": "Types, structures and namespaces",
    "members": "Members of classes",
    "macros": "Macros",
    "headers": "Headers",
}
_USES = {
    "model": ("kernels written by models (1,840)", 0.95),
    "hand": ("kernels for 910B written by hand (2,715 files)", 0.80),
}


class State(StrEnum):
    """How the simulator has a name."""

    EXACT = "exact"
    APPROXIMATED = "approximated"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One name.

    Attributes:
        evidence: of an exact name a test that proves it; else a test's or test kernel's path below tests/ whose
            text has the name, or a document; "" if nothing yet.
        note: in what way it is approximated or limited.
    """

    kind: str
    name: str
    state: State
    evidence: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A test's word that it compares names with an independent computation.

    Attributes:
        test: path below tests/, `::`, function.
        kernel: the source that calls the names, a path below tests/kernels.
        forms: of "count", "mask" and "counter", those that are compared.
    """

    test: str
    kernel: str
    names: tuple[str, ...]
    forms: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """How much of one frequency table is there."""

    title: str
    names: int
    there: int
    uses: int
    covered: int
    wanted: float
    lacking: tuple[str, ...]

    @property
    def share(self) -> float:
        """Of the names."""
        return self.there / self.names if self.names else 1.0


def read(path: Path = API) -> tuple[Entry, ...]:
    """The entries of api.toml, by kind, in its order.

    Raises:
        BadInput: a line that is no entry.
    """
    table = tomllib.loads(path.read_text("utf-8"))
    found = []
    for kind in KINDS:
        for name, line in table.get(kind, {}).items():
            if (
                not isinstance(line, list)
                or not 1 <= len(line) <= 3
                or not all(isinstance(part, str) for part in line)
                or line[0] not in list(State)
            ):
                raise BadInput(
                    f"{kind}.{name} is no entry",
                    where=str(path),
                    mend='write NAME = ["exact" or "approximated" or "unsupported", "evidence", "note"]',
                )
            state, evidence, note = (*line, "", "")[:3]
            found.append(Entry(kind=kind, name=name, state=State(state), evidence=evidence, note=note))
    return tuple(found)


def named() -> dict[str, tuple[str, ...]]:
    """The names of the interface by kind."""
    table = tomllib.loads(NAMES.read_text("utf-8"))
    return {kind: tuple(dict.fromkeys(table[kind].split())) for kind in KINDS}


@cache
def header_code() -> str:
    """The simulator's headers without comments, strings and lines that only say "unsupported"."""
    lines = []
    for path in sorted(INCLUDE.rglob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text("utf-8"), flags=re.DOTALL)
        for line in text.splitlines():
            code = re.sub(r'"(?:\\.|[^"\\])*"', " ", line.partition("//")[0])
            if "::unsupported(" not in code:
                lines.append(code)
    return "\n".join(lines)


@cache
def header_words() -> frozenset[str]:
    """Every word of the headers' code."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", header_code()))


@cache
def header_calls() -> frozenset[str]:
    """What can be called: words before parentheses, and what macros define calls of (sizes for the host are none)."""
    code = header_code()
    called = re.findall(r"([A-Za-z_]\w*)\s*(?:<[^;{}()]*>)?\s*\(", code)
    made = re.findall(r"OPMEND_(?!(?:REDUCE_)?SIZES\b)\w+\((\w+)", code)
    return frozenset([*called, *made, "printf"])  # the C library's


def there(kind: str, name: str) -> bool:
    """Whether the simulator's headers have the name."""
    if kind == "headers":
        return (INCLUDE / name).is_file()
    return name in (header_calls() if kind == "functions" else header_words())


def evidence_of(kind: str, name: str) -> str:
    """The first test or test kernel whose text uses the name, as a path below tests/; "" if none does."""
    for path, text in _tests().items():
        if (name in text) if kind == "headers" else re.search(rf"(?<![\w#]){name}(?!\w)", text):
            return path
    return ""


@cache
def _tests() -> Mapping[str, str]:
    found = {}
    for directory in EVIDENCE:
        for path in sorted((ROOT / "tests" / directory).rglob("*")):
            simulated = path.suffix in (".cpp", ".h", ".asc") or (path.suffix == ".py" and "sim" in path.name)
            if simulated:
                found[str(path.relative_to(ROOT / "tests"))] = path.read_text("utf-8", errors="replace")
    # Kernels that are made to test calls say more than whole operators that happen to use them.
    return dict(
        sorted(
            found.items(), key=lambda item: (not item[0].startswith(("kernels/sim", "kernels/cube")), item[0])
        )
    )


@cache
def proofs() -> tuple[Proof, ...]:
    """What tests say that they prove, in the order of their files."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text("utf-8")
        if "@proves(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
                if (
                    isinstance(mark, ast.Call)
                    and isinstance(mark.func, ast.Name)
                    and mark.func.id == "proves"
                ):
                    kernel, names = (str(ast.literal_eval(argument)) for argument in mark.args)
                    forms = next((str(ast.literal_eval(word.value)) for word in mark.keywords), "")
                    found.append(
                        Proof(
                            test=f"{path.relative_to(ROOT / 'tests')}::{cast(ast.FunctionDef, node).name}",
                            kernel=kernel,
                            names=tuple(names.split()),
                            forms=frozenset(forms.split()),
                        )
                    )
    return tuple(found)


def proofs_of(name: str) -> tuple[Proof, ...]:
    """The proofs of a name."""
    return tuple(proof for proof in proofs() if name in proof.names)


@cache
def masked() -> frozenset[str]:
    """The calls that have a form with a mask and repeats, by the headers."""
    text = "\n".join(path.read_text("utf-8") for path in sorted(INCLUDE.rglob("*.h")))
    families = r"OPMEND_(?:BINARY|UNARY|SCALAR|REDUCE_PICK|WHOLE_PICK|GROUP|FUSED|COMPARE_SCALAR)\((\w+),?"
    return frozenset(re.findall(families, text)) | frozenset(
        re.findall(r"void ([A-Z]\w+)\((?=[^;{}]*\b(?:(?:uint64_t|int32_t) mask\b|MaskType))", text)
    )


def proven(entry: Entry) -> bool:
    """Whether tests prove the name, in its forms with a mask, too, where it has any."""
    forms = frozenset[str]().union(*(proof.forms for proof in proofs_of(entry.name)))
    wanted = {"mask"} if entry.kind == "functions" and entry.name in masked() else set()
    return bool(proofs_of(entry.name)) and wanted <= forms


def _proof_faults(entries: tuple[Entry, ...]) -> Iterator[str]:
    known = {entry.name for entry in entries}
    for proof in proofs():
        path = ROOT / "tests" / "kernels" / proof.kernel
        text = path.read_text("utf-8") if path.is_file() else ""
        for name in proof.names:
            if name not in known:
                yield f"{proof.test} proves {name}, which is no name of the interface"
            elif not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
                yield f"{proof.test} proves {name}, which kernels/{proof.kernel} does not call"
    for entry in entries:
        place = f"{entry.kind}.{entry.name}"
        if entry.state is State.EXACT and not proven(entry):
            part = " in its form with a mask" if proofs_of(entry.name) else ""
            yield f"{place} is exact, and no test proves it{part}: mark one by @proves, or call it approximated"
        elif (
            entry.state is State.APPROXIMATED
            and entry.note in ("", UNTESTED, UNPROVEN, NEW)
            and proven(entry)
        ):
            yield f"{place} is approximated, and {proofs_of(entry.name)[0].test} proves it: run with --write"


def taken_up(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The entries, with a line for each name of the interface; names that headers have gained are there."""
    known = {(entry.kind, entry.name): entry for entry in entries}
    result = []
    for kind, names in named().items():
        for name in names:
            entry = known.get((kind, name), Entry(kind=kind, name=name, state=State.UNSUPPORTED))
            if there(kind, name) and entry.state is State.UNSUPPORTED and not entry.note:
                entry = Entry(kind=kind, name=name, state=State.APPROXIMATED, note=NEW)
            elif not there(kind, name):
                entry = Entry(kind=kind, name=name, state=State.UNSUPPORTED, note=entry.note)
            if entry.state is not State.UNSUPPORTED and not _holds(entry):
                entry = replace(entry, evidence=evidence_of(kind, name))
            # Nothing is called exact that no test proves.
            open_note = entry.note in ("", UNTESTED, UNPROVEN, NEW) or entry.state is State.EXACT
            if entry.state is not State.UNSUPPORTED and open_note and proven(entry):
                test = proofs_of(name)[0].test
                note = entry.note if entry.state is State.EXACT else ""
                entry = replace(entry, state=State.EXACT, note=note, evidence=test)
            elif entry.state is not State.UNSUPPORTED and open_note:
                evidence = evidence_of(kind, name)
                note = UNPROVEN if evidence else UNTESTED
                entry = replace(entry, state=State.APPROXIMATED, note=note, evidence=evidence)
            result.append(entry)
    return tuple(result)


def _holds(entry: Entry) -> bool:
    """Whether an entry's evidence is there: a test that has the name or proves it, or a document."""
    if "::" in entry.evidence:
        return any(proof.test == entry.evidence for proof in proofs_of(entry.name))
    if entry.evidence.startswith(EVIDENCE):
        text = _tests().get(entry.evidence.partition("::")[0], "")
        return entry.name in text
    return bool(entry.evidence)


def faults(entries: tuple[Entry, ...]) -> Iterator[str]:
    """What is wrong with api.toml: names without a line, states that headers contradict, evidence that is not there."""
    known = {(entry.kind, entry.name): entry for entry in entries}
    for kind, names in named().items():
        for name in names:
            if (kind, name) not in known:
                yield f"{kind}.{name} has no line in api.toml"
    for entry in entries:
        place = f"{entry.kind}.{entry.name}"
        if entry.state is not State.UNSUPPORTED and not there(entry.kind, entry.name):
            yield f"{place} is {entry.state}, and no header has it"
        if entry.evidence and not _holds(entry):
            yield f"{place}: {entry.evidence} is not there, or does not have the name"
    yield from _proof_faults(entries)


def gained(entries: tuple[Entry, ...]) -> Iterator[str]:
    """Names that headers have and api.toml calls unsupported without a reason."""
    for entry in entries:
        if entry.state is State.UNSUPPORTED and not entry.note and there(entry.kind, entry.name):
            yield f"{entry.kind}.{entry.name} is in the headers and still called unsupported"


def coverage(entries: tuple[Entry, ...], path: Path = API) -> tuple[Coverage, ...]:
    """How much of each frequency table the simulator has."""
    table = tomllib.loads(path.read_text("utf-8"))["uses"]
    has = {entry.name for entry in entries if entry.state is not State.UNSUPPORTED}
    found = []
    for key, (title, wanted) in _USES.items():
        counts: dict[str, int] = table[key]
        lacking = tuple(name for name in counts if name not in has)
        found.append(
            Coverage(
                title=title,
                names=len(counts),
                there=len(counts) - len(lacking),
                uses=sum(counts.values()),
                covered=sum(counts.values()) - sum(counts[name] for name in lacking),
                wanted=wanted,
                lacking=lacking,
            )
        )
    return tuple(found)


def toml(entries: tuple[Entry, ...], path: Path = API) -> str:
    """api.toml's text with these entries; what stands before the first table and the frequency tables stay."""
    old = path.read_text("utf-8")
    own = re.search(rf"^\[({'|'.join(KINDS)})\]", old, re.MULTILINE)
    parts = [(old[: own.start()] if own else old).strip()]
    for kind in KINDS:
        lines = [f"[{kind}]"]
        for entry in entries:
            if entry.kind == kind:
                key = entry.name if re.fullmatch(r"[\w-]+", entry.name) else f'"{entry.name}"'
                values = [entry.state.value, entry.evidence, entry.note]
                while len(values) > 1 and not values[-1]:
                    values.pop()
                lines.append(f"{key} = [{', '.join(f'{chr(34)}{value}{chr(34)}' for value in values)}]")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def markdown(entries: tuple[Entry, ...]) -> str:
    """The part of docs/simulator.md between the two marks."""
    lines = [BEGIN, "", "| kernels | names there | uses covered | asked | lacking |", "|---|---|---|---|---|"]
    for one in coverage(entries):
        lines.append(
            f"| {one.title} | {one.there} of {one.names}, {one.share:.0%} | {one.covered / one.uses:.1%} | "
            f"≥ {one.wanted:.0%} of names | {', '.join(one.lacking) or '–'} |"
        )
    lines += [
        "",
        "| names | exact | approximated | unsupported | without evidence |",
        "|---|---|---|---|---|",
    ]
    for kind in KINDS:
        own = [entry for entry in entries if entry.kind == kind]
        counts = Counter(entry.state for entry in own)
        bare = sum(entry.state is not State.UNSUPPORTED and not entry.evidence for entry in own)
        lines.append(f"| {_TITLES[kind]} | {' | '.join(str(counts[state]) for state in State)} | {bare} |")
    for kind in KINDS:
        own = [entry for entry in entries if entry.kind == kind]
        lines += ["", f"### {_TITLES[kind]}", "", "| name | state | evidence | |", "|---|---|---|---|"]
        for entry in sorted(own, key=lambda one: one.name.lower()):
            if entry.state is not State.UNSUPPORTED or entry.note:
                lines.append(f"| `{entry.name}` | {entry.state} | {entry.evidence or '–'} | {entry.note} |")
        lacking = sorted(
            (one.name for one in own if one.state is State.UNSUPPORTED and not one.note), key=str.lower
        )
        if lacking:
            lines += ["", f"Unsupported: {', '.join(f'`{name}`' for name in lacking)}."]
    return "\n".join([*lines, "", END])


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m npu_worker.sim.table", description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help="take up new names and write api.toml and the document"
    )
    asked = parser.parse_args(arguments)
    entries = read()
    if asked.write:
        entries = taken_up(entries)
        API.write_text(toml(entries), "utf-8")
        DOCUMENT.write_text(_written(entries), "utf-8")
    wrong = [*faults(entries), *gained(entries)]
    if _written(entries) != DOCUMENT.read_text("utf-8"):
        wrong.append(f"{DOCUMENT.name} is not what api.toml says: run with --write")
    for line in wrong:
        sys.stderr.write(f"{line}\n")
    for one in coverage(entries):
        share = one.covered / one.uses
        sys.stdout.write(f"{one.title}: {one.there} of {one.names} names, {share:.1%} of uses\n")
    return 1 if wrong else 0


def _written(entries: tuple[Entry, ...]) -> str:
    text = DOCUMENT.read_text("utf-8")
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise BadInput(
            "the marks of the table are gone", where=str(DOCUMENT), mend=f"put {BEGIN} and {END} back"
        )
    return before + markdown(entries) + after


if __name__ == "__main__":
    sys.exit(main())
