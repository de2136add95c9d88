"""How long a busy endpoint is waited for, and how texts are put together into requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.embeddings.endpoint import FOR_MANY, FOR_ONE, RetryPolicy, batches


@given(st.integers(1, 10), st.none() | st.floats(0, 1000), st.floats(0, 30), st.floats(0, 1))
def test_waiting_for_one_text_ends_within_its_time_limit(
    tries: int, asked: float | None, spent: float, chance: float
) -> None:
    wait = FOR_ONE.wait_after(tries, asked, spent, chance)
    if wait is None:
        assert tries >= 3 or spent > 10 or (asked is not None and asked > 5)
    else:
        assert tries < 3
        assert spent + wait < 20
        assert wait >= (0 if asked is None else asked), "never before the endpoint wants to be asked"


def test_waits_double_and_chance_only_lengthens_them() -> None:
    patience = RetryPolicy(tries=5, longest_wait=60, first_wait=0.5, jitter=0.5)
    assert [patience.wait_after(at, None) for at in (1, 2, 3, 4, 5)] == [0.5, 1, 2, 4, None]
    assert patience.wait_after(1, None, chance=1) == 0.75


@pytest.mark.parametrize(("asked", "wait"), [(119, 119), (120, 120), (121, None)])
def test_work_left_running_waits_up_to_two_minutes(asked: float, wait: float | None) -> None:
    assert FOR_MANY.wait_after(1, asked) == wait


@given(st.lists(st.text(max_size=30)), st.integers(1, 8), st.integers(1, 60))
def test_requests_hold_all_texts_in_their_order_within_both_limits(
    texts: list[str], at_once: int, characters: int
) -> None:
    made = list(batches(texts, at_once, characters))
    assert [text for batch in made for text in batch] == texts
    assert all(0 < len(batch) <= at_once for batch in made)
    assert all(len(batch) == 1 or sum(map(len, batch)) <= characters for batch in made)
