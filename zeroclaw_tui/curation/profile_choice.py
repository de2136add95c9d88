"""Which ZeroClaw version's rules a store is scored by, and what chose that version."""

from __future__ import annotations

from typing import NamedTuple

from zeroclaw_tui.config.memory_config import NEWEST_SCHEMA, MemoryConfig
from zeroclaw_tui.config.real_binary import real_zeroclaw, zeroclaw_version
from zeroclaw_tui.config.schema import NEWEST_OLD
from zeroclaw_tui.config.settings import saved_profile
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, profile_for

ASSUMED = "assumed"


class ProfileChoice(NamedTuple):
    """A scoring profile and its source: "option", "saved", "zeroclaw --version", "assumed" or "chosen here".

    The source of a version later than the newest known one also names that version.
    """

    profile: ScoringProfile
    source: str

    @classmethod
    def from_version(cls, version: str, source: str) -> ProfileChoice:
        """Choose the profile of a version. Raises UsageError if the text is not a version."""
        profile = profile_for(version)
        return cls(profile, source if profile.newer is None else f"{source}; {profile.newer} is newer than what I know")


def choose_profile(
    config: MemoryConfig, option: str | None, newest: str | None = None, *, query_binary: bool = True
) -> ProfileChoice:
    """Choose by the option, else the saved choice, else the installed ZeroClaw, else the schema of the store. Blocks.

    `newest` is the newest version that has the schema of the store. Without `query_binary` the installed ZeroClaw is
    not started, which takes longer than listing memories.
    """
    if option is not None:
        return ProfileChoice.from_version(option, "option")
    saved = saved_profile(config.install)
    if saved is not None:
        return ProfileChoice.from_version(saved, "saved")
    binary = real_zeroclaw() if query_binary else None
    installed = zeroclaw_version(binary) if binary is not None else None
    if installed is not None:
        return ProfileChoice.from_version(installed, "zeroclaw --version")
    return ProfileChoice.from_version(newest or NEWEST, ASSUMED)


def profile_to_make(config: MemoryConfig, option: str | None) -> ScoringProfile:
    """Choose the version whose schema a new store gets. Blocks."""
    choice = choose_profile(config, option)
    # ZeroClaw up to 0.7.5 cannot write to tables from 0.8.0 on; a newer one migrates older tables.
    is_old = config.install.layout == "workspace" and config.schema < NEWEST_SCHEMA
    return profile_for(NEWEST_OLD) if is_old and choice.source == ASSUMED else choice.profile
