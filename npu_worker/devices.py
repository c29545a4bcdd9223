"""Devices are rows: leased under a fence, with health and quarantine (research/queues.md, rule 6).

A simulated device can't be wedged by an earlier job, so its only job here is to be counted and held.
A real one can (error 507018): it is quarantined, and the candidate is never blamed.
"""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from schema.database import Database
from schema.errors import InfrastructureError
from schema.tables import Device

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Hold:
    """A device held by one job under one fence."""

    device_id: int
    fence: int


def register(database: Database, *, slots: int, kind: str = "sim") -> None:
    """Make this host's devices known. Safe to call again."""
    host = socket.gethostname()
    with database.transaction() as session:
        for slot in range(slots):
            session.execute(
                insert(Device)
                .values(host=host, slot=slot, kind=kind, health="healthy")
                .on_conflict_do_nothing(index_elements=["host", "slot"])
            )


@contextmanager
def hold(database: Database, *, job_id: str, seconds: float, kind: str = "sim") -> Iterator[Hold]:
    """Hold a free, healthy device of this host for the length of a block.

    A missing free slot adds one for a simulated device: the CPU is what limits it, not a card.

    Raises:
        InfrastructureError: every device of this kind is held or in quarantine.
    """
    held = _take(database, job_id=job_id, seconds=seconds, kind=kind)
    if held is None and kind == "sim":
        register(database, slots=_count(database) + 1, kind=kind)
        held = _take(database, job_id=job_id, seconds=seconds, kind=kind)
    if held is None:
        raise InfrastructureError(
            f"no free {kind} device",
            where=socket.gethostname(),
            mend="add an NPU worker, or end a quarantine",
        )
    try:
        yield held
    finally:
        with database.transaction() as session:
            # Only under our own fence: after a lost lease the device is somebody else's.
            session.execute(
                update(Device)
                .where(Device.id == held.device_id, Device.fence == held.fence)
                .values(holder=None, lease_expires_at=None)
            )


def _take(database: Database, *, job_id: str, seconds: float, kind: str) -> Hold | None:
    with database.transaction() as session:
        free = (
            select(Device.id)
            .where(Device.host == socket.gethostname(), Device.kind == kind)
            .where(Device.quarantined_at.is_(None))
            .where(or_(Device.holder.is_(None), Device.lease_expires_at < func.now()))
            .order_by(Device.slot)
            .limit(1)
            .with_for_update(skip_locked=True)
            .scalar_subquery()
        )
        row = session.execute(
            update(Device)
            .where(Device.id == free)
            .values(
                holder=job_id,
                fence=Device.fence + 1,
                lease_expires_at=func.now() + timedelta(seconds=seconds),
            )
            .returning(Device.id, Device.fence)
        ).one_or_none()
    return None if row is None else Hold(device_id=row.id, fence=row.fence)


def _count(database: Database) -> int:
    with database.transaction() as session:
        return session.execute(
            select(func.count()).select_from(Device).where(Device.host == socket.gethostname())
        ).scalar_one()
