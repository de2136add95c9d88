"""Which texts can be edited on the screen, and what cannot be typed or pasted into them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.screens import screen_words
from textual.app import App, ComposeResult
from textual.events import Paste

from zeroclaw_tui.memory.text import display_text
from zeroclaw_tui.tui.widgets.text_fields import ContentArea, LineInput, can_edit_here

NASTY = "ab\n\r\t\x00\x1b\x07\x7f\x85\x9b\u2028\u2029\u202e\u2066\ufeff\udc80\udcff␛▣▤宽é👩‍👩‍👧"
TEXTS = st.one_of(st.text(alphabet=NASTY), st.text(), st.lists(st.sampled_from(["a", "", "\x1b"])).map("\r\n".join))


class Both(App[None]):
    def __init__(self, content: str = "", line: str = "") -> None:
        super().__init__()
        self._first = content, line

    def compose(self) -> ComposeResult:
        content, line = self._first
        self.area, self.line = ContentArea(content), LineInput(line)
        yield self.area
        yield self.line


@given(TEXTS)
def test_a_text_that_can_be_edited_here_looks_as_it_is_stored(content: str) -> None:
    """Opened and left alone it is the same to the character; nothing in it steers a terminal."""
    if can_edit_here(content):
        assert ContentArea(content).text == content
        assert not any(character in "\x00\x1b\x9b\x07\u202e\udc80" for character in content)


@pytest.mark.parametrize("content", ["a\x1b[2J", "a\rb", "a\r\nb\nc", "a\u200b", "\u202eb", "a\udcff", "x" * 200_001])
def test_a_text_with_hidden_characters_is_not_edited_here(content: str) -> None:
    assert not can_edit_here(content)


@pytest.mark.parametrize("value", ["plain", " two  blanks ", "a\x1b[2J", "a\nb\tc", "\u202eb"])
async def test_an_unchanged_line_keeps_its_value(value: str) -> None:
    app = Both("", value)
    async with app.run_test():
        assert app.line.text == value
        assert display_text(app.line.value) == app.line.value


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("one\ntwo\n", ("end", "enter", "x"), "one\nx\ntwo\n"),
        ("one\r\ntwo\r\n", ("end", "enter", "x"), "one\r\nx\r\ntwo\r\n"),
    ],
    ids=["line feeds", "both"],
)
async def test_typing_keeps_the_line_ends(before: str, keys: tuple[str, ...], after: str) -> None:
    """A new line ends as the others do."""
    app = Both(before)
    async with app.run_test() as pilot:
        app.area.focus()
        await pilot.press(*keys)
    assert app.area.text == after


async def test_pasting_leaves_out_what_a_terminal_obeys_or_hides() -> None:
    """One sentence says so; the rest of the pasted text arrives, in a text and in a field."""
    app = Both("x", "y")
    async with app.run_test(notifications=True) as pilot:
        app.area.focus()
        await pilot.pause()
        app.post_message(Paste("a\r\n\x1b]0;t\x07␛\u00a0"))
        await pilot.pause()
        assert "Removed control and hidden characters." in screen_words(app)
        app.line.focus()
        await pilot.press("end")
        app.post_message(Paste("\x1b[2J"))
        await pilot.pause()
        app.copy_to_clipboard("\u202eb\nc")
        await pilot.press("end", "ctrl+v")
    assert app.area.text == "a\n]0;t␛\u00a0x"
    assert app.line.text == "y[2Jb c"


async def test_what_scripts_and_emoji_need_can_be_typed() -> None:
    """A joiner is left out only where it joins nothing."""
    app = Both("👩‍🚀 می‌خواهم ❤️ x", "")
    async with app.run_test() as pilot:
        app.line.focus()
        for typed in ("می", "\u200c", "خواهم", "\u200d", "\u200d", "a", "\u200c", "👩‍🚀"):
            app.post_message(Paste(typed))
            await pilot.pause()
    assert can_edit_here(app.area.text)
    assert app.line.text == "می\u200cخواهم\u200da👩‍🚀"
