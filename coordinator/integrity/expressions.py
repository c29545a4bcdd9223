"""Expressions of the adapter: what each may stand for, and whether evaluating it computes on tensors."""

import ast
from collections.abc import Sequence
from dataclasses import replace

from coordinator.integrity import values
from coordinator.integrity.memory import MAX_STEPS, TOUCHED, Memory, Returned, TooComplex, parts_of
from coordinator.integrity.values import SCALAR, BoundFunction, Function, Scope, Value, join, sequence, text


class Expressions(Memory):
    """The interpreter's expressions, and stores into targets."""

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
                    return self.computes(
                        "tensor-arithmetic", node, "an operator computes on a tensor", operand
                    )
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
                return replace(known, cells=known.cells | {self.cell(node)})
            case ast.Dict():
                for dict_key in node.keys:
                    if dict_key is not None:
                        self.evaluate(dict_key)
                cell = self.cell(node)
                for part in node.values:
                    cell.put(self.evaluate(part))
                return Value(
                    container=True,
                    tensor=bool(cell.content and cell.content.tensor),
                    cells=frozenset((cell,)),
                )
            case ast.Subscript():
                return self._subscript(node)
            case ast.Starred():
                return self.evaluate(node.value)
            case ast.Lambda():
                function = Function(
                    node=node, scope=self.scope, name="<lambda>", defaults=self._defaults(node.args)
                )
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
                self._return(replace(value, container=True, items=None), node)
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
            return replace(join(spread), container=True, items=None)
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
            return replace(join((left, right)), container=True, items=None)
        texts = frozenset(
            a + b
            for a in left.texts
            for b in right.texts
            if isinstance(node.op, ast.Add) and len(a) + len(b) < 200
        )
        marks = (left.marks | right.marks) & {values.HOSTDATA}
        return Value(texts=texts, marks=marks)

    def _compare(self, node: ast.Compare) -> Value:
        operands = [self.evaluate(part) for part in (node.left, *node.comparators)]
        by_value = [op for op in node.ops if not isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn)]
        none = any(
            isinstance(part, ast.Constant) and part.value is None for part in (node.left, *node.comparators)
        )
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
                return self.computes(
                    "tensor-indexing", node, "a tensor is indexed by a tensor or a list", owner, key
                )
            return owner
        if owner.items is not None and not owner.cells and isinstance(node.slice, ast.Constant):
            index = node.slice.value
            if isinstance(index, int) and -len(owner.items) <= index < len(owner.items):
                return owner.items[index]
        if isinstance(node.slice, ast.Slice) and owner.container:
            return replace(owner, items=None)
        if isinstance(node.slice, ast.Slice) and owner.texts:
            try:
                bounds = ast.literal_eval(
                    ast.unparse(
                        ast.Tuple(
                            [
                                part or ast.Constant(None)
                                for part in (node.slice.lower, node.slice.upper, node.slice.step)
                            ],
                            ast.Load(),
                        )
                    )
                )
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
        return replace(element, container=True, items=None)

    def _formatted(self, node: ast.JoinedStr) -> Value:
        texts = [""]
        for part in node.values:
            value = self.evaluate(part)
            if not value.texts:
                return SCALAR
            texts = [a + b for a in texts for b in sorted(value.texts)][:32]
        return Value(texts=frozenset(texts))

    def _test(self, test: ast.expr) -> None:
        value = self.evaluate(test)
        if value.bare_tensor and self.phase == "forward" and isinstance(test, ast.Name | ast.Subscript):
            self.flag("host-data-read", test, "a branch hangs on the value of a tensor")

    def assign(self, target: ast.expr, value: Value) -> None:
        """Store `value` into a target."""
        match target:
            case ast.Name():
                self.bind(target.id, value)
            case ast.Tuple() | ast.List():
                items = value.items
                plain = len(target.elts) == len(items or ()) and not any(
                    isinstance(e, ast.Starred) for e in target.elts
                )
                for index, part in enumerate(target.elts):
                    self.assign(
                        part, items[index] if plain and items is not None else self.iterate(value, target)
                    )
            case ast.Starred():
                self.assign(target.value, replace(value, container=True, items=None))
            case ast.Attribute():
                self._store_attribute(self.evaluate(target.value), target.attr, value, target)
            case ast.Subscript():
                self._store_item(target, value)
            case _:
                pass

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

    def _defaults(self, arguments: ast.arguments) -> dict[str, Value]:
        positional = [*arguments.posonlyargs, *arguments.args]
        found = {}
        for argument, default in zip(positional[::-1], arguments.defaults[::-1], strict=False):
            found[argument.arg] = self.evaluate(default)
        for argument, keyword_default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if keyword_default is not None:
                found[argument.arg] = self.evaluate(keyword_default)
        return found

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
                        values.COMPUTED not in part.marks
                        and any((TOUCHED, site) in self.flow for site in part.sites)
                        for part in parts_of(value)
                    ),
                )
            )


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
