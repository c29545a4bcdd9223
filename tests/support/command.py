"""The installed `opmend` command as its users run it: a process of its own, in a folder of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

SCRIPT = Path(sys.executable).parent / "opmend"
OURS = ("OPMEND_", "DATABASE_URL", "BROKER_URL")
PROVIDERS = ("OPENAI_", "ANTHROPIC_", "AZURE_", "GEMINI_", "LITELLM_")


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Opmend:
    """The command with a home of its own, unmoved by the settings and keys of whoever runs the tests.

    Args:
        home: OPMEND_HOME; short, so that sockets fit.
        folder: the working directory, outside the checkout.
        environment: variables for every command.
    """

    def __init__(self, home: Path, folder: Path, **environment: str) -> None:
        self.home = home
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith((*OURS, *PROVIDERS))}
        if "OPMEND_CACHE_DIR" in os.environ:
            kept["OPMEND_CACHE_DIR"] = os.environ["OPMEND_CACHE_DIR"]
        self.environment = {**kept, "OPMEND_HOME": str(home), **environment}

    def __call__(self, *arguments: str, timeout: float = 560, **environment: str) -> Done:
        """Run a command to its end."""
        done = subprocess.run(
            [str(SCRIPT), *map(str, arguments)],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )
        return Done(code=done.returncode, out=done.stdout, err=done.stderr)

    def together(self, *commands: list[str]) -> list[Done]:
        """Run commands two at a time and return what each left behind, in order."""
        with ThreadPoolExecutor(max_workers=2) as pool:
            return list(pool.map(lambda arguments: self(*arguments), commands))

    def json(self, *arguments: str) -> Any:
        """Run a command that must succeed and print one JSON document."""
        done = self(*arguments, "--json")
        assert done.code == 0, done
        return done.json()

    def start(self, *arguments: str, log: Path) -> "subprocess.Popen[bytes]":
        """Start a command and return while it runs; its output goes to `log`."""
        with open(log, "ab") as output:
            return subprocess.Popen(
                [str(SCRIPT), *map(str, arguments)],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def stack(self) -> dict[str, int]:
        """Process ids of the running stack, by name."""
        state = json.loads((self.home / "stack.json").read_text())
        return {name: process["pid"] for name, process in state["processes"].items()}

    def processes(self) -> list[psutil.Process]:
        """Every process that belongs to this home, by its environment or its command line."""
        return [one for one in psutil.process_iter() if one.pid != os.getpid() and self._ours(one)]

    def _ours(self, process: psutil.Process) -> bool:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            named = any(str(self.home) in part for part in process.cmdline())
            return named or process.environ().get("OPMEND_HOME") == str(self.home)
        except psutil.Error:
            return False


def wait_until(condition: Callable[[], Any], *, seconds: float = 120, what: str) -> Any:
    """Wait for a condition and return its first true value."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.01)
    return found
