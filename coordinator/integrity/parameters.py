"""Which parameters of ModelNew.forward are tensors, and which are attributes.

`x + y` on tensors is a cheat, `dim + rank` on integers is not, so the scan must know. It asks, in this order:
annotations, the case files (inputs carry name and type, research/npukernelbench.md), and what forward and the
reference's forward do with the parameter.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from coordinator.integrity import values
from coordinator.integrity.values import SCALAR, Value
from coordinator.integrity.words import words

UNSURE = "unsure"  # a mark: nothing tells whether the parameter is a tensor

_TENSOR_USES = words(
    "shape dtype device size numel contiguous is_contiguous stride reshape view to dim ndim data_ptr element_size "
    "unsqueeze squeeze flatten expand transpose permute float half bfloat16 new_empty clone detach T is_cuda"
)
_SCALAR_ANNOTATIONS = words("int float bool str Number complex dtype device")


def tensor_parameters(
    function: ast.FunctionDef | ast.AsyncFunctionDef,
    *,
    files: Mapping[str, str],
    reference: ast.Module | None,
) -> dict[str, Value]:
    """The abstract value of each parameter but self.

    Args:
        function: ModelNew.forward.
        files: the workspace; case files are found by their extension.
        reference: the parsed model.py, if it parses.
    """
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args][1:]
    kinds = _case_kinds(files)
    ordered = list(kinds.items())
    reference_forward = _find_forward(reference)
    defaults = dict(zip([a.arg for a in positional][::-1], list(arguments.defaults)[::-1], strict=False))
    defaults |= {
        a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None
    }
    found: dict[str, Value] = {}
    by_name = any(argument.arg in kinds for argument in positional)
    for index, argument in enumerate([*positional, *arguments.kwonlyargs]):
        name = argument.arg
        value = _from_annotation(argument.annotation, name)
        if value is None and name in kinds:
            value = _from_kind(kinds[name], name)
        if value is None and _is_number(defaults.get(name)):
            value = SCALAR
        if value is None and not by_name and index < len(ordered) and len(ordered) >= len(positional):
            value = _from_kind(ordered[index][1], name)
        if value is None:
            value = _from_uses(name, defaults.get(name), [function, reference_forward])
        found[name] = value
    if arguments.vararg is not None:
        found[arguments.vararg.arg] = Value(
            tensor=True,
            container=True,
            marks=frozenset((values.INPUT,)),
            sites=frozenset((arguments.vararg.arg,)),
        )
    if arguments.kwarg is not None:
        found[arguments.kwarg.arg] = Value(
            tensor=True,
            container=True,
            marks=frozenset((values.INPUT,)),
            sites=frozenset((arguments.kwarg.arg,)),
        )
    return found


def _tensor(name: str, *, container: bool = False, unsure: bool = False) -> Value:
    marks = {values.INPUT, UNSURE} if unsure else {values.INPUT}
    return Value(
        tensor=True, container=container, marks=frozenset(marks), sites=frozenset((f"parameter {name}",))
    )


def _from_annotation(annotation: ast.expr | None, name: str) -> Value | None:
    if annotation is None:
        return None
    words = set(re.findall(r"\w+", ast.unparse(annotation)))
    if "Tensor" in words:
        container = bool(words & {"list", "List", "Sequence", "tuple", "Tuple", "Iterable", "TensorList"})
        return _tensor(name, container=container)
    if words & _SCALAR_ANNOTATIONS:
        return SCALAR
    return None


def _from_kind(kind: str, name: str) -> Value:
    if "tensor" not in kind:
        return SCALAR
    return _tensor(name, container="list" in kind or kind == "tensors")


def _from_uses(
    name: str, default: ast.expr | None, functions: list[ast.FunctionDef | ast.AsyncFunctionDef | None]
) -> Value:
    scalar = _is_number(default)
    for function in functions:
        if function is None or name not in {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)}:
            continue
        for node in ast.walk(function):
            match node:
                case ast.Attribute(value=ast.Name(id=used), attr=attribute) if used == name:
                    if attribute in _TENSOR_USES:
                        return _tensor(name)
                case ast.Call(
                    func=ast.Name(id="int" | "float" | "bool" | "range"), args=[ast.Name(id=used), *_]
                ):
                    scalar = scalar or used == name
                case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=used), kind]) if used == name:
                    scalar = scalar or "Tensor" not in ast.unparse(kind)
                case ast.Compare(
                    left=ast.Name(id=used), comparators=[ast.Constant(value=int() | float() | str())]
                ):
                    scalar = scalar or used == name
    return SCALAR if scalar else _tensor(name, unsure=True)


def _is_number(default: ast.expr | None) -> bool:
    if isinstance(default, ast.UnaryOp):
        default = default.operand
    return isinstance(default, ast.Constant) and default.value is not None


def _find_forward(tree: ast.Module | None) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            for part in node.body:
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and part.name == "forward":
                    return part
    return None


def _case_kinds(files: Mapping[str, str]) -> dict[str, str]:
    """Name → type of the inputs, in case order, joined over all cases; empty where no case file parses."""
    kinds: dict[str, str] = {}
    for path, content in sorted(files.items()):
        if path.startswith("kernel/"):
            continue
        for name, kind in _inputs_of(path, content):
            if "tensor" in kind or name not in kinds:
                kinds[name] = kind
    return kinds


def _inputs_of(path: str, content: str) -> Iterator[tuple[str, str]]:
    try:
        if path.endswith(".toml"):
            yield from _walk(tomllib.loads(content))
        elif path.endswith((".json", ".jsonl")):
            for line in content.splitlines()[:400]:
                if line.strip().startswith("{"):
                    yield from _walk(json.loads(line))
    except (ValueError, RecursionError):
        return


def _walk(node: Any) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        name = node.get("name")
        kind = node.get("type", node.get("kind"))
        if isinstance(name, str) and isinstance(kind, str):
            yield name, kind.lower()
        for child in node.values():
            yield from _walk(child)
    elif isinstance(node, list):
        for child in node:
            yield from _walk(child)
