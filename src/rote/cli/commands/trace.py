"""Find where a text comes from: its spans in a corpus, word for word or nearly, with sources."""

from __future__ import annotations

from pathlib import Path

from rote.cli._output import Listing, Output, deliver_rows
from rote.cli._record import Further, Invocation, record_command
from rote.core.result import Result


def finish(result: Result, invocation: Invocation) -> None:
    from rote.report.texts import trace as shown
    from rote.studies.trace import COLUMNS

    names = ", ".join(Path(name).name for name in invocation.files)
    title = f"{names} against {Path(result.about['corpus']).name}"
    about = {k: v for k, v in result.to_dict().items() if k not in ("schema", result.listing)}
    deliver_rows(
        Listing(result.listing, result.tables[result.listing], COLUMNS, about),
        lambda console: shown.print_trace(result.detail, console),
        invocation.output,
        page=lambda: shown.trace_page(result.detail, title),
    )


command = record_command("trace", Further(finish=finish, output=Output, page=True))
