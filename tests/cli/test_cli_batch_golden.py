"""`zeroclaw memory recall --batch` prints what the real ZeroClaw's store returned."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import golden
from support.commands import Command
from support.http_endpoints import serving
from support.test_embedder import embed

VERSIONS = ("0.1.7", "0.7.5", "0.8.3", "0.8.4")
PARTS = ("runs", "namespaced", "window")

Settings = tuple[str, float, float, str]


def _embedding(path: str, headers: Mapping[str, str], asked: Any) -> tuple[int, bytes]:
    """Answer like OpenAI's endpoint; the model is named after the embedder of the recordings."""
    data = [{"embedding": embed(asked["model"], text).tolist()} for text in asked["input"]]
    return 200, json.dumps({"data": data}).encode()


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serving(_embedding) as running:
        yield f"{running.base}/v1"


def _install(folder: Path, database: Path, settings: Settings, endpoint: str) -> Path:
    """Create a config dir with the settings of some runs."""
    embedder, vector_weight, keyword_weight, mode = settings
    place = folder / "workspace" / "memory"
    place.mkdir(parents=True)
    shutil.move(database, place / "brain.db")
    provider = "none" if embedder == "none" else f"custom:{endpoint}"
    (folder / "config.toml").write_text(
        f'[memory]\nbackend = "sqlite"\nauto_save = true\nembedding_provider = "{provider}"\n'
        f'embedding_model = "{embedder}"\nembedding_dimensions = 64\nsearch_mode = "{mode}"\n'
        f"vector_weight = {vector_weight}\nkeyword_weight = {keyword_weight}\n"
    )
    return folder


def _settings(run: dict[str, Any]) -> Settings:
    vector_weight, keyword_weight = run.get("weights") or (0.7, 0.3)
    return run.get("embed") or "none", vector_weight, keyword_weight, run.get("search_mode") or "hybrid"


def _line(run: dict[str, Any]) -> str:
    names = ("query", "limit", "session", "agents", "namespace", "since", "until")
    return json.dumps({"limit": 10} | {name: run[name] for name in names if run.get(name) is not None})


def _answered(
    command: Command, install: Path, version: str, runs: list[dict[str, Any]]
) -> Iterator[tuple[dict[str, Any], list[tuple[str, float | None]]]]:
    """Return each run with the ids and scores that the batch printed for it."""
    answer = command(
        "memory", "recall", "--batch", "-", "--layer", "store", "--profile", version, "--config-dir", str(install),
        stdin="\n".join(map(_line, runs)).encode("utf-8"),
    )  # fmt: skip
    assert answer.code == 0, answer.err
    documents = [json.loads(line) for line in answer.out.splitlines()]
    for run, document in zip(runs, documents, strict=True):
        assert (document["query"], document["layer"], document["profile"]) == (run["query"], "store", version)
        yield run, [(result["id"], result["score"]) for result in document["results"]]


def _by_settings(runs: list[dict[str, Any]]) -> Iterator[tuple[Settings, list[dict[str, Any]]]]:
    for settings in sorted({_settings(each) for each in runs}):
        yield settings, [each for each in runs if _settings(each) == settings]


@pytest.mark.parametrize("version", [version for version in VERSIONS if golden.has(version, "brain.db")])
def test_a_batch_equals_the_recorded_runs(run: Command, endpoint: str, version: str, tmp_path: Path) -> None:
    by_chance = 0
    for settings, runs in _by_settings(golden.runs(version, "recall_runs")["runs"]):
        database = golden.database(version, golden.DATABASES[settings[0]], tmp_path)
        install = _install(tmp_path / "-".join(map(str, settings)), database, settings, endpoint)
        for asked, found in _answered(run, install, version, runs):
            expected = [(entry_id, score) for entry_id, score in asked["results"]]
            if version != "0.1.7":
                assert found == expected, asked
            else:
                by_chance += not golden.equal_up_to_ties(found, expected, asked["limit"])
    assert by_chance <= golden.CHANCE_RUNS


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_agents_namespaces_and_windows_of_a_batch_equal_the_recorded_runs(
    run: Command, endpoint: str, version: str, tmp_path: Path
) -> None:
    recorded = golden.runs(version, "full_runs")
    everything = [each for part in PARTS for each in recorded.get(part, [])]
    assert any(each.get("since") for each in everything)
    for settings, runs in _by_settings(everything):
        database = golden.database(version, "brain_full_superseded.db", tmp_path)
        install = _install(tmp_path / "-".join(map(str, settings)), database, settings, endpoint)
        for asked, found in _answered(run, install, version, runs):
            assert found == [(result["id"], result["score"]) for result in asked["results"]], asked
