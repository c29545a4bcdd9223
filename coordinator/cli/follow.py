"""Follow a run: a line for each thing worth saying; on a terminal, a table of the tasks beneath."""

from typing import IO

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text
from sqlalchemy import select

from coordinator.engine.state import TaskState, apply
from coordinator.report.lookup import find_run, tasks_of
from coordinator.report.progress import describe
from coordinator.report.tables import STYLES
from schema.database import Database
from schema.events import Recorded, parse
from schema.tables import Event


class Follower:
    """Reads new events of a run's tasks and prints them.

    Args:
        out: where to print; None prints nothing and only waits.
    """

    def __init__(self, database: Database, run: int, *, out: IO[str] | None) -> None:
        self.database = database
        self.run = run
        self.console = (
            None if out is None else Console(file=out, highlight=False, width=None if out.isatty() else 160)
        )
        self.live: Live | None = None
        self.states: dict[int, TaskState] = {}
        self.said: dict[int, str] = {}
        self.names: dict[int, str] = {}

    def __enter__(self) -> "Follower":
        if self.console is not None and self.console.is_terminal:
            self.live = Live(console=self.console, refresh_per_second=4, transient=True)
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def look(self) -> bool:
        """Print what is new. Returns whether every task has ended."""
        with self.database.transaction() as session:
            tasks = tasks_of(session, find_run(session, self.run))
            fresh: list[tuple[int, Recorded]] = []
            for task in tasks:
                self.names[task.id] = task.name
                known = self.states[task.id].sequence if task.id in self.states else 0
                if task.last_sequence == known:
                    continue
                rows = session.execute(
                    select(Event)
                    .where(Event.task_id == task.id, Event.sequence > known)
                    .order_by(Event.sequence)
                ).scalars()
                fresh += [
                    (
                        task.id,
                        Recorded(
                            sequence=row.sequence,
                            at=row.at,
                            event=parse(row.kind, row.data),
                            hash=row.hash,
                        ),
                    )
                    for row in rows
                ]
        for number, recorded in sorted(fresh, key=lambda pair: pair[1].at):
            state = apply(self.states.get(number), recorded)
            self.states[number] = state
            line = describe(state, recorded)
            if line is not None:
                self._say(number, line)
        if self.live is not None:
            self.live.update(self._table())
        return all(task.id in self.states and self.states[task.id].finished is not None for task in tasks)

    def _say(self, number: int, line: str) -> None:
        self.said[number] = line
        if self.console is None:
            return
        width = max(len(name) for name in self.names.values())
        self.console.print(Text(f"{self.names[number]:<{width}}  {line}"), soft_wrap=True)

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("task", "operator", "round", "now"):
            table.add_column(name)
        for number, name in self.names.items():
            state = self.states.get(number)
            outcome = state.finished.outcome if state is not None and state.finished is not None else ""
            table.add_row(
                str(number),
                name,
                str(len(state.rounds)) if state is not None else "",
                Text(self.said.get(number, "waiting"), style=STYLES.get(outcome, "")),
            )
        return table
