"""Pages from templates: whatever a text holds, it is escaped and cannot act on the page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from rote.core.errors import UnknownName
from rote.core.numbers import format_number
from rote.core.progress import duration, several
from rote.core.registry import of_result
from rote.report.fragments import page_file
from rote.report.terminal import mask_controls
from rote.report.texts import page_environment

TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@cache
def environment() -> Environment:
    """Templates lie in `pages/`; every page extends `base.html`."""
    environment = page_environment("rote.web", undefined=StrictUndefined, finalize=_clean_value)
    environment.filters.update(
        thousands=lambda number: f"{number:,}",
        several=several,
        number=format_number,
        short=_shorten,
        commands=_mark_commands,
        date=_format_date,
        span=duration,
        capitalized=lambda text: text[:1].upper() + text[1:],
        zipped=lambda names: [(name, name) for name in names],
        measure=measure_title,
    )
    environment.globals.update(address=page_address, static=static_address, query=query_string)
    environment.globals.update(texts_of=texts_address, text_of=text_address)
    return environment


def render_page(request: Request, name: str, status: int = 200, **context: Any) -> HTMLResponse:
    template = environment().get_template(name)
    opened = request.app.state.workspace
    return HTMLResponse(template.render(request=request, opened=opened, **context), status)


def page_address(request: Request, /, **changes: Any) -> str:
    """The address of this page with other settings; None leaves one out."""
    pairs = [(k, v) for k, v in request.query_params.multi_items() if k not in changes]
    for name, value in changes.items():
        if isinstance(value, (list, tuple)):
            pairs += [(name, str(item)) for item in value]
        elif value is not None:
            pairs.append((name, str(value)))
    return request.url.path + ("?" + urlencode(pairs) if pairs else "")


def query_string(settings: Mapping[str, Any]) -> str:
    return urlencode({name: str(value) for name, value in settings.items() if value is not None})


def texts_address(id: str, place: int, source: str, value: str | None = None) -> str:
    """The texts of a source behind a value of a result, those with the most of it first."""
    down = None if value is None else "true"
    settings = {"place": place, "source": source, "sort": value, "down": down}
    return f"/compare/result/{id}/texts?{query_string(settings)}"


def text_address(id: str, row: Mapping[str, Any], **order: Any) -> str:
    """One text of a result; `order` says in which list it is, and where."""
    chosen = {name: v for name, v in order.items() if v is not None and v is not False and v != ""}
    query = {"source": row["source"], "text": row["id"], "file": row["file"] or None}
    return f"/compare/result/{id}/text?{query_string({**query, **chosen})}"


def measure_title(name: str) -> str:
    """What people call a measure; its name, where the package that has it is not installed."""
    record = of_result(name)
    return record.title if record else name


def _clean_value(value: Any) -> Any:
    """Control characters, escape codes and marks that turn the direction are made visible."""
    is_plain = isinstance(value, str) and not isinstance(value, Markup)
    return mask_controls(value) if is_plain else value


def _mark_commands(text: str) -> Markup:
    """A message, the commands in it (`in such quotes`) as code."""
    parts = mask_controls(text).split("`")
    if len(parts) % 2 == 0:  # one quote has no partner: it is part of a name, say
        return Markup("{}").format(mask_controls(text))
    marked = (Markup("<code>{}</code>") if n % 2 else Markup("{}") for n in range(len(parts)))
    return Markup("").join(template.format(part) for template, part in zip(marked, parts))


def _shorten(text: str, length: int = 80) -> str:
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def _format_date(moment: str) -> str:
    """15 Nov 2026, 13:29, by the clock of this machine; a script makes it that of the reader's."""
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:
        return moment
    if parsed.utcoffset() is None:
        return f"{parsed.day} {parsed:%b %Y, %H:%M}"
    local = parsed.astimezone()
    date = f"{local.day} {local:%b %Y, %H:%M}"
    return Markup('<time datetime="{}">{}</time>').format(parsed.isoformat(), date)


def make_link(path: str, **parameters: Any) -> str:
    """The address with those parameters that are given."""
    pairs = {n.rstrip("_"): value for n, value in parameters.items() if value not in (None, "")}
    return f"{path}?{urlencode(pairs, doseq=True, errors='replace')}" if pairs else path


def document_link(
    key: str,
    identity: str,
    start: int | None = None,
    end: int | None = None,
    *,
    at: int | None = None,
    **search: Any,
) -> str | None:
    """Where a document is shown, around a place or from `at` on; None if its id fits no address."""
    try:
        identity.encode()
    except UnicodeEncodeError:
        return None
    # The id stands behind the question mark: in a path, browsers would read "../" as a way.
    address = make_link(
        f"/document/{quote(key, safe='')}", id=identity, from_=start, to=end, at=at, **search
    )
    hit = at is None and (start is not None or "q" in search)
    return f"{address}#hit" if hit else address


@cache
def static_files() -> dict[str, bytes]:
    """Everything that may be asked for under /static, read once."""
    folder = files("rote.web").joinpath("static")
    served = [file for file in folder.iterdir() if file.name.rpartition(".")[2] in TYPES]
    by_name = {file.name: file.read_bytes() for file in served}
    # The parts of a report look and work here as they do in the report.
    return by_name | {name: page_file(name).encode() for name in ("report.css", "report.js")}


@cache
def static_version(name: str) -> str:
    if name not in static_files():
        raise UnknownName("static file", name, static_files())
    return blake2b(static_files()[name], digest_size=8).hexdigest()


def static_address(name: str) -> str:
    """The address of a static file; it changes when the file does."""
    return f"/static/{name}?v={static_version(name)}"
