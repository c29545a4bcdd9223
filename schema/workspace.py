"""An operator's workspace: what one task starts from, read and checked.

A workspace is a directory, or the same as texts by path (`schema.texts`: every byte is kept). It has model.py (the
reference, class Model), a case file, model_new_ascendc.py (the adapter, class ModelNew), kernel/ with pybind11.cpp,
and operator.toml, where all is optional. Nothing of it is imported here: the adapter is hostile code and is only
parsed.
"""

import ast
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ConfigDict, Field

from schema.cases import INTEGER_LIMITS, Case, TensorInput, parse_json_lines, read_cases_toml
from schema.directory import check_path, read_files
from schema.errors import CaseFileError, WorkspaceError
from schema.input_rules import Distribution, InputRule, evaluate_bound, parse_input_rules
from schema.results import Record
from schema.texts import bytes_of, first_odd_line

__all__ = ["Workspace", "check_path", "check_rules", "read_files"]

REFERENCE = "model.py"
ADAPTER = "model_new_ascendc.py"
BINDINGS = "kernel/pybind11.cpp"
FACTS = "operator.toml"
CASES = "cases.toml"

CATEGORIES = (
    "elementwise",
    "reduction",
    "scan",
    "normalization",
    "loss",
    "matmul",
    "scatter",
    "pooling",
    "convolution",
    "other",
)
TOLERANCES = ("mere_mare", "allclose_1e2", "npukernelbench_v2", "multikernelbench", "kernelbench")
DEFAULT_SEED = 1

_FACT_KEYS = {"name", "level", "category", "tolerance", "seed", "source", "inputs", "description"}


class Workspace(Record):
    """One operator's workspace.

    Attributes:
        category: one of `CATEGORIES`.
        tolerance: one of `TOLERANCES`.
        seed: where the values of the inputs come from, unless a validation asks for another.
        source: who published the operator and its cases.
        rules: distribution of an input's values, by input name.
        extension: import name of the compiled extension, as the adapter imports it.
        files: every text of the workspace by its path.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    name: str
    level: str = ""
    category: str = "other"
    tolerance: str = "mere_mare"
    seed: int = DEFAULT_SEED
    source: str = ""
    cases: tuple[Case, ...]
    case_file: str
    rules: Mapping[str, InputRule] = Field(default_factory=dict)
    extension: str
    files: Mapping[str, str]

    @property
    def reference(self) -> str:
        """Path of the file with class Model."""
        return REFERENCE

    @property
    def adapter(self) -> str:
        """Path of the file with class ModelNew."""
        return ADAPTER

    @property
    def kernel_paths(self) -> tuple[str, ...]:
        """The paths below kernel/, sorted: all that a repair may edit."""
        return tuple(path for path in sorted(self.files) if path.startswith("kernel/"))

    @property
    def kernel_files(self) -> dict[str, str]:
        """The texts below kernel/ by path: what a toolchain compiles."""
        return {path: self.files[path] for path in self.kernel_paths}

    @classmethod
    def from_directory(cls, directory: str | os.PathLike[str]) -> "Workspace":
        """Read a workspace from disk.

        Raises:
            WorkspaceError: a part is missing, broken, too large, or leads out of the directory.
            CaseFileError: the case file does not parse.
        """
        root = Path(directory)
        return cls.from_files(read_files(root), name=root.resolve().name, where=str(root))

    @classmethod
    def from_files(cls, files: Mapping[str, str], *, name: str | None = None, where: str = "") -> "Workspace":
        """Check the texts of a workspace and read its facts.

        Args:
            files: texts by relative path with "/", as `schema.texts` has them. What is read here must be UTF-8
                (operator.toml, the cases) or Python (model.py, the adapter); the rest may hold anything.
            name: the name to use if operator.toml has none; the case file's stem comes last.
            where: a directory to put before the paths in messages.

        Raises:
            WorkspaceError: a part is missing or broken.
            CaseFileError: the case file does not parse.
        """
        prefix = where.rstrip("/") + "/" if where else ""
        for path in files:
            check_path(path, where=where or None)
        _need(files, REFERENCE, "Model", prefix)
        adapter = _need(files, ADAPTER, "ModelNew", prefix)
        if BINDINGS not in files and not any(map(_binds, files.items())):
            raise WorkspaceError(
                "no kernel/pybind11.cpp",
                where=where or None,
                mend="bind the kernels there (torch/extension.h), or in another source below kernel/",
            )
        facts = _facts(_plain(files.get(FACTS, ""), prefix + FACTS), prefix + FACTS)
        case_file = _case_file(files, facts.get("name") or name, where or None)
        cases_text = _plain(files[case_file], prefix + case_file)
        if case_file == CASES:
            cases, case_source = read_cases_toml(cases_text, prefix + case_file)
        else:
            cases, case_source = parse_json_lines(cases_text, prefix + case_file), ""
        stem = re.sub(r"^\d+_", "", PurePosixPath(case_file).stem)
        called = facts.get("name") or name or stem
        rules = parse_input_rules(facts.get("inputs", {}), where=prefix + FACTS)
        known = {entry.name for case in cases for entry in case.inputs}
        if set(rules) - known:
            raise WorkspaceError(
                f"inputs.{min(set(rules) - known)} names no input of {case_file}",
                where=prefix + FACTS,
                mend=f"use {', '.join(sorted(known)) or 'no table'}",
            )
        check_rules(cases, rules, where=prefix + FACTS, case_where=prefix + case_file)
        return cls(
            name=called,
            level=facts.get("level", ""),
            category=facts.get("category", "other"),
            tolerance=facts.get("tolerance", "mere_mare"),
            seed=facts.get("seed", DEFAULT_SEED),
            source=facts.get("source", "") or case_source,
            cases=cases,
            case_file=case_file,
            rules=rules,
            extension=_extension(adapter, called),
            files=dict(files),
        )


def _binds(file: tuple[str, str]) -> bool:
    """Whether a file below kernel/ has the bindings, as CppExtension/csrc/op.cpp of an operator project does."""
    path, text = file
    return path.startswith("kernel/") and path.endswith((".cpp", ".cc", ".cxx")) and "PYBIND11_MODULE" in text


def check_rules(
    cases: Sequence[Case], rules: Mapping[str, InputRule], *, where: str, case_where: str
) -> None:
    """Refuse rules and ranges that can't make the values of every case: a worker would find out too late.

    Raises:
        WorkspaceError: a rule of operator.toml does not fit a case.
        CaseFileError: a case's own range does not fit its dtype.
    """
    for index, case in enumerate(cases):
        shapes = {tensor.name: tensor.shape for tensor in case.tensors}
        attributes = {attribute.name: attribute.value for attribute in case.attributes}
        for tensor in case.tensors:
            limits = INTEGER_LIMITS.get(tensor.dtype)
            rule = rules.get(tensor.name)
            if tensor.range is not None:
                if limits and not limits[0] <= tensor.range[0] <= tensor.range[1] <= limits[1]:
                    raise CaseFileError(
                        f"case {index}: {tensor.range[0]}..{tensor.range[1]} does not fit {tensor.dtype}",
                        where=case_where,
                        mend=f"stay within {limits[0]}..{limits[1]}",
                    )
            elif rule is not None and tensor.elements:
                place = f"{where} [inputs.{tensor.name}], case {index} ({case.name})"
                _check_rule(rule, tensor, shapes, attributes, limits, place)


def _check_rule(
    rule: InputRule,
    tensor: TensorInput,
    shapes: Mapping[str, tuple[int, ...]],
    attributes: Mapping[str, Any],
    limits: tuple[int, int] | None,
    where: str,
) -> None:
    def bound(value: int | float | str | None) -> int | float:
        return evaluate_bound(
            0 if value is None else value, shapes=shapes, attributes=attributes, where=where
        )

    match rule.distribution:
        case Distribution.NORMAL | Distribution.UNIFORM if limits:
            raise WorkspaceError(
                f"{rule.distribution.value} does not fit {tensor.dtype}",
                where=where,
                mend='use "integers", or a range',
            )
        case Distribution.UNIFORM:
            low, high = bound(rule.low), bound(rule.high)
        case Distribution.INTEGERS | Distribution.SORTED_INTEGERS:
            low, high = bound(rule.low), bound(rule.high)
            if int(low) != low or int(high) != high:
                raise WorkspaceError(f"{low} to {high} is not whole", where=where, mend="use whole bounds")
            if low < high:
                _check_fits(low, high - 1, limits, tensor.dtype, where)
        case Distribution.ARANGE:
            low = bound(rule.low)
            _check_fits(low, low + tensor.elements - 1, limits, tensor.dtype, where)
            return
        case Distribution.PERMUTATION:
            _check_fits(0, tensor.elements - 1, limits, tensor.dtype, where)
            return
        case _:
            return
    if low >= high:
        raise WorkspaceError(
            f"nothing lies from {low} to below {high}", where=where, mend="make high larger than low"
        )


def _check_fits(low: float, high: float, limits: tuple[int, int] | None, dtype: str, where: str) -> None:
    if limits and not limits[0] <= low <= high <= limits[1]:
        raise WorkspaceError(
            f"values {low}..{high} do not fit {dtype}",
            where=where,
            mend=f"stay within {limits[0]}..{limits[1]}",
        )


def _plain(text: str, where: str) -> str:
    """The text of a file that is read here, without its byte order mark.

    Raises:
        WorkspaceError: it holds bytes that are no UTF-8, or NUL.
    """
    line = first_odd_line(text)
    if line is not None:
        raise WorkspaceError("not UTF-8", where=f"{where}:{line}", mend="save it as UTF-8")
    return text.removeprefix("\ufeff")


def _need(files: Mapping[str, str], path: str, wanted: str, prefix: str) -> ast.Module:
    if path not in files:
        raise WorkspaceError(
            f"no {path}", where=prefix.rstrip("/") or None, mend=f"write it with class {wanted}"
        )
    try:
        # Bytes, as Python itself will read the file: with its byte order mark and its coding comment.
        tree = ast.parse(bytes_of(files[path]))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        message = getattr(error, "msg", None) or str(error)
        raise WorkspaceError(
            f"no Python: {message}", where=f"{prefix}{path}:{line}", mend="mend the syntax"
        ) from error
    if not any(_defines(node, wanted) for node in ast.walk(tree)):
        raise WorkspaceError(
            f"no class {wanted}", where=prefix + path, mend=f"define class {wanted}(nn.Module)"
        )
    return tree


def _defines(node: ast.AST, wanted: str) -> bool:
    match node:
        case ast.ClassDef(name=name):
            return name == wanted
        case ast.Assign(targets=targets):
            return any(isinstance(target, ast.Name) and target.id == wanted for target in targets)
        case ast.alias(name=name, asname=asname):
            return (asname or name) == wanted
    return False


def _facts(text: str, where: str) -> dict[str, Any]:
    try:
        facts = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        plain = re.sub(r"\s*\(at .*\)$", "", str(error))
        raise WorkspaceError(
            f"broken TOML: {plain}", where=f"{where}:{line}", mend="mend the line"
        ) from error
    unknown = set(facts) - _FACT_KEYS
    if unknown:
        raise WorkspaceError(
            f"unknown key {min(unknown)!r}", where=where, mend=f"use {', '.join(sorted(_FACT_KEYS))}"
        )
    for key in ("name", "level", "category", "tolerance", "source", "description"):
        if not isinstance(facts.get(key, ""), str):
            raise WorkspaceError(f"{key} is no text", where=where, mend="quote it")
    seed = facts.get("seed", DEFAULT_SEED)
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 1 << 63:
        raise WorkspaceError(f"seed is {seed!r}", where=where, mend="use a whole number from 0 up")
    for key, choices in (("category", CATEGORIES), ("tolerance", TOLERANCES)):
        if facts.get(key, choices[0]) not in choices:
            raise WorkspaceError(
                f"unknown {key} {facts[key]!r}", where=where, mend=f"use one of {', '.join(choices)}"
            )
    return facts


def _case_file(files: Mapping[str, str], name: str | None, where: str | None) -> str:
    if CASES in files:
        return CASES
    found = sorted(path for path in files if "/" not in path and path.endswith((".json", ".jsonl")))
    if len(found) > 1 and name:
        wanted = name.lower()
        same = [path for path in found if re.sub(r"^\d+_", "", PurePosixPath(path).stem).lower() == wanted]
        found = same or found
    if len(found) == 1:
        return found[0]
    if found:
        raise WorkspaceError(
            f"several case files ({', '.join(found)})",
            where=where,
            mend="keep one, or name the operator in operator.toml",
        )
    raise WorkspaceError(
        "no case file", where=where, mend="write cases.toml, or <operator>.json with one case a line"
    )


def _extension(adapter: ast.Module, name: str) -> str:
    """The `_<op>_ext` that the adapter imports, or the name that the convention gives."""
    seen: list[str] = []
    for node in ast.walk(adapter):
        match node:
            case ast.Import(names=names):
                seen += [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), names=names):
                seen += [module, *(alias.name for alias in names)]
            case ast.Constant(value=str(text)):
                seen.append(text)
    for text in seen:
        last = text.rpartition(".")[2]
        if re.fullmatch(r"_\w+_ext", last, re.ASCII):
            return last
    return f"_{re.sub(r'[^0-9a-zA-Z]+', '_', name).strip('_').lower()}_ext"
