"""The harness beside a candidate: what runs inside the sandbox, and the process that speaks to it.

`wire`, `poison` and `candidate` are seen inside the sandbox as well, so they import nothing of ours.
"""
