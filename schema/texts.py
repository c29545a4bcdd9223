"""Files as texts that keep every byte.

A file of a workspace is a `str` in memory, whatever it holds: bytes that are no UTF-8 are carried as lone
surrogates (PEP 383, `surrogateescape`), so that `bytes_of(text_of(data)) == data` for all bytes. Everything that
writes a file, hashes one or hands one to a parser takes `bytes_of`; everything that people, models, JSON or Postgres
text see takes `shown`.
"""

import re

from schema.errors import BadInput

# As git decides: a NUL among the first bytes makes a file binary.
BINARY_PREFIX = 8_000

_UNSHOWABLE = re.compile("[\0\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def text_of(data: bytes) -> str:
    """Bytes as text; bytes that are no UTF-8 become lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str, where: str | None = None) -> bytes:
    """The bytes that a text stands for.

    Args:
        text: as `text_of` makes it.
        where: whose text, for the message.

    Raises:
        BadInput: it holds a surrogate that stands for no byte.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        line = text[: error.start].count("\n") + 1
        raise BadInput(
            f"half a surrogate pair (U+{ord(text[error.start]):04X}) stands for no byte",
            where=f"{where}:{line}" if where else f"line {line}",
            mend="write the whole character",
        ) from error


def settled(text: str) -> str:
    """The one text of these bytes: joined pieces may hold a character of which each had some bytes.

    Raises:
        BadInput: as `bytes_of`.
    """
    return text if text.isascii() or not _SURROGATE.search(text) else text_of(bytes_of(text))


def shown(text: str) -> str:
    """The text with U+FFFD for what text can't carry: NUL and bytes that are no UTF-8. Its length stays."""
    return text if is_showable(text) else _UNSHOWABLE.sub("\ufffd", text)


def is_showable(text: str) -> bool:
    """Say whether Postgres, JSON and people can have the text as it is."""
    return (text.isascii() and "\0" not in text) or not _UNSHOWABLE.search(text)


def is_binary(text: str) -> bool:
    """Say whether the file is no text, by git's rule."""
    return "\0" in text[:BINARY_PREFIX] and b"\0" in bytes_of(text[:BINARY_PREFIX])[:BINARY_PREFIX]


def first_odd_line(text: str) -> int | None:
    """The first line, from 1, with a byte that is no UTF-8; None if the text is plain."""
    found = _SURROGATE.search(text)
    return None if found is None else text.count("\n", 0, found.start()) + 1
