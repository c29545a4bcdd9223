"""Order check: does a candidate's result depend on what no right kernel depends on?

Each case runs twice on the simulator: as always, and with its cores in the opposite order (between barriers) and
other bytes in memory that nobody wrote. On a device both are as they happen to be. Outputs are held against each
other bit for bit; the reference is not asked.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npu_worker.compare import compare
from npu_worker.inputs import make_inputs
from npu_worker.runner.process import CaseRun, Ending, Runner, SimMachine
from npu_worker.runner.reference import Reference
from npu_worker.tolerance import profile_named
from schema.results import Finding
from schema.workspace import Workspace

if TYPE_CHECKING:
    import torch

RULE = "order-dependent"
OTHER = SimMachine(order="reverse", poison=bytes((0x6D, 0x42, 0x6D, 0x42)))
"""Numbers and no NaN in every float type, unlike the usual poison: a maximum or comparison tells."""

_MOST_SEED = (1 << 63) - 1
# SetAtomicAdd, enAtomic, AtomicAdd: adds of several cores come in an order that nobody fixes.
_ADDS = re.compile(r"\bSetAtomic(?:Add|Type)\b|\ben_?atomic\b|\bAtomicAdd\b", re.IGNORECASE)
_MEND = (
    "let no core read or overwrite what another core writes without SyncAll between, and read nothing that "
    "nobody wrote"
)


def order_check(
    workspace: Workspace,
    *,
    runner: Runner,
    indices: Sequence[int],
    seed: int,
    max_elements: int | None = None,
) -> tuple[Finding, ...]:
    """Run the cases twice and compare.

    Args:
        runner: has the candidate loaded.
        indices: cases of the full set; those above `max_elements` are left out, as in a validation.
        seed: of the inputs.

    Returns:
        Per case at most one finding `order-dependent`: a violation, or a warning where floats differ within the
        tolerance and the kernel adds atomically. Cases that end without outputs as always say nothing.

    Raises:
        ReferenceFailed: the reference can't say how to construct the model.
    """
    adds = any(_ADDS.search(text) for text in workspace.kernel_files.values())
    found = []
    with Reference(workspace.files, workspace.reference) as reference:
        for index in sorted(indices):
            case = workspace.cases[index]
            if max_elements is not None and case.elements > max_elements:
                continue
            runs = [
                runner.run(
                    # Made anew: a candidate may have changed its inputs.
                    make_inputs(case, workspace.rules, seed=seed, index=index),
                    seed=(seed + index) & _MOST_SEED,
                    init=reference.init,
                    machine=machine,
                )
                for machine in (None, OTHER)
            ]
            difference = _difference(*runs, profile_name=workspace.tolerance if adds else None)
            if difference is not None:
                severity, what = difference
                message = f"case {index} ({case.name}): {what}"
                found.append(Finding(rule=RULE, severity=severity, message=message[:500], mend=_MEND))
    return tuple(found)


def order_dependent(findings: Iterable[Finding]) -> bool:
    """Whether the order check found more than a warning."""
    return any(finding.rule == RULE and finding.severity != "warning" for finding in findings)


def _difference(usual: CaseRun, other: CaseRun, *, profile_name: str | None) -> tuple[str, str] | None:
    """Severity and words, or None. With a profile, floats may differ as it allows."""
    if usual.ending is not Ending.OUTPUTS:
        return None
    if other.ending is not Ending.OUTPUTS:
        return "violation", f"with the cores in reverse order it ends otherwise: {other.message}"
    first = next(_unlike("", usual.outputs, other.outputs), None)
    if first is None:
        return None
    if profile_name is not None:
        close, _ = compare(usual.outputs, other.outputs, profile=profile_named(profile_name))
        if close:
            return "warning", f"the order of atomic adds changes the rounding: {first}"
    return "violation", f"another order of the cores, or other bytes in unwritten memory, changes {first}"


def _unlike(name: str, usual: Any, other: Any) -> Iterator[str]:
    """What differs, in words, in order."""
    one, two = _members(usual), _members(other)
    if one is not None and two is not None:
        if list(one) != list(two):
            yield f"the number of outputs of {name or 'forward'}: {len(one)}, then {len(two)}"
            return
        for key in one:
            yield from _unlike(f"{name}.{key}" if name else key, one[key], two[key])
        return
    yield from _leaf(name or "0", usual, other)


def _members(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, Mapping):
        return {str(key): part for key, part in value.items()}
    if isinstance(value, list | tuple):
        return {str(index): part for index, part in enumerate(value)}
    return None


def _leaf(name: str, usual: Any, other: Any) -> Iterator[str]:
    import torch

    if not (isinstance(usual, torch.Tensor) and isinstance(other, torch.Tensor)):
        if type(usual) is not type(other) or repr(usual) != repr(other):
            yield f"output {name}: {usual!r:.60}, then {other!r:.60}"
        return
    if usual.shape != other.shape or usual.dtype != other.dtype:
        yield f"output {name}: {usual.dtype} {tuple(usual.shape)}, then {other.dtype} {tuple(other.shape)}"
        return
    mask = _bits_differ(usual, other)
    count = int(mask.sum())
    if count:
        flat = int(torch.argmax(mask.to(torch.uint8)))
        index = (
            [int(one) for one in torch.unravel_index(torch.tensor(flat), usual.shape)] if usual.dim() else []
        )
        values = [tensor.reshape(-1)[flat].item() for tensor in (usual, other)]
        yield (
            f"output {name}: {count} of {usual.numel()} elements differ, first at "
            f"[{','.join(map(str, index))}]: {values[0]!r}, then {values[1]!r}"
        )


def _bits_differ(usual: "torch.Tensor", other: "torch.Tensor") -> "torch.Tensor":
    """Per element, flat: whether any bit differs. Two NaNs differ if their bits do."""
    import torch

    size = usual.element_size()
    one, two = (tensor.detach().cpu().contiguous().reshape(-1) for tensor in (usual, other))
    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(size)
    if words is not None:
        return one.view(words) != two.view(words)
    return (one.view(torch.uint8) != two.view(torch.uint8)).reshape(-1, size).any(dim=1)
