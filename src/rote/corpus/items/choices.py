"""Items of any other test: `context`, `options`, `answer` (from 0 on), perhaps `task`, `ending`.

The context is put before an option as it is: its last character is the space between them. `answer`
may also be the text of the right option.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rote.corpus.items._read import Item, Source, choice, others, text

FIELDS = frozenset(("context", "options"))
_USED = (*FIELDS, "id", "task", "answer", "ending")


def item(record: Mapping[str, Any], number: int, source: Source) -> Item:
    options = record["options"]
    if not (isinstance(options, list) and options and all(isinstance(o, str) for o in options)):
        raise ValueError("the field 'options' is no list of texts")
    if isinstance(said := record.get("answer"), str) and said in options:
        answer: int | None = options.index(said)
    else:
        answer = choice(record, "answer", first=0, options=len(options))
    return Item(
        id=str(record.get("id", f"{source.name}:{number}")),
        task=str(record.get("task", source.name.split(".")[0])),
        context=text(record, "context"),
        options=tuple(options),
        answer=answer,
        ending=text(record, "ending") if "ending" in record else "",
        meta=others(record, _USED),
    )
