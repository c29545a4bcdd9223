"""Every error opmend raises on purpose.

    OpmendError                     exit code 1   something asked for does not hold
    ├── BadInput                    exit code 2   a file, an argument or a setting is wrong
    │   ├── WorkspaceError                        an operator workspace lacks or breaks a part
    │   ├── CaseFileError                         a case file does not parse (file and line)
    │   ├── CohortError                           a cohort is missing, empty or was changed
    │   ├── EntryError                            a knowledge base entry breaks its form
    │   ├── UnknownModel                          no provider answers to this model name
    │   └── NotFound                              no such run, task, file, line or entry
    ├── InfrastructureError         exit code 3   a service or machine failed; no candidate is to blame
    │   ├── DatabaseUnavailable
    │   ├── BrokerUnavailable
    │   ├── JobLost                               a job's lease is gone: its work stops
    │   ├── SandboxUnavailable
    │   └── ToolchainMissing                      g++, torch or a device is not there
    ├── PositionKeyError                          a position key breaks the grammar or the length limit
    └── HistoryError                              the store refused to rewrite what has happened

A message has three parts: what is wrong, where, and how to mend it. The command line prints it as one line.
"""


class OpmendError(Exception):
    """The root of all errors raised on purpose.

    Args:
        what: what is wrong, in the user's words.
        where: file, file:line, row or address; left out when there is none.
        mend: the next step that mends it.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str | None = None, mend: str | None = None) -> None:
        self.what = what
        self.where = where
        self.mend = mend
        super().__init__(what, where, mend)

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        if self.mend:
            line = f"{line}; {self.mend}"
        return " ".join(line.split())


class BadInput(OpmendError):
    """A file, an argument or a setting is wrong."""

    exit_code = 2


class WorkspaceError(BadInput):
    """An operator workspace lacks or breaks a part."""


class CaseFileError(BadInput):
    """A case file does not parse."""


class CohortError(BadInput):
    """A cohort is missing, empty, or differs from its frozen manifest."""


class EntryError(BadInput):
    """A knowledge base entry breaks its form."""


class UnknownModel(BadInput):
    """No provider answers to this model name."""


class NotFound(BadInput):
    """No such run, task, file, line or entry."""


class InfrastructureError(OpmendError):
    """A service or a machine failed; no candidate, round or model is to blame."""

    exit_code = 3


class DatabaseUnavailable(InfrastructureError):
    """Postgres refused or did not answer."""


class BrokerUnavailable(InfrastructureError):
    """Redis refused or did not answer."""


class JobLost(InfrastructureError):
    """The job was cancelled, or another worker has it: what is done for it can't count any more."""


class SandboxUnavailable(InfrastructureError):
    """Candidates can't be isolated on this machine."""


class ToolchainMissing(InfrastructureError):
    """A compiler, torch or a device is not there."""


class PositionKeyError(OpmendError):
    """A position key breaks the grammar or the length limit."""


class HistoryError(OpmendError):
    """The store refused to rewrite what has happened."""
