"""A directory of sources as texts by path: what is taken, what is left out, and what is refused."""

import stat
from pathlib import Path

from schema.errors import WorkspaceError
from schema.texts import is_showable, shown, text_of

MOST_FILE_BYTES = 4 << 20
MOST_BYTES = 32 << 20
MOST_FILES = 500
# Links stand for copies: a dozen folders with two links each would be thousands.
MOST_FOLDERS = 2_000

# What builds and editors leave behind; a workspace is its sources.
_SKIPPED_DIRECTORIES = {"build", "build_out", "__pycache__", "node_modules"}
_SKIPPED_SUFFIXES = {
    ".so",
    ".o",
    ".a",
    ".pyc",
    ".pyd",
    ".pt",
    ".pth",
    ".bin",
    ".png",
    ".jpg",
    ".pdf",
    ".zip",
    ".gz",
    ".log",
}


def check_path(path: str, *, where: str | None = None) -> None:
    """Refuse a path that is absolute, leaves the workspace, or is not plain.

    Raises:
        WorkspaceError: naming the path.
    """
    parts = path.split("/")
    if not is_showable(path):
        raise WorkspaceError(
            f"path {path!r} holds NUL or a byte that is no UTF-8",
            where=where,
            mend="rename it: no database can hold such a name",
        )
    if path.startswith("/") or "\\" in path or any(part in ("", ".", "..") for part in parts):
        raise WorkspaceError(
            f"path {path!r} is not plain", where=where, mend="use relative paths with / and no .."
        )


def read_files(root: Path) -> dict[str, str]:
    """The files below a directory by relative path, byte for byte (`schema.texts`).

    Left out are hidden files and folders, what builds leave behind, and files with a suffix that no source has. A link
    to a file or a folder inside the directory stands for a copy of it.

    Raises:
        WorkspaceError: no directory; a link that leads out, into itself or nowhere; a file that is too large,
            unreadable, no regular file, or has a name that is no UTF-8.
    """
    if not root.is_dir():
        raise WorkspaceError(
            "no such workspace directory", where=str(root), mend="name a directory with model.py in it"
        )
    reading = _Reading(root)
    reading.folder(root, (root.resolve(),))
    return dict(sorted(reading.files.items()))


class _Reading:
    """A directory on its way into memory."""

    def __init__(self, root: Path) -> None:
        self.root, self.top = root, root.resolve()
        self.files: dict[str, str] = {}
        self.bytes = 0
        self.folders = 0

    def folder(self, folder: Path, around: tuple[Path, ...]) -> None:
        """Read a folder; `around` are the resolved folders that it lies in, itself the last."""
        self.folders += 1
        if self.folders > MOST_FOLDERS:
            raise WorkspaceError(
                f"more than {MOST_FOLDERS} folders", where=_named(folder), mend="leave sources and cases only"
            )
        try:
            entries = sorted(folder.iterdir())
        except OSError as error:
            raise WorkspaceError(
                f"unreadable: {error.strerror}", where=_named(folder), mend="allow reading"
            ) from error
        for place in entries:
            if place.name.startswith("."):
                continue
            if place.is_symlink():
                self._check_link(place)
            if not place.is_dir():
                if place.suffix not in _SKIPPED_SUFFIXES:
                    self._file(place)
            elif place.name not in _SKIPPED_DIRECTORIES:
                real = place.resolve()
                if real in around:
                    raise WorkspaceError(
                        "a link to a folder that it lies in", where=_named(place), mend="remove the link"
                    )
                self.folder(place, (*around, real))

    def _check_link(self, place: Path) -> None:
        try:
            real = place.resolve()
        except (OSError, RuntimeError):  # links in a ring
            real = None
        if real is not None and not real.is_relative_to(self.top):
            raise WorkspaceError(
                "a link that leads out of the workspace", where=_named(place), mend="copy the file in"
            )
        if real is None or not real.exists():
            raise WorkspaceError("a link that leads nowhere", where=_named(place), mend="mend or remove it")

    def _file(self, place: Path) -> None:
        path = place.relative_to(self.root).as_posix()
        check_path(path, where=_named(self.root))
        try:
            found = place.stat()
            if not stat.S_ISREG(found.st_mode):
                raise WorkspaceError("not a regular file", where=_named(place), mend="remove it")
            self._count(place, found.st_size)
            data = place.read_bytes()
        except OSError as error:
            raise WorkspaceError(
                f"unreadable: {error.strerror}", where=_named(place), mend="allow reading"
            ) from error
        self.files[path] = text_of(data)

    def _count(self, place: Path, size: int) -> None:
        self.bytes += size
        if size > MOST_FILE_BYTES or self.bytes > MOST_BYTES or len(self.files) >= MOST_FILES:
            raise WorkspaceError(
                f"too large: limits are {MOST_FILE_BYTES} bytes a file, {MOST_BYTES} in all, {MOST_FILES} files",
                where=_named(place),
                mend="leave sources and cases only",
            )


def _named(place: Path) -> str:
    """A path for a message; its bytes may be no UTF-8."""
    return shown(str(place))
