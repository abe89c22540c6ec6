"""One self-contained page: the whole picture, to be sent to a colleague.

It needs no network and asks for none: the policy in its head allows our own style and script, by
their hashes, and pictures that are in the page; nothing else, so that nothing from the data acts.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

from markupsafe import Markup

from rote.report import fragments
from rote.report.blocks import Section
from rote.report.report import Report
from rote.report.sections import sections
from rote.report.sections.about import lead, made


def html_page(study: Report) -> str:
    """The study as one page."""
    return of_sections(study, sections(study))


def of_sections(study: Report, shown: Sequence[Section]) -> str:
    """The same of sections that were made already."""
    style, script = fragments.style(), fragments.script()
    page = fragments.environment().get_template("report.html")
    written = page.render(
        study=study,
        lead=lead(study),
        made=made(study),
        sections=fragments.of_sections(shown),
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
