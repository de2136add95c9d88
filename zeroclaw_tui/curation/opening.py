"""From what a person typed to the configs it may mean."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from zeroclaw_tui.config.install import Install
from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import find_installs, home_folder, install_at
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.settings import settings_problem
from zeroclaw_tui.memory.errors import NoInstall


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """What was asked for on the command line; None or False where nothing was."""

    path: Path | None = None
    config_dir: Path | None = None
    workspace: Path | None = None
    backend: str | None = None
    location: str | None = None
    profile: str | None = None
    agent: str | None = None
    read_only: bool = False


def configs_for(options: OpenOptions, environ: Mapping[str, str] | None = None) -> tuple[MemoryConfig, ...]:
    """The configs the options may mean, the one that wins first.

    Raises NoInstall, Unreadable, BrokenConfig, or WrongUse for a user without a home, each with what to do next.
    """
    variables = os.environ if environ is None else environ
    home = home_folder(variables, options.config_dir)
    return tuple(_config_of(install, options, variables) for install in _found(options, variables, home))


def _found(options: OpenOptions, variables: Mapping[str, str], home: Path) -> tuple[Install, ...]:
    if options.path is not None:
        return (install_at(options.path, variables, home),)
    try:
        return find_installs(variables, home, config_dir=options.config_dir, workspace=options.workspace)
    except NoInstall:
        # A store that is fully named needs no install around it.
        if options.location is None or "://" in options.location:
            raise
        return (install_at(Path(options.location), variables, home),)


def _config_of(install: Install, options: OpenOptions, variables: Mapping[str, str]) -> MemoryConfig:
    config = load_config(
        install, variables, backend=options.backend, location=options.location, read_only=options.read_only
    )
    problem = settings_problem(install)
    return config if problem is None else replace(config, warnings=(*config.warnings, problem))
