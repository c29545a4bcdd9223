"""How the values of an operator's tensor inputs are drawn: the [inputs.NAME] tables of operator.toml.

    [inputs.x]              distribution = "normal"  mean = 0.0  std = 1.0
    [inputs.weight]         distribution = "uniform"  low = -1.0  high = 1.0
    [inputs.mask]           distribution = "bernoulli"  p = 0.3
    [inputs.index]          distribution = "sorted_integers"  low = 0  high = "var.shape[axis]"
    [inputs.pos]            distribution = "arange" | "permutation"
    [inputs.alpha]          distribution = "constant"  value = 1.5

`low` is inclusive and `high` exclusive; each is a number or an expression over the shapes of the case's tensors
and its integer attributes. Expressions come from files of strangers, so they are parsed here and never
handed to Python's own evaluator. The drawing itself is npu_worker/inputs.py; nothing here imports torch.
"""

import ast
import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from schema.errors import WorkspaceError
from schema.results import Record

MOST_EXPRESSION_CHARACTERS = 200
MOST_VALUE = 1 << 63

Bound = int | float | str


class Distribution(StrEnum):
    """Where values come from."""

    NORMAL = "normal"  # mean, std
    UNIFORM = "uniform"  # low, high
    BERNOULLI = "bernoulli"  # p: the share of ones
    INTEGERS = "integers"  # low, high
    SORTED_INTEGERS = "sorted_integers"  # low, high; ascending in row-major order, duplicates included
    ARANGE = "arange"  # low, low + 1, ... in row-major order
    PERMUTATION = "permutation"  # each of 0 .. elements - 1 once
    CONSTANT = "constant"  # value


_PARAMETERS: Mapping[Distribution, tuple[frozenset[str], frozenset[str]]] = {
    # distribution: (required, optional)
    Distribution.NORMAL: (frozenset(), frozenset({"mean", "std"})),
    Distribution.UNIFORM: (frozenset({"low", "high"}), frozenset()),
    Distribution.BERNOULLI: (frozenset(), frozenset({"p"})),
    Distribution.INTEGERS: (frozenset({"high"}), frozenset({"low"})),
    Distribution.SORTED_INTEGERS: (frozenset({"high"}), frozenset({"low"})),
    Distribution.ARANGE: (frozenset(), frozenset({"low"})),
    Distribution.PERMUTATION: (frozenset(), frozenset()),
    Distribution.CONSTANT: (frozenset({"value"}), frozenset()),
}


class InputRule(Record):
    """How one tensor input is drawn.

    Attributes:
        mean, std: of `normal`.
        low, high: inclusive and exclusive bound; a number or an expression (`evaluate_bound`).
        p: of `bernoulli`, 0 to 1.
        value: of `constant`; converted to the tensor's dtype.
    """

    distribution: Distribution
    mean: float = 0.0
    std: float = 1.0
    low: Bound = 0
    high: Bound | None = None
    p: float = 0.5
    value: int | float | bool | None = None


def parse_input_rules(table: Any, *, where: str) -> dict[str, InputRule]:
    """Read the `inputs` table of operator.toml.

    Args:
        table: what tomllib made of `[inputs]`; None and {} mean no rules.
        where: the file, for messages.

    Returns:
        rules by input name, in file order.

    Raises:
        WorkspaceError: naming the file and the input, and how to mend it.
    """
    if table is None:
        return {}
    if not isinstance(table, Mapping):
        raise WorkspaceError("inputs is no table", where=where, mend="write [inputs.NAME] tables")
    return {str(name): _parse_rule(rule, f"{where} [inputs.{name}]") for name, rule in table.items()}


def _parse_rule(table: Any, where: str) -> InputRule:
    if not isinstance(table, Mapping):
        raise WorkspaceError("a rule must be a table", where=where, mend='write distribution = "normal"')
    name = table.get("distribution")
    if not isinstance(name, str) or name not in set(Distribution):
        raise WorkspaceError(
            f"distribution is {name!r}" if "distribution" in table else "no distribution",
            where=where,
            mend=f"use one of {', '.join(Distribution)}",
        )
    distribution = Distribution(name)
    required, optional = _PARAMETERS[distribution]
    given = {str(key): value for key, value in table.items() if key != "distribution"}
    for key in sorted(given):
        if key not in required | optional:
            allowed = ", ".join(sorted(required | optional)) or "no parameter"
            raise WorkspaceError(f"{name} takes no {key}", where=where, mend=f"it takes {allowed}")
    for key in sorted(required):
        if key not in given:
            raise WorkspaceError(f"{name} needs {key}", where=where, mend=f"add {key} = ...")
    for key, value in given.items():
        _check_parameter(key, value, where)
    rule = InputRule(distribution=distribution, **given)
    if isinstance(rule.low, int | float) and isinstance(rule.high, int | float) and rule.low >= rule.high:
        raise WorkspaceError(
            f"nothing lies from {rule.low} to below {rule.high}",
            where=where,
            mend="high is exclusive: make it larger",
        )
    return rule


def _check_parameter(key: str, value: Any, where: str) -> None:
    if key in ("low", "high") and isinstance(value, str):
        parse_bound(value, where=where)
        return
    if key == "value" and isinstance(value, bool):
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WorkspaceError(f"{key} is {value!r}", where=where, mend="use a number")
    if key != "value" and not math.isfinite(value):
        raise WorkspaceError(f"{key} is {value!r}", where=where, mend="use a finite number")
    if key == "p" and not 0 <= value <= 1:
        raise WorkspaceError(f"p is {value!r}", where=where, mend="use a share from 0 to 1")
    if key == "std" and value < 0:
        raise WorkspaceError(f"std is {value!r}", where=where, mend="use a number from 0 up")


def parse_bound(text: str, *, where: str) -> ast.expr:
    """Parse an expression of a bound and refuse all but the small language.

    The language: whole numbers, names of integer attributes, `NAME.shape[EXPR]`, + - * //, unary minus, parentheses.

    Raises:
        WorkspaceError: the text is longer than 200 characters, does not parse, or uses anything else.
    """
    if len(text) > MOST_EXPRESSION_CHARACTERS:
        raise WorkspaceError(
            f"an expression of {len(text)} characters",
            where=where,
            mend=f"at most {MOST_EXPRESSION_CHARACTERS}",
        )
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise WorkspaceError(
            f"expression {text!r} does not parse", where=where, mend='write for example "var.shape[axis] - 1"'
        ) from error
    _check_expression(tree, text, where)
    return tree


def _check_expression(node: ast.expr, text: str, where: str) -> None:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return
        case ast.Name():
            return
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check_expression(operand, text, where)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv(), right=right):
            _check_expression(left, text, where)
            _check_expression(right, text, where)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(), attr="shape"), slice=index):
            _check_expression(index, text, where)
        case _:
            raise WorkspaceError(
                f"expression {text!r} uses {ast.unparse(node)!r}",
                where=where,
                mend="use whole numbers, attributes, NAME.shape[AXIS] and + - * //",
            )


def evaluate_bound(
    bound: Bound,
    *,
    shapes: Mapping[str, tuple[int, ...]],
    attributes: Mapping[str, Any],
    where: str,
) -> int | float:
    """The number that a bound stands for in one case.

    Args:
        bound: a number (returned as it is) or an expression of the small language (`parse_bound`).
        shapes: shape of each tensor input of the case, by name.
        attributes: value of each attribute of the case, by name; only integers can be named.
        where: operator and input, for messages.

    Raises:
        WorkspaceError: an unknown name, an axis out of range, a division by zero, a value beyond 64 bits.
    """
    if not isinstance(bound, str):
        return bound
    return _evaluate(parse_bound(bound, where=where), bound, shapes, attributes, where)


def _evaluate(
    node: ast.expr,
    text: str,
    shapes: Mapping[str, tuple[int, ...]],
    attributes: Mapping[str, Any],
    where: str,
) -> int:
    def inner(part: ast.expr) -> int:
        return _evaluate(part, text, shapes, attributes, where)

    def wrong(what: str, mend: str) -> WorkspaceError:
        return WorkspaceError(f"expression {text!r}: {what}", where=where, mend=mend)

    value: int
    match node:
        case ast.Constant(value=int(number)):
            value = number
        case ast.Name(id=name):
            found = attributes.get(name)
            if isinstance(found, bool) or not isinstance(found, int):
                raise wrong(
                    f"{name} is no integer attribute of this case", "name one, or write NAME.shape[AXIS]"
                )
            value = found
        case ast.UnaryOp(operand=operand):
            value = -inner(operand)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name)), slice=index):
            if name not in shapes:
                raise wrong(f"this case has no tensor {name}", "name a tensor that every case has")
            axis = inner(index)
            shape = shapes[name]
            if not -len(shape) <= axis < len(shape):
                raise wrong(
                    f"axis {axis} is outside {name}, of rank {len(shape)}", "use an axis that every case has"
                )
            value = shape[axis]
        case ast.BinOp(left=left, op=operator, right=right):
            first, second = inner(left), inner(right)
            if isinstance(operator, ast.FloorDiv):
                if second == 0:
                    raise wrong("division by zero", "divide by something that is never 0")
                value = first // second
            elif isinstance(operator, ast.Add):
                value = first + second
            elif isinstance(operator, ast.Sub):
                value = first - second
            else:
                value = first * second
        case _:
            raise wrong("unreadable", "use whole numbers, attributes, NAME.shape[AXIS] and + - * //")
    if abs(value) > MOST_VALUE:
        # Checked at every step, so that a short expression can't grow a number of a million digits.
        raise wrong("a value beyond 64 bits", "use smaller numbers")
    return value
