"""Tolerance profiles: when an output counts as equal to the reference (research/npukernelbench.md).

A profile maps the dtype of the REFERENCE output to a rule; the rule is applied elementwise by npu_worker/compare.py.
Under every profile NaN positions, Inf positions and Inf signs must agree (npukernelbench_v2 goes further and
refuses whatever is not finite), then those elements are left out of the numbers.

    mere_mare          CANN's precision standard, the default: MERE < T and MARE < 10 T
    allclose_1e2       |a - g| <= 1e-2 + 1e-2 |g|; int8 within 1.5. NaN is NOT mapped to 0 first, as the original does.
    npukernelbench_v2  fails where |a - g| > 1e-3 and |a - g| / (|g| + 1e-7) > 1e-3, or anything is not finite
    multikernelbench   |a - g| <= 1e-4 + 1e-4 |g|; bool exact
    kernelbench        the same with 1e-4 (float32) or 1e-2 (float16, bfloat16)

Where a source is silent about a dtype, integers and bool are exact and float64 is held to the float32 rule:
the stricter reading. No torch here: profiles are plain data.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from schema.errors import WorkspaceError

EPSILON = 1e-7
"""Added to |g| in relative errors."""


@dataclass(frozen=True, kw_only=True)
class Exact:
    """a == g."""

    @property
    def threshold(self) -> float | None:
        """No T."""
        return None


@dataclass(frozen=True, kw_only=True)
class Within:
    """|a - g| <= `units`, for quantised integers."""

    units: float

    @property
    def threshold(self) -> float | None:
        """No T: the limit is absolute."""
        return None


@dataclass(frozen=True, kw_only=True)
class MereMare:
    """mean(|a - g| / (|g| + 1e-7)) < T and max(...) < 10 T; quotients with |a - g| < T / 1000 count as 0."""

    limit: float

    @property
    def threshold(self) -> float | None:
        """T."""
        return self.limit


@dataclass(frozen=True, kw_only=True)
class AllClose:
    """|a - g| <= absolute + relative * |g|."""

    absolute: float
    relative: float

    @property
    def threshold(self) -> float | None:
        """The relative part."""
        return self.relative


@dataclass(frozen=True, kw_only=True)
class AbsoluteAndRelative:
    """Fails where |a - g| > absolute AND |a - g| / (|g| + 1e-7) > relative; nothing may be NaN or Inf."""

    absolute: float
    relative: float

    @property
    def threshold(self) -> float | None:
        """The relative part."""
        return self.relative


Rule = Exact | Within | MereMare | AllClose | AbsoluteAndRelative


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A named set of rules.

    Attributes:
        rules: by dtype of the reference output, as torch names it without "torch.".
    """

    name: str
    rules: Mapping[str, Rule]

    def rule(self, dtype: str) -> Rule:
        """The rule for a dtype; exact for a dtype that the profile does not name."""
        return self.rules.get(dtype, Exact())


_CLOSE_1E2 = AllClose(absolute=1e-2, relative=1e-2)
_CLOSE_1E4 = AllClose(absolute=1e-4, relative=1e-4)
_V2 = AbsoluteAndRelative(absolute=1e-3, relative=1e-3)
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8")

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            name="mere_mare",
            rules={
                "float16": MereMare(limit=2.0**-10),
                "bfloat16": MereMare(limit=2.0**-7),
                "float32": MereMare(limit=2.0**-13),
                "float64": MereMare(limit=2.0**-30),
                "complex64": MereMare(limit=2.0**-13),  # applied to real and imaginary parts
                "int8": Within(units=1),
                "int16": Within(units=1),
            },
        ),
        Profile(
            name="allclose_1e2",
            rules=dict.fromkeys((*_FLOATS, *_INTEGERS), _CLOSE_1E2) | {"int8": Within(units=1.5)},
        ),
        Profile(name="npukernelbench_v2", rules=dict.fromkeys((*_FLOATS, *_INTEGERS), _V2)),
        Profile(name="multikernelbench", rules=dict.fromkeys((*_FLOATS, *_INTEGERS), _CLOSE_1E4)),
        Profile(
            name="kernelbench",
            rules={
                "float32": _CLOSE_1E4,
                "float64": _CLOSE_1E4,
                "float16": _CLOSE_1E2,
                "bfloat16": _CLOSE_1E2,
            },
        ),
    )
}

DEFAULT_PROFILE = "mere_mare"


def profile_named(name: str) -> Profile:
    """The profile of that name.

    Raises:
        WorkspaceError: there is none.
    """
    found = PROFILES.get(name)
    if found is None:
        raise WorkspaceError(
            f"no tolerance profile {name!r}",
            where="operator.toml tolerance",
            mend=f"use one of {', '.join(PROFILES)}",
        )
    return found
