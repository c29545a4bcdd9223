"""Kernels of the tests, compiled by the real toolchain for the simulator and loaded into this process."""

import importlib.machinery
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from npu_worker.toolchains import SimToolchain


def sources(directory: Path) -> dict[str, str]:
    """The files of a directory as a workspace has them: kernel/NAME → text."""
    return {f"kernel/{path.name}": path.read_text() for path in directory.iterdir()}


def compiled(files: Mapping[str, str], name: str, work: Path) -> Path:
    """The library of these files, in `work`. With a filled object cache this is a link."""
    build = SimToolchain().compile(files, workdir=work, extension_name=name, timeout=280)
    assert build.compilation.ok, build.compilation.log
    assert build.binary is not None
    return saved(build.binary, name, work)


def saved(binary: bytes, name: str, work: Path) -> Path:
    """A toolchain's binary as a file that can be loaded."""
    library = work / f"{name}.so"
    library.write_bytes(binary)
    return library


def loaded(library: Path) -> ModuleType:
    """The module in a library; its name is the file's."""
    name = library.stem
    loader = importlib.machinery.ExtensionFileLoader(name, str(library))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
