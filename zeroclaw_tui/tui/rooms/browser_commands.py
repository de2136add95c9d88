"""The commands of the room Memories: keys, titles, and the same as shell commands."""

from __future__ import annotations

from zeroclaw_tui.tui.commands import Command, common_commands

BROWSER_COMMANDS = (
    # With priority it is done before the next key is looked at, so that fast typing goes where it is meant to.
    Command("search", "slash", "search", "Search the memories", True, priority=True,
            synonyms="find query look for recall", shell="recall {query}"),
    Command("explain", "x", "explain", "Explain why this memory is recalled or not", True,
            synonyms="why reason stages miss score", shell="explain {key} --query {query}",
            target="tab"),
    Command("what_if", "w", "what-if", "Try other settings", True, synonyms="weights threshold tune",
            shell="recall {query} --set memory.vector_weight={number}",
            target="tab"),
    Command("edit", "e", "edit", "Edit this memory", True, True, synonyms="change fix correct", shell="edit {key}"),
    Command("delete", "d", "delete", "Delete the marked memories, or this one", True, True,
            synonyms="remove forget purge", shell="forget {key}"),
    Command("undo", "u", "undo", "Undo the last change", True, True, synonyms="restore revert", shell="undo"),
    Command("redo", "U", "redo", "Redo the last undone change", writes=True, synonyms="again", shell="redo"),
    Command("read", "enter", "read", "Read the whole memory", synonyms="open", shell="get {key}"),
    Command("filter", "F", "filter", "Filter by category, session, agent, namespace, age", shell="list {filter}",
            synonyms="narrow chips facet"),
    Command("mark", "space", "mark", "Mark or unmark this memory", synonyms="select"),
    Command("create", "n", "new", "Write a new memory", writes=True, synonyms="add", shell="store {key} {content}"),
    Command("edit_in_editor", "E", "$EDITOR", "Edit this memory in $EDITOR", writes=True, synonyms="editor vim emacs"),
    Command("mark_range", "v", "mark to here", "Mark from the last marked memory to this one", synonyms="select"),
    Command("mark_all", "asterisk", "mark all", "Mark all memories shown; again: none", synonyms="select unmark"),
    Command("history", "h", "history", "The changes of this memory", synonyms="versions", shell="get {key} --history"),
    Command("erase", "", "erase", "Erase the marked memories, this one or a text everywhere …", writes=True,
            synonyms="gdpr wipe destroy for good", shell="erase {text}"),
    Command("show_again", "", "show again", "Show this superseded memory to the agent again", writes=True,
            shell="edit {key} --unsupersede"),
    Command("copies", "", "copies", "Other copies of this text", synonyms="backups leftovers also found"),
    Command("prompt", "", "prompt", "The text ZeroClaw puts before a message", synonyms="injected context",
            shell="prompt {query}",
            target="tab"),
    Command("similar", "s", "similar", "Find memories similar to this one", synonyms="near neighbours vector",
            shell="similar {key}"),
    Command("conversation", "", "conversation", "The conversation this memory came from", synonyms="talk chat source"),
    Command("clean_up", "", "clean up", "Find duplicates, junk and secrets", synonyms="audit purge", shell="audit",
            target="tab"),
    Command("hygiene", "", "hygiene", "Preview hygiene", synonyms="retention archive", shell="hygiene --dry-run",
            target="tab"),
    Command("health", "", "health", "Check the store for problems and repair them", synonyms="doctor fix statistics",
            shell="doctor",
            target="tab"),
    Command("snapshot", "", "snapshot", "Write, compare and hydrate a snapshot", shell="hydrate --dry-run",
            target="tab"),
    Command("re_embed", "", "re-embed", "Re-embed this memory", writes=True, synonyms="vector", shell="reindex"),
    Command("export", "", "export", "Export the memories shown to a file …", synonyms="save dump backup",
            shell="export {file} {filter}"),
    Command("import_file", "", "import", "Import memories from a file …", writes=True, synonyms="load mem0 openclaw",
            shell="import {file}"),
    Command("search_mode", "tab", "mode", "Next search mode: recall, contains, regex, similar", True, priority=True),
    Command("focus_next", "tab", "next pane", "Go to the next pane", listed=False, target="app"),
    Command("same_session", "full_stop", "same session", "Only this session or category, or all",
            shell="list {filter}"),
    Command("no_filter", "", "no filter", "Remove every filter", shell="list"),
    Command("sort", "o", "sort", "Sort the list; again: reverse", synonyms="order date newest oldest"),
    Command("scoring", "", "scoring", "Choose the ZeroClaw version for scoring", synonyms="profile rules",
            shell="recall {query} --profile {version}"),
    Command("reload", "r", "reload", "Reload; after a failure: retry", synonyms="refresh"),
    Command("copy", "y", "copy", "Copy the content", synonyms="clipboard yank", shell="get {key}"),
    Command("notices", "", "notices", "Notices about this store", synonyms="warnings", shell="health"),
    Command("change_theme", "", "theme", "Choose the colours", synonyms="color dark light", target="app"),
    *(command for command in common_commands(out="One step out; never quits") if command.id != "leave"),
    Command("quit", "q", "quit", "Quit", synonyms="exit leave close", target="app"),
)  # fmt: skip

WRITING = frozenset(command.id for command in BROWSER_COMMANDS if command.writes)
NEEDS_NO_MEMORIES = frozenset({
    "step_out", "reload", "no_filter", "notices", "keys", "hygiene", "health", "change_theme",
    "command_palette", "quit", "memories", "upkeep", "changes", "stores",
})  # fmt: skip
"""What can also be done where nothing is ever stored."""
NO_SNAPSHOT = (
    "ZeroClaw writes and reads MEMORY_SNAPSHOT.md only for SQLite and Lucid; export writes the memories of every store."
)
