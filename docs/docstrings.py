"""What the site does to docstrings before it shows them: an extension of Griffe, which reads them."""

from __future__ import annotations

import re
from typing import Any

import griffe

SEVERAL = re.compile(r"^(\w+(?:, \w+)+)((?:\n {4}.+)+)", re.MULTILINE)
CHOICE = re.compile(r"^(\w+ : )\{(.+?)\}(?: or None)?(, default=)(.+)$", re.MULTILINE)
CODE = re.compile(r"(?<![`\[])`([\w.]+)`(?![`\]])")


class Docstrings(griffe.Extension):
    """Public names become links, and every parameter has its own type and default.

    Griffe gives parameters that are described together those of the first, and takes the first of some choices for the
    default, whatever is said of it.
    """

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        self.links: dict[str, str] = {}
        for module in (pkg["preprocessing"], pkg["stream"], pkg):
            for name in module.exports or ():
                place = f"{module.path}.{name}"
                self.links |= {str(name): place, place: place}
        self._visit(pkg)

    def _visit(self, there: griffe.Object | griffe.Alias) -> None:
        if isinstance(there, griffe.Alias):
            return
        for member in there.members.values():
            self._visit(member)
        if there.docstring:
            text = CHOICE.sub(_default_first, SEVERAL.sub(_apart, there.docstring.value))
            there.docstring.value = CODE.sub(self._linked, text)

    def _linked(self, code: re.Match[str]) -> str:
        place = self.links.get(code[1])
        return f"[{code[0]}][{place}]" if place else code[0]


def _apart(described: re.Match[str]) -> str:
    return "\n".join(f"{name}{described[2]}" for name in described[1].split(", "))


def _default_first(parameter: re.Match[str]) -> str:
    name, choices, word, default = parameter.groups()
    others = [choice for choice in choices.split(", ") if choice != default]
    return f"{name}{{{', '.join([default, *others])}}}{word}{default}"
