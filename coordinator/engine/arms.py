"""The arms: configurations to compare. Each ablation removes one mechanism and nothing else.

Hard bounds, validation gates and the checkpoint are the same in every arm (paper, "Control Layer").
"""

from schema.errors import BadInput
from schema.results import Record


class Arm(Record):
    """What a task may use.

    Attributes:
        knowledge: entries are retrieved, and their rewrites tried.
        diagnostic: forensics and probes steer the repair. Without it a repair knows the failure type, and
            which cases fail.
        adaptive: the adaptive rules and the soft budget.
        anticheat: the verdict decides. Without it the verdict is recorded all the same, as a shadow.
    """

    name: str
    knowledge: bool = True
    diagnostic: bool = True
    adaptive: bool = True
    anticheat: bool = True


ARMS: dict[str, Arm] = {
    arm.name: arm
    for arm in (
        Arm(name="debug"),
        Arm(name="debug-no-kb", knowledge=False),
        Arm(name="debug-no-diagnostic", diagnostic=False),
        Arm(name="debug-no-adaptive", adaptive=False),
        Arm(name="debug-no-anticheat", anticheat=False),
    )
}

# Known words of the glossary that no task can run under (yet).
_NOT_RUNNABLE = {
    "regenerate": "it is not available yet",
    "no-full-eval": "it is a shadow: `opmend report` derives it from the log of debug",
}


def arm_named(name: str) -> Arm:
    """An arm by name.

    Raises:
        BadInput: there is none, or no task can run under it.
    """
    if name in ARMS:
        return ARMS[name]
    known = ", ".join(ARMS)
    if name in _NOT_RUNNABLE:
        raise BadInput(f"arm {name!r} can't be run: {_NOT_RUNNABLE[name]}", mend=f"use one of: {known}")
    raise BadInput(f"no arm is named {name!r}", mend=f"use one of: {known}")
