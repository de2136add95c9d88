"""Export and import: JSONL without loss, CSV and Markdown."""
