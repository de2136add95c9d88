"""Every thing that can be wrong with a database is found, with its risk and what can be done."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from support import golden, small_store

from zeroclaw_tui.memory.errors import Corrupt, Locked

EMBEDS = 'embedding_provider = "custom:http://127.0.0.1:9"\nembedding_dimensions = 4\n'


async def test_a_healthy_store_is_told_check_by_check(make_patient) -> None:
    for generation in ("G1", "G4"):
        patient = make_patient(generation)
        patient.database.chmod(0o600)
        report = await patient.report(deep=True)
        assert {finding.risk for finding in report.findings} == {"fine"}
        assert {"keyword-index", "triggers", "log-size", "pages", "index-words"} <= {one.id for one in report.findings}
        assert report.is_healthy
        assert report.is_deep
        patient.folder.rename(patient.folder.with_name(generation))


@pytest.mark.parametrize(
    ("id", "breaks"),
    [
        ("keyword-index", ["DELETE FROM memories_fts_docsize WHERE id < 4"]),
        (
            "keyword-index",
            ["DROP TRIGGER memories_ad", "DELETE FROM memories WHERE rowid = 3", "CREATE TRIGGER memories_ad "
             "AFTER DELETE ON memories BEGIN INSERT INTO memories_fts(memories_fts, rowid, key, content) "
             "VALUES ('delete', old.rowid, old.key, old.content); END"],
        ),
        ("triggers", ["DROP TRIGGER memories_au"]),
        ("keyword-index", ["DROP TRIGGER memories_ai", "DROP TRIGGER memories_ad", "DROP TRIGGER memories_au",
                           "DROP TABLE memories_fts"]),
    ],
)  # fmt: skip
async def test_a_keyword_index_that_fell_behind_is_serious_and_rebuilt(make_patient, id: str, breaks) -> None:
    patient = make_patient()
    patient.change(*breaks)
    before = patient.rows()
    finding = await patient.finding(id)
    assert (finding.risk, finding.repair) == ("serious", "rebuild keyword index")
    repaired = await patient.repair(id)
    assert repaired.backup is not None
    assert (await patient.report(deep=True)).is_healthy
    assert patient.rows() == before
    assert patient.found("harbour") == len(before)


@pytest.mark.parametrize("generation", ["G1", "G2", "G3", "G4"])
@pytest.mark.parametrize("part", ["data", "idx", "docsize", "config"])
async def test_a_keyword_index_with_a_damaged_page_is_serious_and_made_anew(
    make_patient, part: str, generation: str
) -> None:
    patient = make_patient(generation)
    before, made = patient.rows(), patient.made()
    patient.damage(f"memories_fts_{part}")
    finding = await patient.finding("keyword-index")
    assert (finding.title, finding.risk) == ("The keyword index is damaged.", "serious")
    assert finding.repair == "rebuild keyword index"
    repaired = await patient.repair("keyword-index")
    assert repaired.backup is not None
    assert (await patient.report(deep=True)).is_healthy
    assert (patient.rows(), patient.made()) == (before, made)
    assert patient.found("harbour") == len(before)
    patient.change("DELETE FROM memories WHERE rowid = 3")
    assert patient.found("harbour") == len(before) - 1


@pytest.mark.parametrize("version", ["0.1.7", "0.8.4"])
async def test_the_damaged_keyword_index_of_a_real_database_is_made_anew(make_patient, version: str) -> None:
    patient = make_patient("", "workspace")
    golden.database(version, "brain.db", patient.folder).rename(patient.database)
    before, made, found = patient.rows(), patient.made(), patient.found("memory")
    patient.damage("memories_fts_data")
    await patient.repair("keyword-index")
    assert (await patient.report(deep=True)).is_healthy
    assert (patient.rows(), patient.made(), patient.found("memory")) == (before, made, found)


async def test_a_damaged_keyword_index_is_named_by_the_health_of_the_store(make_patient) -> None:
    patient = make_patient()
    patient.damage("memories_fts_docsize")
    async with patient.library() as library:
        health = await library.memory.health()
    assert not health.ok
    assert "The keyword index is damaged, so ZeroClaw may find nothing by words." in health.findings


async def test_a_damaged_keyword_index_stays_as_it_is_while_another_program_has_the_database_open(make_patient) -> None:
    patient = make_patient()
    patient.damage("memories_fts_data")
    with closing(sqlite3.connect(patient.database, isolation_level=None)) as other:
        other.execute("SELECT count(*) FROM memories").fetchone()
        with pytest.raises(Locked) as refused:
            await patient.repair("keyword-index")
    assert "Stop it" in refused.value.hint
    assert (await patient.finding("keyword-index")).title == "The keyword index is damaged."
    await patient.repair("keyword-index")
    assert (await patient.report(deep=True)).is_healthy


async def test_damage_beyond_the_keyword_index_is_not_repaired(make_patient) -> None:
    patient = make_patient()
    patient.damage("memories_fts_data")
    patient.damage("embedding_cache")
    before = patient.database.read_bytes()
    with pytest.raises(Corrupt) as refused:
        await patient.repair("keyword-index")
    assert refused.value.message == "More than the keyword index is damaged, so it cannot be made anew."
    assert ".recover" in refused.value.hint
    assert patient.database.read_bytes() == before


async def test_words_that_differ_are_found_by_the_deep_check_only(make_patient) -> None:
    """The counts agree, but the index holds the text of before."""
    patient = make_patient()
    trigger = patient.database
    small_store.change(trigger, "DROP TRIGGER memories_au")
    patient.change(
        "UPDATE memories SET content = 'a lighthouse' WHERE rowid = 2",
        "CREATE TRIGGER memories_au AFTER UPDATE ON memories BEGIN INSERT INTO memories_fts(memories_fts, rowid, key, "
        "content) VALUES ('delete', old.rowid, old.key, old.content); INSERT INTO memories_fts(rowid, key, content) "
        "VALUES (new.rowid, new.key, new.content); END",
    )
    assert (await patient.report()).is_healthy
    assert (await patient.finding("index-words", deep=True)).risk == "serious"
    assert patient.found("lighthouse") == 0
    await patient.repair("index-words", deep=True)
    assert (await patient.finding("index-words", deep=True)).risk == "fine"
    assert patient.found("lighthouse") == 1


async def test_damaged_pages_are_found_on_the_copy(make_patient) -> None:
    patient = make_patient()
    with closing(sqlite3.connect(patient.database)) as connection:
        statement = "SELECT rootpage FROM sqlite_master WHERE name = 'idx_memories_session'"
        page = connection.execute(statement).fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    with patient.database.open("r+b") as file:
        file.seek(page * size - 40)
        file.write(bytes(40))
    assert (await patient.report()).is_healthy
    finding = await patient.finding("pages", deep=True)
    assert finding.risk == "serious"
    assert finding.details
    assert ".recover" in finding.by_hand


async def test_owners_that_do_not_exist_get_names(make_patient) -> None:
    patient = make_patient("G4")
    lost = ["aaaaaaaa-1111-4000-8000-000000000001", "aaaaaaaa-2222-4000-8000-000000000001"]
    rows = [{"id": f"lost-{at}", "key": f"lost{at}", "agent_id": agent} for at, agent in enumerate(lost)]
    small_store.add(patient.database, rows)
    before = patient.rows()
    finding = await patient.finding("unknown-agents")
    assert finding.title == "2 memories are owned by agents that do not exist."
    assert (finding.risk, finding.repair) == ("serious", "name unknown agents")
    repaired = await patient.repair("unknown-agents")
    assert set(repaired.done) == {"Added the agent recovered-aaaaaaaa.", "Added the agent recovered-aaaaaaaa-2."}
    assert (await patient.finding("unknown-agents")).risk == "fine"
    assert patient.rows() == before


async def test_coverage_is_told_by_category(make_patient) -> None:
    patient = make_patient(more=EMBEDS)
    small_store.change(patient.database, "UPDATE memories SET embedding = ? WHERE category = 'daily'",
                       [small_store.blob(1, 2, 3, 4)])  # fmt: skip
    finding = await patient.finding("vectors")
    assert finding.title == "8 memories are without a vector, 4 with one."
    assert dict(finding.details) == {"core": "0 of 8", "daily": "4 of 4"}
    assert (finding.risk, finding.repair) == ("worth knowing", "fill vectors")


async def test_without_a_provider_no_vector_is_missed(make_patient) -> None:
    finding = await make_patient().finding("vectors")
    assert finding.risk == "fine"
    assert "keywords only" in finding.title


async def test_vectors_of_a_wrong_length_are_measured_by_config_and_by_the_store(make_patient) -> None:
    patient = make_patient("G4", more=EMBEDS)
    small_store.change(patient.database, "UPDATE memories SET embedding = ?", [small_store.blob(1, 2, 3)])
    finding = await patient.finding("vector-lengths")
    assert finding.risk == "serious", "all of them are wrong"
    assert dict(finding.details)["expected"] == "4 numbers, by memory.embedding_dimensions"
    small_store.change(patient.database, "INSERT INTO memory_meta VALUES ('embedding_dimensions', '3')")
    assert (await patient.finding("vector-lengths")).risk == "fine"
    assert (await patient.finding("vector-model")).risk == "worth knowing"
    half = small_store.blob(1, 2, 3, 4, 5)
    small_store.change(patient.database, "UPDATE memories SET embedding = ? WHERE rowid = 1", [half])
    finding = await patient.finding("vector-lengths")
    assert finding.risk == "worth knowing"
    assert finding.title == "1 memory has a vector of another length than 3."
    assert finding.repair is None, "the configured model would make others again"


async def test_cut_vectors_are_serious(make_patient) -> None:
    patient = make_patient(more=EMBEDS)
    small_store.change(patient.database, "UPDATE memories SET embedding = x'0102030405' WHERE rowid = 1")
    finding = await patient.finding("cut-vectors")
    assert (finding.risk, finding.repair) == ("serious", "fill vectors")


async def test_rows_that_hide_or_cannot_be_dated(make_patient) -> None:
    patient = make_patient("G4")
    patient.change(
        "UPDATE memories SET superseded_by = 'key1' WHERE rowid = 1",
        "UPDATE memories SET superseded_by = 'nobody' WHERE rowid = 3",
        "UPDATE memories SET created_at = 'yesterday' WHERE rowid = 6",
    )
    report = await patient.report()
    titles = {finding.id: finding.title for finding in report.findings if finding.risk == "worth knowing"}
    assert titles["superseded"] == "1 memory is replaced by a memory that does not exist."
    assert titles["dates"] == "1 memory is without a readable date."


async def test_tables_of_another_shape_are_told(make_patient) -> None:
    patient = make_patient()
    patient.change("ALTER TABLE memories DROP COLUMN importance")
    finding = await patient.finding("shape")
    assert finding.risk == "serious"
    assert "importance" in finding.title


async def test_serious_findings_come_first(make_patient) -> None:
    patient = make_patient()
    patient.change("DROP TRIGGER memories_au", "UPDATE memories SET created_at = 'yesterday' WHERE rowid = 6")
    findings = (await patient.report()).findings
    assert "worth knowing" in [finding.risk for finding in findings]
    risks = [finding.risk for finding in findings]
    assert risks == sorted(risks, key=["serious", "worth knowing", "fine"].index)
    assert risks[0] == "serious"
