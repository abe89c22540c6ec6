"""What measures are called in a report, and in a line what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rote.core.record import Section
from rote.core.registry import of_result
from rote.core.result import Result


def title(result: Result) -> str:
    name = result.measure.replace("-", " ")
    record = of_result(result.measure)
    if record is None:
        return name[:1].upper() + name[1:]
    return _said(record.heading, result) or record.title


def says(result: Result) -> str:
    record = of_result(result.measure)
    return _said(record.says, result) if record else ""


def section(result: Result) -> Section:
    record = of_result(result.measure)
    return record.section if record else "others"


def _said(words: str | Callable[[Mapping[str, str]], str], result: Result) -> str:
    return words if isinstance(words, str) else words(dict(result.signature.settings))
