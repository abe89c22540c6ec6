"""What stands before every request: who may call, from where, with how much; and what the
browser is told about the answer.

The app reads the user's files, so any page on the web must be kept from using the user's browser
to reach it: by another name for this machine (Host), by a form or script of another site (Origin,
Sec-Fetch-Site), by a frame. Where other machines can call, they need the token.
"""

from __future__ import annotations

import asyncio
import hmac
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rote.web import errors
from rote.web.workspace import Workspace

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    # Not no-referrer: browsers then say `Origin: null` with the forms of our own pages.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-cache",
}
_SAFE = ("GET", "HEAD", "OPTIONS")
_OWN = (None, "same-origin", "none")
_YEAR = 31_536_000
_FILES = "multipart/form-data"
_WITHOUT_FILES = 4 * 2**20
"""Bytes of a request that brings no files: the longest text that is traced, with every character
written as an escape."""
_SHORT = 64 * 2**10
"""Bytes of a body that is read although the request is refused."""
_DRAINED = 30.0
"""Seconds for which what a refused upload still sends is thrown away."""
_KINDS = {400: "Invalid", 401: "NoToken", 403: "Foreign", 413: "TooLarge"}


class RequestGuard:
    """ASGI middleware around the whole app."""

    def __init__(self, app: Any, opened: Workspace) -> None:
        self._app, self._opened = app, opened

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = _GuardedResponse(scope, send)
        headers = _RequestHeaders(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            # Two lengths are read as one by some and as the other by a proxy before us.
            await answer.refuse(400, "the request says twice how long it is")
        elif problem := self._foreign(scope, headers):
            await _drain_short_body(headers, receive)
            await answer.refuse(403, problem)
        elif self._opened.token and not self._knows(headers, self._opened.token):
            token = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token", "")
            if scope["method"] in ("GET", "HEAD") and _is_same_token(token, self._opened.token):
                await answer.welcome(headers.host[1], self._opened.token)
            else:
                await _drain_short_body(headers, receive)
                await answer.refuse(
                    401, "this app needs a token: open the address that `rote serve` printed"
                )
        else:
            limit = self._limit(headers)
            if _content_length(headers) > limit:
                # Who asks first whether to send it at all need not send it.
                if "expect" not in headers:
                    await _drain_body(receive)
                await answer.refuse(413, self._size_message(limit))
            else:
                await self._counted(scope, receive, answer, limit)

    async def _counted(
        self, scope: Any, receive: Any, answer: _GuardedResponse, limit: int
    ) -> None:
        """A body without a length is counted as it comes."""
        size, more = 0, True

        async def counting() -> Any:
            nonlocal size, more
            message = await receive()
            more = message.get("more_body", False)
            size += len(message.get("body", b""))
            if size > limit:
                # Whatever the app makes of a body that breaks off, this is the answer.
                answer.instead = (413, self._size_message(limit))
                return {"type": "http.disconnect"}
            return message

        try:
            await self._app(scope, counting, answer.send)
        except Exception:
            if answer.instead is None or answer.started:
                raise
        if answer.instead and not answer.started:
            if more:
                await _drain_body(receive)
            await answer.refuse(*answer.instead)

    def _foreign(self, scope: Any, headers: _RequestHeaders) -> str | None:
        """Why a request is not one of this app's own pages', or None."""
        hosts, ours = headers.getlist("host"), {host.lower() for host in self._opened.hosts}
        if len(hosts) != 1 or not {headers.host[0], "*"} & ours:
            return (
                "this address is not known here: open the app by the address that it printed at "
                "its start"
            )
        site, mode = headers.get("sec-fetch-site"), headers.get("sec-fetch-mode")
        if scope["method"] in _SAFE:
            # Another page may lead here by a link, but not load parts of the app.
            elsewhere = site not in _OWN and mode != "navigate"
            return "parts of this app are for its own pages" if elsewhere else None
        # Without any of them it is no browser: programs need not pretend to be one.
        sent_from = headers.getlist("origin") or headers.getlist("referer")
        if site in _OWN and all(_is_from_host(place, hosts[0]) for place in sent_from):
            return None
        return "this was sent from another site: send it from the app's own page"

    def _knows(self, headers: _RequestHeaders, token: str) -> bool:
        bearer = headers.get("authorization", "")
        presented = bearer[7:] if bearer[:7].lower() == "bearer " else ""
        cookie = headers.cookie(_cookie_name(headers.host[1]))
        return _is_same_token(presented, token) or _is_same_token(cookie, token)

    def _limit(self, headers: _RequestHeaders) -> int:
        most = self._opened.upload_limit
        files = headers.get("content-type", "").lower().startswith(_FILES)
        return most if files else min(most, _WITHOUT_FILES)

    def _size_message(self, limit: int) -> str:
        most = f"{limit / 2**20:.3g} MB" if limit >= 2**20 else f"{limit:,} bytes"
        if limit < self._opened.upload_limit:
            return f"more than {most}: send a large text as a file"
        return (
            f"more than {most}: give a large file to `rote serve` at its start, or raise its "
            "`--upload-limit`"
        )


class _RequestHeaders(Headers):
    """With the host that was asked for, and cookies."""

    @property
    def host(self) -> tuple[str, str]:
        host = self.get("host", "").lower()
        name, colon, port = host.rpartition(":")
        ported = bool(colon) and (not port or (port.isascii() and port.isdigit()))
        return (name, port) if ported else (host, "")

    def cookie(self, name: str) -> str:
        for part in "; ".join(self.getlist("cookie")).split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
        return ""


class _GuardedResponse:
    """Sends what the app answers, with the headers that every answer has."""

    def __init__(self, scope: Any, send: Any) -> None:
        self._scope, self._send = scope, send
        self.started = False
        self.instead: tuple[int, str] | None = None

    async def send(self, message: Any) -> None:
        if self.instead and not self.started:
            return  # it is refused once the app has come to its end
        if message["type"] == "http.response.start":
            self.started = True
            names = {name.lower() for name, _ in message["headers"]}
            every = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            added = [header for header in every if header[0] not in names]
            message = {**message, "headers": [*message["headers"], *added]}
        await self._send(message)

    async def refuse(self, status: int, problem: str) -> None:
        """Plain words to strangers; who may use the app and sent too much gets a page."""
        self.instead = None
        if status == 413 or self._scope["path"].startswith("/api/"):
            answer = errors.error_response(Request(self._scope), status, _KINDS[status], problem)
        else:
            answer = PlainTextResponse(f"{problem}\n", status)
        answer.headers["connection"] = "close"
        await answer(self._scope, _no_body, self.send)

    async def welcome(self, port: str, token: str) -> None:
        """The token goes into a cookie, and out of the address, where others could read it."""
        query = parse_qsl(self._scope["query_string"].decode("latin-1"), keep_blank_values=True)
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # A path that begins with two slashes would name another machine.
        path = "/" + self._scope.get("raw_path", b"/").decode("latin-1").lstrip("/\\")
        # Lax, so that a link to a view works in a mail; changes are guarded by their origin.
        cookie = f"{_cookie_name(port)}={token}; HttpOnly; SameSite=Lax; Path=/; Max-Age={_YEAR}"
        place = path + ("?" + rest if rest else "")
        answer = Response(status_code=303, headers={"location": place, "set-cookie": cookie})
        await answer(self._scope, _no_body, self.send)


async def _no_body() -> Any:
    """What these answers could ask of the request, and do not."""
    return {"type": "http.disconnect"}


def _cookie_name(port: str) -> str:
    # Cookies do not know ports: two apps on one machine must not take each other's.
    return f"rote-token-{port or 'default'}"


def _is_same_token(presented: str, token: str) -> bool:
    return hmac.compare_digest(presented.encode(), token.encode())


def _is_from_host(place: str, host: str) -> bool:
    """Whether an origin, or the address of a page, is at this host."""
    try:
        parts = urlsplit(place)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


async def _drain_body(receive: Any) -> None:
    """Browsers read an answer once all is sent; before that, they only see a connection cut."""

    async def rest() -> None:
        while (await receive()).get("more_body"):
            pass

    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(rest(), _DRAINED)


async def _drain_short_body(headers: _RequestHeaders, receive: Any) -> None:
    """The same for strangers: a long body of theirs is not worth reading."""
    if _content_length(headers) <= _SHORT and "transfer-encoding" not in headers:
        await _drain_body(receive)


def _content_length(headers: _RequestHeaders) -> int:
    text = headers.get("content-length") or "0"
    return int(text[:20]) if text.isascii() and text.isdigit() else 2**63
