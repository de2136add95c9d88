"""What was changed and can be taken back: trash.db beside an install."""
