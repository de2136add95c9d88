"""What explanation and prompt look like, at the smallest size that is whole and at one that is comfortable."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from explain_samples import HOSTILE_KEY, HOSTILE_MESSAGE, SHOPPING, Kitchen
from textual.pilot import Pilot
from tui_trash_samples import NARROW, WIDE, settled

from zeroclaw_tui.curation import prompt
from zeroclaw_tui.memory.errors import NotReachable

Snap = Callable[..., bool]
BOTH = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "hit": ("food_allergy", {}),
    "threshold": ("cutlery", {"message": SHOPPING}),
    "cut": ("cutlery", {}),
    "no_word_no_vector": ("timezone", {}),
    "superseded": ("old_diet", {}),
    "session": ("dinner_plans", {"session_id": "discord_77"}),
    "skipped": ("assistant_resp_9f3c", {}),
    "newest_rules": ("food_allergy", {"profile": "0.8.4"}),
    "oldest_rules": ("dinner_plans", {"profile": "0.1.7", "rule": "channel"}),
}


def keys(*pressed: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    async def press(pilot: Pilot[Any]) -> None:
        await settled(pilot)
        for key in pressed:
            await pilot.press(key)
            await settled(pilot)

    return press


@BOTH
@pytest.mark.parametrize("case", list(CASES))
def test_a_hit_and_the_kinds_of_miss(kitchen: Kitchen, snap_compare: Snap, size: tuple[int, int], case: str) -> None:
    """Every stage up to the one that stops it, or to its place in the prompt."""
    key, asked = CASES[case]
    assert snap_compare(kitchen.explaining(key, **asked), terminal_size=size, run_before=keys())


@pytest.mark.parametrize(
    "session", ["s \x1b[31m\u202e", "telegram_[bold]\x1b[2J宽字符" + "s" * 300], ids=["hit", "miss"]
)
def test_hostile_content(kitchen: Kitchen, snap_compare: Snap, session: str) -> None:
    """Nothing is styled, nothing reaches the terminal, nothing breaks the columns."""
    app = kitchen.explaining(HOSTILE_KEY, HOSTILE_MESSAGE, session_id=session)
    assert snap_compare(app, terminal_size=NARROW, run_before=keys())


def test_no_message_yet(kitchen: Kitchen, snap_compare: Snap) -> None:
    """The line has the focus, and the screen says what it wants."""
    assert snap_compare(kitchen.explaining("cutlery", ""), terminal_size=NARROW, run_before=keys())


def test_the_keys(kitchen: Kitchen, snap_compare: Snap) -> None:
    assert snap_compare(kitchen.explaining("cutlery"), terminal_size=NARROW, run_before=keys("question_mark"))


def test_the_store_went_away(kitchen: Kitchen, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch) -> None:
    """A banner over what the screen can still say."""

    async def fail(*_: Any) -> Any:
        raise NotReachable("The server at db.example:5432 went away.", hint="Is it running?")

    monkeypatch.setattr(prompt, "explain", fail)
    assert snap_compare(kitchen.explaining("cutlery"), terminal_size=NARROW, run_before=keys())


@BOTH
@pytest.mark.parametrize(
    ("message", "profile", "rule"),
    [
        ("what does she like to eat?", "0.7.5", "cli"),
        ("what does she like to eat?", "0.7.5", "channel"),
        ("what does she like to eat?", "0.8.4", "cli"),
        ("zebra", "0.7.5", "cli"),
        (SHOPPING, "0.7.5", "cli"),
        ("", "0.7.5", "cli"),
    ],
    ids=["entries", "channel", "newest_rules", "nothing_recalled", "below_threshold", "no_message"],
)
def test_the_prompt(
    kitchen: Kitchen, snap_compare: Snap, size: tuple[int, int], message: str, profile: str, rule: str
) -> None:
    """The literal text with how much it is and by whose rule, or why there is none."""
    assert snap_compare(kitchen.prompting(message, profile, rule=rule), terminal_size=size, run_before=keys())


@BOTH
@pytest.mark.parametrize("pressed", [(), ("tab",)], ids=["cli", "channel"])
def test_the_prompts_of_both_rules(
    kitchen: Kitchen, snap_compare: Snap, size: tuple[int, int], pressed: tuple[str, ...]
) -> None:
    """Side by side where there is room, one after the other where there is not."""
    kitchen.add("long_list", "What does she like to eat? " * 60 + "Dumplings.", (1.0, 0.0, 0.0, 0.0))
    assert snap_compare(kitchen.prompting(), terminal_size=size, run_before=keys(*pressed))


def test_a_hostile_prompt(kitchen: Kitchen, snap_compare: Snap) -> None:
    """Control characters are visible, and it stays plain text."""
    app = kitchen.prompting(HOSTILE_MESSAGE, session_id="s \x1b[31m\u202e")
    assert snap_compare(app, terminal_size=NARROW, run_before=keys())
