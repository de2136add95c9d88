"""Run probes with real answers on a real config dir, and check that no finding has a secret."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from zeroclaw_tui.onboard.answers import Answer, Answers, gather
from zeroclaw_tui.onboard.probes import Finding, run_probe
from zeroclaw_tui.onboard.situation import candidates, situation_at

PASSWORD = "pa:ss@w/ord?1"
WRONG_PASSWORD = "not-this-one-7"
KEY = "sk-test-0123456789abcdef"
WRONG_KEY = "other-fedcba9876543210"
SECRETS = (PASSWORD, quote(PASSWORD, safe=""), "w/ord", "ord?1", WRONG_PASSWORD, KEY, WRONG_KEY)


def make_answers(folder: Path, config: str = "", environ: Mapping[str, str] | None = None, **settings: Any) -> Answers:
    """Return answers for a config with this text; settings are given as `storage__postgres__db_url=…`."""
    folder.mkdir(exist_ok=True)
    if config:
        (folder / "config.toml").write_text(config)
    variables = {"PATH": "/nowhere", **(environ or {})}
    candidate = candidates(variables, folder.parent, config_dir=folder)[0]
    answers = gather(asyncio.run(situation_at(candidate, variables)))
    for name, value in settings.items():
        answers = answers.with_given(name.replace("__", "."), Answer(value, "flag"))
    return answers


def probed(subject: str, answers: Answers, seconds: float = 8.0) -> Finding:
    """Return the finding, after checking that it has whole sentences and no secret."""
    finding = asyncio.run(run_probe(subject, answers, seconds=seconds))
    message = (finding.sentence, *finding.facts, finding.hint)
    for secret in SECRETS:
        assert not any(secret in text for text in message), f"a secret is in {message}"
    assert finding.subject == subject
    assert finding.sentence
    assert not any("\n" in text or "\x1b" in text for text in message)
    if finding.verdict == "bad":
        assert finding.exit_code in (1, 2, 3)
        assert finding.sentence.endswith(".")
    return finding
