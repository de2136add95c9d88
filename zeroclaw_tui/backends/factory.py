"""One way to any backend: what is known of each by its name, those that other packages bring, and a config in, a Memory
out.

Other packages name theirs by an entry point of the group `zeroclaw_tui.backends`, "module:Class" with a class of Memory
in it; only the names are looked up until one of them is asked for.
"""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from zeroclaw_tui.backends.drivers import install_command
from zeroclaw_tui.files.disk import exists
from zeroclaw_tui.memory.errors import DriverMissing, InspectorError, Refused, UsageError
from zeroclaw_tui.memory.text import mask_secrets, one_line

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from zeroclaw_tui.backends.base import Memory
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


class BackendProfile(NamedTuple):
    """One backend. The defaults are what a config gets when this backend is chosen.

    `in_zeroclaw` says that some ZeroClaw release knows the name; `has_local_database` that a brain.db lies on this
    machine, `has_notes` that it is a folder of Markdown, `is_foreign_file` that it is one file of another program's;
    `place` is where it is where neither file nor URL says so, and `within` are the settings that name what is used of
    a server, which its URL may name too with `has_url_options`.
    `schemes` are those of URLs that mean it and no other, as the scheme of an HTTP server would.
    `tells_program` says that what is stored goes to another program too, which keeps it, `has_quotas` that ZeroClaw
    counts what is stored against the quotas of its policy. `not_yet` is a sentence where
    this release does not open it, None where it does.
    """

    key: str
    label: str
    auto_save: bool = True
    uses_hygiene: bool = False
    in_zeroclaw: bool = True
    has_local_database: bool = False
    has_notes: bool = False
    is_foreign_file: bool = False
    keeps_nothing: bool = False
    place: str = ""
    within: tuple[str, ...] = ()
    has_url_options: bool = False
    schemes: tuple[str, ...] = ()
    tells_program: bool = False
    has_quotas: bool = False
    not_yet: str | None = None
    hint: str = ""

    @property
    def title(self) -> str:
        """What it is called in a sentence."""
        return self.label.partition(":")[0]

    @property
    def takes_url(self) -> bool:
        """Whether a URL may say where it is."""
        return not (self.has_local_database or self.has_notes or self.is_foreign_file or self.place)

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
        has_quotas=True,
    ),
    BackendProfile(
        "lucid",
        "Lucid: the local SQLite file, and the lucid program for what it lacks",
        has_local_database=True,
        tells_program=True,
        hint=_LUCID_HINT,
    ),
    BackendProfile(
        "postgres",
        "PostgreSQL: a server, reached by URL",
        within=("schema", "table"),
        has_url_options=True,
        schemes=("postgres", "postgresql"),
    ),
    BackendProfile("markdown", "Markdown: plain files that people can read and edit", has_notes=True),
    BackendProfile(
        "qdrant",
        "Qdrant: a vector database, reached by URL",
        within=("collection",),
        hint=_QDRANT_HINT,
    ),
    BackendProfile(
        "redis",
        "Redis: a server, reached by URL; ZeroClaw itself does not know it",
        in_zeroclaw=False,
        schemes=("redis", "rediss"),
    ),
    BackendProfile(
        "rmem",
        "R-Mem: another program's store; ZeroClaw itself does not know it",
        in_zeroclaw=False,
        is_foreign_file=True,
    ),
    BackendProfile(
        "memory-rs",
        "memory-rs: what another program wrote as JSON, to look at; ZeroClaw itself does not know it",
        auto_save=False,
        in_zeroclaw=False,
        is_foreign_file=True,
    ),
    BackendProfile(
        "in-memory",
        "In memory: nothing outlives the program; ZeroClaw itself does not know it",
        auto_save=False,
        in_zeroclaw=False,
        place="this process",
    ),
    BackendProfile("none", "None: nothing is remembered", auto_save=False, keeps_nothing=True, place="nowhere"),
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


def backend_of_url(url: str) -> str | None:
    """The backend a URL's scheme means; None where it does not say."""
    scheme = url.partition("://")[0].strip().lower()
    return next((profile.key for profile in BACKENDS if scheme in profile.schemes), None)


def has_database(name: str) -> bool:
    """Whether a backend keeps its memories in a database file of this machine that this release opens."""
    profile = backend_profile(name)
    return profile is not None and profile.has_local_database and profile.not_yet is None


def foreign_file(config: MemoryConfig) -> Path | None:
    """The file of another program's that a config's store is; None for any other store."""
    profile = backend_profile(config.backend)
    if profile is None or not profile.is_foreign_file:
        return None
    named = config.location or config.storage.get("path")
    return Path(named).expanduser() if isinstance(named, str) and named else config.install.database


def has_notes(name: str) -> bool:
    """Whether a backend keeps its memories in a folder of Markdown."""
    profile = backend_profile(name)
    return profile is not None and profile.has_notes


def keeps_nothing(name: str) -> bool:
    """Whether what is stored in a backend is kept nowhere."""
    profile = backend_profile(name)
    return profile is not None and profile.keeps_nothing


def tells_program(*names: str) -> bool:
    """Whether any of these backends gives what it stores to another program too, which keeps it."""
    return any(profile is not None and profile.tells_program for profile in map(backend_profile, names))


def has_quotas(name: str) -> bool:
    """Whether ZeroClaw counts what is stored in a backend against the quotas of its policy."""
    profile = backend_profile(name)
    return profile is not None and profile.has_quotas


GROUP = "zeroclaw_tui.backends"


class Plugin(NamedTuple):
    """One backend of another package. `origin` is that package and its version."""

    name: str
    value: str
    origin: str
    entry_point: EntryPoint

    @property
    def profile(self) -> BackendProfile:
        """Its label and the defaults of a backend of which nothing is known."""
        return BackendProfile(self.name, f"{self.name}: from the package {self.origin}", False, in_zeroclaw=False)

    def made(self, config: MemoryConfig) -> Memory:
        """Its store, not yet opened. Raises Refused in one sentence for whatever is wrong with it."""
        from zeroclaw_tui.backends.base import Memory

        backend = self._loaded()
        try:
            memory = backend.from_config(config)
        except InspectorError:
            raise
        except Exception as error:
            raise self._refused(f"cannot be made: {_told(error)}") from error
        if not isinstance(memory, Memory):
            raise self._refused(f"gives {type(memory).__name__} in place of a Memory")
        # The verbs of ZeroClaw's trait are all that has to be written; how it is called is known here.
        memory.name = memory.name or self.name
        if not memory.about.location:
            location = mask_secrets(config.location or f"package {self.origin}")
            memory.about = replace(memory.about, location=location)
        return memory

    def _loaded(self) -> type[Memory]:
        from zeroclaw_tui.backends.base import Memory

        try:
            found = self.entry_point.load()
        except (Exception, SystemExit) as error:
            # A module of somebody else's may raise anything while it is imported.
            raise self._refused(f"cannot be imported: {_told(error)}") from error
        if not (isinstance(found, type) and issubclass(found, Memory)):
            raise self._refused(f"names {self.value}, which is no class of zeroclaw_tui.backends.base.Memory")
        missing = sorted(found.__abstractmethods__)
        if missing:
            raise self._refused(f"lacks {', '.join(missing)}")
        return found

    def _refused(self, what: str) -> Refused:
        return Refused(
            f"The backend {self.name!r} of the package {self.origin} {what}.",
            hint="Update or uninstall that package, or open another store: --backend NAME with --location PATH.",
            title="Plug-in not usable",
        )


def plugins() -> tuple[Plugin, ...]:
    """Every backend that a package installed here offers and no backend of ours has the name of, by name."""
    return tuple(plugin for plugin in _offered() if backend_profile(plugin.name) is None)


def plugin_names() -> tuple[str, ...]:
    """Their names, each once."""
    return tuple(dict.fromkeys(plugin.name for plugin in plugins()))


def plugin_of(name: str) -> Plugin | None:
    """The plug-in of that name. Raises Refused where several packages offer one."""
    wanted = name.strip().lower()
    found = [plugin for plugin in plugins() if plugin.name == wanted]
    if len(found) > 1:
        raise Refused(
            f"Several packages offer a backend {wanted!r}: {', '.join(plugin.origin for plugin in found)}.",
            hint="Uninstall all but one of them.",
        )
    return found[0] if found else None


def shadowed_sentences() -> tuple[str, ...]:
    """A sentence for each plug-in that has the name of a backend of ours, which is used in its place."""
    return tuple(
        f"The package {plugin.origin} offers a backend {plugin.name!r}; this program's own of that name is used."
        for plugin in _offered()
        if backend_profile(plugin.name) is not None
    )


def _offered() -> list[Plugin]:
    from importlib.metadata import entry_points

    found = [
        Plugin(one_line(point.name).strip().lower(), one_line(point.value), _origin(point), point)
        for point in entry_points(group=GROUP)
    ]
    return sorted(found, key=lambda plugin: (plugin.name, plugin.origin))


def _origin(point: EntryPoint) -> str:
    distribution = point.dist
    return "of no name" if distribution is None else one_line(f"{distribution.name} {distribution.version}")


def _told(error: BaseException) -> str:
    """An error in one line, without secrets and without its traceback."""
    words = one_line(mask_secrets(str(error)))
    return f"{type(error).__name__}: {words}".removesuffix(".") if words else type(error).__name__


CLASSES = {
    "sqlite": "zeroclaw_tui.backends.sqlite.store:SqliteMemory",
    "lucid": "zeroclaw_tui.backends.lucid:LucidMemory",
    "postgres": "zeroclaw_tui.backends.postgres.store:PostgresMemory",
    "markdown": "zeroclaw_tui.backends.markdown.store:MarkdownMemory",
    "qdrant": "zeroclaw_tui.backends.qdrant.store:QdrantMemory",
    "redis": "zeroclaw_tui.backends.redis:RedisMemory",
    "rmem": "zeroclaw_tui.backends.rmem.store:RMemMemory",
    "memory-rs": "zeroclaw_tui.backends.memory_rs:MemoryRsExport",
    "none": "zeroclaw_tui.backends.none:NoneMemory",
    "in-memory": "zeroclaw_tui.backends.in_memory:InMemory",
}
"""Where each backend's class is; a module is imported when its backend is asked for."""
EXTRAS = {"postgres": "postgres", "redis": "redis"}
"""The extra of this package that brings what a backend's server is spoken to with."""


def create_memory(config: MemoryConfig) -> Memory:
    """The store a config names, not yet opened.

    A name of ours wins; only another one is looked for among the plug-ins. Raises Refused for a backend that this
    release does not open or whose driver or package is not usable, UsageError for a name nobody knows, and what the
    backend's `from_config` raises.
    """
    profile = backend_profile(config.backend)
    if profile is None:
        return _from_plugin(config)
    if profile.not_yet is not None:
        raise Refused(profile.not_yet, hint=_hint(profile, config))
    module, name = CLASSES[profile.key].split(":")
    try:
        backend: type[Memory] = getattr(import_module(module), name)
        return backend.from_config(config)
    except ModuleNotFoundError as error:
        raise _without_driver(profile.key, error) from error


def stand_in(store: Memory) -> Memory:
    """For a store that ZeroClaw has not made yet: it has 0 memories."""
    from zeroclaw_tui.backends.none import NoneMemory

    return NoneMemory(not_made=store)


def backend_of_file(path: Path) -> str | None:
    """The backend of another program whose store a file is, by its content; None for any other file. Blocks."""
    # Known through a link too, so that the store itself can say that it follows none.
    file = Path(os.path.realpath(path))
    if file.suffix.lower() == ".json":
        from zeroclaw_tui.backends.memory_rs import is_export

        return "memory-rs" if is_export(file) else None
    from zeroclaw_tui.backends.rmem.tables import is_rmem

    return "rmem" if is_rmem(file) else None


def _without_driver(key: str, error: ModuleNotFoundError) -> DriverMissing:
    """The sentence for a library that is not installed. Raises what is no library's fault again."""
    missing = (error.name or "").partition(".")[0]
    if missing in ("", "zeroclaw_tui") or key not in EXTRAS:
        raise error
    return DriverMissing(
        f"The backend {key} needs {missing}, which is not installed.",
        hint=f"`{install_command(EXTRAS[key])}` brings it.",
    )


def _from_plugin(config: MemoryConfig) -> Memory:
    # Packages are only looked through for a name that is none of ours.
    plugin = plugin_of(config.backend)
    if plugin is None:
        raise _nobody_knows(config)
    return plugin.made(config)


def _hint(profile: BackendProfile, config: MemoryConfig) -> str:
    if profile.hint and (not profile.has_local_database or exists(config.install.database)):
        return profile.hint
    return "--backend NAME with --location PATH opens another store."


def _nobody_knows(config: MemoryConfig) -> UsageError:
    import difflib

    known = [*(profile.key for profile in BACKENDS), *plugin_names()]
    near = difflib.get_close_matches(config.backend.strip().lower(), known, n=1, cutoff=0.5)
    meant = f"Did you mean {near[0]!r}? " if near else f"Known are {', '.join(known)}. "
    return UsageError(
        f"There is no memory backend {config.backend!r}.",
        hint=f"{meant}ZeroClaw itself would use Markdown here, which --backend markdown opens.",
        title="Unknown backend",
    )
