"""The engine: events, a pure `decide`, and the one driver that appends decisions.

    event → fold (state) → decide (operator_policy) → command → driver → event, job, outbox row

`state`, `facts`, `bounds`, `arms`, `adaptive`, `commands`, `sessions` and `operator_policy` are pure: no
clock, no randomness, no I/O. `driver`, `records`, `relay`, `sweeper`, `submit` and `requests` touch the store.
"""
