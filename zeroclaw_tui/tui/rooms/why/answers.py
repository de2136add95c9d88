"""Content of the tabs of Why: evidence for trials, titles and facts, and the rows of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from textual.content import Content

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import GatheredEvidence, Prompt, gather_evidence
from zeroclaw_tui.curation.trial_settings import RULES, TrialSetting, TriedSettings
from zeroclaw_tui.memory.days import absolute_time
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import are, counted, fit
from zeroclaw_tui.scoring.explanation import Explanation, Look
from zeroclaw_tui.scoring.profiles import Trial
from zeroclaw_tui.scoring.what_if import Comparison, compare
from zeroclaw_tui.tui.format import safe_line
from zeroclaw_tui.tui.themes import LOOKS, MUTED, STRONG, STRONG_ACCENT
from zeroclaw_tui.tui.view import EmptyMessage
from zeroclaw_tui.tui.widgets.memory_list import RankedRow, ranked_columns, ranked_rows
from zeroclaw_tui.tui.widgets.table_list import EMPTY_CONTENT, Column

Tab = Literal["explain", "what_if", "prompt"]
_NOTHING: Mapping[str, EmptyMessage] = {
    "waiting": ("Reading the store …", "", ()),
    "failed": ("The store did not answer.", "", (("r", "try again"), ("/", "another message"), ("esc", "out"))),
    "message": (
        "For which message?",
        "Type a message to see why this memory is or is not in the prompt.",
        (("/", "type the message"), ("esc", "out")),
    ),
    "entry": (
        "Which memory?",
        "Choose one in a list of memories to see every stage on its way to the prompt.",
        (("w", "what is recalled for the message"), ("esc", "out")),
    ),
}
_MAX_PART = 400
LOOKS_OF_STAGES: Mapping[Look, str] = {
    "": LOOKS["text"], "bold": STRONG, "good": LOOKS["good"], "bad": f"bold {LOOKS['bad']}", "quiet": MUTED,
    "key": STRONG_ACCENT,
}  # fmt: skip
"""The styles of the parts of an explanation."""
_MOVES = {
    "enters": ("+ enters", "good"),
    "leaves": ("− leaves", "bad"),
    "new": ("• new", "faint"),
    "lost": ("○ lost", "faint"),
}
_STAYS = ("✓ stays", "muted")


class TriedEvidence:
    """Compares trials with the current recall; the store is queried once per message and kind of search."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._gathered: list[GatheredEvidence] = []
        """The evidence for the current recall, then for trials that need more."""
        self._gathered_for: tuple[int, Trial] | None = None
        self.sessions: Sequence[str] = ()
        """The sessions that can be tried, the one with most memories first."""

    async def compare(self, store_state: int, tried: TriedSettings) -> Comparison:
        """Compare a trial with the current recall; another `store_state` means that the store may have changed."""
        if self._gathered_for != (store_state, tried.before):
            counts = await self._library.memory.count_up(MemoryFilter(), "", ("session",))
            self.sessions = tuple(name for name in counts.by.get("session", ()) if name)
            self._gathered = [await gather_evidence(self._library, tried.before)]
            self._gathered_for = store_state, tried.before
        serving = next((gathered for gathered in self._gathered if gathered.can_decide(tried.now)), None)
        if serving is None:
            serving = await gather_evidence(self._library, tried.now)
            self._gathered.append(serving)
        return compare(await self._gathered[0].replay(tried.before), await serving.replay(tried.now))


def tab_heading(tab: Tab, answer: Any, entry: MemoryEntry | None, tried: TriedSettings) -> tuple[str, Sequence[str]]:
    """The title of a tab, and facts about its answer, which may be None."""
    if tab == "what_if":
        if not isinstance(answer, Comparison):
            return "What would be recalled with other settings", ()
        title = answer.words if tried.changed else f"injected {answer.after.injected}"
        return title, (f"{len(answer.after.results)} recalled", "" if tried.changed else "settings not modified")
    if tab == "prompt":
        if not isinstance(answer, Prompt):
            return "What ZeroClaw puts before a message", ()
        lead = are(answer.entries) if answer.entries else "Nothing is"
        facts = [counted(answer.entries, "entry"), counted(answer.characters, "character")]
        facts += [f"about {counted(answer.tokens, 'token')}", f"rule: {RULES[answer.rule]}"]
        return f"{lead} put before “{safe_line(answer.result.request.query)}”", facts
    if entry is None:
        return "Why a memory is recalled, or not", ()
    title = f"Why “{safe_line(entry.key, _MAX_PART)}” is recalled, or not"
    content = safe_line(entry.content, _MAX_PART) or "(blank)"
    facts = [safe_line(entry.category, _MAX_PART), absolute_time(entry.when), content]
    return answer.title if isinstance(answer, Explanation) else title, facts


def why_nothing(missing: str, answer: Any) -> EmptyMessage | None:
    """Say why there is no text: a fact, a sentence and the keys that help; None if there is text."""
    if missing:
        return _NOTHING[missing]
    if isinstance(answer, Prompt) and not answer.text:
        keys = (("w", "try other weights and thresholds"), ("x", "why a memory is missing"))
        return "ZeroClaw puts nothing before this message.", answer.why_empty or "", keys
    if isinstance(answer, Comparison) and not answer.rows:
        sentence = answer.after.notes[0] if answer.after.notes else "No stage of the search finds a memory."
        return "Nothing is recalled for this message.", sentence, (("/", "another message"),)
    return None


def setting_value(setting: TrialSetting, tried: TriedSettings) -> Content:
    """A setting's current value, after its original one if modified."""
    now = setting.words(setting.get(tried.now))
    if setting not in tried.changed:
        return Content(now)
    was = setting.words(setting.get(tried.before))
    return Content.assemble((f"{was} → ", "muted"), (now, "final"))


def compared_rows(comparison: Comparison) -> list[RankedRow]:
    """The trial's recall in order, then withheld memories, then those no longer recalled."""
    rows = ranked_rows(comparison.after)
    shown = {row.result.entry.id for row in rows}
    left_out = [row.result for row in comparison.rows if row.result.entry.id not in shown]
    return [*rows, *(RankedRow(result, True, "no longer recalled") for result in left_out)]


def compared_columns(width: int, comparison: Comparison | None) -> Sequence[Column[Any]]:
    """The column with the change of each memory, then the columns of the trial's recall."""
    if comparison is None:
        return ()
    compared = {row.result.entry.id: row for row in comparison.rows}

    def move_of(row: RankedRow, cells: int) -> Content:
        """The sign of a change, and its word if there is room."""
        found = compared.get(row.result.entry.id)
        stays = _STAYS if found is not None and found.is_injected else ("", "faint")
        words, look = stays if found is None else _MOVES.get(found.move, stays)
        return Content.styled(words[:cells].ljust(cells), look)

    cells = 8 if width >= 50 else 1
    move = Column[Any]("", width=cells, draw=move_of)
    return [move, *ranked_columns(width - cells - 1, comparison.after, _draw_memory)]


def _draw_memory(row: RankedRow, cells: int) -> Content:
    """The reason why it is not injected, unless the threshold line says so, and the beginning of its content."""
    words = safe_line(row.result.entry.content) or EMPTY_CONTENT
    if row.reason:
        words = f"{row.reason} · {words}"
    return Content(fit(words, cells))
