"""Whether the store is well, and what mends it: health, doctor and reindex."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.cli.options import add_dry_run
from zeroclaw_tui.cli.output import (
    BOLD,
    DIM,
    GREEN,
    NOTHING,
    RED,
    YELLOW,
    Styled,
    document,
    note,
    width,
    write_lines,
)
from zeroclaw_tui.cli.plans import NOTHING_DONE, Progress, check_can_ask, check_writable, confirm
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.config.real_binary import runnable
from zeroclaw_tui.memory.errors import DONE, INTERRUPTED, NOT_REACHABLE, REFUSED, InspectorError, Unreadable, UsageError
from zeroclaw_tui.memory.text import HIDDEN, cells, counted, cut, mask_secrets, one_line, padded

if TYPE_CHECKING:
    from datetime import datetime

    from zeroclaw_tui.backends.health import Health
    from zeroclaw_tui.cli.output import Line
    from zeroclaw_tui.config.memory_config import MemoryConfig
    from zeroclaw_tui.curation.doctor import DoctorReport
    from zeroclaw_tui.curation.doctor_checks import DoctorFinding, Risk
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.curation.repairs import RepairOutcome


_NOT_SETTINGS = (
    "install",
    "embedding",
    "agents",
    "agent_workspaces",
    "location",
    "read_only",
    "read_only_because",
    "storage",
    "values",
    "sources",
    "warnings",
    "concerns",
)
_DEFAULT = "default"
ALL = "all"
_SENDS = "fill vectors"
_GLYPHS: dict[Risk, tuple[str, str]] = {"serious": ("✗", RED), "worth knowing": ("!", YELLOW), "fine": ("✓", GREEN)}
_INDENT = "    "
MOST_FAILED_SHOWN = 10


@verb(
    "health",
    "Show the state of the store and the settings in effect",
    "{backend, location, chosen, ok, summary, findings, facts, generation, profile, profile_source, newer_version,"
    " config, installs}",
    opens="config",
)
async def health(configs: Sequence[MemoryConfig], given: argparse.Namespace, now: datetime) -> int:
    """Print the health of the store; exit code 1 when it answers but something is wrong, 3 when it does not."""
    from zeroclaw_tui.backends.about import sentences
    from zeroclaw_tui.backends.health import Health
    from zeroclaw_tui.config.settings import settings_problem
    from zeroclaw_tui.curation.library import open_library
    from zeroclaw_tui.curation.setting_change import reload_config

    try:
        library = await open_library(configs[0], given.profile, may_be_missing=True)
    except InspectorError as error:
        _tell_health(given, _not_reachable(error), _unopened_facts(configs[0]), configs)
        return NOT_REACHABLE
    try:
        found = await library.memory.health()
        code = DONE if found.ok else REFUSED
    except InspectorError as error:
        # Damage deep in a file shows only when its rows are read.
        found, code = _not_reachable(error), NOT_REACHABLE
    finally:
        await library.close()
    findings = tuple(dict.fromkeys((*sentences(library.memory.notices), *found.findings)))
    # Only now is it known which ZeroClaw reads the config, and so which of its keys count.
    judged = reload_config(configs[0], version=library.profile.profile.version)
    own = settings_problem(configs[0].install)
    shown = configs[0]._replace(warnings=(*judged.warnings, *([own] if own else [])))
    health = Health(found.ok, found.summary, findings, found.facts)
    _tell_health(given, health, _opened_facts(library), (shown, *configs[1:]))
    return code


def _not_reachable(error: InspectorError) -> Health:
    """What keeps the store from answering, as its health. Raises any other error again."""
    from zeroclaw_tui.backends.health import Health

    if error.exit_code != NOT_REACHABLE:
        raise error
    return Health(False, error.message, (error.hint,) if error.hint else ())


def settings_shown(config: MemoryConfig) -> dict[str, dict[str, Any]]:
    """Every setting of memory, by its key in config.toml, with its value and source; secrets masked."""
    from zeroclaw_tui.config.memory_config import OPTION

    effective = {
        f"memory.{name}": value
        for name, value in config._asdict().items()
        if name not in _NOT_SETTINGS and name not in ("alias", "zeroclaw_backend", "schema")
    }
    embedding = config.embedding
    effective |= {
        "memory.embedding_provider": embedding.provider,
        "memory.embedding_model": embedding.model,
        "memory.embedding_dimensions": embedding.dimensions,
        "memory.embedding_api_key": embedding.api_key,
    }
    effective |= {f"storage.{name}": value for name, value in config.storage.items()}
    if config.location is not None:
        effective["location"] = config.location
    for name, value in config.values.items():
        effective.setdefault(f"memory.{name}", value)
    return {
        key: {
            "value": _masked(key, value),
            "source": OPTION if key == "location" else config.sources.get(key, _DEFAULT),
        }
        for key, value in effective.items()
    }


def _tell_health(
    given: argparse.Namespace, found: Health, about: dict[str, Any], configs: Sequence[MemoryConfig]
) -> None:
    from zeroclaw_tui.backends.factory import shadowed_sentences
    from zeroclaw_tui.backends.health import Health
    from zeroclaw_tui.curation.config_choice import describe_choice

    config = configs[0]
    findings = (*found.findings, *config.warnings, *shadowed_sentences())
    if given.json:
        document(
            {
                "backend": about["backend"],
                "location": about["location"],
                "chosen": describe_choice(config),
                "ok": found.ok,
                "summary": found.summary,
                "findings": list(findings),
                "facts": dict(found.facts),
                "generation": about["generation"],
                "profile": about["profile"],
                "profile_source": about["profile_source"],
                "newer_version": about["newer_version"],
                "config": settings_shown(config),
                "installs": [_install(each, chosen=each is config) for each in configs],
            }
        )
    else:
        where = _health_facts(about, config)
        more = {name: value for name, value in found.facts.items() if value != where["location"]}
        facts = {**where, **_others(configs), **more, **_set_by_hand(config)}
        write_lines(health_lines(Health(found.ok, found.summary, findings), facts))


def _opened_facts(library: Library) -> dict[str, Any]:
    return {
        "backend": library.memory.name,
        "location": library.memory.about.location,
        "generation": library.memory.about.generation,
        "profile": library.profile.profile.version,
        "profile_source": library.profile.source,
        "newer_version": library.profile.profile.newer,
    }


def _unopened_facts(config: MemoryConfig) -> dict[str, Any]:
    from zeroclaw_tui.backends.factory import has_database

    is_file = has_database(config.backend)
    location = str(config.database) if is_file else _address(config)
    return {
        "backend": config.backend,
        "location": location or None,
        "generation": None,
        "profile": None,
        "profile_source": None,
        "newer_version": None,
    }


def _address(config: MemoryConfig) -> str:
    """Where a store lies that did not open, without any password."""
    from zeroclaw_tui.backends.factory import create_memory
    from zeroclaw_tui.config.locations import is_url, without_password
    from zeroclaw_tui.config.secrets import masked_text

    with suppress(InspectorError, AttributeError):
        return create_memory(config).about.location
    named = config.location or config.storage.get("db_url") or config.storage.get("url") or ""
    return without_password(named) if is_url(named) else masked_text(named)


def _install(config: MemoryConfig, *, chosen: bool) -> dict[str, Any]:
    install = config.install
    return {
        "config_dir": str(install.config_dir) if install.config_dir else None,
        "root": str(install.root),
        "database": str(install.database),
        "layout": install.layout,
        "rule": install.rule,
        "chosen": chosen,
    }


def _health_facts(about: dict[str, Any], config: MemoryConfig) -> dict[str, Any]:
    from zeroclaw_tui.curation.config_choice import describe_choice

    scoring = f"{about['profile']} ({about['profile_source']})" if about["profile"] else None
    file = config.install.config_file
    if file is None:
        told = "none (standalone store)"
    else:
        told = str(file) if file.exists() else f"{file} (missing; ZeroClaw's defaults apply)"
    return {
        "backend": about["backend"],
        "location": about["location"],
        "backend chosen": describe_choice(config),
        "chosen by": config.install.rule,
        "generation": about["generation"],
        "scoring": scoring,
        "config": told,
    }


def _others(configs: Sequence[MemoryConfig]) -> dict[str, str]:
    others = [f"{config.install.root} ({config.install.rule})" for config in configs[1:]]
    return {"other installs": ", ".join(others)} if others else {}


def _set_by_hand(config: MemoryConfig) -> dict[str, str]:
    """The settings that do not come from ZeroClaw's defaults."""
    return {
        key: f"{value_shown(told['value'])} ({told['source']})"
        for key, told in settings_shown(config).items()
        if told["source"] != _DEFAULT
    }


def _masked(key: str, value: Any) -> Any:
    from zeroclaw_tui.config.secrets import is_secret_name, masked_text

    if isinstance(value, dict):
        return {name: _masked(str(name), item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(key, item) for item in value]
    if value and isinstance(value, str):
        return HIDDEN if is_secret_name(key.rpartition(".")[2]) else masked_text(mask_secrets(value))
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def health_lines(health: Health, facts: Mapping[str, Any]) -> Iterator[Line]:
    """A verdict, what was found, and the facts in two columns."""
    mark = Styled("✓", GREEN) if health.ok else Styled("✗", RED)
    yield (mark, " ", Styled(one_line(health.summary), BOLD))
    for finding in health.findings:
        yield ("  – ", one_line(finding))
    yield ()
    names = [one_line(str(name)) for name in facts]
    left = max(map(cells, names), default=0)
    for name, value in zip(names, facts.values(), strict=True):
        shown = one_line(value_shown(value))
        is_list = isinstance(value, list | tuple)
        yield (
            "  ",
            Styled(padded(name, left), DIM),
            "  ",
            cut(shown, max(20, width() - left - 4)) if is_list else shown,
        )


def value_shown(value: Any) -> str:
    """A fact's value in words."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {value_shown(item)}" for name, item in value.items()) or NOTHING
    if isinstance(value, list | tuple):
        return ", ".join(map(value_shown, value)) or NOTHING
    return str(value)


def _doctor_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--deep", action="store_true", help="Also check every page, on a copy of the database")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--compact", action="store_true", help="Only rewrite the database without free pages, after a backup"
    )
    instead.add_argument(
        "--repair", action="append", metavar="FINDING", help="Repair this finding, or all, after a backup (repeatable)"
    )
    add_dry_run(parser)


@verb(
    "doctor",
    "Check the store for problems and repair them",
    "{backend, location, deep, healthy, findings, notes, repaired, dry_run}",
    _doctor_options,
    opens="config",
    concerns=("file", "fact", "store", "recall", "vectors", "hygiene", "snapshot"),
    tells_facts=True,
)
async def doctor(configs: Sequence[MemoryConfig], given: argparse.Namespace, now: datetime) -> int:
    """Check the store, also one that does not open, and repair it.

    Its document: {"backend", "location", "deep", "healthy", "findings", "notes", "dry_run", "repaired"}. Each finding
    is {"id", "title", "risk", "risk_sentence", "repair", "repair_steps", "by_hand", "target", "details"}; each of
    `repaired` {"id", "done", "backup"}. With --repair the findings are those that stay. Exit code 1 while something
    serious stays, and after a no.
    """
    from zeroclaw_tui.curation.doctor import examine

    config = configs[0]
    if given.compact:
        return await _compact(config, given, now)
    if given.repair and not given.dry_run:
        check_can_ask("doctor --repair", yes=given.yes)
    library = await _opened(config, given.profile)
    try:
        report = await examine(config, library, deep=given.deep)
        if not given.repair:
            return _print_report(config, library, given, report)
        chosen = _chosen(report, given.repair, library)
        if given.dry_run:
            return _print_plan(config, library, given, report, chosen)
        done, refused = await _repair(config, library, given, now, chosen)
        report = await examine(config, library, deep=given.deep)
        return max(_print_report(config, library, given, report, done), refused)
    finally:
        if library is not None:
            await library.close()


async def _opened(config: MemoryConfig, profile: str | None) -> Library | None:
    """The library; None where it does not open, which is a finding of its own."""
    from zeroclaw_tui.curation.library import open_library

    try:
        return await open_library(config, profile)
    except InspectorError as error:
        if error.exit_code != NOT_REACHABLE:
            raise
        return None


async def _repair(
    config: MemoryConfig,
    library: Library | None,
    given: argparse.Namespace,
    now: datetime,
    chosen: Sequence[DoctorFinding],
) -> tuple[dict[str, RepairOutcome], int]:
    """What was done by finding, and an exit code after a no or a failure. One repair may settle the next too."""
    from zeroclaw_tui.curation.doctor import examine, repair_finding

    done: dict[str, RepairOutcome] = {}
    refused = DONE
    for at, wanted in enumerate(chosen):
        finding: DoctorFinding | None = wanted
        if at:
            report = await examine(config, library, deep=given.deep)
            finding = next((found for found in report.findings if found.id == wanted.id and found.repair), None)
        if finding is None:
            continue
        if not given.yes and not confirm("Repair it?", plan_lines([finding])):
            refused = REFUSED
            continue
        try:
            with Progress("Repairing", None) as progress:
                done[finding.id] = await repair_finding(config, library, finding, now, progress.advance)
        except InspectorError as error:
            # A repair that fails does not stop the others.
            note(f"zeroclaw: {finding.id}: {error.message} {error.hint}".rstrip())
            refused = max(refused, error.exit_code)
            continue
        if not given.json:
            _print_outcome(done[finding.id])
    return done, refused


def _chosen(report: DoctorReport, names: Sequence[str], library: Library | None) -> list[DoctorFinding]:
    """The findings to repair, each once.

    Raises UsageError for a name that no finding has, and Unreadable if the store does not open to look for it.
    """
    chosen: dict[str, DoctorFinding] = {}
    for name in names:
        if name == ALL:
            found = [finding for finding in report.findings if finding.repair and not _sends(finding, library)]
            if any(finding.repair and _sends(finding, library) for finding in report.findings):
                note("zeroclaw: `all` creates no embeddings; `zeroclaw memory reindex` first shows what it sends.")
        else:
            found = [finding for finding in report.findings if name in (finding.id, finding.repair)]
            closed = next((finding for finding in report.findings if finding.id == "not-open"), None)
            if not found and closed is not None:
                raise Unreadable(closed.title, hint=closed.by_hand)
            if not found:
                raise UsageError(f"Unknown finding {name!r}.", hint=f"Findings: {_names(report)}.")
        for finding in found:
            if finding.repair is None:
                why = finding.by_hand or "It is fine."
                note(f"zeroclaw: {finding.id} cannot be repaired here. {why}")
            else:
                chosen[finding.id] = finding
    return list(chosen.values())


def _sends(finding: DoctorFinding, library: Library | None) -> bool:
    """Whether its repair sends memories to another machine."""
    embedder = None if library is None else library.embedder
    return finding.repair == _SENDS and embedder is not None and embedder.is_remote


def _names(report: DoctorReport) -> str:
    return ", ".join(one_line(finding.id) for finding in report.findings) or "none"


def _print_report(
    config: MemoryConfig,
    library: Library | None,
    given: argparse.Namespace,
    report: DoctorReport,
    done: Mapping[str, RepairOutcome] = {},
) -> int:
    backend, location = _where(config, library)
    if given.json:
        document(
            {
                "backend": backend,
                "location": location,
                **report.as_json(),
                "repaired": [{"id": name, **outcome.as_json()} for name, outcome in done.items()],
                "dry_run": False,
            }
        )
    else:
        write_lines(report_lines(report, backend, location))
    return DONE if report.is_healthy else REFUSED


def _print_plan(
    config: MemoryConfig,
    library: Library | None,
    given: argparse.Namespace,
    report: DoctorReport,
    chosen: Sequence[DoctorFinding],
) -> int:
    backend, location = _where(config, library)
    if given.json:
        planned = {"repaired": [], "dry_run": True, "would_repair": [finding.id for finding in chosen]}
        document({"backend": backend, "location": location, **report.as_json(), **planned})
    else:
        write_lines(plan_lines(chosen))
        note(NOTHING_DONE)
    return DONE if report.is_healthy else REFUSED


def _print_outcome(repaired: RepairOutcome) -> None:
    write_lines([(Styled("✓", GREEN), " ", mask_secrets(sentence)) for sentence in repaired.sentences()])
    if sentence := repaired.backup_sentence():
        note(f"zeroclaw: {sentence}")


def _where(config: MemoryConfig, library: Library | None) -> tuple[str, str]:
    from zeroclaw_tui.backends.factory import has_database

    if library is not None:
        return library.memory.name, library.memory.about.location
    place = str(config.database) if has_database(config.backend) else _address(config)
    return config.backend, mask_secrets(place or str(config.install.root))


def report_lines(report: DoctorReport, backend: str, location: str) -> Iterator[Line]:
    """A sentence on all, where it is, and a block for each finding; the fine ones in a line each."""
    yield (Styled(report.headline(), BOLD),)
    yield (Styled(f"{backend} · {one_line(location)}", DIM),)
    yield ()
    for finding in report.findings:
        yield from _finding_lines(finding)
    for sentence in report.notes:
        yield (Styled(_clean(sentence), YELLOW),)


def plan_lines(findings: Sequence[DoctorFinding]) -> Iterator[Line]:
    """What the repairs would do, step by step."""
    if not findings:
        yield ("Nothing to repair.",)
    for finding in findings:
        yield _head(finding)
        for number, step in enumerate(finding.repair_steps, 1):
            yield from _wrapped(step, f"{number}. ")


def _finding_lines(finding: DoctorFinding) -> Iterator[Line]:
    yield _head(finding)
    if finding.risk == "fine":
        return
    yield from _wrapped(finding.risk_sentence)
    left = max((cells(_clean(name)) for name, _ in finding.details), default=0)
    for name, value in finding.details:
        yield (_INDENT, Styled(padded(_clean(name), left), DIM), "  ", _clean(value))
    if finding.repair is not None:
        yield (_INDENT, Styled(runnable(f"repair: `zeroclaw memory doctor --repair {_clean(finding.id)}`"), DIM))
    if finding.by_hand:
        yield from _wrapped(finding.by_hand)
    yield ()


def _head(finding: DoctorFinding) -> Line:
    glyph, colour = _GLYPHS[finding.risk]
    title = _clean(finding.title)
    return (Styled(glyph, colour), " ", title if finding.risk == "fine" else Styled(title, BOLD))


def _wrapped(sentence: str, lead: str = "") -> Iterator[Line]:
    import textwrap

    room = max(40, min(width(), 100))
    beginning = _INDENT + lead
    text = _clean(sentence)
    for line in textwrap.wrap(
        text, room, initial_indent=beginning, subsequent_indent=" " * len(beginning), break_on_hyphens=False,
        break_long_words=False,
    ):  # fmt: skip
        yield (line,)


def _clean(text: str) -> str:
    return one_line(mask_secrets(text))


async def _compact(config: MemoryConfig, given: argparse.Namespace, now: datetime) -> int:
    """Rewrite the database file without its free pages, also where the store does not open.

    Its document: {"backend", "location", "dry_run", "before", "after", "free", "open_in", "backup", "done"}, sizes in
    bytes, `open_in` the programs that have the database open. Exit code 1 after a no, 3 while another program has it
    open.
    """
    import asyncio

    from zeroclaw_tui.curation.repairs import compact, plan_compact

    if not given.dry_run:
        check_can_ask("doctor --compact", yes=given.yes)
    plan = await plan_compact(config)
    facts = {"backend": config.backend, "dry_run": bool(given.dry_run), **plan.as_json()}
    lines = [(sentence,) for sentence in plan.sentences()]
    if given.dry_run:
        if given.json:
            document({**facts, "after": None, "done": [], "backup": None})
        else:
            write_lines(lines)
            note(NOTHING_DONE)
        return NOT_REACHABLE if plan.open_in else DONE
    if not plan.open_in and not given.yes and not confirm("Rewrite it?", lines):
        return REFUSED
    try:
        outcome = await compact(config, now, lambda sentence: note(f"zeroclaw: {sentence} …"))
    except asyncio.CancelledError:
        note("zeroclaw: Stopped; the memories are unchanged.")
        raise
    if given.json:
        document({**facts, "after": (await plan_compact(config)).size, **outcome.as_json()})
    else:
        _print_outcome(outcome)
    return DONE


def _reindex_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--id", action="append", metavar="ID", help="Only the memory with this id (repeatable)")
    add_dry_run(parser)


@verb(
    "reindex",
    "Create missing or outdated embeddings",
    "{backend, location, dry_run, model, remote, missing, wrong, characters, tokens, filled, zeros,"
    " left, failed, stopped}",
    _reindex_options,
    changes=True,
    concerns=("store", "vectors"),
)
async def reindex(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Create the embeddings that memories lack.

    Its document: {"backend", "location", "dry_run", "model", "remote", "missing", "wrong", "characters", "tokens",
    "filled", "zeros", "left", "failed", "stopped"}; `zeros` are embeddings of zeros. Exit code 1 after a failure
    and after a no, 130 after ctrl-c.
    """
    from zeroclaw_tui.curation.reindex import ReindexOutcome, announce, plan_reindex
    from zeroclaw_tui.curation.reindex import reindex as create_embeddings

    if not given.dry_run:
        check_writable(library, given)
        check_can_ask("reindex", yes=given.yes)
    plan = await plan_reindex(library, ids=given.id or ())
    facts = {"backend": library.memory.name, "location": library.memory.about.location}
    lines = [(sentence,) for sentence in plan.sentences()]
    if given.dry_run or not plan.count:
        if given.json:
            document({**facts, "dry_run": True, **plan.as_json(), **ReindexOutcome().as_json()})
        else:
            write_lines(lines)
            if plan.count:
                note(NOTHING_DONE)
        return DONE
    if given.yes:
        announce(library, plan)
    elif not confirm("Create them?", lines):
        return REFUSED
    with Progress("Creating embeddings", plan.count) as progress:
        outcome = await create_embeddings(library, plan, on_progress=progress.advance)
    if given.json:
        document({**facts, "dry_run": False, **plan.as_json(), **outcome.as_json()})
    else:
        first, *more = outcome.sentences(plan.count)
        write_lines([(Styled("✓ ", GREEN), first), *((sentence,) for sentence in more)])
    for sentence in outcome.failed[:MOST_FAILED_SHOWN]:
        note(f"zeroclaw: {one_line(mask_secrets(sentence))}")
    if len(outcome.failed) > MOST_FAILED_SHOWN:
        note(f"zeroclaw: … {len(outcome.failed) - MOST_FAILED_SHOWN:,} more.")
    if outcome.stopped:
        done = f"{outcome.filled:,} of {counted(plan.count)}"
        note(f"zeroclaw: Stopped after {done}; run `zeroclaw memory reindex` to continue.")
        return INTERRUPTED
    return REFUSED if outcome.failed else DONE
