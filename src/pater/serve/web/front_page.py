"""The page for people: one document that holds its style and its script, and contacts only the service itself.

Knows the files in `page/`. The document is the same for everybody and holds no data, so it needs no token; what it
shows comes from `GET /v1/status`. Its policy allows only this script and this style, by their hashes.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

SCRIPTS = ("text.js", "charts.js", "parts.js", "asking.js")


class FrontPage(NamedTuple):
    """The document, and its headers besides those that every answer has."""

    content: bytes
    headers: dict[str, str]


@cache
def front_page() -> FrontPage:
    """The page, assembled once."""
    folder = files(__package__).joinpath("page")
    style = folder.joinpath("style.css").read_text("utf-8")
    parts = "\n".join(folder.joinpath(name).read_text("utf-8") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{parts}}})();\n'
    document = folder.joinpath("status.html").read_text("utf-8")
    text = document.replace("{{style}}", style).replace("{{script}}", script)
    policy = {
        "default-src": "'none'",
        "script-src": _hash(script),
        "style-src": _hash(style),
        "connect-src": "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    headers = {
        "content-security-policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "referrer-policy": "no-referrer",
    }
    return FrontPage(text.encode(), headers)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
