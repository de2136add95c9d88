"""Property tests: undoing any sequence of stores, edits, removals and purges restores the table."""

from __future__ import annotations

import asyncio
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.memories import Vector
from support.opened import opened_memory
from support.postgres_place import FORMS, PostgresPlace
from support.store_steps import Step, steps, take

from zeroclaw_tui.backends.postgres.address import read_url
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.testing.tools import JournalRecorder, undo

KEYS = ("a", "b", "c d", "ключ", "x" * 300, "odd 0")
_schemas = itertools.count()

texts = st.one_of(
    st.sampled_from(["alpha", "naïve", "odd content"]),
    st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=40),
).filter(lambda text: bool(text.strip()))
numbers = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=3, max_size=3)
vectors = st.none() | numbers.map(lambda three: Vector(np.array(three, dtype="<f4").tobytes(), "hash", "hash:3"))
SEQUENCES = steps(KEYS, texts, vectors, "writer")


def odd_table(place: PostgresPlace, form: str) -> str:
    """Create a table with unknown columns, some of which PostgreSQL fills itself."""
    schema = f"s{next(_schemas)}"
    place.make_table(form, schema)
    times, owner = ("timestamp", "") if form == "uuid" else ("created_at, updated_at", "")
    moments = "'2026-01-01T00:00:00.1Z'" + ("" if form == "uuid" else ", 'infinity'")
    agent = "" if form != "agents" else ", 'a-scout'"
    owner = "" if form != "agents" else ", agent_id"
    rows = ", ".join(
        f"('00000000-0000-4000-8000-00000000000{number}', 'odd {number}', E'odd \\t content', "
        f"""'{'{"Custom":"x"}' if form == "uuid" else "x"}', {moments}{agent})"""
        for number in range(4)
    )
    place.run(
        f"""SET search_path = "{schema}", public;
        ALTER TABLE memories ADD more JSONB DEFAULT '{{"a": [1, null]}}', ADD bits BYTEA DEFAULT '\\x00ff',
            ADD tags TEXT[] DEFAULT ARRAY['a,b', NULL, '"'], ADD "odd ""name" NUMERIC DEFAULT 1.10,
            ADD counted BIGINT GENERATED ALWAYS AS IDENTITY,
            ADD long INTEGER GENERATED ALWAYS AS (length(content)) STORED;
        INSERT INTO memories (id, key, content, category, {times}{owner}) VALUES {rows}"""
    )
    if form != "key":
        place.run(f"""UPDATE "{schema}".memories SET embedding = '[0.1,-2e-30,3]' WHERE key = 'odd 1'""")
    return schema


def dump(place: PostgresPlace, schema: str, form: str) -> list[str]:
    agents = f"""SELECT alias FROM "{schema}".agents ORDER BY alias;""" if form == "agents" else ""
    return place.run(f'{agents} SELECT m::text FROM "{schema}".memories AS m ORDER BY id').splitlines()


async def do_and_undo(place: PostgresPlace, form: str, taken: list[Step]) -> None:
    schema = odd_table(place, form)
    before = dump(place, schema, form)
    async with opened_memory(PostgresMemory(read_url(place.url), schema=schema)) as memory:
        journal, undone = JournalRecorder(), JournalRecorder()
        for step in taken:
            await take(memory, step, journal)
        after = dump(place, schema, form)
        await undo(memory, journal.changes[::-1], undone)
        assert dump(place, schema, form) == before
        await undo(memory, undone.changes[::-1])
        assert dump(place, schema, form) == after
        # Many schemas are more than one transaction can drop afterwards.
        place.run(f'DROP SCHEMA "{schema}" CASCADE')


def sequences(place: PostgresPlace, form: str, examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
    @given(SEQUENCES)
    def taken_back(taken: list[Step]) -> None:
        asyncio.run(do_and_undo(place, form, taken))

    taken_back()


@pytest.mark.parametrize("form", FORMS)
def test_undo_restores_the_table_exactly_and_can_be_undone(form, place):
    """Unknown columns, infinite times, vectors and serial numbers are restored; the undo can be undone too."""
    sequences(place, form, 5)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_undo_restores_the_table_after_many_more_sequences(form, place):
    sequences(place, form, 150)
