"""A connection lost during a write: whether the change is known, and undo afterwards."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from support.memories import Draft, NotReachable

from zeroclaw_tui.testing.tools import JournalRecorder, create, edit, row_of, state_of, undo


class Line:
    """A proxy to a server whose connection breaks once, at a statement that contains `breaks_at`.

    The server receives and answers this statement only if `is_delivered`.
    """

    def __init__(self, server_port: int) -> None:
        self.port = 0
        self.breaks_at = b""
        self.is_delivered = False
        self._server_port = server_port
        self._is_broken = False

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay data in both directions until one end closes or the connection breaks."""
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._server_port)
        with suppress(ConnectionError):
            await asyncio.gather(self._ask(reader, to_server), self._answer(from_server, writer))
        for end in (writer, to_server):
            end.close()

    async def _ask(self, client: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        while data := await client.read(65536):
            if self.breaks_at and self.breaks_at in data:
                self.breaks_at = b""
                if not self.is_delivered:
                    raise ConnectionError
                self._is_broken = True
            server.write(data)
        server.close()

    async def _answer(self, server: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        while data := await server.read(65536):
            if self._is_broken:
                self._is_broken = False
                raise ConnectionError
            client.write(data)
        client.close()


@pytest.fixture
async def line(place):
    line = Line(place.server.port)
    async with await asyncio.start_server(line.connect, "127.0.0.1", 0) as server:
        line.port = server.sockets[0].getsockname()[1]
        yield line


@pytest.fixture
async def memory(place, line, opens):
    place.make_table("agents")
    place.fill("agents")
    return await opens(place.url.replace(f":{place.server.port}/", f":{line.port}/") + "?sslmode=disable")


@pytest.mark.parametrize("is_delivered", [False, True])
async def test_a_commit_without_an_answer_is_reported_as_uncertain_and_can_be_undone(is_delivered, memory, line):
    row = row_of(await create(memory, Draft("k", "old")))
    before, journal = await state_of(memory), JournalRecorder()
    line.breaks_at, line.is_delivered = b"COMMIT", is_delivered
    with pytest.raises(NotReachable) as lost:
        await edit(memory, row, {"content": "new"}, journal)
    assert lost.value.is_unsure
    assert "The last step is not confirmed" in lost.value.hint
    assert (await memory.get("k")).content == ("new" if is_delivered else "old")
    result = await undo(memory, journal.changes)
    assert (result.written, result.done) == (int(is_delivered), 1)
    assert await state_of(memory) == before


async def test_a_connection_lost_before_the_commit_is_reported_as_no_change(memory, line):
    row = row_of(await create(memory, Draft("k", "old")))
    before, journal = await state_of(memory), JournalRecorder()
    line.breaks_at, line.is_delivered = b'UPDATE "public"', True
    with pytest.raises(NotReachable) as lost:
        await edit(memory, row, {"content": "new"}, journal)
    assert not lost.value.is_unsure
    assert "not confirmed" not in lost.value.hint
    assert (await state_of(memory), journal.changes) == (before, [])
