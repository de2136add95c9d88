"""Memory in Markdown files: MEMORY.md, and daily notes in memory/."""
