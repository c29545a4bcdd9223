"""Compile C++ files with a `main` for the simulator and run them: `python -m npu_worker.simulate FILE... [-- ARGS]`.

For what has no Python around it: public samples with an acl host side, one file with `kernel<<<...>>>` and a `main`,
CPU-mode programs with ICPU_RUN_KF. The program runs in the current directory, which it may read and write; its output
goes through, findings follow on standard error. `opmend simulate` starts this as a process.

Exit status: 0 the program ended with 0 and without violation; 1 it did not, or it does not compile; 2 wrong use;
3 infrastructure.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from npu_worker.compile import toolchain
from npu_worker.limits import SandboxLimits
from npu_worker.sandbox import Mode, View, probe, wrap
from npu_worker.sim.report import read_report
from npu_worker.toolchains import Build
from npu_worker.toolchains.sources import includes
from schema.errors import BadInput, InfrastructureError, OpmendError
from schema.results import Finding
from schema.settings import Settings
from schema.texts import shown

_SUFFIXES = (".cpp", ".cc", ".cxx", ".asc", ".cce")
_MOST_FILES = 2000
_MOST_BYTES = 16 << 20


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What one program is made of.

    Attributes:
        root: the directory that paths are relative to.
        files: texts of the sources and of every header they reach, by POSIX path below the root.
        include: header directories below the root.
    """

    root: Path
    files: dict[str, str]
    include: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """How a program ended.

    Attributes:
        build: the compile; its log is what the compiler said.
        exit_code: of the program, negative for a signal; None if it was not built or ran out of time.
        findings: what the simulator noticed.
    """

    build: Build
    exit_code: int | None
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether it ended with 0 and nothing worse than a warning was found."""
        return self.exit_code == 0 and all(one.severity == "warning" for one in self.findings)


def collect(sources: Sequence[Path], *, include: Sequence[Path] = ()) -> Sources:
    """Read the sources and the headers they reach beside themselves and in the include directories.

    Raises:
        BadInput: a file is not there, is no C++ source, or there is far too much.
    """
    texts: dict[Path, str] = {}
    waiting = []
    for source in sources:
        if source.suffix not in _SUFFIXES:
            raise BadInput(
                f"no C++ source: {source.name}", where=str(source), mend=f"use {', '.join(_SUFFIXES)}"
            )
        if not source.is_file():
            raise BadInput("no such file", where=str(source), mend="name C++ sources, then -- and arguments")
        waiting.append(source.resolve())
    directories = [one.resolve() for one in include]
    for directory, given in zip(directories, include, strict=True):
        if not directory.is_dir():
            raise BadInput("no such directory", where=str(given), mend="give -I a directory with headers")
    beside = list(dict.fromkeys(path.parent for path in waiting))
    total = 0
    while waiting:
        path = waiting.pop()
        if path in texts:
            continue
        text = path.read_text("utf-8", errors="surrogateescape")
        total += len(text)
        if len(texts) >= _MOST_FILES or total > _MOST_BYTES:
            raise BadInput(
                "the sources reach too many headers", where=str(path), mend="give fewer -I directories"
            )
        texts[path] = text
        for operand in includes(text):
            places = (path.parent, *directories, *beside)
            found = next((one for place in places if (one := (place / operand).resolve()).is_file()), None)
            if found is not None:
                waiting.append(found)
    root = Path(os.path.commonpath([*(path.parent for path in texts), *directories]))
    below = tuple(one.relative_to(root).as_posix() for one in dict.fromkeys([*directories, *beside]))
    return Sources(
        root=root,
        files={path.relative_to(root).as_posix(): text for path, text in texts.items()},
        include=below,
    )


def simulate(
    sources: Sequence[Path],
    *,
    arguments: Sequence[str] = (),
    include: Sequence[Path] = (),
    defines: Sequence[str] = (),
    timeout: float = 600.0,
    settings: Settings | None = None,
    mode: Mode | None = None,
    output: int | None = None,
) -> Simulated:
    """Compile and run one program; its output goes where this process's goes.

    Args:
        arguments: of the program.
        timeout: seconds that the program may run.
        mode: whether compiler and program are isolated; None takes the setting.
        output: a descriptor for the program's standard output; None is this process's own.

    Raises:
        BadInput: the sources can't be read.
        InfrastructureError: nothing can be compiled or run here.
    """
    settings = settings or Settings.load()
    mode = Mode(settings.sandbox) if mode is None else mode
    gathered = collect(sources, include=include)
    with tempfile.TemporaryDirectory(prefix="opmend-simulate-") as name:
        work = Path(name).resolve()
        build = toolchain(mode=mode).compile_program(
            gathered.files,
            workdir=_made(work / "build"),
            name="program",
            timeout=settings.compile_timeout,
            defines=defines,
            include=gathered.include,
        )
        if build.binary is None:
            return Simulated(build=build, exit_code=None, findings=build.compilation.findings)
        program, report = work / "program", _made(work / "report") / "findings.jsonl"
        program.write_bytes(build.binary)
        program.chmod(0o700)
        code = _run([str(program), *arguments], program, report, timeout=timeout, mode=mode, output=output)
        findings = tuple(_placed(one, gathered.root) for one in read_report(report))
        return Simulated(build=build, exit_code=code, findings=findings)


def _run(
    argv: Sequence[str], program: Path, report: Path, *, timeout: float, mode: Mode, output: int | None
) -> int | None:
    """Its exit status; negative for a signal, None after the time limit."""
    here = Path.cwd()
    environment = {name: value for name, value in os.environ.items() if name.startswith("OPMEND_SIM_")}
    environment["OPMEND_SIM_REPORT"] = str(report)
    limits = SandboxLimits(wall_seconds=timeout)
    if mode is Mode.ON:
        probe()
    view = View(readable=(program,), writable=(here, report.parent))
    command = wrap(argv, limits=limits, view=view, environment=environment, directory=here, mode=mode)
    try:
        done = subprocess.run(
            command, check=False, timeout=timeout, env={**os.environ, **environment}, stdout=output
        )
    except subprocess.TimeoutExpired:
        return None
    code = done.returncode
    return 128 - code if 128 < code <= 192 else code


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


def _placed(finding: Finding, root: Path) -> Finding:
    """The finding with its file as the user named it: relative to the current directory where that is shorter."""
    if not finding.file:
        return finding
    path = os.path.relpath(root / finding.file)
    shorter = path if not path.startswith("../../..") else str(root / finding.file)
    return finding.model_copy(update={"file": shorter})


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadInput(message, where="simulate", mend="see --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m npu_worker.simulate",
        description="Compile C++ files with a main for the simulator, and run them.",
        epilog="example: python -m npu_worker.simulate main.cpp add_custom.cpp -- --size 2048",
    )
    parser.add_argument("sources", nargs="+", type=Path, metavar="FILE", help="C++ sources; one has main")
    parser.add_argument("-I", "--include", action="append", default=[], type=Path, help="headers' directory")
    parser.add_argument("-D", "--define", action="append", default=[], help="macro: NAME or NAME=VALUE")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds that the program may run")
    parser.add_argument("--sandbox", choices=[one.value for one in Mode], help="default: the setting")
    parser.add_argument("--json", action="store_true", help="findings and exit code as one JSON object")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line, compile, run, tell; returns the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    split = words.index("--") if "--" in words else len(words)
    try:
        options = _parser().parse_args(words[:split])
        for define in options.define:
            if not re.fullmatch(r"[A-Za-z_]\w*(=.*)?", define):
                raise BadInput(f"no macro: {define}", where="--define", mend="use NAME or NAME=VALUE")
        found = simulate(
            options.sources,
            arguments=words[split + 1 :],
            include=options.include,
            defines=options.define,
            timeout=options.timeout,
            mode=Mode(options.sandbox) if options.sandbox else None,
            output=sys.stderr.fileno() if options.json else None,
        )
    except OpmendError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code
    except OSError as error:
        what = InfrastructureError(f"{error.strerror or error}", where=str(error.filename or "simulate"))
        sys.stderr.write(f"error: {what}\n")
        return what.exit_code
    if options.json:
        sys.stdout.write(shown(json.dumps(_facts(found), ensure_ascii=False)) + "\n")
    else:
        sys.stderr.write(shown(_text(found, options.timeout)))
    return 0 if found.passed else 1


def _facts(found: Simulated) -> dict[str, Any]:
    return {
        "passed": found.passed,
        "exit_code": found.exit_code,
        "compilation": found.build.compilation.model_dump(mode="json"),
        "findings": [one.model_dump(mode="json") for one in found.findings],
    }


def _line(finding: Finding) -> str:
    place = f"{finding.file}:{finding.line}: " if finding.file else ""
    times = f" (×{finding.count})" if finding.count > 1 else ""
    return f"{finding.severity} {finding.rule}: {place}{finding.message}{times}"


def _text(found: Simulated, timeout: float) -> str:
    """What follows the program's own output."""
    if found.build.binary is None:
        # The log holds what is wrong with the program; what only the simulator lacks is said last, by name.
        lacking = [_line(one) for one in found.findings if one.rule != "compile-error"]
        lines = [found.build.compilation.log.rstrip(), *lacking, str(found.build.compilation.failure_type)]
        return "".join(f"{line}\n" for line in lines)
    lines = [_line(one) for one in found.findings]
    if found.exit_code is None:
        lines.append(f"the program did not end within {timeout:g} s")
    elif found.exit_code < 0:
        lines.append(f"the program was ended by signal {-found.exit_code}")
    elif found.exit_code:
        lines.append(f"the program ended with exit code {found.exit_code}")
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
