"""The interface every toolchain has, and what a build returns."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from schema.results import Compilation

#: Wraps a compiler command in a sandbox: takes argv and the directory the command may write to, returns argv.
CommandWrapper = Callable[[Sequence[str], Path], Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Build:
    """The outcome of one compile.

    Attributes:
        compilation: what is stored and sent; its `artifact` is the SHA-256 of `binary`.
        binary: the extension's bytes; None unless `compilation.ok`.
    """

    compilation: Compilation
    binary: bytes | None = None


class Toolchain(ABC):
    """Compiles the sources of a candidate into a Python extension."""

    #: short name that evidence and logs carry, for example "sim".
    name: str

    @abstractmethod
    def compile(
        self,
        files: Mapping[str, str],
        *,
        workdir: Path,
        extension_name: str,
        timeout: float = 120.0,
        lost: threading.Event | None = None,
    ) -> Build:
        """Compile and link.

        Args:
            files: workspace-relative POSIX path to text, every file under kernel/ (sources and headers).
            workdir: an existing empty directory for this build alone; the caller removes it.
            extension_name: the module's name, for example "_add_ext".
            timeout: wall time for the whole build, in seconds.
            lost: ends the build, and every process of it, as soon as it is set.

        Returns:
            A `Build`; a source that does not compile is an outcome, never an exception.

        Raises:
            ToolchainMissing: the compiler or something it needs is not there.
            BadInput: a path leaves the workspace, or the extension's name is no identifier.
            JobLost: `lost` was set.
        """
