"""Reindexing creates missing and outdated vectors; a run can be stopped and continued."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import small_store
from support.http_endpoints import serving
from support.installs import make_install
from support.memories import Refused
from support.slept_clock import Clock
from support.test_embedder import EmbeddingService, embed

from zeroclaw_tui.curation.reindex import BATCH_SIZE, plan_reindex, reindex
from zeroclaw_tui.embeddings.endpoint import BACKGROUND

ROWS = 40


@pytest.fixture
def service():
    return EmbeddingService()


@pytest.fixture
def install(tmp_path):
    """Forty memories; the first has a valid vector, the second an invalid one, the third no text."""
    rows: list[dict[str, Any]] = [{"content": f"text number {at}"} for at in range(ROWS)]
    rows[0]["embedding"] = embed("dense:8", "text number 0").astype("<f4").tobytes()
    rows[1]["embedding"] = small_store.blob(1, 2, 3)
    rows[2]["content"] = "  "
    return make_install(tmp_path / "zc", "G4", rows)


@pytest.fixture
def database(install):
    return install.database


@pytest.fixture
async def library(service, install):
    """The library, opened with that service."""
    with serving(service) as endpoint:
        install.configure(
            f'embedding_provider = "custom:{endpoint.base}"\nembedding_model = "dense"\nembedding_dimensions = 8\n'
        )
        async with install.opened() as library:
            yield library


TO_MAKE = 38


@pytest.fixture
def run(library):
    """Run a plan, by default that of the whole store, without waiting for a busy endpoint."""

    async def run(plan=None, **options):
        retries = BACKGROUND._replace(sleep=Clock().sleep)
        return await reindex(library, plan or await plan_reindex(library), retries=retries, **options)

    return run


def rows_of(database: Path) -> dict[str, tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("INSERT INTO memories_fts(memories_fts, rank) VALUES ('integrity-check', 1)")
        found = connection.execute("SELECT id, content, updated_at, created_at, embedding FROM memories").fetchall()
        connection.rollback()
    return {row[0]: row[1:] for row in found}


def lacking(database: Path) -> int:
    return sum(row[3] is None for row in rows_of(database).values())


async def test_reindexing_gives_every_memory_its_vector_and_changes_nothing_else(library, service, database, run):
    before = rows_of(database)
    message: list[int] = []
    plan = await plan_reindex(library)
    done = await run(plan, on_progress=lambda count: message.append(count) or True)
    assert (await plan_reindex(library)).count == 0
    assert (done.filled, done.skipped, done.failed, done.stopped) == (TO_MAKE, 0, [], False)
    after = rows_of(database)
    for name, row in after.items():
        assert row[:3] == before[name][:3], "texts and times must not change"
        if name == "id-002":
            assert row[3] is None, "there is nothing to embed"
        else:
            assert np.array_equal(np.frombuffer(row[3], "<f4"), embed("dense:8", str(row[0])))
    assert len(service.asked) == -(-TO_MAKE // BATCH_SIZE)
    assert message == sorted(message)
    assert message[-1] == TO_MAKE


async def test_an_unusable_vector_is_created_again(library, service, run, database):
    vectors = {0: (0,) * 8, 3: (1, 2, float("nan"), 4, 5, 6, 7, 8), 4: (float("inf"),) * 8}
    for at, numbers in vectors.items():
        small_store.change(
            database, f"UPDATE memories SET embedding = ? WHERE id = 'id-00{at}'", [small_store.blob(*numbers)]
        )
    plan = await plan_reindex(library)
    assert list(plan.outdated) == ["id-000", "id-001", "id-003", "id-004"]
    await run(plan)
    assert (await plan_reindex(library)).count == 0
    assert np.array_equal(np.frombuffer(rows_of(database)["id-000"][3], "<f4"), embed("dense:8", "text number 0"))


@pytest.mark.parametrize(
    ("status", "refused", "sentence", "filled"),
    [(429, "text number 20", "is rate limited (HTTP 429)", BATCH_SIZE), (401, "text number 0", "wants an API key", 0)],
)
async def test_an_endpoint_that_keeps_failing_ends_the_run(run, service, database, status, refused, sentence, filled):
    service.trouble = lambda texts: (status, b"{}") if refused in texts or not filled else None
    done = await run()
    assert (done.filled, done.stopped) == (filled, False)
    assert sentence in done.failed[0]
    assert lacking(database) == TO_MAKE - filled


async def test_a_refused_text_loses_only_its_own_vector(library, service, run, database):
    """Texts refused as a batch are sent one by one."""
    service.trouble = lambda texts: (400, b"{}") if "text number 5" in texts else None
    done = await run()
    assert done.filled == TO_MAKE - 1
    assert len(done.failed) == 1
    assert done.failed[0].startswith("key5: ")
    assert rows_of(database)["id-005"][3] is None


async def test_a_stopped_run_keeps_its_vectors_and_can_be_continued(library, service, run, database):
    plan = await plan_reindex(library)
    done = await run(plan, on_progress=lambda count: count < BATCH_SIZE)
    assert (done.filled, done.stopped) == (BATCH_SIZE, True)
    assert lacking(database) == 38 - BATCH_SIZE
    again = await plan_reindex(library)
    assert again.count == TO_MAKE - BATCH_SIZE
    assert (await run(again)).filled == again.count
    sent = [text for texts in service.asked for text in texts]
    assert len(sent) == len(set(sent)), "no text may be sent twice"


async def test_rows_changed_or_deleted_during_a_run_are_skipped(library, service, run, database):
    def write_elsewhere(texts):
        small_store.change(database, "UPDATE memories SET content = 'other', updated_at = 'x' WHERE id = 'id-004'")
        small_store.change(database, "DELETE FROM memories WHERE id = 'id-006'")

    service.trouble = write_elsewhere
    done = await run()
    assert (done.filled, done.skipped) == (TO_MAKE - 2, 2)
    assert rows_of(database)["id-004"][3] is None, "a stale vector is worse than none"


async def test_a_model_other_than_the_stores_is_refused_before_anything_is_sent(library, service, run, database):
    small_store.change(database, "INSERT INTO memory_meta VALUES ('embedding_model', 'another')")
    plan = await plan_reindex(library)
    with pytest.raises(Refused, match=r"another model \(another\)"):
        await run(plan)
    assert service.asked == []
