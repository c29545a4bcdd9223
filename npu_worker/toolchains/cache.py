"""What all candidates share: precompiled headers and the simulator's runtime, built once a compiler and flag set.

The key hashes the compiler's version, the flags and every header and runtime source, so an update of any of them
starts a new cache entry. An entry is built in a scratch directory and renamed into place under a file lock: builds
in parallel are safe, and the installed package may be read-only.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from schema.lost import go_on

_STALE_SECONDS = 3600
_KEPT_OTHERS = 2
_LOOK_SECONDS = 0.2


def default_cache_directory() -> Path:
    """OPMEND_CACHE_DIR, else the user's cache directory, else a private directory among temporary files."""
    chosen = os.environ.get("OPMEND_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    home = Path(base) if base else Path.home() / ".cache"
    try:
        (home / "opmend").mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.gettempdir()) / f"opmend-cache-{os.getuid()}"
    return home / "opmend"


def digest_of(texts: Sequence[str], files: Sequence[Path]) -> str:
    """SHA-256 over texts and the names and bytes of files, shortened to 24 digits."""
    state = hashlib.sha256()
    for text in texts:
        state.update(text.encode() + b"\0")
    for path in files:
        state.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return state.hexdigest()[:24]


@contextmanager
def _locked(path: Path, lost: threading.Event | None) -> Iterator[None]:
    with path.open("w") as handle:
        while True:
            go_on(lost)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if lost is None else fcntl.LOCK_NB))
                break
            except BlockingIOError:
                time.sleep(_LOOK_SECONDS)
        yield


def _forget_stale(root: Path, name: str) -> None:
    """Remove entries of other keys: each is some 100 MB, and every update makes new ones.

    The newest two stay, and so does whatever was used within the hour: another version may be compiling with it.
    """
    limit = time.time() - _STALE_SECONDS
    others = []
    for other in root.glob(f"{name.rpartition('-')[0]}-*"):
        try:
            if other.name != name and other.is_dir():
                others.append((other.stat().st_mtime, other))
        except OSError:
            continue
    for used, other in sorted(others, reverse=True)[_KEPT_OTHERS:]:
        if used < limit:
            shutil.rmtree(other, ignore_errors=True)


def _mark_used(target: Path) -> None:
    try:
        os.utime(target)
    except OSError:
        return  # a read-only cache is a cache all the same


def entry(
    root: Path, name: str, build: Callable[[Path], None], *, lost: threading.Event | None = None
) -> Path:
    """The directory `root/name`, made by `build(scratch)` if it is not there.

    Args:
        build: fills an empty scratch directory; if it raises, nothing is kept.
        lost: ends the wait for another builder as soon as it is set.

    Raises:
        JobLost: `lost` was set.
    """
    target = root / name
    if target.is_dir():
        _mark_used(target)
        return target
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    _forget_stale(root, name)
    with _locked(root / f".{name}.lock", lost):
        if target.is_dir():
            return target
        scratch = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=root))
        try:
            build(scratch)
            scratch.rename(target)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
    return target


class ObjectStore:
    """Compiled objects by the hash of all that went into them, shared by workers.

    Between two rounds of a repair most sources stay the same, the bindings above all, so most compiles are look-ups.

    Args:
        root: the directory; made on the first `put`.
        most: objects kept; the longest unused go first.
    """

    def __init__(self, root: Path, *, most: int = 2000) -> None:
        self._root = root
        self._most = most

    def get(self, key: str, target: Path) -> bool:
        """Copy the object to `target`; False if it is not there."""
        source = self._root / f"{key}.o"
        try:
            shutil.copyfile(source, target)
            os.utime(source)
        except OSError:
            return False
        return True

    def put(self, key: str, source: Path) -> None:
        """Keep a copy of `source`. A store that can't be written to is no store, and no error."""
        try:
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, scratch = tempfile.mkstemp(prefix=".object.", dir=self._root)
            os.close(handle)
            shutil.copyfile(source, scratch)
            Path(scratch).rename(self._root / f"{key}.o")
            self._prune()
        except OSError:
            return

    def _prune(self) -> None:
        kept = list(self._root.glob("*.o"))
        if len(kept) <= self._most:
            return
        ages = sorted((path.stat().st_mtime, path) for path in kept)
        for _, path in ages[: len(kept) - self._most * 3 // 4]:
            path.unlink(missing_ok=True)
