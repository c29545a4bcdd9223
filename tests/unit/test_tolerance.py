"""Profiles are plain data: names, thresholds and the silence of sources."""

import pytest

from npu_worker.tolerance import (
    DEFAULT_PROFILE,
    PROFILES,
    AbsoluteAndRelative,
    AllClose,
    Exact,
    MereMare,
    Within,
    profile_named,
)
from schema.errors import WorkspaceError


def test_the_default_is_cann_s_standard():
    profile = profile_named(DEFAULT_PROFILE)
    assert profile.name == "mere_mare"
    assert profile.rule("float16") == MereMare(limit=2**-10)
    assert profile.rule("bfloat16") == MereMare(limit=2**-7)
    assert profile.rule("float32") == MereMare(limit=2**-13)
    assert profile.rule("int8") == profile.rule("int16") == Within(units=1)
    for dtype in ("int32", "int64", "bool", "uint8"):
        assert profile.rule(dtype) == Exact()


def test_the_others_are_as_their_sources_have_them():
    assert profile_named("allclose_1e2").rule("float32") == AllClose(absolute=1e-2, relative=1e-2)
    assert profile_named("allclose_1e2").rule("int8") == Within(units=1.5)
    assert profile_named("npukernelbench_v2").rule("float16") == AbsoluteAndRelative(
        absolute=1e-3, relative=1e-3
    )
    assert profile_named("multikernelbench").rule("float32") == AllClose(absolute=1e-4, relative=1e-4)
    assert profile_named("kernelbench").rule("float32") == AllClose(absolute=1e-4, relative=1e-4)
    assert profile_named("kernelbench").rule("bfloat16") == AllClose(absolute=1e-2, relative=1e-2)
    assert all(profile.rule("bool") == Exact() for profile in PROFILES.values())


def test_an_unknown_profile_is_told_with_the_known_ones():
    with pytest.raises(WorkspaceError, match=r"no tolerance profile 'loose'.*mere_mare"):
        profile_named("loose")
