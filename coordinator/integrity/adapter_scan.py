"""Scans model_new_ascendc.py: does forward compute by itself, or does the kernel?"""

import ast
import re
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

from coordinator.integrity import values
from coordinator.integrity.calls import CallMeanings
from coordinator.integrity.interpreter import Interpreter
from coordinator.integrity.memory import Memory, Returned, TooComplex, parts_of
from coordinator.integrity.parameters import tensor_parameters
from coordinator.integrity.report import Findings
from coordinator.integrity.values import SCALAR, BoundFunction, Class, Instance, Scope, Value, join, named
from coordinator.integrity.words import words
from schema.errors import BadInput
from schema.texts import bytes_of

ADAPTER = "model_new_ascendc.py"
_HARNESS_HOOKS = words("get_init_inputs get_inputs get_input_groups custom_check_precision get_test_cases")
_CONSTANT_TABLE = 48  # float literals in one literal; polynomials and tilings stay far below


@dataclass(frozen=True, kw_only=True)
class ExtensionNames:
    """What the kernel sources register, for telling the extension from other modules.

    Attributes:
        modules: names in PYBIND11_MODULE, macros left out.
        operators: "namespace.operator" of TORCH_LIBRARY registrations.
        returning: Python names of functions whose C++ function returns tensors.
    """

    modules: frozenset[str] = frozenset()
    operators: frozenset[str] = frozenset()
    returning: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class AdapterTrace:
    """Where forward is, and which extension functions it calls: (name, file, line)."""

    entry: tuple[str, int] | None = None
    calls: tuple[tuple[str, str, int], ...] = ()


def parse_python(source: str) -> ast.Module | None:
    """The syntax tree, or None where the text is no valid Python or nests too deep to parse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            # Bytes, as Python itself reads the file: a coding comment can make code of what reads as a comment.
            return ast.parse(bytes_of(source))
        except (SyntaxError, ValueError, RecursionError, MemoryError, BadInput):
            return None


def scan_adapter(files: Mapping[str, str], findings: Findings, extension: ExtensionNames) -> AdapterTrace:
    """Scan the adapter and every Python file of the workspace that it imports.

    Args:
        files: the whole workspace, path → text.
        findings: takes the reasons.
        extension: what the kernel sources register.
    """
    if ADAPTER not in files:
        findings.add(
            "adapter-missing", file=ADAPTER, line=0, message="the workspace has no model_new_ascendc.py"
        )
        return AdapterTrace()
    scan = _Scan(files=files, findings=findings, extension=extension)
    try:
        return scan.run()
    except (RecursionError, TooComplex):
        findings.add(
            "adapter-unreadable",
            file=ADAPTER,
            line=0,
            message="the adapter nests too deep or is too large to analyse",
        )
        return AdapterTrace(calls=tuple(scan.interpreter.extension_calls))


@dataclass(kw_only=True)
class _Scan:
    files: Mapping[str, str]
    findings: Findings
    extension: ExtensionNames
    interpreter: Interpreter = field(init=False)
    modules: dict[str, Scope] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.reference = parse_python(self.files["model.py"]) if "model.py" in self.files else None
        self.interpreter = Interpreter(findings=self.findings, resolve_import=self.resolve_import)
        self.interpreter.calls = CallMeanings(
            interpreter=self.interpreter,
            library_operators=self.extension.operators,
            returning=self.extension.returning,
            reference_transposes=reference_transposes(self.reference),
        )

    def run(self) -> AdapterTrace:
        module = self.load(ADAPTER)
        if module is None:
            return AdapterTrace()
        self._check_module(module)
        model = module.names.get("ModelNew")
        cls = next(iter(model.classes), None) if model is not None else None
        forward = cls.find("forward") if cls is not None else None
        override = cls.find("__call__") if cls is not None else None
        if model is None or cls is None or (forward is None and override is None):
            self.findings.add(
                "model-new-missing",
                file=ADAPTER,
                line=0,
                message="no class ModelNew with a method forward was found",
            )
            return AdapterTrace()
        entry = self._run_forward(cls, override or forward or SCALAR)
        self._run_unreached()
        return AdapterTrace(entry=entry, calls=tuple(self.interpreter.extension_calls))

    # ---- modules -------------------------------------------------------------------------------------------

    def load(self, path: str) -> Scope | None:
        """Execute a Python file of the workspace abstractly, once."""
        if path in self.modules:
            return self.modules[path]
        tree = parse_python(self.files[path])
        scope = Scope(file=path, is_module=True)
        self.modules[path] = scope
        if tree is None:
            self.findings.add("adapter-unreadable", file=path, line=0, message="the file is no valid Python")
            return None
        scope.names["__file__"] = SCALAR
        scope.names["__name__"] = SCALAR
        outer, phase = self.interpreter.scope, self.interpreter.phase
        self.interpreter.scope, self.interpreter.phase = scope, "load"
        try:
            self.interpreter.run(tree.body)
        finally:
            self.interpreter.scope, self.interpreter.phase = outer, phase
        self._check_tables(tree, path)
        return scope

    def resolve_import(self, interpreter: Memory, name: str, node: ast.AST, scope: Scope) -> Value:
        """The value of an imported module."""
        del scope
        last = name.rsplit(".", 1)[-1]
        if last in self.extension.modules or re.fullmatch(r"\w+_ext\w*|_ext", last):
            return named(f"ext:{last}")
        if last == "model" or name.split(".")[0] == "model":
            interpreter.flag("imports-reference", node, "imports the reference model.py")
            return SCALAR
        path = name.replace(".", "/") + ".py"
        choices = [one for one in (path, f"kernel/{path}", f"kernel/build/{path}") if one in self.files]
        if choices:
            module = self.load(choices[0])
            return Value(modules=frozenset((module,))) if module is not None else SCALAR
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith(
            ("torch", "numpy", "scipy")
        ):
            return named(name)
        return named(name)

    # ---- forward -------------------------------------------------------------------------------------------

    def _run_forward(self, cls: Class, forward: Value) -> tuple[str, int] | None:
        interpreter = self.interpreter
        instance = Instance(cls=cls)
        receiver = Value(instances=frozenset((instance,)))
        interpreter.scope = self.modules[ADAPTER]
        interpreter.phase = "init"
        init = cls.find("__init__")
        for bound in sorted(init.functions, key=lambda one: one.function.name) if init is not None else ():
            interpreter.invoke(BoundFunction(function=bound.function, receiver=receiver), [], {"*": SCALAR})
        interpreter.phase = "forward"
        entry: tuple[str, int] | None = None
        returns: list[Returned] = []
        for bound in sorted(forward.functions, key=lambda one: one.function.name):
            node = bound.function.node
            if isinstance(node, ast.Lambda):
                parameters: dict[str, Value] = {
                    argument.arg: values.tensor(values.INPUT, sites=frozenset((argument.arg,)))
                    for argument in node.args.args[1:]
                }
            else:
                parameters = tensor_parameters(node, files=self.files, reference=self.reference)
            entry = entry or (bound.function.scope.file, node.lineno)
            for _ in range(2):  # the second pass sees what the first one kept
                interpreter.flow.clear()
                call = BoundFunction(function=bound.function, receiver=receiver)
                _, returns = self._invoke_with(call, parameters)
            self._check_returns(returns, bound)
        for method in forward.methods:
            del method
        if not interpreter.extension_calls:
            self.findings.add(
                "extension-never-called",
                file=entry[0] if entry else ADAPTER,
                line=entry[1] if entry else 0,
                message="forward reaches no call of the extension",
            )
        return entry

    def _invoke_with(self, call: BoundFunction, parameters: dict[str, Value]) -> tuple[Value, list[Returned]]:
        arguments = call.function.node.args
        positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)][1:]
        given = [parameters.get(name, SCALAR) for name in positional]
        if arguments.vararg is not None and arguments.vararg.arg in parameters:
            given += [parameters[arguments.vararg.arg].element()] * 2
        keywords = {one.arg: parameters.get(one.arg, SCALAR) for one in arguments.kwonlyargs}
        if arguments.kwarg is not None and arguments.kwarg.arg in parameters:
            keywords["extra"] = parameters[arguments.kwarg.arg].element()
        return self.interpreter.invoke(call, given, keywords)

    def _check_returns(self, returns: list[Returned], bound: BoundFunction) -> None:
        if not returns:
            self._discarded(bound.function.scope.file, bound.function.node.lineno, "forward returns nothing")
        for one in returns:
            parts = parts_of(one.value)
            tensors = [part for part in parts if part.holds_tensor]
            good = [part for part, came in zip(parts, one.good, strict=True) if part.holds_tensor and came]
            fresh = all(values.FRESH in part.marks for part in tensors)
            if one.guarded_empty and fresh:
                continue
            if not good and not any(one.touched):
                self._discarded(one.file, one.line, "what is returned does not come from the extension")
            elif len(good) < len(tensors) or any(values.MIXED in part.marks for part in tensors):
                self.findings.add(
                    "output-not-from-extension",
                    file=one.file,
                    line=one.line,
                    message="an output, or an output on some branch, does not come from the extension",
                )
            for part in tensors:
                if values.PERSISTED in part.marks and values.PARAMETER not in part.marks:
                    rule = "result-cache" if values.EXTENSION in part.marks else "buffer-reused"
                    self.findings.add(
                        rule,
                        file=one.file,
                        line=one.line,
                        message="a tensor kept from an earlier call is returned",
                    )

    def _discarded(self, file: str, line: int, message: str) -> None:
        self.findings.add("extension-result-discarded", file=file, line=line, message=message)

    def _run_unreached(self) -> None:
        """Interpret what forward does not reach, for doors out of Python that open by other ways."""
        interpreter = self.interpreter
        interpreter.phase = "unreached"
        for function in list(interpreter.functions):
            if id(function.node) not in interpreter.visited:
                interpreter.invoke(BoundFunction(function=function), [], {"*": SCALAR})

    # ---- the module as a whole -----------------------------------------------------------------------------

    def _check_module(self, module: Scope) -> None:
        tree = parse_python(self.files[ADAPTER])
        for node in tree.body if tree is not None else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in _HARNESS_HOOKS:
                if not self._same_as_reference(node):
                    self.findings.add(
                        "harness-hook-overridden",
                        file=ADAPTER,
                        line=node.lineno,
                        message=f"the adapter redefines {node.name}, which belongs to the reference",
                    )
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name) and target.id in _HARNESS_HOOKS:
                        self.findings.add(
                            "harness-hook-overridden",
                            file=ADAPTER,
                            line=node.lineno,
                            message=f"redefines {target.id}",
                        )
        model = module.names.get("ModelNew")
        for cls in model.classes if model is not None else ():
            self._check_bases(cls)

    def _same_as_reference(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        body = [part for part in node.body if not _is_docstring(part)]
        if len(body) == 1 and ast.unparse(body[0]) in ("return []", "return ()", "return {}"):
            return True
        for other in self.reference.body if self.reference is not None else ():
            if isinstance(other, ast.FunctionDef) and other.name == node.name:
                mine, theirs = (
                    ast.Module(body, []),
                    ast.Module([p for p in other.body if not _is_docstring(p)], []),
                )
                return ast.dump(mine) == ast.dump(theirs)
        return False

    def _check_bases(self, cls: Class) -> None:
        for base in cls.node.bases:
            if any(part in ("Model", "model") for part in re.findall(r"\w+", ast.unparse(base))):
                self.findings.add(
                    "inherits-reference",
                    file=cls.scope.file or ADAPTER,
                    line=cls.node.lineno,
                    message=f"{cls.node.name} inherits {ast.unparse(base)}",
                )
        for base_value in cls.bases:
            for one in base_value.classes:
                self._check_bases(one)

    def _check_tables(self, tree: ast.Module, path: str) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Set):
                floats = sum(
                    isinstance(p, ast.Constant) and isinstance(p.value, float) for p in ast.walk(node)
                )
                if floats >= _CONSTANT_TABLE:
                    self.findings.add(
                        "constant-table",
                        file=path,
                        line=node.lineno,
                        message=f"{floats} constants in one literal",
                    )


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def reference_transposes(reference: ast.Module | None) -> bool:
    """Whether the reference's forward transposes, so that a transposition is part of the target."""
    names = {
        "transpose",
        "permute",
        "t",
        "T",
        "mT",
        "swapaxes",
        "swapdims",
        "movedim",
        "adjoint",
        "matrix_transpose",
    }
    if reference is None:
        return True
    for node in ast.walk(reference):
        if isinstance(node, ast.FunctionDef) and node.name == "forward":
            for part in ast.walk(node):
                if isinstance(part, ast.Attribute) and part.attr in names:
                    return True
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and "->" in part.value:
                    return True  # einsum
    return False


__all__ = ["ADAPTER", "AdapterTrace", "ExtensionNames", "join", "parse_python", "scan_adapter"]
