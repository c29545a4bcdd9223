"""The rules of the integrity scan: stable names, and what each weighs.

Sources: research/npukernelbench.md ("Cheats seen in the wild", "Must NOT be flagged"), papers/debug-agent.txt
("Anti-cheat detection", S2.3 "Final integrity criterion": tell metadata and allocation from target computation).

A level is the rule's default; a scanner lowers it where the place makes the innocent reading likelier.
"cheat" decides CHEAT, "suspect" decides SUSPECT (a person must cite source evidence), "note" decides nothing.
"""

from dataclasses import dataclass
from typing import Literal

Level = Literal["note", "suspect", "cheat"]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule: its default level and what it means."""

    level: Level
    summary: str


def _cheat(summary: str) -> Rule:
    return Rule(level="cheat", summary=summary)


def _suspect(summary: str) -> Rule:
    return Rule(level="suspect", summary=summary)


def _note(summary: str) -> Rule:
    return Rule(level="note", summary=summary)


RULES: dict[str, Rule] = {
    # The frozen baseline.
    "reference-changed": _cheat("model.py differs from the frozen workspace"),
    "cases-changed": _cheat("a case file differs from the frozen workspace"),
    "operator-changed": _cheat("operator.toml differs from the frozen workspace"),
    "adapter-changed": _suspect("model_new_ascendc.py differs from the frozen workspace"),
    "file-outside-kernel-changed": _suspect("a file outside kernel/ was added, removed or changed"),
    "prebuilt-binary": _cheat("the workspace carries a compiled object instead of source"),
    # The adapter: what it must have.
    "adapter-missing": _suspect("there is no model_new_ascendc.py"),
    "adapter-unreadable": _suspect("the adapter is no valid Python, or too deep or too large to analyse"),
    "model-new-missing": _suspect("the adapter defines no class ModelNew with a forward"),
    "extension-never-called": _cheat("no extension function is called on any way through forward"),
    "extension-result-discarded": _cheat("what forward returns does not come from the extension"),
    "output-not-from-extension": _suspect(
        "one of the outputs, or an output on some branch, bypasses the extension"
    ),
    # The adapter: target computation.
    "torch-compute": _cheat("a torch function computes on tensors in the adapter"),
    "tensor-method-compute": _cheat("a tensor method computes in the adapter"),
    "tensor-arithmetic": _cheat("an operator computes on tensors in the adapter"),
    "tensor-indexing": _cheat("a tensor is gathered or masked by index in the adapter"),
    "foreign-compute": _cheat("another library (NumPy, operator, ...) computes on tensors in the adapter"),
    "layer-called": _cheat("a torch.nn layer computes in the adapter"),
    "materialised-broadcast": _cheat(
        "a broadcast is copied out in the adapter instead of indexed in the kernel"
    ),
    "materialised-transpose": _cheat("a transposition is copied out in the adapter"),
    "adapter-data-movement": _suspect("the adapter copies tensor data between tensors"),
    "host-data-computed": _cheat("tensor values are read into Python and computed on"),
    "host-data-read": _suspect("tensor values are read into Python"),
    "host-transfer": _suspect("an input or output is moved to the CPU"),
    "compute-at-load": _note("torch computes while the module loads or is constructed, not in forward"),
    "random-numbers": _suspect("the adapter draws random numbers or reseeds"),
    "layout-copy": _note("an input or output is made contiguous or cloned"),
    "dtype-cast": _note("an input or output is cast"),
    "layer-constructed": _note("a torch.nn layer is built as a holder of parameters"),
    # The adapter: bypasses and deceits.
    "inherits-reference": _cheat("ModelNew inherits the reference"),
    "imports-reference": _cheat("the adapter imports or loads model.py"),
    "fallback-around-extension": _cheat("an exception of the extension call is caught and survived"),
    "result-cache": _cheat("a result is kept between calls and returned again"),
    "state-between-calls": _note("forward keeps tensors in persistent state"),
    "buffer-reused": _suspect("an output buffer is kept between calls"),
    "input-mutated": _suspect("the adapter writes into an input"),
    "dynamic-execution": _cheat("code is executed from text or from a code object"),
    "dynamic-attribute": _suspect("an attribute is looked up by a name the scan can't know"),
    "monkey-patch": _cheat("an attribute of another module is replaced"),
    "introspection": _cheat("frames, the garbage collector or interpreter internals are inspected"),
    "native-escape": _cheat("ctypes, cffi, dlopen or a similar door out of Python or the kernel"),
    "process-started": _cheat("a process is started"),
    "thread-started": _cheat("a thread or an asynchronous worker is started"),
    "network-access": _cheat("a network connection is opened"),
    "file-read": _cheat("a file is read or written"),
    "deserialisation": _cheat("pickled or saved objects are loaded"),
    "import-trick": _cheat("the import system is bent, or a module is loaded by a computed name"),
    "side-stream": _cheat("work is moved to a stream of its own, out of sight of the clock"),
    "tensor-subclass": _cheat("a tensor subclass or a dispatch hook changes what operations mean"),
    "forged-result": _cheat("an object that answers comparisons by itself"),
    "hook-registered": _cheat("a forward hook runs code beside forward"),
    "harness-hook-overridden": _cheat(
        "the adapter redefines get_init_inputs or another function of the harness"
    ),
    "environment-read": _suspect("behaviour hangs on an environment variable"),
    "version-counter-read": _suspect("a tensor's _version or id is read, as result caches do"),
    "time-read": _suspect("a clock is read in code that forward reaches"),
    "constant-table": _suspect("a large table of constants, which may replay outputs"),
    "unresolved-call": _suspect("tensors go to a function the scan can't resolve"),
    "unknown-decorator": _suspect("a decorator the scan can't resolve wraps reachable code"),
    # Kernel sources, host side.
    "kernel-missing": _suspect("there are no kernel sources"),
    "kernel-unreadable": _suspect("a kernel source can't be parsed well enough to judge"),
    "aten-compute": _cheat("an at:: or torch:: function computes on the host side"),
    "aten-method-compute": _cheat("a tensor method computes on the host side"),
    "aten-arithmetic": _cheat("an operator computes on tensors on the host side"),
    "aten-dispatch": _cheat("an operator is called through the dispatcher or by a computed name"),
    "aten-ops-header": _suspect("a header of ATen operators that compute is included"),
    "aclnn-call": _cheat("a ready-made aclnn or aclop operator does the work"),
    "python-from-extension": _cheat("the extension calls back into Python"),
    "host-loop": _cheat("host code reads or writes tensor elements"),
    "host-copy": _cheat("host code copies an input's bytes"),
    "host-file": _cheat("host code opens files"),
    "static-cache": _suspect("host state that may keep results between calls"),
    "call-counter": _suspect("host code counts its calls"),
    "macro-hides-code": _suspect("a macro hides what is called"),
    "include-outside": _suspect("a source includes a file outside the workspace by path"),
    # Kernel sources, the executable path.
    "no-launch": _cheat("no kernel is launched anywhere"),
    "launch-unreachable": _cheat("the function that Python calls reaches no kernel launch"),
    "launch-output-unused": _cheat("what the extension returns was never given to a kernel"),
    "binding-missing": _suspect("the extension function that Python calls is not registered in the sources"),
    "kernel-undefined": _suspect("the launched kernel is not defined in the workspace"),
    "empty-kernel": _cheat("a launched kernel does nothing"),
}
