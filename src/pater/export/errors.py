"""The error that is raised when a model cannot be exported."""

from __future__ import annotations


class ExportError(ValueError):
    """The model cannot be written in the form that was asked for; the message says why and what to do."""
