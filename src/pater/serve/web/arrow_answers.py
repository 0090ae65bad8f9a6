"""Predictions as an Arrow IPC stream, for callers that ask for one."""

from __future__ import annotations

from typing import Any

import orjson

from ..errors import Refusal


def arrow_bytes(answer: dict[str, Any]) -> bytes:
    """The predictions as a table with one column per field; the metadata of the schema names the model."""
    try:
        import pyarrow as pa
    except ImportError:
        raise Refusal(406, 'Arrow needs pyarrow on the server: pip install "pater[arrow]".') from None
    table = pa.Table.from_pylist(answer["predictions"])
    table = table.replace_schema_metadata({"model": orjson.dumps(answer["model"])})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content
