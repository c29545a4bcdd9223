"""The `sim` toolchain: g++ over the simulator's headers.

A candidate's sources go through `sources.rewrite_launches`, compile against a precompiled prelude, and are linked with
the simulator's runtime into one extension module that needs no other file to run.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from npu_worker.toolchains import cache
from npu_worker.toolchains.base import Build, CommandWrapper, Toolchain
from npu_worker.toolchains.command import CommandResult, Until, run_command
from npu_worker.toolchains.diagnostics import errors_of, unsupported_findings
from npu_worker.toolchains.projects import ProjectSources
from npu_worker.toolchains.sources import (
    faults,
    kernel_signatures,
    launch_header,
    reached_from,
    rewrite_launches,
)
from npu_worker.toolchains.tasks import VECTOR_MACROS, AskedCore, asked_core, kernel_tasks
from npu_worker.toolchains.tilings import TilingSources
from npu_worker.toolchains.units import SOURCE_SUFFIXES, Unit, units_of
from schema.errors import BadInput, ToolchainMissing
from schema.results import Compilation, FailureType, Finding
from schema.texts import bytes_of

SIM_DIRECTORY = Path(__file__).resolve().parent.parent / "sim"
_KEPT_SUFFIXES = (*SOURCE_SUFFIXES, ".h", ".hpp", ".hh", ".inc", ".inl", ".ipp")
_BASE_FLAGS = (
    "-std=gnu++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fdiagnostics-color=never",
    "-DASCENDC_CPU_SIMULATOR=1",
)
_CANDIDATE_FLAGS = ("-w", "-fmax-errors=20", "-ftemplate-backtrace-limit=4")
#: A source with bindings alone has nothing to speed up.
_SPEED_FLAGS = {"kernel": "-O2", "both": "-O2", "": "-O2", "torch": "-O0"}
_RUNTIME_FLAGS = ("-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic")
#: Runtime sources with nothing to speed up.
_PLAIN_RUNTIME = frozenset({"functions", "objects", "python", "tensor"})
#: What only an extension needs (torch by way of Python), and what only a program needs (the end of an uncaught error).
_EXTENSION_RUNTIME = _PLAIN_RUNTIME
_PROGRAM_RUNTIME = frozenset({"program"})
#: Bindings with pybind11 itself instead of the simulator's binding layer.
_FULL_FLAG = "-DOPMEND_SIM_FULL_PYBIND11"
#: In a linker's message, a name of the binding layer: a unit with it and a unit with pybind11 pass Python objects.
_LAYER_SYMBOL = "opmend_light"
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)


def _cpu_flags() -> tuple[str, ...]:
    """Vector extensions this machine has and the runtime can use. They change speed, never results."""
    try:
        text = Path("/proc/cpuinfo").read_text("ascii", errors="replace")
    except OSError:
        return ()
    match = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    known = set(match[1].split()) if match else set()
    wanted = (("avx2", "-mavx2"), ("f16c", "-mf16c"), ("fma", "-mfma"))
    return tuple(flag for name, flag in wanted if name in known)


class SimToolchain(Toolchain):
    """Builds extensions for the simulator.

    Args:
        cache_directory: where precompiled headers and the runtime are kept; default: OPMEND_CACHE_DIR, else
            the user's cache.
        compiler: the C++ compiler; default: g++ on PATH.
        command_wrapper: puts every compile of a candidate into a sandbox.
        jobs: sources compiled at a time.
    """

    name = "sim"

    def __init__(
        self,
        *,
        cache_directory: Path | None = None,
        compiler: str = "g++",
        command_wrapper: CommandWrapper | None = None,
        jobs: int = 2,
    ) -> None:
        self._cache = cache_directory or cache.default_cache_directory()
        self._compiler_name = compiler
        self._wrap = command_wrapper
        self._jobs = max(1, jobs)
        self._objects = cache.ObjectStore(self._cache / "objects")

    @cached_property
    def compiler(self) -> str:
        """Absolute path of the compiler.

        Raises:
            ToolchainMissing: there is none.
        """
        found = shutil.which(self._compiler_name)
        if found is None:
            raise ToolchainMissing(
                f"no C++ compiler named {self._compiler_name}",
                mend="install one: apt-get install g++ (Debian, Ubuntu) or dnf install gcc-c++ (Fedora)",
            )
        return found

    @cached_property
    def _version(self) -> str:
        done = subprocess.run(
            [self.compiler, "--version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            env=self._environment(None),
        )
        return done.stdout

    @cached_property
    def _includes(self) -> tuple[str, ...]:
        try:
            import pybind11
        except ImportError as error:
            raise ToolchainMissing(
                "the pybind11 headers are not installed", mend="pip install 'opmend[npu]'"
            ) from error
        python = sysconfig.get_paths()["include"]
        if not (Path(python) / "Python.h").is_file():
            raise ToolchainMissing(
                "Python.h is not there",
                where=python,
                mend="install Python's headers: apt-get install python3-dev",
            )
        return (f"-I{SIM_DIRECTORY / 'include'}", "-isystem", pybind11.get_include(), "-isystem", python)

    @cached_property
    def _flags(self) -> tuple[str, ...]:
        return (*_BASE_FLAGS, *_cpu_flags())

    @property
    def include_directories(self) -> tuple[Path, ...]:
        """Directories a sandbox must show to the compiler, read-only."""
        return (
            *(Path(part.removeprefix("-I")) for part in self._includes if part != "-isystem"),
            self._cache,
        )

    def _sim_files(self) -> tuple[Path, ...]:
        paths = [*(SIM_DIRECTORY / "include").rglob("*.h*"), *(SIM_DIRECTORY / "runtime").glob("*.cpp")]
        return tuple(sorted(paths))

    @cached_property
    def _key(self) -> str:
        settings = (
            self._version,
            self.compiler,
            *self._flags,
            *_CANDIDATE_FLAGS,
            *_SPEED_FLAGS.values(),
            *_RUNTIME_FLAGS,
            *self._includes,
        )
        return cache.digest_of(settings, self._sim_files())

    def prepare(self) -> float:
        """Fill the cache: the runtime and the two preludes most candidates use. Seconds it took; near 0 when warm."""
        start = time.monotonic()
        with ThreadPoolExecutor(self._jobs) as pool:
            for work in [
                pool.submit(self._prelude, "kernel"),
                pool.submit(self._prelude, "torch"),
                pool.submit(self._runtime),
            ]:
                work.result()
        return time.monotonic() - start

    def _runtime(self, lost: threading.Event | None = None) -> Path:
        def build(scratch: Path) -> None:
            sources = sorted((SIM_DIRECTORY / "runtime").glob("*.cpp"), key=lambda path: -path.stat().st_size)
            with ThreadPoolExecutor(self._jobs) as pool:
                list(pool.map(lambda source: self._compile_runtime(source, scratch, lost), sources))

        return cache.entry(self._cache, f"sim-runtime-{self._key}", build, lost=lost)

    def _compile_runtime(self, source: Path, scratch: Path, lost: threading.Event | None) -> None:
        speed = ("-O1",) if source.stem in _PLAIN_RUNTIME else _RUNTIME_FLAGS
        target = scratch / f"{source.stem}.o"
        command = (self.compiler, *self._flags, *speed, *self._includes, "-c", str(source), "-o", str(target))
        self._trusted(command, scratch, lost)

    def _prelude(self, kind: str, *, full: bool = False, lost: threading.Event | None = None) -> Path:
        headers = {
            "kernel": ("kernel_operator.h",),
            "torch": ("torch/extension.h", "acl/acl.h"),
            "both": ("torch/extension.h", "kernel_operator.h"),
        }[kind]

        def build(scratch: Path) -> None:
            header = scratch / "prelude.h"
            header.write_text("#pragma once\n" + "".join(f'#include "{name}"\n' for name in headers))
            command = (
                self.compiler,
                *self._flags,
                *_CANDIDATE_FLAGS,
                _SPEED_FLAGS[kind],
                *((_FULL_FLAG,) if full else ()),
                *self._includes,
                "-x",
                "c++-header",
                str(header),
                "-o",
                f"{header}.gch",
            )
            self._trusted(command, scratch, lost)

        name = f"{kind}-pybind11" if full else kind
        return cache.entry(self._cache, f"sim-prelude-{name}-{self._key}", build, lost=lost) / "prelude.h"

    def _trusted(self, command: Sequence[str], scratch: Path, lost: threading.Event | None) -> None:
        """Run a compile of our own sources; its failure is the installation's fault."""
        log = scratch / f"log-{hashlib.sha256(' '.join(command).encode()).hexdigest()[:8]}.txt"
        result = run_command(
            command, cwd=scratch, output=log, timeout=600, environment=self._environment(scratch), lost=lost
        )
        if result.code != 0:
            raise ToolchainMissing(
                f"{self._compiler_name} can't build the simulator: {result.output[-1500:]}",
                mend="use g++ 11 or newer, or report this with the compiler's version",
            )

    def _environment(self, temporary: Path | None) -> dict[str, str]:
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
        if temporary is not None:
            environment |= {"TMPDIR": str(temporary), "HOME": str(temporary)}
        return environment

    def compile(
        self,
        files: Mapping[str, str],
        *,
        workdir: Path,
        extension_name: str,
        timeout: float = 120.0,
        lost: threading.Event | None = None,
    ) -> Build:
        """See `Toolchain.compile`. The first build of an installation also fills the cache, outside the time limit."""
        return self._built(files, workdir, extension_name, timeout, program=False, lost=lost)

    def compile_program(
        self,
        files: Mapping[str, str],
        *,
        workdir: Path,
        name: str,
        timeout: float = 120.0,
        defines: Sequence[str] = (),
        include: Sequence[str] = (),
    ) -> Build:
        """Compile sources with a `main` into a program that runs by itself; see `compile`.

        Args:
            defines: macros, as NAME or NAME=VALUE.
            include: directories of the workspace to look for headers in.
        """
        flags = (*(f"-D{one}" for one in defines), *(f"-I{one}" for one in include))
        return self._built(files, workdir, name, timeout, program=True, flags=flags)

    def _built(
        self,
        files: Mapping[str, str],
        workdir: Path,
        name: str,
        timeout: float,
        *,
        program: bool,
        flags: tuple[str, ...] = (),
        lost: threading.Event | None = None,
    ) -> Build:
        kept = {path: text for path, text in files.items() if PurePosixPath(path).suffix in _KEPT_SUFFIXES}
        _check_names(kept, name)
        asked = asked_core(kept)
        if asked is not None:
            if _tasks(kept):
                return _two_sources(asked)
            flags = (*flags, *(f"-D{name}=1" for name in VECTOR_MACROS))
        units = units_of(kept, flags)
        if not units:
            return _failed("no C++ source under kernel/", 0.0)
        broken = [fault for path, text in sorted(kept.items()) for fault in faults(path, text)]
        if broken:
            findings = tuple(
                Finding(rule=one.rule, severity="error", message=one.message, file=one.file, line=one.line)
                for one in broken
            )
            log = "".join(f"{one.file}:{one.line}: error: {one.message}\n" for one in broken)
            return _failed(log, 0.0, findings=findings)
        self._preludes(units, lost)
        self._runtime(lost)
        end = Until(started=time.monotonic(), timeout=timeout, lost=lost)
        return self._build(kept, units, workdir.resolve(), name, end, program=program)

    def _preludes(self, units: Sequence[Unit], lost: threading.Event | None) -> None:
        for kind, full in sorted({(unit.prelude, unit.full) for unit in units if unit.prelude}):
            self._prelude(kind, full=full, lost=lost)

    def _build(
        self,
        files: Mapping[str, str],
        units: Sequence[Unit],
        workdir: Path,
        extension_name: str,
        end: Until,
        *,
        program: bool,
    ) -> Build:
        tree = workdir / "src"
        (workdir / "obj").mkdir(parents=True, exist_ok=True)
        tasks, tilings = _tasks(files), TilingSources(files)
        project = ProjectSources(files, kernel_tasks(files))
        for path, text in files.items():
            target = tree / path
            target.parent.mkdir(parents=True, exist_ok=True)
            rewritten = rewrite_launches(tilings.rewritten(path, text), tasks)
            target.write_bytes(bytes_of(rewritten + project.registration(path)))
        generated = tree / ".generated"
        generated.mkdir()
        units = tuple(
            replace(unit, flags=(*flags, *unit.flags), variant=variant).with_prologue(
                tilings.prologue(unit.path), generated
            )
            for unit in units
            for variant, flags in enumerate(project.variants(unit.path))
        )
        for path, text in files.items():
            if "__global__" in text and PurePosixPath(path).suffix in _KEPT_SUFFIXES:
                for kernel in kernel_signatures(text):
                    (generated / f"aclrtlaunch_{kernel.name}.h").write_bytes(
                        bytes_of(launch_header(kernel, tasks))
                    )
        binary = workdir / f"{extension_name}{sysconfig.get_config_var('EXT_SUFFIX')}"
        results = self._compiled(units, files, workdir, extension_name, end)
        linked = self._linked(results, binary, workdir, end, program=program)
        # No kernel is refused for what the binding layer lacks, and what its author reads comes from pybind11.
        light = [unit for unit in units if unit.bindings and not unit.full]
        if any(results[unit].code for unit in light) or (light and _LAYER_SYMBOL in linked.output):
            full = {unit: replace(unit, full=True) for unit in light}
            before = time.monotonic()
            self._preludes(tuple(full.values()), end.lost)
            end = replace(end, granted=end.granted + time.monotonic() - before)
            again = self._compiled(tuple(full.values()), files, workdir, extension_name, end)
            for unit in light:
                if again[full[unit]].code == 0 and results[unit].code:
                    self._keep(unit, again[full[unit]], files, workdir, extension_name)
            results = {full.get(unit, unit): result for unit, result in results.items()} | again
            linked = self._linked(results, binary, workdir, end, program=program)
        log = "".join(result.output for result in results.values())
        if any(result.code is None for result in results.values()):
            return _failed(
                f"{log}\nthe compiler did not end within {end.timeout:g} s\n",
                end.timeout,
                failure=FailureType.TIMEOUT,
            )
        if any(result.code != 0 for result in results.values()):
            return _classified(self._relative(log, workdir), time.monotonic() - end.started)
        log += linked.output
        if linked.code is None:
            return _failed(
                f"{log}\nthe linker did not end within {end.timeout:g} s\n",
                end.timeout,
                failure=FailureType.TIMEOUT,
            )
        if linked.code != 0:
            return _classified(self._relative(log, workdir), time.monotonic() - end.started)
        content = binary.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        compilation = Compilation(
            ok=True,
            artifact=digest,
            binary_digest=digest,
            log=self._relative(log, workdir),
            seconds=time.monotonic() - end.started,
        )
        return Build(compilation=compilation, binary=content)

    def _compiled(
        self,
        units: Sequence[Unit],
        files: Mapping[str, str],
        workdir: Path,
        extension_name: str,
        end: Until,
    ) -> dict[Unit, CommandResult]:
        """Each unit's result, in the order of `units`; the objects of those without a word are kept."""
        with ThreadPoolExecutor(self._jobs) as pool:
            outcomes = pool.map(lambda unit: self._object(unit, files, workdir, extension_name, end), units)
            results = dict(zip(units, outcomes, strict=True))
        for unit, result in results.items():
            self._keep(unit, result, files, workdir, extension_name)
        return results

    def _keep(
        self,
        unit: Unit,
        result: CommandResult,
        files: Mapping[str, str],
        workdir: Path,
        extension_name: str,
    ) -> None:
        if result.code == 0 and not result.output:
            self._objects.put(
                self._object_key(unit, files, extension_name), workdir / "obj" / unit.object_name
            )

    def _linked(
        self,
        results: Mapping[Unit, CommandResult],
        binary: Path,
        workdir: Path,
        end: Until,
        *,
        program: bool,
    ) -> CommandResult:
        """Link the units' objects with the runtime; nothing is linked where a unit did not compile."""
        if any(result.code != 0 for result in results.values()):
            return CommandResult(code=1, output="")
        left_out = _EXTENSION_RUNTIME if program else _PROGRAM_RUNTIME
        command = (
            self.compiler,
            *(() if program else ("-shared", "-Wl,-Bsymbolic")),
            "-Wl,--gc-sections",
            "-Wl,-s",
            "-o",
            str(binary),
            *(str(workdir / "obj" / unit.object_name) for unit in results),
            *(str(one) for one in sorted(self._runtime().glob("*.o")) if one.stem not in left_out),
        )
        return self._run(command, workdir, workdir / "link.log", end)

    def _object_key(self, unit: Unit, files: Mapping[str, str], extension_name: str) -> str:
        reached = reached_from(unit.path, files)
        launches = any(name.startswith("aclrtlaunch_") for name in reached.operands)
        state = hashlib.sha256()
        tasks = repr(sorted(_tasks(files).items()))
        for part in (self._key, unit.prelude, str(unit.full), unit.path, extension_name, tasks, *unit.flags):
            state.update(bytes_of(part) + b"\0")
        # A launch sees other files' kernels, and tiling data means what any file registers.
        project = any("OP_ADD" in text for text in files.values())
        whole = (
            launches or bool(unit.flags) or project or any("TILING" in files[one] for one in reached.files)
        )
        for path in sorted(files if whole else reached.files):
            state.update(path.encode() + b"\0" + hashlib.sha256(bytes_of(files[path])).digest())
        return state.hexdigest()

    def _object(
        self, unit: Unit, files: Mapping[str, str], workdir: Path, extension_name: str, end: Until
    ) -> CommandResult:
        target = workdir / "obj" / unit.object_name
        if self._objects.get(self._object_key(unit, files, extension_name), target):
            return CommandResult(code=0, output="")
        return self._compile_unit(unit, target, workdir, extension_name, end)

    def _compile_unit(
        self, unit: Unit, target: Path, workdir: Path, extension_name: str, end: Until
    ) -> CommandResult:
        directories = dict.fromkeys(["kernel", ".", ".generated", str(PurePosixPath(unit.path).parent)])
        prelude = ("-include", str(self._prelude(unit.prelude, full=unit.full))) if unit.prelude else ()
        command = (
            self.compiler,
            *self._flags,
            *_CANDIDATE_FLAGS,
            _SPEED_FLAGS[unit.prelude],
            *((_FULL_FLAG,) if unit.full else ()),
            *prelude,
            *unit.flags,
            *(f"-I{name}" for name in directories),
            *self._includes,
            f"-DTORCH_EXTENSION_NAME={extension_name}",
            f"-ffile-prefix-map={workdir / 'src'}/=",
            "-x",
            "c++",
            "-c",
            unit.path,
            "-o",
            str(target),
        )
        return self._run(command, workdir, target.with_suffix(".log"), end)

    def _run(self, command: Sequence[str], workdir: Path, output: Path, end: Until) -> CommandResult:
        temporary = workdir / "tmp"
        temporary.mkdir(exist_ok=True)
        wrapped = self._wrap(command, workdir) if self._wrap else command
        return run_command(
            wrapped,
            cwd=workdir / "src",
            output=output,
            timeout=end.left,
            environment=self._environment(temporary),
            lost=end.lost,
        )

    def _relative(self, log: str, workdir: Path) -> str:
        """The log without this machine's paths."""
        replaced = log.replace(f"{workdir / 'src'}/", "").replace(f"{workdir}/", "")
        replaced = replaced.replace(f"{SIM_DIRECTORY / 'include'}/", "<sim>/").replace(
            f"{self._cache}/", "<cache>/"
        )
        return re.sub(r"/\S*/(?=(?:pybind11|c\+\+|bits)/)", "<include>/", replaced)


def _tasks(files: Mapping[str, str]) -> dict[str, str]:
    """The C++ value of each kernel's task, where it is not plain vector code."""
    return {name: task.expression for name, task in kernel_tasks(files).items()}


def _check_names(files: Mapping[str, str], extension_name: str) -> None:
    if not _IDENTIFIER.match(extension_name):
        raise BadInput(
            f"{extension_name!r} can't name an extension",
            mend="use letters, digits and underscores, as in _add_ext",
        )
    for path in files:
        parts = PurePosixPath(path)
        if (
            parts.is_absolute()
            or ".." in parts.parts
            or "\0" in path
            or path.startswith("-")
            or ".generated" in parts.parts
        ):
            raise BadInput(
                "the path leaves the workspace", where=path, mend="use a relative path below the workspace"
            )


def _failed(
    log: str,
    seconds: float,
    *,
    failure: FailureType = FailureType.BUILD_FAILED,
    findings: tuple[Finding, ...] = (),
) -> Build:
    return Build(
        compilation=Compilation(ok=False, failure_type=failure, log=log, seconds=seconds, findings=findings)
    )


def _two_sources(asked: AskedCore) -> Build:
    """Both kinds of core run what is compiled once here: what is meant for one alone would be left out in silence."""
    message = (
        f"unsupported by the simulator: {asked.macro}; it compiles a kernel once for all cores, "
        "so choose by `if ASCEND_IS_AIC` and `if ASCEND_IS_AIV`"
    )
    finding = Finding(rule="unsupported", severity="error", message=message, file=asked.path, line=asked.line)
    log = f"{asked.path}:{asked.line}: error: {message}\n"
    return _failed(log, 0.0, failure=FailureType.UNSUPPORTED, findings=(finding,))


def _classified(log: str, seconds: float) -> Build:
    lacking = unsupported_findings(log)
    if lacking:
        return _failed(log, seconds, failure=FailureType.UNSUPPORTED, findings=lacking)
    return _failed(log, seconds, findings=errors_of(log))
