"""A page on which people judge summaries, blind: what matters, what is covered, what is made up.

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
from rote.core.metric import check_options, option, unsigned
from rote.core.progress import several
from rote.core.record import Call, Findings, Study
from rote.core.result import Result
from rote.corpus import ReadOptions


@dataclass(frozen=True, slots=True)
class Options:
    """What is judged, and where the page goes."""

    SECTION: ClassVar[str] = "Page"
    output: Path = option(
        Path("judge.html"),
        "The page",
        short="-o",
        metavar="FILE",
        writes=(".html",),
        sign=unsigned,
    )
    document_field: str = option("document", "Field that holds the document", metavar="FIELD")
    by: str = option("source", "Field that says whose a summary is", metavar="FIELD")
    sample: int | None = option(None, "At most this many documents, drawn at random", least=1)
    seed: int = option(0, "The seed of that draw, and of the names of summaries", least=0)

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class Page:
    """The page itself, and whose each summary on it is."""

    html: str
    sources: Mapping[str, str]
    documents: int


def page_of(texts: Sequence[Any], options: Options) -> Page:
    """From documents of `corpus`; each has a document, a source and a doc_id."""
    items: dict[str, dict[str, Any]] = {}
    for one in texts:
        for name in (options.document_field, options.by, "doc_id"):
            if not str(one.meta.get(name, "")).strip():
                raise InputError(
                    f"'{one.id}' has none",
                    field=name,
                    remedy="A summary needs its document, its doc_id and whose it is",
                )
        about, source = str(one.meta["doc_id"]), str(one.meta[options.by])
        document = str(one.meta[options.document_field])
        held = items.setdefault(about, {"document": document, "texts": {}})
        if held["document"] != document:
            raise InputError(f"'{about}' has two different documents", field="doc_id")
        if source in held["texts"]:
            raise InputError(
                f"'{about}' has two summaries of '{source}'", remedy="Give one of each"
            )
        held["texts"][source] = one.text
    names = sorted(items)
    if options.sample and options.sample < len(names):
        random = np.random.default_rng(options.seed)
        names = [names[i] for i in sorted(random.choice(len(names), options.sample, replace=False))]
    sources: dict[str, str] = {}
    shown = []
    for about in names:
        own = []
        for source, text in items[about]["texts"].items():
            salt = json.dumps([options.seed, about, source, text]).encode()
            key = hashlib.blake2b(salt, digest_size=5).hexdigest()
            sources[key] = source
            own.append({"key": key, "text": text})
        # Sorted by what is drawn from a hash: the page itself does not say whose they are.
        own.sort(key=lambda one: one["key"])
        shown.append({"doc_id": about, "document": items[about]["document"], "summaries": own})
    page = hashlib.blake2b(json.dumps(shown).encode(), digest_size=6).hexdigest()
    # "</script>" in a text would end the data.
    data = json.dumps({"page": page, "items": shown}, ensure_ascii=False).replace("<", "\\u003c")
    template = (files("rote.studies._judge") / "page.html").read_text("utf-8")
    return Page(template.replace("DATA", data, 1), sources, len(names))


def run(call: Call) -> Findings:
    options: Options = call.options
    page = page_of(list(call.inputs), options)
    key = options.output.with_suffix(".key.json")
    write_atomically(options.output, page.html)
    write_atomically(key, json.dumps({"made_by": "rote judge", "sources": page.sources}, indent=1))
    return Findings(
        signed={"texts": call.inputs.fingerprint[:12]},
        about={
            "file": str(options.output),
            "key": str(key),
            "documents": page.documents,
            "summaries": len(page.sources),
        },
    )


def _account(made: Result, place: str) -> str:
    about = made.about
    return (
        f"{place}: {several(about['summaries'], 'summary')} of "
        f"{several(about['documents'], 'document')}; "
        f"whose they are is in {about['key']}"
    )


STUDY = Study(
    name="judge-page",
    title="A page for judges",
    says="A page on which people judge summaries, blind.",
    takes="texts",
    metavar="TEXTS...",
    options=Options,
    more=(ReadOptions,),
    run=run,
    output="data",
    account=_account,
    citation="Choubey et al. (2023), Lexical Repetitions Lead to Rote Learning, section 6",
)
