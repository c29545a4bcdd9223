"""The house rules of design.md, held against the code: who imports whom, what stays light, what no file may say."""

import ast
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("schema", "kb", "coordinator", "workers", "npu_worker")
LONGEST = 600

# What a command that only prints help has no use for.
HEAVY = (
    "torch",
    "litellm",
    "sqlalchemy",
    "alembic",
    "psycopg",
    "celery",
    "redis",
    "scipy",
    "numpy",
    "starlette",
)


@cache
def tracked() -> tuple[Path, ...]:
    """Every file that git knows and that is still there."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("not a git checkout: there is no list of the project's own files")
    return tuple(ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file())


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def modules(*rooms: str) -> list[Path]:
    return [path for room in rooms for path in sorted((ROOT / room).rglob("*.py"))]


def imports(path: Path) -> set[tuple[int, str]]:
    """(line, module) of every import statement of a file, wherever it stands in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {(node.lineno, name.name) for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add((node.lineno, node.module))
    return found


def loaded_by(statement: str) -> set[str]:
    """Top-level names of all modules that a fresh interpreter has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_rooms_import_in_the_directions_of_the_design(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert lint_imports(config_filename="pyproject.toml", no_cache=True) == 0


@pytest.mark.parametrize(("package", "room"), [("torch", "npu_worker"), ("litellm", "workers")])
def test_a_heavy_package_belongs_to_one_room(package: str, room: str) -> None:
    strangers = [
        f"{named(path)}:{line}"
        for path in modules(*(other for other in ROOMS if other != room))
        for line, module in imports(path)
        if module.split(".")[0] == package
    ]
    assert strangers == []
    # The scan sees the package where it belongs; otherwise it would find nothing anywhere.
    assert any(module.split(".")[0] == package for path in modules(room) for _, module in imports(path))


@pytest.mark.parametrize(
    "statement",
    [
        "import coordinator",
        "import coordinator.cli",
        # main() loads every group of commands before it prints the help.
        "import sys; sys.argv = ['opmend', '--help']\n"
        "from coordinator.cli import main\n"
        "try: main()\nexcept SystemExit: print()",
    ],
    ids=["coordinator", "coordinator.cli", "opmend --help"],
)
def test_the_command_starts_light(statement: str) -> None:
    assert loaded_by(statement) & set(HEAVY) == set()


@pytest.mark.parametrize(
    ("module", "late"),
    [
        ("workers.app", "litellm"),
        ("workers.tasks", "litellm"),
        ("npu_worker.app", "torch"),
        ("npu_worker.tasks", "torch"),
        ("npu_worker.sandbox", "torch"),
        ("npu_worker.toolchains", "torch"),
    ],
)
def test_a_worker_loads_its_heavy_package_late(module: str, late: str) -> None:
    assert late not in loaded_by(f"import {module}")


def test_no_module_is_too_long() -> None:
    kept = {".py", ".h", ".cpp"}
    ours = [
        path for path in tracked() if path.suffix in kept and named(path).split("/")[0] in (*ROOMS, "tests")
    ]
    lengths = {named(path): len(path.read_text().splitlines()) for path in ours}
    assert {name: count for name, count in lengths.items() if count > LONGEST} == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        named(path)
        for path in modules(*ROOMS)
        if not ast.get_docstring(ast.parse(path.read_text())) and "versions" not in path.parts
    ]
    assert silent == []


def test_no_file_names_a_registry_or_a_machine() -> None:
    # Put together here, so that this file does not hold what it forbids.
    forbidden = [
        *("py" + rest for rest in ("pi.org", "thonhosted.org")),
        *("download.py" + rest for rest in ("torch.org",)),
        *("/" + name + "/" for name in ("work/main", "work/shared", "farm", "tmp/w")),
        "/" + "root/",
    ]
    found = []
    for path in tracked():
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        found += [
            f"{named(path)}:{number}: {word}"
            for number, line in enumerate(lines, start=1)
            for word in forbidden
            if word in line
        ]
    assert found == []


def test_no_test_mocks_anything() -> None:
    doubles = {"mock", "pytest_mock", "fakeredis", "responses", "pytest_postgresql", "moto"}
    found = [
        f"{named(path)}:{line}: {module}"
        for path in modules("tests")
        for line, module in imports(path)
        if module.split(".")[0] in doubles or module.startswith("unittest.mock")
    ]
    assert found == []


def test_test_files_have_names_of_their_own() -> None:
    # --import-mode=importlib with no packages: one name, one file.
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
    assert [named(path) for path in (ROOT / "tests").rglob("__init__.py")] == []


def test_no_promise_is_left_in_the_code() -> None:
    marks = ("TO" + "DO", "FIX" + "ME", "XX" + "X")
    found = [
        f"{named(path)}:{number}"
        for path in modules(*ROOMS)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if any(mark in line for mark in marks)
    ]
    assert found == []
