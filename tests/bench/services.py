"""What benchmarks run against: a real Postgres, a real git, and the memory of this process."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from coordinator.local.postgres import EmbeddedPostgres
from schema.database import Database
from tests.support.tasks import bare_task


@contextmanager
def store() -> Iterator[Database]:
    """A migrated, empty database: in the embedded Postgres as `opmend up` starts it, in a folder that goes away.

    Its durability is Postgres' own default: fsync on, synchronous_commit on.
    """
    with tempfile.TemporaryDirectory(prefix="opmend-b-") as home:
        server = EmbeddedPostgres(Path(home))
        server.start()
        try:
            database = Database(server.url)
            database.migrate()
            yield database
            database.close()
        finally:
            server.stop()


def new_task(database: Database, name: str) -> int:
    """A task to write revisions of."""
    with database.transaction() as session:
        return bare_task(session, name)


class Git:
    """A repository with git's default settings, whoever runs the benchmark.

    Args:
        folder: an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            **{
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", "bench"), ("EMAIL", "bench@example.invalid"))
            },
        }
        self("init", "-q", "-b", "main")

    def __call__(self, *arguments: str, stdin: bytes | None = None) -> None:
        """Run a git command that must succeed; what it prints is not read."""
        subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env=self._environment,
            input=stdin,
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def commit(self, path: str, message: str) -> None:
        """`git add` and `git commit` of one file."""
        self("add", "--", path)
        self("commit", "-q", "-m", message)

    def load(self, path: str, texts: Sequence[str]) -> None:
        """One commit a text, packed, as `git fast-import` makes them."""
        parts = []
        for number, text in enumerate(texts):
            data = text.encode("utf-8", "surrogateescape")
            message = f"revision {number}".encode()
            parts += [
                b"commit refs/heads/main\n",
                b"committer bench <bench@example.invalid> %d +0000\n" % (1_700_000_000 + number),
                b"data %d\n%s\n" % (len(message), message),
                b"M 100644 inline %s\n" % path.encode(),
                b"data %d\n%s\n" % (len(data), data),
            ]
        self("fast-import", "--quiet", stdin=b"".join(parts))
        self("reset", "-q", "--hard", "main")


def peak_bytes(work: Callable[[], object]) -> int | None:
    """By how many bytes the memory of this process rises at most while it works; None where Linux does not tell."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    before = _status("VmRSS")
    work()
    return max(0, _status("VmHWM") - before)


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 0
