"""JSON text to objects: by orjson where it is installed, else by the standard library, with the same result.

Knows nothing. Stricter than the standard library: infinities and NaN are not JSON, texts are valid Unicode, and numbers
fit in a float. If a key is given twice, the last value stands.
"""

from __future__ import annotations

import importlib
import json
from typing import Any, NoReturn

try:
    _orjson: Any = importlib.import_module("orjson")
except ImportError:
    _orjson = None

_WHOLE = 1 << 64  # orjson takes numbers from minus half of this up to this for whole


def parsed(text: bytes) -> Any:
    """The value of a JSON text; a ValueError says what is wrong with it."""
    if _orjson is not None:
        return _orjson.loads(text)
    try:
        found = _DECODER.decode(text.decode("utf-8"))
        if b"\\u" in text:
            json.dumps(found, ensure_ascii=False).encode("utf-8")  # a lone surrogate cannot be written
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeError:
        raise ValueError("it is not UTF-8") from None
    return found


def written_json(value: Any) -> bytes:
    """A parsed value as JSON text on one line."""
    if _orjson is not None:
        return bytes(_orjson.dumps(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _whole(digits: str) -> int | float:
    if len(digits) < 25 and -(_WHOLE >> 1) <= int(digits) < _WHOLE:
        return int(digits)
    return _finite(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return value


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


_DECODER = json.JSONDecoder(parse_int=_whole, parse_float=_finite, parse_constant=_no_number)
