"""The doctor finds faults of a database and the files around it, with risk and repair."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support import small_store
from support.databases import HYDRATED, create_database, opened_elsewhere
from support.installs import Install, make_install
from support.libraries import plan_purge, remove_memories, store_memory, undo
from support.memories import Corrupt, Draft, Locked, Unreadable
from support.questions import MemoryFilter
from support.shoe_box import ShoeBox

from zeroclaw_tui.backends.sqlite.schema import schema_sql
from zeroclaw_tui.curation.doctor import (
    DoctorFinding,
    DoctorReport,
    RepairOutcome,
    back_up,
    backups_of,
    compact,
    examine,
    repair_finding,
)
from zeroclaw_tui.files import database as connections

NOW = datetime(2026, 11, 22, 7, 0, tzinfo=UTC)
ROWS = [{"content": f"memory {at} about the harbour", "category": "core" if at % 3 else "daily"} for at in range(12)]


class Patient(Install):
    """An install whose `database` a test may damage before the examination."""

    def run(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.database, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    def damage(self, table: str) -> None:
        """Overwrite the first page of a table."""
        small_store.damage(self.database, table)

    def rows(self) -> list[Any]:
        """Return every memory with its rowid."""
        columns = "rowid, id, key, content, category, embedding, created_at, updated_at"
        with closing(sqlite3.connect(self.database)) as connection:
            return connection.execute(f"SELECT {columns} FROM memories ORDER BY rowid").fetchall()

    def found(self, word: str) -> int:
        """Return the number of memories that SQLite's keyword index finds."""
        with closing(sqlite3.connect(self.database)) as connection:
            statement = "SELECT count(*) FROM memories_fts WHERE memories_fts MATCH ?"
            return int(connection.execute(statement, (word,)).fetchone()[0])

    async def report(self, *, deep: bool = False) -> DoctorReport:
        async with self.opened() as library:
            return await examine(self.config(), library, deep=deep)

    async def finding(self, id: str, *, deep: bool = False) -> DoctorFinding:
        found = [finding for finding in (await self.report(deep=deep)).findings if finding.id == id]
        assert len(found) == 1, f"{id} was found {len(found)} times"
        return found[0]

    async def repair(self, id: str, *, deep: bool = False) -> RepairOutcome:
        async with self.opened() as library:
            report = await examine(self.config(), library, deep=deep)
            (finding,) = [finding for finding in report.findings if finding.id == id]
            assert finding.repair_steps, "a repair must name its steps first"
            return await repair_finding(self.config(), library, finding, NOW)


@pytest.fixture
def make_patient(tmp_path):
    """Create installs, with an empty folder for the database if no generation is given."""

    def make(generation="G2", settings=""):
        made = make_install(tmp_path / "zc", generation, ROWS, settings=settings)
        return Patient(made.config_dir, made.root)

    return make


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
async def test_an_outdated_keyword_index_is_serious_and_rebuilt(make_patient, id, breaks):
    patient = make_patient()
    patient.run(*breaks)
    before = patient.rows()
    finding = await patient.finding(id)
    assert (finding.risk, finding.repair) == ("serious", "rebuild keyword index")
    await patient.repair(id)
    assert (await patient.report(deep=True)).is_healthy
    assert patient.rows() == before
    assert patient.found("harbour") == len(before)


@pytest.mark.parametrize(("generation", "part"), [("G1", "data"), ("G2", "idx"), ("G4", "config")])
async def test_a_keyword_index_with_a_damaged_page_is_serious_and_rebuilt(make_patient, generation, part):
    patient = make_patient(generation)
    before, tables = patient.rows(), made(patient.database)
    patient.damage(f"memories_fts_{part}")
    finding = await patient.finding("keyword-index")
    assert (finding.title, finding.risk) == ("The keyword index is damaged.", "serious")
    assert finding.repair == "rebuild keyword index"
    await patient.repair("keyword-index")
    assert (await patient.report(deep=True)).is_healthy
    assert (patient.rows(), made(patient.database)) == (before, tables)
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


async def test_only_the_deep_check_finds_different_words_in_the_index(make_patient):
    """The counts agree, but the index has the old text."""
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


async def test_vector_lengths_are_checked_against_the_config_and_the_store(make_patient):
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


async def test_an_unknown_schema_is_the_first_finding(make_patient):
    patient = make_patient("G4")
    patient.run("ALTER TABLE memories DROP COLUMN importance")
    findings = (await patient.report()).findings
    assert (findings[0].id, findings[0].risk) == ("shape", "serious")
    assert "importance" in findings[0].title
    risks = [finding.risk for finding in findings]
    assert risks == sorted(risks, key=["serious", "worth knowing", "fine"].index)


def leave_log(database: Path) -> Path:
    """Write rows only to the log, as a killed program leaves them."""
    aside = database.with_name("aside.db")
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE memories SET content = 'only in the log' WHERE rowid = 1")
        shutil.copy(database, aside)
        shutil.copy(f"{database}-wal", f"{aside}-wal")
    shutil.move(aside, database)
    shutil.move(f"{aside}-wal", f"{database}-wal")
    return database.with_name(f"{database.name}-wal")


async def test_a_log_that_no_program_has_open_is_checkpointed(make_patient):
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


async def test_a_store_that_does_not_open_says_why_and_what_can_be_done(make_patient):
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


async def test_markdown_and_none_are_examined_as_far_as_possible(tmp_path):
    install = make_install(tmp_path / "zc", None)
    install.write("MEMORY.md", "# Long-Term Memory\n\n- **lang**: Rust\n")
    for backend in ("markdown", "none"):
        install.configure(backend=backend)
        async with install.opened() as library:
            report = await examine(install.config(), library, deep=True)
        assert report.is_healthy
        assert "store" in {finding.id for finding in report.findings}
        assert report.notes


async def test_a_store_that_cannot_be_read_is_serious(tmp_path):
    class Silent(ShoeBox):
        async def health_check(self) -> bool:
            return False

    install = make_install(tmp_path / "zc", None, backend="markdown")
    install.write("MEMORY.md", b"- caf\xe9\n")
    async with install.opened() as library:
        note = (await examine(install.config(), library)).findings
        plug_in = (await examine(install.config(), replace(library, memory=Silent()))).findings
    assert [finding.risk for finding in (*note, *plug_in)] == ["serious", "serious"]
    assert "MEMORY.md is not UTF-8" in note[0].title
    assert plug_in[0].title == "The shoe-box store does not answer."


# Repairs keep every memory and make a backup first; compacting; complete and private backups.


def make_hydrated(patient) -> None:
    """Replace the database by one that ZeroClaw's hydration makes."""
    create_database(patient.database, HYDRATED)
    small_store.add(
        patient.database, ({"key": f"key {at}", "content": f"memory {at} of a harbour"} for at in range(40))
    )
    patient.run("INSERT INTO memories_fts(memories_fts) VALUES ('rebuild')")


def made(database: Path) -> dict[str, str]:
    """Return every table, index and trigger with its SQL, ignoring blanks."""
    with closing(sqlite3.connect(database)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: " ".join(sql.split()).replace("( ", "(").replace(" )", ")").replace(" ,", ",") for name, sql in found}


async def test_a_hydrated_database_is_repaired_to_zeroclaws_schema_and_writable(make_patient):
    patient = make_patient(None)
    make_hydrated(patient)
    before = patient.rows()
    finding = await patient.finding("hydrated")
    assert (finding.risk, finding.repair) == ("serious", "repair hydrated database")
    repaired = await patient.repair("hydrated")
    assert made(repaired.backup)["memories"] != made(patient.database)["memories"]
    report = await patient.report(deep=True)
    assert report.is_healthy, [finding.title for finding in report.findings if finding.risk == "serious"]
    assert patient.rows() == before
    async with patient.opened() as library:
        assert library.read_only_because is None
        assert library.memory.about.generation == "G1"
        await store_memory(library, Draft("new", "a word of its own: zanzibar"))
        assert patient.found("zanzibar") == 1
        await undo(library)
        plan = await plan_purge(library, MemoryFilter(category=("core",)))
        await remove_memories(library, plan, "purge")
        await undo(library)
    assert patient.rows() == before
    assert patient.found("zanzibar") == 0
    # ZeroClaw's statements use IF NOT EXISTS, so the names and columns that they need must exist.
    empty = patient.config_dir / "empty.db"
    create_database(empty, "G1")
    ours, theirs = made(patient.database), made(empty)
    assert theirs.keys() <= ours.keys()
    for name, statement in theirs.items():
        if name not in ("memories", "memories_fts"):
            assert ours[name] == statement
    with closing(sqlite3.connect(patient.database)) as ours_open, closing(sqlite3.connect(empty)) as theirs_open:
        columns = "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info('memories')"
        assert ours_open.execute(columns).fetchall() == theirs_open.execute(columns).fetchall()
        for statement in schema_sql("G1"):
            ours_open.execute(statement.replace("TABLE ", "TABLE IF NOT EXISTS ", 1)
                              .replace("INDEX ", "INDEX IF NOT EXISTS ", 1)
                              .replace("TRIGGER ", "TRIGGER IF NOT EXISTS ", 1))  # fmt: skip


def make_holes(patient) -> None:
    """Leave free pages and gaps between rowids by deleting rows."""
    patient.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
        "INSERT INTO memories (id, key, content, created_at, updated_at) SELECT 'gone' || i, 'gone' || i, "
        "replace(hex(zeroblob(800)), '00', 'gone '), '2026-01-01', '2026-01-01' FROM n",
        "DELETE FROM memories WHERE id LIKE 'gone%' OR rowid IN (3, 7)",
    )


@pytest.mark.parametrize("mode", ["wal", "delete"])
async def test_compacting_shrinks_the_file_and_keeps_every_memory(make_patient, mode):
    patient = make_patient()
    patient.run(f"PRAGMA journal_mode = {mode}")
    make_holes(patient)
    before, size, words = patient.rows(), patient.database.stat().st_size, patient.found("harbour")
    finding = await patient.finding("free-space")
    assert (finding.risk, finding.repair) == ("worth knowing", "compact")
    await compact(patient.config(), NOW)
    assert patient.database.stat().st_size < size / 4
    assert patient.rows() == before
    assert patient.found("harbour") == words
    with closing(sqlite3.connect(patient.database)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == (mode,)
    assert (await patient.report(deep=True)).is_healthy
    assert (await patient.finding("free-space")).risk == "fine"


@pytest.mark.parametrize("can_tell", [True, False])
async def test_compacting_is_refused_while_another_program_has_the_database_open(make_patient, monkeypatch, can_tell):
    """An idle connection is enough, also when the system does not name the process."""
    patient = make_patient()
    make_holes(patient)
    size = patient.database.stat().st_size
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.05)
    if not can_tell:
        monkeypatch.setattr(connections, "PROCESSES", Path("/nowhere"))
    with opened_elsewhere(patient.database) as process:
        with pytest.raises(Locked) as refused:
            await compact(patient.config(), NOW)
        assert (f"process {process}" in refused.value.message) == can_tell
        assert patient.database.stat().st_size == size
        assert not (patient.config_dir / "zeroclaw-tui" / "backups").exists()
    await compact(patient.config(), NOW)
    assert patient.database.stat().st_size < size


async def test_the_backup_includes_writes_that_are_only_in_the_log(make_patient):
    patient = make_patient()
    with closing(sqlite3.connect(patient.database, isolation_level=None)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("UPDATE memories SET content = 'only in the log' WHERE rowid = 1")
        backup = await back_up(patient.config(), NOW)
        writer.execute("UPDATE memories SET content = 'later' WHERE rowid = 1")
    with closing(sqlite3.connect(backup)) as connection:
        content = connection.execute("SELECT content FROM memories WHERE rowid = 1").fetchone()[0]
    assert content == "only in the log"
    assert backup.name.startswith("brain.db.2026")
    assert backup.stat().st_mode & 0o777 == 0o600
    assert backup.parent.stat().st_mode & 0o777 == 0o700


async def test_the_last_five_backups_are_kept(make_patient):
    patient = make_patient()
    made = [await back_up(patient.config(), NOW + timedelta(minutes=at)) for at in range(7)]
    assert backups_of(patient.config()) == made[:1:-1]
    assert sorted(path.name for path in made[0].parent.iterdir()) == [path.name for path in made[2:]]
    clock_put_back = await back_up(patient.config(), NOW - timedelta(days=1))
    assert backups_of(patient.config()) == [*made[:2:-1], clock_put_back]


async def test_a_full_disk_is_reported_and_no_file_is_left(make_patient, monkeypatch):
    patient = make_patient()
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    backups = patient.config_dir / "zeroclaw-tui" / "backups"
    with pytest.raises(Unreadable, match=f"Not enough space in {re.escape(str(backups))}: "):
        await back_up(patient.config(), NOW)
    assert list(backups.iterdir()) == []
