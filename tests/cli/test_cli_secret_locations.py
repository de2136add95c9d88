"""No verb prints the password or the key of a URL that `--location` names, whatever backend the config has."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pytest
from support.commands import Command

URLS = (
    "http://u:swordfish@127.0.0.1:6?api_key=tunafish", "https://u:swordfish@h/x?token=tunafish",
    "HTTP://u:swordfish@h:6333/#api_key=tunafish", "ftp://u:swordfish@h/tunafish",
    "http:/u:swordfish@h?api_key=tunafish",
    "postgres://u:swordfish@127.0.0.1:6/db?password=tunafish", "redis://:swordfish@127.0.0.1:6/0?password=tunafish",
)  # fmt: skip
VERBS = ("list", "health", "doctor", "stats", "recall rust", "store a b", "copy --to markdown")


@pytest.mark.parametrize(("backend", "url"), zip(cycle(["sqlite", "markdown", "none"]), URLS, strict=False))
def test_no_password_of_a_url_is_printed(run: Command, install: Path, backend: str, url: str) -> None:
    (install / "config.toml").write_text(f'[memory]\nbackend = "{backend}"\nauto_save = true\n')
    before = sorted(install.parent.rglob("*"))
    for verb in VERBS:
        for form in ((), ("--json",)):
            answer = run("memory", "--config-dir", str(install), *verb.split(), "--location", url, "--yes", *form)
            assert answer.code in (1, 2, 3), (verb, answer)
            assert "swordfish" not in answer.out + answer.err, (verb, answer)
            assert "tunafish" not in answer.out + answer.err, (verb, answer)
    assert sorted(install.parent.rglob("*")) == before
