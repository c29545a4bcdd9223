"""Reads AscendC sources before the compiler does: launch forms, kernel signatures, forbidden includes.

g++ knows no `kernel<<<blocks, l2, stream>>>(args)`. A small lexer finds the launches (never in comments or
strings), and each becomes a call of the simulator's `launch` without moving a line, so that compiler messages
and findings keep their places.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType

_TOKEN = re.compile(
    r"""
    (?P<space>(?:[ \t\r\f\v\0\ufeff]|\\[ \t\r\f\v\0]*\n)+)
  | (?P<newline>\n)
  | (?P<comment>//(?:[^\n\\]|\\(?:\r?\n|.))*|/\*.*?(?:\*/|\Z))
  | (?P<string>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:[^"\\\n]|\\(?:\r?\n|.))*"?)
  | (?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
  | (?P<number>\.?[0-9](?:[eEpP][+-]|'[0-9A-Za-z_]|[0-9A-Za-z_.])*)
  | (?P<word>[A-Za-z_$][A-Za-z0-9_$]*)
  | (?P<open><<<)
  | (?P<close>>>>)
  | (?P<mark2>::|->|%:)
  | (?P<mark1>.)
    """,
    re.VERBOSE | re.DOTALL,
)
# As g++ joins lines: also with blanks behind the backslash.
_SPLICE = re.compile(r"\\[ \t\r\f\v\0]*\n")
#: What a kernel asks the kind of its core with.
_KIND_WORDS = frozenset(
    {"g_coreType", "ASCEND_IS_AIC", "ASCEND_IS_AIV", "ASCEND_IS_NOT_AIC", "ASCEND_IS_NOT_AIV"}
)
_BLANK = ("space", "newline", "comment")
_GROUPED = frozenset({"__mix__", "__attribute__", "__launch_bounds__", "alignas", "__declspec"})
_STATEMENTS = frozenset({"return", "else", "do", "case", "co_return", "throw"})
_OPEN = {"(": ")", "[": "]", "{": "}"}
_INCLUDE = re.compile(
    r'^(?:include|include_next|import|embed)\b\s*(?:"(?P<quoted>[^"]*)"|<(?P<angled>[^>]*)>|(?P<other>.*))',
    re.DOTALL,
)


#: Functions that the C library's headers declare and that operators are named after.
C_LIBRARY_NAMES = frozenset(
    """
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil clock copysign cos cosh div drem erf erfc exp
    exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp gamma hypot ilogb index isfinite isinf isnan j0
    j1 jn labs ldexp ldiv lgamma link log log10 log1p log2 logb lrint lround modf nearbyint nextafter
    pipe pow rand random read recv remainder remove remquo rename rint round scalbn select send signal
    signbit significand sin sincos sinh sqrt tan tanh tgamma time trunc truncate write y0 y1 yn
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, kw_only=True)
class Token:
    """One piece of source. kind: space, newline, comment, string, char, number, word, open, close or mark."""

    kind: str
    text: str
    line: int


@dataclass(frozen=True, kw_only=True)
class KernelSignature:
    """A `__global__` function: its name, its parameters as (type text, name), and whether it has C linkage."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    c_linkage: bool


@dataclass(frozen=True, kw_only=True)
class SourceFault:
    """A construct that a candidate may not use. rule: include-outside-workspace, include-computed, inline-assembly."""

    rule: str
    message: str
    file: str
    line: int


def tokens(source: str) -> tuple[Token, ...]:
    """Split C++ text into tokens; joined, they are the text again."""
    found = []
    line = 1
    for match in _TOKEN.finditer(source):
        kind = match.lastgroup or "mark1"
        if kind == "mark":
            kind = "string"
        text = match.group()
        found.append(Token(kind="mark" if kind in ("mark1", "mark2") else kind, text=text, line=line))
        line += text.count("\n")
    return tuple(found)


def rewrite_launches(source: str, tasks: Mapping[str, str] = MappingProxyType({})) -> str:
    """Turn every `kernel<<<...>>>(...)` into a call of `opmend_sim::launch`; line numbers stay.

    The kind of core is a condition at run time in the simulator, so `if constexpr` on it becomes `if`.

    Args:
        tasks: the C++ value of the task of each kernel that is not plain vector code, by the kernel's name.
    """
    if "constexpr" in source and any(word in source for word in _KIND_WORDS):
        source = _run_time_kinds(list(tokens(source)))
    if "__global__" in source and '"C"' in source:
        source = _overloading(list(tokens(source)))
    if "<<<" not in source:
        return source
    return _rewritten(list(tokens(source)), tasks)


def _overloading(stream: list[Token]) -> str:
    """The text without `extern "C"` before a kernel that the C library has a function of the same name as.

    A device has no C library, so operators are named hypot, sin or div there. A C++ function of that name overloads.
    """
    solid = [(at, token) for at, token in enumerate(stream) if token.kind not in _BLANK]
    plain = [token for _, token in solid]
    kept = list(stream)
    for index, token in enumerate(plain):
        if token.text != "__global__" or index < 2 or plain[index - 1].text != '"C"':
            continue
        opening = parameters_opening(plain, index)
        if opening is None or plain[opening - 1].text not in C_LIBRARY_NAMES:
            continue
        for at, part in solid[index - 2 : index]:
            kept[at] = Token(kind="space", text=" ", line=part.line)
    return "".join(token.text for token in kept)


def _run_time_kinds(stream: list[Token]) -> str:
    kept = list(stream)
    for at, token in enumerate(stream):
        if token.text != "constexpr":
            continue
        before = next((one.text for one in reversed(stream[:at]) if one.kind not in _BLANK), "")
        opening = next((i for i in range(at + 1, len(stream)) if stream[i].kind not in _BLANK), None)
        if before != "if" or opening is None:
            continue
        end = closing_bracket(stream, opening) if stream[opening].text == "(" else opening
        if end is not None and any(one.text in _KIND_WORDS for one in stream[opening : end + 1]):
            kept[at] = Token(kind="space", text=" ", line=token.line)
    return "".join(token.text for token in kept)


def _rewritten(stream: list[Token], tasks: Mapping[str, str]) -> str:
    out: list[Token] = []
    at = 0
    while at < len(stream):
        token = stream[at]
        launch = _launch(stream, at, out, tasks) if token.kind == "open" else None
        if launch is None:
            out.append(token)
            at += 1
        else:
            text, start, at = launch
            del out[start:]
            out.append(Token(kind="mark", text=text, line=token.line))
    return "".join(token.text for token in out)


def _launch(
    stream: list[Token], at: int, out: list[Token], tasks: Mapping[str, str]
) -> tuple[str, int, int] | None:
    """The replacement of the launch whose `<<<` stands at `at`: text, where its name starts in `out`, where it ends."""
    start = _name_start(out)
    close = _matching(stream, at, "close")
    if start is None or close is None:
        return None
    opening = close + 1
    while opening < len(stream) and stream[opening].kind in _BLANK:
        opening += 1
    if opening >= len(stream) or stream[opening].text != "(":
        return None
    end = closing_bracket(stream, opening)
    if end is None:
        return None
    name_text = "".join(token.text for token in out[start:])
    name = " ".join("".join(" " if token.kind in _BLANK else token.text for token in out[start:]).split())
    configuration = list(_split(stream[at + 1 : close]))
    if len(configuration) not in (2, 3):
        return None
    config = _rewritten(stream[at + 1 : close], tasks) + ("" if len(configuration) == 3 else ", nullptr")
    between = "".join(token.text for token in stream[close + 1 : opening])
    arguments = _rewritten(stream[opening + 1 : end], tasks)
    label = name.replace("\\", "").replace('"', "")
    padding = "\n" * name_text.count("\n")
    body = f"[&](auto... opmend_arguments) {{ {name}(opmend_arguments...); }}"
    comma = ", " if arguments.strip() else ""
    return (
        f'{_launcher(label, tasks)}{config}, "{label}", {body}{padding}{between}{comma}{arguments})',
        start,
        end + 1,
    )


def _launcher(label: str, tasks: Mapping[str, str]) -> str:
    """The call that launches a kernel, up to its first argument of the configuration."""
    task = tasks.get(re.sub(r"\s|<.*", "", label).rpartition("::")[2])
    return "::opmend_sim::launch(" if task is None else f"::opmend_sim::launch_as({task}, "


def _name_start(out: list[Token]) -> int | None:
    """Where the kernel's name (qualified, with template arguments) starts at the end of `out`."""
    at = len(out) - 1
    start = None
    while True:
        while at >= 0 and out[at].kind in _BLANK:
            at -= 1
        if at >= 0 and out[at].text in (">", ">>>"):
            at = _template_start(out, at) - 1
            while at >= 0 and out[at].kind in _BLANK:
                at -= 1
        if at < 0 or out[at].kind != "word" or out[at].text in _STATEMENTS:
            return start
        start = at = _pasted_start(out, at)
        at -= 1
        while at >= 0 and out[at].kind in _BLANK:
            at -= 1
        if at < 0 or out[at].text != "::":
            return start
        start = at
        at -= 1


def _pasted_start(out: list[Token], at: int) -> int:
    """Where the name that ends with the word at `at` starts: inside a macro `kernel_##type` is one name."""
    while True:
        before = at - 1
        while before >= 0 and out[before].kind in _BLANK:
            before -= 1
        if before < 2 or out[before].text != "#" or out[before - 1].text != "#":
            return at
        before -= 2
        while before >= 0 and out[before].kind in _BLANK:
            before -= 1
        if before < 0 or out[before].kind != "word":
            return at
        at = before


def _template_start(out: list[Token], at: int) -> int:
    """Where the template argument list that ends at `at` starts. Brackets inside it are skipped whole."""
    depth = 0
    while at >= 0:
        text = out[at].text
        if text in (")", "]", "}"):
            at = _opening_bracket(out, at)
        elif text in (">", ">>>"):
            depth += len(text)
        elif text == "<":
            depth -= 1
            if depth <= 0:
                return at
        at -= 1
    return 0


def _opening_bracket(out: list[Token], at: int) -> int:
    depth = 0
    while at >= 0:
        if out[at].kind == "mark" and out[at].text in (")", "]", "}"):
            depth += 1
        elif out[at].kind == "mark" and out[at].text in _OPEN:
            depth -= 1
            if depth == 0:
                return at
        at -= 1
    return 0


def _matching(stream: list[Token], at: int, kind: str) -> int | None:
    depth = 0
    brackets = 0
    for index in range(at + 1, len(stream)):
        token = stream[index]
        if token.kind == "open":
            depth += 1
        elif token.text in _OPEN:
            brackets += 1
        elif token.text in (")", "]", "}"):
            brackets -= 1
            if brackets < 0:
                return None
        elif token.kind == kind and brackets == 0:
            if depth == 0:
                return index
            depth -= 1
        elif token.text == ";" and brackets == 0:
            return None
    return None


def closing_bracket(stream: Sequence[Token], at: int) -> int | None:
    """Where the bracket that opens at `at` closes; None if it does not."""
    expected: list[str] = []
    for index in range(at, len(stream)):
        text = stream[index].text
        if text in _OPEN and stream[index].kind == "mark":
            expected.append(_OPEN[text])
        elif expected and text == expected[-1] and stream[index].kind == "mark":
            expected.pop()
            if not expected:
                return index
    return None


def _split(stream: list[Token]) -> Iterator[list[Token]]:
    """Split at commas outside brackets. Commas of template arguments in a launch configuration count as well."""
    part: list[Token] = []
    depth = 0
    for token in stream:
        if token.kind == "mark" and token.text in _OPEN:
            depth += 1
        elif token.kind == "mark" and token.text in (")", "]", "}"):
            depth -= 1
        if token.text == "," and depth == 0:
            yield part
            part = []
        else:
            part.append(token)
    yield part


def kernel_signatures(source: str) -> tuple[KernelSignature, ...]:
    """Every `__global__` function that the text defines or declares and that is no template."""
    stream = [token for token in tokens(source) if token.kind not in _BLANK]
    found = []
    for at, token in enumerate(stream):
        if token.text != "__global__":
            continue
        opening = parameters_opening(stream, at)
        if opening is None:
            continue
        end = closing_bracket(stream, opening)
        before = stream[max(0, at - 2) : at]
        if end is None or (before and before[-1].text == ">"):
            continue
        parameters = []
        for part in _split(stream[opening + 1 : end]):
            if not part or part[-1].kind != "word":
                continue
            parameters.append((" ".join(piece.text for piece in part[:-1]), part[-1].text))
        c_linkage = [piece.text for piece in before] == ["extern", '"C"']
        c_linkage = c_linkage and stream[opening - 1].text not in C_LIBRARY_NAMES
        found.append(
            KernelSignature(name=stream[opening - 1].text, parameters=tuple(parameters), c_linkage=c_linkage)
        )
    return tuple(found)


def parameters_opening(stream: Sequence[Token], at: int) -> int | None:
    """Where the parameter list of the function declared at `at` opens, past marks with brackets of their own.

    `stream` has no blanks and comments.
    """
    index = at
    while index < min(at + 24, len(stream)):
        if stream[index].text in _GROUPED and index + 1 < len(stream) and stream[index + 1].text == "(":
            end = closing_bracket(stream, index + 1)
            if end is None:
                return None
            index = end + 1
            continue
        if stream[index].text == "(":
            return index if stream[index - 1].kind == "word" else None
        index += 1
    return None


def launch_header(kernel: KernelSignature, tasks: Mapping[str, str] = MappingProxyType({})) -> str:
    """The text of aclrtlaunch_NAME.h: addresses are void* there, all else has the kernel's own types."""

    def is_address(kind: str) -> bool:
        return kind.replace("__gm__", "").strip() == "GM_ADDR" or kind.rstrip().endswith("*")

    declared = ", ".join(f"{kind} {name}".strip() for kind, name in kernel.parameters)
    taken = "".join(f", {'void*' if is_address(kind) else kind} {name}" for kind, name in kernel.parameters)
    passed = "".join(
        f", ({kind}){name}" if is_address(kind) else f", {name}" for kind, name in kernel.parameters
    )
    linkage = 'extern "C" ' if kernel.c_linkage else ""
    return (
        "#pragma once\n"
        '#include "kernel_operator.h"\n'
        f"{linkage}void {kernel.name}({declared});\n"
        f"inline uint32_t aclrtlaunch_{kernel.name}(uint32_t blockDim, const void* stream{taken}) {{\n"
        f'    {_launcher(kernel.name, tasks)}blockDim, nullptr, stream, "{kernel.name}",\n'
        f"        [](auto... a) {{ {kernel.name}(a...); }}{passed});\n"
        "    return 0;\n"
        "}\n"
    )


def includes(source: str) -> tuple[str, ...]:
    """The operands of all #include directives, commented ones not among them."""
    return tuple(
        operand
        for directive, _ in directives(tokens(source))
        if (match := _INCLUDE.match(directive)) and (operand := match["quoted"] or match["angled"])
    )


def faults(path: str, source: str) -> tuple[SourceFault, ...]:
    """Constructs that could carry the host's files into logs or binaries: they end a build before it starts."""
    stream = tokens(source)
    found = []
    for directive, line in directives(stream):
        match = _INCLUDE.match(directive)
        if not match:
            continue
        operand = match["quoted"] if match["quoted"] is not None else match["angled"]
        if operand is None:
            found.append(
                SourceFault(
                    rule="include-computed",
                    file=path,
                    line=line,
                    message="an #include whose file is computed by a macro; name the file",
                )
            )
        elif _leaves(path, operand, quoted=match["quoted"] is not None):
            found.append(
                SourceFault(
                    rule="include-outside-workspace",
                    file=path,
                    line=line,
                    message="an #include reaches outside the workspace; include its own files by relative path",
                )
            )
    spliced = stream if "\\\n" not in source else tokens(source.replace("\\\n", ""))
    found.extend(
        SourceFault(
            rule="inline-assembly",
            file=path,
            line=token.line,
            message="inline assembly is not AscendC and is not compiled",
        )
        for token in spliced
        if token.kind == "word" and token.text in ("asm", "__asm__", "__asm")
    )
    return tuple(found)


def _leaves(path: str, operand: str, *, quoted: bool) -> bool:
    if operand.startswith(("/", "~")) or "\\" in operand:
        return True
    depth = len(PurePosixPath(path).parent.parts) if quoted else 0
    for part in PurePosixPath(operand).parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False


def directives(stream: Iterable[Token]) -> Iterator[tuple[str, int]]:
    """Preprocessor lines without their `#`, comments out, with their line numbers."""
    fresh = True
    text: list[str] | None = None
    line = 0
    for token in stream:
        if token.kind == "newline":
            if text is not None:
                yield "".join(text).strip(), line
            text, fresh = None, True
        elif token.kind in ("space", "comment"):
            if text is not None and _SPLICE.sub("", token.text):
                text.append(" ")  # a line splice alone joins what it stands between
        elif text is not None:
            text.append(token.text)
        elif fresh and token.text in ("#", "%:"):
            text, line = [], token.line
        else:
            fresh = False
    if text is not None:
        yield "".join(text).strip(), line


@dataclass(frozen=True, kw_only=True)
class Reached:
    """What a source includes, directly or not: all include operands, and the workspace's files (itself too)."""

    operands: frozenset[str]
    files: frozenset[str]


def reached_from(path: str, files: Mapping[str, str]) -> Reached:
    """Follow the includes of `path` through the workspace. By file name, so it may reach too much, never too little."""
    seen: set[str] = set()
    operands: set[str] = set()
    waiting = [path]
    by_name: dict[str, list[str]] = {}
    for one in files:
        by_name.setdefault(PurePosixPath(one).name, []).append(one)
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for operand in includes(files[current]):
            operands.add(operand)
            waiting.extend(by_name.get(PurePosixPath(operand).name, ()))
    return Reached(operands=frozenset(operands), files=frozenset(seen))
