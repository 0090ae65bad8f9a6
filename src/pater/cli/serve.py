"""`pater serve`: predict over HTTP, and learn when the labels arrive."""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pater.formats.errors import InputError

from . import checks
from . import options as o
from .errors import CommandError, UsageError
from .learner_options import checked, operating_point, with_settings
from .library import one_line_errors
from .sharded import bytes_of
from .terminal import say, tell, tell_json

if TYPE_CHECKING:
    from pater.serve.kafka import Address

EXAMPLE = """\b
Examples:
  pater serve -m churn.pater --state churn/
  pater serve --state churn/
  pater serve --state spam/ --algo arow --probabilities --max-fpr 0.01 --port 0
  pater serve --state churn/ --host 0.0.0.0 --tokens tokens.txt --certificate cert.pem --key key.pem
  pater serve --state churn/ --check
"""

_NEEDED = ("httptools", "orjson", "prometheus_client", "uvicorn")
_TIME = re.compile(r"([0-9]{1,9})\s*([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@with_settings
def serve(
    *,
    state: Annotated[
        Path,
        typer.Option("--state", "-s", file_okay=False, metavar="DIR", help="Where the log and the models are kept."),
    ],
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", dir_okay=False, metavar="FILE", help="Start with this model and its settings."),
    ] = None,
    algo: Annotated[
        str | None, typer.Option("--algo", "-a", metavar="NAME", help="As for pater train.  [default: auto]")
    ] = None,
    settings: dict[str, Any],
    categorical: o.Categorical = None,
    encoding: o.Encoding = None,
    interactions: o.Interactions = None,
    bits: o.Bits = None,
    scale: o.Scale = False,
    scoring: Annotated[
        str | None, typer.Option("--scoring", metavar="NAME", help="As for pater train.  [default: balanced_accuracy]")
    ] = None,
    max_fpr: o.MaxFpr = None,
    max_fnr: o.MaxFnr = None,
    cost: o.Cost = None,
    max_classes: Annotated[
        int, typer.Option("--max-classes", min=1, metavar="N", help="Refuse rows that would add more labels than this.")
    ] = o.MOST_CLASSES,
    host: Annotated[str, typer.Option("--host", metavar="NAME", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="N", help="The port to listen on; 0 picks a free one.")
    ] = 8000,
    tokens: Annotated[
        Path | None,
        typer.Option(
            "--tokens",
            dir_okay=False,
            metavar="FILE",
            help="Who may do what: lines of a role (predict, learn, admin) and a token.",
        ),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", dir_okay=False, metavar="FILE", help="A TLS certificate, in PEM.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", dir_okay=False, metavar="FILE", help="The key of the certificate.")
    ] = None,
    remember: Annotated[
        str, typer.Option("--remember", metavar="TIME", help="How long a prediction waits for its label: 12h, 30d.")
    ] = "30d",
    expire_as: Annotated[
        str | None, typer.Option("--expire-as", metavar="LABEL", help="Learn this label if none has arrived by then.")
    ] = None,
    consume: Annotated[
        str | None,
        typer.Option("--consume", metavar="URL", help="Also learn from a Kafka topic: kafka://host:9092/topic."),
    ] = None,
    snapshot_every: Annotated[
        str, typer.Option("--snapshot-every", metavar="N|TIME", help="Save the model every N rows, or every 60s or 5m.")
    ] = "60s",
    window: Annotated[
        int, typer.Option("--window", min=1, metavar="ROWS", help="Report how good predictions were in every N rows.")
    ] = 1_000,
    max_body: Annotated[str, typer.Option("--max-body", metavar="SIZE", help="The largest request.")] = "16M",
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, metavar="N", help="Rows per request.")] = 100_000,
    max_columns: Annotated[int, typer.Option("--max-columns", min=1, metavar="N", help="Columns per row.")] = 10_000,
    max_pending: Annotated[
        int, typer.Option("--max-pending", min=1, metavar="N", help="Rows that may wait for their labels.")
    ] = 50_000_000,
    max_waiting: Annotated[
        int, typer.Option("--max-waiting", min=1, metavar="N", help="Requests that may wait to be written to the log.")
    ] = 10_000,
    check: Annotated[bool, typer.Option("--check", help="Check the state directory, and do not start.")] = False,
    log_json: Annotated[bool, typer.Option("--log-json", help="Log JSON lines.")] = False,
    log_requests: Annotated[bool, typer.Option("--log-requests", help="Log every request.")] = False,
) -> None:
    """Predict over HTTP, learn when the labels arrive, and lose nothing that was acknowledged."""
    if check:
        _check(state, as_json=log_json)
        return
    checks.check_encoding(encoding, scale=scale, bits=bits, crossed=bool(interactions))
    pairs = checks.pairs_of(interactions)
    others = {
        "--scale": scale,
        "--encoding": encoding is not None,
        "--interactions": pairs is not None,
        "--categorical": bool(categorical),
        "--bits": bits is not None,
        "--scoring": scoring is not None,
        "--max-fpr": max_fpr is not None,
        "--max-fnr": max_fnr is not None,
        "--cost": cost is not None,
    }
    options = {
        **checked(algo or "auto", settings, others=others, saved="--model" if model else None),
        **operating_point(max_fpr, max_fnr, cost),
        "categorical": list(categorical or ()) or None,
        "bits": bits,
    }
    chosen: dict[str, Any] = {
        "algo": algo,
        "scoring": scoring,
        "scale": scale or None,
        "encoding": encoding,
        "interactions": pairs,
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    named = {name: value for name, value in options.items() if value is not None}
    if named:
        given["options"] = named
    snapshot_rows, snapshot_seconds = _every(snapshot_every)
    if (certificate is None) != (key is None):
        raise UsageError("--certificate and --key go together.")
    _check_installed()
    with one_line_errors():
        from pater.serve.retention import Retention
        from pater.serve.web.journal import Journal
        from pater.serve.web.limits import Limits
        from pater.serve.web.running import Setup, run
        from pater.serve.web.server import is_loopback

        if tokens is None and not is_loopback(host):
            raise UsageError(
                f"--host {host} lets other machines in, and without --tokens they may do everything: give a file of "
                "tokens, or listen on 127.0.0.1."
            )
        if tokens is not None and certificate is None and not is_loopback(host):
            say(
                "pater: warning: without --certificate and --key tokens are sent unencrypted; put a TLS proxy in front."
            )
        keeping = Retention(
            remember=_seconds("--remember", remember),
            expire_as=expire_as,
            snapshot_rows=snapshot_rows,
            snapshot_seconds=snapshot_seconds,
            most_classes=max_classes,
            most_waiting=max_waiting,
        )
        body = bytes_of("--max-body", max_body)
        limits = Limits(body=body, held=max(body, Limits.held), rows=max_rows, columns=max_columns, pending=max_pending)
        setup = Setup(
            state=state,
            model=model,
            settings=given,
            keeping=keeping,
            limits=limits,
            window=window,
            host=host,
            port=port,
            tokens=tokens,
            certificate=certificate,
            key=key,
            log_requests=log_requests,
            consume=_topic(consume) if consume is not None else None,
        )
        os.umask(0o077)  # the rows may be personal data, which nobody else may read
        run(setup, Journal(as_json=log_json), lambda address: tell(f"serving on {address}"))


def _check_installed() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise CommandError(f'pater serve needs {", ".join(missing)}: pip install "pater[serve]".')


def _topic(url: str) -> Address:
    if find_spec("confluent_kafka") is None:
        raise CommandError('--consume needs the Kafka client: pip install "pater[kafka]".')
    from pater.serve.kafka import Address

    try:
        return Address.of(url)
    except InputError as error:
        raise UsageError(f"--consume: {error}") from None


def _check(state: Path, *, as_json: bool) -> None:
    with one_line_errors():
        from pater.serve.store.check import check

        report = check(state)
        if as_json:
            tell_json({"sound": report.sound, "found": report.found, "wrong": report.wrong})
        else:
            for line in (*report.found, *report.wrong):
                tell(line)
        if not report.sound:
            raise CommandError(f"{state} is not sound: {report.wrong[0]}")


def _seconds(option: str, text: str) -> float:
    match = _TIME.fullmatch(text.strip().lower())
    if not match or int(match[1]) == 0:
        raise UsageError(f"{option} expects a time such as 60s, 5m, 12h or 30d, got {text!r}.")
    return float(int(match[1]) * _SECONDS[match[2]])


def _every(text: str) -> tuple[int, float]:
    """The number of rows and of seconds after which a snapshot is due; one of them is practically infinite."""
    rows = text.strip()
    if rows.isdecimal() and len(rows) < 16 and int(rows):
        return int(rows), float("inf")
    try:
        return 1 << 62, _seconds("--snapshot-every", text)
    except UsageError:
        raise UsageError(f"--snapshot-every expects a number of rows, or a time such as 60s; got {text!r}.") from None
