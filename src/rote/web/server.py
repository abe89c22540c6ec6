"""Starts the app: what it opens, where it listens, and what it tells the user."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rote.core.errors import MissingExtra, OptionError
from rote.core.metric import check_options, option
from rote.core.progress import Reporter
from rote.core.result import RESULT_FILE

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANY = ("0.0.0.0", "::")
_MAX_PORTS = 50
"""Ports behind the one that is taken."""
_MIN_TOKEN = 8
"""Characters of a token."""
_DEMO = Path("rote-demo")
_EXAMPLE = "example:answers"


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Where the app listens, and where it keeps its things."""

    SECTION: ClassVar[str] = "The app"
    host: str = option(
        "127.0.0.1", "Address to listen on; any but this machine's own needs a token"
    )
    port: int = option(
        8765, "Port; if it is in use, the next free one is used", least=0, most=65535
    )
    token: str | None = option(
        None,
        "Token for access by browsers, at least 8 letters and digits; safer in the variable "
        "ROTE_TOKEN, since others can see command lines. Generated if one is needed and none is "
        "given",
    )
    store: Path | None = option(
        None, "Folder for history, jobs and uploads (the user's own data folder)", metavar="DIR"
    )
    jobs: int = option(1, "Number of cores per job", least=1)
    at_once: int = option(2, "Number of long jobs that run in parallel; others wait", least=1)
    upload_limit: int = option(
        64 * 2**20, "Maximum size of a request, such as an upload (512M, 2G)", least=1, size=True
    )
    model: tuple[str, ...] = option(
        (),
        "Language models for the app: a folder, transformers:NAME, openai:URL#NAME; NAME=MODEL "
        "names a model",
        metavar="M,...",
    )
    open: bool = option(True, "Open the app in the browser")

    def __post_init__(self) -> None:
        check_options(self)
        if self.token is not None:
            _check_token(self.token)
        if not self.host:
            raise OptionError("host is empty: name an address, such as 127.0.0.1 or 0.0.0.0")


def serve(names: Sequence[str], options: ServeOptions, reporter: Reporter) -> None:
    check_installed()
    import uvicorn

    from rote.search.open_models import name_models
    from rote.web.app import make_app
    from rote.web.database import prepare_store
    from rote.web.history import History
    from rote.web.workspace import LOCAL, Workspace, recognize_inputs

    recognized = recognize_inputs(names or _default_inputs())
    store = (options.store or default_store()).resolve()
    prepare_store(store)
    for path in recognized.results:
        History(store).read_in(path)
        name = path.parent.name if path.name == RESULT_FILE else path.name
        reporter.say(f"{name} is in the history")
    token = options.token or _check_token(os.environ.get("ROTE_TOKEN") or None)
    if token is None and options.host not in _LOOPBACK:
        token = secrets.token_hex(16)
    host = f"[{options.host}]" if ":" in options.host else options.host
    hosts = ("*",) if options.host in _ANY else (*LOCAL, host)
    models = name_models(options.model) if options.model else []
    opened = Workspace(
        indexes=recognized.indexes,
        files=recognized.files,
        ledgers=recognized.ledgers,
        store=store,
        jobs=options.jobs,
        upload_limit=options.upload_limit,
        hosts=hosts,
        token=token,
        at_once=options.at_once,
        models={model.name: f"{model.name}={model.spec}" for model in models},
        first=not names,
    )
    listening = open_socket(options.host, options.port)
    port = listening.getsockname()[1]
    if options.port and port != options.port:
        reporter.say(f"port {options.port} is in use: using {port}")
    app = make_app(opened)
    name = socket.gethostname() if options.host in _ANY else host
    address = f"http://{name}:{port}/" + (f"?token={token}" if token else "")
    opened_names = [*(f"index {key}" for key in opened.indexes), *opened.files]
    opened_names += [f"ledger {key}" for key in opened.ledgers]
    reporter.say(f"rote is at {address}")
    reporter.say(f"open: {', '.join(opened_names) or 'nothing'}")
    if options.host not in _LOOPBACK:
        reporter.say(
            "other machines can reach it with this address; nothing is encrypted on the way"
        )
    reporter.say(f"stored in {store}; Ctrl-C stops it")
    if options.open:
        _open_browser(address)
    # The log of requests would hold the token; errors go to standard error.
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=2, server_header=False
    )
    server = uvicorn.Server(config)
    _stop_jobs_first(server, app.state.jobs)
    # A terminal that is closed ends the app as Ctrl-C does; under nohup it stays. Signals are the
    # main thread's.
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        signal.signal(signal.SIGHUP, server.handle_exit)
    server.run(sockets=[listening])


def _check_token(token: str | None) -> str | None:
    if token is not None and not (token.isascii() and token.isalnum()):
        raise OptionError("a token consists of letters and digits")
    if token is not None and len(token) < _MIN_TOKEN:
        raise OptionError(f"a token of less than {_MIN_TOKEN} characters can be guessed")
    return token


def _stop_jobs_first(server: Any, jobs: Any) -> None:
    """Pages that follow a job hold a connection, for which the server would wait in vain."""
    shutdown = server.shutdown

    async def ending(*arguments: Any, **keywords: Any) -> None:
        import asyncio

        await asyncio.to_thread(jobs.stop)
        await shutdown(*arguments, **keywords)

    server.shutdown = ending


def check_installed() -> None:
    """Before anything else: without the extra there is nothing to start."""
    from importlib.util import find_spec

    for package in ("fastapi", "uvicorn", "python_multipart"):
        if find_spec(package) is None:
            raise MissingExtra(package.replace("_", "-"), "web", "the web app")


def open_socket(host: str, port: int) -> socket.socket:
    """A socket at this port, or at the next one that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last: OSError | None = None
    for candidate in range(port, min(port + _MAX_PORTS, 65536)):
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((host, candidate))
            listening.listen(128)
            return listening
        except OSError as error:
            listening.close()
            last = error
    raise OptionError(f"cannot listen on {host}, port {port} and later: {last}")


def default_store() -> Path:
    """The user's own data folder: a history is no cache that may be deleted at any time."""
    if folder := os.environ.get("ROTE_STORE"):
        return Path(folder)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "rote"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "rote"


def _default_inputs() -> list[str]:
    """Without arguments: the bundled answers, and what `rote demo` has made here."""
    from rote.index.folders.manifest import is_index

    folders = sorted(_DEMO.iterdir()) if _DEMO.is_dir() else []
    return [_EXAMPLE, *(str(path) for path in folders if path.is_dir() and is_index(path))]


def _open_browser(address: str) -> None:
    """Once the server answers: it is listening already, so the browser waits for it."""
    import webbrowser

    # Without a screen, Python would start a browser for text in this very terminal.
    if sys.platform == "darwin" or {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        threading.Timer(0.5, webbrowser.open, [address]).start()
