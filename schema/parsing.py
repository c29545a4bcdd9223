"""Files as tree-sitter sees them, and their trees; a tree is made from the one before it where that is at hand.

A revision changes a few lines of a long file, and one process writes a task's revisions one after another: parsing
the file anew would take longer than all else that writing it takes. The result is the same: where the new text has a
syntax error, and trees could differ by where the parser came from, it is parsed anew.
"""

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from threading import Lock

import tree_sitter
import tree_sitter_cpp
import tree_sitter_python

# Trees take some forty times their text; so many, of files up to this many bytes, are kept.
KEPT_TREES = 8
LARGEST_KEPT = 1 << 17
# Broken code is parsed at a megabyte a second: of a larger file the middles of long lines are not looked at, and
# what is larger even so has no syntax.
LARGE_FILE = 1 << 20
MOST_PARSED = 4 << 20
_LONG_LINE = re.compile(rb"[^\n]{4001,}")

# AscendC and CUDA qualifiers are macros that no C++ grammar knows; blanked, the declaration parses.
# (?<=\b_) after the first character says what \b before it would, and leaves a literal to search for.
_QUALIFIERS = re.compile(
    rb"_(?<=\b_)_(?:aicore|global|gm|ubuf|cbuf|ca|cb|cc|fbuf|host_aicore|inout_pipe__\w*|device|host|shared|"
    rb"forceinline|launch_bounds)__\b"
)
_ATTRIBUTES = re.compile(rb"\[(?:host, )?aicore\]")

Gap = tuple[range, range]  # lines before, and the lines that they became


@dataclass(frozen=True, kw_only=True, slots=True)
class Parsed:
    """A file and its syntax tree.

    Attributes:
        source: its bytes as the parser saw them, line for line and byte for byte where they are in the file.
        begins: offset of each line; behind the last one, where another one would begin.
        tree: of the source.
    """

    source: bytes
    begins: Sequence[int]
    tree: tree_sitter.Tree


_kept: OrderedDict[tuple[str, str], Parsed] = OrderedDict()
_lock = Lock()


def parse(
    language: str, lines: Sequence[str], name: str = "", follows: tuple[str, Sequence[Gap]] | None = None
) -> Parsed | None:
    r"""Parse a file.

    Args:
        language: "cpp" or "python".
        lines: the file, as `schema.diff.split_lines` has it.
        name: tells this text from all others, as its digest does: the tree is kept under it. "": it is not kept.
        follows: the name of the text before, and which of its lines became which lines now, in order; all between
            are equal. It makes it quicker, and changes nothing.

    Returns:
        None for a file of many megabytes.
    """
    # A parser of one's own: two threads in one would break it.
    parser = tree_sitter.Parser(_grammar(language))
    parsed = _parse_on(parser, language, lines, follows) if follows is not None else None
    if parsed is None:
        source = _large(_seen(language, "".join(lines)))
        if source is None:
            return None
        parsed = Parsed(source=source, begins=_begins(source, len(lines)), tree=parser.parse(source))
    if name and len(parsed.source) <= LARGEST_KEPT and parsed.source.endswith(b"\n"):
        with _lock:
            _kept[language, name] = parsed
            _kept.move_to_end((language, name))
            while len(_kept) > KEPT_TREES:
                _kept.popitem(last=False)
    return parsed


def forget() -> None:
    """Keep no tree."""
    with _lock:
        _kept.clear()


def _begins(source: bytes, count: int) -> list[int]:
    """Where each of so many lines begins, and where the next one would."""
    return list(accumulate([len(line) + 1 for line in source.split(b"\n")[:count]], initial=0))


def _parse_on(
    parser: tree_sitter.Parser, language: str, lines: Sequence[str], follows: tuple[str, Sequence[Gap]]
) -> Parsed | None:
    """Parse a file by what became of the one before; None if that is not at hand, or not as if parsed anew.

    What is equal is neither encoded nor split again.
    """
    name, gaps = follows
    with _lock:
        before = _kept.get((language, name))
    if before is None or before.tree.root_node.has_error or not (lines and lines[-1].endswith("\n")):
        return None
    tree = before.tree.copy()
    fresh = _seen(language, "".join([line for _, new in gaps for line in lines[new.start : new.stop]]))
    sizes = [len(line) + 1 for line in fresh.split(b"\n")]
    parts: list[bytes] = []
    begins: list[int] = []
    row = end = 0  # behind the last gap's old lines; how many bytes there are so far
    done = used = 0  # how many lines, and bytes, of the fresh ones there are so far
    count = len(before.begins) - 1
    for old, new in (*gaps, (range(count, count), range(len(lines), len(lines)))):
        first, last = before.begins[row], before.begins[old.start]
        shift = end - first
        begins += (
            [begin + shift for begin in before.begins[row : old.start]]
            if shift
            else before.begins[row : old.start]
        )
        starts = list(accumulate(sizes[done : done + len(new)], initial=last + shift))
        end = starts.pop()
        begins += starts
        size = end - last - shift
        parts += (before.source[first:last], fresh[used : used + size])
        done, used = done + len(new), used + size
        row = old.stop
        if old or new:
            # Top down, each edit where those above have put it.
            tree.edit(
                last + shift,
                before.begins[row] + shift,
                end,
                (new.start, 0),
                (new.start + len(old), 0),
                (new.stop, 0),
            )
    if end > LARGEST_KEPT:
        return None
    source = b"".join(parts)
    tree = parser.parse(source, tree)
    return None if tree.root_node.has_error else Parsed(source=source, begins=[*begins, end], tree=tree)


def _seen(language: str, text: str) -> bytes:
    """Whole lines as the parser shall see them."""
    # tree-sitter parses round what is no UTF-8, and columns count bytes either way.
    # A NUL, which compilers skip, would end it.
    source = text.encode("utf-8", "surrogatepass").replace(b"\0", b" ")
    if language == "cpp":
        for pattern in (_QUALIFIERS, _ATTRIBUTES):
            source = pattern.sub(lambda match: b" " * len(match.group()), source)
    return source


def _large(source: bytes) -> bytes | None:
    """The source without the middles of long lines if it is large; None if it is too large even so."""
    if len(source) <= LARGE_FILE:
        return source
    masked = 0

    def both_ends(match: re.Match[bytes]) -> bytes:
        nonlocal masked
        line = match.group()
        masked += len(line) - 4_000
        return line[:2_000] + b" " * (len(line) - 4_000) + line[-2_000:]

    source = _LONG_LINE.sub(both_ends, source)
    return source if len(source) - masked <= MOST_PARSED else None


@cache
def _grammar(language: str) -> tree_sitter.Language:
    return tree_sitter.Language(
        tree_sitter_cpp.language() if language == "cpp" else tree_sitter_python.language()
    )
