"""Put documents in place of those with the same ids.

INPUT is read and annotated as for `rote index add`. The old documents go and the new ones come in
one step; documents whose ids the index does not hold are added, and how many of each there were
is said. Where all are in the index as they are, nothing changes.

\b
  rote index replace IDX mended.jsonl
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rote.cli._index import UseOptions
from rote.cli.index.add import change_texts, texts_command
from rote.core.progress import Reporter
from rote.corpus import Input, ReadOptions

if TYPE_CHECKING:
    from rote.index.folders.build import IndexChange
    from rote.index.index import Index


def _replace(*where: Any, **how: Any) -> IndexChange:
    from rote.index.folders.maintenance import replace_documents

    return replace_documents(*where, **how)


def index_replace(
    index: str | Path, texts: Input, options: UseOptions, read: ReadOptions, reporter: Reporter
) -> Index:
    return change_texts(_replace, Path(index), texts, options, read, reporter)


command = texts_command(__doc__, _replace)
