"""Make a page for judging summaries, blind: what matters, what is covered, what is made up.

TEXTS are summaries (`text`, `source`) with the `document` that they are of; summaries with the same
`doc_id` are judged together, in a random order of each judge's own. The page is one file, opens in
any browser and sends nothing: answers are kept there after every step, so that a judge can stop and
go on, and are downloaded as JSON Lines. Only a file beside it says whose a summary is:

\b
  rote judge page all.jsonl theta-2.jsonl --sample 50 -o page.html
  rote judge agreement ann.jsonl bob.jsonl --key page.key.json
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rote.core.errors import InputError
from rote.core.files import write_atomically
from rote.core.metric import OptionSet, option, unsigned_option
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.core.result import Result
from rote.corpus import ReadOptions
from rote.studies._items import draw_in_order


@dataclass(frozen=True, slots=True)
class Options(OptionSet):
    """What is judged, and where the page goes."""

    SECTION: ClassVar[str] = "Page"
    output: Path = unsigned_option(
        Path("judge.html"), "The page", short="-o", metavar="FILE", writes=(".html",)
    )
    document_field: str = option("document", "Field that holds the document", metavar="FIELD")
    by: str = option("source", "Field with the source of a summary", metavar="FIELD")
    sample: int | None = option(None, "Maximum number of documents, drawn at random", least=1)
    seed: int = option(0, "Random seed of that draw, and of the names of summaries", least=0)


@dataclass(frozen=True, slots=True)
class JudgePage:
    """The page itself, and whose each summary on it is."""

    html: str
    sources: Mapping[str, str]
    documents: int


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """A document, and its summary by each source."""

    document: str
    texts: dict[str, str]


def group_summaries(
    texts: Sequence[Any], document_field: str, by: str
) -> dict[str, JudgedDocument]:
    """Summaries with the same doc_id, which are judged together."""
    items: dict[str, JudgedDocument] = {}
    for summary in texts:
        for name in (document_field, by, "doc_id"):
            if not str(summary.meta.get(name, "")).strip():
                raise InputError(
                    f"'{summary.id}' has none",
                    field=name,
                    remedy="A summary needs its document, its doc_id and whose it is",
                )
        about, source = str(summary.meta["doc_id"]), str(summary.meta[by])
        document = str(summary.meta[document_field])
        item = items.setdefault(about, JudgedDocument(document, {}))
        if item.document != document:
            raise InputError(f"'{about}' has two different documents", field="doc_id")
        if source in item.texts:
            raise InputError(
                f"'{about}' has two summaries of '{source}'", remedy="Give one of each"
            )
        item.texts[source] = summary.text
    return items


def draw_documents(items: Mapping[str, JudgedDocument], sample: int | None, seed: int) -> list[str]:
    """Ids of those that are judged, the same for people and models: all, or so many at random."""
    return draw_in_order(sorted(items), sample, np.random.default_rng(seed))


def build_page(texts: Sequence[Any], options: Options) -> JudgePage:
    """From documents of `corpus`; each has a document, a source and a doc_id."""
    items = group_summaries(texts, options.document_field, options.by)
    names = draw_documents(items, options.sample, options.seed)
    sources: dict[str, str] = {}
    blocks = []
    for about in names:
        summaries = []
        for source, text in items[about].texts.items():
            salt = json.dumps([options.seed, about, source, text]).encode()
            key = hashlib.blake2b(salt, digest_size=5).hexdigest()
            sources[key] = source
            summaries.append({"key": key, "text": text})
        # Sorted by what is drawn from a hash: the page itself does not say whose they are.
        summaries.sort(key=lambda summary: summary["key"])
        blocks.append({"doc_id": about, "document": items[about].document, "summaries": summaries})
    page = hashlib.blake2b(json.dumps(blocks).encode(), digest_size=6).hexdigest()
    # "</script>" in a text would end the data.
    data = json.dumps({"page": page, "items": blocks}, ensure_ascii=False).replace("<", "\\u003c")
    template = (files("rote.studies") / "judge_page.html").read_text("utf-8")
    return JudgePage(template.replace("DATA", data, 1), sources, len(names))


def run(call: Call) -> Findings:
    options: Options = call.options
    page = build_page(list(call.inputs), options)
    key = options.output.with_suffix(".key.json")
    write_atomically(options.output, page.html)
    write_atomically(key, json.dumps({"made_by": "rote judge", "sources": page.sources}, indent=1))
    about = {"file": str(options.output), "key": str(key), "documents": page.documents}
    about["summaries"] = len(page.sources)
    return Findings(signed={"texts": call.inputs.fingerprint[:12]}, about=about)


def _account(result: Result, place: str) -> str:
    about = result.about
    summaries, documents = several(about["summaries"], "summary"), about["documents"]
    whose = f"their sources are in {about['key']}"
    return f"{place}: {summaries} of {several(documents, 'document')}; {whose}"


STUDY = Study(
    name="judge-page",
    title="A page for judges",
    says="A page for judging summaries, blind.",
    takes="texts",
    metavar="TEXTS...",
    options=Options,
    more=(ReadOptions,),
    run=run,
    output="data",
    account=_account,
    citation="Choubey et al. (2023), Lexical Repetitions Lead to Rote Learning, section 6",
)
