"""What the four tabs ask about together, and what each of them is to the room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.containers import Container
from textual.message import Message
from textual.widget import Widget

from zeroclaw_tui.curation.recall import trial_of, turn_limit
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, Rule
from zeroclaw_tui.scoring.injection import RECALL_LIMIT
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.tui.rooms.why.trial import SETTINGS, Name, Tried
from zeroclaw_tui.tui.widgets.header import Empty, KeyHint

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

Tab = Literal["stages", "what_if", "prompt", "near"]
EmptyWords = tuple[str, str, Sequence[KeyHint]]
"""A fact, a sentence, and the keys that help."""
WAITING: EmptyWords = ("Asking the store …", "", ())


@dataclass(slots=True)
class Inquiry:
    """One message, one memory, one scoring, and what is tried of it: the same in every tab.

    `entry` is None until a memory is chosen. `number` counts up whenever the store may have another answer.
    """

    library: Library
    entry: MemoryEntry | None
    request: RecallRequest
    clock: Callable[[], datetime]
    tried: Tried = field(init=False)
    number: int = 0

    def __post_init__(self) -> None:
        # What the store would fuse for a person's eye reaches no agent: there is nothing to explain or to try on it.
        self.request = replace(self.request, own_fusion=False, as_of=self.clock().isoformat())
        before = trial_of(self.library, self.request)
        limit = turn_limit(self.library.config, before.profile, "library", self.request.agents)
        self.tried = Tried.nothing(before, {"library": limit} if limit != RECALL_LIMIT else {})

    @property
    def trial(self) -> Trial:
        """The recall with what is tried."""
        return self.tried.now

    @property
    def has_message(self) -> bool:
        """Whether there is anything to ask about."""
        return bool(self.request.query.strip())

    def ask_about(self, query: str) -> None:
        """Another message; what is tried stays."""
        self.request = replace(self.request, query=query)
        self.renew()

    def follow_rule(self, rule: Rule) -> None:
        """Another rule of injection, in the place of one that was tried."""
        self.request = replace(self.request, rule=rule)
        self.drop("injection rule")
        self.tried = self.tried.over(trial_of(self.library, self.request))

    def renew(self) -> None:
        """Take scoring and moment as they are now; what is tried stays."""
        self.request = replace(self.request, as_of=self.clock().isoformat())
        self.tried = self.tried.over(trial_of(self.library, self.request))

    def reload(self) -> None:
        """The same of a store that may have changed."""
        self.number += 1
        self.renew()

    def drop(self, name: Name) -> None:
        """Try that setting no more."""
        self.tried = next(one for one in SETTINGS if one.name == name).reset(self.tried)


class Pane(Container):
    """One tab: what it asks the store, and how it shows the answer. It is hidden while another one is shown."""

    tab: ClassVar[Tab]
    heading: ClassVar[str]
    """What the help calls its keys."""

    class Changed(Message):
        """Something else is tried, or is known of it."""

    class MoreWanted(Message):
        """What is tried asks the store for more than it was asked for."""

    def __init__(self, inquiry: Inquiry) -> None:
        super().__init__(id=self.tab)
        self.inquiry = inquiry
        self.notes: tuple[str, ...] = ()
        """What went wrong on the way of the answer."""

    @property
    def missing(self) -> EmptyWords | None:
        """What has to be chosen or typed before anything can be asked; None when nothing has."""
        raise NotImplementedError

    @property
    def is_answered(self) -> bool:
        """Whether what is shown answers what would be asked now."""
        raise NotImplementedError

    async def ask(self) -> Callable[[], None]:
        """Ask the store; gives what shows the answer. Raises InspectorError kinds, SearchInterrupted."""
        raise NotImplementedError

    def forget(self) -> None:
        """What was answered holds no more."""
        raise NotImplementedError

    @property
    def has_answer(self) -> bool:
        """Whether an answer is on the screen, to what was asked now or before."""
        raise NotImplementedError

    @property
    def failed_words(self) -> EmptyWords:
        """What stands there when nothing was answered yet and asking failed."""
        raise NotImplementedError

    @property
    def reader(self) -> Widget | None:
        """What takes the focus when the message is typed; None while there is nothing to read."""
        raise NotImplementedError

    @property
    def copied(self) -> str | None:
        """What is copied; None where there is nothing."""
        raise NotImplementedError

    @property
    def chosen(self) -> MemoryEntry | None:
        """The memory that a person put the cursor on, to be carried to the other tabs."""
        return None

    def paint(self) -> None:
        """Show what is known without asking: titles, and what depends on the width."""

    def step_out(self) -> bool:
        """One step out within the pane; False when there is none."""
        return False

    def other_pane(self) -> None:
        """To the other part of the pane, where it has two."""

    def open(self) -> None:
        """Do the primary thing."""

    def is_in(self, widget: Widget) -> bool:
        """Whether keys go to that widget; it learns of that itself only later than the next key comes."""
        return self.screen.focused is widget

    def show_empty(self, words: EmptyWords) -> None:
        """Say why there is nothing to read."""
        focused = self.screen.focused
        if focused is not None and focused in self.query("*"):
            # Hidden with the focus on it, what is read would hand that on to the line, and never get it back.
            self.screen.set_focus(None)
        self.add_class("-empty")
        self.query_one(Empty).show(*words)
