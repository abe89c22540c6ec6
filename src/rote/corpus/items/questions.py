"""Questions with their answers: `question`, `answer` (a text, or several), perhaps a `passage`.

Records without answers are not known by their fields, but read where the form is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.corpus.items._read import Item, Source, others, text

FIELDS = frozenset(("question", "answer"))
_USED = (*FIELDS, "id", "task")


def item(record: Mapping[str, Any], number: int, source: Source) -> Item:
    answer = record.get("answer", "")
    answers = answer if isinstance(answer, list) else [answer]
    if not answers or not all(isinstance(each, (str, int, float)) for each in answers):
        raise ValueError(f"the field 'answer' holds {answer!r}, not a text or a list of texts")
    return Item(
        id=str(record.get("id", f"{source.name}:{number}")),
        task=str(record.get("task", source.name.split(".")[0])),
        context=text(record, "question").rstrip() + " ",
        options=tuple(map(str, answers)),
        answer=0 if len(answers) == 1 and "answer" in record else None,
        meta=others(record, _USED),
    )
