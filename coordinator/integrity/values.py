"""Abstract values: what an expression of the adapter may stand for."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Optional

# Marks of a tensor (and, for HOSTDATA, of a Python number read out of one).
INPUT = "input"  # comes from a parameter of forward
EXTENSION = "extension"  # returned by the extension
FRESH = "fresh"  # allocated in the adapter
COMPUTED = "computed"  # the adapter computed it (already a reason)
EXPANDED = "expanded"  # a broadcast view
TRANSPOSED = "transposed"  # a view with permuted dimensions
PERSISTED = "persisted"  # kept between calls of forward
HOSTDATA = "hostdata"  # a Python value read out of a tensor
PARAMETER = "parameter"  # a parameter of a layer or of ModelNew
MIXED = "mixed"  # from the extension on one branch only

_NONE: frozenset[str] = frozenset()
_MAX_ITEMS = 64


@dataclass(eq=False)
class Cell:
    """A mutable container; shared by all its aliases, so that a cache can't hide behind another name."""

    persistent: bool
    content: Optional["Value"] = None

    def put(self, value: "Value") -> None:
        """Join `value` into what the container may hold."""
        self.content = value if self.content is None else join((self.content, value))


@dataclass(eq=False)
class Scope:
    """Names of a module or of a call; `parent` is the enclosing function's scope, then the module's."""

    file: str
    names: dict[str, "Value"] = field(default_factory=dict)
    parent: Optional["Scope"] = None
    is_module: bool = False
    globals_declared: set[str] = field(default_factory=set)


@dataclass(eq=False)
class Function:
    """A function of the workspace: a def or a lambda, with the scope that it closes over."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    name: str
    defaults: dict[str, "Value"] = field(default_factory=dict)
    owner: Optional["Class"] = None
    kind: str = "plain"  # or "static", "class", "property"
    cached: bool = False


@dataclass(eq=False)
class Class:
    """A class of the workspace."""

    node: ast.ClassDef
    scope: Scope
    bases: tuple["Value", ...] = ()
    attributes: dict[str, "Value"] = field(default_factory=dict)

    def find(self, name: str) -> Optional["Value"]:
        """The attribute `name` of the class or of its bases in the workspace, depth first."""
        if name in self.attributes:
            return self.attributes[name]
        for base in self.bases:
            for one in base.classes:
                if one is not self and (found := one.find(name)) is not None:
                    return found
        return None

    def base_names(self) -> frozenset[str]:
        """Dotted names of all bases outside the workspace."""
        names: set[str] = set()
        for base in self.bases:
            names |= base.names
            for one in base.classes:
                if one is not self:
                    names |= one.base_names()
        return frozenset(names)


@dataclass(eq=False)
class Instance:
    """An object of a workspace class; `attributes` joins all that was ever stored."""

    cls: Class
    attributes: dict[str, "Value"] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BoundMethod:
    """A method looked up on a value, not yet called."""

    receiver: "Value"
    name: str


@dataclass(frozen=True, kw_only=True)
class BoundFunction:
    """A workspace function, with its self or cls where it is bound."""

    function: Function
    receiver: Optional["Value"] = None


@dataclass(frozen=True, kw_only=True)
class Value:
    """A set of possibilities: every field says what the value MAY be.

    Attributes:
        tensor: a tensor, or a container of tensors if `container`.
        marks: where the tensors come from and what was done to them.
        sites: allocation sites and parameters that the tensors may share memory with.
        names: dotted names outside the workspace ("torch.add", "ext:_add_ext.run_add").
        texts: constant strings.
        items: the elements, if the length and every element are known.
    """

    tensor: bool = False
    container: bool = False
    marks: frozenset[str] = _NONE
    sites: frozenset[str] = _NONE
    names: frozenset[str] = _NONE
    texts: frozenset[str] = _NONE
    items: tuple["Value", ...] | None = None
    cells: frozenset[Cell] = frozenset()
    functions: frozenset[BoundFunction] = frozenset()
    methods: frozenset[BoundMethod] = frozenset()
    classes: frozenset[Class] = frozenset()
    instances: frozenset[Instance] = frozenset()
    modules: frozenset[Scope] = frozenset()

    def marked(self, *marks: str) -> "Value":
        """The same value with marks added."""
        return replace(self, marks=self.marks | frozenset(marks))

    def unmarked(self, *marks: str) -> "Value":
        """The same value with marks taken away."""
        return replace(self, marks=self.marks - frozenset(marks))

    @property
    def holds_tensor(self) -> bool:
        """Whether this is, or holds, a tensor."""
        return self.tensor or any(cell.content is not None and cell.content.tensor for cell in self.cells)

    @property
    def bare_tensor(self) -> bool:
        """Whether this may be a tensor itself, not only a container of some."""
        return self.tensor and not self.container

    def element(self) -> "Value":
        """What iterating or subscripting with an unknown key gives."""
        if not self.container:
            return self
        parts: list[Value] = list(self.items) if self.items is not None else []
        for cell in self.cells:
            if cell.content is not None:
                parts.append(cell.content.marked(PERSISTED) if cell.persistent else cell.content)
        if not parts:
            return replace(self, container=False, cells=frozenset(), items=None)
        return join(parts)


SCALAR = Value()


def join(values: Iterable[Value]) -> Value:
    """The least value that covers all of `values`."""
    parts = list(values)
    if not parts:
        return SCALAR
    first = parts[0]
    if len(parts) == 1 or all(part == first for part in parts[1:]):
        return first
    items: tuple[Value, ...] | None = None
    if all(part.items is not None and len(part.items) == len(first.items or ()) for part in parts):
        columns = zip(*(part.items or () for part in parts), strict=True)
        items = tuple(join(column) for column in columns)
    return Value(
        tensor=any(part.tensor for part in parts),
        container=any(part.container for part in parts)
        and all(part.container or not part.tensor for part in parts),
        marks=frozenset().union(*(part.marks for part in parts)),
        sites=frozenset().union(*(part.sites for part in parts)),
        names=frozenset().union(*(part.names for part in parts)),
        texts=frozenset(sorted(frozenset().union(*(part.texts for part in parts)))[:_MAX_ITEMS]),
        items=items,
        cells=frozenset().union(*(part.cells for part in parts)),
        functions=frozenset().union(*(part.functions for part in parts)),
        methods=frozenset().union(*(part.methods for part in parts)),
        classes=frozenset().union(*(part.classes for part in parts)),
        instances=frozenset().union(*(part.instances for part in parts)),
        modules=frozenset().union(*(part.modules for part in parts)),
    )


def sequence(items: Iterable[Value]) -> Value:
    """A tuple or list with known elements."""
    known = tuple(items)
    whole = join(known)
    return Value(
        tensor=any(item.holds_tensor for item in known),
        container=True,
        marks=whole.marks,
        sites=whole.sites,
        items=known if len(known) <= _MAX_ITEMS else None,
        functions=whole.functions if len(known) > _MAX_ITEMS else frozenset(),
        cells=whole.cells if len(known) > _MAX_ITEMS else frozenset(),
    )


def tensor(*marks: str, sites: frozenset[str] = _NONE) -> Value:
    """A tensor with these marks."""
    return Value(tensor=True, marks=frozenset(marks), sites=sites)


def text(value: str) -> Value:
    """A constant string."""
    return Value(texts=frozenset((value,)))


def named(name: str) -> Value:
    """Something outside the workspace, by its dotted name."""
    return Value(names=frozenset((name,)))
