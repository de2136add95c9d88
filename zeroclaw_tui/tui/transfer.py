"""Export, import, copy to another store, and create a database from its snapshot.

Each operation shows its plan and asks, shows its progress, and returns a report.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from textual.app import App
from textual.content import Content

from zeroclaw_tui.backends.lookup import count_matching
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.config_choice import Candidate
from zeroclaw_tui.curation.export import SUFFIXES, ExportFormat, export_file
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.outcome import Outcome, superseded_sentence
from zeroclaw_tui.curation.transfer.imports import import_memories, plan_import
from zeroclaw_tui.curation.transfer.plan import Plan, Target
from zeroclaw_tui.memory.change import OnConflict
from zeroclaw_tui.memory.errors import InspectorError, UsageError
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.memory.text import counted, first_names, one_line, size_shown, with_tilde
from zeroclaw_tui.tui.commands import show_failure
from zeroclaw_tui.tui.dialogs import Answer, Field, Form, Question, ask_path, parse_path, with_progress, yes_or_no
from zeroclaw_tui.tui.format import safe_line, safe_text
from zeroclaw_tui.tui.store_room import key_text
from zeroclaw_tui.tui.themes import MUTED, WARNING
from zeroclaw_tui.tui.view import FINDS, Mode, View

_FLAGGED: Final = "flagged"
_MAX_SENTENCE = 130
_FORMATS: dict[ExportFormat, str] = {
    "jsonl": "JSONL: all columns, lossless; use it to import again.",
    "csv": "CSV: a table for other programs, without vectors.",
    "markdown": "Markdown: readable text, without vectors.",
}
_EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)


async def export_view(app: App[Any], library: Library, view: View, now: datetime, patience: float) -> str | None:
    """Ask for the file, and export the listed memories; returns the report, None if cancelled."""
    chosen, about = view.listing_filter(now), _filter_text(view)
    count = await count_matching(library.memory, chosen)
    if hidden := await library.superseded_hidden(chosen):
        about = f"{about}\n{superseded_sentence(hidden, way='“superseded” in the facets takes')}"

    def below(values: Mapping[str, str]) -> Content:
        return Content(_FORMATS[_format(parse_path(values["path"]))])

    fields = [
        Field("path", "to", safe_text(str(Path.home() / f"zeroclaw-memories-{now:%Y-%m-%d}.jsonl"))),
        *([] if "vectors" in library.memory.why_not else [Field("vectors", "vectors", "no", ("no", "yes"))]),
    ]
    form = Form(f"Export {counted(count)}?", Content.styled(about, MUTED), fields, below, does="export")
    values = await app.push_screen_wait(form)
    if values is None:
        return None
    path = parse_path(values["path"])
    how = _format(path)
    vectors = values.get("vectors") == "yes" and how == "jsonl"
    exists = await asyncio.to_thread(path.exists)
    body = Content(f"{safe_text(str(path))} already exists. Its content will be lost.")
    if exists and not await app.push_screen_wait(yes_or_no("Replace this file?", "Replace", body)):
        return None
    export = partial(export_file, library, chosen, path, how, vectors=vectors, overwrite=exists)
    exported = await with_progress(app, f"Exporting {counted(count)}", count, patience, export)
    # Vectors were left out of JSONL by choice. The path is last, without a full stop that could wrap.
    lost = "" if how == "jsonl" else f". {' '.join(exported.lost)}"
    return safe_text(f"{counted(exported.count)}, {size_shown(exported.size)}, exported to {path}{lost}")


def _format(path: Path) -> ExportFormat:
    """The format of a file name. Raises UsageError for an unknown suffix."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError("The file name has no known ending.", hint=f"Use {', '.join(SUFFIXES)}.")
    return SUFFIXES[path.suffix.lower()]


async def import_file(app: App[Any], library: Library, patience: float) -> Outcome | None:
    """Ask for a file, show the plan, and import it; None if cancelled."""
    about = "An export of this program, or a file or directory of another tool."
    target = Target.of(library)

    async def read(path: Path, *, with_flagged: bool = False) -> Plan:
        work = partial(plan_import, target, path, with_flagged=with_flagged)
        return await with_progress(app, f"Reading {clean(path.name)}", 0, patience, work)

    plan = await ask_path(app, "Import which file?", about, read)
    while plan is not None:
        outcome = await import_planned(app, target, plan, patience)
        if outcome != _FLAGGED:
            return outcome
        plan = await read(plan.file, with_flagged=True)
    return None


async def import_planned(
    app: App[Any], target: Target, plan: Plan, patience: float
) -> Outcome | Literal["flagged"] | None:
    """Show a plan, ask, and import; None if cancelled, "flagged" if the flagged memories are to be included."""
    answers: list[Answer[Any]] = [*_answers(plan, "Import", "here", "the trash")]
    if plan.flagged:
        remark = "texts with a secret or a threat"
        answers.append(Answer("f", f"Include the {plan.flagged:,} flagged", _FLAGGED, remark))
    policy: OnConflict | Literal["flagged"] | None
    policy = await app.push_screen_wait(Question(_import_title(plan), _plan_body(plan), "Cancel", answers))
    if policy is None or policy == _FLAGGED:
        return policy
    count, run = plan.write_count(policy), partial(import_memories, target, plan, policy)
    return await with_progress(app, f"Importing {counted(count)}", count, patience, run)


async def copy_to(
    app: App[Any], library: Library, candidate: Candidate, profile: str | None, patience: float
) -> str | None:
    """Compare, ask, copy and verify; returns the report, None if cancelled. Raises InspectorError."""
    from zeroclaw_tui.curation.transfer.copy import copy_memories, plan_copy

    target = await Target.at(candidate.config, profile)
    try:
        compare = partial(plan_copy, library, target, _EVERYTHING)
        plan = await with_progress(app, f"Comparing with {clean(candidate.location)}", 0, patience, compare)
        most, to = plan.new + plan.taken, clean(target.location)
        title = f"Copy {counted(most)} to {to}?" if most else f"{to} already has all of them"
        question = Question(
            title if plan.count else "Nothing to copy",
            Content.assemble(_plan_body(plan), (f"\n{clean(library.memory.about.location)} is not changed.", MUTED)),
            "Cancel",
            _answers(plan, "Copy", "there", "its trash"),
        )
        policy = await app.push_screen_wait(question)
        if policy is None:
            return None
        count, copy = plan.write_count(policy), partial(copy_memories, library, target, _EVERYTHING, policy)
        outcome = await with_progress(app, f"Copying {counted(count)}", count, patience, copy)
        return " ".join(outcome.sentences(" ".join(outcome.texts(to))))
    finally:
        await target.close()


async def make_from_snapshot(
    app: App[Any], config: MemoryConfig, version: str | None, then: Callable[[], object]
) -> None:
    """Show the snapshot's content and ask; on yes create the database for that ZeroClaw version and call `then`."""
    from zeroclaw_tui.curation.formats.snapshot import NAME
    from zeroclaw_tui.curation.snapshot import place_of, plan_hydrate

    try:
        target = await Target.at(config, version)
        plan = await plan_hydrate(target, place_of(config))
    except InspectorError as error:
        show_failure(app, error)
        return
    body = Content.assemble(
        f"{NAME} has {counted(plan.new)}.\n{safe_text(str(config.database))} will be created with them.",
        *((f"\n\n{clean(sentence, _MAX_SENTENCE)}", MUTED) for sentence in plan.notes),
        ("\n\nThe snapshot is not changed.", MUTED),
    )
    question = yes_or_no("Create the database from the snapshot?", "Create", body)
    if await app.push_screen_wait(question):
        # In a separate worker that asks nothing, so that quitting can wait for it.
        app.run_worker(_make(app, target, plan, then), group="make-store")


async def _make(app: App[Any], target: Target, plan: Plan, then: Callable[[], object]) -> None:
    try:
        outcome = await import_memories(target, plan, "skip")
    except InspectorError as error:
        show_failure(app, error)
        return
    finally:
        await target.close()
    app.notify(" ".join((f"Created the database with {counted(outcome.count)}.", *outcome.notes)), markup=False)
    then()


def _filter_text(view: View) -> str:
    """Describe which memories the list shows."""
    parts = [chip.words for chip in view.chips]
    if view.mode in FINDS and view.query:
        parts.append(f"{'matches' if view.mode is Mode.REGEX else 'contains'} “{one_line(view.query)[:60]}”")
    words = " · ".join(parts) or "All memories shown."
    # A recall only ranks memories, so the export does not filter by it.
    ignored = "\nThe search is ignored, because recall orders memories and does not filter them."
    return words + ignored if view.is_recall else words


def _import_title(plan: Plan) -> str:
    """The title of the question about an import."""
    name = clean(plan.file.name, 40)
    if not plan.count:
        return f"{name} has no memories"
    if not plan.new + plan.taken:
        return f"{name} has nothing new"
    return f"Import {counted(plan.new + plan.taken)} from {name}?"


def _plan_body(plan: Plan) -> Content:
    """Describe a plan: new memories, existing ones, what is created first, and what gets lost."""
    parts: list[str | tuple[str, str]] = [" · ".join(plan.counts())]
    if plan.samples:
        keys = first_names(list(map(key_text, plan.samples)), plan.taken, most=4, longest=24)
        parts.append((f"\nAlready in use: {keys}", MUTED))
    if plan.makes:
        parts.append(f"\n{clean(plan.makes, _MAX_SENTENCE)}")
    parts += [(f"\n! {clean(sentence, _MAX_SENTENCE)}", WARNING) for sentence in plan.notes]
    return Content.assemble(*parts)


def _answers(plan: Plan, verb: str, where: str, trash: str) -> list[Answer[OnConflict]]:
    """The answers: import the new memories; for keys that are taken, also overwrite or keep both."""
    new, taken = plan.new, plan.taken
    if not taken:
        return [Answer("y", f"{verb} the {new:,} new", "skip")] if new else []
    others = "the other one is not changed" if taken == 1 else f"the other {taken:,} are not changed"
    only_new: list[Answer[OnConflict]] = [Answer("s", f"Only the {new:,} new", "skip", f"{others} {where}")]
    return [
        *(only_new if new else []),
        Answer("o", f"Overwrite {taken:,}", "overwrite", f"the versions {where} go to {trash}"),
        Answer("r", f"Keep both ({taken:,})", "rename", "under new keys"),
    ]


def clean(text: str, most: int = 2_000) -> str:
    """A path, an address or a server's message as one line of at most `most` cells without secrets."""
    return safe_line(with_tilde(text), most)
