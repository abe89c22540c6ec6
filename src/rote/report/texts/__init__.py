"""Pages that need nothing else: one file, no network, one script that is known by its hash."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


def page_environment(package: str, **settings: Any) -> Environment:
    """The templates in the folder `pages` of a package; whatever they print is escaped."""
    from jinja2 import Environment, PackageLoader

    settings |= {"loader": PackageLoader(package, "pages"), "autoescape": True}
    return Environment(trim_blocks=True, lstrip_blocks=True, **settings)


def render_page(name: str, **values: Any) -> str:
    """The page `name` of this room, with what is shown in it and its script."""
    from markupsafe import Markup

    script = files(__name__).joinpath("pages", name.replace(".html", ".js")).read_text("utf-8")
    page = page_environment(__name__).get_template(name)
    return page.render(script=Markup(script), script_hash=content_hash(script), **values)


def content_hash(text: str) -> str:
    """By which a page's policy knows its own script and style."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
