"""The golden logs: recorded stories that every version must decide as they were decided."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from schema import events

GOLDEN = Path(__file__).parents[1] / "unit" / "test_engine_golden.json"


def golden() -> dict[str, list[events.Recorded]]:
    """Each story's log by name, a second between two events."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return {
        name: [
            events.Recorded(
                sequence=number,
                at=start + timedelta(seconds=number),
                event=events.parse(one["kind"], one["data"]),
                hash="",
            )
            for number, one in enumerate(log, start=1)
        ]
        for name, log in json.loads(GOLDEN.read_text()).items()
    }
