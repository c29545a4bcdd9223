"""Files as texts that keep every byte."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.blobs import tree_digest
from schema.diff import split_lines
from schema.errors import BadInput
from schema.texts import bytes_of, first_odd_line, is_binary, is_showable, settled, shown, text_of

PIECES = st.lists(
    st.binary(max_size=6) | st.sampled_from([b"\n", b"\r\n", b"\0", "é\u2028".encode(), b"\xe9", b"\xf0\x9f"])
).map(b"".join)


@given(PIECES)
def test_every_byte_string_is_a_text_and_comes_back(data: bytes) -> None:
    text = text_of(data)
    assert bytes_of(text) == data
    assert settled(text) == text
    # Lines are cut at the same bytes, whatever the bytes are.
    parts = data.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
    assert [bytes_of(line) for line in split_lines(text)] == lines


@given(PIECES)
def test_what_is_shown_is_as_long_and_can_be_stored_anywhere(data: bytes) -> None:
    text = text_of(data)
    seen = shown(text)
    assert len(seen) == len(text)
    assert is_showable(seen)
    assert "\0" not in seen
    seen.encode()
    assert (seen == text) == is_showable(text)


def test_joined_halves_of_a_character_are_one_text_with_the_whole() -> None:
    halves = text_of(b"\xc3") + text_of(b"\xa9")
    assert halves != "é"
    assert settled(halves) == "é"
    assert bytes_of(halves) == bytes_of("é")


def test_a_surrogate_that_stands_for_no_byte_is_refused_with_its_place() -> None:
    with pytest.raises(BadInput, match=r"kernel/a\.cpp:2: half a surrogate pair \(U\+D800\)"):
        bytes_of("int a;\nint \ud800;\n", "kernel/a.cpp")
    with pytest.raises(BadInput, match="line 1"):
        settled("\ud800")
    with pytest.raises(BadInput, match="a:1"):
        tree_digest({"a": "\ud800"})


def test_the_first_line_that_is_no_utf_8_is_named() -> None:
    assert first_odd_line("a\nb\u2028\0\n") is None
    assert first_odd_line(text_of(b"a\nb\n\xff\n\xfe\n")) == 3


@pytest.mark.parametrize(
    "data",
    [
        b"", b"text\n", b"\xff\xfe no text, no NUL", b"\0", b"x" * 7_999 + b"\0", b"x" * 8_000 + b"\0",
        "é".encode() * 4_000 + b"\0", "é".encode() * 3_999 + b"\0",
    ],
    ids=["empty", "text", "bytes", "nul", "last byte looked at", "first byte not", "wide, behind", "wide, before"],
)  # fmt: skip
def test_binary_is_what_git_calls_binary(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)
    done = subprocess.run(
        ["git", "diff", "--no-index", "--numstat", "/dev/null", "file"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert is_binary(text_of(data)) == done.stdout.startswith("-\t-")
