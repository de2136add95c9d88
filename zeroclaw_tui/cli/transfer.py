"""The verbs export (to a file), import (from a file) and copy (to another store)."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from zeroclaw_tui.cli import options, output, plans
from zeroclaw_tui.cli.options import option
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, YELLOW, Line, Styled, runnable
from zeroclaw_tui.cli.verbs import CHANGED, verb
from zeroclaw_tui.curation.outcome import renaming_sentences, superseded_sentence
from zeroclaw_tui.memory.errors import DONE, REFUSED, InspectorError, NotReachable, Refused, UsageError
from zeroclaw_tui.memory.text import counted, display_text, first_names, mask_secrets, one_line, size_shown

if TYPE_CHECKING:
    from zeroclaw_tui.curation.export import ExportFormat
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.curation.transfer.plan import Plan, Target
    from zeroclaw_tui.memory.change import OnConflict
    from zeroclaw_tui.memory.query import MemoryFilter


FORMATS = ("jsonl", "csv", "markdown")
SOURCES = ("jsonl", "csv", "snapshot", "openclaw", "claude", "mcp", "rmem", "mem0")
ON_CONFLICT = options.conflict_options(
    "on_conflict",
    "skip",
    skip="Skip memories whose key is taken (default)",
    overwrite="Replace existing memories; undo restores them",
    rename="Add them under another key",
)
Done = TypeVar("Done", bound="Outcome")


@verb(
    "export",
    "{file, count, size, format, lost, superseded_hidden}",
    options=[
        option("file", nargs="?", default="-", metavar="FILE", help="File to write (default: -, stdout)"),
        option(
            "--format",
            choices=FORMATS,
            metavar="NAME",
            help="%(choices)s (default: by the file name, else jsonl). CSV holds every text unchanged, also text that"
            " starts with = and that a spreadsheet reads as a formula",
        ),
        option("--vectors", action="store_true", help="Include the vectors (JSONL only)"),
        option("--overwrite", action="store_true", help="Replace an existing file"),
        options.FILTERS,
    ],
    agents=options.OWN_MEMORIES,
    examples=("export memories.jsonl", "export core.csv --category core"),
)
async def export(library: Library, args: argparse.Namespace) -> int:
    """Write the memories that match the filters; losses of the format are reported on stderr."""
    from zeroclaw_tui.curation.export import export_file, export_memories

    filters = options.build_filter(args)
    if args.file == options.STDIN:
        if args.json:
            raise UsageError("Stdout takes the memories or a document, not both.", hint="Name a file for --json.")
        exported = await export_memories(library, filters, _stdout(), _format(args), vectors=args.vectors)
        sys.stdout.buffer.flush()
        output.notes(filter(None, (*exported.lost, superseded_sentence(await library.superseded_hidden(filters)))))
        return DONE
    path = options.parse_path(args.file)
    with plans.Progress("Exporting", await library.memory.count()) as progress:
        exported = await export_file(
            library, filters, path, _format(args),
            vectors=args.vectors, overwrite=args.overwrite, on_progress=progress.advance,
        )  # fmt: skip
    hidden = await library.superseded_hidden(filters)
    if not args.json:
        output.notes(filter(None, (*exported.lost, superseded_sentence(hidden))))
    headline = f" Exported {counted(exported.count)} to {path} ({size_shown(exported.size)})."
    document = {"file": str(path), **exported.as_json(), "superseded_hidden": hidden}
    return output.print_result(args, document, [(Styled("✓", GREEN), headline)])


def _stdout() -> BinaryIO:
    sys.stdout.flush()
    return _CleanedStdout() if sys.stdout.isatty() else sys.stdout.buffer


class _CleanedStdout(io.BytesIO):
    """Writes cleaned memories to a terminal, which would obey control characters; files and pipes get exact bytes."""

    def write(self, data: Any) -> int:
        """Write a memory."""
        sys.stdout.write(display_text(bytes(data).decode("utf-8", "replace")))
        return len(data)


def _format(args: argparse.Namespace) -> ExportFormat:
    from pathlib import Path

    from zeroclaw_tui.curation.export import SUFFIXES

    given: ExportFormat | None = args.format
    return given or SUFFIXES.get(Path(args.file).suffix.lower(), "jsonl")


@verb(
    "import",
    f"{CHANGED} and file, format, new, same, taken, samples, makes, on_clash",
    options=[
        option(
            "file", metavar="FILE_OR_FOLDER", help="An export, a table with key and content, or another tool's memories"
        ),
        option(
            "--from",
            "--format",
            dest="format",
            choices=SOURCES,
            metavar="NAME",
            help="Format of the file or directory (default: by its content): %(choices)s",
        ),
        option(
            "--with",
            dest="included",
            action="append",
            default=[],
            choices=("flagged",),
            metavar="WHAT",
            help="Also import %(choices)s texts of other tools, which seem to contain a secret or a threat",
        ),
        ON_CONFLICT,
        options.DRY_RUN,
    ],
    agents=options.OWNER,
    opens="target",
    concerns=("store",),
    examples=("import memories.jsonl --dry-run", "import ~/.openclaw/workspace --rename --yes"),
)
async def import_(target: Target, args: argparse.Namespace) -> int:
    """Check the whole file, show the plan, ask, and import it.

    The document is that of all changes with the fields of `Plan.as_json`, and `on_clash`.
    """
    from zeroclaw_tui.curation.transfer.imports import plan_import

    make_plan = partial(
        plan_import, target, options.parse_path(args.file),
        format=args.format, with_flagged=bool(args.included), agent=options.single_agent(args),
    )  # fmt: skip
    return await import_planned(target, args, make_plan)


async def import_planned(
    target: Target,
    args: argparse.Namespace,
    make_plan: Callable[..., Awaitable[Plan]],
) -> int:
    """Show a plan, ask, and carry it out; a missing store is created first."""
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.curation.transfer.imports import import_memories

    _check_writable(target, args)
    with plans.Progress("Reading") as reading:
        plan = await make_plan(on_progress=reading.advance)
    planned = Outcome(plan.verb, plan.write_count(args.on_conflict), notes=plan.notes)
    change = partial(import_memories, target, plan, args.on_conflict)
    lines = [*_import_lines(plan, args.on_conflict)]
    outcome = await _confirm_and_run(target, args, plan.verb, plan, lines, planned, change)
    if isinstance(outcome, int):
        return outcome
    headline = outcome.headline(plans.undo_hint(), one_line(plan.file.name))
    skipped = plan.taken if args.on_conflict == "skip" else 0
    left_out = [f"Left out {counted(skipped)} whose key is taken."] if skipped else []
    renamed = renaming_sentences(outcome.renamed, plans.MOST_NAMED)
    document = plans.change_document(target, outcome, **plan.as_json(), on_clash=args.on_conflict)
    output.print_result(args, document, [output.done(headline), *left_out, *renamed])
    return plans.note_stopped(outcome.count, counted(planned.count)) if outcome.cancelled else DONE


def _check_writable(target: Target, args: argparse.Namespace) -> None:
    if args.dry_run:
        return
    if args.read_only:
        raise Refused("--read-only refuses every change.", hint="Use --dry-run to show the plan.")
    if target.library is not None:
        plans.check_writable(target.library, args)


async def _confirm_and_run(
    target: Target,
    args: argparse.Namespace,
    verb: str,
    plan: Plan,
    lines: Sequence[Line],
    planned: Outcome,
    change: Callable[..., Awaitable[Done]],
    **about: Any,
) -> Done | int:
    """Show a plan, ask, and carry it out; returns the exit code if nothing is done."""
    about |= {**plan.as_json(), "on_clash": args.on_conflict}
    if args.dry_run or not planned.count:
        return plans.print_plan(args, lines, plans.change_document(target, planned, dry_run=args.dry_run, **about))
    plans.check_can_ask(f"zeroclaw memory {verb}", yes=args.yes)
    if not args.yes and not plans.confirm("Go on?", lines):
        return REFUSED
    with _options_of_target():
        await target.make()
    with plans.Progress("Copying" if verb == "copy" else "Importing", planned.count) as progress:
        outcome = await change(on_progress=progress.advance)
    output.notes((*(plan.notes if args.yes and not args.json else ()), *outcome.notes))
    return outcome


def _import_lines(plan: Plan, on_conflict: OnConflict) -> Iterator[Line]:
    name = one_line(plan.file.name)
    if not plan.write_count(on_conflict):
        what = f"of {counted(plan.count)} in {name}" if plan.count else f"{name} has no memories"
        yield f"Nothing to import: {what}"
        yield from _fact_lines(plan, on_conflict)
        return
    yield Styled(f"Import {counted(plan.write_count(on_conflict))} from {name}?", BOLD)
    yield from _fact_lines(plan, on_conflict)
    yield runnable("  `zeroclaw memory undo` reverses that.")


def _fact_lines(plan: Plan, on_conflict: OnConflict) -> Iterator[Line]:
    """Yield the facts of a copy or an import, one per line."""
    makes = [plan.makes] if plan.makes else []
    yield from (f"  {one_line(mask_secrets(fact))}" for fact in (*makes, *plan.counts(on_conflict)))
    if plan.taken:
        yield Styled(f"    {first_names(plan.samples, plan.taken)}", DIM)
    yield from (f"  {runnable(one_line(mask_secrets(sentence)))}" for sentence in plan.notes)


@verb(
    "copy",
    f"{CHANGED} and from, losses, superseded_hidden, new, same, taken, samples, makes, on_clash, verified, differs,"
    " differing, left",
    options=[
        option(
            "--to",
            required=True,
            metavar="BACKEND",
            help="Target backend (see `zeroclaw memory help backends`) or plug-in",
        ),
        option("--to-location", metavar="URL_OR_PATH", help="Target path or URL (default: from config.toml)"),
        ON_CONFLICT,
        options.DRY_RUN,
        options.FILTERS,
    ],
    agents=options.OWN_MEMORIES,
    examples=("copy --to markdown --dry-run", "copy --to sqlite --to-location new.db"),
)
async def copy(library: Library, args: argparse.Namespace) -> int:
    """Compare both stores, show the plan with its losses, ask, copy, and verify.

    The document is that of all changes, for the target, with `from`, the fields of `Plan` and `CopyOutcome`, `losses`,
    `superseded_hidden` and `on_clash`.
    """
    from zeroclaw_tui.curation.transfer.copy import open_target

    if args.to_location is not None:
        options.check_not_blank(args.to_location)
    with _options_of_target():
        target = await open_target(library, args.to, args.to_location, args.profile)
    try:
        _check_writable(target, args)
        return await _copy(library, target, args, options.build_filter(args))
    finally:
        await target.close()


async def _copy(library: Library, target: Target, args: argparse.Namespace, wanted: MemoryFilter) -> int:
    from zeroclaw_tui.curation.transfer.copy import CopyOutcome, copy_memories, plan_copy

    with plans.Progress("Comparing") as comparing:
        plan = await plan_copy(library, target, wanted, on_progress=comparing.advance)
    count = plan.write_count(args.on_conflict)
    hidden = await library.superseded_hidden(wanted)
    about: dict[str, Any] = {"from": output.place_of(library), "losses": list(plan.notes), "superseded_hidden": hidden}
    planned = CopyOutcome("copy", count, left=plan.new + plan.taken - count)
    change = partial(copy_memories, library, target, wanted, args.on_conflict)
    lines = [*_copy_lines(target, plan, args.on_conflict, superseded_sentence(hidden))]
    try:
        outcome = await _confirm_and_run(target, args, "copy", plan, lines, planned, change, **about)
    except NotReachable as error:
        error.hint = "The memories copied so far stay in the target. Copy again to continue, or undo the copy."
        raise
    if isinstance(outcome, int):
        return outcome
    copied, *more = outcome.texts(_location_text(target))
    renamed = renaming_sentences(outcome.renamed, plans.MOST_NAMED)
    undo = [_undo(target)] if outcome.action is not None else []
    document = plans.change_document(target, outcome, **about, **plan.as_json(), on_clash=args.on_conflict)
    output.print_result(args, document, [output.done(copied), *more, *renamed, *undo])
    if outcome.cancelled:
        return plans.note_stopped(outcome.count, counted(count))
    return REFUSED if outcome.differs else DONE


@contextmanager
def _options_of_target() -> Iterator[None]:
    """Make errors about the target name its options instead of those of the source."""
    try:
        yield
    except InspectorError as error:
        error.message, error.hint = (
            text.replace("--backend", "--to").replace("--location", "--to-location")
            for text in (error.message, error.hint)
        )
        raise


def _copy_lines(target: Target, plan: Plan, on_conflict: OnConflict, left_out: str) -> Iterator[Line]:
    count = plan.write_count(on_conflict)
    if count:
        yield Styled(f"Copy {counted(count)} to {_location_text(target)}?", BOLD)
    else:
        yield f"Nothing to copy of {counted(plan.count)} to {_location_text(target)}"
    yield from _fact_lines(plan, on_conflict)
    if left_out:
        yield Styled(f"  {left_out}", YELLOW)
    if count:
        yield f"  {_undo(target)}"


def _location_text(target: Target) -> str:
    return one_line(mask_secrets(target.location))


def _undo(target: Target) -> str:
    """The sentence with the command that undoes the copy; a URL with a password must be filled in."""
    import shlex

    config, location = target.config, target.config.location
    words = ["zeroclaw", "memory", "undo"]
    if config.install.config_dir is not None:
        words += ["--config-dir", str(config.install.config_dir)]
    words += ["--backend", f"{config.backend}.{config.alias}" if config.alias else config.backend]
    is_secret = location is not None and mask_secrets(location) != location
    if location is not None:
        words += ["--location", "URL" if is_secret else location]
    more = ", with the URL of --to-location," if is_secret else ""
    return f"`{one_line(shlex.join(words))}`{more} reverses that."
