"""A database that DATABASE_URL alone names is not written to before a person has said that it is ZeroClaw's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.postgres_place import PASSWORD, PostgresPlace


def test_a_refused_write_says_why_and_naming_the_url_lets_it_through(place: PostgresPlace, tmp_path: Path) -> None:
    place.make_table("key")
    (tmp_path / "config.toml").write_text('[memory]\nbackend = "postgres"\nauto_save = true\n')

    def store(*more: str) -> subprocess.CompletedProcess[str]:
        command = [Path(sys.executable).parent / "zeroclaw", "memory", "--config-dir", tmp_path, "store", "pet", "Cat"]
        environment = {**os.environ, "PATH": "/usr/bin:/bin", "DATABASE_URL": place.url}
        return subprocess.run([*command, *more], capture_output=True, text=True, env=environment, timeout=60)

    refused = store()
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "Nothing is written to the database of DATABASE_URL before it is confirmed" in refused.stderr
    assert "as asked" not in refused.stderr
    assert PASSWORD not in refused.stderr
    assert place.run("SELECT count(*) FROM memories") == "0"
    assert store("--location", place.url).returncode == 0
    assert place.run("SELECT count(*) FROM memories") == "1"
    assert store().returncode == 1
