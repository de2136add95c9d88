"""The questions, one module a subject, and the list of all."""
