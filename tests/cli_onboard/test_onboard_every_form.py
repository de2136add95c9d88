"""Each backend into each form of config, by the command: only the asked keys differ, twice is once, and back again."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cli_onboard_samples import POSTGRES_URL
from support.wizard_world import FORMS, flat

MARK = b"\xef\xbb\xbf"
NEEDED = {
    "postgres": ("--set", f"storage.postgres.db_url={POSTGRES_URL}"),
    "qdrant": ("--set", "storage.qdrant.url=http://127.0.0.1:6333"),
}
BACKENDS = ("sqlite", "lucid", "postgres", "markdown", "qdrant", "none")
PAIRS = [(form, BACKENDS[(at + other) % len(BACKENDS)]) for at, form in enumerate(FORMS) for other in (0, 2)]
"""Each form with two backends, each backend with several forms; plans for every pair are tested by themselves."""


def values_of(raw: bytes) -> dict[tuple[str, ...], Any]:
    """Each value of a config by its path."""
    return flat(tomllib.loads(raw.decode("utf-8-sig")))


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("form", "backend"), PAIRS)
def test_only_the_asked_keys_differ_and_all_comes_back(
    in_process: Any, tmp_path: Path, form: str, backend: str
) -> None:
    raw = FORMS[form].encode()
    file = tmp_path / "config.toml"
    file.write_bytes(raw)
    file.chmod(0o644)
    place = ("onboard", "--config-dir", str(tmp_path))
    command = (*place, "--memory", backend, "--no-test", *NEEDED.get(backend, ()))
    code, out, err = in_process(*command, "--json")
    assert code == 0, err
    changes = json.loads(out)["changes"]
    written = file.read_bytes()

    before, after = values_of(raw), values_of(written)
    differing = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    assert differing == {tuple(change["path"]) for change in changes}
    assert all(path in after for path in before)
    assert after["memory", "backend"].partition(".")[0] == backend

    assert written.startswith(MARK) == raw.startswith(MARK)
    ends = Counter(line[-2:] == b"\r\n" for line in written.splitlines(keepends=True) if line.endswith(b"\n"))
    assert list(ends) == ([b"\r\n" in raw] if written else [])
    gone = Counter(raw.splitlines()) - Counter(written.splitlines())
    names = {change["path"][-1].encode() for change in changes if change["from"] is not None}
    holds_all = form == "inline"
    assert all(holds_all or any(name in line for name in names) for line in gone), gone
    if not changes:
        assert (written, file.stat().st_mode & 0o777) == (raw, 0o644)
        return
    assert file.stat().st_mode & 0o777 == 0o600

    everything = files_below(tmp_path)
    assert (".secret_key" in everything) == (backend == "postgres")
    assert not any(b"p-sekret" in data for data in everything.values())
    code, out, err = in_process(*command)
    assert (code, "nothing to change" in out) == (0, True), err
    assert files_below(tmp_path) == everything

    code, _, err = in_process(*place, "--restore", "latest", "--yes")
    assert code == 0, err
    assert file.read_bytes() == raw
