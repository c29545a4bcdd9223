"""Toolchains: how a candidate's sources become an extension that a harness can import.

`sim` builds for the simulator with g++. A toolchain for real hosts joins beside it behind the same
`Toolchain` interface.
"""

from npu_worker.toolchains.base import Build, CommandWrapper, Toolchain
from npu_worker.toolchains.sim import SimToolchain

__all__ = ["Build", "CommandWrapper", "SimToolchain", "Toolchain"]
