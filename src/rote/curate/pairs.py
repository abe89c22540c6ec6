"""Pairs of document and reference to train on, and the subsets of them that `rote limit` made."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from rote.core.array_types import Flags
from rote.core.errors import InputError, OptionError
from rote.core.json_reader import parse_json
from rote.core.metric import check_options, option
from rote.core.progress import Reporter, several
from rote.corpus import Corpus
from rote.corpus.memory import to_rows
from rote.curate.folder import MANIFEST, read_manifest
from rote.curate.reading import fields_of, texts_in

VALIDATION = ("validation", "valid", "dev")
_HELD_OUT = 0.1


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Which fields hold a pair, and which pairs are taken."""

    SECTION: ClassVar[str] = "Pairs"
    document_field: str = option("document", "Field that holds the document", metavar="FIELD")
    reference_field: str = option("reference", "Field that holds its summary", metavar="FIELD")
    split: str = option("train", "Of records that name a split, those of this one", metavar="NAME")

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class SubsetOptions:
    """A part of the pairs."""

    SECTION: ClassVar[str] = "Subset"
    subset: Path | None = option(
        None,
        "A folder of `rote limit`, or a file of ids or records",
        metavar="PLACE",
        opened=True,
        takes="table",
        common=True,
    )
    theta: int = option(
        0,
        "Of a folder: how often an n-gram may occur",
        least=0,
        common=True,
    )
    kind: Literal["limited", "random", "most-repeated"] = option(
        "limited", "Of a folder: the subset itself, as many at random, or the most repeated"
    )
    size: int = option(0, "Of a folder: the sample of this size inside it; 0: all of it", least=0)

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True)
class Pair:
    """A document and its summary; `fields` are all others of the record."""

    id: str
    document: str
    reference: str
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def record(self) -> dict[str, Any]:
        own = {"id": self.id, "text": self.reference}
        return own | self.fields | {"document": self.document, "reference": self.reference}


def read_pairs(corpus: Corpus, options: PairOptions, reporter: Reporter) -> list[Pair]:
    """All pairs in order. Their ids are their doc_ids, where no two have the same."""
    found: list[Pair] = []
    names: list[str] = []
    skip = corpus.options.on_error == "skip"
    skipped = 0
    with reporter.stage("reading pairs", corpus.size, unit="B") as advance:
        for shard in corpus.shards():
            batch = shard.read()
            for number, document in enumerate(batch.documents):
                try:
                    reference = texts_in(document.meta, options.reference_field)[0]
                    if not reference.strip():
                        raise InputError("it is empty", field=options.reference_field)
                except InputError as error:
                    if skip:
                        skipped += 1
                        continue
                    remedy = "Choose another field with --reference-field, or --on-error skip"
                    raise InputError(
                        error.problem,
                        file=batch.file,
                        line=batch.lines[number],
                        field=options.reference_field,
                        remedy=remedy,
                    ) from None
                found.append(Pair(document.id, document.text, reference, fields_of(document)))
                names.append(str(document.meta.get("doc_id", document.id)))
            advance(shard.size)
    if skipped:
        reporter.say(f"left out: {several(skipped, 'record')} without a reference")
    if not found:
        raise InputError("there are no pairs", remedy="Give records with document and reference")
    if len(set(names)) == len(names):
        found = [Pair(n, p.document, p.reference, p.fields) for n, p in zip(names, found)]
    for name, count in Counter(one.id for one in found).most_common(1):
        if count > 1:
            raise InputError(
                f"{count} pairs have the id '{name}'", remedy="Name a field with --id-field"
            )
    return found


def of_split(pairs: Sequence[Pair], *names: str) -> list[Pair]:
    """The pairs of some splits; those that name none are all of the first one named `train`."""
    named = [one for one in pairs if "split" in one.fields]
    if not named:
        return list(pairs) if "train" in names else []
    return [one for one in named if one.fields["split"] in names]


def hold_out(pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """The pairs without a tenth of them, and that tenth, to validate or test on: always the same
    draw."""
    if len(pairs) < 2:
        raise OptionError(
            "one pair alone cannot be trained on and held out: give more pairs, or records that "
            f"name a split ('train', '{VALIDATION[0]}', 'test')"
        )
    count = max(1, round(_HELD_OUT * len(pairs)))
    places = set(np.random.default_rng(0).choice(len(pairs), count, replace=False).tolist())
    left = [one for place, one in enumerate(pairs) if place not in places]
    return left, [pairs[place] for place in sorted(places)]


def subset_file(options: SubsetOptions, seed: int) -> Any:
    """The file with the ids of a subset; of a folder of `rote limit`, that with this seed. From
    Python also the ids or records themselves."""
    place = options.subset
    if place is None:
        return None
    if not isinstance(place, Path):
        return to_rows(place)
    if not place.exists():
        raise InputError("no such file or folder", file=str(place), remedy="Check the path")
    if not place.is_dir():
        return place
    from rote.curate.limit_folder import FIELDS, MADE_BY

    if not (place / MANIFEST).is_file():
        raise OptionError(f"{place} is no folder of `rote limit`: it has no manifest")
    held = read_manifest(place, MADE_BY, FIELDS)["subsets"]
    fit = [
        one
        for one in held
        if (one["max"], one["kind"]) == (options.theta, options.kind)
        and (one["texts"] == options.size if options.size else not one["sample"])
    ]
    for one in fit:
        if one["seed"] == seed:
            return place / str(one["file"])
    there = sorted({(one["max"], one["kind"], one["seed"]) for one in held})
    listed = "; ".join(f"theta {a} {b} seed {c}" for a, b, c in there[:12])
    raise OptionError(
        f"{place} holds no subset of theta {options.theta}, kind {options.kind}"
        f"{f', size {options.size}' if options.size else ''} and seed {seed}: it has {listed}"
    )


def subset_name(subset: Any) -> str:
    """What a subset is called where results are shown."""
    return subset.name if isinstance(subset, Path) else "all" if subset is None else "given"


def chosen(pairs: Sequence[Pair], subset: Any) -> list[Pair]:
    """The pairs whose ids a file, or a list, names; all without one."""
    if subset is None:
        return list(pairs)
    wanted = _ids(subset)
    known = {one.id for one in pairs}
    missing = [name for name in wanted if name not in known]
    if missing:
        raise InputError(
            f"{len(missing):,} of {len(wanted):,} ids are not in the data, such as '{missing[0]}'",
            file=_file(subset),
            remedy="Give the data that the subset was made of; --id-field names the ids' field",
        )
    held = set(wanted)
    return [one for one in pairs if one.id in held]


def _file(subset: Any) -> str:
    return str(subset) if isinstance(subset, Path) else "subset"


def _lines(subset: Path) -> list[str]:
    try:
        return subset.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise InputError(f"the subset cannot be read ({why})", file=str(subset)) from None


def _ids(subset: Any) -> list[str]:
    """A line each: an id, or a record that holds one."""
    found = []
    rows = _lines(subset) if isinstance(subset, Path) else subset
    if not isinstance(rows, Sequence):
        raise OptionError(f"subset takes ids or records, not {type(subset).__name__}")
    for number, row in enumerate(rows, 1):
        if isinstance(row, Mapping) or (isinstance(row, str) and row.startswith("{")):
            try:
                record = parse_json(row) if isinstance(row, str) else row
                found.append(str(record["doc_id"] if "doc_id" in record else record["id"]))
            except (InputError, KeyError):
                raise InputError(
                    "a record without 'id' or 'doc_id'", file=_file(subset), line=number
                ) from None
        elif str(row).strip():
            found.append(str(row).strip())
    if not found:
        raise InputError("it names no id", file=_file(subset))
    return found


def sharing(texts: Sequence[str], others: Sequence[str], n: int = 4) -> Flags:
    """Which texts hold an n-gram of words that one of the others holds: its neighbours."""
    from rote.annotate import words

    def grams(some: Sequence[str]) -> Iterator[set[tuple[str, ...]]]:
        layer = words.get("ud")(some)
        entries, begin = layer.vocabulary, 0
        for end in layer.text_ends.tolist():
            own = [entries[number] for number in layer.ids[begin:end].tolist()]
            yield set(zip(*(own[place:] for place in range(n))))
            begin = end

    held = set[tuple[str, ...]]().union(*grams(others))
    return np.fromiter((not held.isdisjoint(own) for own in grams(texts)), bool, len(texts))


def fingerprint(pairs: Sequence[Pair]) -> str:
    """Of ids, documents and references, in order."""
    made = blake2b(digest_size=6)
    for one in pairs:
        made.update(json.dumps([one.id, one.document, one.reference]).encode())
    return made.hexdigest()
