"""Plain descriptions of how models score a row, for programs that do not use pater.

`document` describes a model in JSON's types, and docs/export.md says what each field means; `score` is a page that
scores rows by it, and `sql` makes a query from it.
"""

from __future__ import annotations

from .document import FORM, document
from .errors import ExportError
from .query import sql

__all__ = ["FORM", "ExportError", "document", "sql"]
