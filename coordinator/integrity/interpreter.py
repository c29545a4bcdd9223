"""An abstract interpreter for the adapter: follows tensors from forward's parameters to what it returns.

Flow-sensitive in names and attributes, joins over branches, two passes over loops, calls inlined (bounded).
What a call means is in `calls`; what a value may be is in `values`.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    Class,
    Function,
    Instance,
    Scope,
    Value,
    join,
    named,
    sequence,
    text,
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
    return list(value.items) if value.items is not None else [value.element()]


@dataclass(eq=False)
class Interpreter:
    """The state of one scan of one adapter.

    Attributes:
        phase: "load" (module body), "init" (ModelNew.__init__), "forward" or "unreached".
        flow: what holds on every way to the current statement: attributes by (id of the instance, name), and
            under keys (WRITTEN, site) and (TOUCHED, site) what the extension was given, to write or to read.
    """

    findings: Findings
    resolve_import: Callable[["Interpreter", str, ast.AST, Scope], Value]
    phase: str = "load"
    calls: Calls = field(init=False)
    extension_calls: list[tuple[str, str, int]] = field(default_factory=list)
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

    # ---- reasons -------------------------------------------------------------------------------------------

    def flag(self, rule: str, node: ast.AST, message: str, level: Level | None = None) -> None:
        """Record a reason at `node`, in any phase."""
        self.findings.add(rule, file=self.scope.file, line=getattr(node, "lineno", 0), message=message, level=level)

    def computes(self, rule: str, node: ast.AST, message: str, *operands: Value) -> Value:
        """Record target computation at `node` and give its result; outside forward it is only noted."""
        if self.phase == "forward":
            unsure = bool(operands) and all(UNSURE in one.marks for one in operands if one.holds_tensor)
            self.flag(rule, node, message, "suspect" if unsure and any(o.holds_tensor for o in operands) else None)
        elif self.phase in ("load", "init"):
            self.flag("compute-at-load", node, message)
        marks = frozenset().union(*(one.marks for one in operands)) - {values.EXTENSION} if operands else frozenset()
        return Value(tensor=True, marks=marks | {values.COMPUTED})

    # ---- statements ----------------------------------------------------------------------------------------

    def run(self, body: Sequence[ast.stmt]) -> None:
        """Execute statements in the current scope."""
        for statement in body:
            self._steps += 1
            if self._steps > MAX_STEPS:
                raise TooComplex
            self._statement(statement)
            if self.ended:
                return

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.scope.names[node.name] = self._define(node)
            case ast.ClassDef():
                self.scope.names[node.name] = self._define_class(node)
            case ast.Return():
                self._return(self.evaluate(node.value) if node.value else SCALAR, node)
                self.ended = True
            case ast.Break() | ast.Continue():
                self.ended = True
            case ast.Assign():
                value = self.evaluate(node.value)
                for target in node.targets:
                    self.assign(target, value)
            case ast.AnnAssign():
                if node.value is not None:
                    self.assign(node.target, self.evaluate(node.value))
            case ast.AugAssign():
                left = self.evaluate(_loaded(node.target))
                self.assign(node.target, self._binary(left, self.evaluate(node.value), node))
            case ast.For() | ast.AsyncFor():
                iterable = self.evaluate(node.iter)
                self._loop(node.body, lambda: self.assign(node.target, self.iterate(iterable, node)))
                self.run(node.orelse)
            case ast.While():
                self._test(node.test)
                self._loop(node.body, lambda: self._test(node.test))
                self.run(node.orelse)
            case ast.If():
                self._test(node.test)
                empty = is_emptiness_test(node.test)
                self._branches(
                    [lambda: self._guarded(node.body, empty), lambda: self.run(node.orelse)], mixes=not empty
                )
            case ast.With() | ast.AsyncWith():
                before = len(self.extension_calls)
                suppresses = False
                for item in node.items:
                    context = self.evaluate(item.context_expr)
                    suppresses = suppresses or "contextlib.suppress()" in context.names
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, context)
                self.run(node.body)
                if suppresses and len(self.extension_calls) > before:
                    self.flag("fallback-around-extension", node, "exceptions of the extension call are suppressed")
            case ast.Try() | ast.TryStar():
                self._try(node)
            case ast.Match():
                self._match(node)
            case ast.Raise():
                if node.exc is not None:
                    self.evaluate(node.exc)
                self.ended = True
            case ast.Assert():
                self._test(node.test)
            case ast.Expr():
                self.evaluate(node.value)
            case ast.Import():
                for alias in node.names:
                    module = self.resolve_import(self, alias.name, node, self.scope)
                    if alias.asname is None and "." in alias.name and not alias.name.endswith("_ext"):
                        self.bind(alias.name.split(".")[0], named(alias.name.split(".")[0]))
                    else:
                        self.bind(alias.asname or alias.name, module)
            case ast.ImportFrom():
                self._import_from(node)
            case ast.Global() | ast.Nonlocal():
                self.scope.globals_declared.update(node.names)
            case ast.Delete():
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self.scope.names.pop(target.id, None)
            case _:
                pass

    def _guarded(self, body: Sequence[ast.stmt], empty: bool) -> None:
        self.empty_guards += empty
        self.run(body)
        self.empty_guards -= empty

    def _test(self, test: ast.expr) -> None:
        value = self.evaluate(test)
        if value.bare_tensor and self.phase == "forward" and isinstance(test, ast.Name | ast.Subscript):
            self.flag("host-data-read", test, "a branch hangs on the value of a tensor")

    def _snapshot(self) -> tuple[dict[str, Value], dict[tuple[int, str], Value]]:
        return dict(self.scope.names), dict(self.flow)

    def _branches(
        self, branches: Sequence[Callable[[], object]], *, mixes: bool = True, loops: bool = False
    ) -> None:
        start = self._snapshot()
        ends = []
        for branch in branches:
            self.scope.names, self.flow = dict(start[0]), dict(start[1])
            self.ended = False
            branch()
            if not self.ended or loops:
                ends.append(self._snapshot())
        self.ended = not ends
        if not ends:
            return
        names: dict[str, Value] = {}
        for name in {name for end, _ in ends for name in end}:
            names[name] = self.merge([end[name] for end, _ in ends if name in end], mixes=mixes)
        self.scope.names = names
        shared = set(ends[0][1]).intersection(*(end for _, end in ends[1:]))
        kept = {key: self.merge([end[key] for _, end in ends], mixes=mixes) for key in shared}
        if loops:  # a loop over rows that calls the extension is taken to run at least once
            kept |= {key: SCALAR for _, end in ends for key in end if key[0] in (WRITTEN, TOUCHED)}
        self.flow = kept

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

    def _loop(self, body: Sequence[ast.stmt], step: Callable[[], object]) -> None:
        for _ in range(2):
            self._branches([lambda: (step(), self.run(body)), lambda: None], mixes=False, loops=True)

    def _try(self, node: ast.Try | ast.TryStar) -> None:
        before = len(self.extension_calls)
        start = self._snapshot()
        self.run(node.body)
        ended, self.ended = self.ended, False
        called = len(self.extension_calls) > before and self.phase == "forward"
        done = self._snapshot()

        def handler(part: ast.ExceptHandler) -> Callable[[], None]:
            def body() -> None:
                self.scope.names = {**start[0], **done[0]}
                if part.name:
                    self.bind(part.name, SCALAR)
                self.run(part.body)

            return body

        for part in node.handlers:
            if called and not always_raises(part.body):
                self.flag(
                    "fallback-around-extension", part, "an exception of the extension call is caught and not raised again"
                )
        branches: list[Callable[[], object]] = [] if ended else [lambda: self.run(node.orelse)]
        branches += [handler(part) for part in node.handlers]
        if branches:
            self._branches(branches)
        ended = self.ended or not branches
        self.ended = False
        self.run(node.finalbody)
        self.ended = self.ended or ended
        if called and any(isinstance(part, ast.Return) for one in node.finalbody for part in ast.walk(one)):
            self.flag("fallback-around-extension", node, "finally returns, which swallows the extension's exception")

    def _match(self, node: ast.Match) -> None:
        subject = self.evaluate(node.subject)

        def branch(case: ast.match_case) -> Callable[[], None]:
            def body() -> None:
                for part in ast.walk(case.pattern):
                    name = getattr(part, "name", None) or getattr(part, "rest", None)
                    if isinstance(name, str):
                        self.bind(name, join((subject, subject.element())))
                if case.guard is not None:
                    self._test(case.guard)
                self.run(case.body)

            return body

        last = node.cases[-1]
        complete = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
        self._branches([branch(case) for case in node.cases] + ([] if complete else [lambda: None]))

    def _import_from(self, node: ast.ImportFrom) -> None:
        module_name = node.module or ""
        module = self.resolve_import(self, module_name, node, self.scope) if module_name else SCALAR
        for alias in node.names:
            if not module_name or module_name.split(".")[0] == "kernel":
                full = f"{module_name}.{alias.name}".lstrip(".")
                value = self.resolve_import(self, full, node, self.scope)
                if module.modules and not value.modules and not _is_extension(value):
                    value = self.attribute(module, alias.name, node)
            elif alias.name == "*":
                for scope in module.modules:
                    self.scope.names.update(scope.names)
                for name in module.names:
                    if name.startswith(("torch", "numpy", "ext:")):
                        self.flag("dynamic-attribute", node, f"import * from {module_name} hides where names come from")
                continue
            else:
                value = self.attribute(module, alias.name, node)
            self.bind(alias.asname or alias.name, value)

    # ---- names, attributes, stores -------------------------------------------------------------------------

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
        parts = [part for part in (instance.attributes.get(name), self._persisted_names.get(key)) if part is not None]
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
            takes_self = one.receiver is None and one.function.owner is not None and one.function.kind != "static"
            if one.function.kind == "class" or (takes_self and not unbound):
                bound.add(BoundFunction(function=one.function, receiver=owner))
            else:
                bound.add(one)
        return Value(
            **{**{f: getattr(found, f) for f in found.__dataclass_fields__}, "functions": frozenset(bound)}
        )

    def assign(self, target: ast.expr, value: Value) -> None:
        """Store `value` into a target."""
        match target:
            case ast.Name():
                self.bind(target.id, value)
            case ast.Tuple() | ast.List():
                items = value.items
                plain = len(target.elts) == len(items or ()) and not any(isinstance(e, ast.Starred) for e in target.elts)
                for index, part in enumerate(target.elts):
                    self.assign(part, items[index] if plain and items is not None else self.iterate(value, target))
            case ast.Starred():
                self.assign(target.value, Value(**{**_fields(value), "container": True, "items": None}))
            case ast.Attribute():
                self._store_attribute(self.evaluate(target.value), target.attr, value, target)
            case ast.Subscript():
                self._store_item(target, value)
            case _:
                pass

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
                instance.attributes[name] = value if known is None or self.phase == "init" else join((known, value))
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

    def _store_item(self, target: ast.Subscript, value: Value) -> None:
        owner = self.evaluate(target.value)
        self.evaluate(target.slice)
        self.put(owner, value, target)
        if not owner.bare_tensor or self.phase != "forward":
            return
        if values.HOSTDATA in value.marks:
            self.flag("host-data-computed", target, "values read out of tensors are written into a tensor")
        elif value.holds_tensor and values.COMPUTED not in value.marks:
            self.flag("adapter-data-movement", target, "tensor data is copied into a part of another tensor")
        elif values.EXTENSION in owner.marks:
            self.flag("tensor-arithmetic", target, "the extension's result is overwritten in the adapter")
        elif values.INPUT in owner.marks:
            self.flag("input-mutated", target, "an input is written in the adapter")

    def put(self, owner: Value, value: Value, node: ast.AST) -> None:
        """Join `value` into every container that `owner` may be."""
        for cell in owner.cells:
            cell.put(value)
            if cell.persistent:
                self._note_state(value, node)
        for outside in owner.names:
            if outside.startswith(("sys.", "os.environ")) and not outside.startswith("sys.path"):
                self.flag("monkey-patch", node, f"writes into {outside}", "suspect" if "environ" in outside else None)

    def cell(self, node: ast.AST) -> Cell:
        """The container that the expression `node` creates; the same for every evaluation of it."""
        if id(node) not in self._cells:
            self._cells[id(node)] = Cell(persistent=self.phase in ("load", "init"))
        return self._cells[id(node)]

    # ---- functions and classes -----------------------------------------------------------------------------

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef, owner: Class | None = None) -> Value:
        function = Function(node=node, scope=self.scope, name=node.name, owner=owner)
        function.defaults = self._defaults(node.args)
        self.functions.append(function)
        value = Value(functions=frozenset((BoundFunction(function=function),)))
        for decorator in reversed(node.decorator_list):
            wrapper = self.evaluate(decorator)
            names = {name.removesuffix("()") for name in wrapper.names}
            if "builtins.staticmethod" in names:
                function.kind = "static"
            elif "builtins.classmethod" in names:
                function.kind = "class"
            elif names & {"builtins.property", "functools.cached_property"} or (
                isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "getter", "deleter")
            ):
                function.kind = "property"
                function.cached = "functools.cached_property" in names
            elif names & facts.CACHE_DECORATORS:
                function.cached = True
            elif wrapper.functions or wrapper.classes:
                value = self.calls.call(wrapper, [value], {}, decorator)
            elif names and not names <= facts.TRANSPARENT_DECORATORS:
                self.flag("unknown-decorator", decorator, f"{node.name} is wrapped by {', '.join(sorted(names))}")
        return value

    def _defaults(self, arguments: ast.arguments) -> dict[str, Value]:
        positional = [*arguments.posonlyargs, *arguments.args]
        found = {}
        for argument, default in zip(positional[::-1], arguments.defaults[::-1], strict=False):
            found[argument.arg] = self.evaluate(default)
        for argument, keyword_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if keyword_default is not None:
                found[argument.arg] = self.evaluate(keyword_default)
        return found

    def _define_class(self, node: ast.ClassDef) -> Value:
        cls = Class(node=node, scope=self.scope, bases=tuple(self.evaluate(base) for base in node.bases))
        for keyword in node.keywords:
            self.evaluate(keyword.value)
            if keyword.arg == "metaclass":
                self.flag("unknown-decorator", node, f"class {node.name} has a metaclass")
        if cls.base_names() & {"torch.Tensor", "torch.nn.Parameter", "torch.nn.parameter.Parameter"}:
            self.flag("tensor-subclass", node, f"class {node.name} is a tensor subclass")
        outer = self.scope
        self.scope = Scope(file=outer.file, parent=outer)
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                if statement.name in facts.FORGING_METHODS:
                    self.flag("forged-result", statement, f"class {node.name} defines {statement.name}")
                if statement.name in facts.LOOKUP_METHODS:
                    self.flag("dynamic-attribute", statement, f"class {node.name} defines {statement.name}")
                self.scope.names[statement.name] = self._define(statement, cls)
            else:
                self._statement(statement)
        cls.attributes = self.scope.names
        self.scope = outer
        for function in cls.attributes.values():
            for bound in function.functions:
                bound.function.scope = outer
        value = Value(classes=frozenset((cls,)))
        for decorator in reversed(node.decorator_list):
            wrapper = self.evaluate(decorator)
            if wrapper.functions:
                value = join((value, self.calls.call(wrapper, [value], {}, decorator)))
            elif not {n.removesuffix("()") for n in wrapper.names} <= facts.TRANSPARENT_DECORATORS:
                self.flag("unknown-decorator", decorator, f"class {node.name} is wrapped by {ast.unparse(decorator)[:60]}")
        return value

    def invoke(
        self, bound: BoundFunction, arguments: Sequence[Value], keywords: Mapping[str, Value]
    ) -> tuple[Value, list[Returned]]:
        """Run a workspace function; gives the joined result and each return."""
        function = bound.function
        given = [bound.receiver, *arguments] if bound.receiver is not None else list(arguments)
        key = (id(function.node), tuple(value.holds_tensor for value in (*given, *keywords.values())))
        if self._stack.count(key) > 1 or len(self._stack) >= MAX_DEPTH:
            return join(given) if given else SCALAR, []
        self.visited.add(id(function.node))
        local = Scope(file=function.scope.file, parent=function.scope)
        self._bind_arguments(function, list(given), dict(keywords), local)
        outer, self.scope = self.scope, local
        ended, self.ended = self.ended, False
        self._stack.append(key)
        self._returns.append([])
        try:
            if isinstance(function.node, ast.Lambda):
                self._return(self.evaluate(function.node.body), function.node)
            else:
                self.run(function.node.body)
        finally:
            returns = self._returns.pop()
            self._stack.pop()
            self.scope = outer
            self.ended = ended
        plain = [one for one in returns if not one.guarded_empty] or returns
        return (self.merge([one.value for one in plain]) if returns else SCALAR), returns

    @staticmethod
    def _bind_arguments(function: Function, given: list[Value], keywords: dict[str, Value], local: Scope) -> None:
        arguments = function.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        for argument in positional:
            if given:
                local.names[argument.arg] = given.pop(0)
            elif argument.arg in keywords:
                local.names[argument.arg] = keywords.pop(argument.arg)
            elif "*" in keywords:
                local.names[argument.arg] = keywords["*"]
            else:
                local.names[argument.arg] = function.defaults.get(argument.arg, SCALAR)
        for argument in arguments.kwonlyargs:
            fallback = keywords.get("*", function.defaults.get(argument.arg, SCALAR))
            local.names[argument.arg] = keywords.pop(argument.arg, fallback)
        if arguments.vararg is not None:
            local.names[arguments.vararg.arg] = sequence(given)
        if arguments.kwarg is not None:
            whole = sequence(keywords.values())
            local.names[arguments.kwarg.arg] = Value(**{**_fields(join((whole, SCALAR))), "container": True})

    def _return(self, value: Value, node: ast.AST) -> None:
        if self._returns:
            line = getattr(node, "lineno", 0)
            self._returns[-1].append(
                Returned(
                    value=value,
                    file=self.scope.file,
                    line=line,
                    guarded_empty=self.empty_guards > 0,
                    good=tuple(self.from_extension(part) for part in parts_of(value)),
                    touched=tuple(
                        values.COMPUTED not in part.marks and any((TOUCHED, site) in self.flow for site in part.sites)
                        for part in parts_of(value)
                    ),
                )
            )

    # ---- expressions ---------------------------------------------------------------------------------------

    def iterate(self, value: Value, node: ast.AST) -> Value:
        """One element of an iterable; iterating a tensor gives views of it."""
        del node
        return value.element()

    def evaluate(self, node: ast.expr) -> Value:
        """The abstract value of an expression."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooComplex
        match node:
            case ast.Constant():
                return text(node.value) if isinstance(node.value, str) else SCALAR
            case ast.Name():
                return self.lookup(node.id, node)
            case ast.Attribute():
                return self.attribute(self.evaluate(node.value), node.attr, node)
            case ast.Call():
                return self._call(node)
            case ast.BinOp():
                return self._binary(self.evaluate(node.left), self.evaluate(node.right), node)
            case ast.UnaryOp():
                operand = self.evaluate(node.operand)
                if operand.bare_tensor and not isinstance(node.op, ast.Not):
                    return self.computes("tensor-arithmetic", node, "an operator computes on a tensor", operand)
                return Value(marks=operand.marks & {values.HOSTDATA})
            case ast.BoolOp():
                return join([self.evaluate(part) for part in node.values])
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                self._test(node.test)
                mixes = not is_emptiness_test(node.test)
                return self.merge([self.evaluate(node.body), self.evaluate(node.orelse)], mixes=mixes)
            case ast.Tuple():
                return self._sequence(node.elts)
            case ast.List() | ast.Set():
                known = self._sequence(node.elts)
                return Value(**{**_fields(known), "cells": known.cells | {self.cell(node)}})
            case ast.Dict():
                for dict_key in node.keys:
                    if dict_key is not None:
                        self.evaluate(dict_key)
                cell = self.cell(node)
                for part in node.values:
                    cell.put(self.evaluate(part))
                return Value(container=True, tensor=bool(cell.content and cell.content.tensor), cells=frozenset((cell,)))
            case ast.Subscript():
                return self._subscript(node)
            case ast.Starred():
                return self.evaluate(node.value)
            case ast.Lambda():
                function = Function(node=node, scope=self.scope, name="<lambda>", defaults=self._defaults(node.args))
                self.functions.append(function)
                return Value(functions=frozenset((BoundFunction(function=function),)))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node)
            case ast.NamedExpr():
                value = self.evaluate(node.value)
                self.assign(node.target, value)
                return value
            case ast.JoinedStr():
                return self._formatted(node)
            case ast.FormattedValue():
                return self.evaluate(node.value)
            case ast.Await() | ast.YieldFrom():
                return self.evaluate(node.value)
            case ast.Yield():
                value = self.evaluate(node.value) if node.value is not None else SCALAR
                self._return(Value(**{**_fields(value), "container": True, "items": None}), node)
                return SCALAR
            case _:
                return SCALAR

    def _sequence(self, elements: Sequence[ast.expr]) -> Value:
        parts = [self.evaluate(part) for part in elements]
        if any(isinstance(part, ast.Starred) for part in elements):
            spread = [
                value.element() if isinstance(part, ast.Starred) else value
                for part, value in zip(elements, parts, strict=True)
            ]
            return Value(**{**_fields(join(spread)), "container": True, "items": None})
        return sequence(parts)

    def _call(self, node: ast.Call) -> Value:
        callee = self.evaluate(node.func)
        arguments: list[Value] = []
        keywords: dict[str, Value] = {}
        for argument in node.args:
            value = self.evaluate(argument)
            if isinstance(argument, ast.Starred):
                if value.items is not None and not value.cells:
                    arguments.extend(value.items)
                else:
                    keywords["*"] = join((keywords.get("*", value.element()), value.element()))
            else:
                arguments.append(value)
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            keywords[keyword.arg or "*"] = value if keyword.arg else value.element()
        return self.calls.call(callee, arguments, keywords, node)

    def _binary(self, left: Value, right: Value, node: ast.BinOp | ast.AugAssign) -> Value:
        if left.bare_tensor or right.bare_tensor:
            # A container times a number, or a path joined by "/", is no arithmetic on tensors.
            return self.computes(
                "tensor-arithmetic", node, f"{type(node.op).__name__} computes on tensors", left, right
            )
        if left.container or right.container:
            return Value(**{**_fields(join((left, right))), "container": True, "items": None})
        texts = frozenset(
            a + b for a in left.texts for b in right.texts if isinstance(node.op, ast.Add) and len(a) + len(b) < 200
        )
        marks = (left.marks | right.marks) & {values.HOSTDATA}
        return Value(texts=texts, marks=marks)

    def _compare(self, node: ast.Compare) -> Value:
        operands = [self.evaluate(part) for part in (node.left, *node.comparators)]
        by_value = [op for op in node.ops if not isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn)]
        none = any(isinstance(part, ast.Constant) and part.value is None for part in (node.left, *node.comparators))
        if by_value and not none and any(one.bare_tensor for one in operands):
            return self.computes("tensor-arithmetic", node, "a comparison computes on tensors", *operands)
        return SCALAR

    def _subscript(self, node: ast.Subscript) -> Value:
        owner = self.evaluate(node.value)
        key = self.evaluate(node.slice) if not isinstance(node.slice, ast.Slice) else self._slice(node.slice)
        if owner.names:
            self.check_name(owner, node)
        if owner.bare_tensor:
            inside = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
            gathers = key.tensor or any(isinstance(part, ast.List) for part in inside)
            if gathers:
                return self.computes("tensor-indexing", node, "a tensor is indexed by a tensor or a list", owner, key)
            return owner
        if owner.items is not None and not owner.cells and isinstance(node.slice, ast.Constant):
            index = node.slice.value
            if isinstance(index, int) and -len(owner.items) <= index < len(owner.items):
                return owner.items[index]
        if isinstance(node.slice, ast.Slice) and owner.container:
            return Value(**{**_fields(owner), "items": None})
        if isinstance(node.slice, ast.Slice) and owner.texts:
            try:
                bounds = ast.literal_eval(ast.unparse(ast.Tuple([
                    part or ast.Constant(None) for part in (node.slice.lower, node.slice.upper, node.slice.step)
                ], ast.Load())))
                return Value(texts=frozenset(one[slice(*bounds)] for one in owner.texts))
            except (ValueError, TypeError):
                return SCALAR
        if owner.names and not owner.container:
            return Value(names=frozenset(f"{name}[]" for name in owner.names))
        return owner.element()

    def _slice(self, node: ast.Slice) -> Value:
        return join([self.evaluate(part) for part in (node.lower, node.upper, node.step) if part is not None])

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        outer = self.scope
        self.scope = Scope(file=outer.file, parent=outer)
        for generator in node.generators:
            self.assign(generator.target, self.iterate(self.evaluate(generator.iter), node))
            for condition in generator.ifs:
                self.evaluate(condition)
        if isinstance(node, ast.DictComp):
            self.evaluate(node.key)
            element = self.evaluate(node.value)
        else:
            element = self.evaluate(node.elt)
        self.scope = outer
        return Value(**{**_fields(element), "container": True, "items": None})

    def _formatted(self, node: ast.JoinedStr) -> Value:
        texts = [""]
        for part in node.values:
            value = self.evaluate(part)
            if not value.texts:
                return SCALAR
            texts = [a + b for a in texts for b in sorted(value.texts)][:32]
        return Value(texts=frozenset(texts))


def _fields(value: Value) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _is_extension(value: Value) -> bool:
    return any(name.startswith("ext:") for name in value.names)


def _loaded(target: ast.expr) -> ast.expr:
    match target:
        case ast.Name():
            return ast.copy_location(ast.Name(target.id, ast.Load()), target)
        case ast.Attribute():
            return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
        case ast.Subscript():
            return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
        case _:
            return target


def is_emptiness_test(test: ast.expr) -> bool:
    """Whether a condition only asks whether a tensor has no elements, where an early return is honest."""
    match test:
        case ast.BoolOp(op=ast.Or(), values=parts):
            return all(is_emptiness_test(part) for part in parts)
        case ast.BoolOp(op=ast.And(), values=parts):
            return any(is_emptiness_test(part) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return isinstance(operand, ast.Call | ast.Name) and "numel" in ast.unparse(operand)
        case ast.Compare(left=ast.Constant(value=0), ops=[ast.In()]):
            return True
        case ast.Compare(ops=[ast.Eq() | ast.LtE()], comparators=[ast.Constant(value=0)]):
            return "dim()" not in ast.unparse(test)
        case ast.Compare(ops=[ast.Lt()], comparators=[ast.Constant(value=1)]):
            return True
        case _:
            return False


def always_raises(body: Sequence[ast.stmt]) -> bool:
    """Whether a block can't be left but by an exception."""
    for statement in body:
        if isinstance(statement, ast.Raise):
            return True
        if isinstance(statement, ast.Return):
            return False
        if isinstance(statement, ast.If) and always_raises(statement.body) and always_raises(statement.orelse):
            return True
    return False
