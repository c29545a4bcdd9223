"""Lets g++ find calls that a device's compiler finds.

A device's compiler takes `ReduceSum<float>(dst, src, work, n)` without a namespace and looks `ReduceSum` up by its
arguments. g++ in C++17 does so only where some template of that name is in sight. And a toolkit has constants that
kernels name. `lookup_prologue` says what to declare before a source: a template of each such name that no call
fits, and the constants that it names and does not define itself.
"""

import re
from collections.abc import Mapping

from npu_worker.toolchains.diagnostics import simulated_names
from npu_worker.toolchains.sources import Token, reached_from, tokens

_USING = re.compile(r"\busing\s+namespace\s+(?:::\s*)?AscendC\b|\bnamespace\s+AscendC\b")
_CALL = re.compile(r"(?<![\w:.>])([A-Z]\w*)\s*<")
_BLANK = ("space", "newline", "comment")
#: Constants in namespace AscendC: type and value. By published kernels that use them and define them nowhere.
CONSTANTS = {
    "FULL_MASK": ("uint64_t", "0xffffffffffffffff"),
    "B8_BYTE_SIZE": ("uint32_t", "1"),
    "B16_BYTE_SIZE": ("uint32_t", "2"),
    "B32_BYTE_SIZE": ("uint32_t", "4"),
    "B64_BYTE_SIZE": ("uint32_t", "8"),
    "B8_DATA_NUM_PER_BLOCK": ("uint32_t", "32"),
    "B16_DATA_NUM_PER_BLOCK": ("uint32_t", "16"),
    "B32_DATA_NUM_PER_BLOCK": ("uint32_t", "8"),
    "B64_DATA_NUM_PER_BLOCK": ("uint32_t", "4"),
    "B16_DATA_NUM_PER_REPEAT": ("uint32_t", "128"),
    "B32_DATA_NUM_PER_REPEAT": ("uint32_t", "64"),
    "B64_DATA_NUM_PER_REPEAT": ("uint32_t", "32"),
    "ONE_BLK_HALF_NUM": ("uint32_t", "16"),
    "ONE_BLK_FLOAT_NUM": ("uint32_t", "8"),
    "ONE_REPEAT_HALF_SIZE": ("uint32_t", "128"),
    "ONE_REPEAT_FLOAT_SIZE": ("uint32_t", "64"),
    "BRCB_BROADCAST_NUMBER": ("int32_t", "8"),
    "PI": ("float", "3.14159265358979323846f"),
}
_CONSTANT = re.compile(rf"\b(?:{'|'.join(CONSTANTS)})\b")
_DEFINED = re.compile(rf"\bdefine\s+({'|'.join(CONSTANTS)})\b|\b({'|'.join(CONSTANTS)})\s*(?:=[^=]|\{{)")
_OWNED = frozenset({"::", ".", "->", "class", "struct", "enum", "typename", "template", "using", "namespace"})

_STATEMENTS = frozenset({"return", "else", "do"})


def lookup_prologue(path: str, files: Mapping[str, str]) -> str:
    """Declarations for the names that `path` calls with template arguments and without a namespace; "" for none."""
    texts = [files[one] for one in sorted(reached_from(path, files).files)]
    return _constants(texts) + _templates(texts)


def _constants(texts: list[str]) -> str:
    named = {name for text in texts for name in _CONSTANT.findall(text)}
    if not named:
        return ""
    own = {one or other for text in texts for one, other in _DEFINED.findall(text)}
    lines = [
        f"inline constexpr {kind} {name} = {value};"
        for name, (kind, value) in CONSTANTS.items()
        if name in named - own
    ]
    return f"#include <cstdint>\nnamespace AscendC {{ {' '.join(lines)} }}\n" if lines else ""


def _templates(texts: list[str]) -> str:
    if any(_USING.search(text) for text in texts):
        return ""
    named = {name for text in texts for name in _CALL.findall(text)} & simulated_names()
    # Classes, which namespace matmul has, too: a function of such a name would make them ambiguous.
    wanted = {name for name in named if not name.startswith("Matmul")}
    if not wanted:
        return ""
    called: set[str] = set()
    own: set[str] = set()
    for text in texts:
        _sort(tokens(text), wanted, called, own)
    names = sorted(called - own)
    if not names:
        return ""
    declared = " ".join(f"template <class...> void {name}(::opmend_sim::NoArgument);" for name in names)
    return f"namespace opmend_sim {{ struct NoArgument; }}\n{declared}\n"


def _sort(stream: tuple[Token, ...], wanted: set[str], called: set[str], own: set[str]) -> None:
    """Put each name that is called without an owner into `called`, each that the source declares itself into `own`."""
    solid = [token for token in stream if token.kind not in _BLANK]
    for at, token in enumerate(solid):
        if token.kind != "word" or token.text not in wanted:
            continue
        before = solid[at - 1] if at else None
        after = solid[at + 1].text if at + 1 < len(solid) else ""
        if before is not None and before.text in ("::", ".", "->"):
            continue
        if before is not None and (
            before.text in _OWNED or (before.kind == "word" and before.text not in _STATEMENTS)
        ):
            own.add(token.text)
        elif after == "<":
            called.add(token.text)
