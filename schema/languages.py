"""Which files have a syntax, and what it tells of a line. `schema.syntax` tells it; this loads no parser."""

from dataclasses import dataclass
from pathlib import PurePosixPath

_EXTENSIONS = {
    ".py": "python",
    ".pyi": "python",
    **dict.fromkeys((".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".cce", ".asc"), "cpp"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class LineSyntax:
    """Attributes of one line.

    Attributes:
        scope: enclosing function or class, outermost first ("KernelAdd::Process", "Model.forward"); "" at the top.
        node_kind: tree-sitter's kind of the outermost node that starts at the line's first character, or of the
            innermost node around it; "" for blank lines.
    """

    scope: str = ""
    node_kind: str = ""


NOTHING = LineSyntax()


def language_of(path: str) -> str | None:
    """The language of a file by its extension: "cpp", "python", or None."""
    return _EXTENSIONS.get(PurePosixPath(path).suffix.lower())
