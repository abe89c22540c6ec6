"""List the most frequent n-grams of a layer of an index, exactly.

N-grams do not cross the ends of documents. Those that are equally frequent are in the order of
their items. The example is the text of the first place.

\b
  rote top IDX -n 4
  rote top IDX --layer pos -n 6 -k 50000 -o templates.csv
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rote.cli._flags import command_of
from rote.cli._index import about, check_layers, index_argument, opened, signed
from rote.cli._output import Draw, Listing, Output, deliver_rows
from rote.cli._progress import TerminalReporter
from rote.core.metric import engine_option, option
from rote.core.progress import Reporter
from rote.core.result import Result

if TYPE_CHECKING:
    from rote.index.index import Index


@dataclass(frozen=True, slots=True)
class TopOptions:
    """Which n-grams, and how many of them."""

    SECTION: ClassVar[str] = "What is listed"
    layer: str = option("lower", "Layer whose n-grams are listed")
    n: int = option(1, "Items of an n-gram", short="-n")
    k: int = option(50, "How many n-grams", short="-k")
    examples: bool = option(True, "Show an example of each")
    engine: str | None = engine_option()


def top(index: Index | str | Path, options: TopOptions, reporter: Reporter) -> Result:
    index = opened(index, reporter, options.engine)
    return _answer(index, options, reporter)[0].result("top", **signed(index, options))


@command_of(__doc__, index_argument())
def command(idx: Path, options: TopOptions, output: Output, reporter: TerminalReporter) -> None:
    deliver_rows(*_answer(opened(idx, reporter, options.engine), options, reporter), output)


def _answer(index: Index, options: TopOptions, reporter: Reporter) -> tuple[Listing, Draw]:
    from rote.report.texts.concordance import frequent_table
    from rote.search.rows.counts import FREQUENT_COLUMNS, list_frequent

    check_layers(index, [options.layer])
    if options.examples and options.layer not in index.sorted_layers:
        reporter.say(f"no examples: the layer '{options.layer}' has no sorted positions")
    rows = list_frequent(
        index, options.n, options.k, options.layer, examples=options.examples, reporter=reporter
    )
    header = {**about(index), "layer": options.layer, "n": options.n}
    listing = Listing("ngrams", rows, FREQUENT_COLUMNS, header)
    table = frequent_table(rows) if rows else "no n-grams of this length"
    return listing, lambda console: console.print(table)
