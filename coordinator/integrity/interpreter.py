"""An abstract interpreter for the adapter: follows tensors from forward's parameters to what it returns.

Flow-sensitive in names and attributes, joins over branches, two passes over loops, calls inlined (bounded).
What a call means is in `calls`; what a value may be is in `values`.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from coordinator.integrity import python_facts as facts
from coordinator.integrity.expressions import Expressions, is_emptiness_test
from coordinator.integrity.memory import MAX_DEPTH, MAX_STEPS, TOUCHED, WRITTEN, Returned, TooComplex
from coordinator.integrity.values import (
    SCALAR,
    BoundFunction,
    Class,
    Function,
    Scope,
    Value,
    join,
    named,
    sequence,
)


class Interpreter(Expressions):
    """Statements, functions and classes, on top of expressions and memory."""

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
                before = self.extension_count
                suppresses = False
                for item in node.items:
                    context = self.evaluate(item.context_expr)
                    suppresses = suppresses or "contextlib.suppress()" in context.names
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, context)
                self.run(node.body)
                if suppresses and self.extension_count > before:
                    self.flag(
                        "fallback-around-extension", node, "exceptions of the extension call are suppressed"
                    )
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

    def _loop(self, body: Sequence[ast.stmt], step: Callable[[], object]) -> None:
        def turn() -> None:
            step()
            self.run(body)

        for _ in range(2):
            self._branches([turn, lambda: None], mixes=False, loops=True)

    def _try(self, node: ast.Try | ast.TryStar) -> None:
        before = self.extension_count
        start = self._snapshot()
        self.run(node.body)
        ended, self.ended = self.ended, False
        called = self.extension_count > before and self.phase == "forward"
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
                    "fallback-around-extension",
                    part,
                    "an exception of the extension call is caught and not raised again",
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
            self.flag(
                "fallback-around-extension", node, "finally returns, which swallows the extension's exception"
            )

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
        complete = (
            isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
        )
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
                        self.flag(
                            "dynamic-attribute",
                            node,
                            f"import * from {module_name} hides where names come from",
                        )
                continue
            else:
                value = self.attribute(module, alias.name, node)
            self.bind(alias.asname or alias.name, value)

    # ---- functions and classes

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
                self.flag(
                    "unknown-decorator", decorator, f"{node.name} is wrapped by {', '.join(sorted(names))}"
                )
        return value

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
                self.flag(
                    "unknown-decorator",
                    decorator,
                    f"class {node.name} is wrapped by {ast.unparse(decorator)[:60]}",
                )
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
    def _bind_arguments(
        function: Function, given: list[Value], keywords: dict[str, Value], local: Scope
    ) -> None:
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
            local.names[arguments.kwarg.arg] = replace(join((whole, SCALAR)), container=True)


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


def always_raises(body: Sequence[ast.stmt]) -> bool:
    """Whether a block can't be left but by an exception."""
    for statement in body:
        if isinstance(statement, ast.Raise):
            return True
        if isinstance(statement, ast.Return):
            return False
        if (
            isinstance(statement, ast.If)
            and always_raises(statement.body)
            and always_raises(statement.orelse)
        ):
            return True
    return False
