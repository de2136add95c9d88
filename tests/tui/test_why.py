"""The why room: stages, prompt, other settings, message, and how it is opened and left."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from support.inspector import Screen, running
from support.memories import NotReachable
from support.screens import WIDE
from support.settling import burst
from support.small_store import add
from tui import installs
from tui.installs import CONFIG, MESSAGE, SHOPPING, DiskInstall, aged_install, food_install, meal

from zeroclaw_tui.tui.rooms.why import WhyRoom


@pytest.fixture
def kitchen(tmp_path: Path) -> DiskInstall:
    return food_install(tmp_path)


@pytest.fixture
def aged(tmp_path: Path) -> DiskInstall:
    return aged_install(tmp_path)


TABS = {"x": "“cutlery” is not in the prompt", "w": "settings not modified", "P": "3 memories are put before"}


async def test_each_tab_opens_by_key_or_click_with_the_same_message_and_memory(kitchen: DiskInstall) -> None:
    """The message is typed once and its text selected; escape leaves one step at a time."""
    async with running(kitchen.why("prompt", "cutlery")) as screen:
        for key, words in TABS.items():
            # From the stages, w would try the advice in what-if.
            await screen.press("P", key, shows=words)
            assert MESSAGE in screen.line(1)
        await screen.press("P")
        await screen.click("x stages")
        assert TABS["x"] in screen.text
        await screen.press("slash", "=eat xwps", "enter", shows="for “eat xwps”")
        await screen.press("P", shows="put before “eat xwps”")
        await screen.press("slash", "right", "s", "down", "w", shows=" ❯ eat xwpss")
        assert "settings not modified" in screen.text or "Nothing is recalled" in screen.text
        await screen.press("slash", "escape")
        assert screen.app.given == []
        # Keys of one burst reach the intended tabs.
        burst(screen.app, "/allergic\rP")
        await screen.until("put before “allergic”")
        await screen.settle()
        screen.shows(" ❯ allergic ")
        await screen.press("escape")
    assert screen.app.given == [False]


async def test_the_list_opens_each_tab_with_its_message_and_follows_another_version(
    kitchen: DiskInstall,
) -> None:
    add(kitchen.database, [meal("-v  x", "--eat", (1.0, 0.0, 0.0, 0.0))], 90)
    tabs = {"x": "for “--eat”", "w": "recalled · settings not modified", ":prompt": "before “--eat”"}
    async with running(kitchen.app(), WIDE) as screen:
        await screen.press("slash", "=--eat", "enter", shows="scoring 0.7.5")
        for key, words in tabs.items():
            await screen.press(key)
            assert isinstance(screen.top, WhyRoom)
            screen.shows(words, "❯ --eat")
            await screen.press("escape")
            assert screen.top is screen.browser
        # A key that looks like an option is quoted as a key in the shell line.
        await screen.press("x", "question_mark", "=why this memory", "ctrl+y", "escape")
        assert re.fullmatch(r"zeroclaw memory explain --query=--eat --config-dir \S+ -- '-v  x'", screen.app.clipboard)
        await screen.press("P", "p", "home", "enter", shows="scoring 0.1.7", hides="[/Memory context]")
        await screen.press("w", shows="settings not modified")
        assert "0.1.7" in screen.line_with("scoring profile")
        await screen.press("escape")
        assert "scoring 0.1.7" in screen.line(1)
        # Similar memories; a message typed next is a recall again.
        await screen.press("slash", "ctrl+u", "=cutlery", "tab", "enter", "s")
        assert screen.mode == "similar"
        assert "Bought new chopsticks." in screen.line(2)
        screen.shows("compared by rare words · This memory has no vector.")
        await screen.press("d", "escape", "x", shows="For which message?")
    assert not screen.notifications.startswith("Not here")


async def test_a_late_result_is_dropped_and_leaving_does_not_wait(
    kitchen: DiskInstall, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(kitchen.why("explain", "cutlery")) as screen:
        waits, asked, search = asyncio.Event(), asyncio.Event(), screen.app.library.memory.search

        async def slowly(trial: Any, *more: Any, **named: Any) -> Any:
            if trial.request.query == "wok":
                asked.set()
                await waits.wait()
            return await search(trial, *more, **named)

        monkeypatch.setattr(screen.app.library.memory, "search", slowly)
        await screen.pilot.press("slash", *"wok", "enter")
        await screen.until("❯ wok")
        await screen.pilot.press("slash", *"chopsticks", "enter")
        await screen.until("for “chopsticks”")
        waits.set()
        await screen.settle()
        screen.shows("for “chopsticks”")
        waits.clear()
        asked.clear()
        await screen.pilot.press("slash", *"wok", "enter")
        await screen.until(asked.is_set)
        await screen.pilot.press("q")
        await screen.until(lambda: screen.app.given == [False])
        await screen.settle()


async def test_a_failure_keeps_the_result_on_screen_and_r_tries_again(
    kitchen: DiskInstall, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> Any:
        raise NotReachable("The store went away.", hint="Is it running?")

    async with running(kitchen.why("explain", "cutlery", "")) as screen:
        with monkeypatch.context() as away:
            away.setattr(screen.app.library.memory, "search", fail)
            await screen.press("=eat", "enter", shows="The store did not answer.")
        await screen.press("r", shows="for “eat”")
        for tab in ("x", "P", "w"):
            await screen.press(tab)
            before = screen.text
            with monkeypatch.context() as away:
                away.setattr(screen.app.library.memory, "search", fail)
                await screen.press("r", shows="✗ The store went away. Is it running? r to retry")
                assert before.splitlines()[3] in screen.text
            await screen.press("r")
            assert screen.text == before


async def test_the_title_has_the_verdict_and_every_stage_its_line(kitchen: DiskInstall) -> None:
    """Advice is given only if it was tested to help: `w` tries its number at once, and the memory is injected."""
    async with running(kitchen.why("explain", "cutlery"), WIDE) as screen:
        screen.shows("“cutlery” is not in the prompt for “what does she like to eat?”", "Bought new chopsticks")
        screen.shows("R re-embed it")
        assert "ranked 11th after fusion with 0.14" in screen.line_with("✗ merge")
        screen.shows("a keyword-only hit can reach at most 0.30", "w a weighting of 0 / 1 puts it in the prompt")
        await screen.press("w")
        assert "0.70 → 0.00" in screen.line_with("vector weight")
        assert "+ enters" in screen.line_with("Bought new chopsticks")
        await screen.press("x", shows="“cutlery” is in the prompt", hides="✗")
        screen.shows("modified: vector weight 0.00, keyword weight 1.00")
        await screen.press("backslash", shows="“cutlery” is not in the prompt", hides="tried")


async def test_the_room_asks_for_a_missing_message_or_memory(kitchen: DiskInstall) -> None:
    async with running(kitchen.why("explain", "cutlery", "")) as screen:
        screen.shows("Why “cutlery” is recalled, or not", "For which message?")
        await screen.press("=eat/ xwq?", "enter", shows="“cutlery” is not in the prompt for “eat/ xwq?”")
        await screen.press("slash", "backspace", shows="For which message?", hides="keyword")
    async with running(kitchen.why("explain")) as screen:
        screen.shows("Which memory?")
        await screen.press("w", "x", shows="“assistant_resp_9f3c” is not in the prompt")
    # For a superseded memory x opens the newer one.
    async with running(kitchen.why("explain", "old_diet"), WIDE) as screen:
        screen.shows("✗ superseded", "x look at the newer one")
        await screen.press("x", shows="“fav_food” is in the prompt")


async def test_the_stages_are_updated_after_an_embedding_or_an_edit(kitchen: DiskInstall) -> None:
    content = "Bought new chopsticks. She would like a wok as well."
    kitchen.embedder.vectors[content] = (0.0, 0.0, 1.0, 0.0)
    async with running(kitchen.why("explain", "cutlery", SHOPPING), WIDE) as screen:
        screen.shows("this memory has no vector")
        await screen.press("R", says="Its embedding now matches its content.")
        assert "cosine 1.00" in screen.line_with("✓ vector")
        await screen.press("slash", "=peanuts", "enter", shows="“cutlery” is not in the prompt")
        await screen.press("e", "=peanuts ", "ctrl+s")
        assert screen.top is screen.app.room
        screen.shows("matches “peanuts”")
        await screen.press("escape")
    assert screen.app.given == [True]


async def test_hidden_text_is_visible_in_every_tab_and_copied_unchanged(kitchen: DiskInstall) -> None:
    app = kitchen.why("explain", installs.HOSTILE_KEY, installs.HOSTILE_MESSAGE, session="s \x1b[31m\u202e")
    async with running(app, WIDE) as screen:
        screen.shows("[/foo]")
        for key in ("y", "w", "x", "P"):
            await screen.press(key)
            assert not [letter for letter in screen.text if ord(letter) < 32 and letter != "\n"]
            assert "\u202e" not in screen.text
        screen.shows("␛[2J␇")
        await screen.press("y")
        assert "\x1b[2J\x07" in screen.app.clipboard


FIRST = "- dinner_plans: What does she like to eat on Friday? Dumplings."


async def test_the_prompt_is_shown_as_sent_and_copied_exactly(kitchen: DiskInstall) -> None:
    """The copy has the displayed number of characters, including the final blank line; an empty prompt gives advice."""
    async with running(kitchen.why("prompt"), WIDE) as screen:
        lines = [line.rstrip() for line in screen.text.splitlines()]
        assert " 3 memories are put before “what does she like to eat?”" in lines
        assert lines[lines.index(" [Memory context]") + 1] == f" {FIRST}"
        assert " [/Memory context]" in lines
        screen.shows("3 entries · 243 characters · about 61 tokens · rule: CLI")
        await screen.press("y")
        assert screen.app.clipboard.startswith(f"[Memory context]\n{FIRST}\n")
        assert screen.app.clipboard.endswith("[/Memory context]\n\n")
        assert len(screen.app.clipboard) == 243
        await screen.press("slash", "=zebra", "enter", shows="Nothing is put before “zebra”")
        screen.shows("ZeroClaw's own recall fails without the message's vector, so the agent gets nothing.")
        screen.shows("w try other weights and thresholds")
        screen.shows("The endpoint does not know this message. Keyword hits only.")
        await screen.press("y", says="Nothing to copy here yet.")


async def choose(screen: Screen, name: str) -> None:
    """Move the cursor to the setting with this name."""
    await screen.press("home")
    for _ in range(20):
        if chosen(screen).startswith(name):
            return
        await screen.press("down")
    raise AssertionError(f"no setting is named {name}")


def chosen(screen: Screen) -> str:
    """Return the line of the selected setting, without the text next to it."""
    return next((line[1:40] for line in screen.text.split("\n") if line.startswith("▌")), "")


async def test_what_if_begins_with_the_current_recall_and_lists_entering_and_leaving_memories(
    aged: DiskInstall,
) -> None:
    """Headline, the mark with its word, the previous value, and the moved line."""
    async with running(aged.why("what_if"), WIDE) as screen:
        screen.shows("injected 3 · 5 recalled · settings not modified")
        assert "✓ stays" in screen.line_with("Allergic to peanuts")
        screen.shows("threshold 0.40: below is not injected")
        await choose(screen, "threshold")
        await screen.press(*["left"] * 3)
        assert "0.40 → 0.25" in chosen(screen)
        screen.shows("injected 3 → 4, 1 enters")
        assert "+ enters" in screen.line_with("Ordered sushi")
        await screen.press("backspace", shows="settings not modified")
        await screen.press(*["right"] * 3, shows="1 leaves")
        assert "soup" in screen.line_with("− leaves")
        assert "0.73 → 0.54" in screen.line_with("− leaves")
        await screen.press("backspace")
        await choose(screen, "limit")
        await screen.press("enter", "=999", "enter", shows="The limit is a number from 1 to 100.")
        await screen.press("escape")
        assert "→" not in chosen(screen)
        await screen.press("enter", "=1", "enter")
        assert "5 → 1" in chosen(screen)
        assert "no longer recalled" in screen.line_with("fav_food")
        assert "sp_9f" in screen.line_with("○ lost")
        # Numbers are stepped to their limits, and typed.
        await choose(screen, "vector weight")
        for keys, value in ((["left"], "0.65"), (["plus"] * 2, "0.75"), (["left"] * 16, "0.00")):
            await screen.press(*keys, shows=f"0.70 → {value}")
        await screen.press("enter", "=0.33", "enter", shows="0.70 → 0.33")
        # In a small terminal settings and list are both visible.
        await screen.press("backslash")
        await screen.pilot.resize_terminal(40, 15)
        for name in ("vector weight", "threshold", "limit", "injection rule"):
            await choose(screen, name)
            screen.shows("✓")
    assert aged.config_file.read_text() == CONFIG


async def test_choices_are_stepped_through_or_chosen_from_a_list(aged: DiskInstall) -> None:
    """All are reset at once. A changed profile is only a trial: the library scores as before."""
    changes = {"search mode": "hybrid → bm25", "scoring profile": "0.7.5 → 0.8.3", "session": "any → telegram_12345"}
    async with running(aged.why("what_if"), WIDE) as screen:
        for name, change in changes.items():
            await choose(screen, name)
            await screen.press("right")
            assert change in chosen(screen)
        await screen.press("backslash", shows="settings not modified")
        await choose(screen, "injection rule")
        await screen.press("right", shows="CLI → channels")
        await screen.press("backslash")
        await choose(screen, "session")
        await screen.press("enter", "j", "j", "enter", shows=("any → cli", "no longer recalled"))
        await screen.press("backspace", "up", "enter", "end", "enter", shows=("0.7.5 → 0.8.4", "scoring 0.8.4 (tried)"))
        assert screen.app.library.profile.profile.version == "0.7.5"
        await choose(screen, "rerank ")
        await screen.press("right")
        assert "off → on" in chosen(screen)


async def test_the_list_has_its_own_cursor_and_only_the_last_of_many_keys_counts(
    aged: DiskInstall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that change settings still work, the threshold line is no row, and the store is queried once."""
    asked: list[Any] = []
    async with running(aged.why("what_if"), WIDE) as screen:
        with monkeypatch.context() as noting:
            noting.setattr(screen.app.library.memory, "search", lambda *given, **named: asked.append(given))
            await screen.press("down", "down", *["right"] * 8, *["left"] * 11)
            screen.shows("0.40 → 0.25", "injected 3 → 4, 1 enters")
            for _ in range(6):
                await screen.press("down", "right")
            assert asked == []
        await screen.press("backslash", "home", "tab", "j", "j", shows="▌✓ stays  3  food_allergy")
        await screen.press("minus", shows="0.70 → 0.65")
        await screen.press("backslash", "G", "enter", shows="“lunch_2026_03” is not in the prompt")
        await screen.press("escape")
    assert screen.app.given == [False]


async def test_settings_without_effect_say_so(tmp_path: Path) -> None:
    """Nine of ten installs have no vectors: no vector column, and weights without effect."""
    kitchen = aged_install(tmp_path, vectors=False)
    async with running(kitchen.why("what_if"), WIDE) as screen:
        screen.shows("▲ The weights do nothing while only keywords are searched.")
        assert not any("final" in line and "vector" in line and "keyword" in line for line in screen.lines)
        await choose(screen, "rerank ")
        await screen.press("right", shows="has no rerank stage, so it changes nothing before 0.8.4.")
    kitchen.write("MEMORY.md", "# Memory\n\n- She does like to eat ramen.\n- Her cat likes sushi.\n")
    async with running(kitchen.why("what_if", backend="markdown"), WIDE) as screen:
        screen.shows("The weights do nothing here: this backend ranks by its own rule.")
        await choose(screen, "threshold")
        await screen.press("enter", "=0.9", "enter")
        assert "− leaves" in screen.line_with("eat ramen")
    # In ZeroClaw <= 0.7.4 a double quote breaks the search, so a later version needs another search.
    kitchen.profile = "0.7.4"
    async with running(kitchen.why("what_if", message='a "ramen" plate'), WIDE) as screen:
        await choose(screen, "scoring profile")
        await screen.press("enter", "end", "enter", shows=("0.7.4 → 0.8.4", "She does like ramen"))


async def test_the_difference_is_shown_and_saved(tmp_path: Path) -> None:
    """Comments stay, the backup is the previous file, and the library scores by the new values.

    Cancelling the question writes nothing; settings that are not in the config are named and stay a trial.
    """
    aged = aged_install(tmp_path, profile="0.8.4")
    async with running(aged.why("what_if"), WIDE) as screen:
        await screen.press("W", says="There is nothing to write")
        await screen.press("down", "down", "enter", "=3", "enter", "W", says="must be a number from 0 to 1")
        await screen.press("backspace", *["left"] * 3, "down", "down", "right")
        for answer in ("n", "escape"):
            await screen.press("W", shows=("- min_relevance_score = 0.4", "+ min_relevance_score = 0.25"))
            screen.shows("For this message, with the modified settings: injected 4 → ")
            screen.shows("Limit, session, moment, rule and version of a what-if are not written")
            await screen.press(answer)
            assert screen.top is screen.app.room
        assert aged.config_file.read_text() == CONFIG
        await screen.press("W", "y")
        written = aged.config_file.read_text()
        assert written == CONFIG.replace("score = 0.4", "score = 0.25")
        assert screen.app.library.settings.threshold == 0.25
        screen.shows("5 → 6")
        screen.says(f"`zeroclaw onboard --config-dir {aged.config_dir} --restore` restores the previous one.")
        # A config changed by another program during the question is not overwritten.
        await screen.press("up", "up", "left", "W")
        aged.config_file.write_text(written + "# another hand\n")
        await screen.press("y", says="changed")
        await screen.press("escape")
    assert screen.app.given == [True]
    assert aged.config_file.read_text() == written + "# another hand\n"
    assert [path.read_text() for path in aged.config_dir.rglob("backups/*")] == [CONFIG]
