"""Something to see at once: the last result is drawn, or a first one made of the bundled texts."""

from __future__ import annotations

import logging
import threading

from rote.core.errors import RoteError
from rote.web.comparing.asked import Comparison, guessed
from rote.web.kept.history import History
from rote.web.opened import Opened
from rote.web.running.jobs import Jobs

_PERMUTATIONS = 99
"""Enough to see what differs; the form has the usual number."""


def begin(opened: Opened, history: History, jobs: Jobs) -> None:
    """Starts the work and does not wait for it.

    The user's own files are not measured unasked: they may be large.
    """
    newest = next(iter(history.entries(limit=1)), None)
    if newest is not None:
        # One that was made on the shell has no pictures yet.
        threading.Thread(target=_draw, args=(history, newest.id), daemon=True).start()
        return
    key = next(iter(opened.files), None)
    if not opened.first or key is None or any(job.open for job in jobs.list()):
        return
    settings = {**guessed([key], opened), "permutations": _PERMUTATIONS}
    comparison = Comparison((key,), settings=settings)
    jobs.start("compare", comparison.title, comparison.to_dict(), files=comparison.files)


def _draw(history: History, id: str) -> None:
    from rote.web.showing.sectioning import sections_of

    try:
        sections_of(history, id)
    except RoteError as error:
        logging.getLogger("rote.web").warning("the last result cannot be drawn: %s", error)
