"""How a model is seeded, constructed and called: the same rule for the reference and for the candidate."""

import inspect
import random
from collections.abc import Sequence
from typing import Any


def reseed(seed: int) -> None:
    """Seed every generator that a model may draw from, so that weights made inside agree on both sides."""
    import torch

    torch.manual_seed(seed)
    random.seed(seed)
    try:
        import numpy
    except ImportError:
        return
    numpy.random.seed(seed & 0xFFFFFFFF)


def construct(model_class: Any, init: Sequence[Any], seed: int) -> Any:
    """An instance of Model or ModelNew."""
    reseed(seed)
    return model_class(*init)


def call(model: Any, names: Sequence[str], values: Sequence[Any], seed: int) -> Any:
    """What forward returns: called by keyword if its signature has all the names, else by position."""
    import torch

    forward = getattr(model, "forward", model)
    reseed(seed)
    function = model if callable(model) else forward
    with torch.no_grad():
        if _takes(forward, names):
            return function(**dict(zip(names, values, strict=True)))
        return function(*values)


def _takes(function: Any, names: Sequence[str]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    named = {parameter.name for parameter in parameters if parameter.kind in _BY_NAME}
    return set(names) <= named


_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
