"""The operators that a workspace registers itself, as operator projects do: OP_ADD(X) with a kernel named after X.

EXEC_NPU_CMD(aclnnX, ...) is a launch of the workspace's own kernel only where nothing but that kernel can be meant: the
registration stands in code that is always compiled, the kernel does too and writes its output, and no installation
has an operator of the name. All else stays what it was: a ready-made operator that does the work.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from coordinator.integrity.built_in_operators import is_built_in
from coordinator.integrity.cpp_source import CppFunction, Source, text_of, walk
from schema.operator_names import snake_case

#: A kernel's parameters end with its outputs, the workspace and the tiling data.
_BEHIND_OUTPUTS = 2
_WORKING = frozenset({"call_expression", "assignment_expression", "update_expression"})
_ADD = re.compile(r"\bOP_ADD\s*\(\s*([A-Za-z_]\w*)\s*\)")
_DIRECTIVE = re.compile(r"\s*(?:#|%:)\s*(\w+)")
_GUARD = re.compile(r"\s*(?P<hash>#)[ \t]*ifndef[ \t]+(\w+)[^\n]*\n\s*#[ \t]*define[ \t]+\2\b")
_SKIPPED = re.compile(
    r'//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class OperatorProject:
    """What a workspace registers.

    Attributes:
        operators: each operator type of the workspace, with the reason why its call is not the workspace's own work;
            None where it is.
    """

    operators: Mapping[str, str | None] = field(default_factory=dict)

    def fault(self, called: str) -> str | None:
        """Why a call of `called` (aclnnX) runs something else than the workspace's kernel; None if it does run it."""
        match = re.fullmatch(r"aclnn([A-Z]\w*)", called)
        if match is None:
            return f"{called or 'nothing'} names no operator"
        if match[1] not in self.operators:
            return f"the workspace registers no operator {match[1]}"
        return self.operators[match[1]]

    def kernel_of(self, called: str) -> str:
        """The kernel that a call of aclnnX starts."""
        return snake_case(called.removeprefix("aclnn"))


def project_of(texts: Mapping[str, str], sources: Sequence[Source]) -> OperatorProject:
    """Find the operators.

    Args:
        texts: the sources as they are compiled, by path.
        sources: the same, parsed.
    """
    macros = {macro.name for source in sources for macro in source.macros}
    if "OP_ADD" in macros or "EXEC_NPU_CMD" in macros:
        return OperatorProject()
    codes = {path: _code(text) for path, text in texts.items()}
    always = {path: _always_compiled(code) for path, code in codes.items()}
    added = dict.fromkeys(name for path, code in codes.items() for name in _added(code, always[path]))
    kernels: dict[str, list[CppFunction]] = {}
    for source in sources:
        for function in source.functions:
            if function.kernel:
                kernels.setdefault(function.name, []).append(function)
    return OperatorProject(
        operators={name: _fault(name, kernels.get(snake_case(name), ()), always, macros) for name in added}
    )


def _fault(
    name: str, kernels: Sequence[CppFunction], always: Mapping[str, frozenset[int]], macros: Iterable[str]
) -> str | None:
    if is_built_in(name):
        return f"{name} is an operator that every installation has; give the workspace's own another name"
    if {name, snake_case(name), f"aclnn{name}"} & set(macros):
        return f"a macro changes what {name} means"
    if not kernels:
        return f"no kernel {snake_case(name)} is defined for it"
    if len(kernels) > 1:
        return f"kernel {snake_case(name)} is defined {len(kernels)} times"
    kernel = kernels[0]
    if kernel.line not in always.get(kernel.source.path, frozenset()):
        return f"kernel {kernel.name} is compiled under a condition"
    if not _works(kernel):
        return f"kernel {kernel.name} never touches its output"
    return None


def _works(kernel: CppFunction) -> bool:
    """Whether the body does something, and something with the output: the parameter before workspace and tiling."""
    if len(kernel.parameters) <= _BEHIND_OUTPUTS:
        return False
    output = kernel.parameters[-_BEHIND_OUTPUTS - 1].name
    nodes = list(walk(kernel.body))
    working = any(node.type in _WORKING for node in nodes)
    return working and any(node.type == "identifier" and text_of(node) == output for node in nodes)


def _added(code: str, always: frozenset[int]) -> Iterator[str]:
    """The operators that OP_ADD registers in code that is always compiled; no directive registers any."""
    for match in _ADD.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        if line in always and not _DIRECTIVE.match(_line_with(code, match.start())):
            yield match[1]


def _line_with(code: str, offset: int) -> str:
    """The line around an offset, from the first of the lines that splices join."""
    start = code.rfind("\n", 0, offset) + 1
    while start >= 2 and code[start - 2] == "\\":
        start = code.rfind("\n", 0, start - 1) + 1
    return code[start:offset]


def _code(text: str) -> str:
    """The text with comments, strings and characters blanked out; lines and offsets stay."""
    return _SKIPPED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def _always_compiled(code: str) -> frozenset[int]:
    """The lines, from 1, that stand under no preprocessor condition but the guard of the whole file."""
    conditional: set[int] = set()
    opened: list[int] = []
    lines = code.split("\n")
    guard = _GUARD.match(code)
    guarded = code.count("\n", 0, guard.start("hash")) + 1 if guard is not None else 0
    for number, line in enumerate(lines, start=1):
        if number > 1 and lines[number - 2].endswith("\\"):
            continue
        whole, following = line, number
        while whole.endswith("\\") and following < len(lines):
            whole, following = whole[:-1] + lines[following], following + 1
        directive = _DIRECTIVE.match(whole)
        if directive is None:
            continue
        if directive[1] in ("if", "ifdef", "ifndef"):
            opened.append(number)
        elif directive[1] == "endif" and opened:
            first = opened.pop()
            if first != guarded or opened:
                conditional.update(range(first, number + 1))
    for first in opened:
        conditional.update(range(first, len(lines) + 1))
    return frozenset(range(1, len(lines) + 1)) - conditional
