"""JSON to a web address and JSON back, tried again where that may help.

The key stands in a header and nowhere else: what the other side says about a failure is shown
to the user with the key cut out, since some repeat it.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from itertools import count
from typing import Any
from urllib.parse import SplitResult, urlsplit

from rote.core.distribution import version
from rote.core.errors import OptionError, RoteError

_BUSY = (408, 409, 425, 429, 500, 502, 503, 504, 529)
_LOCAL = ("localhost", "127.0.0.1", "::1")
_KEPT = "What was answered is kept: the same command goes on from there"
_SHOWN = 500
"""Characters of an error's text that are shown."""


class Refused(RoteError):
    """The other side will not answer a request, however often it is asked."""

    def __init__(self, where: str, status: int, said: str) -> None:
        self.status, self.said = status, said
        super().__init__(f"{where} answers {status}: {said}")


@dataclass(frozen=True, slots=True)
class Patience:
    """Attempts and seconds. Waits double from one attempt to the next."""

    busy: int = 8
    """Attempts where the other side says that it is overloaded, or fails."""
    unreachable: int = 4
    """Attempts where there never was a connection: a wrong address should be noticed soon."""
    slow: int = 2
    """Attempts where there is no answer in time."""
    first: float = 0.5
    longest: float = 60.0
    """The longest wait, also where the other side asks for a longer one."""
    connect: float = 5.0
    answer: float = 300.0

    def wait(self, attempt: int, asked: float | None) -> float:
        """Seconds after an attempt that failed, the first being number 1."""
        own = self.first * 2.0 ** (attempt - 1)
        return min(self.longest, own if asked is None else max(asked, 0.0))


@dataclass(slots=True)
class Pace:
    """Lets requests through, so many per minute at most (0: all at once)."""

    rate: float = 0.0
    _next: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self) -> None:
        with self._lock:
            turn = max(self._next, time.monotonic())
            if self.rate:
                self._next = turn + 60.0 / self.rate
            elif turn > self._next:
                return
        time.sleep(max(0.0, turn - time.monotonic()))

    def hold(self, seconds: float) -> None:
        """Let nobody through for a while."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)


@dataclass(slots=True)
class Client:
    """Sends requests to one address; whoever is told to wait makes all others wait too."""

    url: str
    pace: Pace = field(default_factory=Pace)
    patience: Patience = field(default_factory=Patience)
    key: str | None = field(default=None, repr=False)
    remedy: str = ""
    """What to do where there never was a connection."""
    reached: bool = False
    port: int = field(init=False)
    _told: set[int] = field(default_factory=set)
    _parts: SplitResult = field(init=False)

    def __post_init__(self) -> None:
        try:
            self._parts = urlsplit(self.url)
            self.port = self._parts.port or (443 if self.secure else 80)
        except ValueError:
            self._parts = SplitResult("", "", "", "", "")
        if self._parts.scheme not in ("http", "https") or not self.host:
            example = f"http://localhost:8000/v1 would be one. {self.remedy}".rstrip()
            raise OptionError(f"'{self.url}' is no web address with a valid port: {example}")

    @property
    def secure(self) -> bool:
        return self._parts.scheme == "https"

    @property
    def host(self) -> str:
        return self._parts.hostname or ""

    @property
    def local(self) -> bool:
        return self.host in _LOCAL

    def post(
        self, path: str, body: dict[str, Any], say: Callable[[str], None] | None = None
    ) -> dict[str, Any]:
        """The answer to a request; `say` hears of every wait once, not once per request."""
        data = json.dumps(body).encode()
        where = self.url + path
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
            except (OSError, http.client.HTTPException, UnicodeError) as error:
                trouble, most = f"cannot be reached ({_why(error)})", self.patience.unreachable
                # Once it has answered, it may be back in a moment.
                most = self.patience.busy if self.reached else most
            else:
                self.reached = True
                if status == 200:
                    return self._read(where, answer)
                said = self._said(answer)
                if status not in _BUSY or "insufficient_quota" in said:
                    raise Refused(where, status, said)
                trouble, most = f"answers {status}: {said}", self.patience.busy
                asked = _retry_after(headers.get("Retry-After"))
            if attempt >= most:
                tries = f"{attempt} attempt{'s' * (attempt > 1)}"
                rest = (not self.reached and self.remedy) or _KEPT
                raise RoteError(f"{where}: {trouble}; given up after {tries}. {rest}")
            seconds = self.patience.wait(attempt, asked)
            self.pace.hold(seconds)
            if say is not None and attempt not in self._told:
                self._told.add(attempt)
                say(f"{where}: {trouble}; next try in {seconds:.0f} s")
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
            headers = {
                "Content-Type": "application/json",
                "Accept": "application/json",
                "User-Agent": f"rote/{version()}",
            }
            if self.key is not None:
                headers["Authorization"] = f"Bearer {self.key}"
            connection.request("POST", (self._parts.path + path) or "/", data, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        timeout = self.patience.connect
        made: type[http.client.HTTPConnection] = (
            http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        )
        proxy = urllib.request.getproxies().get(self._parts.scheme)
        if proxy is None or urllib.request.proxy_bypass(self.host):
            return made(self.host, self.port, timeout=timeout)
        through = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        connection = made(through.hostname or "", through.port or 80, timeout=timeout)
        connection.set_tunnel(self.host, self.port)
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
        if self.key is not None:
            text = text.replace(self.key, "[key]")
        return text[:_SHOWN] or "nothing further"


def _retry_after(value: str | None) -> float | None:
    """The seconds that a header `Retry-After` asks for: a number, or a date."""
    try:
        return float(value or "")
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(value or "").timestamp() - time.time()
    except (ValueError, TypeError):
        return None


def _why(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "no such host"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
