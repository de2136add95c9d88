"""Where the wizard stands: which config it would write, which ZeroClaw reads it, and what memory is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from zeroclaw_tui.config.document.document import ConfigDocument
from zeroclaw_tui.config.install import Install
from zeroclaw_tui.config.setting_names import Target


@dataclass(frozen=True, slots=True)
class Situation:
    """`config_file` may not exist (`raw` is None then, `document` empty). `install` is what memory it means; `rule`
    what chose it in words. `found` are facts in words, one a line ("data/memory/brain.db: 2,431 memories, written by
    0.8.3 or later"); `warnings` what loading the config has to tell."""

    config_file: Path
    install: Install
    rule: str
    raw: bytes | None
    document: ConfigDocument
    target: Target
    version_source: str = ""
    """Where `target.version` is known from, "" when it is not known."""
    backend: str = "sqlite"
    """The kind that counts today, overrides included; "sqlite" where nothing says."""
    found: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def config_dir(self) -> Path:
        """The folder of the config, where `.secret_key` lies too."""
        return self.config_file.parent

    @property
    def own_dir(self) -> Path:
        """Where this program keeps its own files for it."""
        return self.install.own_dir

    @property
    def is_new(self) -> bool:
        """True when there is no config.toml yet."""
        return self.raw is None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One place the wizard might write to: an install that is there, or the one that would be made."""

    install: Install
    rule: str
    found: tuple[str, ...] = ()


def candidates(
    environ: Mapping[str, str], home: Path, *, config_dir: Path | None = None, workspace: Path | None = None
) -> tuple[Candidate, ...]:
    """The places, the one that wins first; never empty: where nothing is there yet, the place ZeroClaw itself would
    use by the same rules (option, ZEROCLAW_CONFIG_DIR, ZEROCLAW_DATA_DIR, ZEROCLAW_WORKSPACE, the marker, the default).

    Two candidates are two config dirs; two stores below one config dir are one candidate. Raises WrongUse for a store
    without a config dir, Unreadable as locations do.
    """
    raise NotImplementedError


async def situation_at(candidate: Candidate, environ: Mapping[str, str]) -> Situation:
    """Read the config and look at what is there; never writes. The version is asked of the real binary (2 s).

    Raises BrokenConfig for everything the wizard must not touch: TOML that cannot be read, a schema_version over 3 or
    of a wrong type, `memory` or `storage` that is no table.
    """
    raise NotImplementedError
