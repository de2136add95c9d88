"""The sentences of the snapshot screen: what both have, what would be written, what came in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from textual.content import Content

from zeroclaw_tui.curation.snapshot.text import NAME
from zeroclaw_tui.memory.text import mask_secrets, one_line
from zeroclaw_tui.tui.format import absolute_time, count_text, fit
from zeroclaw_tui.tui.looks import MUTED, WARNING
from zeroclaw_tui.tui.screens.confirm import Answer
from zeroclaw_tui.tui.screens.trash_words import key_words
from zeroclaw_tui.tui.screens.working import shown_words
from zeroclaw_tui.tui.widgets.empty import KeyHint
from zeroclaw_tui.tui.words import memories_words

if TYPE_CHECKING:
    from zeroclaw_tui.curation.changes import Outcome
    from zeroclaw_tui.curation.snapshot.hydrate import HydratePlan, OnConflict
    from zeroclaw_tui.curation.snapshot.snapshot import Difference, SnapshotPlan, Where
    from zeroclaw_tui.curation.snapshot.text import Snapshot
    from zeroclaw_tui.memory.entry import MemoryEntry

_KEYS_NAMED = 4
_NOTES = 4
_SHORT_KEY = 24
_LONGEST_NAME = 120
_LONGEST_BEGINNING = 400
_COUNTED: tuple[Where, ...] = ("only here", "only there", "changed")


@dataclass(frozen=True, slots=True)
class Compared:
    """A file as it was read, and how it differs from the store."""

    path: Path
    snapshot: Snapshot
    count: int
    differences: tuple[Difference, ...]

    def having(self, where: Where | None) -> tuple[Difference, ...]:
        """Those of one kind; None: all that differ, or everything where nothing does."""
        if where is not None:
            return tuple(one for one in self.differences if one.where == where)
        return tuple(one for one in self.differences if one.where != "same")


def title_words(compared: Compared) -> tuple[str, str]:
    """Which file of when, how much is in it; and how it differs, which may be left out."""
    name = one_line(compared.path.name[:_LONGEST_NAME])
    of = f" of {absolute_time(compared.snapshot.exported)}" if compared.snapshot.exported else ""
    kind = "core memory" if compared.count == 1 else "core memories"
    if compared.path.name != NAME:
        kind = "memory" if compared.count == 1 else "memories"
    counts = Counter(one.where for one in compared.differences)
    differs = ", ".join(f"{count_text(counts[where])} {where}" for where in _COUNTED if counts[where])
    return f"{name}{of}: {count_text(compared.count)} {kind}", differs or "the store has the same"


def where_words(difference: Difference) -> str:
    """What one difference is, in a sentence."""
    here, there = difference.here, difference.there
    if there is None:
        return "Only in the store: the snapshot does not have it."
    if here is None:
        return "Only in the snapshot: the store does not have it."
    if difference.where == "same":
        return "The same in both."
    changed = absolute_time(here.updated_at or here.timestamp)
    return f"Another content in each; the store's is of {changed}."


def lost_words(lost: Sequence[str]) -> str:
    """What ZeroClaw's format loses of one memory."""
    return f"ZeroClaw's own format loses: {'; '.join(map(one_line, lost))}."


def nothing_to_bring(difference: Difference) -> str:
    """Why a row cannot be picked."""
    key = key_words(difference.key)
    if difference.there is None:
        return f"{key} is not in the snapshot, so there is nothing to bring in; w writes it there."
    return f"{key} is the same in both: there is nothing to bring in."


def write_body(plan: SnapshotPlan) -> Content:
    """What writing would write, replace and lose."""
    replaces = plan.replaces
    parts: list[str | tuple[str, str]] = [shown_words(str(plan.file))]
    if plan.foreign:
        parts += [(f"\n! {sentence}", WARNING) for sentence in map(shown_words, plan.foreign)]
    elif replaces is None:
        parts.append("\nThere is none yet.")
    else:
        of = f" of {absolute_time(replaces.exported)}" if replaces.exported else ""
        had = replaces.total if replaces.total is not None else len(replaces.entries)
        parts.append(f"\nIt replaces the one{of} with {memories_words(had)}; u brings that back.")
    if plan.lossy:
        named = [f"\n  {_short(key)}: {'; '.join(map(one_line, lost))}" for key, lost in plan.lossy[:_KEYS_NAMED]]
        more = len(plan.lossy) - len(named)
        count = "1 of them loses" if len(plan.lossy) == 1 else f"{count_text(len(plan.lossy))} of them lose"
        parts += [
            "\n\n",
            (f"! {count} something in ZeroClaw's own format:", WARNING),
            (shown_words("".join(named)), MUTED),
        ]
        parts += [(f"\n  … and {count_text(more)} more", MUTED)] if more else []
    vectors = "" if plan.vectors else ", but their vectors, which are too many"
    beside = f"{one_line(plan.beside.name)} is written beside it and holds everything without loss{vectors}."
    parts.append((f"\n\n{beside}", MUTED))
    return Content.assemble(*parts)


def foreign_words(plan: SnapshotPlan) -> str:
    """That another program's files are in the way, and what becomes of them."""
    return f"{' '.join(map(shown_words, plan.foreign))}\n\nWhat is replaced is kept: u brings it back."


def written_words(outcome: Outcome) -> str:
    """What a write came to."""
    return " ".join([f"{memories_words(outcome.count)} written · u takes it back.", *map(one_line, outcome.notes)])


def hydrate_title(plan: HydratePlan) -> str:
    """The question of a plan."""
    return f"Bring {memories_words(len(plan.new) + len(plan.conflicts))} into the store?"


def hydrate_body(plan: HydratePlan) -> Content:
    """What is new, what has another content here, and what was lost on the way."""
    facts = [
        f"{count_text(len(plan.new))} new" if plan.new else "",
        f"{count_text(len(plan.conflicts))} with another content here" if plan.conflicts else "",
        f"{count_text(plan.same)} the same in both" if plan.same else "",
    ]
    parts: list[str | tuple[str, str]] = [" · ".join(fact for fact in facts if fact)]
    parts += _keys("\nOther content here: ", [entry.key for entry in plan.conflicts])
    if plan.lost:
        keys = [key for key, _ in plan.lost]
        parts += ["\n", (f"! ZeroClaw's own format lost something of {_named(keys)}.", WARNING)]
    parts += [(f"\n{shown_words(note)}", MUTED) for note in plan.notes[:_NOTES]]
    return Content.assemble(*parts)


def hydrate_answers(plan: HydratePlan) -> list[tuple[Answer, OnConflict | Literal["each"]]]:
    """The ways to bring them in."""
    new, conflicts = count_text(len(plan.new)), count_text(len(plan.conflicts))
    if not plan.conflicts:
        return [(Answer("y", f"Bring in the {new} new"), "skip")]
    them = "the other one" if len(plan.conflicts) == 1 else f"the other {conflicts}"
    answers: list[tuple[Answer, OnConflict | Literal["each"]]] = []
    if plan.new:
        answers.append((Answer("s", f"Only the {new} new", f"{them} {_stay(plan.conflicts)} as here"), "skip"))
    answers += [
        (Answer("o", f"Overwrite {conflicts}", "what is here goes to the trash"), "overwrite"),
        (Answer("r", f"Put {conflicts} beside", "under keys that are free"), "rename"),
    ]
    if len(plan.conflicts) > 1:
        answers.append((Answer("e", "Decide for each", "one question a memory"), "each"))
    return answers


def one_conflict_title(number: int, total: int, there: MemoryEntry) -> str:
    """Which of the conflicts is asked about."""
    return f"{number} of {total}: {key_words(mask_secrets(there.key))} has another content here"


def one_conflict_body(there: MemoryEntry, here: MemoryEntry) -> Content:
    """The beginnings of both."""
    begins = [one_line(mask_secrets(entry.content[:_LONGEST_BEGINNING])) for entry in (here, there)]
    dates = [absolute_time(entry.updated_at or entry.timestamp) for entry in (here, there)]
    return Content.assemble(
        (f"- in the store, {dates[0]}\n", MUTED), begins[0], (f"\n\n+ in the snapshot, {dates[1]}\n", MUTED), begins[1]
    )


ONE_CONFLICT_ANSWERS: tuple[tuple[Answer, OnConflict], ...] = (
    (Answer("s", "Skip it", "the store's stays as it is"), "skip"),
    (Answer("o", "Overwrite it", "what is here goes to the trash"), "overwrite"),
    (Answer("r", "Put it beside", "under a key that is free"), "rename"),
)


def came_in_words(outcome: Outcome) -> str:
    """What came in."""
    if outcome.count == 0:
        return " ".join(["Nothing had to be brought in.", *map(one_line, outcome.notes)])
    stopped = ["It was stopped before the rest."] if outcome.cancelled else []
    renamed = [f"{key_words(old)} is now {key_words(new)}." for old, new in list(outcome.renamed.items())[:2]]
    more = len(outcome.renamed) - len(renamed)
    names = [*renamed, *([f"{count_text(more)} more came under other keys."] if more else [])]
    said = f"{memories_words(outcome.count)} came in · u takes {'it' if outcome.count == 1 else 'them'} back."
    return " ".join([said, *names, *stopped, *map(one_line, outcome.notes)])


def empty_part_words(where: Where | None, compared: Compared) -> tuple[str, str, tuple[KeyHint, ...]]:
    """Why no row is shown."""
    if where is None and not compared.differences:
        return "Neither the store nor the snapshot has a core memory.", "", (("esc", "back"),)
    if where is None:
        return (
            f"Store and snapshot have the same {memories_words(len(compared.differences))}.",
            "What is written or edited from now on is listed here until the snapshot is written again.",
            (("f", "show them"), ("esc", "back")),
        )
    return f"Nothing is {where}.", "", (("f", "the next kind"), ("esc", "back"))


def _keys(label: str, keys: Sequence[str]) -> list[str | tuple[str, str]]:
    return [(f"{label}{_named(keys)}", MUTED)] if keys else []


def _named(keys: Sequence[str]) -> str:
    named = ", ".join(map(_short, keys[:_KEYS_NAMED]))
    more = len(keys) - _KEYS_NAMED
    return f"{named} and {count_text(more)} more" if more > 0 else named


def _short(key: str) -> str:
    return fit(key_words(key), _SHORT_KEY).rstrip()


def _stay(conflicts: Sequence[object]) -> str:
    return "stays" if len(conflicts) == 1 else "stay"
