"""Parse plainly written options without Typer's own parser, which imports pydantic first: a twentieth of a second.

Parsed here are texts, files, switches and numbers without bounds, each option once, by its full name, followed by its
value. Everything else is left to Typer, above all errors; trying here first costs next to nothing.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, get_args

from typer import Context
from typer.core import TyperCommand

_NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?", re.ASCII)


class PlainCommand(TyperCommand):
    """A verb whose parameters are annotated with types, not with the names of types."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Turn what was given into parameters of the verb; the others keep the defaults of its signature."""
        given = self._plainly_given(args)
        if given is None:
            return super().parse_args(ctx, args)
        ctx.params = given
        return []

    def _plainly_given(self, args: list[str]) -> dict[str, Any] | None:
        """The parameters that these words mean; None if Typer must parse them."""
        of_options: list[Any] = [each for each in self.params if each.param_type_name == "option"]
        options = {name: each for each in of_options for name in each.opts}
        files = [each for each in self.params if each.param_type_name == "argument"]
        given: dict[str, Any] = {}
        words, behind = iter(args), []
        for word in words:
            if word == "-" or not word.startswith("-"):
                behind.append(word)
                continue
            option = options.get(word)
            if option is None or option.name is None or option.name in given or option.callback is not None:
                return None
            value = True if option.is_flag else self._value(option, next(words, None))
            if value is None:
                return None
            given[option.name] = value
        if len(files) != 1 or files[0].nargs != -1 or files[0].name is None or not behind:
            return None
        given[files[0].name] = behind
        return given if all(each.name in given for each in self.params if each.required) else None

    def _value(self, option: Any, text: str | None) -> Any:
        """The value that a text means for an option; None if Typer must parse it."""
        if text is None or text.startswith("-") or option.multiple:
            return None
        said = get_args(self.callback.__annotations__[option.name])[0]  # of `Annotated[kind, …]`
        kind = next(iter(get_args(said)), said)  # of `kind | None`
        if kind is str:
            return text
        if kind is Path:
            return None if os.path.isdir(text) else Path(text)
        bounded = getattr(option, "min", 0) is not None or getattr(option, "max", 0) is not None
        return float(text) if kind is float and not bounded and _NUMBER.fullmatch(text) else None
