"""The sources that are compiled: which precompiled prelude each gets, and whether its bindings need pybind11 itself.

Nearly all kernels bind functions and nothing else, which the simulator's own binding layer does in a tenth of
pybind11's compile time. A source that names anything the layer lacks is compiled with pybind11.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from npu_worker.toolchains.sources import Token, includes, reached_from, tokens
from schema.texts import bytes_of

SOURCE_SUFFIXES = (".cpp", ".cc", ".cxx", ".asc", ".cce")

#: What a source includes decides its prelude: of the kernel's interface, of the light torch, or both.
_KERNEL_HEADERS = frozenset({"kernel_operator.h", "tikicpulib.h"})
#: All headers of these directories lead to torch/extension.h.
_TORCH_DIRECTORIES = ("torch/", "ATen/", "c10/")
_OPERATOR_HEADER = "pytorch_npu_helper.hpp"
_LAYER_HEADERS = frozenset({"pybind11/pybind11.h", "pybind11/stl.h"})
#: What the binding layer has of pybind11's namespace (npu_worker/sim/include/opmend_sim/{objects,casters,binding}.h).
_LAYER_NAMES = frozenset(
    {
        "arg",
        "arg_v",
        "attribute_error",
        "bool_",
        "buffer_error",
        "call_guard",
        "cast",
        "cast_error",
        "cpp_function",
        "dict",
        "doc",
        "error_already_set",
        "float_",
        "gil_scoped_acquire",
        "gil_scoped_release",
        "handle",
        "import_error",
        "index_error",
        "int_",
        "isinstance",
        "key_error",
        "len",
        "list",
        "literals",
        "make_tuple",
        "mod_gil_not_used",
        "module",
        "module_",
        "none",
        "object",
        "overload_cast",
        "reinterpret_borrow",
        "reinterpret_steal",
        "return_value_policy",
        "size_t",
        "ssize_t",
        "stop_iteration",
        "str",
        "tuple",
        "type_error",
        "value_error",
    }
)
_BLANK = ("space", "newline", "comment")


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One source to compile.

    Attributes:
        path: in the workspace.
        prelude: the precompiled prelude it gets: kernel, torch, both, or "" for none.
        bindings: it sees the binding layer or pybind11.
        full: it is compiled with pybind11 itself.
        flags: of its own: definitions, and the header that shows it the workspace's tiling structs.
        variant: which of several compiles of the source, by their definitions.
    """

    path: str
    prelude: str
    bindings: bool = False
    full: bool = False
    flags: tuple[str, ...] = ()
    variant: int = 0

    @property
    def object_name(self) -> str:
        """The file name of its object, the same whatever it is compiled with."""
        name = f"{self.path}#{self.variant}" if self.variant else self.path
        return f"{hashlib.sha256(bytes_of(name)).hexdigest()[:16]}.o"

    def with_prologue(self, text: str, generated: Path) -> "Unit":
        """The unit with its tiling structs before it, in a header of the same content for the same structs."""
        if not text:
            return self
        header = generated / f"tiling_{hashlib.sha256(bytes_of(text)).hexdigest()[:16]}.h"
        header.write_bytes(bytes_of(f'#pragma once\n#include "kernel_tiling/kernel_tiling.h"\n{text}'))
        return replace(self, flags=("-include", f".generated/{header.name}", *self.flags))


def units_of(files: Mapping[str, str], flags: tuple[str, ...] = ()) -> tuple[Unit, ...]:
    """The sources to compile. One that needs pybind11 brings it to all, since bindings may be spread over sources."""
    paths = [
        path
        for path in sorted(files)
        if PurePosixPath(path).suffix in SOURCE_SUFFIXES and not _is_included(path, files)
    ]
    units = tuple(_unit(path, files, flags) for path in paths)
    full = any(unit.full for unit in units)
    return tuple(replace(unit, full=full and unit.bindings) for unit in units)


def _is_included(path: str, files: Mapping[str, str]) -> bool:
    """Whether another file includes this source: it is then compiled there, and twice would define its names twice."""
    name = PurePosixPath(path).name
    return any(
        other != path
        and name in text
        and any(PurePosixPath(operand).name == name for operand in includes(text))
        for other, text in files.items()
    )


def _unit(path: str, files: Mapping[str, str], flags: tuple[str, ...]) -> Unit:
    """Look at all that `path` includes from the workspace. In doubt, a source needs pybind11."""
    found = reached_from(path, files)
    # A launch needs the simulator's `launch`, and a real compiler needs no header for it.
    kernel = (
        bool(found.operands & _KERNEL_HEADERS)
        or any(name.startswith("aclrtlaunch_") for name in found.operands)
        or any("<<<" in files[one] for one in found.files)
    )
    torch = any(
        name.startswith(_TORCH_DIRECTORIES) or name.endswith(_OPERATOR_HEADER) for name in found.operands
    )
    pybind = {name for name in found.operands if name.startswith("pybind11/")}
    beyond = bool(pybind - _LAYER_HEADERS) or any(_beyond_layer(files[one]) for one in found.files)
    return Unit(
        path=path,
        prelude="both" if kernel and torch else "kernel" if kernel else "torch" if torch else "",
        bindings=torch or bool(pybind),
        full=(torch or bool(pybind)) and beyond,
        flags=flags,
    )


def _beyond_layer(text: str) -> bool:
    """Whether the text names what only pybind11 has: other names of its namespace, its macros, the namespace itself."""
    if "py" not in text and "PYBIND11" not in text:
        return False
    words = [token for token in tokens(text) if token.kind not in _BLANK]
    return any(_is_beyond(words, at) for at in range(len(words)) if words[at].kind == "word")


def _is_beyond(words: list[Token], at: int) -> bool:
    text = words[at].text
    if text.startswith("PYBIND11_"):
        return text != "PYBIND11_MODULE"
    if text not in ("py", "pybind11"):
        return False
    following = [token.text for token in words[at + 1 : at + 3]]
    if following[:1] == ["::"]:
        return following[-1] not in _LAYER_NAMES
    before = [token.text for token in _back(words, at)]
    if text == "py":  # a variable's name is nobody's namespace
        opened = before[0] == "namespace" and following[:1] != ["="]
        return opened or (before[0] == "=" and before[2] == "namespace")
    # In a header's name it is looked at as an include; `namespace py = pybind11;` is what torch's header says too.
    return following[:1] != ["/"] and before[:3] != ["=", "py", "namespace"] and following[:1] != ["."]


def _back(words: list[Token], at: int) -> Iterator[Token]:
    """The three tokens before `at`, last first, without a leading `::`; blank ones where the text starts."""
    end = at - 1 if at and words[at - 1].text == "::" else at
    before = words[max(0, end - 3) : end][::-1]
    yield from before
    for _ in range(3 - len(before)):
        yield Token(kind="mark", text="", line=0)
