"""Syntax trees by tree-sitter; that of a file's next state is made from that of the last one where it is at hand.

A revision changes a few lines of a long file, and one process writes a task's revisions one after another: parsing
the file anew would take longer than all else that writing it takes. The result is the same: where the new text has a
syntax error, and trees could differ by where the parser came from, it is parsed anew.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from threading import Lock
from typing import NamedTuple

import tree_sitter
import tree_sitter_cpp
import tree_sitter_python

# Trees take some forty times their text; so many, of files up to this many bytes, are kept.
KEPT_TREES = 8
LARGEST_KEPT = 1 << 17


class _Known(NamedTuple):
    tree: tree_sitter.Tree
    offsets: list[int]  # where each line begins; the end of the text last


_trees: OrderedDict[tuple[str, str], _Known] = OrderedDict()
_lock = Lock()


def parse(
    language: str,
    text: str,
    source: bytes,
    lengths: Sequence[int],
    follows: tuple[str, Sequence[tuple[range, range]]] | None = None,
) -> tree_sitter.Tree:
    r"""The syntax tree of a source.

    Args:
        language: "cpp" or "python".
        text: the file.
        source: its bytes as the parser shall see them, line for line.
        lengths: bytes of each of its lines, without the terminator.
        follows: the file before, and which of its lines became which lines now, in order; all between are equal.
    """
    if len(source) > LARGEST_KEPT or not source.endswith(b"\n"):
        return _parser(language).parse(source)
    offsets = [end + index for index, end in enumerate(accumulate(lengths, initial=0))]
    tree = None
    if follows is not None:
        with _lock:
            known = _trees.get((language, follows[0]))
        if known is not None and not known.tree.root_node.has_error:
            tree = known.tree.copy()
            for edit in _edits(known.offsets, offsets, follows[1]):
                tree.edit(*edit)
            tree = _parser(language).parse(source, tree)
            if tree.root_node.has_error:
                tree = None
    if tree is None:
        tree = _parser(language).parse(source)
    with _lock:
        _trees[language, text] = _Known(tree, offsets)
        _trees.move_to_end((language, text))
        while len(_trees) > KEPT_TREES:
            _trees.popitem(last=False)
    return tree


def _edits(
    before: Sequence[int], after: Sequence[int], gaps: Sequence[tuple[range, range]]
) -> Iterator[tuple[int, int, int, tuple[int, int], tuple[int, int], tuple[int, int]]]:
    """What was done to the lines, as tree-sitter takes it: top down, each where those above have put it."""
    for old, new in gaps:
        start = after[new.start]
        yield (
            start,
            start + before[old.stop] - before[old.start],
            after[new.stop],
            (new.start, 0),
            (new.start + len(old), 0),
            (new.stop, 0),
        )


@cache
def _parser(language: str) -> tree_sitter.Parser:
    grammar = tree_sitter_cpp.language() if language == "cpp" else tree_sitter_python.language()
    return tree_sitter.Parser(tree_sitter.Language(grammar))
