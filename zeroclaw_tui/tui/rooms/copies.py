"""Other copies of a memory's text: clean them with undo, or erase the text everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from textual.app import App
from textual.content import Content

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.traces.copies import clean_copies, cleaned_sentence, matcher_for
from zeroclaw_tui.curation.traces.erase import EraseReport, erase_texts, plan_erase
from zeroclaw_tui.curation.traces.matcher import TextMatcher
from zeroclaw_tui.curation.traces.search import TextPlace
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.text import NO_VALUE, counted, with_tilde
from zeroclaw_tui.tui.dialogs import Field, Form, Page, typed_confirmation, with_progress, yes_or_no
from zeroclaw_tui.tui.format import safe_line
from zeroclaw_tui.tui.themes import ACCENT, MUTED
from zeroclaw_tui.tui.widgets.table_list import MARKED


async def clean(app: App[Any], library: Library, copies: Sequence[TextPlace], patience: float) -> str | None:
    """Show the places, and clean them after confirmation; returns the report, None if nothing was cleaned. Runs in a
    worker. Raises InspectorError."""
    chosen = [] if library.read_only_because else [copy for copy in copies if copy.can_clean]
    title = f"The text is still in {counted(len(copies), 'place')}" if copies else "No other copies were found."
    body = Content.assemble(safe_line(library.read_only_because or ""), *_places(copies))
    if not chosen:
        await app.push_screen_wait(Page(title, body))
        return None
    if not await app.push_screen_wait(yes_or_no(title, f"Clean {counted(len(chosen), 'place')}", body)):
        return None

    outcome = await with_progress(app, "Cleaning …", 0, patience, lambda on_progress: clean_copies(library, chosen))
    done = f"✓ {cleaned_sentence(outcome)} · u reverses that." if outcome.count else cleaned_sentence(outcome)
    return " ".join([done, *outcome.notes])


async def erase(
    app: App[Any], library: Library, marked: Sequence[MemoryEntry], patience: float, *, here: MemoryEntry | None = None
) -> EraseReport | None:
    """Ask for a text to erase with the marked memories, show all places, ask for a typed confirmation, and report the
    result; None if nothing was erased. Without marks and text, the memory `here` is erased. Runs in a worker. Raises
    InspectorError."""
    what, asks = "a text", "The text to erase (case-insensitive)."
    if marked:
        what = f"{counted(len(marked))} and {'its' if len(marked) == 1 else 'their'} text"
        asks = "Another text to erase, such as a name. Leave it empty to erase only the marked memories."
    elif here is not None:
        key = safe_line(here.key, 30)
        asks = f"The text to erase (case-insensitive). Leave it empty to erase the memory {key} and its text."

    def to_erase(typed: str) -> tuple[TextMatcher, list[str]]:
        """The texts, and the ids of the memories to erase with them. Raises UsageError."""
        entries = [here] if here is not None and not marked and not typed.strip() else marked
        return matcher_for([entry.content for entry in entries], typed), [entry.id for entry in entries]

    def below(values: Mapping[str, str]) -> Content:
        try:
            to_erase(values["text"])
        except UsageError as error:
            raise UsageError(error.message, hint=asks) from error
        return Content(asks)

    form = Form(f"Erase {what} from the whole install", None, [Field("text", "text")], below, does="search")
    typed = await app.push_screen_wait(form)
    if typed is None:
        return None
    matcher, ids = to_erase(typed["text"])
    search = partial(plan_erase, library, matcher, ids)
    plan = await with_progress(app, "Searching every file …", 0, patience, lambda on_progress: search())
    parts: list[str | tuple[str, str]] = [f"{safe_line(sentence)}\n" for sentence in plan.sentences()]
    if plan.to_erase:
        parts.append("This cannot be undone: it also deletes these rows from the trash.\n")
    body = Content.assemble(*parts, *_places(plan.places))
    if not plan.to_erase:
        await app.push_screen_wait(Page(plan.title, body))
        return None
    title = f"Found in {counted(len(plan.places), 'place')}; can be erased in {len(plan.to_erase):,}"
    question = typed_confirmation(title, body, "erase", "erase")
    question.must_be_seen = True
    if not await app.push_screen_wait(question):
        return None
    sentence = "Erasing, then searching every file again …"
    report = await with_progress(app, sentence, len(plan.to_erase), patience, partial(erase_texts, library, plan))
    lines = [safe_line(line) for line in report.sentences()[:-1]]
    head = f"✓ {report.outcome}" if report.is_complete else report.outcome
    await app.push_screen_wait(Page(head, Content("\n".join(lines))))
    return report


def _places(places: Sequence[TextPlace]) -> Iterator[str | tuple[str, str]]:
    """A line per place with its kind, path and number of occurrences, and why it is not cleaned."""
    for place in places:
        glyph, look = ((MARKED, ACCENT), "") if place.can_clean else ((NO_VALUE, MUTED), MUTED)
        where = f" {place.kind}  {safe_line(with_tilde(place.place))}  {place.count or 0:,}"
        yield from ("\n", glyph, (where, look), (f"\n  {safe_line(place.why)}" if place.why else "", MUTED))
