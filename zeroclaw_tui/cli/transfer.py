"""What takes memories out of one store or file and brings them into another: export, import and copy."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from zeroclaw_tui.cli.options import OWN_MEMORIES, OWNER, add_dry_run, add_filters, agent_given, filter_given
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, YELLOW, Styled, document, note, write_lines
from zeroclaw_tui.cli.plans import (
    MOST_NAMED,
    NOTHING_DONE,
    Progress,
    check_can_ask,
    check_writable,
    confirm,
    print_change,
    print_notes,
    undo_hint,
    with_triggers,
)
from zeroclaw_tui.cli.verbs import CHANGED, verb
from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.memory.errors import (
    DONE,
    INTERRUPTED,
    REFUSED,
    InspectorError,
    NotReachable,
    Refused,
    Unreadable,
    UsageError,
)
from zeroclaw_tui.memory.text import (
    counted,
    display_text,
    first_names,
    mask_secrets,
    one_line,
    renamed_sentences,
    size_shown,
)

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from zeroclaw_tui.cli.output import Line
    from zeroclaw_tui.curation.export import ExportFormat, ExportOutcome
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.curation.transfer.copy import CopyOutcome, CopyPlan
    from zeroclaw_tui.curation.transfer.imports import ImportPlan
    from zeroclaw_tui.curation.transfer.plan import OnClash, Plan
    from zeroclaw_tui.curation.transfer.target import Target
    from zeroclaw_tui.memory.query import MemoryFilter


FORMATS = ("jsonl", "csv", "markdown")
SOURCES = ("jsonl", "csv", "snapshot", "openclaw", "claude", "mcp", "rmem", "mem0")
_CLASHES = (
    ("skip", "skip memories whose key is taken (default)"),
    ("overwrite", "replace existing memories; undo restores them"),
    ("rename", "add them under another key"),
)


STDOUT = "-"
_BUFFER = 1 << 18


def _export_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="File to write (default: -, stdout)")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        metavar="NAME",
        help="%(choices)s (default: by the file name, else jsonl). CSV holds every text unchanged, also text that"
        " starts with = and that a spreadsheet reads as a formula",
    )
    parser.add_argument("--vectors", action="store_true", help="Include the vectors (JSONL only)")
    parser.add_argument("--overwrite", action="store_true", help="Replace an existing file")
    add_filters(parser)


@verb(
    "export",
    "Export memories to JSONL (lossless), CSV or Markdown",
    "{file, count, size, format, lost, superseded_hidden, filtered_out}",
    _export_options,
    agents=OWN_MEMORIES,
)
async def export(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Write what the filters leave; what the format loses goes to stderr.

    With --json and a file the document is {"file", "count", "size", "format", "lost", "superseded_hidden",
    "filtered_out"}: how many memories and bytes were written, sentences about what the format cannot hold, and how many
    memories were left out because a newer one replaced them, or by the other filters. Nothing in an export is altered
    for spreadsheets.
    """
    wanted = filter_given(given, now)
    if given.file == STDOUT:
        return await _to_stdout(library, given, wanted)
    return await _to_file(library, given, wanted, expanded(given.file))


async def _to_stdout(library: Library, given: argparse.Namespace, wanted: MemoryFilter) -> int:
    from zeroclaw_tui.curation.export import export_memories

    if given.json:
        raise UsageError(
            "Stdout takes the memories or a document about them, not both.",
            hint="Name a file for --json; --format jsonl writes JSON lines.",
        )
    # What stdout buffers of its own must come first.
    sys.stdout.flush()
    try:
        with Progress("Exporting", 0, cancels_task=True) as progress, _stdout() as out:
            exported = await export_memories(
                library, wanted, out, _format(given), vectors=given.vectors, on_progress=progress.advance
            )
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unreadable(
            f"Stdout cannot be written: {error.strerror}.", hint="Name a file in another place."
        ) from error
    if exported.cancelled:
        note(f"zeroclaw: Stopped after {counted(exported.count)}.")
        return INTERRUPTED
    _print_sentences((*exported.lost, *_left_out_sentences(*await _left_out(library, wanted, exported))))
    return DONE


def _stdout() -> BinaryIO:
    """With a buffer of its own: what is left in that of sys.stdout after a failure would fail again at the end."""
    out = open(sys.stdout.fileno(), "wb", buffering=_BUFFER, closefd=False)  # noqa: SIM115
    return io.BufferedWriter(_ForEyes(out)) if sys.stdout.isatty() else out


class _ForEyes(io.RawIOBase):
    """A terminal would act on what memories contain, so it is shown cleaned; files and pipes get the very bytes."""

    def __init__(self, out: BinaryIO) -> None:
        from codecs import getincrementaldecoder

        self._out = out
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Write what may be seen of it; all is taken."""
        self._out.write(display_text(self._decoder.decode(bytes(data))).encode("utf-8", "replace"))
        return len(data)

    def close(self) -> None:
        """Write what is pending."""
        if not self.closed:
            self._out.close()
        super().close()


async def _to_file(library: Library, given: argparse.Namespace, wanted: MemoryFilter, path: Path) -> int:
    from zeroclaw_tui.curation.export import export_file

    total = await library.memory.count()
    with Progress("Exporting", total, cancels_task=True) as progress:
        exported = await export_file(
            library, wanted, path, _format(given),
            vectors=given.vectors, overwrite=given.overwrite, on_progress=progress.advance,
        )  # fmt: skip
    if exported.cancelled:
        note(f"zeroclaw: Stopped; {path} was not written.")
        return INTERRUPTED
    superseded, filtered = await _left_out(library, wanted, exported)
    if given.json:
        left_out = {"superseded_hidden": superseded, "filtered_out": filtered}
        document({"file": str(path), **exported.as_json(), **left_out})
        return DONE
    done = f" Exported {counted(exported.count)} to {path} ({size_shown(exported.size)})."
    write_lines([(Styled("✓", GREEN), done)])
    _print_sentences((*exported.lost, *_left_out_sentences(superseded, filtered)))
    return DONE


async def _left_out(library: Library, wanted: MemoryFilter, exported: ExportOutcome) -> tuple[int, int]:
    """How many superseded memories were left out, and how many others by the filters."""
    hidden = await library.superseded_hidden(wanted)
    return hidden, 0 if wanted.is_empty else max(0, await library.memory.count() - exported.count - hidden)


def _left_out_sentences(superseded: int, filtered: int) -> list[str]:
    from zeroclaw_tui.curation.export import left_out_sentences

    return list(filter(None, [left_out_sentences(superseded, filtered)]))


def expanded(name: str) -> Path:
    """A path as typed, with ~ as the home folder."""
    from pathlib import Path

    return Path(name).expanduser()


def _format(given: argparse.Namespace) -> ExportFormat:
    from pathlib import Path

    from zeroclaw_tui.curation.export import SUFFIXES

    named: ExportFormat | None = given.format
    return named or SUFFIXES.get(Path(given.file).suffix.lower(), "jsonl")


def _print_sentences(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        note(f"zeroclaw: {sentence}")


def _to_import(text: str) -> str:
    if text == "-":
        raise argparse.ArgumentTypeError(
            "stdin cannot be imported, because a file is read more than once; save it to a file first"
        )
    return text


def _import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=_to_import,
        metavar="FILE_OR_FOLDER",
        help="An export, a table with key and content, or another tool's memories",
    )
    parser.add_argument(
        "--from",
        "--format",
        dest="format",
        choices=SOURCES,
        metavar="NAME",
        help="format of the file or directory (default: by its content): %(choices)s",
    )
    parser.add_argument(
        "--with",
        dest="included",
        action="append",
        default=[],
        choices=("flagged",),
        metavar="WHAT",
        help="Also import %(choices)s texts, which seem to contain a secret or a threat",
    )
    add_conflict_options(parser)
    add_dry_run(parser)


@verb(
    "import",
    "Import memories from a file or directory",
    CHANGED,
    _import_options,
    agents=OWNER,
    checks=agent_given,
    makes_store=True,
    changes=True,
    concerns=("store",),
    tells_facts=True,
)
async def import_(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Check the whole file, say what it would bring, ask, and do it.

    Its document is that of every change (see `print_change`) with these names: "file", "format", "title" and "why"
    (what it is taken for, and how that was known), "new", "same", "taken" (how many of the file are not there, are
    there the same, have a key that is taken), "samples" (the first keys that are taken), "previews" (the first three
    new memories as the store will have them), "makes" (a sentence, or null: what is made first) and "on_clash" ("skip",
    "overwrite" or "rename"). `count` is how many were brought in, or would be.
    """
    from zeroclaw_tui.curation.transfer.target import Target

    return await _import(Target.of(library), given)


async def import_to_new(target: Target, given: argparse.Namespace) -> int:
    """The same into a store that is made first."""
    if given.read_only and not given.dry_run:
        raise Refused("--read-only refuses every write.", hint="Use --dry-run to show the plan.")
    return await _import(target, given)


async def _import(target: Target, given: argparse.Namespace) -> int:
    from zeroclaw_tui.curation.transfer.imports import ImportOptions, plan_import

    options = ImportOptions(given.format, bool(given.included), agent_given(given))
    make_plan = partial(plan_import, target, expanded(given.file), options)
    return await import_planned(target, given, "import", make_plan)


async def import_planned(
    target: Target,
    given: argparse.Namespace,
    verb: Literal["import", "hydrate"],
    make_plan: Callable[..., Awaitable[ImportPlan]],
) -> int:
    """Show a plan, ask, and carry it out; the store is made first where there is none."""
    from zeroclaw_tui.curation.transfer.imports import import_memories

    library = target.library
    if library is not None and not given.dry_run:
        check_writable(library, given)
    on_clash: OnClash = given.on_clash
    with Progress("Reading", None) as reading:
        plan = await make_plan(on_progress=reading.advance)
    count = plan.brings(on_clash)
    if given.dry_run or not count:
        _print_plan(target, given, verb, plan, count)
        return DONE
    check_can_ask(verb, yes=given.yes)
    if not given.yes and not confirm("Go on?", _plan_lines(plan, on_clash)):
        return REFUSED
    opened = await target.make()
    with Progress("Importing", count) as progress:
        outcome = await with_triggers(
            opened, given, lambda: import_memories(target, plan, on_clash, on_progress=progress.advance), asks=True
        )
    return REFUSED if outcome is None else _print_done(opened, given, plan, outcome)


def _plan_lines(plan: ImportPlan, on_clash: OnClash) -> Iterator[Line]:
    yield (Styled(f"Import {counted(plan.brings(on_clash))} from {one_line(plan.path.name)}?", BOLD),)
    if plan.why:
        yield ("  ", plan.source_text)
    yield from _fact_lines(plan, on_clash)
    for key, about, content in plan.preview_texts():
        yield (Styled(f"  {key} ({about})", BOLD),)
        yield (Styled(f"    {content}", DIM),)
    yield (runnable("  `zeroclaw memory undo` reverses that."),)


def _print_plan(
    target: Target, given: argparse.Namespace, verb: Literal["import", "hydrate"], plan: ImportPlan, count: int
) -> None:
    from zeroclaw_tui.curation.outcome import Outcome

    if given.json:
        planned = Outcome(verb, count if given.dry_run else 0, notes=(*plan.losses, *plan.notes))
        print_change(target, planned, dry_run=given.dry_run, **_document(plan, given))
        return
    if count:
        write_lines(_plan_lines(plan, given.on_clash))
    else:
        name = one_line(plan.path.name)
        what = f"of {counted(plan.count)} in {name}" if plan.count else f"{name} holds no memory"
        write_lines([("Nothing to import: ", what), *_fact_lines(plan, given.on_clash)])
    if given.dry_run:
        note(NOTHING_DONE)


def _print_done(library: Library, given: argparse.Namespace, plan: ImportPlan, outcome: Outcome) -> int:
    _print_sentences(plan.sentences() if given.yes and not given.json else ())
    print_notes(outcome)
    if given.json:
        print_change(library, outcome, **_document(plan, given))
    else:
        lines: list[Line] = [(Styled("✓", GREEN), f" {outcome.headline(undo_hint(), one_line(plan.path.name))}")]
        if given.on_clash == "skip" and plan.taken:
            lines.append((f"Left out {counted(plan.taken)} whose key is taken.",))
        write_lines([*lines, *((sentence,) for sentence in renamed_sentences(outcome.renamed, MOST_NAMED))])
    return _stopped("import", plan, given, outcome) or DONE


def _stopped(verb: str, plan: Plan, given: argparse.Namespace, outcome: Outcome) -> int:
    """The exit code of an outcome that was stopped, which is said; else 0."""
    if not outcome.cancelled:
        return 0
    rest = counted(plan.brings(given.on_clash))
    note(f"zeroclaw: Stopped after {outcome.count:,} of {rest}; {verb} again to continue.")
    return INTERRUPTED


def _document(plan: ImportPlan, given: argparse.Namespace) -> dict[str, Any]:
    return {**plan.as_json(), "on_clash": given.on_clash}


def _copy_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--to",
        required=True,
        metavar="BACKEND",
        help="Target backend (see `zeroclaw memory help backends`) or plug-in",
    )
    parser.add_argument("--to-location", metavar="URL_OR_PATH", help="Target path or URL (default: from config.toml)")
    add_conflict_options(parser)
    add_dry_run(parser)
    add_filters(parser)


@verb(
    "copy",
    "Copy memories to another store and verify them",
    CHANGED,
    _copy_options,
    agents=OWN_MEMORIES,
)
async def copy(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Compare both stores, say what would come over and what would be lost, ask, do it, and check it.

    The options of every verb name the store to copy from; it is only read. The document is that of every change of the
    target (see `print_change`) with these names: "from" ({"backend", "location"}), "new", "same", "taken" (how many of
    the source are not there, are there the same, have an id or a key that is taken), "samples" (the first keys that are
    taken), "losses" (sentences: what the target does not keep), "makes" (a sentence, or null: what is made first),
    "on_clash" ("skip", "overwrite" or "rename"), "verified" (how many were found again, the same in all that
    the target keeps), "differs" and "differing" (how many were not, and the first hundred of their keys), "left" (how
    many were left out, or would be), "superseded_hidden" and "filtered_out" (how many of the source stayed because a
    newer memory replaced them, or by the other filters). `count` is how many were copied, or would be.
    """
    from zeroclaw_tui.curation.transfer.copy import open_target

    if not given.dry_run:
        if given.read_only:
            raise Refused("--read-only refuses every write.", hint="Use --dry-run to show the plan.")
        check_can_ask("copy", yes=given.yes)
    with _naming_the_target():
        target = await open_target(library, given.to, given.to_location, given.profile)
    try:
        if target.library is not None and not given.dry_run:
            check_writable(target.library, given)
        return await _copy(library, target, given, now)
    finally:
        await target.close()


async def _copy(library: Library, target: Target, given: argparse.Namespace, now: datetime) -> int:
    from zeroclaw_tui.curation.transfer.copy import CopyOutcome, copy_memories, plan_copy

    wanted, on_clash = filter_given(given, now), given.on_clash
    with Progress("Comparing", None) as comparing:
        plan = await plan_copy(library, target, wanted, on_progress=comparing.advance)
    count = plan.brings(on_clash)
    if given.dry_run or not (count or target.library is not None):
        # Nobody asked for an empty store.
        planned = CopyOutcome("copy", count, left=plan.new + plan.taken - count)
        _print_copy_plan(library, target, given, plan, planned)
        return DONE
    if count and not given.yes and not confirm("Go on?", _copy_lines(target, plan, on_clash)):
        return REFUSED
    with _naming_the_target():
        opened = await target.make()
    try:
        with Progress("Copying", count) as progress:
            copy = partial(copy_memories, library, target, wanted, on_clash, on_progress=progress.advance)
            outcome = await with_triggers(opened, given, copy, asks=True)
    except NotReachable as error:
        error.hint = "The memories copied so far stay in the target. Copy again to continue, or undo the copy."
        raise
    return REFUSED if outcome is None else await _print_copied(library, target, given, plan, outcome)


@contextmanager
def _naming_the_target() -> Iterator[None]:
    """Errors of the target name the options that it was given by; the usual ones are those of the source."""
    try:
        yield
    except InspectorError as error:
        error.message, error.hint = (
            text and text.replace("--backend", "--to").replace("--location", "--to-location")
            for text in (error.message, error.hint)
        )
        raise


def _copy_lines(target: Target, plan: CopyPlan, on_clash: OnClash) -> Iterator[Line]:
    if plan.brings(on_clash):
        yield (Styled(f"Copy {counted(plan.brings(on_clash))} to {_named(target)}?", BOLD),)
    else:
        yield _nothing(target, plan)
    yield from _fact_lines(plan, on_clash)
    if plan.left_out:
        yield (Styled(f"  {plan.left_out}", YELLOW),)
    if plan.brings(on_clash):
        yield (f"  {_undo(target)}",)


def _fact_lines(plan: Plan, on_clash: OnClash) -> Iterator[Line]:
    """What a copy or an import would bring, a fact a line."""
    makes = [plan.makes] if plan.makes else []
    yield from ((f"  {one_line(mask_secrets(fact))}",) for fact in (*makes, *plan.counts(on_clash)))
    if plan.taken:
        yield (Styled(f"    {first_names(plan.samples, plan.taken)}", DIM),)
    yield from ((f"  {one_line(mask_secrets(sentence))}",) for sentence in plan.sentences())


def _nothing(target: Target, plan: CopyPlan) -> Line:
    return (f"Nothing to copy of {counted(plan.count)} to {_named(target)}",)


def _print_copy_plan(
    library: Library, target: Target, given: argparse.Namespace, plan: CopyPlan, planned: CopyOutcome
) -> None:
    if given.json:
        _print_copy_document(library, target, given, plan, planned)
        return
    write_lines(_copy_lines(target, plan, given.on_clash))
    if given.dry_run:
        note(NOTHING_DONE)


async def _print_copied(
    library: Library, target: Target, given: argparse.Namespace, plan: CopyPlan, outcome: CopyOutcome
) -> int:
    from dataclasses import replace

    from zeroclaw_tui.curation.transfer.copy import still_named

    if outcome.count and not (outcome.cancelled or outcome.differs or plan.filtered_out):
        still = await still_named(library)
        outcome = replace(outcome, notes=(*outcome.notes, *([still] if still else [])))
    unseen = [*plan.losses, *filter(None, [plan.left_out])] if given.yes and not given.json else []
    _print_sentences((*unseen, *outcome.notes))
    if given.json:
        _print_copy_document(library, target, given, plan, outcome)
    else:
        write_lines(_copied_lines(target, plan, outcome))
    return _stopped("copy", plan, given, outcome) or (REFUSED if outcome.differs else DONE)


def _copied_lines(target: Target, plan: CopyPlan, outcome: CopyOutcome) -> Iterator[Line]:
    copied, *more = outcome.texts(_named(target))
    if outcome.count or outcome.cancelled:
        yield (Styled("✓", GREEN), f" {copied}")
    else:
        yield _nothing(target, plan)
    yield from ((sentence,) for sentence in (*more, *renamed_sentences(outcome.renamed, MOST_NAMED)))
    if outcome.action is not None:
        yield (_undo(target),)


def _named(target: Target) -> str:
    return one_line(mask_secrets(target.location))


def _undo(target: Target) -> str:
    """How the copy is taken back, as a sentence with a command that can be typed as it stands, but for a password."""
    import shlex

    config, location = target.config, target.config.location
    backend = f"{config.backend}.{config.alias}" if config.alias else config.backend
    words = ["zeroclaw", "memory", "undo"]
    if config.install.config_dir is not None:
        words += ["--config-dir", str(config.install.config_dir)]
    words += ["--backend", backend]
    more = ""
    is_usual = location == str(config.install.database) and config.install.config_dir is not None
    if location is not None and not is_usual:
        is_secret = mask_secrets(location) != location
        words += ["--location", "URL" if is_secret else location]
        more = ", with the URL of --to-location," if is_secret else ""
    return f"`{one_line(shlex.join(words))}`{more} reverses that."


def _print_copy_document(
    library: Library, target: Target, given: argparse.Namespace, plan: CopyPlan, outcome: CopyOutcome
) -> None:
    source = {"backend": library.memory.name, "location": library.memory.about.location}
    more = {"from": source, **plan.as_json(), "on_clash": given.on_clash}
    print_change(target, outcome, dry_run=given.dry_run, **more)


def add_conflict_options(parser: argparse.ArgumentParser) -> None:
    """What becomes of memories whose key is taken."""
    on_conflict = parser.add_mutually_exclusive_group()
    for name, about in _CLASHES:
        on_conflict.add_argument(
            f"--{name}", dest="on_clash", action="store_const", const=name, default="skip", help=about
        )
