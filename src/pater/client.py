"""A client for `pater serve` that needs only the standard library.

    client = Client("http://127.0.0.1:8000", token="…")
    for said in client.predict([("t1", {"amount": 12.5, "country": "DE"})]):
        print(said["decision"], said["probability"])
    client.labels({"t1": "fraud"})

A call is retried until its timeout: when the service is busy or starting, and when the connection is lost, if repeating
the request does no harm. Learning can be repeated, since every call has an idempotency key. Many threads may share one
client; connections are kept open for the next call.
"""

from __future__ import annotations

import collections
import contextlib
import http.client
import json
import random
import ssl
import time
import urllib.parse
import uuid
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

ARROW, LABEL = "application/vnd.apache.arrow.stream", ("id", "label", "weight")
BUSY, LOST_BEHIND_A_PROXY = (429, 503), (502, 504)  # the first are sent before anything was done
LONGEST_WAIT = 2.0  # between two tries, unless the service asks for more


class ServiceError(Exception):
    """The service has refused a request: HTTP `status`, `reason`, and for bad rows [{"index", "reason"}]."""

    def __init__(self, status: int, reason: str, rows: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(status, reason, rows)
        self.status, self.reason, self.rows = status, reason, list(rows)

    def __str__(self) -> str:
        others = "".join(f"\n  row {row.get('index')}: {row.get('reason')}" for row in self.rows[1:10])
        return f"{self.reason} (HTTP {self.status}){others}"  # the first one is in the reason


class Predictions(list[dict[str, Any]]):
    """One dict per row, in order; `model` has the version of the model and the number of rows it had learned."""

    model: dict[str, Any]


class Client:
    """A service at a URL.

    `token` is sent as a bearer token, if the service needs one. One call may take `timeout` seconds, including retries.
    `context` is for your own certificate: `ssl.create_default_context(cafile="ca.pem")`.
    """

    def __init__(
        self, url: str, token: str | None = None, timeout: float = 30.0, *, context: ssl.SSLContext | None = None
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"{url!r} is not the address of a service; it looks like http://127.0.0.1:8000")
        self.url, self.timeout = url.rstrip("/"), timeout
        self._address, self._prefix = (parts.hostname, parts.port), parts.path.rstrip("/")
        self._tls = (context or ssl.create_default_context()) if parts.scheme == "https" else None
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._idle: collections.deque[http.client.HTTPConnection] = collections.deque()
        weakref.finalize(self, _close, self._idle)

    def predict(self, rows: Any, explain: bool = False) -> Predictions:
        """Predict rows; rows with an id are kept by the service until their label arrives.

        Parameters
        ----------
        rows
            A list of rows, each a dict of features, `(id, features)` or `{"id", "features"}`; or, with pyarrow, a table
            of pandas, Polars or Arrow, whose column `id`, if there is one, holds the ids.
        explain
            Also return what each feature adds to the margin, as `contributions`; not for tables.
        """
        content, kind = _rows(rows, {"explain": True} if explain else {})
        answer = json.loads(self._call("POST", "/v1/predict", content, kind))
        predictions = Predictions(answer["predictions"])
        predictions.model = answer["model"]
        return predictions

    def learn(self, rows: Any, labels: Any = None, weights: Any = None, *, key: str | None = None) -> dict[str, Any]:
        """Learn from rows with labels: `{"learned": n, "position": p}`, once they are durable and learned.

        Parameters
        ----------
        rows
            As for `predict`. Without `labels`, rows are `{"features", "label", "weight"?, "id"?}`, or a table that has
            a column `label`, or one with the name of the model's label.
        labels, weights
            One for each row.
        key
            Requests with the same key count as one request, learned once. Give one, such as the date of a batch, if
            another process may send the same rows again. Without it, each call is a separate request.
        """
        content, kind = _rows(rows, {}, label=labels, weight=weights)
        key = uuid.uuid4().hex if key is None else key
        if not (key.isascii() and key.isprintable() and key.strip()):
            raise ValueError(f"an idempotency key is made of printable ASCII, and {key!r} is not")
        return _object(self._call("POST", "/v1/learn", content, kind, {"Idempotency-Key": key}))

    def labels(self, labels: Any) -> dict[str, Any]:
        """Send labels for rows predicted before: `{"joined": n, "unknown": [ids], …}`.

        Takes a dict or Series of labels by id, or a list of `(id, label)`, `(id, label, weight)` or `{"id", "label",
        …}`.
        """
        pairs = labels.items() if hasattr(labels, "items") else labels
        told = [each if isinstance(each, Mapping) else dict(zip(LABEL, each, strict=False)) for each in pairs]
        return _object(self._call("POST", "/v1/labels", _json({"labels": told})))

    def model(self) -> bytes:
        """The current model, as the bytes of a model file."""
        return self._call("GET", "/v1/model")

    def swap(self, model: bytes) -> dict[str, Any]:
        """Replace the served model by another, given as the bytes of its file."""
        return _object(self._call("POST", "/v1/model", model, "application/octet-stream", twice=False))

    def operating_point(self, **wish: Any) -> dict[str, Any]:
        """Decide by `max_fpr=`, `max_fnr=`, `cost=` or `threshold=` from now on; without any, as the model does."""
        return _object(self._call("POST", "/v1/operating-point", _json(wish)))

    def status(self) -> dict[str, Any]:
        """The status of the service: model, quality, log. Waits for a service that is just starting."""
        return _object(self._call("GET", "/v1/status"))

    def close(self) -> None:
        """Close all kept connections. The next call opens a new one."""
        _close(self._idle)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        kind: str = "application/json",
        headers: Mapping[str, str] | None = None,
        *,
        twice: bool = True,
    ) -> bytes:
        """The content of the answer. `twice` says whether a request that may have succeeded can be sent again."""
        sent = {**self._headers, **(headers or {}), **({} if content is None else {"Content-Type": kind})}
        end, pause = time.monotonic() + self.timeout, 0.05
        while True:
            connection, wait = self._kept() if twice else None, pause * random.uniform(0.5, 1.5)
            was_kept, again = connection is not None, True  # what could not connect can always be tried again
            try:
                connection = self._connected(connection, end - time.monotonic())
                again = twice
                said, answer = _exchange(connection, method, self._prefix + path, content, sent)
            except (OSError, http.client.HTTPException) as error:
                if connection is not None:
                    connection.close()
                if was_kept and isinstance(error, ConnectionError):
                    continue  # the service has closed it while it was idle
                again = again and not isinstance(error, ssl.SSLCertVerificationError)
                failure: Exception = ConnectionError(f"{self.url} does not answer: {error or type(error).__name__}")
            else:
                if connection.sock is not None:  # the service keeps it, too
                    self._idle.append(connection)
                if said.status < 400:
                    return answer
                failure = _refused(said.status, answer)
                again = said.status in BUSY or (twice and said.status in LOST_BEHIND_A_PROXY)
                asked = said.headers.get("Retry-After", "")
                wait = max(wait, float(asked) if asked.isdecimal() else 0.0)
            if not again or time.monotonic() + wait >= end:
                raise failure
            time.sleep(wait)
            pause = min(2 * pause, LONGEST_WAIT)

    def _kept(self) -> http.client.HTTPConnection | None:
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        return None

    def _connected(self, kept: http.client.HTTPConnection | None, left: float) -> http.client.HTTPConnection:
        left = max(left, 0.001)
        if kept is not None:
            kept.sock.settimeout(left)
            return kept
        if self._tls is None:
            connection = http.client.HTTPConnection(*self._address, timeout=left)
        else:
            connection = http.client.HTTPSConnection(*self._address, timeout=left, context=self._tls)
        connection.connect()
        return connection


def _close(idle: collections.deque[http.client.HTTPConnection]) -> None:
    while idle:
        idle.pop().close()


def _exchange(
    connection: http.client.HTTPConnection, method: str, path: str, content: bytes | None, headers: Mapping[str, str]
) -> tuple[http.client.HTTPResponse, bytes]:
    try:
        connection.request(method, path, content, dict(headers))
    except (BrokenPipeError, ConnectionResetError):
        # a service that refuses a large body answers before it has read all of it: what it said may be there to read
        if content is None or connection.sock is None:
            raise
    said = connection.getresponse()
    return said, said.read()


def _refused(status: int, answer: bytes) -> ServiceError:
    try:
        told = json.loads(answer)
        return ServiceError(status, str(told["error"]), told.get("rows", ()))
    except (ValueError, KeyError, TypeError):  # not the service, but something before it
        words = answer[:200].decode("utf-8", "replace").strip()
        return ServiceError(status, words or http.client.responses.get(status, "no reason given"))


def _object(answer: bytes) -> dict[str, Any]:
    return dict(json.loads(answer))


def _json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, default=_plain, ensure_ascii=False, separators=(",", ":")).encode()


def _plain(value: Any) -> Any:
    """Convert what JSON has no type for: NumPy numbers, decimals, dates, and missing values of a table."""
    if type(value).__name__ in ("NAType", "NaTType") or str(value) in ("nan", "NaT"):
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if type(value).__name__ == "datetime64":
        return str(value)
    return value.item() if hasattr(value, "item") else float(value)


def _rows(rows: Any, wishes: Mapping[str, Any], **columns: Any) -> tuple[bytes, str]:
    """The body of a request and its type; `columns` are label and weight, with one value for each row, or None."""
    given = {name: list(values) for name, values in columns.items() if values is not None}
    if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "iloc"):
        if wishes:
            raise TypeError("reasons are given for rows as dicts: frame.to_dict('records') makes them of a table")
        return _arrow(rows, given), ARROW
    listed = [_row(row) for row in ([rows] if isinstance(rows, Mapping) else rows)]
    for name, values in given.items():
        for row, value in zip(listed, _one_each(len(listed), name, values), strict=True):
            row[name] = value
    return _json({"rows": listed, **wishes}), "application/json"


def _arrow(rows: Any, given: Mapping[str, list[Any]]) -> bytes:
    try:
        import pyarrow as pa
    except ImportError:
        raise TypeError("a table needs pyarrow: pip install pyarrow, or give rows as dicts") from None
    # the index of a pandas table is not one of its columns
    table = pa.Table.from_pandas(rows, preserve_index=False) if hasattr(rows, "iloc") else pa.table(rows)
    for name, values in given.items():
        table = table.append_column(name, pa.array(_one_each(table.num_rows, name, values)))
    table = table.replace_schema_metadata()  # versions of libraries, which would make the same rows another body
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _one_each(n_rows: int, name: str, values: list[Any]) -> list[Any]:
    if len(values) != n_rows:
        raise ValueError(f"there are {n_rows} rows, and {len(values)} {name}s")
    return values


def _row(row: Any) -> dict[str, Any]:
    """A row in the shape of the service."""
    if isinstance(row, Mapping) and isinstance(row.get("features"), Mapping | list):
        return {**row, "features": _features(row["features"])}
    if isinstance(row, tuple) and len(row) == 2 and isinstance(row[1], Mapping | list):
        return {"id": row[0], "features": _features(row[1])}
    if isinstance(row, Mapping | list):
        return {"features": _features(row)}
    raise TypeError(f"a row is a dict of features, or an id and such a dict, not {row!r}")


def _features(features: Any) -> Any:
    if not isinstance(features, Mapping):
        return features  # pairs of index and value
    return {name: None if isinstance(v, float) and v != v else v for name, v in features.items()}
