"""What is read of traces, while they grow, and of files that are hostile."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest
from support.traces import NOW, RecordingInstall, Sent, call_line, inbound_line

from zeroclaw_tui.curation.turns import Turn, TurnLog, follow, recorded

BLOCK = "[Memory context]\n- lang: Prefers Rust\n[/Memory context]\n\n"
OTHER = "[Memory context]\n- pet: Cat named Mio\n[/Memory context]\n\n"
CHANNEL = Sent("Which language?", BLOCK, channel="telegram.main", sender="ann", target="123")
WAIT = 60.0


@pytest.fixture
def install(tmp_path):
    return RecordingInstall(tmp_path, config="schema_version = 3\n")


async def _turns(install: RecordingInstall) -> tuple[Turn, ...]:
    return (await recorded(install.library())).turns


@pytest.mark.parametrize("version", ["0.8.2", "0.8.3", "0.8.4"])
async def test_the_block_is_found_where_the_version_puts_it(install, version):
    """In front of the last user message, or of channels up to 0.8.2 at the end of the system prompt."""
    install.record(replace(CHANNEL, version=version))
    install.record(Sent("Which pet?", OTHER, version=version, at=NOW + timedelta(minutes=1)))
    channel, cli = await _turns(install)
    assert (channel.query, channel.sent, channel.rule) == ("Which language?", BLOCK, "channel")
    assert (cli.query, cli.sent, cli.rule) == ("Which pet?", OTHER, "cli")
    assert channel.scopes == ("telegram_main_123_ann", "ann")


async def test_a_group_of_0_8_2_has_two_blocks_and_an_embedded_agent_is_known_by_its_stamp(install):
    both = f"{BLOCK}\n{OTHER}"
    install.record(replace(CHANNEL, block=both, version="0.8.2", target="group:9"))
    install.record(Sent("Which pet?", OTHER, embedded=True, at=NOW + timedelta(minutes=1)))
    group, embedded = await _turns(install)
    assert (group.sent, group.is_group, group.scopes) == (both, True, ("ann", "telegram_main_group_9_ann"))
    assert (embedded.query, embedded.sent, embedded.rule) == ("Which pet?", OTHER, "library")


@pytest.mark.parametrize(
    ("payload", "version", "why"),
    [
        ("off", "0.8.4", 'log_llm_request_payload = "full"'),
        ("off", "0.8.1", "ZeroClaw 0.8.2 and later record it"),
        ("cut", "0.8.4", "The request was cut in the trace"),
    ],
)
async def test_why_a_block_is_not_known(install, payload, version, why):
    install.record(replace(CHANNEL, payload=payload, version=version))
    (turn,) = await _turns(install)
    assert turn.sent is None
    assert why in turn.why_not_sent
    assert turn.query == "Which language?"


async def test_broken_lines_are_counted_and_a_torn_one_is_left(install):
    install.write("no json", '{"message": "llm_request", "trace_id": }', "[1]")
    install.record(CHANNEL)
    install.write(call_line(Sent("later"))[:80], end="")
    recording = await recorded(install.library())
    assert [turn.query for turn in recording.turns] == ["Which language?"]
    assert recording.broken_lines == 3


async def test_archives_and_another_path_are_read(tmp_path):
    install = RecordingInstall(tmp_path, config='[observability]\nlog_persistence_path = "logs/own.jsonl"\n')
    install.record(replace(CHANNEL, query="usual"))
    (install.root / "logs").mkdir()
    for place, name in enumerate(("own.20261130-120000.jsonl", "own.20261130-120000.1.jsonl", "own.jsonl")):
        sent = replace(CHANNEL, query=name, at=NOW + timedelta(minutes=place + 1), target=None)
        (install.root / "logs" / name).write_text(call_line(sent) + "\n", encoding="utf-8")
    (install.root / "logs" / "own.notes.jsonl").write_text(call_line(replace(CHANNEL, query="no")) + "\n")
    names = ["usual", "own.20261130-120000.jsonl", "own.20261130-120000.1.jsonl", "own.jsonl"]
    assert [turn.query for turn in await _turns(install)] == names


async def _next(news: AsyncIterator[TurnLog]) -> TurnLog:
    return await asyncio.wait_for(anext(news), WAIT)


async def test_a_growing_trace_is_followed_through_all_zeroclaw_does_with_it(install):
    """A line in two pieces, a trace that is cut (rolling) and one that is rotated: each turn comes once."""
    install.record(replace(CHANNEL, id="t0"))
    news = follow(install.library())
    assert [turn.id for turn in (await _next(news)).turns] == ["t0"]
    line = call_line(replace(CHANNEL, id="t1"))
    install.write(line[:90], end="")
    waiting = asyncio.ensure_future(_next(news))
    await asyncio.wait([waiting], timeout=0.6)
    assert not waiting.done()
    install.write(line[90:])
    assert [turn.id for turn in (await waiting).turns] == ["t1"]
    rewritten = install.trace.with_name("runtime-trace.tmp.1.2")
    rewritten.write_text(
        "".join(call_line(replace(CHANNEL, id=name)) + "\n" for name in ("t1", "t2")), encoding="utf-8"
    )
    rewritten.replace(install.trace)
    assert [turn.id for turn in (await _next(news)).turns] == ["t2"]
    install.trace.rename(install.trace.with_name("runtime-trace.20261201-120000.jsonl"))
    install.record(replace(CHANNEL, id="t3"))
    assert [turn.id for turn in (await _next(news)).turns] == ["t3"]


async def test_a_trace_of_any_bytes_is_read_without_a_fault(install):
    """Lines that are cut, twisted, filled with control characters or of other types, and a byte soup between."""
    chance = random.Random(20261201)
    lines = [call_line(CHANNEL), inbound_line(CHANNEL)]
    with install.trace.open("wb") as file:
        for _ in range(600):
            raw = bytearray(chance.choice(lines).encode())
            for _ in range(chance.randrange(4)):
                at = chance.randrange(len(raw))
                raw[at : at + chance.randrange(6)] = chance.randbytes(chance.randrange(6))
            file.write(bytes(raw) + b"\n")
        for value in (b"null", b'"a"', b"1e999", b"[[[", b'{"a":' * 5000, b"\x00" * 50):
            for place in (b"attributes", b"zeroclaw", b"trace_id", b"@timestamp", b"service", b"event"):
                file.write(b'{"message":"llm_request","@timestamp":"2026-12-01T12:00:00Z","trace_id":"x","%s":' % place)
                file.write(value + b"}\n")
        file.write(chance.randbytes(20_000))
    recording = await recorded(install.library())
    assert recording.broken_lines > 0
    assert all(isinstance(turn.query, str) for turn in recording.turns)
