"""One self-contained page: the whole picture, to be sent to a colleague.

It needs no network and asks for none: the policy in its head allows our own style and script, by
their hashes, and pictures that are in the page; nothing else, so that nothing from the data acts.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from markupsafe import Markup

from rote.report.whole import fragments
from rote.report.whole._blocks import Part
from rote.report.whole.parts import parts
from rote.report.whole.parts.about import lead, made
from rote.report.whole.study import Study


def html_page(study: Study) -> str:
    """The study as one page."""
    return of_parts(study, parts(study))


def of_parts(study: Study, shown: Sequence[Part]) -> str:
    """The same of parts that were made already."""
    style, script = fragments.style(), fragments.script()
    page = fragments.environment().get_template("report.html")
    written = page.render(
        study=study,
        lead=lead(study),
        made=made(study),
        sections=fragments.sections_of(shown),
        # Markup: our own files, which the hashes below stand for.
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script),
    )
    return str(written)


def policy(style: str, script: str) -> str:
    """What the page may do."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src 'sha256-{_hash(style)}'",
            f"script-src 'sha256-{_hash(script)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
