"""The wheel, built and installed outside the checkout: everything that opmend needs at run time is in it.

The environment is a fresh one without pip. A .pth line lends it the third-party packages of this one, so the
test needs no network and takes seconds. Python reads no .pth files of a folder that comes from a .pth line, so
the editable install of this checkout is not lent: `opmend` there is what the wheel brought, and nothing else.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.operators import lay_out_cohort

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("schema", "kb", "coordinator", "workers", "npu_worker", "cohorts")
# Beside Python modules, these are what the program reads at run time.
DATA = {".h", ".hpp", ".cpp", ".json", ".toml", ".mako", ".md", ".html", ".css", ".js", ".svg"}

# The acceptance of a whole run includes the first build of the simulator's headers on a busy machine.
RUN_SECONDS = 600


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    return {info.filename for info in zipfile.ZipFile(wheel).infolist() if not info.is_dir()}


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """An empty folder outside the checkout; short, so that unix sockets fit."""
    found = Path(tempfile.mkdtemp(prefix="opmend-w-"))
    yield found
    shutil.rmtree(found, ignore_errors=True)


@pytest.fixture(scope="module")
def python(wheel: Path, place: Path) -> Path:
    """The Python of a fresh environment with the wheel installed."""
    home = place / "env"
    venv.create(home, with_pip=False, symlinks=True)
    interpreter = home / "bin" / "python"
    own = subprocess.run(
        [interpreter, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    (Path(own) / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(interpreter),
        "install",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run(
        [*install, "--force-reinstall", "--quiet", "--disable-pip-version-check", str(wheel)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return interpreter


@pytest.fixture(scope="module")
def opmend(python: Path, place: Path) -> "Opmend":
    folder = place / "user"
    folder.mkdir()
    return Opmend(python.parent / "opmend", folder)


class Opmend:
    """The installed command in a user's empty folder."""

    def __init__(self, command: Path, folder: Path) -> None:
        self.command = command
        self.folder = folder
        dropped = ("OPMEND_", "DATABASE_URL", "BROKER_URL", "PYTHON", "VIRTUAL_ENV")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(dropped)}
        # Precompiled headers belong to the folder they were compiled from: they go when it goes.
        self.environment = {**kept, "OPMEND_CACHE_DIR": str(folder.parent / "cache")}

    def run(self, *arguments: str, seconds: float = 180) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.command), *arguments],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=seconds,
        )  # fmt: skip

    def json(self, *arguments: str, seconds: float = 180, code: int = 0) -> Any:
        done = self.run(*arguments, "--json", seconds=seconds)
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)


def test_it_holds_every_file_of_every_room(names: set[str]) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", *ROOMS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    wanted = {name for name in tracked.stdout.split() if (ROOT / name).is_file()}
    assert wanted - names == set()
    assert {Path(name).suffix for name in names if name.split("/")[0] in ROOMS} <= {
        *DATA,
        ".py",
        ".typed",
        "",
    }


def test_it_holds_headers_entries_migrations_and_cohorts(names: set[str]) -> None:
    for needed in (
        "npu_worker/sim/include/kernel_operator.h",
        "npu_worker/sim/include/torch/extension.h",
        "schema/migrations/env.py",
        "schema/migrations/script.py.mako",
        "schema/migrations/versions/0001_first_light.py",
        "cohorts/starter/cohort.toml",
        "coordinator/cli/__main__.py",
    ):
        assert needed in names
    assert any(name.startswith("npu_worker/sim/runtime/") for name in names)
    assert sum(name.startswith("kb/entries/") and name.endswith(".json") for name in names) >= 12
    assert sum(name.endswith("/model_new_ascendc.py") for name in names) >= 8


def test_it_holds_nothing_else(names: set[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(ROOMS)
    assert not any("__pycache__" in name or name.endswith((".pyc", ".so", ".log")) for name in names)


def test_it_says_its_licence_and_keeps_heavy_packages_in_extras(wheel: Path, names: set[str]) -> None:
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    lines = zipfile.ZipFile(wheel).read(metadata).decode().splitlines()
    assert "License-Expression: Apache-2.0" in lines
    needed = [line for line in lines if line.startswith("Requires-Dist:")]
    for package in ("torch", "litellm"):
        found = [line for line in needed if line.split()[1].startswith(package)]
        assert found
        assert all("extra ==" in line for line in found)


def test_the_checkout_is_not_what_runs(python: Path, place: Path) -> None:
    say = "print(os.path.dirname(importlib.import_module(room).__path__[0]))"
    code = f"import importlib, os\nfor room in {ROOMS!r}: {say}"
    done = subprocess.run([python, "-c", code], cwd=place, capture_output=True, text=True, check=True)
    homes = {Path(line) for line in done.stdout.split()}
    assert len(homes) == 1
    assert place.resolve() in homes.pop().resolve().parents


def test_help_is_there(opmend: Opmend) -> None:
    done = opmend.run("--help")
    assert done.returncode == 0, done.stderr
    assert "doctor" in done.stdout
    assert list(opmend.folder.iterdir()) == [], "help leaves nothing behind"


def test_doctor_finds_the_installation_whole(opmend: Opmend) -> None:
    told = opmend.json("doctor")
    checks = {check["name"]: check for check in told["checks"]}
    assert checks["parts"]["works"], checks["parts"]
    assert checks["servers"]["works"], checks["servers"]
    assert told["works"]


def test_entries_and_their_rewrites_load(opmend: Opmend) -> None:
    entries = opmend.json("kb", "list")
    assert len(entries) >= 12
    assert sum(entry["rewrite"] is not None for entry in entries) >= 6
    assert opmend.run("kb", "lint").returncode == 0


def test_the_shipped_cohort_is_the_checkout_s(opmend: Opmend) -> None:
    there = opmend.json("cohort", "check", "starter")
    here = subprocess.run(
        [sys.executable, "-m", "coordinator.cli", "cohort", "check", "cohorts/starter", "--json"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert there["digest"] == json.loads(here.stdout)["digest"]


@pytest.mark.slow  # a new home for the simulator: its headers are compiled again
@pytest.mark.timeout(RUN_SECONDS + 60)
def test_a_run_works_there(opmend: Opmend) -> None:
    cohort = lay_out_cohort(opmend.folder / "tiny", ["TailAdd"])
    told = opmend.json("run", str(cohort), seconds=RUN_SECONDS)
    (task,) = told["tasks"]
    assert task["outcome"] == "passed", task
    assert set(task["tokens"].values()) == {0}
    # The store stays: what happened can be asked for afterwards, with no worker left.
    assert opmend.json("report")["tasks"][0]["outcome"] == "passed"
    assert opmend.run("verify").returncode == 0
    assert opmend.run("replay").returncode == 0
    # The line that the repair changed names the failed benchmark and the entry behind it.
    place = opmend.json("show")["rounds"][-1]["locations"][0]
    step = opmend.json("why", place)["steps"][0]
    assert step["cause"] == "rewrite"
    assert step["failures"]
    assert step["entry_ids"][0] in {entry["id"] for entry in opmend.json("kb", "list")}
