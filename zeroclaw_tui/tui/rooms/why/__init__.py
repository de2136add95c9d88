"""Why a memory is in the prompt for a message or not, what other settings would recall, and what lies near it."""
