"""The doctor: what can be wrong with a database and the files around it, with risk and repair."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support import small_store
from support.installs import make_install

from zeroclaw_tui.curation.doctor import examine
from zeroclaw_tui.memory.errors import Corrupt

EMBEDS = 'embedding_provider = "custom:http://127.0.0.1:9"\nembedding_dimensions = 4\n'


async def test_a_healthy_store_is_reported_check_by_check(make_patient):
    for generation in ("G1", "G4"):
        patient = make_patient(generation)
        patient.database.chmod(0o600)
        report = await patient.report(deep=True)
        assert {finding.risk for finding in report.findings} == {"fine"}
        assert {"keyword-index", "triggers", "log-size", "pages", "index-words"} <= {one.id for one in report.findings}
        assert report.is_healthy
        assert report.is_deep
        patient.config_dir.rename(patient.config_dir.with_name(generation))


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
async def test_a_keyword_index_that_fell_behind_is_serious_and_rebuilt(make_patient, id, breaks):
    patient = make_patient()
    patient.run(*breaks)
    before = patient.rows()
    finding = await patient.finding(id)
    assert (finding.risk, finding.repair) == ("serious", "rebuild keyword index")
    repaired = await patient.repair(id)
    assert repaired.backup is not None
    assert (await patient.report(deep=True)).is_healthy
    assert patient.rows() == before
    assert patient.found("harbour") == len(before)


@pytest.mark.parametrize(("generation", "part"), [("G1", "data"), ("G2", "idx"), ("G4", "config")])
async def test_a_keyword_index_with_a_damaged_page_is_serious_and_rebuilt(make_patient, generation, part):
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
    patient.run("DELETE FROM memories WHERE rowid = 3")
    assert patient.found("harbour") == len(before) - 1


async def test_damage_beyond_the_keyword_index_is_not_repaired(make_patient):
    patient = make_patient()
    patient.damage("memories_fts_data")
    patient.damage("embedding_cache")
    before = patient.database.read_bytes()
    with pytest.raises(Corrupt) as refused:
        await patient.repair("keyword-index")
    assert refused.value.message == "More than the keyword index is damaged, so it cannot be rebuilt."
    assert ".recover" in refused.value.hint
    assert patient.database.read_bytes() == before


async def test_words_that_differ_are_found_by_the_deep_check_only(make_patient):
    """The counts agree, but the index holds the text of before."""
    patient = make_patient()
    patient.change("DROP TRIGGER memories_au")
    patient.run(
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


async def test_damaged_pages_are_found_on_the_copy(make_patient):
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
    assert ".recover" in finding.by_hand


async def test_vectors_of_a_wrong_length_are_measured_by_config_and_by_the_store(make_patient):
    patient = make_patient("G4", settings=EMBEDS)
    patient.change("UPDATE memories SET embedding = ?", [small_store.blob(1, 2, 3)])
    finding = await patient.finding("vector-lengths")
    assert finding.risk == "serious", "all of them are wrong"
    assert finding.title.endswith("of another length than 4, by memory.embedding_dimensions.")
    patient.change("INSERT INTO memory_meta VALUES ('embedding_dimensions', '3')")
    assert (await patient.finding("vector-lengths")).risk == "fine"
    assert (await patient.finding("vector-model")).risk == "worth knowing"
    half = small_store.blob(1, 2, 3, 4, 5)
    patient.change("UPDATE memories SET embedding = ? WHERE rowid = 1", [half])
    finding = await patient.finding("vector-lengths")
    assert finding.title == "1 memory has a vector of another length than 3, by the store's own note."
    assert "zeroclaw memory reindex" in finding.by_hand


async def test_vectors_are_counted_where_a_provider_is_configured(make_patient):
    patient = make_patient(settings=EMBEDS)
    daily = "UPDATE memories SET embedding = ? WHERE category = 'daily'"
    patient.change(daily, [small_store.blob(1, 2, 3, 4)])
    finding = await patient.finding("vectors")
    assert finding.title == "8 memories are without a vector, 4 with one."
    assert (finding.risk, finding.repair) == ("worth knowing", "fill vectors")


async def test_tables_of_another_shape_come_first(make_patient):
    patient = make_patient("G4")
    patient.run("ALTER TABLE memories DROP COLUMN importance")
    findings = (await patient.report()).findings
    assert (findings[0].id, findings[0].risk) == ("shape", "serious")
    assert "importance" in findings[0].title
    risks = [finding.risk for finding in findings]
    assert risks == sorted(risks, key=["serious", "worth knowing", "fine"].index)


def leave_log(database: Path) -> Path:
    """Writes that lie only in the log, as after a program was killed."""
    aside = database.with_name("aside.db")
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE memories SET content = 'only in the log' WHERE rowid = 1")
        shutil.copy(database, aside)
        shutil.copy(f"{database}-wal", f"{aside}-wal")
    shutil.move(aside, database)
    shutil.move(f"{aside}-wal", f"{database}-wal")
    return database.with_name(f"{database.name}-wal")


async def test_a_log_nobody_has_open_is_folded_in(make_patient):
    patient = make_patient()
    log = leave_log(patient.database)
    before = patient.rows()
    leave_log(patient.database)
    finding = await patient.finding("log-size")
    assert (finding.risk, finding.repair) == ("worth knowing", "fold in write-ahead log")
    await patient.repair("log-size")
    assert not log.exists() or log.stat().st_size == 0
    assert patient.rows() == before
    assert before[0][3] == "only in the log"
    assert (await patient.finding("log-size")).risk == "fine"


async def not_open(patient) -> object:
    report = await examine(patient.config(), None)
    assert not report.is_healthy
    return next(finding for finding in report.findings if finding.id == "not-open")


async def test_a_store_that_does_not_open_says_why_and_what_is_left(make_patient):
    patient = make_patient()
    patient.database.write_bytes(b"this is no database at all" * 100)
    finding = await not_open(patient)
    assert "is not a SQLite database" in finding.title
    assert "hydrate" not in finding.by_hand
    patient.write("MEMORY_SNAPSHOT.md", "# snapshot\n")
    backup = patient.config_dir / "zeroclaw-tui" / "backups" / "brain.db.20260301T101010.000000Z.db"
    backup.parent.mkdir(parents=True)
    backup.write_bytes(b"a backup")
    finding = await not_open(patient)
    assert "zeroclaw memory hydrate" in finding.by_hand
    assert f"Backups: {backup}." in finding.by_hand


async def test_markdown_and_none_are_examined_as_far_as_that_goes(tmp_path):
    install = make_install(tmp_path / "zc", None)
    install.write("MEMORY.md", "# Long-Term Memory\n\n- **lang**: Rust\n")
    for backend in ("markdown", "none"):
        install.configure(backend=backend)
        async with install.opened() as library:
            report = await examine(install.config(), library, deep=True)
        assert report.is_healthy
        assert "store" in {finding.id for finding in report.findings}
        assert report.notes
