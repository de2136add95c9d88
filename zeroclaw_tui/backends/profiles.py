"""What is known about each backend before any is opened: its label, its defaults, and whether this release opens it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from zeroclaw_tui.config.environment import STORAGE_PROVIDER, source_of
from zeroclaw_tui.config.locations import SCHEME
from zeroclaw_tui.config.memory_config import DEFAULT, FILE, OPTION, shown

if TYPE_CHECKING:
    from zeroclaw_tui.config.memory_config import MemoryConfig

_LUCID_HINT = "Its own rows lie in a local brain.db: --backend sqlite opens them."
_QDRANT_HINT = "Nothing of it lies on this machine."
_OF_THE_PAST = "This program does not open {}."
_OTHER_NAMES = {
    "hybrid": "sqlite_qdrant_hybrid",
    "cortex": "cortex-mem",
    "cortex_mem": "cortex-mem",
    "cortexmem": "cortex-mem",
    "postgresql": "postgres",
    "in_memory": "in-memory",
    "md": "markdown",
    "r-mem": "rmem",
    "rustmem": "rmem",
    "memory_rs": "memory-rs",
    "mem0-rs": "memory-rs",
}
_KEY = "memory.backend"


class BackendProfile(NamedTuple):
    """One backend. The defaults are what a config gets when this backend is chosen.

    `in_zeroclaw` says that some ZeroClaw release knows the name; `has_local_database` that a brain.db lies on this
    machine, `has_notes` that it is a folder of Markdown. `not_yet` is a sentence where this release does not open it,
    None where it does.
    """

    key: str
    label: str
    auto_save: bool = True
    uses_hygiene: bool = False
    in_zeroclaw: bool = True
    has_local_database: bool = False
    has_notes: bool = False
    keeps_nothing: bool = False
    not_yet: str | None = None
    hint: str = ""

    @property
    def title(self) -> str:
        """What it is called in a sentence."""
        return self.label.partition(":")[0]

    @property
    def archive_after_days(self) -> int:
        """Days after which daily files are archived; 0 never."""
        return 7 if self.uses_hygiene else 0

    @property
    def purge_after_days(self) -> int:
        """Days after which archived files are deleted; 0 never."""
        return 30 if self.uses_hygiene else 0

    @property
    def embedding_cache_size(self) -> int:
        """How many vectors the cache keeps."""
        return 10_000 if self.uses_hygiene else 0


BACKENDS: tuple[BackendProfile, ...] = (
    BackendProfile(
        "sqlite",
        "SQLite: one local file, keyword and vector search (recommended)",
        uses_hygiene=True,
        has_local_database=True,
    ),
    BackendProfile(
        "lucid",
        "Lucid: the local SQLite file, and the lucid program for what it lacks",
        has_local_database=True,
        hint=_LUCID_HINT,
    ),
    BackendProfile(
        "postgres",
        "PostgreSQL: a server, reached by URL",
    ),
    BackendProfile("markdown", "Markdown: plain files that people can read and edit", has_notes=True),
    BackendProfile(
        "qdrant",
        "Qdrant: a vector database, reached by URL",
        hint=_QDRANT_HINT,
    ),
    BackendProfile(
        "redis",
        "Redis: a server, reached by URL; ZeroClaw itself does not know it",
        in_zeroclaw=False,
    ),
    BackendProfile(
        "rmem",
        "R-Mem: another program's store; ZeroClaw itself does not know it",
        in_zeroclaw=False,
    ),
    BackendProfile(
        "memory-rs",
        "memory-rs: what another program wrote as JSON, to look at; ZeroClaw itself does not know it",
        auto_save=False,
        in_zeroclaw=False,
    ),
    BackendProfile(
        "in-memory",
        "In memory: nothing outlives the program; ZeroClaw itself does not know it",
        auto_save=False,
        in_zeroclaw=False,
    ),
    BackendProfile("none", "None: nothing is remembered", auto_save=False, keeps_nothing=True),
    BackendProfile(
        "mem0",
        "mem0: a server that ZeroClaw 0.5.5 and 0.5.6 used",
        not_yet=_OF_THE_PAST.format("mem0"),
        hint="Its memories lie on the mem0 server.",
    ),
    BackendProfile(
        "sqlite_qdrant_hybrid",
        "SQLite with Qdrant: ZeroClaw 0.1.8 only",
        has_local_database=True,
        not_yet=_OF_THE_PAST.format("sqlite_qdrant_hybrid"),
        hint="Its rows lie in a local brain.db too: --backend sqlite opens them.",
    ),
    BackendProfile("cortex-mem", "Cortex-Mem: ZeroClaw 0.1.8 only", not_yet=_OF_THE_PAST.format("cortex-mem")),
)


def backend_profile(name: str) -> BackendProfile | None:
    """The profile of a backend by its name or another spelling of it; None when nobody knows it."""
    wanted = name.strip().lower()
    wanted = _OTHER_NAMES.get(wanted, wanted)
    return next((profile for profile in BACKENDS if profile.key == wanted), None)


def has_database(name: str) -> bool:
    """Whether a backend keeps its memories in a database file of this machine that this release opens."""
    profile = backend_profile(name)
    return profile is not None and profile.has_local_database and profile.not_yet is None


def has_notes(name: str) -> bool:
    """Whether a backend keeps its memories in a folder of Markdown."""
    profile = backend_profile(name)
    return profile is not None and profile.has_notes


def chosen_line(config: MemoryConfig) -> str:
    """The backend, what chose it over what, and what ZeroClaw itself would use where that is another.

    For example `postgres: [storage.provider.config] provider stands above memory.backend = "sqlite".`
    """
    name = shown(f"{config.backend}.{config.alias}" if config.alias else config.backend)
    line = f"{name}: {_why(config)}"
    differs = config.install.layout != "lone" and config.zeroclaw_backend != _kind(config)
    profile = backend_profile(config.backend)
    if config.install.layout == "lone" and profile is not None and not profile.in_zeroclaw:
        return f"{line}; ZeroClaw itself does not know that name and would use Markdown."
    return f"{line}; ZeroClaw itself would use {config.zeroclaw_backend}{_because(config)}." if differs else f"{line}."


def _why(config: MemoryConfig) -> str:
    source = config.sources.get(_KEY, DEFAULT)
    written = config.values.get("backend")
    below = f'memory.backend = "{shown(written)}"' if isinstance(written, str) else None
    if source == DEFAULT:
        return "the default, since memory.backend is not set" if below is None else f"{below} in {FILE}"
    if source == FILE or (below is None and source.startswith(FILE)):
        return f"{below} in {FILE}" if below else source
    if source.startswith("environment") and source != source_of(STORAGE_PROVIDER):
        return source
    if config.install.layout == "lone":
        return "named by --backend" if source == OPTION else source
    chosen = "--backend" if source == OPTION else source.removeprefix(f"{FILE}, ")
    return f"{chosen} stands above {below or 'the default, sqlite'}"


def _because(config: MemoryConfig) -> str:
    """Why ZeroClaw would: it does not know the name, or it is not told of the option."""
    if config.sources.get(_KEY) in (OPTION, SCHEME):
        return ""
    profile = backend_profile(config.backend)
    known = profile is not None and profile.in_zeroclaw
    return "" if known else ", since it does not know that name"


def _kind(config: MemoryConfig) -> str:
    profile = backend_profile(config.backend)
    return config.backend if profile is None else profile.key
