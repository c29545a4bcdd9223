"""What a call in host-side C++ means: a launch, a launcher, allocation, metadata, a view, or computation."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from coordinator.integrity import cpp_facts as facts
from coordinator.integrity import cpp_values as values
from coordinator.integrity import python_facts
from coordinator.integrity.cpp_source import line_of, text_of
from coordinator.integrity.cpp_values import OTHER, CppValue, join
from coordinator.integrity.host_walk import HostWalk, Launch, split_qualified
from coordinator.integrity.operator_project import OperatorProject
from coordinator.integrity.words import words

_CASTS = words("static_cast reinterpret_cast const_cast dynamic_cast bit_cast")
_KERNEL_LAUNCH_CALLS = re.compile(
    r"(aclrtLaunchKernel\w*|rtKernelLaunch\w*|rtLaunchKernel\w*|LaunchAscendKernel|launch_ascend_kernel)$"
)
_LAUNCH_MACROS = frozenset(("ACLRT_LAUNCH_KERNEL", "ICPU_RUN_KF"))
_OPERATOR_CALLS = frozenset(("EXEC_NPU_CMD", "EXEC_NPU_NO_FORMAT_CHECK_CMD", "EXEC_NPU_CMD_SYNC"))
_CHECKS = re.compile(r"(TORCH_|AT_|C10_|TORCH_INTERNAL_|CHECK|ASSERT|ASCEND_|ACL_|NPU_|GET_|OPS_)\w*")


@dataclass(eq=False, kw_only=True)
class HostCalls(HostWalk):
    """The walk, with calls.

    Attributes:
        operators: what the workspace registers itself; EXEC_NPU_CMD may call these and no other.
    """

    operators: OperatorProject = field(default_factory=OperatorProject)

    def call(self, node: Node) -> CppValue:
        """The value of a call expression."""
        callee = node.child_by_field_name("function")
        listed = node.child_by_field_name("arguments")
        nodes = (
            [child for child in listed.named_children if child.type != "comment"]
            if listed is not None
            else []
        )
        if callee is None:
            return OTHER
        if self._is_launch_site(callee, node, listed):
            return self._launch(self._launch_names(callee), [self.value(child) for child in nodes], node)
        if callee.type == "call_expression":
            inner = callee.child_by_field_name("function")
            if text_of(inner) in _LAUNCH_MACROS:
                named = callee.child_by_field_name("arguments")
                names = [text_of(child) for child in named.named_children] if named is not None else []
                return self._launch(names, [self.value(child) for child in nodes], node)
            self.value(callee)
            for child in nodes:
                self.value(child)
            return OTHER
        if callee.type == "field_expression":
            return self._method(callee, nodes, node)
        if callee.type in ("identifier", "template_function", "qualified_identifier"):
            namespaces, name = split_qualified(callee)
            if callee.type == "identifier":
                name = text_of(callee)
            return self._named(self.namespaces(namespaces), name, callee, nodes, node)
        target = self.value(callee)
        arguments = [self.value(child) for child in nodes]
        return self._through(target, arguments, node)

    # ---- launches ------------------------------------------------------------------------------------------

    def _is_launch_site(self, callee: Node, node: Node, listed: Node | None) -> bool:
        end = listed.start_byte if listed is not None else node.end_byte
        return self.unit.function.source.launches_in(callee.start_byte, end)

    def _launch_names(self, callee: Node) -> list[str]:
        namespaces, name = split_qualified(callee)
        del namespaces
        value = self.env.get(name)
        if value is not None and value.functions:
            return sorted(value.functions)
        return [name]

    def _launch(self, names: Sequence[str], arguments: Sequence[CppValue], node: Node) -> CppValue:
        origins: frozenset[str] = (
            frozenset().union(*(one.origins for one in arguments)) if arguments else frozenset()
        )
        if not origins <= self.launched:
            self.launched |= origins
            self.changed = True
        unit = self.unit
        unit.launches[node.start_byte] = Launch(
            function=unit.function.name,
            kernels=tuple(names),
            file=unit.function.source.path,
            line=line_of(node),
            origins=origins,
        )
        return OTHER

    # ---- names ---------------------------------------------------------------------------------------------

    def _named(
        self, namespaces: Sequence[str], name: str, callee: Node, nodes: Sequence[Node], node: Node
    ) -> CppValue:
        if name in _CASTS or name in ("decltype", "typeid"):
            return join([self.value(child) for child in nodes])
        if name == "ICPU_RUN_KF":
            return self._launch(
                [text_of(nodes[0])] if nodes else [], [self.value(c) for c in nodes[2:]], node
            )
        if not namespaces and name in self.env and self.env[name].functions:
            return self._through(self.env[name], [self.value(child) for child in nodes], node)
        arguments = [self.value(child) for child in nodes]
        if name in self.kernels:
            self.flag("host-loop", node, f"kernel {name} is called as a plain function, not launched")
        if name in self.functions and not (namespaces and namespaces[0] in facts.TENSOR_NAMESPACES | {"std"}):
            return self._workspace_call(name, arguments, node)
        if name in self.externals and not namespaces:
            if name.startswith("aclrtlaunch_"):
                return self._launch([name.removeprefix("aclrtlaunch_")], arguments, node)
            self.unit.calls.setdefault(name, line_of(node))
            self._launch([name], arguments, node)
            return OTHER
        if name.startswith("aclrtlaunch_"):
            return self._launch([name.removeprefix("aclrtlaunch_")], arguments, node)
        if _KERNEL_LAUNCH_CALLS.match(name):
            return self._launch(["*"], arguments, node)
        if re.match(r"aclnn[A-Z]", name) or re.match(r"(aclop|aclblas|aclfft)[A-Z]", name):
            self.flag("aclnn-call", node, f"{name} is a ready-made operator")
            return OTHER
        if name in _OPERATOR_CALLS:
            return self._operator_call(name, nodes, arguments, node)
        head = namespaces[0] if namespaces else ""
        if head in ("py", "pybind11"):
            if name in facts.PYTHON_CALLS or "module_" in namespaces or "module" in namespaces:
                self.flag("python-from-extension", node, f"{head}::{name} calls into Python")
            return join(arguments)
        self._forbidden(head, name, node)
        if head in facts.TENSOR_NAMESPACES:
            return self._tensor_function(namespaces, name, callee, arguments, nodes, node)
        if head in ("c10", "c10_npu"):
            if "Dispatcher" in (*namespaces, name):
                self.flag("aten-dispatch", node, "the dispatcher runs an operator by name")
            return self._options(name, arguments, nodes)
        if head == "std" or name in facts.COPY_CALLS:
            return self._library(head, name, arguments, node)
        return self._unknown(name, arguments, node)

    def _operator_call(
        self, name: str, nodes: Sequence[Node], arguments: Sequence[CppValue], node: Node
    ) -> CppValue:
        """EXEC_NPU_CMD(aclnnX, ...): a launch of the workspace's own operator X, else a ready-made one."""
        called = text_of(nodes[0]) if nodes else ""
        fault = self.operators.fault(called)
        if fault is None and name == "EXEC_NPU_CMD":
            return self._launch([self.operators.kernel_of(called)], arguments[1:], node)
        reason = f"{name} runs a ready-made operator" + (f": {fault}" if fault else "")
        self.flag("aclnn-call", node, reason)
        return OTHER

    def _forbidden(self, head: str, name: str, node: Node) -> None:
        rule = facts.FORBIDDEN_CALLS.get(name)
        if rule is not None and not (
            head == "std" and name in ("bind", "remove", "rename", "connect", "open")
        ):
            if head in ("", "std", "c10_npu"):
                self.flag(rule, node, f"calls {name}")
        elif name in facts.FORBIDDEN_TYPES and head == "std":
            self.flag(facts.FORBIDDEN_TYPES[name], node, f"uses std::{name}")

    def _workspace_call(self, name: str, arguments: Sequence[CppValue], node: Node) -> CppValue:
        self.unit.calls.setdefault(name, line_of(node))
        results = []
        for function in self.functions[name]:
            unit = self.unit_of(function)
            for parameter, argument in zip(function.parameters, arguments, strict=False):
                if not (argument.tensor or argument.pointer or argument.functions or argument.origins):
                    continue
                known = unit.parameters.get(parameter.name, OTHER)
                merged = join((known, argument)) if known != OTHER else argument
                if merged != known:
                    unit.parameters[parameter.name] = merged
                    self.changed = True
            declared = self.declared(function.returns)
            returned = [value for value, _, _ in unit.returned]
            if declared.tensor:
                results.append(replace(join([declared, *returned]), container=declared.container))
            else:
                results.append(
                    replace(join(returned), tensor=declared.tensor or any(v.tensor for v in returned))
                )
        return join(results)

    def _through(self, target: CppValue, arguments: Sequence[CppValue], node: Node) -> CppValue:
        results = []
        for name in sorted(target.functions):
            if name in self.lambdas:
                results.append(self.inline(name, arguments))
            elif name in self.kernels:
                results.append(self._launch([name], arguments, node))
            elif name in self.functions:
                results.append(self._workspace_call(name, arguments, node))
            else:
                self.unit.calls.setdefault(name, line_of(node))
                results.append(self._launch([name], arguments, node))
        return join(results)

    def _tensor_function(
        self,
        namespaces: Sequence[str],
        name: str,
        callee: Node,
        arguments: Sequence[CppValue],
        nodes: Sequence[Node],
        node: Node,
    ) -> CppValue:
        if name in facts.ALLOCATION:
            return self._allocate(name, arguments, nodes, node)
        if name in facts.VIEWS and arguments and arguments[0].tensor:
            return self._tensor_method(arguments[0], name, arguments[1:], node)
        if name in ("Tensor", "optional") and arguments:
            return arguments[0]
        if self.check_tensor_name(namespaces, name, callee):
            return self._options(name, arguments, nodes)
        return CppValue(tensor=True, marks=frozenset((values.COMPUTED,)))

    @staticmethod
    def _options(name: str, arguments: Sequence[CppValue], nodes: Sequence[Node]) -> CppValue:
        marks: set[str] = set()
        for argument in arguments:
            marks |= argument.marks & {values.ON_DEVICE, values.ON_HOST}
        written = " ".join(text_of(child) for child in nodes)
        if re.search(r"PrivateUse1|kNPU|\"npu|\"cuda", written):
            marks.add(values.ON_DEVICE)
        if re.search(r"kCPU|DeviceType::CPU|\"cpu", written):
            marks.add(values.ON_HOST)
        del name
        return CppValue(marks=frozenset(marks))

    def _allocate(
        self, name: str, arguments: Sequence[CppValue], nodes: Sequence[Node], node: Node
    ) -> CppValue:
        origin = f"{self.unit.function.source.path}:{line_of(node)}:{node.start_point[1]}"
        marks = self._options(name, arguments, nodes).marks
        like = (
            name.endswith("_like")
            or name.startswith(("apply", "Apply"))
            or any(one.is_tensor for one in arguments)
        )
        if name == "from_blob":
            base = arguments[0] if arguments else OTHER
            return CppValue(tensor=True, marks=base.marks | {values.STAGING}, origins=base.origins | {origin})
        staged = values.ON_HOST in marks or not (values.ON_DEVICE in marks or like)
        kind = values.STAGING if staged else values.FRESH
        return CppValue(tensor=True, marks=frozenset((kind,)), origins=frozenset((origin,)))

    def _library(self, head: str, name: str, arguments: Sequence[CppValue], node: Node) -> CppValue:
        data = [one for one in arguments if one.is_data]
        if name in facts.COPY_CALLS and name not in self.functions:
            sources = (
                arguments[:2]
                if head == "std"
                else arguments[2:3]
                if name in ("aclrtMemcpy", "aclrtMemcpyAsync", "memcpy_s")
                else arguments[1:2]
            )
            if any(one.is_data for one in sources):
                self.flag("host-copy", node, f"{name} copies an input's or output's bytes")
            elif (data and head != "") or (data and not name.startswith("acl")):
                self.flag("host-loop", node, f"{name} writes tensor elements on the host")
            return OTHER
        if data and name not in facts.STD_PASSIVE:
            self.flag("host-loop", node, f"std::{name} works on tensor elements")
        if any(one.is_tensor for one in arguments) and name in (
            "plus",
            "minus",
            "multiplies",
            "divides",
            "accumulate",
        ):
            self.flag("aten-arithmetic", node, f"std::{name} computes on tensors")
        if name in ("make_tuple", "tie", "make_pair", "vector", "tuple", "pair", "array"):
            inner = join(list(arguments))
            return replace(inner, container=inner.tensor)
        if name in (
            "move",
            "forward",
            "make_optional",
            "optional",
            "ref",
            "cref",
            "get",
            "addressof",
            "as_const",
            "exchange",
            "data",
            "begin",
            "end",
        ):
            return join(list(arguments))
        if name in ("min", "max"):
            return OTHER
        return (
            OTHER
            if not arguments
            else CppValue(functions=frozenset().union(*(one.functions for one in arguments)))
        )

    def _unknown(self, name: str, arguments: Sequence[CppValue], node: Node) -> CppValue:
        tensors = any(one.tensor and not one.pointer for one in arguments)
        if tensors and name in facts.COMMON_OPERATORS:
            self.flag("aten-compute", node, f"{name} is found in at:: by argument lookup")
            return CppValue(tensor=True, marks=frozenset((values.COMPUTED,)))
        if _CHECKS.match(name) or name in ("sizeof", "assert", "printf", "PYBIND11_OVERRIDE"):
            return OTHER
        if name[:1].isupper():
            return join(list(arguments))  # a constructor: of a struct of tilings, a guard, a type of torch
        if any(one.is_data for one in arguments) or tensors:
            self.flag("unresolved-call", node, f"tensors go to {name}, which the workspace does not define")
            self.unit.calls.setdefault(name, line_of(node))
        return OTHER

    # ---- methods -------------------------------------------------------------------------------------------

    def _method(self, callee: Node, nodes: Sequence[Node], node: Node) -> CppValue:
        base = callee.child_by_field_name("argument")
        field = callee.child_by_field_name("field")
        name = text_of(
            field.child_by_field_name("name")
            if field is not None and field.type == "template_method"
            else field
        )
        owner = self.value(base)
        arguments = [self.value(child) for child in nodes]
        rule = facts.FORBIDDEN_TYPES.get(name)
        del rule
        if owner.is_tensor or (owner.tensor and owner.pointer):
            return self._tensor_method(owner, name, arguments, node)
        if owner.tensor and owner.container and not isinstance(owner, type(None)):
            if name in ("push_back", "emplace_back", "insert", "assign", "emplace"):
                self._put(base, join([owner, *arguments]))
                return OTHER
            if name in ("at", "front", "back", "value", "operator[]", "get"):
                return replace(owner, container=False)
            if name in ("data", "begin", "end", "vec", "slice"):
                return owner
            return OTHER
        if name in ("push_back", "emplace_back", "insert", "emplace") and any(
            one.tensor or one.pointer for one in arguments
        ):
            self._put(base, join(arguments))
            return OTHER
        for function in self.functions.get(name, ()):
            if not function.device:
                return self._workspace_call(name, arguments, node)
        if name in ("stream", "Run", "SetCustomHandler", "Name", "Input", "Output"):
            return self._op_command(name, callee, node, owner)
        if name in ("findSchemaOrThrow", "callBoxed", "typed", "redispatch"):
            self.flag("aten-dispatch", node, f".{name}() runs an operator by name")
            return OTHER
        if name == "attr" and re.search(r"import|module", text_of(base)):
            self.flag("python-from-extension", node, "an attribute of a Python module is fetched")
        marks = owner.marks | self._options(name, arguments, nodes).marks
        if name == "device" and nodes:
            marks = (marks - {values.ON_DEVICE, values.ON_HOST}) | self._options(name, arguments, nodes).marks
        if any(one.is_data for one in arguments) and name == "assign":
            self.flag("host-copy", node, "tensor data is copied into a host container")
        return replace(owner, marks=marks, functions=frozenset(), container=False)

    def _op_command(self, name: str, callee: Node, node: Node, owner: CppValue) -> CppValue:
        body = text_of(self.unit.function.body)
        if name in ("Input", "Output") and "OpCommand" in body and "SetCustomHandler" not in body:
            self.flag("aclnn-call", node, "OpCommand runs a ready-made operator")
        del callee
        return replace(owner, functions=frozenset())

    def _tensor_method(
        self, owner: CppValue, name: str, arguments: Sequence[CppValue], node: Node
    ) -> CppValue:
        if name in facts.DATA_METHODS:
            return replace(owner, pointer=True)
        if name in facts.ACCESSORS:
            self.flag("host-loop", node, f".{name}() gives host code the elements")
            return OTHER
        if name == "item":
            if values.ELEMENT in owner.marks:
                level = None if _in_loop(node) else "suspect"
                self.flag("host-loop", node, "single elements are read on the host", level)  # type: ignore[arg-type]
            return OTHER
        if name in ("options", "device", "dtype"):
            staged = values.STAGING in owner.marks
            return CppValue(marks=frozenset((values.ON_HOST if staged else values.ON_DEVICE,)))
        if name in ("value", "value_or", "get", "front", "back"):
            return owner
        if name in facts.TENSOR_META_METHODS:
            return OTHER
        if name in python_facts.TENSOR_ALLOCATION:
            return self._allocate("empty_like", arguments, (), node)
        if name in python_facts.EXPANSIONS:
            return owner.marked(values.EXPANDED)
        if name in python_facts.TRANSPOSITIONS:
            return owner.marked(values.TRANSPOSED)
        if name in python_facts.VIEW_METHODS or name in ("slice", "index_select_view"):
            return owner
        if name in python_facts.COPIES or name in python_facts.RESHAPES:
            if values.EXPANDED in owner.marks:
                self.flag("materialised-broadcast", node, f".{name}() copies a broadcast view")
            if values.TRANSPOSED in owner.marks:
                self.flag(
                    "materialised-transpose",
                    node,
                    f".{name}() copies a transposed view",
                    self.transpose_level,
                )
            return owner.unmarked(values.EXPANDED, values.TRANSPOSED)
        if name == "cpu" or (name == "to" and any(values.ON_HOST in one.marks for one in arguments)):
            if values.STAGING not in owner.marks:
                self.flag("host-transfer", node, "an input or output is moved to the CPU")
            return owner
        if name in python_facts.CASTS or name in ("to", "toType"):
            if values.STAGING in owner.marks and any(values.ON_DEVICE in one.marks for one in arguments):
                return owner
            return owner
        if name in python_facts.MATERIALISATIONS:
            self.flag("materialised-broadcast", node, f".{name}() copies a broadcast")
            return owner
        if name in python_facts.INITIALISERS:
            if not owner.marks & {values.FRESH, values.STAGING}:
                self.flag("input-mutated", node, f".{name}() overwrites a tensor")
            return owner
        if name == "copy_":
            rule = "input-mutated" if values.INPUT in owner.marks else "adapter-data-movement"
            if values.STAGING not in owner.marks or any(values.INPUT in one.marks for one in arguments):
                self.flag(rule, node, "copy_() moves tensor data on the host side")
            return owner
        if name == "operator->":
            return owner
        self.flag("aten-method-compute", node, f".{name}() computes on the host side")
        return CppValue(tensor=True, marks=frozenset((values.COMPUTED,)))


def _in_loop(node: Node) -> bool:
    parent = node.parent
    while parent is not None and parent.type != "function_definition":
        if parent.type in facts.ITERATES:
            return True
        parent = parent.parent
    return False
