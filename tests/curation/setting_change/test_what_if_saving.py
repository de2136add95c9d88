"""Writing a trial's numbers to config.toml: what changes, what is refused, and what holds afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from support.config_forms import FIRST, FORMS, THIRD
from support.opened import opened_at

from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.candidates import configs_for
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall import recall_memories
from zeroclaw_tui.curation.setting_change import (
    complaints_of,
    not_written,
    plan_settings_change,
    save_settings_change,
    way_back,
    written_settings,
)
from zeroclaw_tui.memory.errors import Refused, UsageError
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import RerankSettings, Trial, profile_for

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MakeConfig = Callable[..., MemoryConfig]
REQUEST = RecallRequest("rust", as_of=NOW.isoformat())
WANTED = {"vector_weight": 0.6, "keyword_weight": 0.45, "threshold": 0.25, "search_mode": "bm25"}


opened = partial(opened_at, version="0.8.3")


def trial(library: Library, version: str | None = None, request: RecallRequest = REQUEST, **settings: Any) -> Trial:
    profile = profile_for(version) if version else library.profile.profile
    return Trial(request, profile, library.settings._replace(**settings))


def file_of(config: MemoryConfig) -> Path:
    assert config.install.config_file is not None
    return config.install.config_file


async def saved(library: Library, environ: dict[str, str] | None = None, **settings: Any) -> None:
    change = plan_settings_change(library, trial(library, **settings), NOW)
    await save_settings_change(library, change, NOW, environ or {})


@pytest.mark.parametrize("form", FORMS)
async def test_the_written_config_has_these_values_and_everything_else_as_before(made: MakeConfig, form: str) -> None:
    config = made(FORMS[form])
    async with opened(config) as library:
        await saved(library, **WANTED)
    fresh = load_config(config.install, {})
    found = (fresh.vector_weight, fresh.keyword_weight, fresh.min_relevance_score, fresh.search_mode)
    assert found == (0.6, 0.45, 0.25, "bm25")
    assert [warning for warning in fresh.warnings if warning not in config.warnings] == []
    ours = {"vector_weight", "keyword_weight", "min_relevance_score", "search_mode"}
    added = {"backend": "sqlite", "auto_save": True} if form == "without [memory]" else {}
    before, after = tomlkit.parse(FORMS[form]).unwrap(), tomlkit.parse(file_of(config).read_bytes()).unwrap()
    others = {name: value for name, value in after.pop("memory").items() if name not in ours}
    kept = {name: value for name, value in before.pop("memory", {}).items() if name not in ours}
    assert others == kept | added
    assert after == before


async def test_only_what_changed_is_in_the_plan_and_secrets_are_not(made: MakeConfig) -> None:
    async with opened(made()) as library:
        change = plan_settings_change(library, trial(library, threshold=0.25), NOW)
        assert [line for line in change.lines if line[0] != " "] == [
            ("-", "min_relevance_score=0.4"),
            ("+", "min_relevance_score=0.25"),
        ]
        assert "verysecret" not in str(change)
        assert written_settings(library, trial(library, threshold=0.25)) == {"memory.min_relevance_score": 0.25}


async def test_saving_keeps_the_old_file_and_the_library_scores_by_the_new(made: MakeConfig) -> None:
    config = made()
    async with opened(config, version="0.8.3") as library:
        before = await recall_memories(library, library.trial(REQUEST))
        tried = await recall_memories(library, library.trial(REQUEST, trial(library, threshold=0.25).settings))
        await saved(library, threshold=0.25)
        after = await recall_memories(library, library.trial(REQUEST))
        assert (before.injected, tried.injected, after.injected) == (0, 2, 2)
        assert after == tried
        assert library.config.min_relevance_score == 0.25
    assert [path.read_text() for path in config.install.own_dir.rglob("backups/*")] == [FIRST]


async def test_a_file_that_changed_meanwhile_is_not_overwritten(made: MakeConfig) -> None:
    config = made()
    async with opened(config) as library:
        change = plan_settings_change(library, trial(library, threshold=0.25), NOW)
        file_of(config).write_text(FIRST + "# by hand\n")
        with pytest.raises(Refused, match="changed by another program"):
            await save_settings_change(library, change, NOW, {})
        assert library.settings.threshold == 0.4
    assert file_of(config).read_text() == FIRST + "# by hand\n"


async def test_read_only_writes_nothing(made: MakeConfig) -> None:
    config = made(read_only=True)
    async with opened(config) as library:
        with pytest.raises(Refused, match="--read-only"):
            plan_settings_change(library, trial(library, threshold=0.25), NOW)
    assert file_of(config).read_text() == FIRST


async def test_a_lone_file_has_no_config_to_write(made: MakeConfig, tmp_path: Path) -> None:
    database = tmp_path / "alone.db"
    made()
    database.write_bytes((tmp_path / "zc" / "workspace" / "memory" / "brain.db").read_bytes())
    config = configs_for(OpenOptions(path=database), {"HOME": str(tmp_path)})[0]
    async with opened(config) as library:
        with pytest.raises(Refused, match=r"no config\.toml"):
            plan_settings_change(library, trial(library, threshold=0.25), NOW)


@pytest.mark.parametrize(
    ("version", "settings", "said"),
    [
        ("0.8.3", {"vector_weight": math.nan}, "memory.vector_weight must be a number from 0 on, and nan is not"),
        ("0.8.3", {"keyword_weight": math.inf}, "memory.keyword_weight must be"),
        ("0.8.3", {"vector_weight": 1e300}, "memory.vector_weight must be"),
        ("0.8.3", {"threshold": math.nan}, "memory.min_relevance_score must be"),
        ("0.8.3", {"threshold": -0.1}, "memory.min_relevance_score must be"),
        ("0.8.4", {"threshold": 1.5}, "a number from 0 to 1 for ZeroClaw 0.8.4"),
        ("0.8.4", {"rerank": RerankSettings(candidate_multiplier=21)}, "from 1 to 20"),
    ],
)
async def test_a_value_zeroclaw_would_not_take_is_not_written(
    made: MakeConfig, version: str, settings: dict[str, Any], said: str
) -> None:
    config = made()
    async with opened(config, version=version) as library:
        with pytest.raises(UsageError, match=said):
            plan_settings_change(library, trial(library, **settings), NOW)
    assert file_of(config).read_text() == FIRST


async def test_before_the_newest_version_a_threshold_may_be_above_1(made: MakeConfig) -> None:
    """Raw BM25 scores have no upper end."""
    config = made()
    async with opened(config, version="0.7.5") as library:
        await saved(library, threshold=2.5)
        with pytest.raises(UsageError):
            plan_settings_change(library, trial(library, "0.8.4", threshold=3.5), NOW)
    assert load_config(config.install, {}).min_relevance_score == 2.5


async def test_a_number_of_the_file_that_is_none_does_not_keep_others_from_being_written(made: MakeConfig) -> None:
    config = made(FIRST.replace("vector_weight = 0.7", "vector_weight = nan"))
    async with opened(config) as library:
        await saved(library, threshold=0.25)
    fresh = load_config(config.install, {})
    assert math.isnan(fresh.vector_weight)
    assert fresh.min_relevance_score == 0.25


async def test_a_variable_above_the_file_is_said_and_goes_on_counting(made: MakeConfig) -> None:
    """The file changes, and ZeroClaw scores as before."""
    environ = {"ZEROCLAW_memory__vector_weight": "0.9"}
    async with opened(made(THIRD, environ)) as library:
        assert library.settings.vector_weight == 0.9
        change = plan_settings_change(library, trial(library, vector_weight=0.5), NOW)
        said = "memory.vector_weight has no effect while ZEROCLAW_memory__vector_weight is set"
        assert any(said in warning for warning in change.warnings)
        await save_settings_change(library, change, NOW, environ)
        assert library.settings.vector_weight == 0.9
        assert "vector_weight = 0.5" in file_of(library.config).read_text()
        with pytest.raises(Refused) as nothing:
            plan_settings_change(library, trial(library, vector_weight=0.5), NOW)
        assert said in nothing.value.hint


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda request: request, "Change a weight, the threshold"),
        (lambda request: replace(request, limit=20), "The limit is not written"),
        (lambda request: replace(request, session_id="tg"), "The session is not written"),
        (lambda request: replace(request, as_of=(NOW + timedelta(days=3)).isoformat()), "The day is not written"),
        (lambda request: replace(request, limit=20, session_id="tg"), "The limit and the session are not written"),
    ],
)
async def test_what_no_setting_holds_is_said(
    made: MakeConfig, change: Callable[[RecallRequest], RecallRequest], said: str
) -> None:
    async with opened(made()) as library:
        with pytest.raises(Refused, match="nothing to write") as nothing:
            plan_settings_change(library, trial(library, request=change(REQUEST)), NOW)
        assert said in nothing.value.hint
        planned = plan_settings_change(library, trial(library, request=change(REQUEST), threshold=0.2), NOW)
        assert any(said in warning for warning in planned.warnings) is ("not written" in said)


async def test_a_search_mode_is_written_where_a_version_reads_it(made: MakeConfig) -> None:
    """Before 0.6.3 nothing reads it."""
    config = made()
    async with opened(config, version="0.6.2") as library:
        with pytest.raises(Refused):
            plan_settings_change(library, trial(library, search_mode="bm25"), NOW)
        change = plan_settings_change(library, trial(library, "0.7.5", search_mode="bm25"), NOW)
        assert any("0.6.2 does not read memory.search_mode" in warning for warning in change.warnings)
    async with opened(config, version="0.6.3") as library:
        await saved(library, search_mode="bm25")
    assert load_config(config.install, {}).search_mode == "bm25"


async def test_the_plan_warns_of_what_cannot_work_and_the_profile_stays_a_look(made: MakeConfig) -> None:
    async with opened(made(), version="0.7.5") as library:
        assert "The profile is not written" in (not_written(library, trial(library, "0.6.2"), NOW) or "")
        assert not_written(library, trial(library), NOW) is None
        change = plan_settings_change(library, trial(library, threshold=0.2), NOW)
        assert any("raw BM25" in warning for warning in change.warnings)
        assert not any("weights" in warning for warning in change.warnings)


@pytest.mark.parametrize(
    ("form", "version", "said"),
    [
        ("V1", "0.7.5", None),
        ("V1", "0.5.6", "would open this file"),
        ("V1", "0.8.4", "would first migrate this file"),
        ("V3", "0.8.3", None),
        ("V3", "0.8.4", None),
        ("V3", "0.8.0", "would open this file"),
        ("V3", "0.1.7", "could read this file, which has the tables of 0.8.3 and later, but store nothing in it"),
    ],
)
async def test_a_version_that_does_not_fit_the_tables_is_said(
    made: MakeConfig, form: str, version: str, said: str | None
) -> None:
    async with opened(made(FORMS[form]), version=None) as library:
        found = complaints_of(library, trial(library, version), about=())
    assert len(found) == (said is not None)
    assert said is None or (said in found[0] and version in found[0] and "\n" not in found[0])


async def test_a_backend_that_weighs_nothing_is_told_so(tmp_path: Path) -> None:
    """Markdown scores the share of the words that a line holds, whatever the weights and the mode."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- **lang**: Prefers Rust\n")
    config = configs_for(OpenOptions(path=folder), {"HOME": str(tmp_path)})[0]
    async with opened(config) as library:
        assert library.memory.name == "markdown"
        found = complaints_of(library, trial(library, vector_weight=0.1, search_mode="bm25"))
    assert [sentence.split(" does")[0].split(" do ")[0] for sentence in found] == ["The weights", "The search mode"]


def test_the_way_back_names_the_config_dir_where_the_command_would_not_find_it(made: MakeConfig) -> None:
    config = made(FIRST)
    usual = config._replace(install=config.install._replace(config_dir=Path.home() / ".zeroclaw"))
    assert way_back(usual) == "`zeroclaw onboard --restore` restores the previous one."
    spaced = config._replace(install=config.install._replace(config_dir=Path.home() / "my claw"))
    assert "`zeroclaw onboard --config-dir ~/'my claw' --restore`" in way_back(spaced)
    odd = config._replace(install=config.install._replace(config_dir=Path.home() / "a\nb"))
    assert r"--config-dir ~/$'a\x0ab' " in way_back(odd)
