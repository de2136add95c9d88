"""`zeroclaw memory recall` with other numbers than config.toml has: the same as a config with these numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.small_store import make

from zeroclaw_tui.embeddings.local import local_vector

Run = Callable[..., Any]
MakeInstall = Callable[..., Path]

DEFAULTS = {"vector_weight": 0.7, "keyword_weight": 0.3, "min_relevance_score": 0.4, "search_mode": "hybrid"}
CONTENTS = (
    "User prefers Rust for systems work",
    "Rust and Go compared at work",
    "Working late on systems",
    "Tea with Priya on Monday",
    "Likes ramen and rust colored plates",
    "Systematic worker, prefers mornings",
    "The plates are rusty",
    "Nothing of this kind",
)
CASES: list[dict[str, Any]] = [
    {"min_relevance_score": 0.2},
    {"search_mode": "bm25", "min_relevance_score": 0.01},
]


def options_of(settings: dict[str, Any]) -> list[str]:
    return [f"--set=memory.{name}={value}" for name, value in settings.items()]


@pytest.fixture
def made(tmp_path: Path) -> MakeInstall:
    """Make a config dir with these settings whose memories have vectors."""

    def make_install(name: str = "zc", dimensions: int = 64, **settings: Any) -> Path:
        folder = tmp_path / name
        database = folder / "workspace" / "memory" / "brain.db"
        database.parent.mkdir(parents=True)
        rows = [
            {"content": content, "embedding": local_vector(content, dimensions) if dimensions else None}
            for content in CONTENTS
        ]
        make(database, "G2", rows)
        provider = {"embedding_provider": "local", "embedding_dimensions": dimensions} if dimensions else {}
        given = {"backend": "sqlite", "auto_save": True, **provider, **DEFAULTS, **settings}
        lines = [f"{key} = {json.dumps(value)}\n" for key, value in given.items()]
        (folder / "config.toml").write_text("default_temperature = 0.7\n[memory]\n" + "".join(lines))
        return folder

    return make_install


def recalled(run: Run, install: Path, *arguments: str, **more: Any) -> Any:
    answer = run("memory", "recall", "--config-dir", str(install), *arguments, **more)
    assert answer.code == 0, answer.err
    return answer


def document_of(run: Run, install: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = recalled(run, install, "rust work", "--json", "--as-of", "2026-03-02", *arguments).json
    return found | {"location": ""}


@pytest.mark.parametrize("settings", CASES)
def test_options_equal_a_config_with_these_values(run: Run, made: MakeInstall, settings: dict[str, Any]) -> None:
    options = options_of(settings)
    plain, written = made("plain"), made("written", **settings)
    for profile in ("0.7.5", "0.8.4"):
        found = document_of(run, plain, "--profile", profile, *options)
        assert found == document_of(run, written, "--profile", profile)
        assert found != document_of(run, plain, "--profile", profile)
        assert found["results"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--set", "memory.min_relevance_score=nan"),
        ("--set", "memory.min_relevance_score"),
        ("--set", "memory.search_mode=both"),
        ("--set", "memory.auto_save=false"),
        ("--set", "memory.nothing=1"),
        ("--as-of", "soon"),
    ],
)
def test_wrong_values_are_one_sentence(run: Run, install: Path, arguments: tuple[str, ...]) -> None:
    answer = run("memory", "recall", "--config-dir", str(install), "rust", *arguments)
    assert (answer.code, answer.raw) == (2, b"")
    assert "Traceback" not in answer.err


def test_what_cannot_work_is_named_once_on_stderr_and_answered(run: Run, made: MakeInstall) -> None:
    install = made()
    answer = recalled(
        run,
        install,
        "rust work",
        "--json",
        *options_of({"vector_weight": 0, "keyword_weight": 0}),
        "--profile",
        "0.8.4",
    )
    assert answer.err.count("Both weights are 0") == 1
    assert answer.json["query"] == "rust work"
    options = options_of({"min_relevance_score": 0.1})
    without_vectors = recalled(run, made("other", dimensions=0), "rust", *options, "--profile", "0.7.5")
    assert "no fixed meaning" in without_vectors.err
    assert "weights do nothing" not in without_vectors.err
