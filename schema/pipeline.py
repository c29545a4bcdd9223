"""Statements of one transaction that are sent without waiting for the answers to those before.

The server works on one while Python prepares the next, and several share one round trip. Only statements whose
answers are not needed at once can be sent this way; `wait` brings the answers, and the errors, of all of them.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self

import psycopg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session


class Pipeline:
    """The statements on their way, in the order they were sent. The caller owns the transaction, and commits.

    Args:
        session: an open transaction. What it has not yet written is written first.
    """

    def __init__(self, session: Session) -> None:
        session.flush()
        connection = session.connection().connection.driver_connection
        assert isinstance(connection, psycopg.Connection)
        self._connection: psycopg.Connection[Any] = connection
        self._open: AbstractContextManager[psycopg.Pipeline] | None = None
        self._sent = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait, also after an error: a connection goes back to its session as it came."""
        if error is None:
            self.wait()
        elif self._open is not None:
            opened, self._open = self._open, None
            opened.__exit__(kind, error, traceback)

    def send(self, statement: bytes, parameters: Mapping[str, Any]) -> psycopg.Cursor[Any]:
        """Send a statement.

        Args:
            statement: SQL with %(name)s for parameters.
            parameters: their values.

        Returns:
            A cursor, to be read after `wait`.

        Raises:
            DBAPIError: a statement before it failed.
        """
        cursor = self._connection.cursor()
        try:
            if self._open is None:
                opened = self._connection.pipeline()
                opened.__enter__()  # left in `wait`, or in __exit__
                self._open = opened
            self._sent = statement
            return cursor.execute(statement, parameters)
        except psycopg.Error as error:
            raise self._told(error) from error

    def wait(self) -> None:
        """Wait until all that was sent is done. Other statements of the session may be executed after it.

        Raises:
            DBAPIError: what the first statement that failed met, as from any statement of the session.
        """
        if self._open is None:
            return
        # psycopg's `Pipeline.sync` would wait for ever for an answer to what is larger than the socket takes at once:
        # it does not send the rest. Leaving does.
        opened, self._open = self._open, None
        try:
            opened.__exit__(None, None, None)
        except psycopg.Error as error:
            raise self._told(error) from error

    def _told(self, error: psycopg.Error) -> BaseException:
        # Which of the statements it was, psycopg does not say; the server's message does.
        return DBAPIError.instance(self._sent.decode(), None, error, psycopg.Error)
