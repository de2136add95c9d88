"""Choosing the memories that a message should have recalled, for a recall test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from zeroclaw_tui.backends.text_search import words_of
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, SearchInterrupted
from zeroclaw_tui.memory.query import NEWEST_STORED, MemoryFilter
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.themes import MUTED, STRONG
from zeroclaw_tui.tui.widgets.table_list import Column, TableList
from zeroclaw_tui.tui.widgets.writing import LineInput

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.scoring.settings import Trial

MOST_OFFERED = 50
"""How many memories are offered, the nearest to the message first."""
_LONGEST = 400
_KEYS = "space choose   enter write the test   / look   esc leave it"
_KEYS_TYPING = "enter to the list   esc back to the list"
_FOUND = "expected-found"


class ExpectedScreen(ModalScreen[tuple[str, ...] | None]):
    """Gives the keys that were chosen; None where it was left.

    Offered is what competes for the message of the trial, and what holds the words that are looked for; `sent` are the
    keys that did reach the agent.
    """

    DEFAULT_CSS = """
    ExpectedScreen { align: center middle; background: $background 60%; }
    ExpectedScreen #expected {
        width: 100; max-width: 94%; height: 24; max-height: 90%; padding: 1 2; background: $surface;
        border: solid $border;
    }
    ExpectedScreen Static { width: 1fr; height: auto; }
    ExpectedScreen #asked { text-wrap: nowrap; text-overflow: ellipsis; height: 1; }
    ExpectedScreen #sought { display: none; margin-top: 1; }
    ExpectedScreen.-looking #sought { display: block; }
    ExpectedScreen #offered { height: 1fr; margin: 1 0; }
    """
    AUTO_FOCUS = "#offered"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "choose", "choose", id="expected.choose"),
        Binding("enter", "write", "write the test", id="expected.write", priority=True),
        Binding("slash", "look", "look for others", id="expected.look"),
        Binding("escape", "step_out", "leave it", id="expected.out", priority=True),
    ]

    def __init__(self, library: Library, trial: Trial, sent: frozenset[str]) -> None:
        super().__init__()
        self.library = library
        self._trial = trial
        self._sent = sent
        self._chosen: dict[str, None] = {}

    def compose(self) -> ComposeResult:
        """The message, what is looked for, the memories, keys."""
        with Vertical(id="expected"):
            yield Static(Content.styled("What should have been recalled for this message?", STRONG), id="title")
            query = one_line(mask_secrets(self._trial.request.query[:_LONGEST]))
            yield Static(Content.styled(f"“{query}”", MUTED), id="asked")
            yield LineInput("", placeholder="words of the memory", id="sought")
            yield TableList[MemoryEntry](
                [
                    Column("key", lambda entry: entry.key[:_LONGEST] or "(no key)"),
                    Column("memory", lambda entry: entry.content[:_LONGEST] or "(blank)", flex=True),
                    Column("", lambda entry: "was sent" if entry.key in self._sent else "", width=8, look="good"),
                ],
                empty="Looking …",
                is_marked=lambda entry: entry.key in self._chosen,
                id="offered",
            )
            yield Static(Content.styled(_KEYS, MUTED), id="keys")

    def on_mount(self) -> None:
        """Offer what competes for the message."""
        self._find("")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Offer what holds these words."""
        event.stop()
        self._find(event.value)

    def on_table_list_row_opened(self) -> None:
        """As the space key."""
        self.action_choose()

    def action_choose(self) -> None:
        """Choose the memory, or no longer, and go on to the next."""
        offered = self._offered
        entry = offered.selected
        if entry is None:
            return
        if entry.key in self._chosen:
            del self._chosen[entry.key]
        else:
            self._chosen[entry.key] = None
        offered.refresh()
        offered.cursor += 1
        self._say()

    def action_write(self) -> None:
        """Give what was chosen, else the memory under the cursor; from the line, go to the list."""
        if self._is_typing:
            self._offered.focus()
            self._say()
            return
        entry = self._offered.selected
        keys = tuple(self._chosen) or (() if entry is None else (entry.key,))
        if keys:
            self.dismiss(keys)

    def action_look(self) -> None:
        """Type words of the memory."""
        self.add_class("-looking")
        self.query_one(LineInput).focus()
        self.query_one("#keys", Static).update(Content.styled(_KEYS_TYPING, MUTED))

    def action_step_out(self) -> None:
        """From the line to the list, from there out."""
        if self._is_typing:
            self._offered.focus()
            self._say()
        else:
            self.dismiss(None)

    @property
    def _offered(self) -> TableList[MemoryEntry]:
        return self.query_one(TableList)

    @property
    def _is_typing(self) -> bool:
        return self.focused is self.query_one(LineInput)

    def _say(self) -> None:
        count = len(self._chosen)
        self.query_one("#keys", Static).update(Content.styled(f"{count} chosen   {_KEYS}" if count else _KEYS, MUTED))

    def _find(self, words: str) -> None:
        # Not a coroutine: a worker that is cancelled before its first step would leave that behind, never awaited.
        offering: Callable[[], Awaitable[None]] = partial(self._offer, words)
        self.run_worker(offering, group=_FOUND, exclusive=True)

    async def _offer(self, words: str) -> None:
        offered = self._offered
        try:
            entries = await (self._holding(words) if words.strip() else self._competing())
        except SearchInterrupted:
            return
        except InspectorError as error:
            offered.say_empty(str(error))
            entries = ()
        else:
            offered.say_empty("No memory holds these words." if words.strip() else "Nothing competes for it: / looks.")
        offered.set_rows(entries, cursor=0)

    async def _competing(self) -> Sequence[MemoryEntry]:
        """The memories by their rank for the message, far beyond what a turn gets."""
        from zeroclaw_tui.curation.recall import recall_memories

        request = self._trial.request
        wide = replace(request, limit=max(request.limit, MOST_OFFERED))
        result = await recall_memories(self.library, replace(self._trial, request=wide))
        return [scored.entry for scored in result.results[:MOST_OFFERED]]

    async def _holding(self, words: str) -> Sequence[MemoryEntry]:
        sought = MemoryFilter(words=words_of(words) or None)
        return (await self.library.memory.page(sought, NEWEST_STORED, None, MOST_OFFERED)).entries
