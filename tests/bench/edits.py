"""Programs with edits whose truth is known: where each new line comes from, and what became of it.

Everything is drawn from a seed. The programs are long and repetitive, as kernels are: few names, many braces and
blank lines, the same statements again and again.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from schema.diff import Change

Place = tuple[str, int]  # path, index

_NAMES = ("xLocal", "yLocal", "zLocal", "tmpLocal", "sumLocal", "maskLocal")
_GLOBALS = ("xGm", "yGm", "zGm", "weightGm", "biasGm")
_COUNTS = ("tileLength", "blockLength", "tail", "rows", "columns", "alignedLength")
_CALLS = ("Add", "Sub", "Mul", "Max", "Min", "Div")
_ONES = ("Exp", "Abs", "Sqrt", "Relu", "Ln")


@dataclass(kw_only=True)
class Line:
    """A line in the making: its text, where it was at first (None: nowhere), and what was done to it."""

    text: str
    origin: Place | None = None
    moved: bool = False
    edited: bool = False
    in_unequal: bool = False


@dataclass(frozen=True, kw_only=True)
class Edited:
    """Files before and after.

    Attributes:
        origins: each new line's old line; lines that are new are not in it.
        changes: what became of each new line; a moved and edited one is modified.
        in_unequal: modified new lines whose stretch has other lines before than after.
    """

    old: Mapping[str, Sequence[str]]
    new: Mapping[str, Sequence[str]]
    origins: Mapping[Place, Place]
    changes: Mapping[Place, Change]
    in_unequal: frozenset[Place]


@dataclass(kw_only=True)
class Draft:
    """Files that are being edited."""

    chosen: random.Random
    files: dict[str, list[Line]]
    old: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path, lines in self.files.items():
            self.old[path] = [line.text for line in lines]
            for index, line in enumerate(lines):
                line.origin = (path, index)

    def done(self) -> Edited:
        """Number the new lines and tell the truth of each."""
        origins: dict[Place, Place] = {}
        changes: dict[Place, Change] = {}
        unequal: set[Place] = set()
        for path, lines in self.files.items():
            for index, line in enumerate(lines):
                place = (path, index)
                if line.origin is None:
                    changes[place] = Change.INSERTED
                    continue
                origins[place] = line.origin
                if line.edited:
                    changes[place] = Change.MODIFIED
                else:
                    changes[place] = Change.MOVED if line.moved else Change.EQUAL
                if line.in_unequal:
                    unequal.add(place)
        return Edited(
            old=self.old,
            new={path: [line.text for line in lines] for path, lines in self.files.items()},
            origins=origins,
            changes=changes,
            in_unequal=frozenset(unequal),
        )


def statement(chosen: random.Random, depth: int) -> str:
    """One statement of a kernel; many come again word for word."""
    pad = "    " * depth
    one, other, third = (chosen.choice(_NAMES) for _ in range(3))
    count = chosen.choice(_COUNTS)
    forms = (
        f"DataCopy({one}, {chosen.choice(_GLOBALS)}[offset], {count});",
        f"{chosen.choice(_CALLS)}({one}, {other}, {third}, {count});",
        f"{chosen.choice(_ONES)}({one}, {other}, {count});",
        f"LocalTensor<T> {one} = inQueue{chosen.choice('XYZ')}.AllocTensor<T>();",
        f"outQueue{chosen.choice('XYZ')}.EnQue({one});",
        f"offset += {count};",
        "PipeBarrier<PIPE_V>();",
        "PipeBarrier<PIPE_ALL>();",
        f"uint32_t {count} = this->{chosen.choice(_COUNTS)} / {chosen.choice((2, 4, 8, 16, 32))};",
        "return;",
        "",
    )
    text = chosen.choice(forms)
    return f"{pad}{text}\n" if text else "\n"


def function(chosen: random.Random, number: int, lines: int) -> list[str]:
    """A C++ function of about so many lines, a blank line after it."""
    body = [
        f"    __aicore__ inline void {chosen.choice(('Copy', 'Compute', 'Reduce'))}{number}(uint32_t tail)\n",
        "    {\n",
    ]
    depth = 2
    while len(body) < lines:
        dice = chosen.random()
        if dice < 0.08 and depth < 5:
            body.append(
                "    " * depth
                + chosen.choice(("for (uint32_t i = 0; i < tail; ++i) {\n", "if (tail == 0) {\n", "{\n"))
            )
            depth += 1
        elif dice < 0.18 and depth > 2:
            depth -= 1
            body.append("    " * depth + "}\n")
        else:
            body.append(statement(chosen, depth))
    while depth > 2:
        depth -= 1
        body.append("    " * depth + "}\n")
    return [*body, "    }\n", "\n"]


def cpp_program(chosen: random.Random, lines: int) -> list[str]:
    """A C++ kernel of that many lines."""
    program = ['#include "kernel_operator.h"\n', "using namespace AscendC;\n", "\n", "class Kernel {\n"]
    number = 0
    while lines - len(program) > 50:
        number += 1
        program += function(chosen, number, chosen.randrange(8, 40))
    program += ["    // The end.\n"] * (lines - 1 - len(program))
    return [*program, "};\n"]


def python_program(chosen: random.Random, lines: int) -> list[str]:
    """A Python module of that many lines: indentation instead of braces."""
    program = ["import torch\n", "\n", "\n"]
    number = 0
    while len(program) < lines:
        number += 1
        program.append(f"def {chosen.choice(('load', 'reduce', 'scale'))}_{number}(x, rows, columns):\n")
        depth = 1
        for _ in range(chosen.randrange(6, 30)):
            pad = "    " * depth
            dice = chosen.random()
            if dice < 0.1 and depth < 4:
                program.append(pad + chosen.choice(("for i in range(rows):\n", "if x is None:\n", "else:\n")))
                depth += 1
                continue
            if dice < 0.25 and depth > 1:
                depth -= 1
            left, right = (
                chosen.choice(("x", "y", "total", "mask")),
                chosen.choice(("x", "y", "total", "mask")),
            )
            program.append(
                pad
                + chosen.choice(
                    (
                        f"{left} = {right}.reshape(rows, columns)\n",
                        f"{left} = torch.{chosen.choice(('exp', 'abs', 'relu', 'sqrt'))}({right})\n",
                        f"{left} += {right} * {chosen.choice((2, 4, 8))}\n",
                        f"return {left}\n",
                        "continue\n",
                        "pass\n",
                    )
                )
            )
        program += ["\n", "\n"]
    return program[:lines]


def repeated(chosen: random.Random, lines: int) -> list[str]:
    """Highly repetitive: a handful of lines over and over, with hardly a unique one."""
    block = [statement(chosen, 2) for _ in range(6)] + ["        }\n", "\n"]
    return [chosen.choice(block) for _ in range(lines)]


def reworded(chosen: random.Random, text: str) -> str:
    """A line with a small edit, as a repair makes them."""
    body = text.rstrip("\n")
    stripped = body.strip()
    forms = []
    if not stripped.endswith(";"):
        counts: tuple[str, ...] = ()
    else:
        counts = _COUNTS
    for count in counts:
        head, found, tail = body.rpartition(count)
        if found and not head.endswith("uint32_t "):
            forms.append(f"{head}{count} + {chosen.randrange(1, 64)}{tail}")
    if "DataCopy(" in body:
        forms.append(body.replace("DataCopy(", "DataCopyPad(", 1))
    if "PIPE_V" in body:
        forms.append(body.replace("PIPE_V", "PIPE_MTE2", 1))
    for word in ("rows", "torch.", "total"):
        if word in body:
            forms.append(body.replace(word, f"{word}{chosen.choice('abc')}", 1))
    if "(" in body and "()" not in body and "this->" not in body and counts:
        forms.append(body.replace("(", "(this->", 1))
    if stripped.endswith(";"):
        forms.append(f"{body}  // {chosen.choice(('aligned', 'tail', 'in fp32', 'barrier'))}")
    return chosen.choice(forms) + "\n" if forms else text


def scattered(
    seed: int, *, lines: int = 5_000, edits: int = 200, program: str = "cpp", seen: float = 0
) -> Edited:
    """Edits all over one file: small ones, insertions, deletions, unequal replacements, moved blocks.

    Args:
        seed: same seed, same edits.
        lines: length of the old file.
        edits: how many; one place is edited once.
        program: cpp, python or repeated.
        seen: the share of the inserted lines that are statements as there are many: which of two like ones is the new
            one, nobody can know.
    """
    chosen = random.Random(seed)
    make = {"cpp": cpp_program, "python": python_program, "repeated": repeated}[program]
    draft = Draft(chosen=chosen, files={"kernel": [Line(text=text) for text in make(chosen, lines)]})
    file = draft.files["kernel"]
    # One edit a slot, so that none touches another; a slot also receives what another one sends away.
    slot = lines // edits
    starts = [number * slot + chosen.randrange(1, max(2, slot // 3)) for number in range(edits)]
    kinds = chosen.choices(
        ("edit", "insert", "delete", "replace", "move"), weights=(30, 22, 14, 28, 6), k=edits
    )
    hunks: list[tuple[int, int, list[Line]]] = []
    for start, kind in zip(starts, kinds, strict=True):
        match kind:
            case "edit":
                count = chosen.randrange(1, 4)
                hunks.append((start, count, _edited(chosen, file[start : start + count])))
            case "insert":
                hunks.append(
                    (start, 0, [Line(text=_novel(chosen, seen)) for _ in range(chosen.randrange(1, 7))])
                )
            case "delete":
                hunks.append((start, chosen.randrange(1, 7), []))
            case "replace":
                hunks.append(_replaced(chosen, file, start, seen))
            case _:
                count = chosen.randrange(3, 16)
                block = file[start : start + count]
                for line in block:
                    line.moved = True
                hunks.append((start, count, []))
                far = (start // slot + chosen.randrange(edits // 4, edits // 2)) % edits
                hunks.append((min(far * slot + slot - 2, lines - 1), 0, block))
    for start, count, fresh in sorted(hunks, key=lambda hunk: -hunk[0]):
        file[start : start + count] = fresh
    return draft.done()


def _novel(chosen: random.Random, seen: float) -> str:
    """A line that an insertion brings."""
    if chosen.random() < seen:
        return statement(chosen, 2)
    number = chosen.randrange(10**4)
    forms = (
        f"ReduceSum({chosen.choice(_NAMES)}, work{number}, repeat, {chosen.randrange(256)});",
        f"// The part of block {number} that is not aligned goes through a buffer of its own.",
        f"if (GetBlockIdx() == {number}) {{ padding.rightPadding = {chosen.randrange(32)}; }}",
        f"const float scale{number} = {chosen.random():.6f};",
        f"event{number} = static_cast<int32_t>(pipe.FetchEventID(HardEvent::MTE2_V));",
    )
    return f"        {chosen.choice(forms)}\n"


def _edited(chosen: random.Random, lines: Sequence[Line]) -> list[Line]:
    result = list(lines)
    for line in result:
        text = reworded(chosen, line.text)
        line.edited, line.text = text != line.text, text
    return result


def _replaced(
    chosen: random.Random, file: list[Line], start: int, seen: float
) -> tuple[int, int, list[Line]]:
    """Some lines edited, others inserted between them or left out: other lines before than after."""
    count = chosen.randrange(1, 6)
    kept: list[Line] = []
    for line in file[start : start + count]:
        if kept and chosen.random() < 0.2:
            continue
        text = reworded(chosen, line.text)
        line.edited = line.in_unequal = text != line.text
        line.text = text
        kept.append(line)
    for _ in range(chosen.randrange(1, 5) + (count - len(kept))):
        kept.insert(chosen.randrange(len(kept) + 1), Line(text=_novel(chosen, seen)))
    return start, count, kept


def hard_cases(seed: int) -> Iterator[tuple[str, Edited]]:
    """What people do to programs, one case each: indent, wrap, swap, move and edit, extract to a file, copy."""
    for name, make in (("C++", cpp_program), ("Python", python_program)):
        chosen = random.Random(f"{seed}/{name}")
        yield f"{name}: a block is indented under a new condition", _indented(chosen, make(chosen, 600))
    chosen = random.Random(f"{seed}/functions")
    yield "two functions are swapped", _swapped(chosen)
    yield "a function moves to another file and is edited there", _extracted(chosen)
    yield "a function is copied and the copy edited", _copied(chosen)
    yield "braces and blank lines around every edit", _braces(chosen)
    yield "all lines change their terminator", _terminators(chosen)


def _indented(chosen: random.Random, lines: list[str]) -> Edited:
    draft = Draft(chosen=chosen, files={"f": [Line(text=text) for text in lines]})
    file = draft.files["f"]
    for start in range(500, 20, -120):
        block = file[start : start + 40]
        for line in block:
            if line.text.strip():
                line.text = "    " + line.text
                line.edited = True
        file[start : start + 40] = [
            Line(text=f"    if (tail != {start}) {{\n"),
            *block,
            Line(text=f"    }}  // {start}\n"),
        ]
    return draft.done()


def _functions(chosen: random.Random, count: int) -> list[list[Line]]:
    return [
        [Line(text=text) for text in function(chosen, number, chosen.randrange(8, 30))]
        for number in range(count)
    ]


def _swapped(chosen: random.Random) -> Edited:
    parts = _functions(chosen, 20)
    draft = Draft(chosen=chosen, files={"f": [line for part in parts for line in part]})
    one, other = sorted((parts[4], parts[15]), key=len)
    # Either may be told as the one that moved; less is moved when the shorter one is.
    parts[4], parts[15] = parts[15], parts[4]
    for line in (*one, *other):
        line.moved = True
    draft.files["f"] = [line for part in parts for line in part]
    return draft.done()


def _extracted(chosen: random.Random) -> Edited:
    parts, others = _functions(chosen, 20), _functions(chosen, 5)
    draft = Draft(
        chosen=chosen,
        files={
            "one.cpp": [line for part in parts for line in part],
            "other.h": [line for part in others for line in part],
        },
    )
    for number in (12, 5):
        part = parts.pop(number)
        for line in part:
            line.moved = True
        telling = [line for line in part[2:-2] if len(line.text.strip()) > 12]
        for line in chosen.sample(telling, min(3, len(telling))):
            line.text = reworded(chosen, line.text)
            line.edited = True
        others.insert(chosen.randrange(len(others)), part)
    draft.files["one.cpp"] = [line for part in parts for line in part]
    draft.files["other.h"] = [line for part in others for line in part]
    return draft.done()


def _copied(chosen: random.Random) -> Edited:
    parts = _functions(chosen, 20)
    draft = Draft(chosen=chosen, files={"f": [line for part in parts for line in part]})
    copy = [Line(text=line.text) for line in parts[7]]
    copy[0].text = copy[0].text.replace("(", "Tail(", 1)
    parts.insert(11, copy)
    draft.files["f"] = [line for part in parts for line in part]
    return draft.done()


def _braces(chosen: random.Random) -> Edited:
    lines = []
    for number in range(120):
        lines += ["    {\n", f"        {chosen.choice(_CALLS)}(a{number}, b, c);\n", "    }\n", "\n"]
    draft = Draft(chosen=chosen, files={"f": [Line(text=text) for text in lines]})
    file = draft.files["f"]
    for number in range(110, 5, -7):
        start = 4 * number
        if number % 2:
            file[start:start] = [
                Line(text=text)
                for text in ("    {\n", f"        Duplicate(d{number}, zero);\n", "    }\n", "\n")
            ]
        else:
            del file[start : start + 4]
    return draft.done()


def _terminators(chosen: random.Random) -> Edited:
    draft = Draft(chosen=chosen, files={"f": [Line(text=text) for text in cpp_program(chosen, 1_500)]})
    for line in draft.files["f"]:
        line.text = line.text.replace("\n", "\r\n")
        line.edited = True
    return draft.done()
