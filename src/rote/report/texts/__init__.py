"""Pages that need nothing else: one file, no network, one script that is known by its hash."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any


def render_page(name: str, script: str, **values: Any) -> str:
    """The page `name` of this room, with what is shown in it and its script."""
    from jinja2 import Environment, FunctionLoader
    from markupsafe import Markup

    folder = files("rote.report.texts").joinpath("pages")
    environment = Environment(
        loader=FunctionLoader(lambda file: folder.joinpath(file).read_text("utf-8")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = environment.get_template(name)
    return page.render(script=Markup(script), script_hash=digest, **values)
