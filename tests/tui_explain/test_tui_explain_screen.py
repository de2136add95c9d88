"""What the explanation of a memory tells, and what its keys do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from explain_samples import HIT, HOSTILE_KEY, HOSTILE_MESSAGE, MESSAGE, ByHand, Kitchen, Told
from textual.pilot import Pilot
from tui_trash_samples import NARROW, WIDE, ScreenApp, screen_text, screen_words, settled, until

from zeroclaw_tui.curation import prompt
from zeroclaw_tui.memory.errors import NotReachable, SearchInterrupted
from zeroclaw_tui.scoring.explanation import Step
from zeroclaw_tui.tui.screens.choice import ChoiceScreen
from zeroclaw_tui.tui.screens.explain import ExplainScreen
from zeroclaw_tui.tui.screens.help import HelpScreen
from zeroclaw_tui.tui.screens.prompt import PromptScreen
from zeroclaw_tui.tui.screens.what_if import WhatIfScreen
from zeroclaw_tui.tui.widgets.message_line import MessageLine


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    told = Told()
    monkeypatch.setattr(prompt, "explain", told.explain)
    return told


def said(pilot: Pilot[Any]) -> str:
    return "\n".join(f"{note.title} {note.message}" for note in pilot.app._notifications)


def shown(app: ScreenApp) -> ExplainScreen:
    screen = app.screen
    assert isinstance(screen, ExplainScreen)
    return screen


def typed(app: ScreenApp) -> str:
    return app.screen.query_one(MessageLine).input.value


async def test_the_title_is_the_answer_and_every_stage_has_its_line(kitchen: Kitchen, told: Told) -> None:
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        lines = screen_text(app).splitlines()
        assert lines[0].startswith(" “cutlery” is not in the prompt for “what does she like to eat?”")
        assert "Bought new chopsticks" in lines[1]
        by_stage = {line.split()[1]: line for line in lines if line.strip()[:1] in "✓✗–" and len(line.split()) > 1}
        assert "████" in by_stage["keyword"]
        assert by_stage["vector"].rstrip().endswith("R re-embed it")
        assert by_stage["threshold"].lstrip().startswith("✗ threshold  0.15 < 0.40")
        assert "In this scoring a hit without a vector can reach at most 0.30." in screen_words(app)


async def test_what_helps_stands_below_the_words_on_a_narrow_screen(kitchen: Kitchen, told: Told) -> None:
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        lines = [line.rstrip() for line in screen_text(app).splitlines()]
        below = next(number for number, line in enumerate(lines) if line.strip() == "R re-embed it")
        assert lines[below].index("R") == lines[below - 1].index("no embedding")


async def test_a_hit_says_so(kitchen: Kitchen, told: Told) -> None:
    told.steps = HIT
    app = kitchen.explaining("food_allergy")
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "“food_allergy” is in the prompt for “what does she like to eat?”" in screen_text(app)
        assert "✗" not in screen_text(app)


async def test_raw_scores_have_no_bar(kitchen: Kitchen, told: Told) -> None:
    """A number beyond 1 is no share of anything."""
    told.steps = (Step("fusion", "passed", "raw bm25 4.55 is the score", {"score": 4.55}),)
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "4.55" in screen_text(app)
        assert "█" not in screen_text(app)


async def test_without_a_message_the_line_waits_for_one(kitchen: Kitchen, told: Told) -> None:
    app = kitchen.explaining("cutlery", "")
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert "Why “cutlery” is recalled, or not" in screen_text(app)
        assert "For which message?" in screen_text(app)
        assert told.trials == []
        await pilot.press("e", "a", "t", "slash")
        await settled(pilot)
        assert told.asked == ["e", "ea", "eat", "eat/"]
        assert "is not in the prompt for “eat/”" in screen_text(app)


async def test_the_fingers_rest_before_the_store_is_asked(kitchen: Kitchen, told: Told) -> None:
    kitchen.pace = type(kitchen.pace)(debounce=600, poll=None, patience=30)
    app = kitchen.explaining("cutlery", "")
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("e", "a", "t")
        await settled(pilot)
        assert told.asked == []
        await pilot.press("enter")
        await settled(pilot)
        assert told.asked == ["eat"]


async def test_enter_leaves_the_line_and_slash_comes_back(kitchen: Kitchen, told: Told) -> None:
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("slash", "x", "enter", "r")
        await settled(pilot)
        assert typed(app) == MESSAGE + "x"
        assert told.trials[-1].request.rule == "channel"
        await pilot.press("slash", "r")
        await settled(pilot)
        assert typed(app) == MESSAGE + "xr"


async def test_keys_pressed_before_the_first_answer_are_not_typed_into_the_message(
    kitchen: Kitchen, told: Told
) -> None:
    told.waits["eat"] = asyncio.Event()
    app = kitchen.explaining("cutlery", "")
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press(*"eat", "enter", "r")
        told.waits["eat"].set()
        await settled(pilot)
        assert typed(app) == "eat"
        assert told.trials[-1].request.rule == "channel"
        await pilot.press("slash", "s", "enter")
        await settled(pilot)
        assert "About “eats”" in screen_text(app)


async def test_long_help_takes_no_room_from_the_words(kitchen: Kitchen, told: Told) -> None:
    words = "the message has no vector: no embeddings configured"
    told.steps = (Step("vector", "absent", words, {}, "set memory.embedding_provider " * 3),)
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert any(words in line for line in screen_text(app).splitlines())


async def test_emptying_the_line_asks_for_a_message_again(kitchen: Kitchen, told: Told) -> None:
    app = kitchen.explaining("cutlery", "eat")
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("slash", "ctrl+u")
        await settled(pilot)
        assert "For which message?" in screen_text(app)
        assert "threshold" not in screen_text(app)


async def test_a_late_answer_is_dropped(kitchen: Kitchen, told: Told) -> None:
    told.waits["eat"] = asyncio.Event()
    app = kitchen.explaining("cutlery", "eat")
    async with app.run_test(size=NARROW) as pilot:
        await until(pilot, lambda: told.asked == ["eat"])
        await pilot.press("slash", "s", "enter")
        await settled(pilot)
        told.waits["eat"].set()
        await settled(pilot)
        assert "for “eats”" in screen_text(app)
        assert "About “eats”" in screen_text(app)


async def test_an_interruption_meant_for_another_question_is_asked_again(kitchen: Kitchen, told: Told) -> None:
    interrupted = [True]

    async def explain(*asked: Any) -> Any:
        if interrupted.pop() if interrupted else False:
            raise SearchInterrupted("The search was stopped.")
        return await told.explain(*asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prompt, "explain", explain)
        app = kitchen.explaining("cutlery")
        async with app.run_test(size=NARROW) as pilot:
            await settled(pilot)
            assert "✗ threshold" in screen_text(app)


async def test_a_long_search_says_that_it_is_under_way(kitchen: Kitchen, told: Told) -> None:
    kitchen.pace = type(kitchen.pace)(debounce=0, poll=None, patience=0.01)
    told.waits[MESSAGE] = asyncio.Event()
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=NARROW) as pilot:
        await until(pilot, lambda: "a big one takes a while" in screen_text(app))
        told.waits[MESSAGE].set()
        await settled(pilot)
        assert "takes a while" not in screen_text(app)


async def test_a_person_knows_that_the_message_goes_to_another_machine(
    kitchen: Kitchen, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ByHand, "is_remote", True)
    kitchen.pace = type(kitchen.pace)(debounce=0, poll=None, patience=0.01)
    told.waits[MESSAGE] = asyncio.Event()
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=NARROW) as pilot:
        await until(pilot, lambda: "127.0.0.1 for the vector of the message" in screen_words(app))
        told.waits[MESSAGE].set()
        await settled(pilot)


async def test_a_failure_keeps_what_was_said_and_can_be_tried_again(kitchen: Kitchen, told: Told) -> None:
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        told.failure = NotReachable("The server went away.", hint="Is it running?")
        await pilot.press("ctrl+r")
        await settled(pilot)
        assert "✗ The server went away. Is it running? ctrl+r tries again" in screen_words(app)
        assert "✗ threshold" in screen_text(app)
        told.failure = None
        await pilot.click("#failure")
        await settled(pilot)
        assert "The server went away" not in screen_text(app)


async def test_a_failure_at_first_says_what_to_do(kitchen: Kitchen, told: Told) -> None:
    told.failure = NotReachable("The server went away.", hint="Is it running?")
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert "Nothing could be found out." in screen_text(app)
        assert "The server went away." in screen_words(app)
        told.failure = None
        await pilot.press("ctrl+r")
        await settled(pilot)
        assert "✗ threshold" in screen_text(app)


async def test_the_other_rule(kitchen: Kitchen, told: Told) -> None:
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "CLI agent's rule" in screen_text(app)
        await pilot.press("r")
        await settled(pilot)
        assert "channel rule" in screen_text(app)
        assert [trial.request.rule for trial in told.trials] == ["cli", "channel"]


async def test_where_both_rules_are_one_it_says_so(kitchen: Kitchen, told: Told) -> None:
    app = kitchen.explaining("cutlery", profile="0.8.4")
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("r")
        await settled(pilot)
        assert "inject alike" in said(pilot)
        assert len(told.trials) == 1


async def test_another_scoring_version_holds_from_then_on(kitchen: Kitchen, told: Told) -> None:
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, ChoiceScreen))
        await pilot.press("G", "end", "enter")
        await settled(pilot)
        assert told.trials[-1].profile.version == "0.8.4"
        assert kitchen.library is not None
        assert kitchen.library.profile.profile.version == "0.8.4"
        assert "scoring 0.8.4" in screen_text(app)
        await pilot.press("escape")
        await settled(pilot)
    assert app.given == [True]


async def test_a_new_vector_is_made_and_the_way_told_again(kitchen: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stage that had no vector has one, and the list is told to follow."""

    async def embed(self: ByHand, text: str) -> Any:
        import numpy as np

        return np.array([0.9, 0.1, 0.0, 0.0], dtype=np.float32)

    monkeypatch.setattr(ByHand, "embed", embed)
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        assert "– vector" in screen_text(app)
        await pilot.press("R")
        await until(pilot, lambda: "✓ vector" in screen_text(app))
        assert "It has a vector of its present content now." in said(pilot)
        await pilot.press("escape")
        await settled(pilot)
    assert app.given == [True]


async def test_a_click_on_what_helps_does_it(kitchen: Kitchen, told: Told) -> None:
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        row = next(y for y, line in enumerate(screen_text(app).splitlines()) if "other weights" in line)
        await pilot.click(offset=(100, row))
        await until(pilot, lambda: isinstance(app.screen, WhatIfScreen))


async def test_a_store_that_is_only_read_gets_no_vector(kitchen: Kitchen, told: Told) -> None:
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        assert kitchen.library is not None
        kitchen.library.memory.read_only_because = "It was opened read-only, as asked."
        await pilot.press("R", "e")
        await settled(pilot)
        assert "It was opened read-only, as asked." in said(pilot)
        row = next(y for y, line in enumerate(screen_text(app).splitlines()) if "re-embed it" in line)
        await pilot.click(offset=(100, row))
        await settled(pilot)
        assert isinstance(app.screen, ExplainScreen)
        kitchen.library.memory.read_only_because = None


@pytest.mark.parametrize(("key", "screen"), [("w", WhatIfScreen), ("P", PromptScreen), ("question_mark", HelpScreen)])
async def test_the_other_screens_are_one_key_away_with_the_same_message(
    kitchen: Kitchen, told: Told, key: str, screen: type[Any]
) -> None:
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, screen))
        if screen is not HelpScreen:
            assert app.screen.request.query == MESSAGE
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, ExplainScreen))


async def test_everything_is_copied_as_text(kitchen: Kitchen, told: Told) -> None:
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("y")
        await settled(pilot)
        lines = app.clipboard.splitlines()
        assert lines[0] == "“cutlery” is not in the prompt for “what does she like to eat?”"
        assert "✗ threshold  0.15 < 0.40  [a threshold of 0.15, or other weights]" in lines
        assert lines[-1] == "In this scoring a hit without a vector can reach at most 0.30."


async def test_the_newer_memory_can_be_explained(kitchen: Kitchen) -> None:
    app = kitchen.explaining("old_diet")
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "✗ superseded" in screen_text(app)
        await pilot.press("x")
        await until(pilot, lambda: "“fav_food” is" in screen_text(app))
        await settled(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert "“old_diet” is" in screen_text(app)


@pytest.mark.parametrize(("key", "action"), [("e", "edit"), ("F", "choose_filters")])
async def test_what_the_list_does_is_left_for(kitchen: Kitchen, told: Told, key: str, action: str) -> None:
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        screen = shown(app)
        await pilot.press(key)
        await settled(pilot)
        assert screen.leaves_for == action
    assert app.given == [False]


async def test_esc_leaves_the_line_first_and_then_the_screen(kitchen: Kitchen, told: Told) -> None:
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("slash", "escape")
        await settled(pilot)
        assert isinstance(app.screen, ExplainScreen)
        await pilot.press("escape")
        await settled(pilot)
    assert app.given == [False]


async def test_nothing_hostile_reaches_the_terminal(kitchen: Kitchen) -> None:
    app = kitchen.explaining(HOSTILE_KEY, HOSTILE_MESSAGE)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("y")
        await settled(pilot)
        everything = screen_text(app) + app.clipboard
        assert not [letter for letter in everything if ord(letter) < 32 and letter != "\n"]
        assert "\u202e" not in everything
        assert app.screen.query_one(MessageLine).input.value == HOSTILE_MESSAGE
        assert "[bold]" in screen_text(app) or "[/foo]" in screen_text(app)


async def test_leaving_while_it_is_asked_leaves_nothing_behind(kitchen: Kitchen, told: Told) -> None:
    told.waits[MESSAGE] = asyncio.Event()
    app = kitchen.explaining("cutlery")
    async with app.run_test(size=NARROW) as pilot:
        await until(pilot, lambda: told.asked == [MESSAGE])
        await pilot.press("q")
        await until(pilot, lambda: app.given == [False])
        told.waits[MESSAGE].set()
        await settled(pilot)
