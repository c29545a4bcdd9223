"""Operator projects: which kernels belong to operators that a workspace registers, and what their build defines.

On a device a build generates, from OP_ADD and the description, what binds an operator to its kernel. Here a kernel
registers itself: `ProjectSources` says what to put behind its source, where the description of its operator is met at
run time (runtime/operators.cpp), and which macros the source gets.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from npu_worker.toolchains.diagnostics import simulated_names
from npu_worker.toolchains.sources import (
    KernelSignature,
    Token,
    closing_bracket,
    kernel_signatures,
    parameters_opening,
    reached_from,
    tokens,
)
from npu_worker.toolchains.tasks import VECTOR, Task
from schema.operator_names import snake_case

_ADD = "OP_ADD"
_BLANK = ("space", "newline", "comment")
#: The type that DTYPE_NAME stands for in a kernel.
_TYPES = {
    "DT_FLOAT": "float",
    "DT_FLOAT16": "half",
    "DT_BF16": "bfloat16_t",
    "DT_INT8": "int8_t",
    "DT_INT16": "int16_t",
    "DT_INT32": "int32_t",
    "DT_INT64": "int64_t",
    "DT_UINT8": "uint8_t",
    "DT_UINT16": "uint16_t",
    "DT_UINT32": "uint32_t",
    "DT_UINT64": "uint64_t",
    "DT_BOOL": "bool",
}
_GROUPED = frozenset({"__mix__", "__attribute__", "__launch_bounds__", "alignas", "__declspec"})
_PARAMETER = re.compile(r'\b(?:Input|Output)\s*\(\s*"(\w+)"\s*\)((?:[^;"]|"[^"]*")*);')
_DATA_TYPE = re.compile(r"\.\s*DataType\s*\(\s*\{([^}]*)\}\s*\)")


class ProjectSources:
    """The operators of a workspace.

    Args:
        files: C++ texts by their paths in the workspace.
        tasks: the task of each kernel that is not plain vector code, by its name.
    """

    def __init__(self, files: Mapping[str, str], tasks: Mapping[str, Task]) -> None:
        self._tasks = tasks
        self._operators: dict[str, str] = {}
        for path, text in files.items():
            if _ADD in text:
                for name in _added(text):
                    self._operators[snake_case(name)] = path
        self._kernels: dict[str, tuple[KernelSignature, ...]] = {}
        if self._operators:
            for path, text in files.items():
                if "__global__" in text and (kernels := tuple(self._own_kernels(text))):
                    self._kernels[path] = kernels
        self._files = files

    def __bool__(self) -> bool:
        return bool(self._operators)

    def registration(self, path: str) -> str:
        """What registers the operators' kernels that the file defines; it stands behind the file's last line."""
        kernels = self._kernels.get(path, ())
        return "".join(_registration(one, self._tasks.get(one.name, VECTOR)) for one in kernels)

    def variants(self, path: str) -> tuple[tuple[str, ...], ...]:
        """Definitions for each compile of a source: one, or one for each combination of types of its operator.

        They are the types of the operator's tensors, and names of their own for what the source defines. A device
        compiles each operator alone, once for each combination; here all are one library, where equal names are one.
        """
        if path not in self._kernels:
            return ((),)
        near = sorted(reached_from(path, self._files).files)
        texts = [self._files[one] for one in near]
        types = {
            name: kinds
            for kernel in self._kernels[path]
            for name, kinds in _parameter_types(self._files[self._operators[kernel.name]]).items()
            if not any(re.search(rf"#\s*define\s+{name}\b", text) for text in texts)
        }
        label = re.sub(r"\W", "_", PurePosixPath(path).stem)
        others = {name for one in self._kernels if one != path for name in _classes(self._files[one])}
        shared = _classes(self._files[path]) & others
        asked = any(
            len(set(kinds)) > 1 and re.search(rf"\b{name}\b", text)
            for name, kinds in types.items()
            for text in texts
        )
        if not asked:
            same = {name: kinds[0] for name, kinds in types.items() if len(set(kinds)) == 1}
            return (_definitions(same, shared, label),)
        columns = max(len(kinds) for kinds in types.values())
        own = {name for text in texts for name in (*_classes(text), *_functions(text))}
        return tuple(
            (
                *_definitions(
                    {name: kinds[column] for name, kinds in types.items() if column < len(kinds)},
                    own if column else shared,
                    f"{label}_{column}" if column else label,
                ),
                f"-DOPMEND_COLUMN={column}",
            )
            for column in range(columns)
        )

    def _own_kernels(self, text: str) -> Iterator[KernelSignature]:
        defined = set(_defined(text))
        for kernel in kernel_signatures(text):
            own = kernel.name in self._operators and kernel.name in defined
            if own and kernel.parameters and all(_is_address(kind) for kind, _ in kernel.parameters):
                yield kernel


def _added(text: str) -> Iterator[str]:
    solid = _solid(text)
    for at, token in enumerate(solid[:-3]):
        if token.text == _ADD and solid[at + 1].text == "(" and solid[at + 3].text == ")":
            yield solid[at + 2].text


def _solid(text: str) -> list[Token]:
    return [token for token in tokens(text) if token.kind not in _BLANK]


def _defined(text: str) -> Iterator[str]:
    """The `__global__` functions that have a body here."""
    solid = _solid(text)
    for at, token in enumerate(solid):
        opening = parameters_opening(solid, at) if token.text == "__global__" else None
        end = closing_bracket(solid, opening) if opening is not None else None
        if (
            opening is not None
            and end is not None
            and [one.text for one in solid[end + 1 : end + 2]] == ["{"]
        ):
            yield solid[opening - 1].text


def _is_address(kind: str) -> bool:
    return kind.replace("__gm__", "").split()[-1:] == ["GM_ADDR"] or kind.rstrip().endswith("*")


def _registration(kernel: KernelSignature, task: Task) -> str:
    passed = ", ".join(f"({kind})arguments[{at}]" for at, (kind, _) in enumerate(kernel.parameters))
    return (
        '\n#include "opmend_sim/launch.h"\n#ifndef OPMEND_COLUMN\n#define OPMEND_COLUMN -1\n#endif\n'
        f"namespace {{ [[maybe_unused]] const bool opmend_kernel_{kernel.name} = ::opmend_sim::add_kernel("
        f'"{kernel.name}", {len(kernel.parameters)}, {task.expression}, '
        f"[](unsigned char* const* arguments) {{ {kernel.name}({passed}); }}, OPMEND_COLUMN); }}\n"
    )


def _definitions(types: Mapping[str, str], names: set[str], label: str) -> tuple[str, ...]:
    renamed = sorted(names - simulated_names())
    return (
        *(f"-D{name}={kind}" for name, kind in sorted(types.items())),
        *(f"-D{name}={name}_of_{label}" for name in renamed),
    )


def _parameter_types(text: str) -> dict[str, tuple[str, ...]]:
    """DTYPE_NAME of each input and output, by the columns of DataType."""
    code = "".join(token.text for token in tokens(text) if token.kind != "comment")
    found = {}
    for match in _PARAMETER.finditer(code):
        listed = _DATA_TYPE.search(match[2])
        names = [one.split("::")[-1].strip() for one in listed[1].split(",") if one.strip()] if listed else []
        if names and all(name in _TYPES for name in names):
            found[f"DTYPE_{match[1].upper()}"] = tuple(_TYPES[name] for name in names)
    return found


def _functions(text: str) -> set[str]:
    """The functions that a text defines outside classes."""
    solid = _solid(text)
    found, at = set(), 0
    while at < len(solid):
        if solid[at].text != "{":
            at += 1
            continue
        start = at
        while start and solid[start - 1].text not in (";", "{", "}"):
            start -= 1
        head = solid[start:at]
        if any(token.text == "namespace" for token in head) or [token.text for token in head] == [
            "extern",
            '"C"',
        ]:
            at += 1
            continue
        opening = next((index for index, token in enumerate(head) if token.text == "("), 0)
        if (
            opening
            and head[opening - 1].kind == "word"
            and not any(token.text == "=" for token in head[:opening])
        ):
            found.add(head[opening - 1].text)
        end = closing_bracket(solid, at)
        at = len(solid) if end is None else end + 1
    return found - _GROUPED


def _classes(text: str) -> set[str]:
    """The classes that a text defines."""
    solid: Sequence[Token] = _solid(text)
    return {
        solid[at + 1].text
        for at, token in enumerate(solid[:-2])
        if token.text in ("class", "struct")
        and solid[at + 1].kind == "word"
        and solid[at + 2].text in ("{", ":", "final")
        and (at == 0 or solid[at - 1].text not in ("enum", "<", ","))
    }
