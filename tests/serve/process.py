"""`pater serve` in a separate process, which is always ended."""

from __future__ import annotations

import http.client
import json
import signal
import ssl
import subprocess
import sys
import threading
from contextlib import contextmanager

from patience import WAIT


class Process:
    def __init__(self, process, line, errors):
        self.process, self.line, self.errors = process, line, errors
        self.port = int(line.rsplit(":", 1)[1])

    def ask(self, method, path, body=None, type_="application/json", context=None, **headers):
        """Status and body of an answer, with JSON parsed."""
        if context is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        else:
            connection = http.client.HTTPSConnection("localhost", self.port, timeout=WAIT, context=context)
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, {"Content-Type": type_, **given} if body is not None else given)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(content) if "json" in answer.getheader("content-type") else content

    def end(self, number=signal.SIGTERM):
        """Send a signal; return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(WAIT)


def command(*arguments):
    return [sys.executable, "-m", "pater", "serve", *map(str, arguments)]


@contextmanager
def running(*arguments):
    process = subprocess.Popen(
        command("--port", 0, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    errors = []
    reader = threading.Thread(target=lambda: errors.extend(process.stderr), daemon=True)
    reader.start()
    timer = threading.Timer(WAIT, process.kill)
    timer.start()
    try:
        line = process.stdout.readline().strip()
        assert line.startswith("serving on "), errors
        yield Process(process, line, errors)
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        reader.join(WAIT)
        process.stdout.close()
        process.stderr.close()


def trusting(certificate):
    return ssl.create_default_context(cafile=certificate)
