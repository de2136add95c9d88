"""A generated config dir, examined and planned for as the command does."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from support.places import Install, MemoryConfig, load_config
from zeroclaw_tui.config.document import ConfigDocument
from zeroclaw_tui.config.schema import Target
from zeroclaw_tui.config.secrets import KEY_FILE
from zeroclaw_tui.onboard.answers import Answers, gather
from zeroclaw_tui.onboard.plan import Plan, apply_plan, make_plan
from zeroclaw_tui.onboard.situation import Situation, candidates, situation_at

KEY = bytes(range(32)).hex()
URL = "postgres://zeroclaw:swordfish@db:5432/zeroclaw"
BACKENDS = ("sqlite", "lucid", "postgres", "markdown", "qdrant", "none")
NEEDED = {
    "postgres": (f"storage.postgres.db_url={URL}",),
    "qdrant": ("storage.qdrant.url=http://localhost:6333", "storage.qdrant.api_key=tunafish"),
}

CHANNELS = '\n# Who may speak\n[channels.telegram]\nbot_token = "123:abc"   # mine\nallowed = [\n  "a",\n]\n'
OLD = '# months of work\napi_key = "k"\n\n[memory]  # here\nbackend = "sqlite"\nauto_save = true\n' + CHANNELS
FORMS = {
    "no memory": '# months of work\napi_key = "k"\n' + CHANNELS,
    "old": OLD,
    "old, by provider": OLD
    + '\n[storage.provider.config]\nprovider = "postgres"\ndbURL = "postgres://old@h/d" # the old one\n',
    "second schema": "schema_version = 2\n" + OLD,
    "aliases": "schema_version = 3\n" + OLD.replace('"sqlite"', '"sqlite.main"') + "\n[storage.sqlite.main]\n",
    "aliases, bare": "schema_version = 3\n" + OLD,
    "aliases in an old schema": OLD + '\n[storage.postgres.work]\ndb_url = "postgres://old@h/d"\n',
    "inline": 'memory = { backend = "sqlite", auto_save = true }\n',
    "dotted": 'memory.backend = "sqlite"\nmemory.auto_save = true\n',
    "line ends of Windows, tabs": OLD.replace("\nauto", "\n\tauto").replace(" = ", "\t=\t").replace("\n", "\r\n"),
    "109 KB with a byte order mark": "\ufeff"
    + OLD
    + "".join(f"# {n}\n[x.y{n}]\nkey = '{'v' * 60}'\n" for n in range(1300)),
    "keys within texts, child before parent": (
        'prompt = """\n[memory]\nbackend = \'no\'\nauto_save = false\n"""\n'
        "[memory.policy]\nread_only_namespaces = [\n  'a', # backend\n]\n" + OLD.replace("api_key", "key")
    ),
    "families, unknown keys": OLD
    + "[[hooks]]\n[memory.policy]\nx = 1\n[hooks2]\n[storage.provider]\nunknown = {a = 1}\n",
}


def situation_of(
    text: str | None, target: Target, config_dir: Path = Path("/nowhere"), rule: str = "the default", **other: Any
) -> Situation:
    """Return the situation that the wizard would find with this config and an empty disk; None is no config."""
    layout = "data" if target.is_modern else "workspace"
    root = config_dir / layout
    document = ConfigDocument.from_text(text or "")
    named = str(document.values.get("memory", {}).get("backend", "sqlite"))
    return Situation(
        config_file=config_dir / "config.toml",
        install=Install(config_dir, root, root / "memory/brain.db", layout, rule, config_dir / "zeroclaw-tui"),
        raw=None if text is None else text.encode(),
        document=document,
        target=target,
        **{"backend": named.partition(".")[0], **other},
    )


class World:
    """One config dir; `environ` is the whole environment of the program."""

    def __init__(self, home: Path, config: str | None = None, **environ: str) -> None:
        self.home = home
        self.config_dir = home / ".zeroclaw"
        self.file = self.config_dir / "config.toml"
        self.environ: Mapping[str, str] = environ
        if config is not None:
            self.config_dir.mkdir(parents=True)
            self.file.write_bytes(config.encode())

    def with_key(self, text: str = KEY) -> World:
        (self.config_dir / KEY_FILE).write_text(text)
        return self

    def before_0_8(self) -> World:
        """Add the workspace that ZeroClaw up to 0.7.5 created when it started."""
        (self.config_dir / "workspace").mkdir(parents=True)
        return self

    def situation(self, **other: Any) -> Situation:
        (candidate,) = candidates(self.environ, self.home)
        return replace(asyncio.run(situation_at(candidate, self.environ)), **other)

    def answers(
        self, *assignments: str, memory: str | None = None, with_defaults: bool = False, **other: Any
    ) -> Answers:
        situation = self.situation(**other)
        return gather(situation, memory=memory, assignments=assignments, with_defaults=with_defaults)

    def plan(self, *assignments: str, memory: str | None = None, **other: Any) -> Plan:
        return make_plan(self.answers(*assignments, memory=memory, **other))

    def write(self, *assignments: str, memory: str | None = None) -> Plan:
        plan = self.plan(*assignments, memory=memory)
        apply_plan(plan)
        return plan

    @property
    def values(self) -> dict[str, Any]:
        return tomllib.loads(self.file.read_text("utf-8-sig"))

    def files(self) -> dict[str, bytes]:
        """Return every file in the home folder."""
        return {str(path.relative_to(self.home)): path.read_bytes() for path in self.home.rglob("*") if path.is_file()}

    def loaded(self) -> MemoryConfig:
        return load_config(self.situation().install, self.environ)


def flat(values: Mapping[str, Any], above: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Return every value of a document by its path."""
    found: dict[tuple[str, ...], Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found |= flat(value, (*above, name))
        else:
            found[(*above, name)] = value
    return found
