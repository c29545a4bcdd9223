"""Processes that must not outlive the one that supervises them."""

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1
SUPERVISED = "OPMEND_SUPERVISED_BY"


def die_with_supervisor() -> None:
    """Ask the kernel for SIGTERM when our supervisor dies; survives exec, so Celery inherits it.

    Does nothing for a process that a person started.
    """
    parent = os.environ.get(SUPERVISED)
    if parent is None:
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):  # it died before we could ask
        raise SystemExit(0)
