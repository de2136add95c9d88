"""Which version's rules a store is scored by, and why."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.real_binary import real_zeroclaw
from zeroclaw_tui.config.settings import saved_profile
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringProfile, parse_version, profile_for

ASK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class ProfileChoice:
    """A profile and its source: "option", "saved", "zeroclaw --version", "assumed" or "chosen here"."""

    profile: ScoringProfile
    source: str

    @classmethod
    def by_hand(cls, version: str) -> ProfileChoice:
        """The choice a person makes while looking."""
        return cls(profile_for(version), "chosen here")


async def choose_profile(config: MemoryConfig, memory: Memory, given: str | None) -> ProfileChoice:
    """The option, else the saved choice, else what the real binary says, else the newest that has this schema."""
    if given is not None:
        return ProfileChoice(profile_for(given), "option")
    saved = saved_profile(config.install)
    if saved is not None:
        return ProfileChoice(profile_for(saved), "saved")
    binary = real_zeroclaw()
    answer = await answered_version(binary) if binary else None
    if answer is not None:
        return ProfileChoice(profile_for(answer), "zeroclaw --version")
    return ProfileChoice(profile_for(memory.newest_version or NEWEST), "assumed")


async def answered_version(binary: Path) -> str | None:
    """What `zeroclaw --version` answers within two seconds, trimmed, if it has a version in it; else None.

    Whoever asks then says that the version is not known or assumed.
    """
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
