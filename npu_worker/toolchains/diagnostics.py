"""Tells a call the simulator lacks from a mistake of the candidate, by what the compiler says.

Only a name that AscendC has (`ascendc_names.toml`) and that the compiler does not find makes a build
"unsupported". A misspelt name stays a failed build.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources

from schema.results import Finding

_PLACE = r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)?\s+"
_ERROR = re.compile(_PLACE + r"(?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_FROM = re.compile(_PLACE + r"required from here$", re.MULTILINE)
_QUOTE = "['‘’`]"
_MEMBER = re.compile(
    rf"{_QUOTE}(?:const |volatile |class |struct )*(?P<owner>[\w:]+).*{_QUOTE} "
    rf"has no member named {_QUOTE}(?P<name>\w+)"
)
_QUALIFIED = re.compile(
    rf"{_QUOTE}(?P<name>[\w:]+?)(?:<.*>)?{_QUOTE} is not a member of {_QUOTE}(?P<owner>[\w:]+)"
)
_FREE = (
    re.compile(rf"{_QUOTE}(?P<name>\w+){_QUOTE} was not declared in this scope"),
    re.compile(rf"{_QUOTE}(?P<name>\w+){_QUOTE} (?:in namespace .* )?does not name a (?:type|template type)"),
    re.compile(rf"{_QUOTE}(?P<name>\w+){_QUOTE} is not a (?:class, namespace, or enumeration|type|template)"),
    re.compile(rf"{_QUOTE}(?P<name>\w+){_QUOTE} has not been declared"),
    re.compile(rf"expected .* before {_QUOTE}(?P<name>\w+){_QUOTE}"),
    re.compile(
        rf"there are no arguments to {_QUOTE}(?P<name>\w+){_QUOTE} that depend on a template parameter"
    ),
)
_TORCH_SPACES = frozenset({"at", "torch", "c10"})
_PROJECT_SPACES = frozenset({"ge", "gert", "ops", "fe", "platform_ascendc"})
#: Macros that an operator project's build defines: the type and the format of each input and output.
_BUILD_MACRO = re.compile(r"(?:ORIG_)?(?:DTYPE|FORMAT)_[A-Z][A-Z0-9_]*\Z")
_HEADER = re.compile(r"(?P<name>[\w./+-]+): No such file or directory")
_LACKING = re.compile(r"unsupported by the simulator: (?P<name>[^\n\"]+)")


@dataclass(frozen=True, kw_only=True)
class ApiNames:
    """The names AscendC and torch's C++ interface have, whether or not the simulator has them.

    Attributes:
        free: functions, types and macros that code names without an owner.
        members: what the classes of AscendC have.
        torch: what the namespaces and classes of torch have. Many are plain words: they count with their owner only.
        project: what the namespaces and classes of an operator project's host side have; with their owner only, too.
    """

    free: frozenset[str]
    members: frozenset[str]
    torch: frozenset[str]
    project: frozenset[str]
    headers: frozenset[str]
    header_roots: tuple[str, ...]


@cache
def api_names() -> ApiNames:
    """Read `ascendc_names.toml`."""
    table = tomllib.loads(resources.files(__package__).joinpath("ascendc_names.toml").read_text("utf-8"))
    words = {kind: frozenset(text.split()) for kind, text in table.items()}
    return ApiNames(
        free=words["functions"] | words["types"] | words["macros"],
        members=words["members"],
        torch=words["torch"],
        project=words["project"],
        headers=words["headers"],
        header_roots=tuple(f"{root}/" for root in sorted(words["header_roots"])),
    )


@cache
def _states() -> dict[str, list[str]]:
    """`npu_worker/sim/api.toml`: state, evidence and note of each function, type and macro."""
    table = tomllib.loads(resources.files("npu_worker.sim").joinpath("api.toml").read_text("utf-8"))
    return {
        name: line for kind in ("functions", "types", "macros") for name, line in table.get(kind, {}).items()
    }


@cache
def simulated_names() -> frozenset[str]:
    """Functions, types and macros that the simulator has: code that does not find one has made a mistake of its own."""
    return frozenset(name for name, line in _states().items() if line[0] != "unsupported")


@dataclass(frozen=True, kw_only=True)
class CompileError:
    """One error of the compiler, at the candidate's line where the compiler names one."""

    text: str
    file: str
    line: int


def compile_errors(log: str) -> tuple[CompileError, ...]:
    """The errors of a log in its order. One inside the simulator's headers belongs to the line that called them."""
    origins = list(_FROM.finditer(log))
    found = []
    for match in _ERROR.finditer(log):
        file, line = match["file"], int(match["line"])
        if file.startswith("<"):
            before = [origin for origin in origins if origin.start() < match.start()]
            if before:
                file, line = before[-1]["file"], int(before[-1]["line"])
        found.append(CompileError(text=match["text"], file=file, line=line))
    return tuple(found)


def unsupported_findings(log: str) -> tuple[Finding, ...]:
    """One finding (rule "unsupported") for each AscendC name that the compiler did not find in the simulator."""
    api = api_names()
    found: dict[str, Finding] = {}
    for error in compile_errors(log):
        for name in _names(error.text, api):
            if name not in found:
                found[name] = Finding(
                    rule="unsupported",
                    severity="error",
                    message=f"unsupported by the simulator: {name}{_hint(name)}",
                    file=error.file,
                    line=error.line,
                )
    return tuple(found.values())


def _hint(name: str) -> str:
    if not _BUILD_MACRO.match(name):
        line = _states().get(name, [])
        return f" ({line[2]})" if len(line) > 2 and line[0] == "unsupported" else ""
    return f" (an operator project's build defines it: define it in the source, as in #define {name} float)"


def _names(text: str, api: ApiNames) -> Iterable[str]:
    lacking = _LACKING.search(text)
    if lacking:
        yield lacking["name"].strip()
        return
    header = _HEADER.search(text)
    if header:
        name = header["name"]
        if (
            name.startswith(api.header_roots)
            or name in api.headers
            or any(known.endswith("/" + name) for known in api.headers)
        ):
            yield name
        return
    owned = _MEMBER.search(text) or _QUALIFIED.search(text)
    if owned:
        name, space = owned["name"].rsplit("::", 1)[-1], owned["owner"].partition("::")[0]
        known = (
            api.free  # of the namespace itself; no member of a class is found there on a device either
            if owned["owner"] == "AscendC"
            else api.free | api.members
            if space == "AscendC"
            else api.torch
            if space in _TORCH_SPACES
            else api.free | api.project
            if space in _PROJECT_SPACES
            else frozenset()
        )
        if name in known:
            yield name
        return
    for pattern in _FREE:
        match = pattern.search(text)
        if match:
            name = match["name"]
            if (name in api.free and name not in simulated_names()) or _BUILD_MACRO.match(name):
                yield name
            return


def errors_of(log: str, *, most: int = 20) -> tuple[Finding, ...]:
    """The compiler's errors as findings (rule "compile-error"), in its order."""
    return tuple(
        Finding(
            rule="compile-error", severity="error", message=error.text[:500], file=error.file, line=error.line
        )
        for error in compile_errors(log)[:most]
    )
