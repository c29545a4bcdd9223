"""Cases of an operator: what one call of the reference and of the candidate receives.

Two forms are read and written: `cases.toml`, compact, ours, and the JSON Lines that NPUKernelBench ships
(one case a line, research/npukernelbench.md). A case holds facts alone (dtypes, shapes, attributes): values
are made from a seed when a validation runs.
"""

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from schema.errors import CaseFileError
from schema.results import Record

DTYPE_BYTES: Mapping[str, int] = {
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "bool": 1,
}
"""Every dtype that a tensor input may have, as torch names it, and its size in bytes."""

INTEGER_LIMITS: Mapping[str, tuple[int, int]] = {
    "int8": (-(1 << 7), (1 << 7) - 1),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "uint8": (0, 255),
    "bool": (0, 1),
}
"""Smallest and largest value of each dtype that is no float."""

MOST_CASES = 100_000
MOST_DIMENSIONS = 16
MOST_ELEMENTS = 1 << 40

_ALIASES = {
    "half": "float16",
    "fp16": "float16",
    "bf16": "bfloat16",
    "float": "float32",
    "fp32": "float32",
    "double": "float64",
    "fp64": "float64",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "byte": "uint8",
}
_NUMBER = r"[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
_TENSOR_CELL = re.compile(
    rf"\s*([A-Za-z_][\w.]*)\s*\[([\d,\s]*)\]\s*(?:in\s+({_NUMBER})\s*\.\.\s*({_NUMBER})\s*)?", re.ASCII
)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LEFT_OUT = "-"


class TensorInput(Record):
    """A tensor argument.

    Attributes:
        dtype: a key of `DTYPE_BYTES`.
        shape: empty for a tensor of rank 0.
        range: smallest and largest value, both inclusive; None leaves the distribution to operator.toml.
    """

    kind: Literal["tensor"] = "tensor"
    name: str
    dtype: str
    shape: tuple[int, ...]
    range: tuple[int | float, int | float] | None = None

    @property
    def elements(self) -> int:
        """The product of the shape; 1 for rank 0."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """The size of the contiguous tensor."""
        return self.elements * DTYPE_BYTES[self.dtype]


class AttributeInput(Record):
    """A plain Python value: int, float, bool, str, or a (nested) list of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    kind: Literal["attr"] = "attr"
    name: str
    dtype: str
    value: Any


class AbsentInput(Record):
    """An optional argument that this case leaves out; the operator receives None."""

    kind: Literal["none"] = "none"
    name: str


Input = Annotated[TensorInput | AttributeInput | AbsentInput, Field(discriminator="kind")]


class Case(Record):
    """One case; its inputs in the order in which `forward` takes them."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    inputs: tuple[Input, ...]

    @property
    def tensors(self) -> tuple[TensorInput, ...]:
        """The tensor inputs, in order."""
        return tuple(entry for entry in self.inputs if isinstance(entry, TensorInput))

    @property
    def attributes(self) -> tuple[AttributeInput, ...]:
        """The attributes, in order."""
        return tuple(entry for entry in self.inputs if isinstance(entry, AttributeInput))

    @property
    def elements(self) -> int:
        """Input elements plus an estimate of the output elements: what the size limit of a cohort looks at.

        The estimate is the broadcast shape of all tensors, or the largest tensor where they don't broadcast.
        It depends on the case alone, so that a frozen cohort means the same on every machine.
        """
        shapes = [tensor.shape for tensor in self.tensors]
        joined = broadcast_shape(shapes)
        largest = max((math.prod(shape) for shape in shapes), default=0)
        return sum(math.prod(shape) for shape in shapes) + (largest if joined is None else math.prod(joined))

    @property
    def name(self) -> str:
        """A short text that identifies the case to people, for example "float16[128,128] dim=1"."""
        parts: list[str] = []
        counts: list[int] = []
        for tensor in self.tensors:
            text = f"{tensor.dtype}[{','.join(map(str, tensor.shape))}]"
            if parts and parts[-1] == text:
                counts[-1] += 1
            else:
                parts.append(text)
                counts.append(1)
        words = [text if count == 1 else f"{count}×{text}" for text, count in zip(parts, counts, strict=True)]
        words += [f"{entry.name}={_value_text(entry.value)}" for entry in self.attributes]
        line = " ".join(words) or "no inputs"
        return line if len(line) <= 160 else line[:159] + "…"


def broadcast_shape(shapes: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """The shape that all shapes broadcast to under NumPy's rule; None if they don't or there are none."""
    if not shapes:
        return None
    joined: list[int] = []
    for place in range(1, max(map(len, shapes)) + 1):
        sizes = {shape[-place] for shape in shapes if len(shape) >= place} - {1}
        if len(sizes) > 1:
            return None
        joined.append(sizes.pop() if sizes else 1)
    return tuple(reversed(joined))


def align_inputs(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Give every case the same inputs in the same order; what a case does not list becomes an `AbsentInput`.

    Upstream files drop an optional input from the cases that leave it out, which would shift the positions of
    those after it. A new name takes its place behind the name that comes before it in its own case.
    """
    order: list[str] = []
    for case in cases:
        place = 0
        for entry in case.inputs:
            if entry.name in order:
                place = order.index(entry.name) + 1
            else:
                order.insert(place, entry.name)
                place += 1
    aligned = []
    for case in cases:
        mine = {entry.name: entry for entry in case.inputs}
        aligned.append(Case(inputs=tuple(mine.get(name, AbsentInput(name=name)) for name in order)))
    return tuple(aligned)


def canonical_dtype(text: str) -> str | None:
    """The torch name of a dtype, from torch.float16, fp16, half, ...; None if it is no input dtype."""
    plain = text.removeprefix("torch.").lower()
    plain = _ALIASES.get(plain, plain)
    return plain if plain in DTYPE_BYTES else None


def parse_json_lines(text: str, path: str) -> tuple[Case, ...]:
    """Read NPUKernelBench's form: one JSON object a line, `{"inputs": [...]}`; blank lines are skipped.

    Raises:
        CaseFileError: naming `path` and the line.
    """
    cases: list[Case] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            record = json.loads(line)
            if "\\u" in line:
                json.dumps(record, ensure_ascii=False).encode()  # half a surrogate pair is no text
        except json.JSONDecodeError as error:
            raise CaseFileError(
                f"broken JSON: {error.msg} (column {error.colno})",
                where=where,
                mend='write one whole case a line, {"inputs": [...]}',
            ) from error
        except (RecursionError, ValueError) as error:
            raise CaseFileError(f"unreadable JSON: {error}", where=where, mend="simplify the case") from error
        if not isinstance(record, dict) or not isinstance(record.get("inputs"), list):
            raise CaseFileError(
                'a case must be an object with a list "inputs"', where=where, mend='write {"inputs": [...]}'
            )
        cases.append(_case([_input_from_json(entry, where) for entry in record["inputs"]], where))
        _bound(cases, where)
    if not cases:
        raise CaseFileError("no cases", where=path, mend="write at least one case a line")
    return align_inputs(cases)


def format_json_lines(cases: Sequence[Case]) -> str:
    """Write cases in NPUKernelBench's form; `parse_json_lines` reads the same cases back."""
    lines = []
    for case in cases:
        records: list[dict[str, Any]] = []
        for entry in case.inputs:
            match entry:
                case TensorInput():
                    record = {"name": entry.name, "type": "tensor", "required": True, "dtype": entry.dtype}
                    record["shape"] = list(entry.shape)
                    if entry.range is not None:
                        record["range"] = list(entry.range)
                case AttributeInput():
                    record = {"name": entry.name, "type": "attr", "required": True, "dtype": entry.dtype}
                    record["value"] = entry.value
                case AbsentInput():
                    record = {"name": entry.name, "type": "none", "required": False}
            records.append(record)
        lines.append(json.dumps({"inputs": records}, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def _input_from_json(entry: Any, where: str) -> TensorInput | AttributeInput | AbsentInput:
    if not isinstance(entry, dict):
        raise CaseFileError(
            "an input must be an object", where=where, mend='write {"name": ..., "type": ...}'
        )
    name = entry.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise CaseFileError(
            f"an input has no usable name ({name!r})", where=where, mend="name it as forward does"
        )
    kind = entry.get("type")
    if kind == "none":
        return AbsentInput(name=name)
    if kind == "attr":
        if "value" not in entry:
            raise CaseFileError(f"attribute {name} has no value", where=where, mend='add "value"')
        return _attribute(name, entry.get("dtype"), entry["value"], where)
    if kind == "tensor":
        shape = entry.get("shape")
        if shape is None and entry.get("required") is False:
            return AbsentInput(name=name)
        if not isinstance(shape, list):
            raise CaseFileError(f"tensor {name} has no shape", where=where, mend='add "shape": [sizes]')
        limits = entry.get("range")
        if limits is not None and (not isinstance(limits, list) or len(limits) != 2):
            raise CaseFileError(f"range of {name} is no pair", where=where, mend='write "range": [low, high]')
        return _tensor(name, entry.get("dtype"), shape, limits, where)
    raise CaseFileError(
        f"input {name} has type {kind!r}",
        where=where,
        mend='use "tensor", "attr" or "none" (a list of tensors is open)',
    )


def parse_cases_toml(text: str, path: str) -> tuple[Case, ...]:
    """Read our compact form: `inputs` names the columns, `cases` has one row a case.

    A tensor's cell is "float16[128,64]" or "int64[32] in 0..999" (both ends inclusive); an attribute's cell is
    the value itself; "-" leaves an optional input out. An attribute whose value is the text "-" is {value = "-"}.

    Raises:
        CaseFileError: naming `path` and the line.
    """
    return read_cases_toml(text, path)[0]


def read_cases_toml(text: str, path: str) -> tuple[tuple[Case, ...], str]:
    """`parse_cases_toml` with the file's `source` (empty if it has none)."""
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        plain = re.sub(r"\s*\(at .*\)$", "", str(error))
        raise CaseFileError(
            f"broken TOML: {plain}", where=f"{path}:{line}", mend="see cohorts/ for files of this form"
        ) from error
    unknown = set(table) - {"source", "inputs", "cases"}
    if unknown:
        raise CaseFileError(
            f"unknown key {min(unknown)!r}",
            where=f"{path}:{_line_of_key(text, min(unknown))}",
            mend="a case file has source, inputs and cases",
        )
    source = table.get("source", "")
    if not isinstance(source, str):
        raise CaseFileError(
            "source is no text", where=f"{path}:{_line_of_key(text, 'source')}", mend="quote it"
        )
    columns = _columns(table.get("inputs"), f"{path}:{_line_of_key(text, 'inputs')}")
    rows = table.get("cases")
    if not isinstance(rows, list) or not rows:
        raise CaseFileError(
            "no cases",
            where=f"{path}:{_line_of_key(text, 'cases')}",
            mend="write cases = [ [cell, ...], ... ]",
        )
    lines = list(_row_lines(text))
    cases: list[Case] = []
    for index, row in enumerate(rows):
        where = f"{path}:{lines[index] if index < len(lines) else 1}"
        if not isinstance(row, list) or len(row) != len(columns):
            size = len(row) if isinstance(row, list) else 1
            raise CaseFileError(
                f"case {index} has {size} cells for {len(columns)} inputs",
                where=where,
                mend='write "-" for a left-out one',
            )
        entries = [_input_from_cell(column, cell, where) for column, cell in zip(columns, row, strict=True)]
        cases.append(_case(entries, where))
        _bound(cases, where)
    return tuple(cases), source


def format_cases_toml(cases: Sequence[Case], *, source: str = "") -> str:
    """Write cases in our compact form; `parse_cases_toml` reads `align_inputs(cases)` back.

    Raises:
        CaseFileError: an input is a tensor in one case and an attribute in another.
    """
    cases = align_inputs(cases)
    columns: dict[str, tuple[str, str]] = {}
    for case in cases:
        for entry in case.inputs:
            now = columns.setdefault(entry.name, ("", ""))
            if isinstance(entry, AbsentInput):
                continue
            fact = ("tensor", "") if isinstance(entry, TensorInput) else ("attr", entry.dtype)
            if now[0] not in ("", fact[0]):
                raise CaseFileError(
                    f"{entry.name} is a tensor here and an attribute there", mend="split the cases"
                )
            # One dtype a column; where attributes vary, it is left out and read off each value again.
            columns[entry.name] = fact if now in (("", ""), fact) else (fact[0], "any")
    head = [f"source = {_toml(source)}"] if source else []
    head.append("inputs = [")
    for name, (kind, dtype) in columns.items():
        extra = f", dtype = {_toml(dtype)}" if dtype not in ("", "any") else ""
        head.append(f"  {{name = {_toml(name)}, kind = {_toml(kind or 'tensor')}{extra}}},")
    head += ["]", "cases = ["]
    body = [f"  [{', '.join(_cell(entry) for entry in case.inputs)}]," for case in cases]
    return "\n".join([*head, *body, "]"]) + "\n"


def _columns(found: Any, where: str) -> list[dict[str, str]]:
    if not isinstance(found, list) or not all(isinstance(column, dict) for column in found):
        raise CaseFileError(
            "inputs is missing or no list of tables",
            where=where,
            mend='write inputs = [{name="x", kind="tensor"}, ...]',
        )
    for column in found:
        name, kind = column.get("name"), column.get("kind")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise CaseFileError(
                f"an input has no usable name ({name!r})", where=where, mend="name it as forward does"
            )
        if kind not in ("tensor", "attr"):
            raise CaseFileError(f"input {name} has kind {kind!r}", where=where, mend='use "tensor" or "attr"')
        if set(column) - {"name", "kind", "dtype"} or not isinstance(column.get("dtype", ""), str):
            raise CaseFileError(
                f"input {name} has an unknown key", where=where, mend="use name, kind and dtype"
            )
    names = [column["name"] for column in found]
    if len(set(names)) < len(names):
        raise CaseFileError("two inputs share a name", where=where, mend="give each input its own name")
    return found


def _input_from_cell(
    column: dict[str, str], cell: Any, where: str
) -> TensorInput | AttributeInput | AbsentInput:
    name = column["name"]
    if cell == _LEFT_OUT:
        return AbsentInput(name=name)
    if column["kind"] == "attr":
        if isinstance(cell, dict):
            if set(cell) != {"value"}:
                raise CaseFileError(f"attribute {name} is a table", where=where, mend="write {value = ...}")
            cell = cell["value"]
        return _attribute(name, column.get("dtype"), cell, where)
    found = _TENSOR_CELL.fullmatch(cell) if isinstance(cell, str) else None
    if not found:
        raise CaseFileError(
            f"cell {cell!r} of {name} is no tensor",
            where=where,
            mend='write "float16[128,64]" or "int64[32] in 0..9"',
        )
    dtype, sizes, low, high = found.groups()
    shape = [size.strip() for size in sizes.split(",")] if sizes.strip() else []
    if not all(shape):
        raise CaseFileError(f"cell {cell!r} of {name} has an empty size", where=where, mend="write [128,64]")
    limits = None if low is None else [_number(low), _number(high)]
    return _tensor(name, column.get("dtype") or dtype, [int(size) for size in shape], limits, where)


def _row_lines(text: str) -> Iterator[int]:
    """The line on which each row of `cases` starts: tomllib keeps no positions."""
    start = re.search(r"^[ \t]*[\"']?cases[\"']?[ \t]*=", text, re.MULTILINE)
    if not start:
        return
    depth = 0
    token = re.compile(r"#[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|[\[\]]")
    for found in token.finditer(text, start.end()):
        if found[0] == "[":
            depth += 1
            if depth == 2:
                yield text.count("\n", 0, found.start()) + 1
        elif found[0] == "]":
            depth -= 1
            if depth == 0:
                return


def _line_of_key(text: str, key: str) -> int:
    found = re.search(rf"^[ \t]*\[*[ \t]*[\"']?{re.escape(key)}\b", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _cell(entry: TensorInput | AttributeInput | AbsentInput) -> str:
    match entry:
        case TensorInput():
            text = f"{entry.dtype}[{','.join(map(str, entry.shape))}]"
            if entry.range is not None:
                text += f" in {_range_end(entry.range[0])}..{_range_end(entry.range[1])}"
            return _toml(text)
        case AttributeInput(value="-"):
            return '{value = "-"}'
        case AttributeInput():
            return _toml(entry.value)
        case AbsentInput():
            return _toml(_LEFT_OUT)


def _range_end(value: float) -> str:
    return repr(value)


def _toml(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float() if math.isnan(value):
            return "nan"
        case float():
            return repr(value)
        case int():
            return str(value)
        case str():
            # JSON's escapes are TOML's too, but TOML knows no surrogate pairs and wants DEL escaped.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
        case list() | tuple():
            return "[" + ", ".join(_toml(item) for item in value) + "]"
    raise CaseFileError(
        f"a {type(value).__name__} has no place in a case file", mend="use numbers, text and lists"
    )


def _tensor(
    name: str, dtype: Any, shape: Sequence[Any], limits: Sequence[Any] | None, where: str
) -> TensorInput:
    canonical = canonical_dtype(dtype) if isinstance(dtype, str) else None
    if canonical is None:
        raise CaseFileError(
            f"tensor {name} has dtype {dtype!r}", where=where, mend=f"use one of {', '.join(DTYPE_BYTES)}"
        )
    if not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in shape):
        raise CaseFileError(
            f"shape of {name} is {list(shape)!r}", where=where, mend="use whole sizes from 0 up"
        )
    if len(shape) > MOST_DIMENSIONS or math.prod(shape) > MOST_ELEMENTS:
        raise CaseFileError(
            f"tensor {name} is too large ({len(shape)} dimensions, {math.prod(shape)} elements)",
            where=where,
            mend=f"at most {MOST_DIMENSIONS} dimensions and {MOST_ELEMENTS} elements",
        )
    pair = None
    if limits is not None:
        low, high = limits
        if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high)):
            raise CaseFileError(f"range of {name} is {list(limits)!r}", where=where, mend="use two numbers")
        if not low <= high or not all(math.isfinite(end) for end in (low, high)):
            raise CaseFileError(
                f"range of {name} is empty: {low}..{high}", where=where, mend="write low..high"
            )
        if canonical.startswith(("int", "uint")) and not all(float(end).is_integer() for end in (low, high)):
            raise CaseFileError(
                f"range of {name} is not whole: {low}..{high}", where=where, mend="use whole ends"
            )
        pair = (low, high)
    return TensorInput(name=name, dtype=canonical, shape=tuple(shape), range=pair)


def _attribute(name: str, dtype: Any, value: Any, where: str) -> AttributeInput | AbsentInput:
    if value is None:
        return AbsentInput(name=name)
    _plain(name, value, where)
    natural = {bool: "bool", int: "int", float: "float", str: "str", list: "list"}[type(value)]
    if dtype is None or dtype == "":
        return AttributeInput(name=name, dtype=natural, value=value)
    if not isinstance(dtype, str):
        raise CaseFileError(
            f"attribute {name} has dtype {dtype!r}", where=where, mend="use int, float, bool, str, list"
        )
    plain = dtype.removeprefix("torch.").lower()
    wanted = "list" if plain.startswith(("list", "tuple")) else re.sub(r"[\d\W_].*$", "", plain)
    wanted = {
        "double": "float",
        "bfloat": "float",
        "half": "float",
        "long": "int",
        "uint": "int",
        "string": "str",
    }.get(wanted, wanted)
    if wanted == "float" and natural == "int":
        # 1 and 1.0 are one JSON number to many writers; forward should see what the dtype promises.
        value, natural = float(value), "float"
    if wanted in ("bool", "int", "float", "str", "list") and wanted != natural:
        raise CaseFileError(
            f"attribute {name} is {dtype} but its value is {value!r}", where=where, mend="make them agree"
        )
    return AttributeInput(name=name, dtype=dtype, value=value)


def _plain(name: str, value: Any, where: str, depth: int = 0) -> None:
    if isinstance(value, list) and depth < 8:
        for item in value:
            _plain(name, item, where, depth + 1)
    elif not isinstance(value, bool | int | float | str) or depth >= 8:
        raise CaseFileError(
            f"attribute {name} holds a {type(value).__name__}",
            where=where,
            mend="use numbers, text, bools and lists",
        )


def _case(entries: Sequence[TensorInput | AttributeInput | AbsentInput], where: str) -> Case:
    names = [entry.name for entry in entries]
    if len(set(names)) < len(names):
        raise CaseFileError("two inputs share a name", where=where, mend="give each input its own name")
    return Case(inputs=tuple(entries))


def _bound(cases: Sequence[Case], where: str) -> None:
    if len(cases) > MOST_CASES:
        raise CaseFileError(f"more than {MOST_CASES} cases", where=where, mend="split the file")


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",".join(_value_text(item) for item in value) + "]"
    return value if isinstance(value, str) else repr(value)
