"""Finds a workspace's tiling structs, so that a kernel sees them as the device's build would show them.

On a device the build generates, from the host's BEGIN_TILING_DATA_DEF text, a header with plain structs that every
kernel sees, and makes GET_TILING_DATA mean the struct that the operator registered. Here the text is read by the
same lexer that finds launches; `TilingSources` says what to put before a kernel's source, and names the struct in
each GET_TILING_DATA.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from npu_worker.toolchains.lookups import lookup_prologue
from npu_worker.toolchains.sources import Token, kernel_signatures, reached_from, tokens
from schema.operator_names import snake_case

_BEGIN, _END = "BEGIN_TILING_DATA_DEF", "END_TILING_DATA_DEF"
_REGISTER, _DEFAULT, _GET = "REGISTER_TILING_DATA_CLASS", "REGISTER_TILING_DEFAULT", "GET_TILING_DATA"
_BLANK = ("space", "newline", "comment")
#: Tiling structs of the high-level library. They live in a namespace of their own until a workspace names one and has
#: none of that name itself.
LIBRARY_STRUCTS = (
    "SoftMaxTiling",
    "LayerNormTiling",
    "LayerNormSeparateTiling",
    "LayerNormGradTiling",
    "LayerNormGradBetaTiling",
    "RmsNormTiling",
    "BatchNormTiling",
    "DeepNormTiling",
    "GroupNormTiling",
    "LogSoftMaxTiling",
    "TopkTiling",
    "PadTiling",
    "UnPadTiling",
    "ConfusionTransposeTiling",
)
_CONSTANT = re.compile(
    r"^[ \t]*(?:static[ \t]+|inline[ \t]+)*(?:constexpr|const)[ \t]+(?:static[ \t]+)?[\w: \t]+?[ \t]"
    r"(?P<name>[A-Za-z_]\w*)[ \t]*=(?P<value>[^;{}]*);"
    r"|^[ \t]*\#[ \t]*define[ \t]+(?P<macro>[A-Za-z_]\w*)[ \t]+(?P<text>[^\n]+)",
    re.MULTILINE,
)


@dataclass(frozen=True, kw_only=True)
class TilingStruct:
    """One BEGIN_TILING_DATA_DEF block.

    Attributes:
        name: of the struct.
        file: where it stands.
        at_top: whether it stands outside every namespace, so that who includes the file sees the plain name.
        text: the block, from BEGIN to END with its semicolon.
    """

    name: str
    file: str
    at_top: bool
    text: str


class TilingSources:
    """The tiling structs of a workspace and what its kernels mean by GET_TILING_DATA.

    Args:
        files: C++ texts by their paths in the workspace.
    """

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        streams = {path: _code(text) for path, text in files.items() if _concerns(text)}
        self._structs = tuple(one for path, stream in streams.items() for one in _blocks(path, stream))
        self._registered: dict[str, str] = {}
        self._defaults: dict[str, str] = {}
        for path, stream in streams.items():
            for name, arguments in _macro_calls(stream, (_REGISTER, _DEFAULT)):
                if name == _DEFAULT and len(arguments) == 1:
                    self._defaults.setdefault(path, arguments[0])
                elif name == _REGISTER and len(arguments) == 2:
                    self._registered[snake_case(arguments[0])] = arguments[1].split("::")[-1]
        self._plain = tuple(dict.fromkeys(name for text in files.values() for name in _plain_structs(text)))

    def prologue(self, path: str) -> str:
        """Declarations to compile before the source `path`; "" if it needs none."""
        return lookup_prologue(path, self._files) + self._tiling_prologue(path)

    def _tiling_prologue(self, path: str) -> str:
        text = self._files[path]
        if not _concerns(text) and not any(name in text for name in LIBRARY_STRUCTS):
            reached = reached_from(path, self._files).files
            if not any(_concerns(self._files[one]) or _names_library(self._files[one]) for one in reached):
                return ""
        reached = reached_from(path, self._files).files
        return self._library_names(reached) + self._structs_for(reached)

    def rewritten(self, path: str, text: str) -> str:
        """`text`, that of `path`, with the struct that each GET_TILING_DATA(a, b) means named in it; lines stay."""
        if _GET not in text:
            return text
        meant = self._meant(path)
        if meant is None:
            return text
        out, pending = [], False
        stream = tokens(text)
        defines = _directive_marks(stream)
        for index, token in enumerate(stream):
            if token.kind == "word" and token.text == _GET and not defines[index] and _opens(stream, index):
                out.append(f"{_GET}_WITH_STRUCT")
                pending = True
            elif pending and token.text == "(":
                out.append(f"({meant}, ")
                pending = False
            else:
                out.append(token.text)
        return "".join(out)

    def _meant(self, path: str) -> str | None:
        """The struct of GET_TILING_DATA in `path`: the default in reach, else the operator's, else the only one."""
        if path in self._defaults:
            return self._defaults[path]
        family = self._family(path)
        for one in family:
            if one in self._defaults:
                return self._defaults[one]
        kernels = {kernel.name for one in family for kernel in kernel_signatures(self._files[one])}
        registered = {self._registered[name] for name in kernels if name in self._registered}
        if len(registered) == 1:
            return registered.pop()
        known = list(dict.fromkeys(one.name for one in self._structs)) or list(self._plain)
        inner = {field for one in self._structs for field in _field_structs(one.text)}
        outer = [name for name in known if name not in inner]
        return outer[0] if len(outer) == 1 else None

    def _family(self, path: str) -> tuple[str, ...]:
        """`path`, the sources that reach it, and what they reach: a header's kernel stands in the source above it."""
        above = [one for one in self._files if path in reached_from(one, self._files).files]
        reached = [one for top in above for one in sorted(reached_from(top, self._files).files)]
        return tuple(dict.fromkeys([path, *above, *reached]))

    def _structs_for(self, reached: Iterable[str]) -> str:
        near = set(reached)
        if not any(_GET in self._files[path] or "_TILING_" in self._files[path] for path in near):
            return ""
        wanted = [one for one in self._structs if not (one.at_top and one.file in near)]
        seen = {one.name for one in self._structs if one.at_top and one.file in near}
        out = []
        for one in wanted:
            if one.name in seen or not _mentions(one.name, self._files, near, self._meant_in(near)):
                continue
            for part in (*self._inner(one), one):
                if part.name not in seen:
                    seen.add(part.name)
                    out.append(self._resolved(part))
        return "\n".join(out) + ("\n" if out else "")

    def _meant_in(self, near: Iterable[str]) -> frozenset[str]:
        return frozenset(name for path in near if _GET in self._files[path] and (name := self._meant(path)))

    def _inner(self, outer: TilingStruct, depth: int = 0) -> Iterator[TilingStruct]:
        """The structs that a struct's fields have, innermost first."""
        if depth > 8:
            return
        for name in _field_structs(outer.text):
            for one in self._structs:
                if one.name == name:
                    yield from self._inner(one, depth + 1)
                    yield one

    def _resolved(self, struct: TilingStruct) -> str:
        """The block with each constant of the host in it (an array's length, mostly) replaced by its value."""
        constants: dict[str, str] = {}
        for path in (struct.file, *sorted(self._files)):
            for match in _CONSTANT.finditer(self._files[path]):
                name, value = match["name"] or match["macro"], match["value"] or match["text"]
                constants.setdefault(name, value.split("//")[0].strip())

        def value_of(word: str, depth: int) -> str:
            if word not in constants or depth > 8:
                return word
            parts = tokens(constants[word])
            inner = "".join(
                value_of(one.text, depth + 1) if one.kind == "word" else one.text for one in parts
            )
            return f"({inner})"

        out = []
        for token in _code(struct.text):
            known = token.kind == "word" and token.text != struct.name
            out.append(value_of(token.text, 0) if known else token.text)
        return "".join(out)

    def _library_names(self, reached: Iterable[str]) -> str:
        words = {token.text for path in reached for token in _code(self._files[path]) if token.kind == "word"}
        named = {name for one in self._structs for name in _field_structs(one.text)}
        own = {*self._plain, *(one.name for one in self._structs)}
        wanted = [name for name in LIBRARY_STRUCTS if (name in words or name in named) and name not in own]
        if not wanted:
            return ""
        uses = " ".join(f"using ::AscendC::tiling::{name};" for name in wanted)
        return (
            '#include "kernel_tiling/kernel_tiling.h"\n'
            f"{uses}\nnamespace AscendC {{ {uses} }}\nnamespace optiling {{ {uses} }}\n"
        )


def _concerns(text: str) -> bool:
    return _BEGIN in text or _GET in text or _DEFAULT in text or _REGISTER in text


def _names_library(text: str) -> bool:
    return any(name in text for name in LIBRARY_STRUCTS)


def _code(text: str) -> list[Token]:
    return [token for token in tokens(text) if token.kind != "comment"]


def _blocks(path: str, stream: Sequence[Token]) -> Iterator[TilingStruct]:
    depth = 0
    begin: tuple[int, int] | None = None
    marks = _directive_marks(stream)
    for index, token in enumerate(stream):
        if marks[index]:
            continue
        if token.text == "{":
            depth += 1
        elif token.text == "}":
            depth -= 1
        elif token.kind == "word" and token.text == _BEGIN:
            begin = (index, depth)
        elif token.kind == "word" and token.text == _END and begin is not None:
            name = next((one.text for one in stream[begin[0] + 1 : index] if one.kind == "word"), "")
            text = "".join(one.text for one in stream[begin[0] : index + 1]) + ";"
            yield TilingStruct(name=name, file=path, at_top=begin[1] == 0, text=text)
            begin = None


def _macro_calls(stream: Sequence[Token], names: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    marks = _directive_marks(stream)
    solid = [
        token for token, mark in zip(stream, marks, strict=True) if not mark and token.kind not in _BLANK
    ]
    for index, token in enumerate(solid):
        if token.kind != "word" or token.text not in names:
            continue
        if index + 1 >= len(solid) or solid[index + 1].text != "(":
            continue
        arguments, depth = [""], 0
        for part in solid[index + 1 :]:
            depth += {"(": 1, ")": -1}.get(part.text, 0)
            if depth == 0:
                break
            if part.text == "(" and depth == 1:
                continue
            if part.text == "," and depth == 1:
                arguments.append("")
            else:
                arguments[-1] += part.text
        yield token.text, tuple(arguments)


def _directive_marks(stream: Sequence[Token]) -> list[bool]:
    """For each token whether it stands in a preprocessor line."""
    marks, inside, fresh = [], False, True
    for token in stream:
        if token.kind == "newline":
            inside, fresh = False, True
        elif token.kind not in _BLANK:
            inside = inside or (fresh and token.text == "#")
            fresh = False
        marks.append(inside)
    return marks


def _opens(stream: Sequence[Token], index: int) -> bool:
    following = next((token for token in stream[index + 1 :] if token.kind not in _BLANK), None)
    return following is not None and following.text == "("


def _field_structs(text: str) -> tuple[str, ...]:
    calls = _macro_calls(_code(text), ("TILING_DATA_FIELD_DEF_STRUCT",))
    return tuple(arguments[0].split("::")[-1] for _, arguments in calls if arguments)


def _plain_structs(text: str) -> Iterator[str]:
    """Structs whose name says that they are tiling data, written as plain C++."""
    if "Tiling" not in text:
        return
    solid = [token for token in _code(text) if token.kind not in _BLANK]
    for at, token in enumerate(solid[:-2]):
        name = solid[at + 1]
        if token.text not in ("struct", "class") or name.kind != "word" or "Tiling" not in name.text:
            continue
        if solid[at + 2].text in ("{", ":"):
            yield name.text


def _mentions(name: str, files: Mapping[str, str], near: Iterable[str], meant: frozenset[str]) -> bool:
    if name in meant:
        return True
    return any(re.search(rf"\b{re.escape(name)}\b", files[path]) for path in near)
