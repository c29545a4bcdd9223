"""What a call in the adapter means: the extension, allocation, metadata, a view, or target computation."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from coordinator.integrity import python_facts as facts
from coordinator.integrity import values
from coordinator.integrity.interpreter import Interpreter
from coordinator.integrity.memory import TOUCHED
from coordinator.integrity.rules import Level
from coordinator.integrity.values import SCALAR, BoundMethod, Class, Instance, Value, join, named
from coordinator.integrity.words import words

_MUTATORS = words("append add insert extend appendleft update setdefault __setitem__ extendleft")
_READERS = words("get pop popitem popleft values items setdefault __getitem__ copy")


@dataclass(eq=False, kw_only=True)
class CallMeanings:
    """Gives every call its meaning.

    Attributes:
        library_operators: names registered by TORCH_LIBRARY in the kernel sources ("npu.add_custom").
        returning: extension functions that return tensors, so that an input given to them is no output.
        reference_transposes: the reference's own forward transposes.
    """

    interpreter: Interpreter
    library_operators: frozenset[str]
    returning: frozenset[str]
    reference_transposes: bool

    def call(self, callee: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        """The value of `callee(*arguments, **keywords)`."""
        results: list[Value] = []
        for name in sorted(callee.names):
            results.append(self._named(name, arguments, keywords, node))
        for bound in callee.functions:
            if bound.function.cached and any(
                value.holds_tensor for value in (*arguments, *keywords.values())
            ):
                self.interpreter.flag(
                    "result-cache", node, f"{bound.function.name} caches by its tensor arguments"
                )
            results.append(self.interpreter.invoke(bound, arguments, keywords)[0])
        for method in callee.methods:
            results.append(self._method(method, arguments, keywords, node))
        for cls in callee.classes:
            results.append(self._construct(cls, arguments, keywords, node))
        for instance in callee.instances:
            results.append(self._call_instance(instance, arguments, keywords, node))
        if not results:
            everything = [*arguments, *keywords.values()]
            if any(value.holds_tensor for value in everything) and self.interpreter.phase == "forward":
                self.interpreter.flag(
                    "unresolved-call", node, "tensors go to a function the scan can't resolve"
                )
                return values.tensor(values.COMPUTED)
            return SCALAR
        return join(results)

    # ---- workspace classes ---------------------------------------------------------------------------------

    def _construct(
        self, cls: Class, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value:
        instance = Instance(cls=cls)
        value = Value(instances=frozenset((instance,)))
        init = cls.find("__init__")
        if init is not None:
            for bound in init.functions:
                method = values.BoundFunction(function=bound.function, receiver=value)
                self.interpreter.invoke(method, arguments, keywords)
        elif "torch.autograd.Function" not in cls.base_names():
            for index, argument in enumerate(arguments):
                instance.attributes[f"field {index}"] = argument
            instance.attributes.update(keywords)  # a dataclass or a named tuple
        del node
        return value

    def _call_instance(
        self, instance: Instance, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value:
        receiver = Value(instances=frozenset((instance,)))
        for name in ("__call__", "forward"):
            found = instance.cls.find(name)
            if found is not None:
                bound = self.interpreter.attribute(receiver, name, node)
                return self.call(bound, arguments, keywords, node)
        layers = [name for name in instance.cls.base_names() if name.startswith("torch.nn.")]
        if layers and any(value.holds_tensor for value in arguments):
            return self.interpreter.computes("layer-called", node, f"calls {layers[0]}", *arguments)
        return SCALAR

    # ---- names outside the workspace -----------------------------------------------------------------------

    def _named(self, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        everything = [*arguments, *keywords.values()]
        touches = any(value.holds_tensor for value in everything)
        interpreter = self.interpreter
        if name.startswith("ext:"):
            return self._extension(name.removeprefix("ext:").rsplit(".", 1)[-1], everything, node)
        if name.startswith("layer:"):
            return interpreter.computes(
                "layer-called", node, f"calls a {name.removeprefix('layer:')}", *everything
            )
        if facts.forbidden_rule(name) is not None:
            return values.tensor(values.COMPUTED) if touches else SCALAR
        if name.startswith("builtins."):
            return self._builtin(name.removeprefix("builtins."), arguments, keywords, node)
        if name.startswith(facts.DEVICE_NAMESPACES):
            if name.rsplit(".", 1)[-1] in facts.SIDE_STREAMS:
                interpreter.flag("side-stream", node, f"uses {name}")
            return named(f"{name}()")
        if name.split(".")[0] == "torch":
            return self._torch(name, arguments, keywords, node)
        if name.startswith("functools."):
            return self._functools(name, arguments, keywords, node)
        if name.startswith("importlib."):
            return self._importlib(name, arguments, node)
        if name.startswith(("contextlib.", "os.", "sys.", "pathlib.", "glob.")):
            return named(f"{name}()") if name.startswith("contextlib.") else SCALAR
        if name in ("copy.copy", "copy.deepcopy") and arguments:
            return arguments[0]
        if touches and not name.startswith(facts.PASSIVE_LIBRARIES):
            library = name.split(".")[0]
            return interpreter.computes(
                "foreign-compute", node, f"{name} of {library} computes on tensors", *everything
            )
        if name.startswith("math.") and touches:
            return interpreter.computes("foreign-compute", node, f"{name} computes on a tensor", *everything)
        if any(values.HOSTDATA in value.marks for value in everything) and name.startswith(
            ("numpy.", "math.f", "statistics.")
        ):
            interpreter.computes(
                "host-data-computed", node, f"{name} computes on values read out of a tensor"
            )
            return Value(marks=frozenset((values.HOSTDATA,)))
        if name.startswith("collections.") or name.startswith("typing.NamedTuple"):
            return Value(container=True, cells=frozenset((interpreter.cell(node),)))
        return SCALAR

    def _extension(self, function: str, everything: list[Value], node: ast.AST) -> Value:
        interpreter = self.interpreter
        if interpreter.phase == "forward":
            call = (function, interpreter.scope.file, getattr(node, "lineno", 0))
            interpreter.extension_count += 1
            if call not in interpreter.extension_calls:
                interpreter.extension_calls.append(call)
            for value in everything:
                for part in (value, *(value.items or ())):
                    if part.holds_tensor:
                        inputs = frozenset(site for site in part.sites if site.startswith("parameter "))
                        if function in self.returning:
                            interpreter.flow.update({(TOUCHED, site): SCALAR for site in inputs})
                            interpreter.wrote(part.sites - inputs)
                        else:
                            interpreter.wrote(part.sites)
                    if {values.PERSISTED, values.INPUT} <= part.marks and values.PARAMETER not in part.marks:
                        interpreter.flag(
                            "result-cache",
                            node,
                            "an input kept from an earlier call goes to the extension",
                            "suspect",
                        )
        return Value(tensor=True, marks=frozenset((values.EXTENSION,)))

    def _torch(self, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        interpreter = self.interpreter
        everything = [*arguments, *keywords.values()]
        last = name.rsplit(".", 1)[-1]
        direct = name == f"torch.{last}"
        if name.startswith("torch.ops.") or name.startswith("torch.classes."):
            return self._operator(name, everything, node)
        if name == "torch.utils.cpp_extension.load":
            return named("ext:jit")
        if direct and last in facts.ALLOCATION:
            return self._allocate(arguments, keywords, node)
        if direct and last in ("as_tensor", "asarray", "atleast_1d"):
            return (
                arguments[0]
                if arguments and arguments[0].bare_tensor
                else self._allocate(arguments, keywords, node)
            )
        if (direct and last in facts.TORCH_METADATA) or name in ("torch._C._get_tracing_state",):
            return named(f"torch.{last}()")
        if direct and last in facts.RANDOM:
            interpreter.flag("random-numbers", node, f"calls {name}")
            return values.tensor(values.FRESH)
        if direct and last in facts.MATERIALISING_FUNCTIONS and everything:
            return interpreter.computes(
                "materialised-broadcast", node, f"{name} copies a broadcast", *everything
            )
        if direct and last in facts.VIEW_FUNCTIONS and arguments:
            return self._tensor_method(arguments[0], last, arguments[1:], keywords, node)
        if name.startswith("torch.Tensor.") and arguments:
            return self._tensor_method(arguments[0], last, arguments[1:], keywords, node)
        if last in ("Parameter", "Buffer", "UninitializedParameter") or name.startswith("torch.nn.init."):
            return everything[0].marked(values.PARAMETER) if everything else values.tensor(values.PARAMETER)
        if name.startswith("torch.nn.") and last[:1].isupper() and ".functional" not in name:
            if last in ("Module", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
                cell = interpreter.cell(node)
                for value in everything:
                    cell.put(value.element())
                return Value(container=True, cells=frozenset((cell,)))
            interpreter.flag("layer-constructed", node, f"builds {name}")
            return named(f"layer:{name}")
        if name.startswith(
            ("torch.jit.", "torch.compiler.", "torch._dynamo.", "torch.backends.", "torch.testing.")
        ):
            return named(f"{name}()")
        if name.startswith("torch.autograd.") and last in ("Function", "set_detect_anomaly"):
            return SCALAR
        if direct and last[:1].isupper() and not any(v.holds_tensor for v in everything):
            return SCALAR
        if last.startswith("set_"):
            interpreter.flag("monkey-patch", node, f"{name} changes torch for the whole process", "suspect")
            return SCALAR
        return interpreter.computes("torch-compute", node, f"{name} computes in the adapter", *everything)

    def _operator(self, name: str, everything: list[Value], node: ast.AST) -> Value:
        if name.endswith(".load_library"):
            return SCALAR
        parts = name.split(".")
        if len(parts) >= 4 and f"{parts[2]}.{parts[3]}" in self.library_operators:
            return self._extension(parts[3], everything, node)
        return self.interpreter.computes(
            "torch-compute", node, f"{name} is no operator of this workspace", *everything
        )

    def _allocate(self, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        interpreter = self.interpreter
        if interpreter.phase == "forward" and any(
            values.HOSTDATA in value.marks and value.container for value in (*arguments, *keywords.values())
        ):
            interpreter.flag("host-data-computed", node, "a tensor is built from values read out of tensors")
        site = f"{interpreter.scope.file}:{getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}"
        return values.tensor(values.FRESH, sites=frozenset((site,)))

    def _functools(
        self, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value:
        interpreter = self.interpreter
        if name == "functools.partial" and arguments:
            callee = arguments[0]
            if len(arguments) == 1 and not keywords:
                return callee
            return Value(
                methods=frozenset(
                    (_Partial(callee=callee, arguments=tuple(arguments[1:]), keywords=keywords),)
                )
            )
        if name == "functools.reduce" and len(arguments) >= 2:
            element = join([arguments[1].element(), *arguments[2:3]])
            return self.call(arguments[0], [element, element], {}, node)
        if name in facts.CACHE_DECORATORS and arguments and arguments[0].functions:
            for bound in arguments[0].functions:
                bound.function.cached = True
            return arguments[0]
        if name == "functools.wraps":
            return named("functools.wraps()")
        if name in facts.CACHE_DECORATORS:
            return named(name)
        if any(value.holds_tensor for value in (*arguments, *keywords.values())):
            interpreter.flag("unresolved-call", node, f"tensors go to {name}")
        return SCALAR

    def _importlib(self, name: str, arguments: list[Value], node: ast.AST) -> Value:
        interpreter = self.interpreter
        texts = sorted(frozenset().union(*(value.texts for value in arguments))) if arguments else []
        last = name.rsplit(".", 1)[-1]
        if last in ("import_module", "spec_from_file_location"):
            for one in texts:
                module = interpreter.resolve_import(interpreter, one, node, interpreter.scope)
                if any(part.startswith("ext:") for part in module.names) or module.modules:
                    return module
                if last == "import_module":
                    return module
            interpreter.flag(
                "import-trick",
                node,
                f"{name} loads a module that is not the extension",
                "suspect" if not texts else None,
            )
            return SCALAR
        if last == "module_from_spec" and arguments:
            return arguments[0]
        return SCALAR

    def _builtin(self, name: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        interpreter = self.interpreter
        everything = [*arguments, *keywords.values()]
        first = arguments[0] if arguments else SCALAR
        touches = any(value.holds_tensor for value in everything)
        if name == "getattr" and len(arguments) >= 2:
            return self._getattr(arguments, node)
        if name == "setattr" and len(arguments) >= 3:
            texts = sorted(arguments[1].texts) or ["?"]
            for one in texts:
                interpreter._store_attribute(first, one, arguments[2], node)
            return SCALAR
        if name in facts.SCALAR_BUILTINS and first.bare_tensor:
            return Value(marks=frozenset((values.HOSTDATA,)))
        if name in facts.COMPUTING_BUILTINS:
            if touches:
                return interpreter.computes(
                    "foreign-compute", node, f"{name}() computes on tensors", *everything
                )
            if name == "sum" and first.container and values.HOSTDATA in first.marks:
                interpreter.computes(
                    "host-data-computed", node, "sum() computes on values read out of a tensor"
                )
            return Value(
                marks=frozenset().union(*(v.marks for v in everything)) & {values.HOSTDATA},
                container=name == "sorted",
            )
        if name in facts.CONTAINER_BUILTINS:
            if first.bare_tensor and name in ("list", "tuple"):
                return replace(first, container=True)
            return first if arguments else Value(container=True, cells=frozenset((interpreter.cell(node),)))
        if name in ("dict",):
            cell = interpreter.cell(node)
            for value in everything:
                cell.put(value.element())
            return Value(container=True, tensor=touches, cells=frozenset((cell,)))
        if name in ("zip", "enumerate"):
            row = values.sequence(
                [v.element() for v in arguments] if name == "zip" else [SCALAR, first.element()]
            )
            return Value(container=True, tensor=touches, marks=row.marks, sites=row.sites, items=(row,))
        if name in ("map", "filter") and len(arguments) >= 2:
            result = self.call(first, [value.element() for value in arguments[1:]], {}, node)
            element = result if name == "map" else arguments[1].element()
            return replace(element, container=True, items=None)
        if name == "next":
            return first.element()
        if name == "super":
            return SCALAR
        if name == "vars" and first.names:
            interpreter.flag("introspection", node, "reads the namespace of another module")
        if name == "type" and len(arguments) == 3:
            interpreter.flag("dynamic-execution", node, "a class is made by type()")
        if name == "id" and touches:
            interpreter.flag("version-counter-read", node, "the identity of a tensor is read")
        if name in facts.PASSIVE_BUILTINS or not touches:
            return SCALAR
        interpreter.flag("unresolved-call", node, f"tensors go to {name}, which the scan can't resolve")
        return values.tensor(values.COMPUTED)

    def _getattr(self, arguments: list[Value], node: ast.AST) -> Value:
        owner, names = arguments[0], sorted(arguments[1].texts)
        if names:
            found = join([self.interpreter.attribute(owner, one, node) for one in names])
            return join([found, *arguments[2:3]])
        if any(name.startswith("ext:") for name in owner.names):
            return Value(names=frozenset(f"{name}.*" for name in owner.names))
        if owner.bare_tensor or any(not name.startswith("builtins.") for name in owner.names):
            self.interpreter.flag("dynamic-attribute", node, "getattr with a name the scan can't know")
            return Value(names=frozenset(f"{name}.?" for name in owner.names))
        return SCALAR

    # ---- methods -------------------------------------------------------------------------------------------

    def _method(
        self, method: BoundMethod, arguments: list[Value], keywords: Mapping[str, Value], node: ast.AST
    ) -> Value:
        if isinstance(method, _Partial):
            merged = {**method.keywords, **keywords}
            return self.call(method.callee, [*method.arguments, *arguments], merged, node)
        receiver, name = method.receiver, method.name
        if receiver.bare_tensor:
            return self._tensor_method(receiver, name, arguments, keywords, node)
        everything = [*arguments, *keywords.values()]
        if receiver.instances:
            return self._module_method(receiver, name, arguments, node)
        if receiver.classes and name == "apply":
            return self._apply(receiver, arguments, node)
        if name in _MUTATORS:
            kept = [
                value.element() if name in ("extend", "update", "extendleft") else value
                for value in everything
            ]
            for value in kept:
                self.interpreter.put(receiver, value, node)
            if name not in ("setdefault",):
                return SCALAR
        if receiver.container and name in _READERS:
            element = join([receiver.element(), *arguments[1:2]])
            if name in ("values", "items", "copy"):
                row = values.sequence((SCALAR, element)) if name == "items" else element
                return Value(container=True, tensor=element.holds_tensor, marks=element.marks, items=(row,))
            return element
        if receiver.texts and name == "join" and arguments and arguments[0].items is not None:
            parts = [sorted(item.texts) for item in arguments[0].items]
            if all(len(part) == 1 for part in parts):
                return Value(texts=frozenset(s.join(p[0] for p in parts) for s in receiver.texts))
        if receiver.texts and name in (
            "lower",
            "upper",
            "strip",
            "format",
            "replace",
            "removeprefix",
            "removesuffix",
            "title",
        ):
            given = [sorted(value.texts)[0] for value in everything if value.texts]
            if len(given) == len(everything):
                try:
                    return Value(
                        texts=frozenset(str(getattr(one, name)(*given))[:200] for one in receiver.texts)
                    )
                except (TypeError, IndexError, KeyError, ValueError):
                    return SCALAR
        if any(value.holds_tensor for value in everything) and self.interpreter.phase == "forward":
            self.interpreter.flag(
                "unresolved-call", node, f"tensors go to a method {name} the scan can't resolve"
            )
            return values.tensor(values.COMPUTED)
        return Value(container=receiver.container, marks=receiver.marks & {values.HOSTDATA})

    def _module_method(self, receiver: Value, name: str, arguments: list[Value], node: ast.AST) -> Value:
        if name in ("register_buffer", "register_parameter") and len(arguments) >= 2:
            for one in sorted(arguments[0].texts):
                self.interpreter._store_attribute(receiver, one, arguments[1].marked(values.PARAMETER), node)
            return SCALAR
        if name in ("parameters", "buffers", "named_parameters", "named_buffers", "state_dict"):
            return Value(container=True, tensor=True, marks=frozenset((values.PARAMETER,)))
        if any(value.holds_tensor for value in arguments) and self.interpreter.phase == "forward":
            if name.startswith("save_for_backward") or name in ("mark_dirty", "mark_non_differentiable"):
                return SCALAR
            self.interpreter.flag("unresolved-call", node, f"tensors go to an unknown method {name}")
        return SCALAR

    def _apply(self, receiver: Value, arguments: list[Value], node: ast.AST) -> Value:
        results = []
        for cls in receiver.classes:
            found = cls.find("forward")
            if found is not None and "torch.autograd.Function" in cls.base_names():
                results.append(
                    self.call(found, [Value(instances=frozenset((Instance(cls=cls),))), *arguments], {}, node)
                )
        if not results:
            self.interpreter.flag("unresolved-call", node, "apply of a class the scan can't resolve")
        return join(results)

    def _tensor_method(
        self, receiver: Value, name: str, arguments: list[Value], keywords: Mapping[str, Value], node: ast.AST
    ) -> Value:
        interpreter = self.interpreter
        everything = [*arguments, *keywords.values()]
        if name in facts.META_METHODS:
            return Value(container=name in ("size", "stride"))
        if name in ("storage", "untyped_storage"):
            return receiver
        if name == "item":
            return Value(marks=frozenset((values.HOSTDATA,)))
        if name in facts.HOST_READS:
            level: Level | None = None if name == "tolist" else "cheat"
            if interpreter.phase == "forward":
                interpreter.flag(
                    "host-data-read",
                    node,
                    f".{name}() reads tensor values into Python",
                    level,
                )
            return Value(container=True, marks=frozenset((values.HOSTDATA,)))
        if name in facts.TENSOR_ALLOCATION:
            return self._allocate(arguments, dict(keywords), node)
        if name in facts.VIEW_METHODS:
            container = name in (
                "unbind",
                "chunk",
                "split",
                "split_with_sizes",
                "tensor_split",
                "hsplit",
                "vsplit",
                "dsplit",
                "__iter__",
            )
            return replace(receiver, container=container)
        if name in facts.EXPANSIONS:
            return receiver.marked(values.EXPANDED)
        if name in facts.TRANSPOSITIONS:
            return receiver.marked(values.TRANSPOSED)
        if name == "cpu" or (name == "to" and any("cpu" in value.texts for value in everything)):
            if interpreter.phase == "forward" and values.FRESH not in receiver.marks:
                interpreter.flag("host-transfer", node, "an input or output is moved to the CPU")
            return receiver
        if name in facts.COPIES or name in facts.RESHAPES:
            return self._copied(receiver, name, node)
        if name in facts.CASTS:
            if interpreter.phase == "forward":
                interpreter.flag("dtype-cast", node, f".{name}() may cast")
            return replace(receiver, sites=frozenset(receiver.sites))
        if name in facts.MATERIALISATIONS:
            return interpreter.computes(
                "materialised-broadcast", node, f".{name}() copies a broadcast", receiver
            )
        if name in facts.INITIALISERS:
            if interpreter.phase == "forward" and values.FRESH not in receiver.marks:
                rule = "tensor-method-compute" if values.EXTENSION in receiver.marks else "input-mutated"
                interpreter.flag(rule, node, f".{name}() overwrites a tensor")
            return receiver
        if name in ("copy_", "set_"):
            if interpreter.phase == "forward":
                source = arguments[0] if arguments else SCALAR
                if name == "set_":
                    interpreter.flag("input-mutated", node, "set_() swaps the memory of a tensor", "cheat")
                elif values.INPUT in receiver.marks:
                    interpreter.flag("input-mutated", node, "an input is overwritten in the adapter")
                elif source.holds_tensor:
                    interpreter.flag(
                        "adapter-data-movement", node, "copy_() moves tensor data in the adapter"
                    )
            return receiver
        if name in facts.RANDOM_METHODS:
            interpreter.flag("random-numbers", node, f".{name}() draws random numbers")
            return receiver
        return interpreter.computes(
            "tensor-method-compute", node, f".{name}() computes in the adapter", receiver, *everything
        )

    def _copied(self, receiver: Value, name: str, node: ast.AST) -> Value:
        interpreter = self.interpreter
        if interpreter.phase != "forward" or values.COMPUTED in receiver.marks:
            return receiver.unmarked(values.EXPANDED, values.TRANSPOSED)
        if values.EXPANDED in receiver.marks:
            interpreter.flag("materialised-broadcast", node, f".{name}() copies a broadcast view")
        if values.TRANSPOSED in receiver.marks:
            self._transposed_copy(name, node)
        elif name in facts.COPIES:
            interpreter.flag("layout-copy", node, f".{name}() on a tensor")
        return receiver.unmarked(values.EXPANDED, values.TRANSPOSED)

    def _transposed_copy(self, name: str, node: ast.AST) -> None:
        # Where the reference itself transposes, copying out the transposition IS part of the target. Elsewhere it
        # is a layout that a kernel asks for, which a person has to judge.
        level: Level | None = None if self.reference_transposes else "suspect"
        self.interpreter.flag("materialised-transpose", node, f".{name}() copies a transposed view", level)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Partial(BoundMethod):
    """functools.partial of something, not yet called."""

    receiver: Value = SCALAR
    name: str = "partial"
    callee: Value = SCALAR
    arguments: tuple[Value, ...] = ()
    keywords: Mapping[str, Value] = field(default_factory=dict)
    __eq__ = object.__eq__
    __hash__ = object.__hash__
