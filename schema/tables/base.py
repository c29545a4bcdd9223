"""What all tables share: naming of constraints, JSON and time types."""

from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import BigInteger, DateTime, Identity, MetaData, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column

# Fixed names, so that a migration can drop what it made on any server.
NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

Json = dict[str, Any]
Id = Annotated[int, mapped_column(BigInteger, Identity(always=True), primary_key=True)]
Digest = Annotated[str, mapped_column(Text(collation="C"))]
# Database time only (research/queues.md, rule 2): worker clocks differ, Postgres' clock is one.
Now = Annotated[datetime, mapped_column(DateTime(timezone=True), server_default=func.now())]
Moment = Annotated[datetime, mapped_column(DateTime(timezone=True))]


class Base(DeclarativeBase):
    """Declarative base of every table."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {Json: JSONB, str: Text, list[Any]: JSONB}  # noqa: RUF012  SQLAlchemy reads the plain class attribute
