"""One task as an export needs it: read once, up to one revision, in plain records.

Texts that people or programs wrote are cleaned here, so that no exporter can forget it: credentials are
blotted out, and what JSON or a git header can't carry becomes U+FFFD. Files themselves are not touched.
"""

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from urllib.parse import quote

from sqlalchemy import select
from sqlalchemy.orm import Session

from coordinator.export.lines import Edge, Line, Lines
from schema.blobs import get_blob
from schema.events import CandidateChosen, RoundStarted
from schema.jobs import JobKind
from schema.line_syntax import completed
from schema.reading import revision_at
from schema.redaction import storable_message
from schema.results import Compilation, Validation
from schema.tables import (
    Benchmark,
    BenchmarkRun,
    Cohort,
    Event,
    Evidence,
    File,
    Job,
    LineageEdge,
    Revision,
    Run,
    Snippet,
    SnippetExplanation,
    SnippetFailure,
    Task,
    Verdict,
)

TOOL = "opmend"
# A name that no resolver answers to (RFC 2606): identifiers and addresses that can't be anybody's.
DOMAIN = "opmend.invalid"
_IDENTITIES = uuid.uuid5(uuid.NAMESPACE_DNS, DOMAIN)


@dataclass(frozen=True, kw_only=True)
class Failed:
    """A failed benchmark behind a revision.

    Attributes:
        kind: case, command or build. output: what it said, capped.
    """

    benchmark: str
    kind: str
    output: str


@dataclass(frozen=True, kw_only=True)
class Made:
    """One revision and why it was made.

    Attributes:
        tree: digest of its tree manifest. files: path → SHA-256 of the file's bytes.
        answers: id of the job whose failure it answers; "" where the log does not say.
        session: id of the round's repair session; "" if it had none.
    """

    revision: int
    round: int
    cause: str
    created_at: datetime
    tree: str
    files: Mapping[str, str]
    failures: tuple[Failed, ...]
    explanation: str
    entry_ids: tuple[str, ...]
    direction: str
    model: str
    answers: str
    session: str

    @property
    def author(self) -> str:
        """Who made it: the entries of a rewrite, the model of a session; "" for the baseline and restores."""
        if self.cause == "rewrite" and self.entry_ids:
            return ", ".join(self.entry_ids)
        return self.model if self.cause in {"rewrite", "session"} else ""


@dataclass(frozen=True, kw_only=True)
class Validated:
    """One validation.

    Attributes:
        tests: (name of the benchmark, status), in the order of the cases.
        messages: name of a benchmark that failed → what it said.
        files: path → SHA-256, of the tree that was validated.
        body: the whole evidence. digest: its SHA-256.
    """

    job_id: str
    round: int
    tree: str
    case_set: str
    passed: bool
    match_rate: float | None
    coverage: float
    created_at: datetime
    digest: str
    tests: tuple[tuple[str, str], ...]
    messages: Mapping[str, str]
    files: Mapping[str, str]
    body: Validation


@dataclass(frozen=True, kw_only=True)
class Built:
    """A failed build of a revision's tree; `log` is what the compiler said, cleaned."""

    tree: str
    failure_type: str
    log: str


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The last word on the integrity of a tree; `reasons` as the scan gave them."""

    tree: str
    verdict: str
    origin: str
    reasons: tuple[Mapping[str, object], ...]
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Source:
    """A task up to one revision.

    Attributes:
        identity: one UUID for this task of this store, the same in every export.
        revisions: from 0 to the exported one. validations, verdicts: in the order they came.
        broken: the trees of revisions that do not build, by digest.
    """

    task: int
    name: str
    level: str
    trial: int
    arm: str
    model: str
    outcome: str | None
    cohort: str
    cohort_digest: str
    created_at: datetime
    finished_at: datetime | None
    identity: uuid.UUID
    revisions: tuple[Made, ...]
    validations: tuple[Validated, ...]
    verdicts: tuple[Judged, ...]
    broken: Mapping[str, Built]
    lines: Lines

    @property
    def last(self) -> Made:
        """The exported revision."""
        return self.revisions[-1]

    @property
    def base(self) -> str:
        """What every identifier of this task begins with: a tag URI (RFC 4151), which nothing fetches."""
        return f"tag:{DOMAIN},2026:task/{self.identity}/"

    def uri(self, *parts: object) -> str:
        """An identifier of something inside the task, from the parts of its name."""
        return self.base + "/".join(quote(str(part), safe="") for part in parts)

    def guid(self, *parts: object) -> str:
        """A UUID of something inside the task, the same each time."""
        return str(uuid.uuid5(self.identity, "/".join(str(part) for part in parts)))

    def conversation(self, made: Made) -> str:
        """Name of what made a revision: the repair session, else the round."""
        return made.session if made.cause == "session" and made.session else f"round-{made.round}"

    def maker(self, line: Line) -> Made:
        """The revision that wrote a line. A line that came back with a checkpoint was written earlier."""
        return self.revisions[self.lines.written(line).created]

    @cached_property
    def revision_of(self) -> dict[str, int]:
        """Tree → the first revision with it."""
        found: dict[str, int] = {}
        for made in self.revisions:
            found.setdefault(made.tree, made.revision)
        return found

    def verdict(self, tree: str) -> Judged | None:
        """The last word on a tree; None if nobody has judged it."""
        return next((one for one in reversed(self.verdicts) if one.tree == tree), None)


def tool_version() -> str:
    """The version of this program."""
    return version(TOOL)


def utc(at: datetime) -> str:
    """A time as RFC 3339 in UTC, whatever zone the database session has."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def clean(message: str) -> str:
    """Text as any format can carry it: redacted, and no NUL or lone surrogates."""
    return storable_message(message)


def capped(message: str, most: int) -> str:
    """At most so many characters; what was cut shows as an ellipsis."""
    return message if len(message) <= most else message[: most - 1].rstrip() + "…"


def one_line(message: str, most: int = 200) -> str:
    """The whole text on one line, cleaned and capped."""
    return capped(" ".join(clean(message).split()), most)


def read_source(session: Session, task: Task, *, revision: int | None = None) -> Source:
    """Read what exports need of a task, up to a revision (the last one by default).

    Raises:
        NotFound: the task has no such revision.
    """
    last = revision_at(session, task.id, revision=revision)
    run = session.get_one(Run, task.run_id)
    cohort = session.get_one(Cohort, run.cohort_id)
    manifests = _Manifests(session)
    identity = uuid.uuid5(
        _IDENTITIES,
        "/".join([cohort.digest, task.name, str(task.trial), str(task.id), utc(task.created_at)]),
    )
    # Without a revision asked for, also what was measured after the last one was made.
    until = None if revision is None else last.round
    revisions = tuple(_revisions(session, task.id, last.revision, manifests))
    return Source(
        task=task.id,
        name=clean(task.name),
        level=task.level,
        trial=task.trial,
        arm=run.arm,
        model=run.model,
        outcome=task.outcome,
        cohort=clean(cohort.name),
        cohort_digest=cohort.digest,
        created_at=task.created_at,
        finished_at=task.finished_at,
        identity=identity,
        revisions=revisions,
        validations=tuple(_validations(session, task.id, until, manifests)),
        verdicts=tuple(_verdicts(session, task.id)),
        broken={one.tree: one for one in _broken(session, task.id, {made.tree for made in revisions})},
        lines=_lines(session, task.id, last.revision),
    )


class _Manifests:
    """Tree manifests by digest, each read once."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.known: dict[str, dict[str, str]] = {}

    def __getitem__(self, tree: str) -> dict[str, str]:
        if tree not in self.known:
            self.known[tree] = json.loads(get_blob(self.session, tree))
        return self.known[tree]


def _revisions(session: Session, task_id: int, last: int, manifests: _Manifests) -> Iterator[Made]:
    explanations = {
        row.revision: row
        for row in session.execute(
            select(SnippetExplanation).where(SnippetExplanation.task_id == task_id)
        ).scalars()
    }
    failures: dict[int, dict[str, Failed]] = {}
    for revision, _, name, kind, output in session.execute(
        select(
            SnippetFailure.revision,
            Benchmark.id,
            Benchmark.name,
            Benchmark.kind,
            SnippetFailure.failure_output,
        )
        .join(Benchmark, Benchmark.id == SnippetFailure.benchmark_id)
        .where(Benchmark.task_id == task_id, SnippetFailure.revision <= last)
        .distinct()
        .order_by(SnippetFailure.revision, Benchmark.id, SnippetFailure.failure_output)
    ):
        failures.setdefault(revision, {}).setdefault(
            clean(name), Failed(benchmark=clean(name), kind=kind, output=clean(output))
        )
    sessions: dict[int, str] = {}
    answers: dict[int, str] = {}
    kinds = (RoundStarted.kind, CandidateChosen.kind)
    for kind, data in session.execute(
        select(Event.kind, Event.data)
        .where(Event.task_id == task_id, Event.kind.in_(kinds))
        .order_by(Event.sequence)
    ):
        if kind == RoundStarted.kind:
            sessions[data["round"]] = data.get("session", "")
        else:
            answers[data["revision"]] = data.get("answers", "")
    for row in session.execute(
        select(Revision)
        .where(Revision.task_id == task_id, Revision.revision <= last)
        .order_by(Revision.revision)
    ).scalars():
        why = explanations.get(row.revision)
        yield Made(
            revision=row.revision,
            round=row.round,
            cause=row.cause,
            created_at=row.created_at,
            tree=row.tree,
            files=manifests[row.tree],
            failures=tuple(failures.get(row.revision, {}).values()),
            explanation=clean(why.explanation) if why is not None else "",
            entry_ids=tuple(clean(entry) for entry in why.entry_ids) if why is not None else (),
            direction=clean(why.direction) if why is not None else "",
            model=clean(why.model) if why is not None else "",
            answers=answers.get(row.revision, ""),
            session=sessions.get(row.round, ""),
        )


def _validations(
    session: Session, task_id: int, until: int | None, manifests: _Manifests
) -> Iterator[Validated]:
    tests: dict[int, list[tuple[str, str, str]]] = {}
    for evidence_id, name, status, message in session.execute(
        select(BenchmarkRun.evidence_id, Benchmark.name, BenchmarkRun.status, BenchmarkRun.message)
        .join(Benchmark, Benchmark.id == BenchmarkRun.benchmark_id)
        .where(BenchmarkRun.task_id == task_id)
        .order_by(BenchmarkRun.id)
    ):
        tests.setdefault(evidence_id, []).append((clean(name), status, clean(message)))
    for row in session.execute(
        select(Evidence).where(Evidence.task_id == task_id).order_by(Evidence.id)
    ).scalars():
        if until is not None and row.round > until:
            continue
        ran = tests.get(row.id, [])
        yield Validated(
            job_id=row.job_id,
            round=row.round,
            tree=row.tree,
            case_set=row.case_set,
            passed=row.passed,
            match_rate=row.match_rate,
            coverage=row.coverage,
            created_at=row.created_at,
            digest=row.digest,
            tests=tuple((name, status) for name, status, _ in ran),
            messages={name: message for name, _, message in ran if message},
            files=manifests[row.tree],
            body=Validation.model_validate(row.body),
        )


def _broken(session: Session, task_id: int, trees: set[str]) -> Iterator[Built]:
    tree = Job.payload["tree"].astext
    query = select(tree, Job.result).where(
        Job.task_id == task_id, Job.kind == JobKind.COMPILE.value, Job.status == "done", tree.in_(trees)
    )
    for digest, result in session.execute(query.order_by(Job.id)):
        built = Compilation.model_validate(result)
        if not built.ok:
            yield Built(tree=digest, failure_type=built.failure_type.value, log=clean(built.log))


def _verdicts(session: Session, task_id: int) -> Iterator[Judged]:
    for row in session.execute(
        select(Verdict).where(Verdict.task_id == task_id).order_by(Verdict.id)
    ).scalars():
        yield Judged(
            tree=row.tree,
            verdict=row.verdict,
            origin=row.origin,
            reasons=tuple(row.body.get("reasons", ())),
            created_at=row.created_at,
        )


def _lines(session: Session, task_id: int, last: int) -> Lines:
    rows = session.execute(
        select(
            Snippet.file_id,
            File.path,
            Snippet.position_key,
            Snippet.content,
            Snippet.created_revision,
            Snippet.disabled_revision,
            Snippet.scope,
            Snippet.node_kind,
        )
        .join(File, Snippet.file_id == File.id)
        .where(File.task_id == task_id, Snippet.created_revision <= last)
        .order_by(File.path, Snippet.position_key)
    ).all()
    syntax = completed(
        session,
        ((path, (file_id, key, made), scope, kind) for file_id, path, key, _, made, _, scope, kind in rows),
    )
    lines = [
        Line(
            file_id=file_id,
            path=path,
            key=key,
            content=content,
            created=created,
            disabled=disabled if disabled is not None and disabled <= last else None,
            scope=syntax[file_id, key].scope,
            node_kind=syntax[file_id, key].node_kind,
        )
        for file_id, path, key, content, created, disabled, _, _ in rows
    ]
    edges = session.execute(
        select(
            LineageEdge.child_file_id,
            LineageEdge.child_key,
            LineageEdge.parent_file_id,
            LineageEdge.parent_key,
            LineageEdge.kind,
        )
        .join(File, LineageEdge.child_file_id == File.id)
        .where(File.task_id == task_id)
        .order_by(LineageEdge.id)
    )
    return Lines(
        lines,
        [
            Edge(child=(child_file, child_key), parent=(parent_file, parent_key), kind=kind)
            for child_file, child_key, parent_file, parent_key, kind in edges
        ],
    )
