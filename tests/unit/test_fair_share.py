"""Fair share: laws that hold whatever the runs have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.engine.fair_share import LEAST_DEPTH, Share, depth, share_out
from tests.bench import bench_fleet

SHARES = st.dictionaries(
    st.integers(1, 50),
    st.builds(Share, priority=st.integers(-3, 3), waiting=st.integers(0, 30), under_way=st.integers(0, 30)),
    max_size=8,
)


@given(shares=SHARES, room=st.integers(-5, 60))
def test_the_room_is_used_and_no_more(shares: dict[int, Share], room: int) -> None:
    given_out = share_out(shares, room)
    assert sum(given_out.values()) == min(max(room, 0), sum(one.waiting for one in shares.values()))
    assert all(0 < count <= shares[run].waiting for run, count in given_out.items())


@given(shares=SHARES, room=st.integers(0, 60))
def test_nobody_of_equal_priority_is_left_behind(shares: dict[int, Share], room: int) -> None:
    given_out = share_out(shares, room)
    for run, one in shares.items():
        left = one.waiting - given_out.get(run, 0)
        for other, count in given_out.items():
            if left > 0 and shares[other].priority == one.priority:
                # Whoever was given a job had no more under way than one that still waits has now.
                assert shares[other].under_way + count - 1 <= one.under_way + given_out.get(run, 0)


@given(shares=SHARES, room=st.integers(0, 60))
def test_a_higher_priority_waits_for_no_lower_one(shares: dict[int, Share], room: int) -> None:
    given_out = share_out(shares, room)
    for run in given_out:
        higher = [other for other, one in shares.items() if one.priority > shares[run].priority]
        assert all(given_out.get(other, 0) == shares[other].waiting for other in higher)


def test_a_small_run_beside_a_large_one_is_served_at_once() -> None:
    shares = {
        1: Share(priority=0, waiting=10_000, under_way=12),
        2: Share(priority=0, waiting=3, under_way=0),
    }
    assert share_out(shares, 4) == {2: 3, 1: 1}


@given(running=st.integers(0, 1_000))
def test_a_queue_is_never_too_short_for_its_workers(running: int) -> None:
    assert depth(running) >= max(LEAST_DEPTH, 2 * running)


def test_in_a_fleet_a_small_run_does_not_wait_for_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_fleet, "WORKERS", {"npu": 4, "compile": 8, "llm": 8})
    fleet = bench_fleet.Fleet((60, 4), seed=1)
    fleet.play()
    assert len(fleet.ended) == 64
    large, small = (max(fleet.ended[task] for task in tasks) for tasks in (range(60), range(60, 64)))
    assert small < large / 2
    again = bench_fleet.Fleet((60, 4), seed=1)
    again.play()
    assert again.ended == fleet.ended
