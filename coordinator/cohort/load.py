"""Find a cohort and read its operators; no torch, no candidate is run.

A cohort is a directory with `cohort.toml` and one folder an operator, or just a folder of workspaces,
or one single workspace. A bare name that is no path means a cohort that ships with opmend.
"""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from schema.errors import CohortError
from schema.results import Record
from schema.workspace import Workspace

COHORT_FILE = "cohort.toml"


class CohortSettings(Record):
    """`cohort.toml`.

    Attributes:
        max_elements: cases with more input and output elements together are cut and reported as
            reduced coverage; None runs all.
    """

    name: str
    description: str = ""
    source: str = ""
    max_elements: int | None = Field(default=None, gt=0)


class LoadedCohort(Record):
    """A cohort as it lies on disk."""

    settings: CohortSettings
    operators: tuple[Workspace, ...]
    path: str


def find(name: str) -> Path:
    """The directory of a cohort, by path or by the name of a shipped one.

    Raises:
        CohortError: neither exists; the message lists the shipped names.
    """
    path = Path(name)
    if path.is_dir():
        return path
    shipped = _shipped()
    # "cohorts/starter" works from a checkout; the same words work where only the wheel is installed.
    short = name.removeprefix("cohorts/").strip("/")
    if not path.exists() and short in shipped:
        return shipped[short]
    what = "is a file, a cohort is a directory" if path.exists() else "no such cohort"
    raise CohortError(
        what,
        where=name,
        mend=f"give a directory of operator workspaces, or one of: {', '.join(sorted(shipped))}",
    )


def load(name: str) -> LoadedCohort:
    """Read a cohort.

    Raises:
        CohortError: there is no such cohort, or no operator in it.
        WorkspaceError, CaseFileError: an operator is not whole; the message names file and line.
    """
    path = find(name)
    settings = _settings(path)
    if (path / "model.py").exists():
        return LoadedCohort(settings=settings, operators=(Workspace.from_directory(path),), path=str(path))
    folders = sorted(
        entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith((".", "_"))
    )
    if not folders:
        raise CohortError(
            "holds no operator", where=str(path), mend="put one folder an operator in it, each with model.py"
        )
    operators = tuple(Workspace.from_directory(folder) for folder in folders)
    names = [operator.name for operator in operators]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise CohortError(
            f"two operators are called {twice[0]!r}", where=str(path), mend="rename one in operator.toml"
        )
    return LoadedCohort(settings=settings, operators=operators, path=str(path))


def _shipped() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for entry in files("cohorts").iterdir():
        path = Path(str(entry))
        if (path / COHORT_FILE).is_file():
            found[path.name] = path
    return found


def _settings(path: Path) -> CohortSettings:
    file = path / COHORT_FILE
    if not file.exists():
        return CohortSettings(name=path.resolve().name)
    try:
        found: dict[str, Any] = tomllib.loads(file.read_text())
        return CohortSettings.model_validate({"name": path.resolve().name, **found})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CohortError(str(error), where=str(file), mend="correct the TOML") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise CohortError(
            f"{'.'.join(map(str, first['loc']))}: {first['msg']}",
            where=str(file),
            mend="see docs/glossary.md, cohort",
        ) from error
