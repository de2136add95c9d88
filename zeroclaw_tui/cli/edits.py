"""The verbs that change memories: store, edit, forget, purge and clear."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli import options, output, plans
from zeroclaw_tui.cli.chosen import find_one, not_found
from zeroclaw_tui.cli.entries import find_like_zeroclaw
from zeroclaw_tui.cli.options import one_of, option
from zeroclaw_tui.cli.output import in_one_line
from zeroclaw_tui.cli.verbs import CHANGED, verb
from zeroclaw_tui.memory.errors import REFUSED, Refused, UsageError

if TYPE_CHECKING:
    from zeroclaw_tui.curation.journal_records import Verb
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome, PurgePlan
    from zeroclaw_tui.curation.traces.search import TextPlace
    from zeroclaw_tui.memory.change import Row, Value


_CLEAR = """\
ZeroClaw's own command, with its options and output. It deletes all memories,
not only the first thousand; a key is deleted for one agent only; `zeroclaw
memory undo` reverses it. Superseded memories stay, as in ZeroClaw."""
_CLEAN_COPIES = option(
    "--clean-copies", action="store_true", help="Also remove other copies of the text (undone as a separate change)"
)
_REMOVAL = (
    option("--forever", action="store_true", help="Delete permanently instead of moving to the trash"),
    _CLEAN_COPIES,
    options.DRY_RUN,
)


@verb(
    "store",
    f"{CHANGED} and entry, replaced",
    options=[
        option("key", metavar="KEY"),
        option("content", metavar="CONTENT", help="Content of the memory; - reads it from stdin"),
        option("--new", action="store_true", help="Fail if the key exists"),
        option("--category", default="core", metavar="NAME", help="Category (default: core)"),
        option("--session", metavar="ID"),
        option("--namespace", metavar="NAME"),
        option("--importance", type=float, metavar="0..1"),
        option("--pinned", action="store_true", default=None, help="Exempt it from hygiene and budgets"),
    ],
    agents=options.OWNER,
    opens="new store",
    concerns=("store",),
    examples=('store pet "Cat named Mio"', "store poem - < poem.txt"),
)
async def store(library: Library, args: argparse.Namespace) -> int:
    """Store a memory. Its document has "replaced": whether a memory with the same key went to the trash."""
    from zeroclaw_tui.curation.changes import store_memory
    from zeroclaw_tui.memory.change import Draft

    plans.check_writable(library, args)
    extras = {"namespace": args.namespace, "importance": args.importance, "pinned": args.pinned}
    _check_editable(library, [name for name, value in extras.items() if value is not None])
    draft = Draft(
        key=options.check_utf_8(args.key, "The key"),
        content=options.read_text(args.content, "The content"),
        category=args.category,
        session_id=args.session or None,
        agent=options.single_agent(args),
        **extras,
    )
    outcome = await store_memory(library, draft, overwrite=not args.new)
    is_replaced = await _has_replaced(library, outcome)
    output.notes(outcome.notes)
    what = repr(in_one_line(draft.key)) + (" over the old one" if is_replaced else "")
    headline = output.done(outcome.headline(plans.undo_hint(), what=what))
    return output.print_result(args, _row_document(library, outcome, replaced=is_replaced), [headline])


@verb(
    "edit",
    f"{CHANGED} and entry, fields",
    options=[
        options.EXACT_KEY,
        options.ID,
        option("--content", metavar="TEXT", help="New content; - reads it from stdin"),
        option("--key", dest="new_key", metavar="NEW", help="New key"),
        option("--category", metavar="NAME"),
        option("--session", metavar="ID", help='New session; "" removes it'),
        option("--namespace", metavar="NAME"),
        option("--importance", type=float, metavar="0..1"),
        one_of(
            option("--pinned", action="store_true", default=None, help="Exempt it from hygiene and budgets"),
            option("--no-pinned", dest="pinned", action="store_false", default=None),
        ),
        option("--unsupersede", action="store_true", help="Let the agent see a superseded memory again"),
        _CLEAN_COPIES,
    ],
    agents=options.WHOSE_MEMORY,
    concerns=("store",),
    examples=("edit pet --category daily", "edit pet --content - < pet.txt"),
)
async def edit(library: Library, args: argparse.Namespace) -> int:
    """Change a memory in place. Its document has "fields": the names of the changed fields."""
    from zeroclaw_tui.backends.lookup import row_with_id
    from zeroclaw_tui.backends.note_lines import note_line
    from zeroclaw_tui.curation.changes import edit_memory
    from zeroclaw_tui.memory.change import Edit

    changes = _changes(args)
    if not changes:
        raise UsageError("Nothing to change.", hint="`zeroclaw memory edit --help` lists what can be changed.")
    plans.check_writable(library, args)
    _check_editable(library, changes)
    content = options.read_text(args.content, "The content") if "content" in changes else ""
    if "key" in changes:
        changes["key"] = options.check_utf_8(args.new_key, "The new key")
    entry = await find_one(library, args.key, args.id, options.agent_names(args))
    if "content" in changes:
        # In Markdown a key that was stored is in the line itself, and stays there.
        is_in_line = args.key not in (None, entry.key)
        changes["content"] = f"{note_line(args.key, '')} {content}" if is_in_line else content
    before = await row_with_id(library.memory, entry.id)
    if before is None:
        raise not_found(args.key, args.id)
    outcome = await edit_memory(library, entry.id, Edit(changes), before.fingerprint)
    return await _print_edit(library, args, before, outcome)


async def _print_edit(library: Library, args: argparse.Namespace, before: Row, outcome: Outcome) -> int:
    from zeroclaw_tui.curation.outcome import changed_fields

    after = outcome.row
    fields = changed_fields(before.entry(), after.entry()) if after is not None else []
    output.notes(outcome.notes)
    if not args.json and after is not None and outcome.count:
        key = repr(in_one_line(after.entry().key))
        output.write_lines([output.done(outcome.headline(plans.undo_hint(), what=key))])
        output.write_lines(plans.difference_lines(before, after))
        sys.stdout.flush()
    copies = await plans.look_for_copies(library, args, outcome) if "content" in fields else plans.NO_COPIES
    if args.json:
        output.print_document(_row_document(library, outcome, copies=copies, fields=fields))
    elif outcome.count:
        plans.print_copies(copies, cleaning=args.clean_copies)
    else:
        output.write_lines([(outcome.headline(),)])
    return copies.exit_code


def _changes(args: argparse.Namespace) -> dict[str, Value]:
    """The new values of an edit, as typed."""
    from zeroclaw_tui.memory.change import SUPERSEDED_BY

    typed: dict[str, Value] = {
        "content": args.content,
        "key": args.new_key,
        "category": args.category,
        "importance": args.importance,
        "pinned": args.pinned,
        "namespace": args.namespace,
    }
    changes: dict[str, Value] = {name: value for name, value in typed.items() if value is not None}
    if args.session is not None:
        changes["session_id"] = args.session or None
    if args.unsupersede:
        changes[SUPERSEDED_BY] = None
    return changes


def _check_editable(library: Library, names: list[str] | dict[str, Value]) -> None:
    from zeroclaw_tui.backends.lookup import why_fixed
    from zeroclaw_tui.memory.change import SUPERSEDED_BY

    for name in names:
        why = why_fixed(library.memory, name)
        if why is not None and name != SUPERSEDED_BY:
            raise Refused(why, hint="Nothing was changed.")


async def _has_replaced(library: Library, outcome: Outcome) -> bool:
    """Whether a stored memory replaced another one, which is then in the trash."""
    if outcome.action is None:
        return False
    versions = await library.trash.versions_of(outcome.action.number, limit=1)
    return any(version.before is not None for version in versions)


def _row_document(library: Library, outcome: Outcome, **more: Any) -> dict[str, Any]:
    """The document of a change of one memory, with the memory as "entry"."""
    entry = None if outcome.row is None else outcome.row.entry()
    entries = [] if entry is None else [plans.entry_summary(entry)]
    entry_json = None if entry is None else entry.as_json()
    return plans.change_document(library, outcome, entries=entries, entry=entry_json, **more)


@verb(
    "forget",
    CHANGED,
    options=[options.EXACT_KEY, options.ID, *_REMOVAL],
    agents=options.WHOSE_MEMORY,
    concerns=("store",),
    examples=("forget pet", "forget --id 7c2e --yes"),
)
async def forget(library: Library, args: argparse.Namespace) -> int:
    """Delete the memory with a key or an id."""
    plans.check_can_change(library, args)
    entry = await find_one(library, args.key, args.id, options.agent_names(args))
    plan = await plans.plan_entries(library, [entry])
    if not plan.count:
        raise not_found(args.key, args.id)
    return await remove_planned(library, args, plan, "forget")


@verb(
    "purge",
    f"{CHANGED} and superseded_hidden; with --everywhere that of `erase`",
    options=[
        option("keys", nargs="*", metavar="KEY", help="Exact keys instead of filters"),
        option("--id", action="append", metavar="ID", help="Memory id instead of filters (repeatable)"),
        option(
            "--everywhere",
            action="store_true",
            help="Erase their texts from every file of the install, as `erase` does",
        ),
        options.FILTERS,
        *_REMOVAL,
    ],
    agents=options.OWN_MEMORIES,
    concerns=("store",),
    examples=("purge --older-than 90d --dry-run", "purge --contains secret --everywhere"),
)
async def purge(library: Library, args: argparse.Namespace) -> int:
    """Delete the filtered or named memories; with --everywhere erase their texts.

    Exit code 1 also if some memories were skipped because they changed since the plan.
    """
    from zeroclaw_tui.curation.outcome import plan_purge
    from zeroclaw_tui.memory.query import Superseded

    _refuse_blank_filters(args)
    filters = options.build_filter(args)
    by_name = bool(args.keys or args.id)
    selection = filters.replace(agent=None) if by_name else filters
    is_filtered = not selection.is_empty or selection.superseded is not Superseded.HIDE
    if by_name and is_filtered:
        raise UsageError("Keys or ids and filters exclude each other.", hint="Only --agent may go with keys.")
    if not by_name and filters.is_empty and filters.superseded is not Superseded.ONLY:
        raise UsageError(
            "No filter given.", hint="Pass a filter, keys or ids; `zeroclaw memory clear` deletes everything."
        )
    plans.check_can_change(library, args)
    plan = await (_plan_by_name(library, args) if by_name else plan_purge(library, filters))
    if args.everywhere and plan.count:
        return await _purge_everywhere(library, args, plan)
    return await remove_planned(library, args, plan, "purge")


async def _purge_everywhere(library: Library, args: argparse.Namespace, plan: PurgePlan) -> int:
    """Erase the memories of a plan, and their texts everywhere."""
    from zeroclaw_tui.cli.erase import erase_planned
    from zeroclaw_tui.curation.traces.copies import entries_of, matcher_for
    from zeroclaw_tui.curation.traces.erase import plan_erase

    entries = await entries_of(library, plan)
    matcher = matcher_for([entry.content for entry in entries])
    erasure = await plan_erase(library, matcher, [entry.id for entry in entries])
    return await erase_planned(library, args, erasure)


def _refuse_blank_filters(args: argparse.Namespace) -> None:
    """Raise UsageError for a blank filter, such as an unset shell variable, which would match every memory."""
    for name in ("contains", "regex"):
        text = getattr(args, name)
        if text is not None and not text.strip():
            raise UsageError(
                f"--{name} is blank and would match every memory.", hint="Pass a text, or leave the option out."
            )


@verb(
    "clear",
    f"{CHANGED} and superseded_hidden",
    options=[
        option("--key", metavar="KEY", help="Only the memory with this key or unique key prefix"),
        option("--category", metavar="NAME", help="Only this category"),
        _CLEAN_COPIES,
        options.DRY_RUN,
    ],
    agents=options.OWN_MEMORIES,
    concerns=("store",),
    description=_CLEAR,
    examples=("clear --category daily", "clear --dry-run"),
)
async def clear(library: Library, args: argparse.Namespace) -> int:
    """Delete everything, a category, or one key, with the output of ZeroClaw's own command."""
    from zeroclaw_tui.curation.outcome import plan_purge
    from zeroclaw_tui.memory.change import normal_category
    from zeroclaw_tui.memory.query import MemoryFilter

    if args.key is not None and args.category is not None:
        raise UsageError("--key names one memory; leave out --category.")
    plans.check_can_change(library, args)
    if args.key is not None:
        entry = await find_like_zeroclaw(library, args)
        if entry is None:
            return REFUSED
        return await remove_planned(library, args, await plans.plan_entries(library, [entry]), "clear", entry.key)
    category = None if args.category is None else (normal_category(args.category),)
    filters = MemoryFilter(category=category, agent=tuple(options.agent_names(args)) or None)
    return await remove_planned(library, args, await plan_purge(library, filters), "clear")


async def _plan_by_name(library: Library, args: argparse.Namespace) -> PurgePlan:
    """Plan for all keys and ids in the arguments. Raises NotFound if one of them does not exist."""
    agents = options.agent_names(args)
    entries = [await find_one(library, key, None, agents) for key in args.keys]
    entries += [await find_one(library, None, given_id, agents) for given_id in args.id or ()]
    return await plans.plan_entries(library, entries)


async def remove_planned(
    library: Library,
    args: argparse.Namespace,
    plan: PurgePlan,
    verb: Verb,
    key: str | None = None,
    *,
    remove: Callable[..., Awaitable[Outcome]] | None = None,
    lines: Sequence[output.Line] = (),
) -> int:
    """Show a plan, ask, delete its memories, and return the exit code.

    `clear` prints ZeroClaw's own output; `key` is that of the only memory that it deletes, else None. `remove` replaces
    the deletion, and `lines` describe it below the plan; other copies are then not searched, because a copy stays.
    """
    from zeroclaw_tui.curation.changes import remove_memories
    from zeroclaw_tui.curation.traces.copies import entries_of

    if not plan.count:
        return _print_nothing(library, args, plan, verb)
    is_clear, forever = verb == "clear", getattr(args, "forever", False)
    if is_clear and key is None and not args.json:
        output.write_lines([f"Found {plan.count} entries in '{in_one_line(args.category or 'all categories')}'."])
    copies: tuple[TextPlace, ...] = ()
    if args.dry_run or not (args.yes or is_clear):
        copies = () if remove is not None else await plans.copies_of_plan(library, plan)
        shown = [*await plans.plan_lines(library, plan, verb, forever=forever, copies=copies), *lines]
    else:
        shown = plans.superseded_lines(plan, verb)
    if args.dry_run:
        return plans.print_plan(args, shown, _planned_document(library, plan, verb, copies))
    if args.yes and not args.json:
        output.write_lines(shown, sys.stderr)
    if not args.yes and not _confirm(plan, verb, key, shown, forever=forever):
        return REFUSED
    texts: list[str] | None = None
    if remove is None:
        # After a permanent deletion neither the store nor the trash has the texts.
        texts = [entry.content for entry in await entries_of(library, plan)] if forever else []
        remove = partial(remove_memories, library, plan, verb, forever=forever)
    with plans.Progress("Deleting", plan.count) as progress:
        outcome = await remove(on_progress=progress.advance)
    return await plans.print_done(library, args, plan, outcome, output.done(_done_sentence(plan, key, outcome)), texts)


def _print_nothing(library: Library, args: argparse.Namespace, plan: PurgePlan, verb: Verb) -> int:
    """Say that there is nothing to delete, and how many superseded memories match."""
    from zeroclaw_tui.curation.outcome import Outcome

    document = plans.change_document(library, Outcome(verb, 0), dry_run=args.dry_run, **plan.as_json())
    if not args.json:
        output.write_lines(plans.superseded_lines(plan, verb), sys.stderr)
    return plans.print_plan(args, ["No memory entries found." if verb == "clear" else "Nothing matches."], document)


def _planned_document(library: Library, plan: PurgePlan, verb: Verb, found: tuple[TextPlace, ...]) -> dict[str, Any]:
    """The document of a dry run."""
    from zeroclaw_tui.curation.outcome import Outcome

    entries = [plans.entry_summary(version) for version in plan.versions[: plans.MAX_ENTRIES]]
    about = {"entries": entries, "copies": plans.Copies(found), **plan.as_json()}
    return plans.change_document(library, Outcome(verb, plan.count), dry_run=True, **about)


def _done_sentence(plan: PurgePlan, key: str | None, outcome: Outcome) -> str:
    """Say what was deleted; `clear` says it as ZeroClaw does."""
    if outcome.verb == "clear":
        return f"Cleared {outcome.count}/{plan.count} entries." if key is None else f"Deleted key: {in_one_line(key)}"
    if outcome.verb == "forget":
        return outcome.headline(plans.undo_hint(), what=f"key {in_one_line(plan.versions[0].key)!r}")
    return outcome.headline()


def _confirm(plan: PurgePlan, verb: Verb, key: str | None, shown: Sequence[output.Line], *, forever: bool) -> bool:
    """Ask for the confirmation of a plan."""
    from zeroclaw_tui.curation.outcome import TYPED_FROM

    if verb == "clear":
        what = f"{plan.count:,} entries" if key is None else f"the key {in_one_line(key)!r}"
        return plans.confirm(f"Delete {what}?", shown)
    if forever or plan.count >= TYPED_FROM:
        return plans.confirm_count(plan.count, f"{verb}{' permanently' if forever else ''}", shown)
    return plans.confirm("Go on?", shown)
