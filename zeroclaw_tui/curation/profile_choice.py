"""Which version's rules a store is scored by, and why."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import NamedTuple

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.real_binary import real_zeroclaw
from zeroclaw_tui.config.settings import saved_profile
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.scoring.profiles import (
    LANDMARKS,
    NEWEST,
    SCHEMA_VERSIONS,
    ScoringProfile,
    generation_made_by,
    parse_version,
    profile_for,
)

ASK_SECONDS = 2.0
_FIRST_WITH_AGENTS = "G3"
_RULES = {
    "hides_superseded": "superseded hidden",
    "decays_cli": "old ones decay",
    "prefix_words": "word* is a prefix",
    "star_lists_recent": "* lists the newest",
    "one_injection_rule": "one injection rule",
    "normalises_keyword_only": "keyword scores 0..1",
    "scans_content": "content scanner",
}


ASSUMED = "assumed"


class ProfileChoice(NamedTuple):
    """A profile and its source: "option", "saved", "zeroclaw --version", "assumed" or "chosen here"; behind a version
    that is not known yet also that it is newer."""

    profile: ScoringProfile
    source: str

    @classmethod
    def of(cls, version: str, source: str) -> ProfileChoice:
        """The choice of a version. Raises WrongUse when it is none."""
        profile = profile_for(version)
        return cls(profile, source if profile.newer is None else f"{source}; {profile.newer} is newer than what I know")

    @classmethod
    def by_hand(cls, version: str) -> ProfileChoice:
        """The choice a person makes while looking."""
        return cls.of(version, "chosen here")


def known_rules(current: str) -> list[tuple[str, str]]:
    """A version of each set of rules, `current` among them, oldest first, with what its rules have that those of the
    version before have not."""
    versions = sorted({*LANDMARKS, current}, key=parse_version)
    profiles = [profile_for(version) for version in versions]
    before = (None, *profiles)
    return [(profile.version, _news(profile, earlier)) for profile, earlier in zip(profiles, before, strict=False)]


def _news(profile: ScoringProfile, before: ScoringProfile | None) -> str:
    if before is None:
        return "the first rules"
    news = [words for name, words in _RULES.items() if getattr(profile, name) and not getattr(before, name)]
    if profile.agent_scope != "none" and before.agent_scope == "none":
        news.append("agents apart")
    return ", ".join(news) or "nothing a list would show"


async def choose_profile(
    config: MemoryConfig, memory: Memory, given: str | None, *, asks_binary: bool = True
) -> ProfileChoice:
    """The option, else the saved choice, else what the real binary says where it is asked, else the newest of this
    schema."""
    if given is not None:
        return ProfileChoice.of(given, "option")
    saved = saved_profile(config.install)
    if saved is not None:
        return ProfileChoice.of(saved, "saved")
    binary = real_zeroclaw() if asks_binary else None
    answer = await answered_version(binary) if binary else None
    if answer is not None:
        return ProfileChoice.of(answer, "zeroclaw --version")
    return ProfileChoice.of(memory.newest_version or NEWEST, ASSUMED)


def profile_remark(profile: ScoringProfile, memory: Memory) -> str | None:
    """What ZeroClaw of this version would do with a store of another generation's schema; None where it fits.

    Versions up to 0.7.5 read tables from 0.8.0 on but store nothing in them; later ones add what they lack when they
    open a file, and 0.8.0 makes it anew.
    """
    if memory.newest_version is None or memory.generation is None:
        return None
    wanted, found = generation_made_by(profile.version), memory.generation
    if wanted == found or found not in SCHEMA_VERSIONS:
        return None
    subject = f"ZeroClaw {profile.version}"
    table = f"this file, whose tables are those of {SCHEMA_VERSIONS[found]}"
    if wanted > found:
        back = ", and no older version stores in it then" if wanted >= _FIRST_WITH_AGENTS > found else ""
        done = f"would first migrate {table}{back}"
    elif found >= _FIRST_WITH_AGENTS > wanted:
        done = f"could read {table}, but store nothing in it"
    else:
        done = f"would open {table}, and know nothing of what they have besides"
    return f"{subject} {done}; the scores shown are those that it would give."


async def answered_version(binary: Path) -> str | None:
    """What `zeroclaw --version` answers within two seconds, trimmed, if it has a version in it; else None.

    Whoever asks then says that the version is not known or assumed.
    """
    import shutil

    command = shutil.which(str(binary)) or str(binary)
    try:
        process = await asyncio.create_subprocess_exec(
            command,
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        answer, _ = await asyncio.wait_for(process.communicate(), ASK_SECONDS)
    except TimeoutError:
        return None
    finally:
        # The whole group: a wrapper script's child would keep the pipe open, and waiting would last as long as it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    text = answer.decode("utf-8", "replace")
    with contextlib.suppress(WrongUse):
        parse_version(text)
        return text.strip()
    return None
