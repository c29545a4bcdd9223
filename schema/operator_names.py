"""How an operator project names things: the operator type, and the kernel function that a build looks for."""

import re


def snake_case(name: str) -> str:
    """The kernel function of an operator type: AddCustom is add_custom, as the device's build names it."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return spaced.lower()
