"""Tests of what was answered: each tells one sentence and never a secret."""
