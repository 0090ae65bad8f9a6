"""Models as plain descriptions of how they score a row, for programs that do not know pater.

`document` describes a model in JSON's types; docs/export.md says what each field means.
"""

from __future__ import annotations

from .document import FORM, document
from .errors import ExportError

__all__ = ["FORM", "ExportError", "document"]
