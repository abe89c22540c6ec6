"""Questions to a web service that answers JSON with JSON: patiently, and not too many at once."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, InvalidURL
from typing import Any

from rote.core.distribution import version
from rote.core.errors import InputError
from rote.core.progress import Reporter

CONNECTIONS = 4
"""Questions that are under way at the same time: a free service is shared with others."""
_TIMEOUT = 60.0
_LATER = "Run the command again later: answers that came are kept"
_BUSY = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Service:
    """An address; whoever is told to wait makes all others wait too."""

    url: str
    tries: int = 7
    pause: float = 1.0
    """Seconds before the second try; twice as many before each one more."""
    _free: list[float] = field(default_factory=lambda: [0.0])
    _told: set[int] = field(default_factory=set)
    _reached: list[bool] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, question: Mapping[str, Any], reporter: Reporter) -> dict[str, Any]:
        """The answer; an error that will not go away by itself is raised at once."""
        data = json.dumps(question).encode()
        headers = {"Content-Type": "application/json", "User-Agent": f"rote/{version()}"}
        for number in range(self.tries):
            self._wait()
            told: str | None = None
            try:
                request = urllib.request.Request(self.url, data, headers)
                with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
                    self._reached.append(True)
                    return self._read(response.read())
            except urllib.error.HTTPError as error:
                with error:
                    problem = f"{error.code} {error.reason}{_said(error.read())}"
                if error.code not in _BUSY:
                    raise InputError(f"refuses to answer ({problem})", file=self.url) from None
                told = error.headers.get("Retry-After")
            except (ValueError, InvalidURL) as error:
                raise self._nowhere(str(error)) from None
            except urllib.error.URLError as error:
                problem = _why(error.reason)
                # Once it has answered, it may be back in a moment.
                if not isinstance(error.reason, TimeoutError) and not self._reached:
                    raise self._nowhere(problem) from None
            except (OSError, HTTPException) as error:  # a connection that breaks off
                problem = str(error) or type(error).__name__
            if number + 1 < self.tries:
                self._hold_back(number, told, problem, reporter)
        raise InputError(
            f"does not answer after {self.tries} tries ({problem})", file=self.url, remedy=_LATER
        )

    def _nowhere(self, problem: str) -> InputError:
        return InputError(
            f"cannot be reached ({problem})",
            file=self.url,
            remedy="Check the address, given with --api, and the connection",
        )

    def _read(self, data: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(data)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise InputError("answers with something that is no JSON object", file=self.url)
        if "error" in answer:
            raise InputError(f"answers with an error ({answer['error']})", file=self.url)
        return answer

    def _wait(self) -> None:
        with self._lock:
            free = self._free[0]
        if (left := free - time.monotonic()) > 0:
            time.sleep(left)

    def _hold_back(self, number: int, told: str | None, problem: str, reporter: Reporter) -> None:
        """Let nobody ask for a while, and say it once, not once for each question."""
        seconds = self.pause * 2**number
        if told is not None and told.isdigit():
            seconds = max(seconds, float(told))
        with self._lock:
            self._free[0] = max(self._free[0], time.monotonic() + seconds)
            first = number not in self._told
            self._told.add(number)
        if first:
            reporter.say(f"{self.url} does not answer ({problem}): next try in {seconds:.0f} s")


def _said(data: bytes) -> str:
    """What the service itself says of the error, if it says it as it should."""
    try:
        answer = json.loads(data)
    except ValueError:
        return ""
    return f": {answer['error']}" if isinstance(answer, dict) and "error" in answer else ""


def _why(reason: object) -> str:
    return (isinstance(reason, OSError) and reason.strerror) or str(reason)
