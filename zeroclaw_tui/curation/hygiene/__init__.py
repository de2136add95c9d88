"""ZeroClaw's hygiene, looked at before it happens, done by hand, and taken back."""
