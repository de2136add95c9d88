"""The rooms of the inspector, each with its words, its commands and its sheet."""
