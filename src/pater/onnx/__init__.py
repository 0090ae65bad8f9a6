"""Models as ONNX, to be run wherever there is an ONNX runtime.

`to_onnx` needs only the package `onnx`; to run the result, use onnxruntime or another runtime.
"""

from __future__ import annotations

try:
    import onnx  # noqa: F401
except ImportError as error:
    raise ImportError(f'pater.onnx needs the package onnx ({error}): pip install "pater[onnx]".') from None

from .conversion import to_onnx
from .feeding import feed
from .registration import register

__all__ = ["feed", "register", "to_onnx"]
