"""The command line: `pater VERB ...`.

This layer is thin: every verb is a function that checks its arguments, calls the library and prints. `app` lists them.
Nothing is imported before signal handlers are set, and nothing heavy before a verb runs, so that help is instant.
"""

from __future__ import annotations

import errno
import os
import sys

try:
    from . import signals
except KeyboardInterrupt:
    os.write(2, b"pater: interrupted\n")
    sys.exit(130)

TYPE_CHECKING = False  # `typing` must not be imported before signal handlers are set

if TYPE_CHECKING:
    from collections.abc import Sequence


def command() -> None:
    """Run `main`, and exit at once.

    Shutting down an interpreter that holds a compiler takes a fifth of a second, and everything is written by then. The
    study has temporary files to remove, so it ends as usual.
    """
    signals.watch()
    import warnings

    from .library import prepare
    from .terminal import say_warning

    prepare()
    warnings.showwarning = say_warning
    try:
        main()
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else 1
    if "pater.study" in sys.modules:
        sys.exit(code)
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code: 0, 1 for a failure, 2 for wrong usage, 128 + n for signal n."""
    from .terminal import complain, open_streams

    open_streams()
    message, code = _run(sys.argv[1:] if arguments is None else list(arguments))
    if code > 128:
        signals.ignore()
    if message:
        complain(message)
    sys.exit(code)


def _run(arguments: list[str]) -> tuple[str, int]:
    """Run a command; return the error message, if any, and the exit code."""
    from .errors import CommandError
    from .terminal import flush, why_not

    try:
        from .app import run

        code = run(arguments)
        signals.stop_at_once()
        flush()
        return "", code
    except BaseException as error:
        signals.stop_at_once()
        stopped = signals.heard()
        if isinstance(error, CommandError) and (stopped is None or error.code > 128):
            return str(error), error.code
        if stopped or isinstance(error, KeyboardInterrupt):
            stopped = stopped or signals.Stopped()
            return stopped.word, stopped.code
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            return "there is not enough memory; use fewer --bits, --features or classes.", 1
        if isinstance(error, OSError):
            # Without a file name, it comes from Typer writing help; errors with one rarely get here, since the library
            # explains them itself.
            return f"{error.filename}: {error.strerror}" if error.filename else why_not(error), 1
        # The exceptions that Typer raises for wrong usage have moved between modules, but have kept this method.
        if hasattr(error, "format_message"):
            told, context = error.format_message(), getattr(error, "ctx", None)
            stop = "" if told.endswith((".", "?")) else "."
            return f"{told}{stop} See {context.command_path if context else 'pater'} --help.", 2
        raise
