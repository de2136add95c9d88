"""The terminal home of a ZeroClaw agent's memory."""

__version__ = "0.4.0"
