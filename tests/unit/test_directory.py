"""Odd files in a directory: each is taken byte for byte, left out, or refused with one clear line."""

import os
import socket
from pathlib import Path

import pytest

from schema.directory import MOST_FOLDERS, read_files
from schema.errors import WorkspaceError
from schema.texts import bytes_of

ODD = {
    "kernel/crlf.h": b"int a;\r\nint b;\r\n",
    "kernel/latin.h": "// größe\n".encode("latin-1"),
    "kernel/nul.h": b"int a;\0\nint b;\n",
    "kernel/separators.h": "a\x0cb\u2028c\x85d\u2029e\x1cf\n".encode(),
    "kernel/no-end.h": b"int x;",
    "kernel/empty.h": b"",
    "kernel/blank.h": b"\n\n",
    "kernel/mark.h": b"\xef\xbb\xbfint x;\n",
    "kernel/long.h": b"// " + b"x" * 3_000_000 + b"\n",
    "kernel/table.dat": bytes(range(256)) * 40,
    "kernel/utf16.txt": "wide\n".encode("utf-16"),
}


def laid_out(root: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def taken(root: Path) -> dict[str, bytes]:
    return {path: bytes_of(text) for path, text in read_files(root).items()}


def test_every_odd_file_is_taken_byte_for_byte(tmp_path: Path) -> None:
    assert taken(laid_out(tmp_path, ODD)) == dict(sorted(ODD.items()))


def test_hidden_files_builds_and_what_no_source_is_stay_out(tmp_path: Path) -> None:
    laid_out(
        tmp_path,
        {"a.cpp": b"x", ".git/config": b"x", ".env": b"x", "kernel/build/a.o": b"x", "build_out/x.cpp": b"x",
         "__pycache__/a.pyc": b"x", "weights.pt": b"x", "kernel/data.bin": b"x", "picture.png": b"x"},
    )  # fmt: skip
    assert taken(tmp_path) == {"a.cpp": b"x"}


def test_links_inside_stand_for_copies(tmp_path: Path) -> None:
    laid_out(tmp_path, {"common/shared.h": b"int s;\xff\n", "kernel/a.cpp": b"a", "kernel/build/gen.h": b"g"})
    (tmp_path / "kernel" / "shared.h").symlink_to("../common/shared.h")
    (tmp_path / "kernel" / "include").symlink_to("../common")
    (tmp_path / "kernel" / "generated").symlink_to(tmp_path / "kernel" / "build")
    assert taken(tmp_path) == {
        "common/shared.h": b"int s;\xff\n",
        "kernel/a.cpp": b"a",
        "kernel/generated/gen.h": b"g",
        "kernel/include/shared.h": b"int s;\xff\n",
        "kernel/shared.h": b"int s;\xff\n",
    }


def test_the_directory_itself_may_be_a_link(tmp_path: Path) -> None:
    laid_out(tmp_path / "real", {"a.cpp": b"a"})
    (tmp_path / "link").symlink_to("real")
    assert taken(tmp_path / "link") == {"a.cpp": b"a"}


@pytest.mark.parametrize(
    ("link", "target", "said"),
    [
        ("kernel/secret.h", "../../secret", "a link that leads out of the workspace"),
        ("kernel/secret.h", "/etc/passwd", "a link that leads out of the workspace"),
        ("kernel/all", "../..", "a link that leads out of the workspace"),
        ("kernel/gone.h", "/nowhere/at/all", "a link that leads out of the workspace"),
        ("kernel/gone.h", "missing.h", "a link that leads nowhere"),
        ("kernel/ring.h", "ring.h", "a link that leads nowhere"),
        ("kernel/up", "..", "a link to a folder that it lies in"),
        ("kernel/here", ".", "a link to a folder that it lies in"),
    ],
)
def test_other_links_are_one_clear_error(tmp_path: Path, link: str, target: str, said: str) -> None:
    (tmp_path / "secret").write_bytes(b"key")
    root = laid_out(tmp_path / "op", {"kernel/a.cpp": b"a"})
    (root / link).symlink_to(target)
    with pytest.raises(WorkspaceError) as caught:
        read_files(root)
    assert str(caught.value).startswith(f"{root}/{link}: {said}")
    assert "\n" not in str(caught.value)


def test_two_links_to_each_other_end(tmp_path: Path) -> None:
    laid_out(tmp_path, {"a/x.h": b"x", "b/y.h": b"y"})
    (tmp_path / "a" / "b").symlink_to("../b")
    (tmp_path / "b" / "a").symlink_to("../a")
    with pytest.raises(WorkspaceError, match="a link to a folder that it lies in"):
        read_files(tmp_path)


def test_links_that_double_folders_again_and_again_end(tmp_path: Path) -> None:
    # 2**13 paths are more than enough. The kernel gives up on a path at 40 links, and counts those of a second look.
    for number in range(14):
        (tmp_path / f"d{number}").mkdir()
    for number in range(13):
        (tmp_path / f"d{number}" / "left").symlink_to(f"../d{number + 1}")
        (tmp_path / f"d{number}" / "right").symlink_to(f"../d{number + 1}")
    with pytest.raises(WorkspaceError, match=f"more than {MOST_FOLDERS} folders"):
        read_files(tmp_path)


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    root = laid_out(tmp_path, {"a.cpp": b"a"})
    os.mkfifo(root / "pipe.h")
    with pytest.raises(WorkspaceError, match=r"pipe\.h: not a regular file"):
        read_files(root)
    (root / "pipe.h").unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(root / "socket.h"))
        with pytest.raises(WorkspaceError, match=r"socket\.h: not a regular file"):
            read_files(root)


def test_a_name_that_no_database_can_hold_is_refused_in_words_that_can_be_printed(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"gr\xf6sse.h")).write_bytes(b"x")
    with pytest.raises(WorkspaceError, match="no UTF-8") as caught:
        read_files(tmp_path)
    str(caught.value).encode()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_can_not_be_read_is_named(tmp_path: Path) -> None:
    root = laid_out(tmp_path, {"kernel/a.cpp": b"a"})
    (root / "kernel").chmod(0)
    with pytest.raises(WorkspaceError, match="kernel: unreadable"):
        read_files(root)
    (root / "kernel").chmod(0o700)


@pytest.mark.parametrize(
    ("limit", "value"), [("MOST_FILE_BYTES", 10), ("MOST_BYTES", 15), ("MOST_FILES", 1), ("MOST_FOLDERS", 1)]
)
def test_a_directory_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    root = laid_out(tmp_path, {"a.h": b"x" * 11, "b/b.h": b"x" * 11})
    read_files(root)
    monkeypatch.setattr(f"schema.directory.{limit}", value)
    with pytest.raises(WorkspaceError, match=r"too large|folders"):
        read_files(root)
