"""JSON to a web address and JSON back, retried where that may help, for a limited time.

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
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from itertools import count
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

from rote.core.distribution import version
from rote.core.errors import InputError, OptionError, RoteError
from rote.core.json_reader import parse_json
from rote.core.progress import several

Question = TypeVar("Question")
Answer = TypeVar("Answer")

_BUSY = (408, 409, 425, 429, 500, 502, 503, 504, 529)
_LOCAL = ("localhost", "127.0.0.1", "::1")
_KEPT = "Answers are saved: run the same command to continue"
_SHOWN = 500
"""Characters of an error's text that are shown."""
_AGAIN = 60.0
"""Seconds until a warning is repeated: an endpoint may refuse some requests all the time."""


class Refused(RoteError):
    """The other side will not answer a request, however often it is asked."""

    def __init__(self, where: str, status: int, message: str) -> None:
        self.status, self.said = status, message
        how = "with an error" if status == 200 else str(status)
        super().__init__(f"{where} answers {how}: {message}")


class _NotAsked(RoteError):
    """Another request failed first."""


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
    total: float = 120.0
    """Seconds from the first failure, with no answer to any request since, after which no new
    attempt begins."""

    def wait(self, attempt: int, seconds: float | None) -> float:
        """Seconds after an attempt that failed, the first being number 1."""
        backoff = self.first * 2.0 ** (attempt - 1)
        return min(self.longest, backoff if seconds is None else max(seconds, 0.0))


@dataclass(slots=True)
class Pace:
    """Lets requests through, so many per minute at most (0: all at once)."""

    rate: float = 0.0
    _next: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, sleep: Callable[[float], object] | None = None) -> None:
        with self._lock:
            turn = max(self._next, time.monotonic())
            if self.rate:
                self._next = turn + 60.0 / self.rate
            elif turn > self._next:
                return
        (sleep or time.sleep)(max(0.0, turn - time.monotonic()))

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
    _warned: dict[int, float] = field(default_factory=dict)
    """When somebody was last warned of a first, second, ... attempt that failed."""
    _failing: float | None = None
    """When the first request failed of those since the last answer."""
    _over: threading.Event = field(default_factory=threading.Event)
    """Set when a request of several has failed for good: the others stop waiting."""
    _parts: SplitResult = field(init=False)

    def __post_init__(self) -> None:
        try:
            self._parts = urlsplit(self.url)
            self.port = self._parts.port or (443 if self.secure else 80)
        except ValueError:
            self._parts = SplitResult("", "", "", "", "")
        if self._parts.scheme not in ("http", "https") or not self.host:
            example = f"http://localhost:8000/v1 would be one. {self.remedy}".rstrip()
            raise OptionError(f"'{self.url}' is not a web address with a valid port: {example}")

    @property
    def secure(self) -> bool:
        return self._parts.scheme == "https"

    @property
    def host(self) -> str:
        return self._parts.hostname or ""

    @property
    def local(self) -> bool:
        return self.host in _LOCAL

    def post_all(
        self, ask: Callable[[Question], Answer], questions: Sequence[Question], connections: int
    ) -> Generator[tuple[int, Answer], None, None]:
        """The place of each question and its answer, as they come. `ask` posts one question.

        The first failure ends the waits of the others. It is raised when every answer that came
        all the same has been handed out.
        """

        def ask_unless_over(question: Question) -> Answer:
            try:
                return ask(question)
            except BaseException:
                self._over.set()
                raise

        failure: BaseException | None = None
        waiting: dict[Future[Answer], int] = {}
        try:
            with ThreadPoolExecutor(connections) as pool:
                try:
                    for place, question in enumerate(questions):
                        waiting[pool.submit(ask_unless_over, question)] = place
                    for done in as_completed(waiting):
                        if done.cancelled():
                            continue
                        if (error := done.exception()) is None:
                            yield waiting[done], done.result()
                        elif failure is None and not isinstance(error, _NotAsked):
                            failure = error
                            _cancel(waiting)
                finally:
                    self._over.set()
                    _cancel(waiting)
        finally:
            self._over.clear()
        if failure is not None:
            raise failure

    def post(
        self, path: str, body: dict[str, Any], warn: Callable[[str], None] | None = None
    ) -> dict[str, Any]:
        """The answer to a request; `warn` hears of every wait once, not once per request."""
        data = json.dumps(body).encode()
        where = self.url + path
        for attempt in count(1):
            self.pace.wait(self._over.wait)
            if self._over.is_set():
                raise _NotAsked(f"{where}: not sent because another request failed")
            retry_after: float | None = None
            try:
                status, headers, answer = self._send(path, data)
            except ssl.SSLCertVerificationError as error:
                reason = error.verify_message
                raise RoteError(f"{where}: its certificate is not valid ({reason})") from None
            except TimeoutError:
                trouble, most = "timed out", self.patience.slow
            except (OSError, http.client.HTTPException, UnicodeError) as error:
                trouble = f"cannot be reached ({_failure_reason(error)})"
                # Once it has answered, it may be back in a moment.
                most = self.patience.busy if self.reached else self.patience.unreachable
            else:
                self.reached = True
                try:
                    content = parse_json(answer)
                except InputError:
                    content = None
                status = _status(status, content)
                if status == 200:
                    self._failing = None
                    return self._object(where, content, answer)
                message = self._said(answer)
                if status not in _BUSY or "insufficient_quota" in message:
                    raise Refused(where, status, message)
                trouble, most = f"answers {status}: {message}", self.patience.busy
                retry_after = _retry_after(headers.get("Retry-After"))
            now, seconds = time.monotonic(), self.patience.wait(attempt, retry_after)
            since = self._failing = now if self._failing is None else self._failing
            if attempt >= most or now + seconds - since > self.patience.total:
                tries = several(attempt, "attempt")
                limit = f" (the limit is {self.patience.total:g} s)" if attempt < most else ""
                rest = (not self.reached and self.remedy) or _KEPT
                raise RoteError(f"{where}: {trouble}; given up after {tries}{limit}. {rest}")
            self.pace.hold(seconds)
            if warn is not None and now - self._warned.get(attempt, -_AGAIN) >= _AGAIN:
                self._warned[attempt] = now
                attempts_left = several(most - attempt, "attempt")
                rest = f"{attempts_left} left, {self.patience.total - (now - since):.0f} s at most"
                warn(f"{where}: {trouble}; retrying in {seconds:.2g} s ({rest})")
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
        kind: type[http.client.HTTPConnection] = (
            http.client.HTTPSConnection if self.secure else http.client.HTTPConnection
        )
        proxy = urllib.request.getproxies().get(self._parts.scheme)
        if proxy is None or urllib.request.proxy_bypass(self.host):
            return kind(self.host, self.port, timeout=timeout)
        through = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        connection = kind(through.hostname or "", through.port or 80, timeout=timeout)
        connection.set_tunnel(self.host, self.port)
        return connection

    def _object(self, where: str, content: Any, answer: bytes) -> dict[str, Any]:
        if not isinstance(content, dict):
            what = "an empty body" if not answer.strip() else self._said(answer)
            raise RoteError(f"{where}: expected a JSON object, got {what}")
        if content.get("error"):
            raise Refused(where, 200, self._said(answer))
        return content

    def show(self, value: Any) -> str:
        """A part of an answer for a message: in one line, cut, without the key."""
        return self._shown(json.dumps(value, ensure_ascii=False))

    def _said(self, answer: bytes) -> str:
        """What an error says, in one line, without the key."""
        text = answer.decode("utf-8", "replace")
        try:
            content = parse_json(text)
            error = content.get("error", content) if isinstance(content, dict) else content
            if isinstance(error, dict):
                code = f" ({error['code']})" if error.get("code") else ""
                text = f"{error['message']}{code}"
            else:
                text = error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)
        except (InputError, KeyError, TypeError):
            pass
        return self._shown(str(text)) or "nothing further"

    def _shown(self, text: str) -> str:
        text = " ".join(text.split())
        if self.key is not None:
            text = text.replace(self.key, "[key]")
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _cancel(waiting: Iterable[Future[Any]]) -> None:
    for future in waiting:
        future.cancel()


def _status(status: int, content: Any) -> int:
    """The status that counts: some gateways answer 200 and name another one in the error."""
    error = content.get("error") if isinstance(content, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    if status == 200 and type(code) is int and 400 <= code < 600:
        return code
    return status


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


def _failure_reason(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "no such host"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
