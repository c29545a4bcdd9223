"""A fleet in a simulation: 64 devices, 10,000 tasks, and the engine's own decisions about who gets what next.

Nothing is slept through: time is a number. What a task wants next, its policy decides (`Story`, with the fold and
decide of the driver); what is published next, `share_out` and `depth` decide, as in the relay. What is made up is how
long things take: lognormal, within the limits that public harnesses set (research/ascendc.md: 400 s for a
compilation, 300 s for a precision run), and a driver and a relay that are slower than ours. Compilers and
models are enough for the devices to be what everyone waits for, or it would not be about them.
"""

import math
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count, pairwise
from typing import Any

from coordinator.engine.bounds import Bounds, Thresholds
from coordinator.engine.fair_share import Share, depth, share_out
from coordinator.engine.state import Requested
from coordinator.engine.story import Story
from schema.events import TaskCreated
from schema.jobs import JobKind, Proposal, Proposals, ToolRequest, TurnResult
from schema.queues import QUEUES
from schema.results import (
    CaseResult,
    CaseSet,
    CaseStatus,
    Compilation,
    Deviation,
    FailureType,
    Record,
    Validation,
)
from tests.bench.measure import Measure

DEVICES = 64
TASKS = 10_000
RUNS = (9_000, 900, 100)  # cohorts that share the fleet
WORKERS = {"npu": DEVICES, "compile": 128, "llm": 128}
# Median and longest seconds of a job.
SECONDS = {"npu": (45.0, 300.0), "compile": (40.0, 400.0), "llm": (25.0, 240.0)}
SPREAD = 0.7  # of the logarithm
# Seconds of one decision (`bench engine` saw 0.013), and, guessed on the slow side, of one look of the relay that finds
# something, of its wait where it finds nothing, and from a message to a job that runs, or from its end to a result in
# the store.
DRIVER, RELAY, IDLE_RELAY, MESSAGE = 0.03, 0.01, 0.1, 0.1
FIXED = 0.3  # how likely a proposal mends a case
CASES = tuple(range(20))


@dataclass(kw_only=True)
class _Queue:
    """One queue of the broker with its outbox: run → jobs, oldest first."""

    free: int
    outbox: dict[int, deque[tuple[int, Requested]]] = field(default_factory=dict)
    standing: deque[tuple[int, Requested]] = field(default_factory=deque)
    running: dict[int, int] = field(default_factory=dict)  # run → jobs


class Fleet:
    """Tasks of some runs on some workers, until all have ended."""

    def __init__(self, runs: tuple[int, ...], seed: int) -> None:
        self.now = 0.0
        self.busy = 0.0  # device seconds
        self.ended: dict[int, float] = {}  # task → when
        self._chosen = random.Random(seed)
        self._runs = [run for run, tasks in enumerate(runs, 1) for _ in range(tasks)]
        self._stories = [Story(_created(number)) for number in range(len(self._runs))]
        self._requested = [0] * len(self._runs)  # jobs that were put into the outbox
        self._queues = {name: _Queue(free=workers) for name, workers in WORKERS.items()}
        self._due: deque[int] = deque(range(len(self._runs)))
        self._agenda: list[tuple[float, int, str, tuple[Any, ...]]] = []
        self._order = count()
        self._driver_waits = False
        self._at("driver", 0.0)
        self._at("relay", 0.0)

    def play(self) -> None:
        """Go on until nothing is left to do."""
        while self._agenda:
            self.now, _, what, about = heappop(self._agenda)
            if what == "driver":
                self._decide()
            elif what == "relay":
                self._publish()
            else:
                self._end(what, *about)

    def _at(self, what: str, seconds: float, about: tuple[Any, ...] = ()) -> None:
        heappush(self._agenda, (self.now + seconds, next(self._order), what, about))

    def _decide(self) -> None:
        """One step of the one driver."""
        if not self._due:
            self._driver_waits = True
            return
        task = self._due.popleft()
        story = self._stories[task]
        story.decide()
        if story.outcome is not None:
            self.ended[task] = self.now
            # It would be 10,000 logs at the end.
            self._stories[task] = Story(_created(task))
        else:
            jobs = list(story.state.requested.values())
            for job in jobs[self._requested[task] :]:
                outbox = self._queues[QUEUES[job.kind]].outbox
                outbox.setdefault(self._runs[task], deque()).append((task, job))
            self._requested[task] = len(jobs)
        self._at("driver", DRIVER)

    def _publish(self) -> None:
        """One look of the relay at each queue."""
        gone = 0
        for name, queue in self._queues.items():
            standing = [self._runs[task] for task, _ in queue.standing]
            shares = {
                run: Share(
                    priority=0,
                    waiting=len(jobs),
                    under_way=queue.running.get(run, 0) + standing.count(run),
                )
                for run, jobs in queue.outbox.items()
                if jobs
            }
            room = depth(sum(queue.running.values())) - len(queue.standing)
            for run, jobs in share_out(shares, room).items():
                gone += jobs
                queue.standing.extend(queue.outbox[run].popleft() for _ in range(jobs))
            self._take(name)
        if gone or self._agenda:
            self._at("relay", RELAY if gone else IDLE_RELAY)

    def _take(self, name: str) -> None:
        """Let the free workers of a queue take what stands in it."""
        queue = self._queues[name]
        while queue.free and queue.standing:
            task, job = queue.standing.popleft()
            queue.free -= 1
            if job.job_id not in self._stories[task].state.open:
                self._at("idle", MESSAGE, (name,))  # cancelled: the claim says so
                continue
            queue.running[self._runs[task]] = queue.running.get(self._runs[task], 0) + 1
            middle, longest = SECONDS[name]
            seconds = min(longest, middle * math.exp(self._chosen.gauss(0, SPREAD)))
            if name == "npu":
                self.busy += seconds
            self._at("done", seconds + 2 * MESSAGE, (name, task, job))

    def _end(self, what: str, name: str, task: int = 0, job: Requested | None = None) -> None:
        """A worker is free again."""
        queue = self._queues[name]
        queue.free += 1
        if job is not None:
            queue.running[self._runs[task]] -= 1
            story = self._stories[task]
            if job.job_id in story.state.open:
                story.answer(job.job_id, self._answer(job))
                self._due.append(task)
                if self._driver_waits:
                    self._driver_waits = False
                    self._at("driver", DRIVER)
        self._take(name)

    def _answer(self, job: Requested) -> Record:
        chosen = self._chosen
        match job.kind:
            case JobKind.COMPILE:
                return Compilation(ok=chosen.random() < 0.9 or job.payload["tree"] == "base", artifact="so")
            case JobKind.REWRITE:
                trees = [f"tree {next(self._order)}" for _ in range(chosen.randrange(4))]
                return Proposals(
                    proposals=tuple(Proposal(tree=one, direction=f"pad @ {one}") for one in trees)
                )
            case JobKind.TURN:
                request = ToolRequest.SUBMIT if chosen.random() < 0.3 else ToolRequest.COMPILE
                return TurnResult(tree=f"tree {next(self._order)}", transcript="t", request=request)
            case _:
                return self._validation(job)

    def _validation(self, job: Requested) -> Validation:
        tree, asked = str(job.payload["tree"]), tuple(job.payload["indices"])
        # A tree's cases pass or fail the same whenever they are run.
        world = random.Random(tree)
        share = 0.5 if tree == "base" else 1.0 if world.random() < FIXED else world.random()
        passed = [random.Random(f"{tree} {one}").random() < share for one in asked]
        if tree == "base":
            passed[:1] = [False]
            passed[-1:] = [True]
        cases = tuple(
            CaseResult(
                index=index,
                name=f"float32[{index}]",
                status=CaseStatus.PASSED if fine else CaseStatus.MISMATCH,
                deviations=()
                if fine
                else (Deviation(output="0", dtype="float32", shape=(9,), mismatched=2, total=9),),
            )
            for index, fine in zip(asked, passed, strict=True)
        )
        return Validation(
            case_set=CaseSet(job.payload["case_set"]),
            failure_type=FailureType.SUCCESS if all(passed) else FailureType.PRECISION_FAILED,
            cases=cases,
        )


def _created(number: int) -> TaskCreated:
    return TaskCreated(
        name=f"operator {number}",
        level="L1",
        category="elementwise",
        arm="debug",
        model="some/model",
        trial=0,
        tree="base",
        compact=CASES[:5],
        full=CASES,
        seed=number,
        thresholds=Thresholds().frozen(),
        bounds=Bounds().frozen(),
    )


def measures() -> Iterator[Measure]:
    """How busy the devices are, from the first second to the last one."""
    fleet = Fleet(RUNS, seed=7)
    fleet.play()
    assert len(fleet.ended) == TASKS == sum(RUNS)
    makespan = max(fleet.ended.values())
    yield Measure(
        name=f"{DEVICES} devices busy, {TASKS:,} tasks, first second to last",
        ours=fleet.busy / DEVICES,
        against=makespan,
        unit="s",
        peer="the time it took (simulated)",
        at_least=0.95,
    )
    bounds = [sum(RUNS[:number]) for number in range(len(RUNS) + 1)]
    for run, (first, last) in enumerate(pairwise(bounds), 1):
        yield Measure(
            name=f"run {run} of {last - first:,} tasks submitted at once with the others: its end",
            ours=max(fleet.ended[task] for task in range(first, last)),
            against=makespan,
            unit="s",
            peer="the end of all (simulated)",
        )
