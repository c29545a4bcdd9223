"""Which cores a kernel runs on, from its text: what it is marked as, else what it calls.

A real toolchain infers the same from the code: vector calls alone run on vector cores (AIV), cube calls alone on cube
cores (AIC), and both make a MIX kernel of one cube core and two vector cores a block. KERNEL_TASK_TYPE is not read
here: the simulator obeys it when the kernel says it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from npu_worker.toolchains.sources import (
    Token,
    closing_bracket,
    directives,
    parameters_opening,
    reached_from,
    tokens,
)

#: `if ASCEND_IS_AIC` alone is no cube code: vector kernels guard with it, too.
_CUBE_NAMES = frozenset(
    {"Mmad", "MmadWithSparse", "LoadData", "LoadDataWithTranspose", "LoadDataWithSparse", "LoadImageToLocal"}
    | {"Fixpipe", "SetFixPipeConfig", "SetFixpipeNz2ndFlag", "Gemm", "Conv2D", "CO1"}
)
#: Calls of the high-level library that use both kinds of cores whatever else the kernel does.
_MIX_NAMES = frozenset({"REGIST_MATMUL_OBJ", "REGIST_CUBE_OBJ", "MatmulImpl", "MatmulType", "MatmulClient"})
_VECTOR_NAMES = frozenset({"VECIN", "VECOUT", "VECCALC", "ASCEND_IS_AIV", "AIV"})
#: A device's compiler takes a MIX kernel's source once for each kind of core, and says so by one of these.
_CORE_MACRO = re.compile(r"\b__DAV_(?:C220_)?(?:CUBE|VEC)__")
VECTOR_MACROS = ("__DAV_C220_VEC__", "__DAV_VEC__")
_DEFINERS = frozenset({"class", "struct", "union"})
_DIRECTIVE = re.compile(r"^\s*#\s*define\s+(\w+)((?:[^\n\\]|\\\n|\\.)*)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Task:
    """Cores a block: cube cores, vector cores, and whether the kernel is a MIX one."""

    aics: int
    aivs: int
    mix: bool

    @property
    def expression(self) -> str:
        """The simulator's value in C++."""
        return f"::opmend_sim::Task{{{self.aics}, {self.aivs}, {'true' if self.mix else 'false'}}}"


VECTOR = Task(aics=0, aivs=1, mix=False)
CUBE = Task(aics=1, aivs=0, mix=False)
MIX = Task(aics=1, aivs=2, mix=True)


def kernel_tasks(files: Mapping[str, str]) -> dict[str, Task]:
    """The task of every `__global__` function that is not plain vector code, by its name."""
    found = {}
    seen = _Seen(files)
    for path, text in files.items():
        for name, mark, body in _kernels(text) if "__global__" in text else ():
            task = mark if mark is not None else _inferred(body, seen.definitions(path))
            if task != VECTOR:
                found[name] = task
    return found


class _Seen:
    """What a file's kernels can see: their own translation unit, and no class of another that has one of its names."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._cube = any(name in text for text in files.values() for name in _CUBE_NAMES | _MIX_NAMES)
        self._reached: dict[str, frozenset[str]] = {}

    def definitions(self, path: str) -> Mapping[str, frozenset[str]]:
        """The definitions in reach of `path`; none where no file has cube code, which is all that they are read for."""
        if not self._cube:
            return {}
        if not self._reached:
            self._reached = {one: reached_from(one, self._files).files for one in self._files}
        near = {one for reached in self._reached.values() if path in reached for one in reached}
        return _definitions(self._files[one] for one in sorted(near))


@dataclass(frozen=True, kw_only=True)
class AskedCore:
    """A preprocessor line that asks for which kind of core a source is compiled."""

    path: str
    line: int
    macro: str


def asked_core(files: Mapping[str, str]) -> AskedCore | None:
    """The first such line of a workspace, by path."""
    for path, text in sorted(files.items()):
        if _CORE_MACRO.search(text):
            for directive, line in directives(tokens(text)):
                macro = _CORE_MACRO.search(directive)
                if macro and directive.startswith(("if", "elif")):
                    return AskedCore(path=path, line=line, macro=macro[0])
    return None


def _kernels(text: str) -> Iterator[tuple[str, Task | None, frozenset[str]]]:
    """Each kernel's name, its mark, and the words of its body."""
    stream = [token for token in tokens(text) if token.kind not in ("space", "newline", "comment")]
    for at, token in enumerate(stream):
        if token.text != "__global__":
            continue
        mark = _mark(stream, at)
        opening = parameters_opening(stream, at)
        if opening is None:
            continue
        end = closing_bracket(stream, opening)
        if end is None or end + 1 >= len(stream) or stream[end + 1].text != "{":
            continue
        last = closing_bracket(stream, end + 1)
        body = stream[end + 1 : last]
        yield stream[opening - 1].text, mark, frozenset(one.text for one in body if one.kind == "word")


def _mark(stream: Sequence[Token], at: int) -> Task | None:
    """What stands beside `__global__`: `__mix__(a, b)`, `__cube__` or `__vector__`."""
    for near in range(max(0, at - 6), min(at + 12, len(stream))):
        text = stream[near].text
        if text == "__cube__":
            return CUBE
        if text == "__vector__":
            return VECTOR
        if text == "__mix__":
            numbers = [one.text for one in stream[near + 1 : near + 6] if one.kind == "number"]
            if len(numbers) >= 2 and all(one.isdigit() for one in numbers[:2]):
                aics, aivs = int(numbers[0]), int(numbers[1])
                if (aics, aivs) in ((0, 1), (1, 0), (1, 1), (1, 2)):
                    return Task(aics=aics, aivs=aivs, mix=True)
    return None


def _definitions(texts: Iterable[str]) -> dict[str, frozenset[str]]:
    """The words inside every class, function and macro of the workspace, by its name. Equal names are added up."""
    found: dict[str, set[str]] = {}
    for text in texts:
        stream = [token for token in tokens(text) if token.kind not in ("space", "newline", "comment")]
        for at, token in enumerate(stream):
            if token.text != "{":
                continue
            name = _defined(stream, at)
            end = closing_bracket(stream, at)
            if name is None or end is None:
                continue
            header = stream[max(0, at - 24) : at]
            found.setdefault(name, set()).update(
                one.text for one in (*header, *stream[at:end]) if one.kind == "word"
            )
        for match in _DIRECTIVE.finditer(text):
            found.setdefault(match[1], set()).update(re.findall(r"[A-Za-z_]\w*", match[2]))
        for alias in re.finditer(r"\busing\s+(\w+)\s*=([^;]*);", text):
            found.setdefault(alias[1], set()).update(re.findall(r"[A-Za-z_]\w*", alias[2]))
    return {name: frozenset(words) for name, words in found.items()}


def _defined(stream: Sequence[Token], at: int) -> str | None:
    """The name that the block opening at `at` defines: of a class, or of a function."""
    for back in range(at - 1, max(-1, at - 24), -1):
        text = stream[back].text
        if text in (";", "}", "{"):
            break
        if text in _DEFINERS and back + 1 < at and stream[back + 1].kind == "word":
            return stream[back + 1].text
    close = at - 1
    while close >= 0 and stream[close].text in ("const", "noexcept", "override", "final"):
        close -= 1
    if close < 0 or stream[close].text != ")":
        return None
    depth = 0
    for back in range(close, -1, -1):
        if stream[back].text == ")":
            depth += 1
        elif stream[back].text == "(":
            depth -= 1
            if depth == 0:
                before = stream[back - 1] if back else None
                return before.text if before is not None and before.kind == "word" else None
    return None


def _inferred(body: frozenset[str], definitions: Mapping[str, frozenset[str]]) -> Task:
    reached = set(body)
    waiting = list(body)
    while waiting:
        for word in definitions.get(waiting.pop(), ()):
            if word not in reached:
                reached.add(word)
                waiting.append(word)
    if reached & _MIX_NAMES:
        return MIX
    if not reached & _CUBE_NAMES:
        return VECTOR
    return MIX if reached & _VECTOR_NAMES else CUBE
