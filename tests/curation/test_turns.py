"""Turns: reading growing and hostile traces, and comparing turns with a recall made now."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support import golden
from support.libraries import Library, ProfileChoice, remove_memories
from support.marks import plan_of_marked
from support.opened import opened_memory
from support.replaying import RecordedEmbedder
from support.rules import ScoringSettings, profile_for
from support.stand_in_agent import StandInAgent, make_store, store
from support.stores import SqliteMemory
from support.traces import NOW, RecordingInstall, Sent, call_line, inbound_line

from zeroclaw_tui.curation.recall import prompt_for
from zeroclaw_tui.curation.turns import ComparedTurn, Turn, TurnLog, compare, follow, read_turns, trial_of_turn

BLOCK = "[Memory context]\n- lang: Prefers Rust\n[/Memory context]\n\n"
OTHER = "[Memory context]\n- pet: Cat named Mio\n[/Memory context]\n\n"
CHANNEL = Sent("Which language?", BLOCK, channel="telegram.main", sender="ann", target="123")
WAIT = 60.0


@pytest.fixture
def install(tmp_path):
    return RecordingInstall(tmp_path, config="schema_version = 3\n")


async def _turns(install: RecordingInstall) -> tuple[Turn, ...]:
    return (await read_turns(install.library())).turns


@pytest.mark.parametrize("version", ["0.8.2", "0.8.3", "0.8.4"])
async def test_the_block_is_found_at_the_position_of_its_version(install, version):
    """Before the last user message, or for channels up to 0.8.2 at the end of the system prompt."""
    install.record(replace(CHANNEL, version=version))
    install.record(Sent("Which pet?", OTHER, version=version, at=NOW + timedelta(minutes=1)))
    channel, cli = await _turns(install)
    assert (channel.query, channel.sent, channel.rule) == ("Which language?", BLOCK, "channel")
    assert (cli.query, cli.sent, cli.rule) == ("Which pet?", OTHER, "cli")
    assert channel.scopes == ("telegram_main_123_ann", "ann")


async def test_groups_of_0_8_2_have_two_blocks_and_embedded_agents_a_timestamp(install):
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
async def test_an_unknown_block_has_a_reason(install, payload, version, why):
    install.record(replace(CHANNEL, payload=payload, version=version))
    (turn,) = await _turns(install)
    assert turn.sent is None
    assert why in turn.why_not_sent
    assert turn.query == "Which language?"


async def test_broken_lines_are_counted_and_an_incomplete_one_is_not_read(install):
    install.write("no json", '{"message": "llm_request", "trace_id": }', "[1]")
    install.record(CHANNEL)
    install.write(call_line(Sent("later"))[:80], end="")
    recording = await read_turns(install.library())
    assert [turn.query for turn in recording.turns] == ["Which language?"]
    assert recording.broken_lines == 3


async def test_archives_and_a_configured_path_are_read(tmp_path):
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


async def test_a_growing_truncated_or_rotated_trace_is_followed(install):
    """A line in two pieces, a truncated (rolling) trace and a rotated one: each turn is read once."""
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


async def test_a_trace_of_any_bytes_is_read_without_an_error(install):
    """Lines that are cut, mixed up, filled with control characters or of other types, with random bytes in between."""
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
    recording = await read_turns(install.library())
    assert recording.broken_lines > 0
    assert all(isinstance(turn.query, str) for turn in recording.turns)


# Turns recorded by the rules of the agent's version, each compared with a recall made now.


LATER = NOW + timedelta(hours=1)
BEFORE = NOW - timedelta(days=3)
HISTORY, SENDER = "telegram_main_123_ann", "ann"
ASKED = Sent("what language and tea?", channel="telegram.main", sender="ann", target="123")


@pytest.fixture
async def memory(install):
    make_store(install)
    for place in range(12):
        text = f"A language, number {place}, with tea" if place % 3 else f"tea {place}"
        session = (HISTORY, SENDER, None)[place % 3]
        category = ("core", "daily", "conversation")[place % 3]
        at = BEFORE - timedelta(days=place)
        store(install.database, f"key{place}", text, at=at, session=session, category=category)
    store(install.database, "long", "language " * 300, at=BEFORE, session=SENDER)
    async with opened_memory(SqliteMemory(install.database)) as memory:
        yield memory


def _library(install: RecordingInstall, memory: SqliteMemory, version: str = "0.8.4") -> Library:
    # Before 0.8.4 scores in a store of few memories are close to 0.
    threshold = 0.4 if version == "0.8.4" else 0.0
    library = install.library(memory, version=version, settings=ScoringSettings(threshold=threshold))
    library.profile = ProfileChoice(profile_for(version), "option")
    return library


async def _compared(library: Library) -> list[ComparedTurn]:
    return [await compare(library, turn) for turn in (await read_turns(library)).turns]


@pytest.mark.parametrize("version", ["0.8.2", "0.8.3", "0.8.4"])
async def test_each_kind_of_turn_is_predicted(install, memory, version):
    library = _library(install, memory, version)
    agent = StandInAgent(install, library)
    sent = [
        await agent.turn(replace(ASKED, version=version, id="direct"), (HISTORY, SENDER)),
        await agent.turn(
            replace(ASKED, version=version, id="group", target="group:9"), (SENDER, "telegram_main_group_9_ann")
        ),
        await agent.turn(Sent("what language?", version=version, id="cli")),
        await agent.turn(Sent("tea", version=version, id="web socket", session="gw_1"), ("gw_1",)),
        await agent.turn(Sent("zebra", version=version, id="nothing")),
    ]
    compared = {one.turn.id: one for one in await _compared(library)}
    for one in sent:
        found = compared[one.id]
        assert (found.turn.sent, found.predicted, found.equal) == (one.block, one.block, True), one
    assert compared["direct"].turn.sent
    assert not compared["nothing"].turn.sent


async def test_the_prediction_is_masked_as_the_trace_masks(install, memory):
    for key, content in (("own", "zebra password=hunter2hunter2"), ("k", "zebra token: 'abcd efgh ijkl'\nnext")):
        store(install.database, key, content, at=BEFORE)
    store(install.database, "api_key=abcdefghijk", 'zebra "api_key": "abcdefghijk"', at=BEFORE)
    library = _library(install, memory)
    await StandInAgent(install, library).turn(Sent("zebra"))
    (found,) = await _compared(library)
    assert found.equal is True
    assert found.predicted == found.turn.sent
    assert "hunt*[REDACTED]" in str(found.predicted)
    assert "hunter2" not in str(found.as_json())


async def test_turns_recorded_with_auto_save_are_equal_different_or_unknown(install, memory):
    """With auto_save each message is stored before its own recall and is an older memory for every later turn; that of
    the embedded agent is overwritten each time. A turn is unknown only if a memory that it needs was edited or
    deleted."""
    for key, content in (("city", "Lives in Lisbon"), ("pet", "Has a dog named Pixel"), ("tool", "Deploys by bazel")):
        store(install.database, key, content, at=BEFORE)
    library = _library(install, memory)
    library.settings = ScoringSettings(threshold=0.05)
    agent = StandInAgent(install, library)
    for place, query in enumerate(("Where do I live, Lisbon?", "Which dog do I have?", "What deploys, bazel?")):
        at = NOW + timedelta(minutes=place)
        saved = at - timedelta(milliseconds=5)
        store(install.database, "user_msg", query, at=NOW, updated=saved, session="gw_1", category="conversation")
        store(install.database, f"user_msg_{place}", query, at=saved, session="gw_1", category="conversation")
        await agent.turn(Sent(query, at=at, id=f"t{place}"))
        store(install.database, f"later{place}", f"{query} {query}", at=at + timedelta(seconds=9))
    wrong = "[Memory context]\n- tool: Deploys by bazel\n[/Memory context]\n\n"
    install.record(Sent("Where do I live, Lisbon?", wrong, at=NOW + timedelta(minutes=9), id="t9"))
    store(install.database, "pet", "Has a cat", at=BEFORE, updated=LATER)
    compared = {one.turn.id: one for one in await _compared(library)}
    assert all(one.turn.sent for one in compared.values())
    assert {turn: one.equal for turn, one in compared.items()} == {"t0": True, "t1": None, "t2": True, "t9": False}
    assert compared["t1"].changed_since == ("pet",)


async def test_deleting_a_memory_that_matches_the_message_makes_the_turn_unknown(install, memory):
    """It was not sent, but all other scores are relative to the best hit."""
    long_ago = NOW - timedelta(days=2000)
    for key in ("sent", "other", "third"):
        store(install.database, key, f"a zebra named {key}", at=long_ago - timedelta(days=1))
    library = _library(install, memory)
    block = "[Memory context]\n- sent: a zebra named sent\n[/Memory context]\n\n"
    install.record(Sent("zebra", block, at=long_ago))
    (before,) = await _compared(library)
    assert before.equal is False
    await remove_memories(library, await plan_of_marked(library, ["id-third"]), "purge")
    (after,) = await _compared(library)
    assert (after.equal, after.changed_since) == (None, ("third",))


async def test_an_unpredicted_block_is_a_mismatch(install, memory):
    block = "[Memory context]\n- key1: A language, number 1, with tea\n[/Memory context]\n\n"
    install.record(Sent("zebra", block))
    install.record(Sent("zebra", payload="off", at=LATER))
    install.record(Sent("tea", at=LATER + timedelta(minutes=1)))
    wrong, unknown, without = await _compared(_library(install, memory))
    assert (without.equal, bool(without.predicted)) == (False, True)
    assert (wrong.equal, wrong.predicted) == (False, "")
    assert wrong.why_not_equal == "1 sent and not predicted, 0 predicted and not sent."
    assert (unknown.equal, unknown.turn.sent) == (None, None)
    assert "log_llm_request_payload" in (unknown.why_not_equal or "")
    document = wrong.as_json()
    assert list(document) == [
        "turn", "at", "agent", "session", "channel", "query", "sent", "predicted", "equal", "why_not_equal", "source",
    ]  # fmt: skip
    assert (document["sent"], document["equal"], document["source"]) == (block, False, "trace")


# Blocks in the trace of the real ZeroClaw 0.8.4, all of which are predicted.


VERSION = "0.8.4"
RECORDED = golden.runs(VERSION, "rerank_runs")
LIMIT = 5


def _is_turn(run: dict[str, Any]) -> bool:
    """Whether ZeroClaw has such turns: a limit other than 5 is that of an embedded agent, which has at most one
    session, and scheduled turns have none."""
    sessions = run["sessions"] or [None]
    is_embedded = run["origin"] == "interactive" and len(sessions) == 1
    is_scheduled = run["origin"] == "cron"
    return (
        run["layer"] == "agent" and (is_embedded or run["limit"] == LIMIT) and not (is_scheduled and sessions != [None])
    )


TURNS = [run for run in RECORDED["runs"] if golden.has(VERSION, f"{run['db']}.db") and _is_turn(run)]
STORES = sorted({(run["db"], run["variant"]) for run in TURNS})


def _record(install: RecordingInstall, run: dict[str, Any], place: int) -> None:
    """Record the lines of the turn."""
    sessions = run["sessions"] or [None]
    is_channel, is_embedded = run["origin"] == "channel", run["limit"] != LIMIT
    install.trace.unlink(missing_ok=True)
    install.record(
        Sent(
            run["query"],
            run["block"],
            agent=run["agent"],
            channel="telegram.main" if is_channel else None,
            sender="ann" if is_channel else None,
            session=sessions[0] if is_embedded else None,
            embedded=is_embedded and sessions[0] is None,
            id=f"turn-{place}",
        )
    )


def test_the_recording_has_enough_turns_with_and_without_rerank():
    reranked = [(RECORDED["defaults"] | run["memory"])["rerank_enabled"] for run in TURNS]
    assert len(TURNS) >= 200
    assert any(reranked)
    assert not all(reranked)


@pytest.mark.parametrize(("name", "variant"), STORES)
async def test_every_recorded_block_is_predicted(name, variant, tmp_path):
    database = golden.variant_database(RECORDED, VERSION, name, variant, tmp_path)
    install, memory = RecordingInstall(tmp_path / "install"), SqliteMemory(database)
    await memory.open()
    try:
        for place, run in enumerate(run for run in TURNS if (run["db"], run["variant"]) == (name, variant)):
            _record(install, run, place)
            embedder = None if run["embed"] == "none" else RecordedEmbedder(run["embed"])
            library = install.library(
                memory,
                settings=golden.rerank_settings(RECORDED, run),
                embedder=embedder,
                agents={name: tuple(others) for name, others in RECORDED["agents"].items()},
                recall_limits={run["agent"]: run["limit"]},
            )
            (turn,) = (await read_turns(library)).turns
            # The scopes of these runs are not those of a chat, whose names would be in the trace.
            turn = turn._replace(scopes=tuple(run["sessions"] or [None]))
            trial = trial_of_turn(library, turn)
            # Some of their memories are dated in the future, but were recalled.
            prompt = await prompt_for(library, trial._replace(request=replace(trial.request, created_until="")))
            assert (turn.sent, prompt.text) == (run["block"], run["block"]), run
            if variant == "asis":
                compared = await compare(library, turn)
                assert (compared.predicted, compared.equal) == (run["block"], True), run
    finally:
        await memory.close()
