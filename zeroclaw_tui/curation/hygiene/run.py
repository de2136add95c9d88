"""Doing what a hygiene plan says: rows to the trash, files archived and purged as ZeroClaw does, state file written."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from zeroclaw_tui.curation.changes import Outcome, carried_out, refuse_read_only
from zeroclaw_tui.curation.files import FileVanished, bytes_now, canonical, led_to, move_file, remove_file, write_file
from zeroclaw_tui.curation.hygiene.plan import (
    NAME,
    HygieneItem,
    HygienePlan,
    audit_file,
    cutoff_at,
    has_folder,
    plan_hygiene,
    state_bytes,
    state_file,
)
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.side_databases import AT_ONCE, entry_id, remove_entries
from zeroclaw_tui.memory.change import Advance, Keep
from zeroclaw_tui.memory.errors import InspectorError, Refused, WrongUse
from zeroclaw_tui.memory.text import one_line

_GONE = "{} has gone meanwhile."
_CHANGED = "{} changed meanwhile and was left alone."


async def run_hygiene(
    library: Library, plan: HygienePlan, *, without: Collection[str] = (), advance: Advance | None = None
) -> Outcome:
    """Do the items of a plan but those of the ids in `without`, then write the state file (last run = now).

    One action of verb "hygiene": one undo takes all of it back, files too. `count` is how many items were done;
    `changed` and `gone` are the ids of items left alone because they changed or vanished since the plan, each also a
    note. Everything is looked at again first, so that nothing goes which the rules no longer take; what came since the
    plan waits for the next run. A folder that takes no files costs its items, each with a note, and the rest goes on.
    The state file is written when all that was not left out was done or had gone; the audit log does not count, since
    ZeroClaw too passes over what goes wrong there. Raises WrongUse for a plan of a moment later than now, Refused where
    the store is read-only, and what the trash raises.
    """
    refuse_read_only(library)
    if plan.as_of > library.trash.now():
        raise WrongUse(
            "Hygiene runs as of now or of a moment before.", hint="A later moment can only be looked at (--dry-run)."
        )
    chosen = [item for item in plan.items if item.id not in without]

    async def work(action: int, going: Advance) -> Outcome:
        # Only now: another inspector may have been at work while this one waited for its turn.
        present = await plan_hygiene(library, plan.as_of)
        return await _Running(library, present, chosen).work(action, going)

    return await carried_out(library, "hygiene", _summary(chosen), work, advance)


@dataclass
class _Done:
    """What became of the items. `touched` are paths of which something was kept that was not done in the end."""

    items: list[HygieneItem] = field(default_factory=list)
    changed: list[HygieneItem] = field(default_factory=list)
    gone: list[HygieneItem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    touched: set[str] = field(default_factory=set)
    is_cancelled: bool = False
    has_failed: bool = False

    def leave(self, item: HygieneItem, *, is_gone: bool) -> None:
        """An item that is no longer what was shown."""
        (self.gone if is_gone else self.changed).append(item)
        self.notes.append((_GONE if is_gone else _CHANGED).format(one_line(item.name)))

    def fail(self, item: HygieneItem, why: str) -> None:
        """An item that could not be done."""
        self.notes.append(f"{one_line(item.name)} was left: {one_line(why)}")
        self.has_failed = True


class _Running:
    """One run. `present` is the plan as it would be now, `chosen` what a person saw and wants done."""

    def __init__(self, library: Library, present: HygienePlan, chosen: Sequence[HygieneItem]) -> None:
        self._library, self._present, self._chosen = library, present, chosen
        self._done = _Done()
        self._root = present.root

    async def work(self, action: int, going: Advance) -> Outcome:
        """All of it, in an action of that number."""
        library, done = self._library, self._done
        keep = library.trash.keeper(action)
        unchanged = await self._unchanged()
        rows = [item for item in unchanged if item.stamp is not None]
        files = [item for item in unchanged if item.id.startswith("file:")]
        entries = [item for item in unchanged if item.id.startswith("audit:")]
        await self._remove_rows(rows, keep, going)
        if not done.is_cancelled:
            await asyncio.to_thread(self._do_files, files, keep, going)
        if not done.is_cancelled:
            await asyncio.to_thread(self._remove_entries, entries, keep, going)
        await asyncio.to_thread(self._write_state, keep)
        if done.touched:
            await library.trash.strike_changes(action, await asyncio.to_thread(self._numbers_kept, action))
        if len(done.items) != len(self._chosen):
            await library.trash.retell(action, _summary(done.items))
        return Outcome(
            "hygiene",
            len(done.items),
            changed=tuple(item.id for item in done.changed),
            gone=tuple(item.id for item in done.gone),
            cancelled=done.is_cancelled,
            notes=tuple(done.notes),
        )

    async def _unchanged(self) -> list[HygieneItem]:
        """The chosen items that the rules still take and that still are what was shown, as they are planned now."""
        present = {item.id: item for item in self._present.items}
        unchanged = []
        for item in self._chosen:
            now = present.get(item.id)
            if now is not None and _is_same(item, now):
                unchanged.append(now)
            else:
                self._done.leave(item, is_gone=await self._is_gone(item))
        return unchanged

    async def _is_gone(self, item: HygieneItem) -> bool:
        if item.stamp is not None:
            return await self._library.memory.stored(item.stamp.id) is None
        if item.id.startswith("file:"):
            return not (self._root / item.name).exists()
        return True

    async def _remove_rows(self, items: Sequence[HygieneItem], keep: Keep, going: Advance) -> None:
        if not items:
            return
        done, by_id = self._done, {item.stamp.id: item for item in items if item.stamp is not None}
        stamps = [item.stamp for item in items if item.stamp is not None]
        removal = await self._library.memory.remove(stamps, keep, going)
        left = {*removal.changed, *removal.gone}
        for name in removal.changed:
            done.leave(by_id[name], is_gone=False)
        for name in removal.gone:
            done.leave(by_id[name], is_gone=True)
        removed = [item for item in items if item.stamp is not None and item.stamp.id not in left]
        # Rows go in their order, so what a stop left are the last ones.
        done.items += removed[: removal.removed]
        done.is_cancelled = removal.cancelled or not going(len(items))

    def _do_files(self, items: Sequence[HygieneItem], keep: Keep, going: Advance) -> None:
        done = self._done
        for item in items:
            path = self._root / item.name
            try:
                self._do_file(item, path, keep)
                done.items.append(item)
            except FileVanished:
                self._touch(item)
                done.leave(item, is_gone=not path.exists())
            except FileExistsError:
                self._touch(item)
                done.fail(item, "another file has its name in the archive by now.")
            except Refused as error:
                self._touch(item)
                done.fail(item, error.message)
            if not going(len(done.items)):
                done.is_cancelled = True
                return

    def _do_file(self, item: HygieneItem, path: Path, keep: Keep) -> None:
        # What ZeroClaw archives and deletes in one run goes at once: its bytes are kept either way.
        if item.target is None or item.and_purged:
            remove_file(path, keep)
        else:
            move_file(path, self._root / item.target, keep)

    def _touch(self, item: HygieneItem) -> None:
        names = [item.name] if item.target is None else [item.name, item.target]
        self._done.touched |= {str(canonical(self._root / name)) for name in names}

    def _remove_entries(self, items: Sequence[HygieneItem], keep: Keep, going: Advance) -> None:
        days = self._present.rules.days("audit log")
        if not items or days is None:
            return
        done, file = self._done, audit_file(self._root)
        cutoff = cutoff_at(self._present.as_of, days).text
        for start in range(0, len(items), AT_ONCE):
            some = items[start : start + AT_ONCE]
            numbers = [int(item.id.removeprefix("audit:")) for item in some]
            try:
                removed = remove_entries(file, numbers, cutoff, keep)
            except InspectorError as error:
                done.touched |= {entry_id(file, number) for number in numbers}
                done.notes.append(f"The audit log was left as it is: {one_line(error.message)}")
                return
            done.items += [item for item, number in zip(some, numbers, strict=True) if number in removed]
            for item, number in zip(some, numbers, strict=True):
                if number not in removed:
                    done.leave(item, is_gone=True)
            if not going(len(done.items)):
                done.is_cancelled = True
                return

    def _write_state(self, keep: Keep) -> None:
        done = self._done
        if not has_folder(self._library):
            return
        why = self._why_no_state()
        if why is not None:
            done.notes.append(f"{NAME} was not written, {why}")
            return
        file, version = state_file(self._root), self._present.rules.version
        plan = HygienePlan(self._present.as_of, self._root, self._present.rules, self._present.state, tuple(done.items))
        try:
            data = state_bytes(version, self._library.trash.now(), plan.report())
            write_file(file, bytes_now(file), data, keep, stays_if_changed=True)
        except FileVanished:
            self._touch_state()
            done.notes.append(f"{NAME} was written by another program at that moment and stays as it is.")
        except InspectorError as error:
            self._touch_state()
            done.notes.append(f"{NAME} was not written: {one_line(error.message)}")

    def _touch_state(self) -> None:
        self._done.touched.add(str(led_to(state_file(self._root))))

    def _why_no_state(self) -> str | None:
        """Why ZeroClaw should still see hygiene as due."""
        done = self._done
        if done.is_cancelled:
            return "since the run was stopped."
        if done.has_failed or done.changed:
            return "since not everything was done: the agent's own hygiene tries the rest."
        return None if self._present.is_whole else "since not everything could be looked at."

    def _numbers_kept(self, action: int) -> list[int]:
        """What was kept of files that were left alone in the end."""
        return [
            change.number
            for batch in self._library.trash.open_changes(action)()
            for change in batch
            if change.number is not None and change.row.id in self._done.touched
        ]


def _is_same(shown: HygieneItem, present: HygieneItem) -> bool:
    """Whether an item is still what was shown; only its name in the archive may be another by now."""
    if shown.stamp is not None and present.stamp is not None:
        return shown.stamp.state == present.stamp.state
    return (shown.state, shown.rule, shown.and_purged) == (present.state, present.rule, present.and_purged)


def _summary(items: Sequence[HygieneItem]) -> str:
    """Like "hygiene: 41 memories, 4 files"."""
    kinds = (("row:", "memory", "memories"), ("file:", "file", "files"), ("audit:", "audit entry", "audit entries"))
    parts = []
    for start, one, many in kinds:
        count = sum(item.id.startswith(start) for item in items)
        if count:
            parts.append(f"{count:,} {one if count == 1 else many}")
    return f"hygiene: {', '.join(parts) or 'nothing had to go'}"
