"""One request to an endpoint, tried again where that may help.

The key stands in a header and nowhere else: what the endpoint says about a failure is shown to
the user with the key cut out, since some endpoints repeat it.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import time
import urllib.request
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from rote.core.errors import OptionError, RoteError
from rote.models.endpoint.address import OPENAI, Address
from rote.models.endpoint.pace import Pace, Patience, retry_after

_BUSY = (408, 409, 429, 500, 502, 503, 504, 529)
_SHOWN = 500
"""Characters of an error's text that are shown."""


class Refused(RoteError):
    """The endpoint will not answer a request, however often it is asked."""

    def __init__(self, where: str, status: int, said: str) -> None:
        self.status, self.said = status, said
        super().__init__(f"{where} answers {status}: {said}")


@dataclass(slots=True)
class Client:
    """Sends requests to one endpoint."""

    address: Address
    key_variable: str
    pace: Pace
    patience: Patience = field(default_factory=Patience)
    _key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._key = os.environ.get(self.key_variable) or None
        if self._key is None and self.address.url == OPENAI:
            raise OptionError(
                f"{OPENAI} wants a key, and the environment variable {self.key_variable} is not set"
            )
        if self._key is not None and not self.address.secure and not self.address.local:
            raise OptionError(
                f"the key in {self.key_variable} would travel unencrypted to {self.address.host}: "
                "use https, or name a variable that is not set with --key-variable"
            )

    @property
    def has_key(self) -> bool:
        return self._key is not None

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request."""
        data = json.dumps(body).encode()
        where = self.address.url + path
        for attempt in count(1):
            self.pace.wait()
            asked: float | None = None
            try:
                status, headers, answer = self._send(path, data)
            except ssl.SSLCertVerificationError as error:
                reason = error.verify_message
                raise RoteError(f"{where}: its certificate is not valid ({reason})") from None
            except TimeoutError:
                trouble, most = "there is no answer in time", self.patience.slow
            except (OSError, http.client.HTTPException) as error:
                trouble, most = f"cannot be reached ({_why(error)})", self.patience.unreachable
            else:
                if status == 200:
                    return self._read(where, answer)
                said = self._said(answer)
                if status not in _BUSY or "insufficient_quota" in said:
                    raise Refused(where, status, said)
                trouble, most = f"answers {status}: {said}", self.patience.busy
                asked = retry_after(headers.get("Retry-After"))
            if attempt >= most:
                raise RoteError(
                    f"{where}: {trouble}; given up after {attempt} attempts. What was answered "
                    "is kept: the same command goes on from there"
                )
            time.sleep(self.patience.wait(attempt, asked))
        raise AssertionError

    def _send(self, path: str, data: bytes) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = self._connection()
        try:
            try:
                connection.connect()
            except TimeoutError:
                raise ConnectionError(f"no connection in {self.patience.connect:g} s") from None
            assert connection.sock is not None
            connection.sock.settimeout(self.patience.answer)
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if self._key is not None:
                headers["Authorization"] = f"Bearer {self._key}"
            connection.request("POST", self.address.path + path, data, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        host, port, timeout = self.address.host, self.address.port, self.patience.connect
        made: type[http.client.HTTPConnection] = (
            http.client.HTTPSConnection if self.address.secure else http.client.HTTPConnection
        )
        proxy = urllib.request.getproxies().get("https" if self.address.secure else "http")
        if proxy is None or urllib.request.proxy_bypass(host):
            return made(host, port, timeout=timeout)
        through = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        connection = made(through.hostname or "", through.port or 80, timeout=timeout)
        connection.set_tunnel(host, port)
        return connection

    def _read(self, where: str, answer: bytes) -> dict[str, Any]:
        try:
            held = json.loads(answer)
        except ValueError:
            held = None
        if not isinstance(held, dict):
            raise RoteError(f"{where} answers with something else than JSON: {self._said(answer)}")
        return held

    def _said(self, answer: bytes) -> str:
        """What an error says, in one line, without the key."""
        text = answer.decode("utf-8", "replace")
        try:
            held = json.loads(text)
            error = held.get("error", held) if isinstance(held, dict) else held
            text = error["message"] if isinstance(error, dict) else str(error)
            if isinstance(error, dict) and error.get("code"):
                text = f"{text} ({error['code']})"
        except (ValueError, KeyError, TypeError):
            pass
        text = " ".join(str(text).split())
        if self._key is not None:
            text = text.replace(self._key, "[key]")
        return text[:_SHOWN] or "nothing further"


def _why(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "no such host"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
