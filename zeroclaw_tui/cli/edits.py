"""The verbs that change memories: store, edit, forget, purge and clear."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli import options, output, plans
from zeroclaw_tui.cli.chosen import address, not_there, the_one
from zeroclaw_tui.cli.entries import meant_by_zeroclaw
from zeroclaw_tui.cli.options import one_of, option
from zeroclaw_tui.cli.output import in_one_line
from zeroclaw_tui.cli.verbs import CHANGED, verb
from zeroclaw_tui.memory.errors import REFUSED, Refused, UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from zeroclaw_tui.curation.journal_records import Verb
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.outcome import Outcome, PurgePlan
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
    CHANGED,
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
async def store(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Store one memory. Its document has "replaced": whether an older one of that key went to the trash."""
    from zeroclaw_tui.curation.changes import store_memory
    from zeroclaw_tui.memory.change import Draft

    plans.check_writable(library, given)
    extras = {"namespace": given.namespace, "importance": given.importance, "pinned": given.pinned}
    _check_editable(library, [name for name, value in extras.items() if value is not None])
    draft = Draft(
        key=options.utf_8(given.key, "The key"),
        content=options.text_given(given.content, "The content"),
        category=given.category,
        session_id=given.session or None,
        agent=options.agent_given(given),
        **extras,
    )
    outcome = await store_memory(library, draft, replace=not given.new)
    is_replaced = await _has_replaced(library, outcome)
    output.notes(outcome.notes)
    what = repr(in_one_line(draft.key)) + (" over the old one" if is_replaced else "")
    done = output.done(outcome.headline(plans.undo_hint(), what=what))
    return output.answer(given, _row_document(library, outcome, replaced=is_replaced), [done])


@verb(
    "edit",
    CHANGED,
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
async def edit(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Change one memory in place. Its document has "fields": the names of what changed."""
    from zeroclaw_tui.backends.lookup import row_with_id
    from zeroclaw_tui.curation.changes import edit_memory
    from zeroclaw_tui.memory.change import Edit

    asked = _asked(given)
    if not asked:
        raise UsageError("Nothing to change.", hint="`zeroclaw memory edit --help` lists what can be changed.")
    plans.check_writable(library, given)
    _check_editable(library, asked)
    if "content" in asked:
        asked["content"] = options.text_given(given.content, "The content")
    if "key" in asked:
        asked["key"] = options.utf_8(given.new_key, "The new key")
    entry = await the_one(library, given.key, given.id, options.agents_given(given))
    before = await row_with_id(library.memory, address(entry))
    if before is None:
        raise not_there(given.key, given.id)
    outcome = await edit_memory(library, address(entry), Edit(asked), before.fingerprint)
    return await _print_edit(library, given, before, outcome)


async def _print_edit(library: Library, given: argparse.Namespace, before: Row, outcome: Outcome) -> int:
    after = outcome.row
    fields = plans.changed_fields(before, after) if after is not None else []
    output.notes(outcome.notes)
    if not given.json and after is not None and outcome.count:
        key = repr(in_one_line(after.entry().key))
        output.write_lines([output.done(outcome.headline(plans.undo_hint(), what=key))])
        output.write_lines(plans.difference_lines(before, after))
        sys.stdout.flush()
    copies = await plans.copies_left(library, given, outcome) if "content" in fields else plans.NO_COPIES
    if given.json:
        output.document(_row_document(library, outcome, copies=copies, fields=fields))
    elif outcome.count:
        plans.print_copies(copies, cleaning=given.clean_copies)
    else:
        output.write_lines([(outcome.headline(),)])
    return copies.exit_code


def _asked(given: argparse.Namespace) -> dict[str, Value]:
    """What an edit sets, as it was typed."""
    from zeroclaw_tui.memory.change import SUPERSEDED_BY

    typed: dict[str, Value] = {
        "content": given.content,
        "key": given.new_key,
        "category": given.category,
        "importance": given.importance,
        "pinned": given.pinned,
        "namespace": given.namespace,
    }
    asked: dict[str, Value] = {name: value for name, value in typed.items() if value is not None}
    if given.session is not None:
        asked["session_id"] = given.session or None
    if given.unsupersede:
        asked[SUPERSEDED_BY] = None
    return asked


def _check_editable(library: Library, names: list[str] | dict[str, Value]) -> None:
    from zeroclaw_tui.backends.lookup import why_fixed
    from zeroclaw_tui.memory.change import SUPERSEDED_BY

    for name in names:
        why = why_fixed(library.memory, name)
        if why is not None and name != SUPERSEDED_BY:
            raise Refused(why, hint="Nothing was changed.")


async def _has_replaced(library: Library, outcome: Outcome) -> bool:
    """Return whether a memory was stored over another one, which is in the trash then."""
    if outcome.action is None:
        return False
    versions = await library.trash.versions_of(outcome.action.number, limit=1)
    return any(version.before is not None for version in versions)


def _row_document(library: Library, outcome: Outcome, **more: Any) -> dict[str, Any]:
    """The document of a change of one memory, which it has as "entry"."""
    entry = None if outcome.row is None else outcome.row.entry()
    entries = [] if entry is None else [plans.named_as_json(entry)]
    found = None if entry is None else entry.as_json()
    return plans.change_document(library, outcome, entries=entries, entry=found, **more)


@verb(
    "forget",
    CHANGED,
    options=[options.EXACT_KEY, options.ID, *_REMOVAL],
    agents=options.WHOSE_MEMORY,
    concerns=("store",),
    examples=("forget pet", "forget --id 7c2e --yes"),
)
async def forget(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Delete the one memory of a key or an id."""
    plans.check_can_change(library, given)
    entry = await the_one(library, given.key, given.id, options.agents_given(given))
    plan = await plans.plan_entries(library, [entry])
    if not plan.count:
        raise not_there(given.key, given.id)
    return await remove_planned(library, given, plan, "forget")


@verb(
    "purge",
    CHANGED,
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
async def purge(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Delete what the filters leave, or the memories that are named; with --everywhere erase their texts.

    Exit code 1 also when some of the memories stayed because they changed in the meantime.
    """
    from zeroclaw_tui.curation.outcome import plan_purge
    from zeroclaw_tui.memory.query import Superseded

    _refuse_blank_filters(given)
    wanted = options.filter_given(given, now)
    named = bool(given.keys or given.id)
    chosen = wanted.but(agent=None) if named else wanted
    filtered = not chosen.is_empty or chosen.superseded is not Superseded.HIDE
    if named and filtered:
        raise UsageError("Keys or ids and filters exclude each other.", hint="Only --agent may go with keys.")
    if not named and wanted.is_empty and wanted.superseded is not Superseded.ONLY:
        raise UsageError(
            "No filter given.", hint="Pass a filter, keys or ids; `zeroclaw memory clear` deletes everything."
        )
    plans.check_can_change(library, given)
    plan = await (_plan_named(library, given) if named else plan_purge(library, wanted))
    if given.everywhere and plan.count:
        return await _purge_everywhere(library, given, plan)
    return await remove_planned(library, given, plan, "purge")


async def _purge_everywhere(library: Library, given: argparse.Namespace, plan: PurgePlan) -> int:
    """Erase the memories of a plan, and their texts from every place."""
    from zeroclaw_tui.cli.erase import carry_out
    from zeroclaw_tui.curation.traces.copies import entries_of, matcher_for
    from zeroclaw_tui.curation.traces.erase import plan_erase

    entries = await entries_of(library, plan)
    matcher = matcher_for([entry.content for entry in entries])
    erasure = await plan_erase(library, matcher, [entry.id for entry in entries])
    return await carry_out(library, given, erasure)


def _refuse_blank_filters(given: argparse.Namespace) -> None:
    """A blank text leaves everything in: where a script's variable is empty, far more would go than is meant."""
    for name in ("contains", "regex"):
        text = getattr(given, name)
        if text is not None and not text.strip():
            raise UsageError(
                f"--{name} is blank and would match every memory.", hint="Pass a text, or leave the option out."
            )


@verb(
    "clear",
    CHANGED,
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
async def clear(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Delete everything, a category, or one key, as ZeroClaw's command does and in its words."""
    from zeroclaw_tui.curation.outcome import plan_purge
    from zeroclaw_tui.memory.change import category_meant
    from zeroclaw_tui.memory.query import MemoryFilter

    if given.key is not None and given.category is not None:
        raise UsageError("--key names one memory; leave out --category.")
    plans.check_can_change(library, given)
    if given.key is not None:
        found = await meant_by_zeroclaw(library, given)
        if found is None:
            return REFUSED
        return await remove_planned(library, given, await plans.plan_entries(library, [found]), "clear", found.key)
    category = None if given.category is None else (category_meant(given.category),)
    wanted = MemoryFilter(category=category, agent=tuple(options.agents_given(given)) or None)
    return await remove_planned(library, given, await plan_purge(library, wanted), "clear")


async def _plan_named(library: Library, given: argparse.Namespace) -> PurgePlan:
    """The plan for all keys and ids that are given; one that is not there stops everything."""
    agents = options.agents_given(given)
    found = [await the_one(library, key, None, agents) for key in given.keys]
    found += [await the_one(library, None, wanted, agents) for wanted in given.id or ()]
    return await plans.plan_entries(library, found)


async def remove_planned(
    library: Library,
    given: argparse.Namespace,
    plan: PurgePlan,
    verb: Verb,
    key: str | None = None,
    *,
    remove: Callable[..., Awaitable[Outcome]] | None = None,
    lines: Sequence[output.Line] = (),
) -> int:
    """Show a plan, ask, delete its memories, and give the exit code.

    `clear` speaks in the words of ZeroClaw; `key` is the one of the memory that it deletes, None for several. `remove`
    deletes in another way, which `lines` show below the plan: a text of which a copy stays is not searched elsewhere.
    """
    from zeroclaw_tui.curation.changes import remove_memories
    from zeroclaw_tui.curation.outcome import Outcome
    from zeroclaw_tui.curation.traces.copies import entries_of

    is_clear, forever = verb == "clear", getattr(given, "forever", False)
    if not plan.count:
        nothing = "No memory entries found." if is_clear else "Nothing matches."
        document = plans.change_document(library, Outcome(verb, 0), dry_run=given.dry_run, **plan.as_json())
        if not given.json:
            output.write_lines(plans.superseded_lines(plan, verb), sys.stderr)
        return plans.print_plan(given, [nothing], document)
    if is_clear and key is None and not given.json:
        output.write_lines([f"Found {plan.count} entries in '{in_one_line(given.category or 'all categories')}'."])
    if given.dry_run or not (given.yes or is_clear):
        found = () if remove is not None else await plans.copies_of_plan(library, plan)
        shown = [*await plans.plan_lines(library, plan, verb, forever=forever, copies=found), *lines]
    else:
        found, shown = (), plans.superseded_lines(plan, verb)
    if given.dry_run:
        entries = [plans.named_as_json(version) for version in plan.stamps[: plans.MAX_ENTRIES]]
        about = {"entries": entries, "copies": plans.Copies(found), **plan.as_json()}
        document = plans.change_document(library, Outcome(verb, plan.count), dry_run=True, **about)
        return plans.print_plan(given, shown, document)
    if given.yes and not given.json:
        output.write_lines(shown, sys.stderr)
    if not given.yes and not _is_wanted(plan, verb, key, shown, forever=forever):
        return REFUSED
    # Afterwards neither the store nor the trash has the texts.
    texts: list[str] | None = None if remove is not None else []
    if texts is not None and forever:
        texts = [entry.content for entry in await entries_of(library, plan)]
    if remove is None:
        remove = partial(remove_memories, library, plan, verb, forever=forever)
    outcome = await plans.carry_out("Deleting", plan.count, remove)
    if is_clear:
        done = f"Cleared {outcome.count}/{plan.count} entries." if key is None else f"Deleted key: {in_one_line(key)}"
    elif verb == "forget":
        done = outcome.headline(plans.undo_hint(), what=f"key {in_one_line(plan.stamps[0].key)!r}")
    else:
        done = outcome.headline()
    return await plans.print_done(library, given, plan, outcome, output.done(done), texts)


def _is_wanted(plan: PurgePlan, verb: Verb, key: str | None, shown: Sequence[output.Line], *, forever: bool) -> bool:
    """Ask whether a plan is to be carried out."""
    from zeroclaw_tui.curation.outcome import TYPED_FROM

    if verb == "clear":
        what = f"{plan.count:,} entries" if key is None else f"the key {in_one_line(key)!r}"
        return plans.confirm(f"Delete {what}?", shown)
    if forever or plan.count >= TYPED_FROM:
        return plans.confirm_count(plan.count, f"{verb}{' permanently' if forever else ''}", shown)
    return plans.confirm("Go on?", shown)
