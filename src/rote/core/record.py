"""All that is known of a command: one record, in one file, found by the file's name.

`Metric` (core/metric.py) is the record of a measure of texts, with rows and a reduction that the
driver resamples. `Study`, below, is the record of anything else: questions about test items, about
models, about saved results. From the record alone follow the command with its flags, the function
`rote.NAME(...)`, the form in the app, the part of the report, the reference page, and the contract
tests; nothing about it is listed anywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from rote.core.chart import Chart
from rote.core.evidence import Evidence, EvidenceTexts
from rote.core.progress import Reporter, Silent
from rote.core.result import Result, Row, SourceResult
from rote.core.table import Table

Effort: TypeAlias = Literal["light", "medium", "heavy"]
Section: TypeAlias = Literal["diversity", "patterns", "corpus", "references", "items", "others"]
"""The part of a report that a result belongs to."""
SECTIONS: tuple[Section, ...] = get_args(Section)
"""In the order in which they are shown."""
Takes: TypeAlias = Literal["texts", "items", "results", "index", "prompts"]
Options = TypeVar("Options")
_LACKS = {
    "reference": "no reference: name the source to compare with, with --reference",
    "corpus": "no corpus: name an index of texts that these may repeat, with --corpus",
    "train": "no training set: name an index or files of the training texts with --train",
    "model": "no model: name one or more with --model",
}
LINES = (".jsonl", ".ndjson")
"""Endings of files that hold a record in each line, for `option(writes=...)`."""


@dataclass(frozen=True, slots=True)
class Headline:
    """A value in words: `SOURCE more than REFERENCE: title of the value a against b unit`."""

    value: str
    more: str
    less: str
    noun: str = ""
    """The name of its aspect, where that is not the record's title."""
    unit: str = ""
    percent: bool = False
    """A share, written as a percentage."""
    ratio: bool = True
    """Whether a relative difference means something; not so on a logarithmic scale."""
    equal: str = ""
    """The value that is the same at equal length of sentences, where the measure has one."""
    ways: tuple[str, str] | None = None
    """What less and more of it is called on an axis, where it is neither diverse nor repetitive."""
    detail: bool = False
    """Whether it is corrected with the details, beside another value that its aspect rests on."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A section of a report that the results of one record have to themselves."""

    heading: str
    place: int = 100
    """Small numbers first."""
    texts: str = ""
    """The heading of the marked texts that `evidence` yields, and what their marks mean."""
    legend: str = ""
    lead: str = ""
    """What it begins with, in place of what the record `says`."""
    first: Sequence[str] = ()
    """Tables, by name, that stand before the marked texts."""
    folded: str = ""
    """With this heading only figures and tables named in `first` are open; the marked texts, and
    the others below it, are folded."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence of a summary about one value, of one source where it names one."""

    text: str
    value: str
    source: str = ""
    state: str = ""
    """`differs` or `not found`, where it tells of a difference."""
    difference: float = math.nan


@dataclass(frozen=True, slots=True)
class ReportContext:
    """What a report has to offer a measure: the fields of its records, and what was named."""

    fields: Collection[str] = ()
    reference: str | None = None
    corpus: Any = None
    train: Any = None
    sentences: int = 2_000
    embedder: str = ""
    model: Any = ()
    cluster: str = "doc_id"
    """The field that says which texts belong together."""

    def lacks(self, name: Literal["reference", "corpus", "train", "model"]) -> str:
        """Why what needs this is left out; nothing where it is there."""
        return "" if getattr(self, name) else _LACKS[name]

    def lacks_fields(self, *names: str) -> str:
        missing = [f"'{name}'" for name in names if name not in self.fields]
        return f"the records have no field {' and no '.join(missing)}" if missing else ""

    def lacks_prompts(self) -> str:
        """Texts of one author belong together too, and answer no prompt."""
        if self.cluster == "doc_id":
            return self.lacks_fields("doc_id")
        return (
            f"texts with the same '{self.cluster}' (--cluster) need not answer one prompt; if they "
            "do, name this measure with --measures"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What every command has: names and words, options, tables, figures."""

    name: str
    title: str
    options: type
    without: Sequence[str] = ()
    """Fields of its options that are neither flags nor keywords: the library sets them."""
    citation: str = ""
    says: str | Callable[[Mapping[str, str]], str] = ""
    """One sentence for a reader of the report: what the numbers are about. A function gets the
    settings of the signature, where that depends on them."""
    heading: str | Callable[[Mapping[str, str]], str] = ""
    """What it is called, where that depends on the settings and no headline names its aspect."""
    cited_with: Mapping[str, str] = field(default_factory=dict)
    """Settings without which a work of `citation` is not cited, with what the work is known by."""
    section: Section = "others"
    place: int = 100
    """Where it is shown among others of its section: small numbers first, then by name."""
    chapter: Chapter | None = None
    joins: Mapping[str, str] = field(default_factory=dict)
    """Tables with which a result is shown in the chapter of another record, and its name."""
    evidence: Callable[[Result, EvidenceTexts], Iterator[Evidence]] | None = None
    """Texts that show a result, with marks."""
    findings: Callable[[Result, Sequence[str]], Iterator[Finding]] | None = None
    """What a summary says of these sources beside the differences of headlines."""
    circular: tuple[str, str, float] | None = None
    """What texts are compared with, and which value texts have that occur there themselves."""
    usual: bool = False
    """Whether the app's form has it ticked, as it has the panel."""
    layout: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    headlines: Sequence[Headline] = ()
    """The values that a summary speaks of."""
    main: Sequence[str] = ()
    """The values that stand for it in the panel's figure and in `correlate`; default: the first."""
    method: Callable[[Mapping[str, str]], str] | None = None
    """From the settings of a signature, a sentence for the methods of a paper (no full stop)."""
    effort: Effort = "medium"
    panel: Sequence[Mapping[str, Any]] = ()
    """The settings, each a measure of its own, with which it enters `rote diversity`."""
    report: (
        Callable[[ReportContext], Mapping[str, Any] | Sequence[Mapping[str, Any] | str] | str]
        | None
    ) = None
    """Its options in a report that has this to offer (several: it is taken so often, each with its
    own; a text among them says why that part is left out), or the reason why it is left out: none
    where it is no part of reports. Without it a measure of texts is taken with its defaults, and a
    study is not."""
    lesser: Callable[[Any], Any] | None = None
    """For a report, the options of a measure, or the keywords of a study, without the part that
    could not work; None where nothing is left."""

    def aspect(self, headline: Headline) -> str:
        """The name of a headline's aspect, the same in figures, tables, headings and JSON."""
        return headline.noun[:1].upper() + headline.noun[1:] or self.title

    def title_of(self, values: Collection[str], settings: Mapping[str, str]) -> str:
        """What a result with these values is called: by its aspect, if it has one alone."""
        there = [headline for headline in self.headlines if headline.value in values]
        main = [headline for headline in there if not headline.detail] or there
        if len(aspects := {self.aspect(headline) for headline in main}) == 1:
            return aspects.pop()
        heading = self.heading if isinstance(self.heading, str) else self.heading(settings)
        return heading or self.title


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a study: what was given to it, read and built by the driver.

    `inputs` are what `takes` says: a corpus, a list of items, results, an opened index.
    """

    inputs: Any
    options: Any
    more: Mapping[type, Any] = field(default_factory=dict)
    reporter: Reporter = field(default_factory=Silent)

    def of(self, kind: type[Options]) -> Options:
        """The options of one of the kinds that the record shares with others."""
        options: Options = self.more[kind]
        return options


@dataclass(frozen=True, slots=True)
class Findings:
    """What a study found; the driver adds level, fingerprints and signature, and makes the Result.

    `signed` is what the signature says beside the options: models, corpora, fingerprints of the
    data, by name and in order.
    """

    signed: Mapping[str, Any]
    sources: Mapping[str, SourceResult] = field(default_factory=dict)
    values: Sequence[Row] = ()
    """The table `values` of the result: name, title and direction of each."""
    by: tuple[str, ...] = ()
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    method: str = ""
    """How intervals were made; their level is that of the option `interval`."""
    level: float | None = None
    """Where the option leaves it open."""
    reference: str | None = None
    notes: Sequence[str] = ()
    records: Sequence[Row] = ()
    """The data set that was made, for those that make one."""
    about: Mapping[str, Any] = field(default_factory=dict)
    listing: str = ""
    detail: Any = None
    """As in `Result`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study(Record):
    """A command that is no measure of texts.

    `more` are options that it shares with others (how a model runs, how a corpus counts, how files
    are read): the flags, the form and the keywords hold their fields as well.
    """

    takes: Takes
    run: Callable[[Call], Findings]
    more: Sequence[type] = ()
    metavar: str = "FILE..."
    output: Literal["result", "listing", "data"] = "result"
    """What a call gives: values with tables and figures; rows of one table; or a data set, written
    to the option `output`, with an account of it."""
    account: Callable[[Result, str], str] | None = None
    """What the shell says of a data set that was written to this place."""
    ledger: str = ""
    """The file of its folder that lists what was taken out; the shell makes a page of it."""
    saves_result: bool = False
    """Whether its result is kept in its folder; one with a ledger always is."""
