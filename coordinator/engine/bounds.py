"""The hard bounds: counted from the log, the same in every arm, and nothing an agent can negotiate.

Source: paper, "Hard bounds"; the bounds on trials are those of design.md. They are frozen into
TaskCreated, so a later version with other defaults still decides an old log as it was decided.
"""

from collections.abc import Mapping

from pydantic import Field

from schema.results import Record

# The model name that stands for zero-token rewrites alone.
KB_MODEL = "kb"


class Bounds(Record):
    """How far one task may go.

    Attributes:
        turns_per_session, turns_per_task: model replies.
        soft_turns: turns a task may use before it has shown progress (an adaptive rule, not a hard bound).
        rounds: repair rounds; of them build_rounds may end in a failed build, precision_rounds in a
            numerical failure.
        wall_seconds: from the first event on.
        trials_per_round, trials_per_task: rewrites that are compiled and tried.
        trials_in_flight: trials under way at a time, so that one compiles while another one runs.
        trial_failures: a trial stops after so many failing cases; it could not win any more, or hangs.
        probes_per_round: probes that a session may ask for.
        infrastructure_attempts: how often a job is asked for again when a machine, and not the
            candidate, broke it.
    """

    turns_per_session: int = Field(default=240, ge=1)
    turns_per_task: int = Field(default=600, ge=1)
    soft_turns: int = Field(default=480, ge=1)
    rounds: int = Field(default=5, ge=1)
    build_rounds: int = Field(default=3, ge=1)
    precision_rounds: int = Field(default=5, ge=1)
    wall_seconds: float = Field(default=12 * 3600.0, gt=0)
    trials_per_round: int = Field(default=24, ge=0)
    trials_per_task: int = Field(default=60, ge=0)
    trials_in_flight: int = Field(default=2, ge=1)
    trial_failures: int = Field(default=6, ge=1)
    probes_per_round: int = Field(default=3, ge=0)
    infrastructure_attempts: int = Field(default=3, ge=1)

    def frozen(self) -> dict[str, float]:
        """The form in which TaskCreated carries them."""
        return {name: float(value) for name, value in self.model_dump().items()}

    @classmethod
    def of(cls, frozen: Mapping[str, float]) -> "Bounds":
        """The bounds of a log; those it doesn't name have their default."""
        return cls.model_validate(dict(frozen))


class Thresholds(Record):
    """Where the adaptive rules trip (coordinator.engine.adaptive; research/npukernelbench.md).

    Attributes:
        improved: gain / remaining gap from which a round counts as improved.
        regressed: loss of progress from which it counts as regressed.
        near_pass: full match rate from which a candidate is a near pass.
        near_pass_gain: a near pass that gains less than this in `stagnant_rounds` rounds stops.
        oscillation_gain, oscillation_return: A → B gains more than the first, B → A comes back within the second.
        stagnant_rounds: rounds in a row without progress that trip a rule.
        fp16_ratio: mean relative error / tolerance below which half precision is at its ceiling.
        fp16_change: relative change of that error below which it stands still.
        soft_release: full match rate that releases the turns above the soft budget.
    """

    improved: float = 0.10
    regressed: float = 0.05
    near_pass: float = 0.95
    near_pass_gain: float = 0.01
    oscillation_gain: float = 0.01
    oscillation_return: float = 0.005
    stagnant_rounds: int = 2
    fp16_ratio: float = 4.0
    fp16_change: float = 0.05
    soft_release: float = 0.90

    def frozen(self) -> dict[str, float]:
        """The form in which TaskCreated carries them."""
        return {name: float(value) for name, value in self.model_dump().items()}

    @classmethod
    def of(cls, frozen: Mapping[str, float]) -> "Thresholds":
        """The thresholds of a log; those it doesn't name have their default."""
        return cls.model_validate(dict(frozen))
