"""What messages have in common: a number and its noun agree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rote.core.progress import several

ROOT = Path(__file__).resolve().parent.parent / "src/rote"
COUNTED = (
    *("text", "word", "document", "item", "pair", "source", "sentence", "record", "file", "column"),
    *("option", "prompt", "update", "model", "sample", "draw", "time", "character", "token", "row"),
    *(
        "permutation",
        "answer",
        "value",
        "set",
        "segment",
        "id",
        "string",
        "kernel",
        "part",
        "match",
    ),
    *("layer", "group", "test", "facet", "aspect", "bit", "folder", "chapter", "copy", "summary"),
    *("minute", "second", "measure", "dimension", "place", "unit", "level", "task", "entry"),
    *("result", "letter", "piece", "template", "step", "seed", "judge", "field", "line", "query"),
    *("request", "attempt", "package", "phrase", "window", "core", "problem", "setting", "author"),
)
PLURALS = {several(2, noun).split()[1] for noun in COUNTED}
ADJECTIVES = "(?:other|different|further|more|measured|test|edited|million|training|new|shared)"
NEVER_ONE = {
    "cli/commands/annotate.py": {"words / 1000000.0"},  # million words
    "cli/commands/demo.py": {"words"},
    "corpus/_open.py": {"len(names) - 1", "again"},
    "curate/prompts.py": {"count"},
    "curate/corpus_writer.py": {"doing"},  # no number
    "curate/pairs.py": {"count"},
    "core/http.py": {"where"},  # no number
    "index/counts/frequent_ngrams.py": {"least"},
    "index/folders/maintenance.py": {"len(groups)"},
    "index/segments/part.py": {"record.bits"},
    "index/columns/sais.py": {"len(ids)"},
    "index/columns/suffix_sort.py": {"len(ids)"},
    "measure/driver/pipeline.py": {"groups", "most", "most * (most - 1) // 2"},
    "measure/driver/resampling.py": {"values"},
    "measure/_tree_histograms.py": {"nodes"},
    "measure/contamination.py": {"short", "sizes[0]"},
    "measure/homogenization.py": {"most"},
    "measure/lexical.py": {"s['draws']"},
    "measure/originality.py": {"most"},
    "measure/overlap.py": {"draws", "format_number(at_source.values[name], '.2f')"},  # a ratio
    "measure/precision_recall.py": {"options.k"},
    "measure/sameness.py": {"words"},
    "measure/templates.py": {"s['min_count']"},
    "models/answers.py": {"len(places)"},
    "models/backends/numpy.py": {"tokens.size"},
    "models/backends/transformers.py": {"self.limit"},
    "models/llama/gguf.py": {"tokens.size"},
    "models/training/loop.py": {"state.parts"},
    "models/windows.py": {"longest"},
    "report/wording.py": {"counts[-1]"},
    "report/methods.py": {"number", "int(settings['sample'])"},
    "report/builder.py": {"len(names)"},
    "report/sections.py": {"sources"},
    "report/texts/ledger.py": {"bits"},
    "report/texts/trace.py": {"format_number(span.bits, '.0f')"},
    "studies/_memorization_extraction.py": {"row['tries']", "prefix + suffix"},
    "studies/_factors.py": {"'two' if numeric else 'all'"},
    "studies/_perturb_output.py": {"rows[0]['kind']"},
    "studies/_repetition.py": {"training.steps"},
    "studies/_source_table.py": {"format_number(most, '.1f')", "max(sizes)", "rest"},
    "studies/correlate.py": {
        "correlation.MAX_EXACT",
        "correlation.MIN_SOURCES",
        "rows[0]['sources']",
        "len(shared)",
        "max((pair.sources for pair in tested))",
        "len(tested)",
    },
    "studies/factors.py": {"_factors.WIDE"},
    "studies/decontaminate.py": {"settings['min_words']"},
    "studies/generate.py": {"same", "settings", "models", "plan.samples"},
    "web/routes/history.py": {"most"},
    "web/files.py": {"len(text)", "len(document.text)"},
}
"""By file, numbers that are larger where the message is made, and what is no number."""


def hard_coded(path: Path) -> Iterator[tuple[str, int, str]]:
    """Numbers of a file's messages that a plural follows, whatever the number is. After "of" it
    is that of all: 1 of 20 texts."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.JoinedStr):
            continue
        before = ""
        for part, following in zip(node.values, [*node.values[1:], None]):
            if not isinstance(part, ast.FormattedValue):
                before = str(part.value) if isinstance(part, ast.Constant) else ""
                continue
            of = re.search(r"\bof (all |its |the )?$", before)
            before, number = "", ast.unparse(part.value)
            if of or not isinstance(following, ast.Constant):
                continue
            noun = re.match(rf" (?:{ADJECTIVES} )?([a-z]+)\b(?!/)", str(following.value))
            if noun and noun[1] in PLURALS and not number.isupper():
                yield number, part.lineno, noun[1]


def test_no_plural_is_written_behind_a_number_that_may_be_one() -> None:
    found, needed = [], set()
    for path in sorted(ROOT.rglob("*.py")):
        name = str(path.relative_to(ROOT))
        for number, line, noun in hard_coded(path):
            if number in NEVER_ONE.get(name, ()):
                needed.add((name, number))
            else:
                found.append(f"{name}:{line}: {{{number}}} {noun}: use core.progress.several")
    assert not found
    listed = {(name, number) for name, numbers in NEVER_ONE.items() for number in numbers}
    assert listed == needed, "listed, and no longer there"


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (1, "text", "1 text"),
        (0, "text", "0 texts"),
        (2000, "word", "2,000 words"),
        (2, "summary", "2 summaries"),
        (2, "key", "2 keys"),
        (3, "match", "3 matches"),
        (1, "match", "1 match"),
        (2, "test item", "2 test items"),
    ],
)
def test_numbers_and_nouns(number: int, noun: str, said: str) -> None:
    assert several(number, noun) == said
