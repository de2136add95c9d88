"""The fields of one memory: which can be changed, what they hold, and what of it is new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import DescendantFocus
from textual.message import Message
from textual.widgets import Input, Static, TextArea

from zeroclaw_tui.memory.change import BUILT_IN_CATEGORIES, Draft, StoredRow, Value
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.query import Facets
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.tui.widgets.content_pane import ContentPane
from zeroclaw_tui.tui.widgets.writing import LineInput, OneOf

if TYPE_CHECKING:
    from zeroclaw_tui.curation.library import Library

FIELDS = {
    "key": "key",
    "category": "category",
    "session_id": "session",
    "namespace": "namespace",
    "importance": "importance",
    "pinned": "pinned",
}
"""The fields of one line, in order, and what they are called."""
LONGEST_LINE = 5_000
"""Characters; a longer field is left as it is."""
_ALSO_TOLD_UNDER = {"session_id": "sessions", "namespace": "namespaces"}
_HINTS = {
    "key": "what no other memory is called",
    "category": "core, daily, conversation or your own",
    "session_id": "none",
    "namespace": "the store's default",
    "importance": "0 to 1",
}
_USUAL_AGENT = "default"
_NO_YES = ("no", "yes")


class EditorForm(Vertical):
    """The fields of a memory, or of a new one where `row` is None; `text` is a content to begin with."""

    class Changed(Message):
        """Something was typed."""

    def __init__(self, library: Library, row: StoredRow | None, text: str | None) -> None:
        super().__init__(id="form")
        self._library = library
        self._row = row
        self._before = _before(row)
        self._content_before = "" if row is None else row.entry().content
        self._text = self._content_before if text is None else text

    def compose(self) -> ComposeResult:
        """A line for each field, then the content."""
        with Vertical(id="fields"):
            for name, words in FIELDS.items():
                why = self._why_not(name)
                with Horizontal(classes="field -fixed" if why else "field"):
                    yield Static(words, classes="name", markup=False)
                    if why:
                        yield from self._fixed(name, why)
                    elif name == "pinned":
                        yield OneOf(_NO_YES, self._before[name], id=name)
                    else:
                        yield LineInput(self._before[name], placeholder=_HINTS[name], id=name)
            yield from self._agent()
        yield ContentPane(self._text, why_fixed=self._why_not("content"), id="content")

    def on_mount(self) -> None:
        """Start where something is most likely to be typed."""
        if self._row is None and self.query("#key").results(LineInput):
            self.query_one("#key").focus()
        else:
            self.query_one(ContentPane).focus_inside()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """The name of the field where one types stands out."""
        for field in self.query(".field"):
            field.set_class(event.widget in field.children, "-focused")

    def on_input_submitted(self) -> None:
        """Enter goes on to the next field."""
        self.screen.focus_next()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell."""
        event.stop()
        self.post_message(self.Changed())

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Tell."""
        event.stop()
        self.post_message(self.Changed())

    def on_one_of_changed(self, event: OneOf.Changed) -> None:
        """Tell."""
        event.stop()
        self.post_message(self.Changed())

    @property
    def content(self) -> str:
        """The content as it is to be stored."""
        return self.query_one(ContentPane).content

    @property
    def legend(self) -> str:
        """Which signs stand for characters that cannot be shown, where one types now."""
        line = next((line for line in self.query(LineInput) if line.has_focus), None)
        return self.query_one(ContentPane).legend if line is None else line.stand_ins.legend(line.value)

    @property
    def category(self) -> str:
        """The category as it stands."""
        return self._typed("category").strip().lower()

    def changed(self) -> tuple[str, ...]:
        """The fields that differ from what was opened, the content first."""
        content = ("content",) if self.content != self._content_before else ()
        return (*content, *(name for name in FIELDS if self._typed(name) != self._before[name]))

    @property
    def namespace(self) -> str | None:
        """The namespace as typed, None for the store's default."""
        return self._typed("namespace").strip() or None

    def typed(self) -> tuple[str, ...]:
        """Everything as it stands, to tell whether it is still the same."""
        return (self.content, *(self._typed(name) for name in FIELDS))

    def values(self) -> dict[str, Value]:
        """The fields that differ, as they are to be stored. Raises WrongUse."""
        return {name: self.content if name == "content" else _value(name, self._typed(name)) for name in self.changed()}

    def draft(self) -> Draft:
        """A new memory of all the fields. Raises WrongUse."""
        values = {name: _value(name, self._typed(name)) for name in FIELDS if not self._why_not(name)}
        agent = next((choice.value for choice in self.query("#agent").results(OneOf)), None)
        return draft_of({**values, "content": self.content}, agent)

    async def put_content(self, text: str) -> None:
        """Take a content that was written elsewhere."""
        await self.query_one(ContentPane).put(text)
        self.post_message(self.Changed())

    def suggest(self, facets: Facets) -> None:
        """Offer what other memories have."""
        found = {"category": facets.category, "session_id": facets.session, "namespace": facets.namespace}
        for name, values in found.items():
            own = BUILT_IN_CATEGORIES if name == "category" else ()
            for line in self.query(f"#{name}").results(LineInput):
                line.suggest([*own, *(values or {})])
        agents = dict.fromkeys([*self._library.config.agents, *(facets.agent or {})])
        for choice in self.query("#agent").results(OneOf):
            choice.offer(agents)

    def _typed(self, name: str) -> str:
        for line in self.query(f"#{name}").results(LineInput):
            return line.meant
        for choice in self.query(f"#{name}").results(OneOf):
            return choice.value
        return self._before[name]

    def _why_not(self, name: str) -> str | None:
        """Why a field cannot be changed, as a sentence; None when it can."""
        can = self._library.memory.capabilities
        if name in can.editable:
            return "Too long to be changed here." if len(self._before.get(name, "")) > LONGEST_LINE else None
        told = (can.why_not.get(key) for key in (name, _ALSO_TOLD_UNDER.get(name, name), "write"))
        return (
            next(filter(None, told), None)
            or self._library.read_only_because
            or f"{self._library.memory.name} keeps none."
        )

    def _fixed(self, name: str, why: str) -> ComposeResult:
        if self._row is not None and self._row.values.get(name) not in (None, ""):
            yield Static(one_line(self._before[name][:200]), classes="value", markup=False)
        yield Static(why, classes="why", markup=False)

    def _agent(self) -> ComposeResult:
        """Whose memory it is: chosen for a new one, only shown for one there is."""
        if not self._library.memory.capabilities.agents:
            return
        is_new = self._row is None
        with Horizontal(classes="field" if is_new else "field -fixed"):
            yield Static("agent", classes="name", markup=False)
            if self._row is None:
                yield OneOf(tuple(self._library.config.agents) or (_USUAL_AGENT,), _USUAL_AGENT, id="agent")
            else:
                yield Static(one_line(self._row.agent or ""), classes="value", markup=False)
                yield Static("A memory stays with its agent.", classes="why", markup=False)


def draft_of(values: Mapping[str, Value], agent: str | None) -> Draft:
    """A new memory of these fields; what is empty is left to the store's default."""
    importance, pinned = values.get("importance"), values.get("pinned")
    return Draft(
        key=str(values.get("key") or ""),
        content=str(values.get("content") or ""),
        category=str(values.get("category") or ""),
        session_id=_text_or_none(values.get("session_id")),
        namespace=_text_or_none(values.get("namespace")),
        importance=float(importance) if isinstance(importance, int | float) else None,
        pinned=None if pinned is None else bool(pinned),
        agent=agent,
    )


def _before(row: StoredRow | None) -> dict[str, str]:
    """The fields as text, as they stand when the form opens."""
    if row is None:
        return {**dict.fromkeys(FIELDS, ""), "category": "core", "pinned": _NO_YES[0]}
    entry = row.entry()
    return {
        "key": entry.key,
        "category": entry.category,
        "session_id": entry.session_id or "",
        "namespace": entry.namespace or "",
        "importance": "" if entry.importance is None else f"{entry.importance:.15g}",
        "pinned": _NO_YES[bool(entry.pinned)],
    }


def _value(name: str, typed: str) -> Value:
    if name == "pinned":
        return int(typed == _NO_YES[1])
    if name == "importance":
        return _importance(typed)
    return (typed or None) if name in ("session_id", "namespace") else typed


def _importance(typed: str) -> float | None:
    if not typed.strip():
        return None
    try:
        return float(typed.strip().replace(",", "."))
    except ValueError:
        raise WrongUse(f"Importance {typed.strip()!r} is no number.", hint="It lies between 0 and 1.") from None


def _text_or_none(value: Value) -> str | None:
    return str(value) if value else None
