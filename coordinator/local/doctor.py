"""What works on this machine, and how to mend what does not. Every check tries the thing itself."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from coordinator.local.services import services
from schema.database import Database
from schema.errors import OpmendError
from schema.settings import Settings

TIMEOUT = 120.0


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was tried.

    Attributes:
        found: what is there, for people. mend: how to get it, when it is not.
        needed: whether `opmend run` can't work without it.
    """

    name: str
    works: bool
    found: str
    mend: str = ""
    needed: bool = True


def examine(settings: Settings) -> list[Check]:
    """Try everything, in the order in which a run needs it."""
    steps: list[Callable[[], Check]] = [
        _python,
        _parts,
        lambda: _servers(settings),
        lambda: _roles(settings),
        _compiler,
        _torch,
        lambda: _sandbox(settings),
        _litellm,
    ]
    return [step() for step in steps]


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    return Check(
        name="python", works=sys.version_info >= (3, 11), found=version, mend="install Python 3.11 or newer"
    )


def _parts() -> Check:
    wanted = {
        "migrations": files("schema") / "migrations" / "env.py",
        "entries": files("kb") / "entries",
        "cohorts": files("cohorts") / "starter" / "cohort.toml",
    }
    found = importlib.util.find_spec("npu_worker")
    if found and found.submodule_search_locations:
        wanted["headers"] = (
            Path(found.submodule_search_locations[0]) / "sim" / "include" / "kernel_operator.h"
        )
    missing = [name for name, place in wanted.items() if not Path(str(place)).exists()]
    return Check(
        name="parts",
        works=not missing,
        found=f"missing: {', '.join(missing)}" if missing else ", ".join(wanted),
        mend="install opmend again; this installation is not whole",
    )


def _servers(settings: Settings) -> Check:
    try:
        with services(settings, broker=True) as found:
            database = Database(found.database_url, pool_size=1)
            version = database.check()
            database.close()
            where = "embedded" if found.embedded_postgres else "from DATABASE_URL"
            broker = "embedded" if found.embedded_redis else "from BROKER_URL"
            return Check(name="servers", works=True, found=f"Postgres {version} {where}, Redis {broker}")
    except OpmendError as error:
        return Check(name="servers", works=False, found=error.what, mend=error.mend or "")


def _roles(settings: Settings) -> Check:
    mend = "give workers a login of the role opmend_worker (docs/store.md, Roles): OPMEND_WORKER_DATABASE_URL"
    try:
        with services(settings, broker=True) as found:
            said = {}
            for who, url in (("commands", found.database_url), ("workers", found.worker_database_url)):
                database = Database(url, pool_size=1)
                said[who] = database.in_force()
                absent = database.missing_roles()
                database.close()
    except OpmendError as error:
        return Check(name="roles", works=False, found=error.what, mend=error.mend or "", needed=False)
    told = ", ".join(f"{who} as {role}" for who, role in said.items())
    if absent:
        told += f"; not in force: {', '.join(absent)}"
        mend = (
            "let an administrator create them, then start `opmend coordinator`; else all works as the owner"
        )
    works = not absent and "(owner)" not in said["workers"]
    return Check(name="roles", works=works, found=told, mend="" if works else mend, needed=False)


def _compiler() -> Check:
    path = shutil.which("g++")
    if path is None:
        return Check(
            name="g++",
            works=False,
            found="not on the PATH",
            mend="apt-get install g++ (Debian, Ubuntu), dnf install gcc-c++ (Fedora), or your system's C++ compiler",
        )
    done = subprocess.run([path, "-dumpfullversion"], capture_output=True, text=True, check=False)
    return Check(
        name="g++",
        works=done.returncode == 0,
        found=done.stdout.strip() or "does not run",
        mend="reinstall it",
    )


def _torch() -> Check:
    return _import(
        "torch",
        "import torch; print(torch.__version__)",
        mend="pip install 'opmend[npu]' (torch 2.13.0, a CPU build serves)",
    )


def _litellm() -> Check:
    code = "import litellm, importlib.metadata as m; print(m.version('litellm'))"
    check = _import("litellm", code, mend="pip install 'opmend[llm]'; `--model kb` works without it")
    return Check(name=check.name, works=check.works, found=check.found, mend=check.mend, needed=False)


def _sandbox(settings: Settings) -> Check:
    if settings.sandbox == "off":
        return Check(
            name="sandbox",
            works=False,
            found="switched off by OPMEND_SANDBOX",
            mend="unset it, unless all candidates are trusted",
            needed=False,
        )
    return _import(
        "sandbox",
        "from npu_worker.sandbox import probe; probe(); print('bubblewrap isolates')",
        mend="allow user namespaces, or set OPMEND_SANDBOX=off for trusted code",
    )


def _import(name: str, code: str, *, mend: str) -> Check:
    # In a process of its own: this room imports neither torch nor litellm.
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
            env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        )
    except subprocess.TimeoutExpired:
        return Check(name=name, works=False, found=f"no answer in {TIMEOUT:.0f} s", mend=mend)
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return Check(name=name, works=done.returncode == 0, found=said[-1] if said else "no output", mend=mend)
