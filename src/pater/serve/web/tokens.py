"""Access control: bearer tokens with roles, and checks that keep foreign web pages from calling a local server."""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from ...formats.errors import InputError
from ..errors import Refusal

ROLES = ("predict", "learn", "admin")
SHORTEST = 16  # characters of a token
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

Headers = dict[bytes, bytes]


class Token(NamedTuple):
    """A role and the digest of its secret; the secret itself is not kept."""

    role: str
    digest: bytes


def digest_of(secret: bytes) -> bytes:
    """The digest of a secret; all have the same length, so that comparing them reveals nothing about the secrets."""
    return hashlib.sha256(secret).digest()


def read_tokens(path: str | os.PathLike[str]) -> list[Token]:
    """The tokens of a file, whose lines are a role and a token, or a comment that begins with #."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            lines = file.read(1 << 20).splitlines()
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None
    tokens: dict[bytes, Token] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        role, _, secret = line.strip().partition(b" ")
        where, secret = f"{name}, line {number}", secret.strip()
        if role.decode("ascii", "replace") not in ROLES or not secret:
            raise InputError(f"{where}: a line is a role ({', '.join(ROLES)}), a space and a token.")
        if len(secret) < SHORTEST:
            raise InputError(f"{where}: a token needs {SHORTEST} characters or more; `openssl rand -hex 32` makes one.")
        if not secret.isascii() or any(byte <= 32 or byte == 127 for byte in secret):
            raise InputError(f"{where}: a token must be plain ASCII characters, without spaces.")
        token = Token(role.decode(), digest_of(secret))
        if token.digest in tokens:
            raise InputError(f"{where}: the same token is in an earlier line.")
        tokens[token.digest] = token
    if not tokens:
        raise InputError(f"{name} has no token; a line is a role ({', '.join(ROLES)}), a space and a token.")
    return list(tokens.values())


def open_to_others(path: str | os.PathLike[str]) -> bool:
    """Whether other users of the machine can read a file."""
    return os.name == "posix" and bool(os.stat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO))


class Access:
    """Accepts or refuses requests.

    Without tokens every caller may do everything, and the server listens only to this machine: then the host name in a
    request must be one of the machine's own. A web page whose domain was made to resolve to this machine (DNS
    rebinding) uses another name.
    """

    def __init__(self, tokens: Iterable[Token] | None = None, hosts: Iterable[str] = LOOPBACK) -> None:
        self._tokens = None if tokens is None else list(tokens)
        self._hosts = frozenset(hosts)

    def check(self, headers: Headers, roles: frozenset[str], *, changes: bool) -> None:
        """Refuse a request if its sender has none of the roles; `changes` says that it does more than read."""
        if changes and b"origin" in headers:
            _same_origin(headers)
        if self._tokens is None:
            self._own_name(headers)
        elif roles:
            self._role(headers, roles)

    def _role(self, headers: Headers, roles: frozenset[str]) -> None:
        given = digest_of(_secret(headers.get(b"authorization", b"")))
        role = ""
        for token in self._tokens or ():  # all of them, so that the time taken reveals nothing
            if hmac.compare_digest(token.digest, given):
                role = token.role
        if not role:
            raise Refusal(401, "this needs a token: a header Authorization: Bearer TOKEN.")
        if role not in roles:
            raise Refusal(403, f"a token of the role {role} may not do this; it is for {' and '.join(sorted(roles))}.")

    def _own_name(self, headers: Headers) -> None:
        if _name(headers.get(b"host", b"")) not in self._hosts:
            raise Refusal(421, "this server answers only to this machine's own names; use 127.0.0.1.")


@lru_cache(maxsize=64)
def _name(host: bytes) -> str | None:
    """The name in a Host header, without a port; None if there is none."""
    try:
        return urlsplit("//" + host.decode("ascii")).hostname
    except ValueError:
        return None


def _same_origin(headers: Headers) -> None:
    """Raise a Refusal if a browser says that the request comes from a page of another server."""
    if headers[b"origin"].partition(b"://")[2].lower() != headers.get(b"host", b"").lower():
        raise Refusal(403, "a page of another site may not send this.")


def _secret(authorization: bytes) -> bytes:
    """The token in an Authorization header; empty if there is none."""
    scheme, _, secret = authorization.partition(b" ")
    return secret.strip() if scheme.lower() == b"bearer" else b""
