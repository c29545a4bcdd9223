"""Scans kernel/: does the host side only prepare and launch, and is there a kernel that is launched?"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from coordinator.integrity import cpp_facts as facts
from coordinator.integrity import cpp_values as values
from coordinator.integrity.adapter_scan import ExtensionNames
from coordinator.integrity.cpp_macros import ExpansionTooLarge, Macro, first_definitions
from coordinator.integrity.cpp_source import (
    CppFunction,
    Source,
    is_kernel_source,
    line_of,
    parameters_of,
    read_source,
    text_of,
    walk,
)
from coordinator.integrity.host_calls import HostCalls
from coordinator.integrity.host_walk import HostWalk, Unit, parameter_values, split_qualified
from coordinator.integrity.operator_project import project_of
from coordinator.integrity.report import Findings
from coordinator.integrity.rules import Level
from coordinator.integrity.words import words

_CONSTANT_TABLE = 48  # float literals in one initialiser
_NUMBER_TABLE = 160  # literals of any kind in one initialiser
_ROUNDS = 8  # walks until the parameters of all host functions are known


@dataclass(frozen=True, kw_only=True)
class Binding:
    """A function registered for Python.

    Attributes:
        name: its name in Python.
        functions: names of the C++ functions behind it.
        operator: "namespace.name" for TORCH_LIBRARY, else empty.
    """

    name: str
    functions: tuple[str, ...]
    file: str
    line: int
    operator: str = ""


@dataclass(eq=False, kw_only=True)
class KernelScan:
    """The scan of all kernel sources, in two steps: `read`, then `judge`."""

    files: Mapping[str, str]
    findings: Findings
    transpose_level: Level | None
    sources: list[Source] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    functions: dict[str, list[CppFunction]] = field(default_factory=dict)
    kernels: dict[str, CppFunction] = field(default_factory=dict)
    modules: set[str] = field(default_factory=set)
    walk: HostCalls = field(init=False)

    def read(self) -> ExtensionNames:
        """Parse and index; gives what the sources register."""
        paths = [path for path in sorted(self.files) if is_kernel_source(path, self.files)]
        macros = first_definitions(self.files[path] for path in paths)
        for path in paths:
            try:
                self.sources.append(read_source(path, self.files[path], macros))
            except ExpansionTooLarge:
                self.findings.add("kernel-unreadable", file=path, line=0, message="macros expand without end")
        for source in self.sources:
            for function in source.functions:
                if function.kernel:
                    self.kernels[function.name] = function
        for source in self.sources:
            self._index_bindings(source)
        for source in self.sources:
            for function in source.functions:
                if not function.kernel and function.name not in _REGISTRATIONS:
                    self.functions.setdefault(function.name, []).append(function)
        operators = frozenset(one.operator for one in self.bindings if one.operator)
        returning = frozenset(
            one.name
            for one in self.bindings
            if any(_returns(function) for name in one.functions for function in self.functions.get(name, ()))
        )
        return ExtensionNames(modules=frozenset(self.modules), operators=operators, returning=returning)

    # ---- registrations -------------------------------------------------------------------------------------

    def _index_bindings(self, source: Source) -> None:
        for function in source.functions:
            if function.name not in _REGISTRATIONS:
                continue
            first = function.parameters[0].type if function.parameters else ""
            if function.name == "PYBIND11_MODULE" and first and not first.startswith("TORCH_EXTENSION"):
                self.modules.add(first)
            namespace = "" if function.name == "PYBIND11_MODULE" else first
            for node in walk(function.body):
                if node.type == "call_expression":
                    self._index_definition(node, namespace, source, function)

    def _index_definition(self, node: Node, namespace: str, source: Source, owner: CppFunction) -> None:
        callee = node.child_by_field_name("function")
        listed = node.child_by_field_name("arguments")
        if callee is None or listed is None or callee.type != "field_expression":
            return
        if text_of(callee.child_by_field_name("field")).split("<")[0] not in (
            "def",
            "impl",
            "def_static",
            "attr",
        ):
            return
        arguments = [child for child in listed.named_children if child.type != "comment"]
        if not arguments or arguments[0].type not in ("string_literal", "concatenated_string"):
            return
        name = text_of(arguments[0]).strip('"').split("(")[0].rsplit("::", 1)[-1]
        targets: list[str] = []
        for argument in arguments[1:]:
            targets += self._targets(argument, name, source, owner)
        self.bindings.append(
            Binding(
                name=name,
                functions=tuple(targets),
                file=source.path,
                line=line_of(node),
                operator=f"{namespace}.{name}" if namespace else "",
            )
        )

    def _targets(self, node: Node, name: str, source: Source, owner: CppFunction) -> list[str]:
        if node.type == "lambda_expression":
            declarator = node.child_by_field_name("declarator")
            body = node.child_by_field_name("body")
            if body is None:
                return []
            made = CppFunction(
                name=f"lambda {name}",
                source=source,
                node=node,
                body=body,
                parameters=parameters_of(declarator) if declarator is not None else (),
                returns="",
                device=False,
                kernel=False,
            )
            self.functions.setdefault(made.name, []).append(made)
            return [made.name]
        if node.type in (
            "pointer_expression",
            "call_expression",
            "parenthesized_expression",
            "cast_expression",
            "argument_list",
            "template_function",
        ):
            found: list[str] = []
            for child in node.named_children:
                if text_of(child) not in ("TORCH_FN", "torch::dispatch", "py::arg"):
                    found += self._targets(child, name, source, owner)
            return found
        if node.type in ("identifier", "qualified_identifier"):
            last = split_qualified(node)[1] if node.type == "qualified_identifier" else text_of(node)
            if last in ("arg", "dispatch", "kPrivateUse1", "TORCH_FN", "kw_only", "call_guard", "doc"):
                return []
            return [last]
        return []

    # ---- judging -------------------------------------------------------------------------------------------

    def judge(self, called: Sequence[str]) -> None:
        """Walk the host side and record the reasons.

        Args:
            called: extension functions that forward calls; "*" stands for any.
        """
        if not self.sources:
            self.findings.add("kernel-missing", file="kernel/", line=0, message="there are no kernel sources")
            return
        self.walk = HostCalls(
            sources=self.sources,
            findings=self.findings,
            functions=self.functions,
            kernels=frozenset(self.kernels),
            transpose_level=self.transpose_level,
            operators=project_of(
                {source.path: self.files[source.path] for source in self.sources}, self.sources
            ),
        )
        for source in self.sources:
            self._index_source(source)
        self.walk.externals = frozenset(self.walk.externals - set(self.functions) - set(self.kernels))
        entries = self._entries(called)
        for unit in entries:
            name = unit.function.name
            unit.parameters = parameter_values(name, unit.function.parameters, self.walk)
        for _ in range(_ROUNDS):
            self.walk.changed = False
            for unit in self._host_units():
                self.walk.walk_unit(unit)
            if not self.walk.changed:
                break
        reached = self._reached(entries)
        self.walk.silent = False
        for unit in self._host_units():
            registration = unit.function.name in _REGISTRATIONS
            self.walk.lowered = bool(entries) and id(unit.function) not in reached and not registration
            self.walk.walk_unit(unit)
        for source in self.sources:
            self._check_source(source)

    def _host_units(self) -> list[Unit]:
        called = {name for unit in list(self.walk.units.values()) for name in unit.calls}
        registrations = [
            self.walk.unit_of(function)
            for source in self.sources
            for function in source.functions
            if function.name in _REGISTRATIONS
        ]
        return registrations + [
            self.walk.unit_of(function)
            for name in sorted(self.functions)
            for function in self.functions[name]
            if not function.device or name in called
        ]

    def _entries(self, called: Sequence[str]) -> list[Unit]:
        wanted = set(called)
        found = []
        for binding in self.bindings:
            if "*" not in wanted and wanted and binding.name not in wanted:
                continue
            for name in binding.functions:
                found += [self.walk.unit_of(function) for function in self.functions.get(name, ())]
        return found

    def _reached(self, entries: Sequence[Unit]) -> set[int]:
        reached: set[int] = set()
        pending = list(entries)
        while pending:
            unit = pending.pop()
            if id(unit.function) in reached:
                continue
            reached.add(id(unit.function))
            for name in unit.calls:
                pending += [self.walk.unit_of(function) for function in self.functions.get(name, ())]
        return reached

    # ---- file scope ----------------------------------------------------------------------------------------

    def _index_source(self, source: Source) -> None:
        holder = CppFunction(
            name="",
            source=source,
            node=source.root,
            body=source.root,
            parameters=(),
            returns="",
            device=False,
            kernel=False,
        )
        self.walk.unit = Unit(function=holder)
        self.walk.silent = True
        for node in walk(source.root):
            if node.type == "namespace_alias_definition":
                names = [text_of(child) for child in node.named_children]
                if len(names) == 2:
                    self.walk.aliases[names[0]] = names[1]
            elif node.type == "alias_declaration":
                self.walk.aliases[text_of(node.child_by_field_name("name"))] = text_of(
                    node.child_by_field_name("type")
                )
            elif node.type == "type_definition":
                self.walk.aliases[text_of(node.child_by_field_name("declarator"))] = text_of(
                    node.child_by_field_name("type")
                )
            elif node.type == "using_declaration":
                self._index_using(node)
            elif node.type == "field_declaration":
                kind = text_of(node.child_by_field_name("type"))
                if "Tensor" in kind:
                    for child in node.children_by_field_name("declarator"):
                        self.walk.fields[text_of(child)] = kind
            elif node.type == "declaration" and _at_file_scope(node):
                self._index_global(node)

    def _index_using(self, node: Node) -> None:
        match = re.match(r"using\s+((?:at|torch|c10)(?:::\w+)*)::(\w+)\s*;", text_of(node))
        if match is not None:
            self.walk.aliases.setdefault(match.group(2), f"{match.group(1)}::{match.group(2)}")

    def _index_global(self, node: Node) -> None:
        for child in node.children_by_field_name("declarator"):
            if child.type != "init_declarator" and any(p.type == "function_declarator" for p in walk(child)):
                for part in walk(child):
                    if part.type == "function_declarator":
                        name = text_of(part.child_by_field_name("declarator")).split("::")[-1]
                        self.walk.externals |= {name}
                continue
            self.walk.env = {}
            self.walk.declare(node)
            for name, value in self.walk.env.items():
                self.walk.globals_[name] = value.marked(values.STATIC) if value.tensor else value

    def _check_source(self, source: Source) -> None:
        holder = Unit(
            function=CppFunction(
                name="",
                source=source,
                node=source.root,
                body=source.root,
                parameters=(),
                returns="",
                device=False,
                kernel=False,
            )
        )
        self.walk.unit, self.walk.silent, self.walk.lowered = holder, False, False
        for node in walk(source.root):
            if node.type == "preproc_include":
                self._check_include(source, node)
            elif node.type == "declaration" and _at_file_scope(node):
                kind = text_of(node.child_by_field_name("type"))
                constant = re.search(r"\b(const|constexpr)\b", text_of(node).split("=")[0]) is not None
                functions = any(part.type == "function_declarator" for part in walk(node)) and not any(
                    child.type == "init_declarator" for child in node.children
                )
                if not functions and self._is_host_file(source):
                    self.walk.check_static(node, kind, constant)
                if not functions:
                    self.walk.env = {}
                    self.walk.declare(node)
            elif node.type == "initializer_list":
                floats = sum(
                    part.type == "number_literal"
                    and re.search(r"[.eE]", text_of(part)) is not None
                    and not text_of(part).startswith("0x")
                    for part in walk(node)
                )
                numbers = sum(part.type == "number_literal" for part in walk(node))
                if (floats >= _CONSTANT_TABLE or numbers >= _NUMBER_TABLE) and not (
                    node.parent is not None and node.parent.type == "initializer_list"
                ):
                    self.walk.flag("constant-table", node, f"{numbers} constants in one initialiser")
            elif node.type in ("asm_statement", "gnu_asm_expression") and self._is_host_file(source):
                self.walk.flag("native-escape", node, "inline assembly on the host side", "suspect")
        for macro in source.macros:
            self._check_macro(source, macro)
        self._check_constant_writes(source)
        for match in re.finditer(rb"^(?!\s*#)[^\n#]*\w\\\r?\n\w", source.data, re.MULTILINE):
            line = source.data[: match.start()].count(b"\n") + 1
            if not _inside_macro(source, line):
                self.findings.add(
                    "macro-hides-code",
                    file=source.path,
                    line=line,
                    message="a line splice cuts a name in two",
                )
        if source.root.has_error:
            self._check_errors(source)

    def _check_errors(self, source: Source) -> None:
        broken = sum(node.end_byte - node.start_byte for node in walk(source.root) if node.type == "ERROR")
        if broken * 4 > len(source.data):
            line = next((line_of(node) for node in walk(source.root) if node.type == "ERROR"), 1)
            self.findings.add(
                "kernel-unreadable",
                file=source.path,
                line=line,
                message="too much of the file does not parse as C++",
            )

    @staticmethod
    def _is_host_file(source: Source) -> bool:
        return b"torch/" in source.data or b"pybind11" in source.data or b"ATen" in source.data

    def _check_include(self, source: Source, node: Node) -> None:
        path = text_of(node.child_by_field_name("path")).strip('<>"')
        if path.startswith("/") or path.startswith("../..") or "model" in path.split("/")[-1:]:
            self.walk.flag("include-outside", node, f"includes {path}")
        for header in facts.OPERATOR_HEADERS:
            stem = path.rsplit("/", 1)[-1].removesuffix(".h").removesuffix("_native").removesuffix("_ops")
            if path.startswith(header) and stem not in facts.ALLOCATION | facts.VIEWS | facts.METADATA:
                self.walk.flag("aten-ops-header", node, f"includes {path}")
        if source.path.count("/") == 1 and path.startswith("../"):
            self.walk.flag("include-outside", node, f"includes {path} from outside kernel/")

    def _check_macro(self, source: Source, macro: Macro) -> None:
        body = macro.body
        found = re.search(r"\b(at|torch|aten)\s*::\s*(?:\w+\s*::\s*)*(\w+)\s*\(", body)
        rule = ""
        if found is not None:
            name = found.group(2)
            allowed = facts.ALLOCATION | facts.METADATA | facts.VIEWS
            if name not in allowed and not name[:1].isupper():
                rule = "aten-compute"
        if re.search(r"\b(aclnn[A-Z]\w*|EXEC_NPU_CMD)\b", body):
            rule = "aclnn-call"
        for name in re.findall(r"\b(\w+)\s*\(", body):
            if name in ("dlopen", "dlsym", "system", "popen", "fopen"):
                rule = facts.FORBIDDEN_CALLS[name]
        if rule:
            self.findings.add(
                rule, file=source.path, line=macro.line, message=f"macro {macro.name} computes or escapes"
            )
        elif re.fullmatch(r"\s*(\w+)\s*", body) and body.strip() in facts.COMMON_OPERATORS | {
            "dlopen",
            "dlsym",
            "system",
        }:
            self.findings.add(
                "macro-hides-code",
                file=source.path,
                line=macro.line,
                message=f"{macro.name} stands for {body.strip()}",
            )

    def _check_constant_writes(self, source: Source) -> None:
        for function in source.functions:
            writes = []
            for node in walk(function.body):
                if node.type != "call_expression":
                    continue
                callee = node.child_by_field_name("function")
                listed = node.child_by_field_name("arguments")
                if callee is None or listed is None or not text_of(callee).endswith("SetValue"):
                    continue
                arguments = [child for child in listed.named_children if child.type != "comment"]
                if len(arguments) == 2 and all(
                    one.type in ("number_literal", "unary_expression") for one in arguments
                ):
                    writes.append(line_of(node))
            if len(writes) >= 32:
                self.findings.add(
                    "constant-table",
                    file=source.path,
                    line=writes[0],
                    message=f"{len(writes)} constants are written element by element",
                )


_REGISTRATIONS = words("PYBIND11_MODULE TORCH_LIBRARY TORCH_LIBRARY_IMPL TORCH_LIBRARY_FRAGMENT")


def _returns(function: CppFunction) -> bool:
    if function.node.type != "lambda_expression":
        return "Tensor" in function.returns or function.returns == "auto"
    return any(node.type == "return_statement" and node.named_child_count > 0 for node in walk(function.body))


def _at_file_scope(node: Node) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in (
            "compound_statement",
            "function_definition",
            "class_specifier",
            "struct_specifier",
        ):
            return False
        parent = parent.parent
    return True


def _inside_macro(source: Source, line: int) -> bool:
    return any(
        node.start_point[0] + 1 <= line <= node.end_point[0] + 1
        for node in walk(source.root)
        if node.type in ("preproc_def", "preproc_function_def")
    )


__all__ = ["Binding", "HostWalk", "KernelScan"]
