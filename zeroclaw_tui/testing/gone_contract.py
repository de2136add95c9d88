"""A store that goes away in the middle and comes back, as a server or a disk does; used like MemoryContract."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.memory.change import Draft, Edit
from zeroclaw_tui.memory.errors import NOT_REACHABLE, InspectorError
from zeroclaw_tui.memory.query import MemoryFilter, Sort, SortField
from zeroclaw_tui.testing.samples import NOW
from zeroclaw_tui.testing.tools import EVERY, Kept, StoreHooks, numbered, raises, soon, state_of

_ROWS = 30


class GoneContract(StoreHooks, ABC):
    """Tests that each take an open `memory` that may be written. `break_it` and `mend_it` have to be given.

    A store that lives in this process alone cannot go away and needs none of this.
    """

    secrets: tuple[str, ...] = ()
    """What must stand in no message: the password of the test's server, its key."""

    @abstractmethod
    async def break_it(self, memory: Memory) -> None:
        """Take the store away: end the server, cut the connection, damage or remove the file."""

    @abstractmethod
    async def mend_it(self, memory: Memory) -> None:
        """Bring it back as it was."""

    async def test_a_store_gone_between_two_pages_is_told_and_comes_back(self, memory: Memory) -> None:
        """Each reading verb ends in one sentence and exit code 3; mended and opened again, all is as it was."""
        await self.fill(memory, numbered(_ROWS))
        before, stamp = await state_of(memory), (await memory.stamps(EVERY))[0]
        sort = Sort(SortField.KEY)
        page = await memory.page(EVERY, sort, None, 5)
        await self.break_it(memory)
        reading: tuple[Callable[[], Awaitable[object]], ...] = (
            lambda: memory.page(EVERY, sort, page.next, 5),
            lambda: memory.order(EVERY, sort),
            memory.list,
            memory.count,
            lambda: memory.facets(MemoryFilter(), NOW.isoformat()),
            lambda: memory.recall("bulk content", 5),
            lambda: memory.whole(stamp.handle),
            lambda: memory.each_row(lambda row: None),
        )
        for deed in reading:
            self._check(await soon(raises(deed(), InspectorError)))
        await self.mend_it(memory)
        await self._open_again(memory)
        assert await state_of(memory) == before

    async def test_a_write_to_a_store_that_has_gone_never_says_it_is_done(self, memory: Memory) -> None:
        """One sentence, exit code 3; mended and opened again, nothing is lost and undo gives what was there."""
        await self.fill(memory, numbered(_ROWS))
        before, stamps = await state_of(memory), await memory.stamps(EVERY)
        row = await memory.stored(stamps[0].id)
        assert row is not None
        await self.break_it(memory)
        kept = Kept()
        deeds: list[Awaitable[object]] = [
            memory.create(Draft("gone", "gone content"), kept),
            memory.remove(stamps, kept),
            memory.store("gone", "gone content", "core"),
        ]
        if "content" in memory.capabilities.editable:
            deeds.append(memory.update(row.id, Edit({"content": "gone"}), row.fingerprint, kept))
        for deed in deeds:
            self._check(await soon(raises(deed, InspectorError)))
        await self.mend_it(memory)
        await self._open_again(memory)
        assert await state_of(memory) == before
        done = await memory.create(Draft("back", "back again"), Kept())
        assert done.change.after is not None

    async def test_a_store_that_has_gone_says_so_when_asked_how_it_is_and_can_be_closed(self, memory: Memory) -> None:
        """`health_check` is False or tells why, `health` is not ok or tells why, and closing does not hang."""
        await self.break_it(memory)
        for asked in (memory.health_check, memory.health):
            try:
                answer = await soon(asked())
            except InspectorError as error:
                self._check(error)
            else:
                assert not (answer if isinstance(answer, bool) else answer.ok)  # type: ignore[attr-defined]
        await soon(memory.close())
        await self.mend_it(memory)
        await self._open_again(memory)
        await memory.count()

    async def _open_again(self, memory: Memory) -> None:
        """What a person's `r` does."""
        await soon(memory.open())

    def _check(self, error: InspectorError) -> None:
        assert error.exit_code == NOT_REACHABLE, str(error)
        assert "\n" not in error.message
        for secret in self.secrets:
            assert secret not in str(error)
            assert secret not in repr(error.__cause__)
