"""`memory erase`: permanently delete a text from every place of the install."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from zeroclaw_tui.cli import plans
from zeroclaw_tui.cli.options import DRY_RUN, STDIN, option, parse_path, read_text
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, YELLOW, Line, Styled, note, place_of, print_result
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.memory.errors import DONE, REFUSED, Refused, UsageError
from zeroclaw_tui.memory.text import counted, one_line

if TYPE_CHECKING:
    from pathlib import Path

    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.traces.erase import ErasePlan

_ERASE = """\
Permanently delete a text, in any case of letters, from every place of the
install: memories, notes, prompt files, chats, traces, caches, the snapshot,
archives, backups and the trash. Memories and cached answers that contain it
are deleted; chats, traces and logs lose only the text. This cannot be undone.
Stop ZeroClaw first, or bytes stay in files that it has open. The report says
what is left, and why."""
_ERASING = "erase"
_KIND_CELLS = 16


@verb(
    "erase",
    "{verb, dry_run, at, backend, location, texts, complete, erased, left, not_looked_at, scanned}",
    options=[
        option(
            "text",
            nargs="+",
            metavar="TEXT",
            help="The text; - reads it from stdin, because others can see a command line",
        ),
        option("--export", metavar="FILE", help="First write a copy of the memories to this file outside the install"),
        option("--report", metavar="FILE", help="Also write the report to this file, as JSON"),
        DRY_RUN,
    ],
    concerns=("store",),
    description=_ERASE,
    examples=('erase "named Mio" --dry-run', "erase - < texts.txt --yes"),
)
async def erase(library: Library, args: argparse.Namespace) -> int:
    """Search the text everywhere, ask, erase it, and search again. Exit code 1 if something is left."""
    from zeroclaw_tui.curation.traces.erase import plan_erase
    from zeroclaw_tui.curation.traces.matcher import TextMatcher

    matcher = TextMatcher(read_text(text, "The text") for text in args.text)
    plans.check_can_change(library, args)
    report_file = None if args.report is None else _new_file(args.report)
    copy = None if args.export is None else parse_path(args.export)
    code = await erase_planned(library, args, await plan_erase(library, matcher), copy, report_file)
    if args.text != [STDIN] and not (args.json or args.dry_run):
        note("zeroclaw: The text may also be in the history of your shell; with - it is read from stdin.")
    return code


async def erase_planned(
    library: Library,
    args: argparse.Namespace,
    plan: ErasePlan,
    copy: Path | None = None,
    report_file: Path | None = None,
) -> int:
    """Show a plan, ask, carry it out, and print the report; first writes the memories to `copy`, if given."""
    import json

    from zeroclaw_tui.curation.traces.erase import erase_texts, write_copy
    from zeroclaw_tui.files.disk import replace_bytes

    if args.dry_run:
        planned = {"verb": _ERASING, "dry_run": True, **place_of(library), **plan.as_json()}
        return plans.print_plan(args, _erasure_lines(plan), planned)
    if plan.to_erase and not args.yes:
        warning = Styled("  This cannot be undone: it also deletes these rows from the trash.", YELLOW)
        question = f"Type {_ERASING} to do it:"
        if not plans.confirm_typed(question, (_ERASING,), [*_erasure_lines(plan), warning]):
            return REFUSED
    if copy is not None:
        count = await write_copy(library, plan, copy)
        note(f"zeroclaw: A copy of {counted(count)} was written to {one_line(str(copy))}.")
    with plans.Progress("Erasing", len(plan.to_erase)) as progress:
        report = await erase_texts(library, plan, progress.advance)
    document = {"verb": _ERASING, "dry_run": False, **report.as_json()}
    *lines, end = report.sentences()
    if report_file is not None:
        text = json.dumps(document, ensure_ascii=False, indent=2)
        replace_bytes(report_file, None, f"{text}\n".encode("utf-8", "backslashreplace"))
    sign = Styled("✓", GREEN) if report.is_complete else Styled("!", YELLOW)
    print_result(args, document, [*map(one_line, lines), (sign, f" {end}")])
    return DONE if report.is_complete else REFUSED


def _erasure_lines(plan: ErasePlan) -> Iterator[Line]:
    """Yield the places of the text, and why some of them are not erased."""
    yield Styled(plan.title, BOLD)
    yield from (f"  {sentence}" for sentence in plan.sentences())
    if plan.places:
        yield Styled(f"  {'what':{_KIND_CELLS}} {'found':>7}  where", DIM)
    for place in plan.places:
        kind, where = f"{place.kind:{_KIND_CELLS}}", one_line(place.place)
        why = (Styled(f"  {place.why}", DIM),) if place.why else ()
        stays = () if place.can_clean else (Styled("  stays:", YELLOW),)
        yield ("  ", kind, f" {place.count or 0:>7,}  ", where, *stays, *why)
    for place in plan.scan.skipped:
        yield Styled(f"  Not searched: {one_line(place.place)}: {one_line(place.why)}", DIM)


def _new_file(name: str) -> Path:
    """Check that a file can be created, and return its path. Raises UsageError, Refused."""
    path = parse_path(name)
    if not path.parent.is_dir():
        raise UsageError(f"{path} cannot be written.", hint="Name a file in an existing directory.")
    if path.exists():
        raise Refused(f"{one_line(str(path))} already exists.", hint="Name a new file for the report.")
    return path
