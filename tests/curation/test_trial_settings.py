"""Save the settings of a what-if to config.toml: changes, refusals and later recalls."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from support.installs import make_install
from support.libraries import Library
from support.memories import Refused, UsageError
from support.opened import opened_at
from support.places import MemoryConfig, load_config
from support.questions import RecallRequest
from support.rules import RerankSettings, Trial, profile_for
from support.small_store import WORKED_EXAMPLE

from zeroclaw_tui.curation.recall import recall_memories
from zeroclaw_tui.curation.trial_settings import plan_settings_change, save_settings_change

FIRST = """\
# mine
default_temperature = 0.7
api_key = "sk-verysecretverysecret" # keep

[memory]
backend = "sqlite"
auto_save = true
vector_weight = 0.7   # meaning
# keyword_weight = 0.9
min_relevance_score=0.4

[gateway]
port = 42617
"""
SECOND = FIRST.replace("# mine\n", "# mine\nschema_version = 2\n")
THIRD = """\
schema_version = 3\r
\r
[memory] # the agent's\r
backend = "sqlite"\r
keyword_weight = 0.3\r
search_mode = "hybrid" # both\r
"""
FORMS = {"V1": FIRST, "V2": SECOND, "V3": THIRD, "without [memory]": "default_temperature = 0.7\n"}

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
REQUEST = RecallRequest("rust", as_of=NOW.isoformat())
"""By keywords only, before 0.8.4, it scores lang 0.366 and food 0.289 in the worked example."""

opened = partial(opened_at, version="0.8.3")


@pytest.fixture
def made(tmp_path):
    """Create an install with this config.toml and a small database, and load it as the commands do."""

    def make_config(text=FIRST, environ=None):
        install = make_install(tmp_path / "zc", "G4" if "schema_version = 3" in text else "G2", WORKED_EXAMPLE)
        (install.config_dir / "config.toml").write_bytes(text.encode())
        return install.config(environ)

    return make_config


def trial(library: Library, version: str | None = None, request: RecallRequest = REQUEST, **settings: Any) -> Trial:
    profile = profile_for(version) if version else library.profile.profile
    return Trial(request, profile, library.settings._replace(**settings))


def file_of(config: MemoryConfig) -> Path:
    assert config.install.config_file is not None
    return config.install.config_file


async def save(library: Library, environ: dict[str, str] | None = None, **settings: Any) -> None:
    change = plan_settings_change(library, trial(library, **settings))
    await save_settings_change(library, change, NOW, environ or {})


@pytest.mark.parametrize("form", FORMS)
async def test_the_settings_are_saved_and_the_rest_of_the_file_is_kept(made, form):
    config = made(FORMS[form])
    async with opened(config) as library:
        await save(library, vector_weight=0.6, keyword_weight=0.45, threshold=0.25, search_mode="bm25")
    fresh = load_config(config.install, {})
    found = (fresh.vector_weight, fresh.keyword_weight, fresh.min_relevance_score, fresh.search_mode)
    assert found == (0.6, 0.45, 0.25, "bm25")
    assert not set(fresh.warnings) - set(config.warnings)
    written = {"vector_weight", "keyword_weight", "min_relevance_score", "search_mode"}
    required = {"backend": "sqlite", "auto_save": True} if form == "without [memory]" else {}
    before, after = tomlkit.parse(FORMS[form]).unwrap(), tomlkit.parse(file_of(config).read_bytes()).unwrap()
    others_before = {name: value for name, value in before.pop("memory", {}).items() if name not in written}
    others_after = {name: value for name, value in after.pop("memory").items() if name not in written}
    assert others_after == others_before | required
    assert after == before


async def test_after_saving_recalls_use_the_new_values_and_a_backup_has_the_old(made):
    config = made()
    async with opened(config) as library:
        before = await recall_memories(library, library.trial(REQUEST))
        tried = await recall_memories(library, library.trial(REQUEST, trial(library, threshold=0.25).settings))
        await save(library, threshold=0.25)
        after = await recall_memories(library, library.trial(REQUEST))
        assert (before.injected, tried.injected, after.injected) == (0, 2, 2)
        assert after == tried
    assert [path.read_text() for path in config.install.own_dir.rglob("backups/*")] == [FIRST]


@pytest.mark.parametrize(
    ("version", "settings", "text"),
    [
        ("0.8.3", {"vector_weight": math.nan}, "memory.vector_weight must be a number from 0; nan is not"),
        ("0.8.3", {"keyword_weight": math.inf}, "memory.keyword_weight must be"),
        ("0.8.3", {"threshold": -0.1}, "memory.min_relevance_score must be"),
        ("0.8.4", {"threshold": 1.5}, "memory.min_relevance_score must be a number from 0 to 1; 1.5 is not"),
        ("0.8.4", {"rerank": RerankSettings(candidate_multiplier=21)}, "from 1 to 20"),
    ],
)
async def test_a_value_that_zeroclaw_does_not_accept_is_refused(made, version, settings, text):
    async with opened(made(), version=version) as library:
        with pytest.raises(UsageError, match=text):
            plan_settings_change(library, trial(library, **settings))


async def test_a_setting_that_a_variable_overrides_is_written_with_a_warning(made):
    environ = {"ZEROCLAW_memory__vector_weight": "0.9"}
    async with opened(made(THIRD, environ)) as library:
        change = plan_settings_change(library, trial(library, vector_weight=0.5))
        warning = "memory.vector_weight has no effect while ZEROCLAW_memory__vector_weight is set"
        assert warning in " ".join(change.warnings)
        await save_settings_change(library, change, NOW, environ)
        assert library.settings.vector_weight == 0.9
        assert "vector_weight = 0.5" in file_of(library.config).read_text()
        with pytest.raises(Refused) as error:
            plan_settings_change(library, trial(library, vector_weight=0.5))
        assert warning in error.value.hint
