"""The memory of the abstract interpreter: names, attributes, containers, and the reasons found on the way."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from coordinator.integrity import python_facts as facts
from coordinator.integrity import values
from coordinator.integrity.parameters import UNSURE
from coordinator.integrity.report import Findings
from coordinator.integrity.rules import Level
from coordinator.integrity.values import (
    SCALAR,
    BoundFunction,
    BoundMethod,
    Cell,
    Function,
    Instance,
    Scope,
    Value,
    join,
    named,
)

MAX_DEPTH = 24
MAX_STEPS = 120_000
WRITTEN = 0  # keys of Interpreter.flow that no id of an object can take
TOUCHED = 1


class TooComplex(Exception):
    """The adapter takes more steps than the scan spends; the caller turns it into a reason."""


class Calls(Protocol):
    """What the interpreter needs to know about calls."""

    def call(self, callee: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        """The value of a call."""
        ...


@dataclass(kw_only=True)
@dataclass(kw_only=True)
class Returned:
    """One return of forward."""

    value: Value
    file: str
    line: int
    guarded_empty: bool
    good: tuple[bool, ...]  # for each part, whether it came from the extension on this way
    touched: tuple[bool, ...]  # for each part, whether the extension was given it on this way


def parts_of(value: Value) -> list[Value]:
    """The single outputs in a returned value, as far as they are known."""
    grown = any(cell.content is not None for cell in value.cells)
    return list(value.items) if value.items is not None and not grown else [value.element()]


@dataclass(eq=False)
class Memory:
    """The state of one scan of one adapter.

    Attributes:
        phase: "load" (module body), "init" (ModelNew.__init__), "forward" or "unreached".
        flow: what holds on every way to the current statement: attributes by (id of the instance, name), and
            under keys (WRITTEN, site) and (TOUCHED, site) what the extension was given, to write or to read.
    """

    findings: Findings
    resolve_import: Callable[["Memory", str, ast.AST, Scope], Value]
    phase: str = "load"
    calls: Calls = field(init=False)
    extension_calls: list[tuple[str, str, int]] = field(default_factory=list)
    extension_count: int = 0
    ended: bool = False
    visited: set[int] = field(default_factory=set)
    functions: list[Function] = field(default_factory=list)
    flow: dict[tuple[int, str], Value] = field(default_factory=dict)
    _persisted_names: dict[tuple[int, str], Value] = field(default_factory=dict)
    _cells: dict[int, Cell] = field(default_factory=dict)
    _stack: list[tuple[int, tuple[bool, ...]]] = field(default_factory=list)
    _returns: list[list[Returned]] = field(default_factory=list)
    empty_guards: int = 0
    scope: Scope = field(default_factory=lambda: Scope(file=""))
    _steps: int = 0

    # ---- reasons

    def flag(self, rule: str, node: ast.AST, message: str, level: Level | None = None) -> None:
        """Record a reason at `node`, in any phase."""
        self.findings.add(
            rule, file=self.scope.file, line=getattr(node, "lineno", 0), message=message, level=level
        )

    def computes(self, rule: str, node: ast.AST, message: str, *operands: Value) -> Value:
        """Record target computation at `node` and give its result; outside forward it is only noted."""
        if self.phase == "forward":
            unsure = bool(operands) and all(UNSURE in one.marks for one in operands if one.holds_tensor)
            self.flag(
                rule, node, message, "suspect" if unsure and any(o.holds_tensor for o in operands) else None
            )
        elif self.phase in ("load", "init"):
            self.flag("compute-at-load", node, message)
        marks = (
            frozenset().union(*(one.marks for one in operands)) - {values.EXTENSION}
            if operands
            else frozenset()
        )
        return Value(tensor=True, marks=marks | {values.COMPUTED})

    def merge(self, parts: Sequence[Value], *, mixes: bool = True) -> Value:
        """Join the values of branches; notes where only some of the tensors come from the extension."""
        value = join(parts)
        tensors = [part for part in parts if part.bare_tensor]
        if mixes and len(tensors) > 1 and len({self.from_extension(part) for part in tensors}) == 2:
            return value.marked(values.MIXED)
        return value

    def from_extension(self, value: Value) -> bool:
        """Whether the value came out of the extension, or the extension was given its memory."""
        return values.EXTENSION in value.marks or any((WRITTEN, site) in self.flow for site in value.sites)

    def wrote(self, sites: frozenset[str]) -> None:
        """The extension was given these sites to write."""
        for site in sites:
            self.flow[(WRITTEN, site)] = SCALAR

    # ---- names, attributes, stores

    def bind(self, name: str, value: Value) -> None:
        """Store a name in the current scope, or where `global`/`nonlocal` send it."""
        if name in self.scope.globals_declared:
            scope: Scope | None = self.scope.parent
            while scope is not None and not (name in scope.names or scope.is_module):
                scope = scope.parent
            if scope is not None:
                self._persist((id(scope), name), value)
                scope.names[name] = join((scope.names[name], value)) if name in scope.names else value
            return
        self.scope.names[name] = value

    def _persist(self, key: tuple[int, str], value: Value) -> None:
        if self.phase != "forward":
            return
        known = self._persisted_names.get(key)
        kept = value.marked(values.PERSISTED) if value.holds_tensor else value
        self._persisted_names[key] = join((known, kept)) if known is not None else kept

    def lookup(self, name: str, node: ast.AST) -> Value:
        """The value of a name."""
        scope: Scope | None = self.scope
        while scope is not None:
            if name in scope.names:
                kept = self._persisted_names.get((id(scope), name))
                value = scope.names[name]
                return join((value, kept)) if kept is not None else value
            scope = scope.parent
        value = named(f"builtins.{name}")
        self.check_name(value, node)
        return value

    def check_name(self, value: Value, node: ast.AST) -> None:
        """Record the reason of a name whose mere use tells."""
        for name in value.names:
            rule = facts.forbidden_rule(name)
            if rule is not None:
                level: Level | None = "suspect" if self.phase == "unreached" else None
                self.flag(rule, node, f"uses {name.removeprefix('builtins.')}", level)
            elif self.phase == "forward" and name.startswith(facts.CLOCKS):
                self.flag("time-read", node, f"uses {name}")
            elif self.phase == "forward" and name.startswith(("os.environ", "os.getenv")):
                self.flag("environment-read", node, f"reads {name}")

    def attribute(self, owner: Value, name: str, node: ast.AST) -> Value:
        """The value of `owner.name`."""
        rule = facts.FORBIDDEN_ATTRIBUTES.get(name)
        if rule is not None and not (rule == "version-counter-read" and not owner.tensor):
            self.flag(rule, node, f"uses the attribute {name}")
        parts: list[Value] = []
        for scope in owner.modules:
            if name in scope.names:
                kept = self._persisted_names.get((id(scope), name))
                parts.append(scope.names[name] if kept is None else join((scope.names[name], kept)))
        outside = [n for n in owner.names if not n.startswith("layer:")]
        if outside:
            value = Value(names=frozenset(f"{n}.{name}" for n in outside))
            self.check_name(value, node)
            parts.append(value)
        if any(n.startswith("layer:") for n in owner.names):
            parts.append(values.tensor(values.INPUT, values.PARAMETER))
        for instance in owner.instances:
            parts.append(self._instance_attribute(instance, owner, name, node))
        for cls in owner.classes:
            found = cls.find(name)
            if found is not None:
                parts.append(self._bound(found, owner, unbound=True))
        if owner.bare_tensor:
            if name in facts.TRANSPOSED_ATTRIBUTES:
                parts.append(owner.marked(values.TRANSPOSED))
            elif name in ("data", "grad"):
                parts.append(owner)
            elif name in facts.META_ATTRIBUTES and name != "is_contiguous":
                parts.append(Value(container=name in ("shape", "names")))
            else:
                parts.append(Value(methods=frozenset((BoundMethod(receiver=owner, name=name),))))
        elif owner.container or owner.cells or owner.texts or not parts:
            parts.append(Value(methods=frozenset((BoundMethod(receiver=owner, name=name),))))
        return join(parts)

    def _instance_attribute(self, instance: Instance, owner: Value, name: str, node: ast.AST) -> Value:
        key = (id(instance), name)
        if key in self.flow:
            return self.flow[key]
        parts = [
            part
            for part in (instance.attributes.get(name), self._persisted_names.get(key))
            if part is not None
        ]
        if parts:
            return join(parts)
        found = instance.cls.find(name)
        if found is not None:
            value = self._bound(found, owner)
            for bound in value.functions:
                if bound.function.kind == "property":
                    return self.calls.call(value, [], {}, node)
            return value
        return Value(methods=frozenset((BoundMethod(receiver=owner, name=name),)))

    @staticmethod
    def _bound(found: Value, owner: Value, *, unbound: bool = False) -> Value:
        bound = set()
        for one in found.functions:
            takes_self = (
                one.receiver is None and one.function.owner is not None and one.function.kind != "static"
            )
            if one.function.kind == "class" or (takes_self and not unbound):
                bound.add(BoundFunction(function=one.function, receiver=owner))
            else:
                bound.add(one)
        return replace(found, functions=frozenset(bound))

    def _store_attribute(self, owner: Value, name: str, value: Value, node: ast.AST) -> None:
        for outside in owner.names:
            if not outside.startswith("layer:"):
                self.flag("monkey-patch", node, f"replaces {outside.removeprefix('ext:')}.{name}")
        for instance in owner.instances:
            key = (id(instance), name)
            self._note_state(value, node)
            if self.phase == "forward":
                self.flow[key] = value
                self._persist(key, value)
            else:
                known = instance.attributes.get(name)
                instance.attributes[name] = (
                    value if known is None or self.phase == "init" else join((known, value))
                )
        for cls in owner.classes:
            known = cls.attributes.get(name)
            kept = value.marked(values.PERSISTED) if self.phase == "forward" and value.holds_tensor else value
            self._note_state(value, node)
            cls.attributes[name] = kept if known is None or self.phase == "load" else join((known, kept))
        for bound in owner.functions:
            self._note_state(value, node)
            bound.function.scope.names[f"{bound.function.name}.{name}"] = value.marked(values.PERSISTED)
        if owner.bare_tensor and name in ("data", "grad"):
            self.flag("input-mutated", node, f"assigns to .{name} of a tensor")

    def _note_state(self, value: Value, node: ast.AST) -> None:
        if self.phase == "forward" and value.holds_tensor:
            self.flag("state-between-calls", node, "a tensor is kept between calls of forward")

    def put(self, owner: Value, value: Value, node: ast.AST) -> None:
        """Join `value` into every container that `owner` may be."""
        for cell in owner.cells:
            cell.put(value)
            if cell.persistent:
                self._note_state(value, node)
        for outside in owner.names:
            if outside.startswith(("sys.", "os.environ")) and not outside.startswith("sys.path"):
                self.flag(
                    "monkey-patch",
                    node,
                    f"writes into {outside}",
                    "suspect" if "environ" in outside else None,
                )

    def cell(self, node: ast.AST) -> Cell:
        """The container that the expression `node` creates; the same for every evaluation of it."""
        if id(node) not in self._cells:
            self._cells[id(node)] = Cell(persistent=self.phase in ("load", "init"))
        return self._cells[id(node)]
