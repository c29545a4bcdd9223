"""Compile a workspace's kernel: the toolchain of a device, with its compiler inside the sandbox.

A compiler reads hostile sources (`#include` of any file, templates without end), so it sees the system, the
headers it needs and its own build directory, and nothing else.
"""

import tempfile
import threading
from pathlib import Path

from npu_worker.limits import COMPILE, SandboxLimits
from npu_worker.sandbox import Mode, View, command_wrapper
from npu_worker.toolchains import Build, CommandWrapper, SimToolchain
from schema.errors import BadInput
from schema.settings import Settings
from schema.workspace import Workspace

DEVICES = ("sim",)


def toolchain(*, mode: Mode = Mode.ON, limits: SandboxLimits = COMPILE, jobs: int = 2) -> SimToolchain:
    """The simulator's toolchain with a sandboxed compiler.

    Raises:
        ToolchainMissing: no compiler, or no headers.
        SandboxUnavailable: this machine can't isolate it.
    """
    if mode is Mode.OFF:
        return SimToolchain(jobs=jobs)
    plain = SimToolchain(jobs=jobs)
    compiler = Path(plain.compiler)
    # A compiler outside /usr brings its own tree: <prefix>/bin/g++.
    homes = {
        place.parent.parent for place in (compiler, compiler.resolve()) if Path("/usr") not in place.parents
    }
    shown = (*plain.include_directories, *(home for home in homes if home != Path("/")))
    return SimToolchain(jobs=jobs, command_wrapper=_wrapper(shown, limits, mode))


def _wrapper(shown: tuple[Path, ...], limits: SandboxLimits, mode: Mode) -> CommandWrapper:
    return command_wrapper(limits=limits, view=View(readable=tuple(dict.fromkeys(shown))), mode=mode)


def compile_workspace(
    workspace: Workspace,
    *,
    settings: Settings,
    device: str = "sim",
    tools: SimToolchain | None = None,
    lost: threading.Event | None = None,
) -> Build:
    """Build the extension of a workspace; a source that does not compile is an outcome, not an error.

    Args:
        tools: a toolchain to use again; None makes the one of the device.
        lost: ends the build as soon as it is set.

    Raises:
        BadInput: no such device.
        ToolchainMissing, SandboxUnavailable: nothing can be built here.
        JobLost: `lost` was set.
    """
    if device not in DEVICES:
        raise BadInput(f"no device {device!r}", mend=f"use one of {', '.join(DEVICES)}")
    tools = tools or toolchain(mode=Mode(settings.sandbox))
    with tempfile.TemporaryDirectory(prefix="opmend-build-") as workdir:
        return tools.compile(
            workspace.kernel_files,
            workdir=Path(workdir),
            extension_name=workspace.extension,
            timeout=settings.compile_timeout,
            lost=lost,
        )
