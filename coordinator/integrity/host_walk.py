"""Follows tensors through host-side C++: from the bound function's parameters to the kernel launch.

Flow-insensitive inside a function (two passes), context-insensitive between functions (parameters join over all
calls, to a fixed point). Device code is not walked: a kernel may compute whatever it likes.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from coordinator.integrity import cpp_facts as facts
from coordinator.integrity import cpp_values as values
from coordinator.integrity.cpp_source import (
    CppFunction,
    Parameter,
    Source,
    line_of,
    parameters_of,
    text_of,
    walk,
)
from coordinator.integrity.cpp_values import OTHER, CppValue, join
from coordinator.integrity.report import Findings
from coordinator.integrity.rules import Level
from coordinator.integrity.words import words

_TENSOR_TYPE = re.compile(r"\bTensor\b")
_CONTAINER_TYPE = re.compile(
    r"\b(vector|ArrayRef|TensorList|ITensorListRef|array|tuple|pair|List|deque|list|map|unordered_map)\b"
)
_LIST_OF_TENSORS = re.compile(r"\b(TensorList|ITensorListRef)\b")
_CASTS = words("static_cast reinterpret_cast const_cast dynamic_cast bit_cast")
_ARITHMETIC = words("+ - * / % & | ^ < > <= >= == != && ||")


@dataclass(frozen=True, kw_only=True)
class Launch:
    """A launch site: which kernels it may start, and where it stands."""

    function: str
    kernels: tuple[str, ...]
    file: str
    line: int
    origins: frozenset[str]


@dataclass(eq=False, kw_only=True)
class Unit:
    """A host function under the walk, with what is known of it so far."""

    function: CppFunction
    parameters: dict[str, CppValue] = field(default_factory=dict)
    returned: list[tuple[CppValue, int, bool]] = field(default_factory=list)
    calls: dict[str, int] = field(default_factory=dict)
    launches: dict[int, Launch] = field(default_factory=dict)


@dataclass(eq=False, kw_only=True)
class HostWalk:
    """Walks all host functions of the workspace.

    Attributes:
        functions: definitions by name; overloads and same-named methods share a name.
        reachable: names of functions that the bindings reach; None while not yet known.
    """

    sources: Sequence[Source]
    findings: Findings
    functions: dict[str, list[CppFunction]]
    units: dict[int, Unit] = field(default_factory=dict)
    globals_: dict[str, CppValue] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    launched: set[str] = field(default_factory=set)
    changed: bool = False
    silent: bool = True
    lowered: bool = False
    env: dict[str, CppValue] = field(default_factory=dict)
    unit: Unit = field(init=False)
    fields: dict[str, str] = field(default_factory=dict)
    lambdas: dict[str, Node] = field(default_factory=dict)
    inlining: set[str] = field(default_factory=set)
    kernels: frozenset[str] = frozenset()
    externals: frozenset[str] = frozenset()  # declared, not defined in the workspace
    transpose_level: Level | None = None

    # ---- driving -------------------------------------------------------------------------------------------

    def unit_of(self, function: CppFunction) -> Unit:
        """The unit of a function, made on first use."""
        if id(function) not in self.units:
            self.units[id(function)] = Unit(function=function)
        return self.units[id(function)]

    def walk_unit(self, unit: Unit) -> None:
        """Walk one function; twice, so that a variable used before its last assignment is known."""
        function = unit.function
        self.unit = unit
        self.env = {}
        unit.returned.clear()
        for parameter in function.parameters:
            declared = self.declared(parameter.type, pointer=parameter.pointer)
            given = unit.parameters.get(parameter.name, OTHER)
            self.env[parameter.name] = join((declared, given)) if declared != OTHER else given
        quiet, self.silent = self.silent, True
        self.visit(function.body)
        self.silent = quiet
        unit.returned.clear()
        self.visit(function.body)

    def flag(self, rule: str, node: Node, message: str, level: Level | None = None) -> None:
        """Record a reason; in a function that no binding reaches, a cheat counts as suspect."""
        if self.silent:
            return
        if self.lowered and level != "note":
            level = "suspect"
        path = self.unit.function.source.path
        self.findings.add(rule, file=path, line=line_of(node), message=message, level=level)

    def declared(self, kind: str, *, pointer: bool = False) -> CppValue:
        """What a declared type says."""
        expanded = self.aliases.get(kind.strip(), kind)
        if _LIST_OF_TENSORS.search(expanded):
            return CppValue(tensor=True, container=True)
        if _TENSOR_TYPE.search(expanded) and not pointer:
            return CppValue(tensor=True, container=bool(_CONTAINER_TYPE.search(expanded)))
        return OTHER

    # ---- statements ----------------------------------------------------------------------------------------

    def visit(self, node: Node) -> None:
        """Walk a statement, or any node that is no expression."""
        kind = node.type
        if kind == "declaration":
            self.declare(node)
        elif kind == "return_statement":
            parts = node.named_children
            value = self.value(parts[0]) if parts else OTHER
            self.unit.returned.append((value, line_of(node), _under_empty_guard(node)))
        elif kind == "for_range_loop":
            iterable = self.value(node.child_by_field_name("right"))
            element = replace(iterable, container=False)
            declarator = node.child_by_field_name("declarator")
            for name in _names_in(declarator):
                self.assign_name(name, element)
            if iterable.is_tensor:
                self.flag("host-loop", node, "host code iterates over a tensor")
            self.visit_all(node.child_by_field_name("body"))
        elif kind in (
            "function_definition",
            "class_specifier",
            "struct_specifier",
            "comment",
            "preproc_def",
            "preproc_function_def",
        ):
            return
        elif kind.endswith("expression") or kind in _LEAVES:
            self.value(node)
        else:
            for child in node.named_children:
                self.visit(child)

    def visit_all(self, node: Node | None) -> None:
        """Walk a node that may be missing."""
        if node is not None:
            self.visit(node)

    def declare(self, node: Node) -> None:
        """Walk a declaration: its variables, and what initialises them."""
        kind = text_of(node.child_by_field_name("type"))
        static = any(
            child.type == "storage_class_specifier" and text_of(child) == "static" for child in node.children
        )
        constant = re.search(r"\b(const|constexpr)\b", text_of(node).split("=")[0]) is not None
        if static:
            self.check_static(node, kind, constant)
        for last in re.findall(r"\w+", kind):
            if last in facts.FORBIDDEN_TYPES and (
                "std::" in kind or "using namespace std" in text_of(self.unit.function.source.root)
            ):
                self.flag(facts.FORBIDDEN_TYPES[last], node, f"uses {kind}")
        for child in node.children_by_field_name("declarator"):
            self._declare_one(child, kind, static)

    def _declare_one(self, child: Node, kind: str, static: bool) -> None:
        declared = self.declared(kind)
        if child.type == "function_declarator":
            # `at::Tensor z(x);` reads like a function; its "parameter types" are the arguments.
            given = [self.env[p.type] for p in parameters_of(child) if p.type in self.env]
            for name in _names_in(child.child_by_field_name("declarator")):
                self.assign_name(name, join([declared, *given]))
            return
        if child.type != "init_declarator":
            for name in _names_in(child):
                self.assign_name(
                    name, declared.marked(values.STATIC) if static and declared.tensor else declared
                )
            return
        initial = child.child_by_field_name("value")
        value = self.value(initial) if initial is not None else OTHER
        if initial is not None and initial.type in ("argument_list", "initializer_list"):
            arguments = [self.value(part) for part in initial.named_children]
            value = join(arguments)
            if not declared.tensor and "vector" in kind and any(one.is_data for one in arguments):
                self.flag("host-copy", child, "tensor data is copied into a host container")
            if any(one.is_data for one in arguments) and not declared.tensor:
                value = replace(value, pointer=True)
        listed = initial is not None and initial.type == "initializer_list"
        if listed and value.pointer and any(part.type == "array_declarator" for part in walk(child)):
            value = replace(value, container=True)
        if declared.tensor and not value.tensor:
            value = replace(value, tensor=True, container=declared.container, pointer=False)
        if declared.tensor:
            value = replace(value, container=declared.container or value.container)
        if static and value.tensor:
            value = value.marked(values.STATIC)
        for name in _names_in(child.child_by_field_name("declarator")):
            self.assign_name(name, value)

    def check_static(self, node: Node, kind: str, constant: bool) -> None:
        """Record host state that outlives a call: tensors, containers, arrays; constants are no state."""
        expanded = self.aliases.get(kind.strip(), kind)
        holds = re.search(
            r"\b(Tensor|map|unordered_map|vector|list|deque|array|set|unordered_set|any|queue)\b", expanded
        )
        array = any(part.type == "array_declarator" for part in walk(node))
        pointers = any(part.type == "pointer_declarator" for part in walk(node))
        if constant and not _TENSOR_TYPE.search(expanded):
            return
        if holds or array or (pointers and not constant):
            self.flag("static-cache", node, f"static {kind} keeps state between calls")

    # ---- expressions ---------------------------------------------------------------------------------------

    def value(self, node: Node | None) -> CppValue:
        """The abstract value of an expression."""
        if node is None:
            return OTHER
        kind = node.type
        if kind == "identifier":
            return self._identifier(text_of(node))
        if kind == "call_expression":
            return self.call(node)
        if kind == "field_expression":
            return self._field(node)
        if kind in ("binary_expression",):
            return self._binary(node)
        if kind == "assignment_expression":
            return self._assign(node)
        if kind in ("unary_expression", "update_expression"):
            operand = self.value(node.child_by_field_name("argument"))
            operator = text_of(node.child_by_field_name("operator"))
            if operand.is_tensor and operator != "!":
                self.flag("aten-arithmetic", node, f"operator {operator} computes on a tensor")
                return CppValue(tensor=True, marks=frozenset((values.COMPUTED,)))
            if kind == "update_expression":
                self._count(node)
            return operand
        if kind == "pointer_expression":
            operand = self.value(node.child_by_field_name("argument"))
            if text_of(node.child_by_field_name("operator")) == "*":
                return self.dereference(operand, node)
            return operand
        if kind == "subscript_expression":
            return self._subscript(node)
        if kind in (
            "parenthesized_expression",
            "cast_expression",
            "comma_expression",
            "fold_expression",
            "co_await_expression",
        ):
            parts = [self.value(child) for child in node.named_children if not child.type.startswith("type_")]
            return parts[-1] if parts else OTHER
        if kind == "conditional_expression":
            self.value(node.child_by_field_name("condition"))
            return join(
                [
                    self.value(node.child_by_field_name("consequence")),
                    self.value(node.child_by_field_name("alternative")),
                ]
            )
        if kind in ("qualified_identifier", "template_function"):
            return self._qualified(node)
        if kind == "lambda_expression":
            return self._lambda(node)
        if kind == "compound_literal_expression":
            return join([self.value(node.child_by_field_name("value"))])
        if kind in ("initializer_list", "argument_list", "new_expression", "initializer_pair"):
            inner = join([self.value(child) for child in node.named_children])
            return replace(inner, container=True) if kind == "initializer_list" and inner.tensor else inner
        if kind in _LEAVES or kind.startswith("type_"):
            return OTHER
        for child in node.named_children:
            if child.type.endswith("statement") or child.type == "declaration":
                self.visit(child)
            else:
                self.value(child)
        return OTHER

    def _identifier(self, name: str) -> CppValue:
        if name in self.env:
            return self.env[name]
        if name in self.globals_:
            return self.globals_[name]
        if name in self.functions or name in self.kernels or name in self.externals:
            return CppValue(functions=frozenset((name,)))
        return OTHER

    def assign_name(self, name: str, value: CppValue) -> None:
        """Join a value into a variable."""
        if name in self.globals_ and name not in self.env:
            self.globals_[name] = join((self.globals_[name], value))
            return
        known = self.env.get(name)
        self.env[name] = value if known is None else join((known, value))

    def _lambda(self, node: Node) -> CppValue:
        name = f"lambda {self.unit.function.source.path}:{node.start_byte}"
        self.lambdas[name] = node
        self.inline(name, None)
        return CppValue(functions=frozenset((name,)))

    def inline(self, name: str, arguments: Sequence[CppValue] | None) -> CppValue:
        """Walk a lambda's body where it is made or called; it sees the enclosing variables by name.

        Args:
            name: key in `lambdas`.
            arguments: the values it is called with; None where it is only made.
        """
        node = self.lambdas[name]
        if name in self.inlining:
            return OTHER
        self.inlining.add(name)
        outer, self.unit.returned = self.unit.returned, []
        declarator = node.child_by_field_name("declarator")
        for index, parameter in enumerate(parameters_of(declarator) if declarator is not None else ()):
            declared = self.declared(parameter.type, pointer=parameter.pointer)
            given = arguments[index] if arguments is not None and index < len(arguments) else declared
            self.assign_name(parameter.name, join((declared, given)) if declared != OTHER else given)
        self.visit_all(node.child_by_field_name("body"))
        inner = [value for value, _, _ in self.unit.returned]
        self.unit.returned = outer
        self.inlining.discard(name)
        return join(inner)

    def _field(self, node: Node) -> CppValue:
        base = node.child_by_field_name("argument")
        name = text_of(node.child_by_field_name("field"))
        owner = self.value(base)
        key = f"{text_of(base)}.{name}"
        if key in self.env:
            return self.env[key]
        if text_of(node.child_by_field_name("operator")) == "->" and owner.is_data:
            return self.dereference(owner, node)
        if owner.is_tensor:
            return OTHER
        if name in self.fields:
            declared = self.declared(self.fields[name])
            return join((declared, replace(owner, tensor=declared.tensor, functions=frozenset())))
        return replace(owner, functions=frozenset()) if owner.origins or owner.tensor else OTHER

    def _binary(self, node: Node) -> CppValue:
        left = self.value(node.child_by_field_name("left"))
        right = self.value(node.child_by_field_name("right"))
        operator = text_of(node.child_by_field_name("operator"))
        if (left.is_tensor or right.is_tensor) and operator in _ARITHMETIC:
            self.flag("aten-arithmetic", node, f"operator {operator} computes on tensors")
            marks = left.marks | right.marks | {values.COMPUTED}
            return CppValue(tensor=True, marks=marks - {values.INPUT, values.FRESH})
        if left.pointer or right.pointer:
            return join((left, right)) if operator in ("+", "-") else OTHER
        return CppValue(marks=(left.marks | right.marks) & {values.ON_DEVICE, values.ON_HOST})

    def _assign(self, node: Node) -> CppValue:
        left = node.child_by_field_name("left")
        right = self.value(node.child_by_field_name("right"))
        operator = text_of(node.child_by_field_name("operator"))
        if left is None:
            return right
        if operator != "=":
            target = self.value(left)
            if target.is_tensor or right.is_tensor:
                self.flag("aten-arithmetic", node, f"operator {operator} computes on a tensor")
            self._count(node)
            return target
        if left.type == "identifier":
            if _TENSOR_TYPE.search(text_of(left)) is None:
                self.assign_name(text_of(left), right)
            return right
        if left.type == "field_expression":
            base = left.child_by_field_name("argument")
            owner = self.value(base)
            if text_of(left.child_by_field_name("operator")) == "->" and owner.is_data:
                self.dereference(owner, left)
            key = f"{text_of(base)}.{text_of(left.child_by_field_name('field'))}"
            self.env[key] = join((self.env.get(key, OTHER), right))
            self._put(base, right)
            return right
        if left.type == "subscript_expression":
            self.value(left)
            self._put(left.child_by_field_name("argument"), right)
            return right
        self.value(left)
        return right

    def _put(self, base: Node | None, value: CppValue) -> None:
        """A container or struct now also holds `value`."""
        while base is not None and base.type in (
            "subscript_expression",
            "field_expression",
            "parenthesized_expression",
        ):
            base = base.child_by_field_name("argument") or next(iter(base.named_children), None)
        if base is not None and base.type == "identifier" and (value.tensor or value.pointer):
            name = text_of(base)
            known = self._identifier(name)
            if known.is_tensor or known.is_data:
                return
            self.assign_name(
                name, replace(value, container=value.tensor, pointer=value.pointer and not value.tensor)
            )

    def _subscript(self, node: Node) -> CppValue:
        owner = self.value(node.child_by_field_name("argument"))
        indices = node.child_by_field_name("indices")
        for child in indices.named_children if indices is not None else ():
            index = self.value(child)
            if owner.is_tensor and index.is_tensor:
                self.flag("aten-method-compute", node, "a tensor is indexed by a tensor")
        if owner.container and (owner.tensor or owner.pointer):
            return replace(owner, container=False)
        if owner.is_tensor:
            return owner.marked(values.ELEMENT)
        if owner.pointer:
            return self.dereference(owner, node)
        return replace(owner, pointer=False) if owner.tensor else OTHER

    def dereference(self, pointer: CppValue, node: Node) -> CppValue:
        """Reading or writing through a pointer; tensor elements are for the kernel alone."""
        if pointer.is_data:
            self.flag("host-loop", node, "host code reads or writes tensor elements")
        return OTHER if not pointer.tensor else replace(pointer, pointer=False)

    def _count(self, node: Node) -> None:
        for name in _names_in(node.child_by_field_name("argument") or node.child_by_field_name("left")):
            if name in self.globals_ or name in _static_names(self.unit.function):
                self.flag("call-counter", node, f"{name} counts between calls")

    def _qualified(self, node: Node) -> CppValue:
        namespaces, last = split_qualified(node)
        resolved = self.namespaces(namespaces)
        if resolved and resolved[0] in facts.TENSOR_NAMESPACES:
            self.check_tensor_name(resolved, last, node)
        if last in self.functions or last in self.kernels:
            return CppValue(functions=frozenset((last,)))
        if last in ("kPrivateUse1", "kNPU"):
            return CppValue(marks=frozenset((values.ON_DEVICE,)))
        if last == "kCPU" or (last == "CPU" and "DeviceType" in namespaces):
            return CppValue(marks=frozenset((values.ON_HOST,)))
        return OTHER

    def namespaces(self, parts: Sequence[str]) -> list[str]:
        """Namespace components with aliases resolved."""
        if not parts:
            return []
        alias = self.aliases.get(parts[0])
        head = re.findall(r"\w+", alias) if alias is not None else [parts[0]]
        return [*head, *parts[1:]]

    def check_tensor_name(self, namespaces: Sequence[str], name: str, node: Node) -> bool:
        """Judge a name of at:: or torch::, called or referred to; True where it may stand."""
        if name == "Dispatcher" or "Dispatcher" in namespaces:
            self.flag("aten-dispatch", node, "the dispatcher runs an operator by name")
            return False
        if namespaces[-1] == "OpCommand" or name == "OpCommand":
            return True
        if {"native", "_ops", "redispatch", "cpu", "functional"} & set(namespaces[1:]) and not (
            name in facts.ALLOCATION or name[:1].isupper()
        ):
            if name in ("OpCommand", "get_npu_format", "GetNpuFormat"):
                return True
            self.flag("aten-compute", node, f"{'::'.join(namespaces)}::{name} computes on the host side")
            return False
        if (
            name[:1].isupper()
            or re.match(r"k[A-Z]", name)
            or name in facts.ALLOCATION | facts.METADATA | facts.VIEWS
        ):
            return True
        if {"indexing", "autograd", "library", "init", "detail"} & set(namespaces[1:]) or name in (
            "Library",
        ):
            return True
        if not (name in facts.COMMON_OPERATORS or node.type in ("qualified_identifier", "template_function")):
            return True
        self.flag("aten-compute", node, f"{'::'.join(namespaces)}::{name} computes on the host side")
        return False

    def call(self, node: Node) -> CppValue:
        """Filled in by `host_calls`; a walk of its own knows no calls."""
        raise NotImplementedError(node.type)


_LEAVES = words(
    "number_literal string_literal char_literal true false null nullptr this raw_string_literal concatenated_string "
    "type_descriptor sizeof_expression alignof_expression primitive_type type_identifier template_type comment auto "
    "placeholder_type_specifier user_defined_literal field_identifier namespace_identifier"
)


def split_qualified(node: Node) -> tuple[list[str], str]:
    """Namespaces and last name of a qualified identifier; template arguments are dropped."""
    namespaces: list[str] = []
    current: Node | None = node
    while current is not None and current.type == "qualified_identifier":
        scope = current.child_by_field_name("scope")
        if scope is not None:
            namespaces.extend(re.findall(r"\w+", text_of(scope).split("<")[0]))
        current = current.child_by_field_name("name")
    if current is not None and current.type in ("template_function", "template_method", "template_type"):
        current = current.child_by_field_name("name")
    return namespaces, text_of(current).split("<")[0]


def _names_in(node: Node | None) -> Iterable[str]:
    if node is None:
        return ()
    if node.type in ("identifier", "field_identifier"):
        return (text_of(node),)
    found: list[str] = []
    for child in node.children:
        if child.type in ("identifier",) or child.type.endswith("declarator"):
            found.extend(_names_in(child))
            if node.type in ("array_declarator", "init_declarator"):
                break
    return found


def _static_names(function: CppFunction) -> frozenset[str]:
    names: set[str] = set()
    for node in walk(function.body):
        if node.type == "declaration" and any(
            child.type == "storage_class_specifier" and text_of(child) == "static" for child in node.children
        ):
            for child in node.children_by_field_name("declarator"):
                names.update(_names_in(child.child_by_field_name("declarator") or child))
    return frozenset(names)


def _under_empty_guard(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type not in ("function_definition", "lambda_expression"):
        if parent.type == "if_statement":
            condition = text_of(parent.child_by_field_name("condition"))
            parts = condition.strip("() ").split("||")
            if all(re.search(r"(==|<=)\s*0|!\s*\w+[.\w]*numel|\.empty\(\)", part) for part in parts):
                return True
        parent = parent.parent
    return False


def parameter_values(owner: str, parameters: Sequence[Parameter], walk_: HostWalk) -> dict[str, CppValue]:
    """What the parameters of a function that Python calls hold: every tensor is an input."""
    found = {}
    for parameter in parameters:
        declared = walk_.declared(parameter.type, pointer=parameter.pointer)
        if declared.tensor:
            origin = f"parameter {owner}.{parameter.name}"
            found[parameter.name] = replace(
                declared, marks=frozenset((values.INPUT,)), origins=frozenset((origin,))
            )
    return found
