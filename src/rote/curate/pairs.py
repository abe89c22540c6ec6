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

from rote.core.arrays import Flags
from rote.core.errors import InputError, OptionError
from rote.core.json_reader import parse_json
from rote.core.metric import OptionSet, option
from rote.core.progress import Reporter, several
from rote.corpus import Corpus
from rote.corpus.memory import to_rows
from rote.curate.corpus_reader import field_texts, other_fields
from rote.curate.output_folder import MANIFEST, read_manifest

VALIDATION = ("validation", "valid", "dev")
_HELD_OUT = 0.1


@dataclass(frozen=True, slots=True)
class PairOptions(OptionSet):
    """Which fields hold a pair, and which pairs are taken."""

    SECTION: ClassVar[str] = "Pairs"
    document_field: str = option("document", "Field that holds the document", metavar="FIELD")
    reference_field: str = option("reference", "Field that holds its summary", metavar="FIELD")
    split: str = option("train", "Split to use, if records have one", metavar="NAME")


@dataclass(frozen=True, slots=True)
class SubsetOptions(OptionSet):
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
    theta: int = option(0, "For a folder: maximum frequency of an n-gram", least=0, common=True)
    kind: Literal["limited", "random", "most-repeated"] = option(
        "limited", "For a folder: the subset itself, equally many at random, or the most repeated"
    )
    size: int = option(0, "For a folder: its sample of this size; 0: all of it", least=0)


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """A document and its summary; `fields` are all others of the record."""

    id: str
    document: str
    reference: str
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def record(self) -> dict[str, Any]:
        base = {"id": self.id, "text": self.reference}
        return base | self.fields | {"document": self.document, "reference": self.reference}


def read_pairs(corpus: Corpus, options: PairOptions, reporter: Reporter) -> list[TrainingPair]:
    """All pairs in order. Their ids are their doc_ids, where no two have the same."""
    pairs: list[TrainingPair] = []
    names: list[str] = []
    skip = corpus.options.on_error == "skip"
    skipped = 0
    with reporter.stage("reading pairs", corpus.size, unit="B") as advance:
        for shard in corpus.shards():
            batch = shard.read()
            for number, document in enumerate(batch.documents):
                try:
                    reference = field_texts(document.meta, options.reference_field)[0]
                    if not reference.strip():
                        raise InputError("it is empty", field=options.reference_field)
                except InputError as error:
                    if skip:
                        skipped += 1
                        continue
                    error.file, error.line = batch.file, batch.lines[number]
                    error.remedy = "Choose another field with --reference-field, or --on-error skip"
                    raise
                fields = other_fields(document)
                pairs.append(TrainingPair(document.id, document.text, reference, fields))
                names.append(str(document.meta.get("doc_id", document.id)))
            advance(shard.size)
    if skipped:
        reporter.say(f"left out: {several(skipped, 'record')} without a reference")
    if not pairs:
        raise InputError("there are no pairs", remedy="Give records with document and reference")
    if len(set(names)) == len(names):
        pairs = [TrainingPair(n, p.document, p.reference, p.fields) for n, p in zip(names, pairs)]
    for name, count in Counter(pair.id for pair in pairs).most_common(1):
        if count > 1:
            raise InputError(
                f"{count} pairs have the id '{name}'", remedy="Name a field with --id-field"
            )
    return pairs


def select_split(pairs: Sequence[TrainingPair], *names: str) -> list[TrainingPair]:
    """The pairs of some splits; those that name none are all of the first one named `train`."""
    with_split = [pair for pair in pairs if "split" in pair.fields]
    if not with_split:
        return list(pairs) if "train" in names else []
    return [pair for pair in with_split if pair.fields["split"] in names]


def hold_out(pairs: Sequence[TrainingPair]) -> tuple[list[TrainingPair], list[TrainingPair]]:
    """The pairs without a tenth of them, and that tenth, to validate or test on: always the same
    draw."""
    if len(pairs) < 2:
        raise OptionError(
            "a single pair cannot be both trained on and held out: give more pairs, or records "
            f"with a split ('train', '{VALIDATION[0]}', 'test')"
        )
    count = max(1, round(_HELD_OUT * len(pairs)))
    places = set(np.random.default_rng(0).choice(len(pairs), count, replace=False).tolist())
    remaining = [pair for place, pair in enumerate(pairs) if place not in places]
    return remaining, [pairs[place] for place in sorted(places)]


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
        raise OptionError(f"{place} is not a folder of `rote limit`: it has no manifest")
    subsets = read_manifest(place, MADE_BY, FIELDS)["subsets"]
    fit = [
        subset
        for subset in subsets
        if (subset["max"], subset["kind"]) == (options.theta, options.kind)
        and (subset["texts"] == options.size if options.size else not subset["sample"])
    ]
    if files := [subset["file"] for subset in fit if subset["seed"] == seed]:
        return place / str(files[0])
    there = sorted({(subset["max"], subset["kind"], subset["seed"]) for subset in subsets})
    listed = "; ".join(f"theta {a} {b} seed {c}" for a, b, c in there[:12])
    raise OptionError(
        f"{place} contains no subset of theta {options.theta}, kind "
        f"{options.kind}{f', size {options.size}' if options.size else ''} and seed {seed}: it has "
        f"{listed}"
    )


def subset_name(subset: Any) -> str:
    """What a subset is called where results are shown."""
    return subset.name if isinstance(subset, Path) else "all" if subset is None else "given"


def select_subset(pairs: Sequence[TrainingPair], subset: Any) -> list[TrainingPair]:
    """The pairs whose ids a file, or a list, names; all without one."""
    if subset is None:
        return list(pairs)
    wanted = _read_ids(subset)
    known = {pair.id for pair in pairs}
    missing = [name for name in wanted if name not in known]
    if missing:
        raise InputError(
            f"{len(missing):,} of {len(wanted):,} ids are not in the data, such as '{missing[0]}'",
            file=_file_name(subset),
            remedy="Give the data that the subset was made from; name the field of the ids with "
            "--id-field",
        )
    ids = set(wanted)
    return [pair for pair in pairs if pair.id in ids]


def _file_name(subset: Any) -> str:
    return str(subset) if isinstance(subset, Path) else "subset"


def _read_ids(subset: Any) -> list[str]:
    """A line each: an id, or a record that holds one."""
    ids, rows = [], subset
    if isinstance(subset, Path):
        try:
            rows = subset.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "not UTF-8"
            raise InputError(f"the subset cannot be read ({why})", file=str(subset)) from None
    if not isinstance(rows, Sequence):
        raise OptionError(f"subset takes ids or records, not {type(subset).__name__}")
    for number, row in enumerate(rows, 1):
        if isinstance(row, Mapping) or (isinstance(row, str) and row.startswith("{")):
            try:
                record = parse_json(row) if isinstance(row, str) else row
                ids.append(str(record["doc_id"] if "doc_id" in record else record["id"]))
            except (InputError, KeyError):
                raise InputError(
                    "a record without 'id' or 'doc_id'", file=_file_name(subset), line=number
                ) from None
        elif str(row).strip():
            ids.append(str(row).strip())
    if not ids:
        raise InputError("it names no id", file=_file_name(subset))
    return ids


def shares_ngram(texts: Sequence[str], others: Sequence[str], n: int = 4) -> Flags:
    """Which texts hold an n-gram of words that one of the others holds: its neighbours."""
    from rote.annotate import words

    def grams(some: Sequence[str]) -> Iterator[set[tuple[str, ...]]]:
        layer = words.get("ud")(some)
        entries, begin = layer.vocabulary, 0
        for end in layer.text_ends.tolist():
            text_words = [entries[number] for number in layer.ids[begin:end].tolist()]
            yield set(zip(*(text_words[place:] for place in range(n))))
            begin = end

    other_grams = set[tuple[str, ...]]().union(*grams(others))
    return np.fromiter(
        (not other_grams.isdisjoint(text_grams) for text_grams in grams(texts)), bool, len(texts)
    )


def pairs_fingerprint(pairs: Sequence[TrainingPair]) -> str:
    """Of ids, documents and references, in order."""
    digest = blake2b(digest_size=6)
    for pair in pairs:
        digest.update(json.dumps([pair.id, pair.document, pair.reference]).encode())
    return digest.hexdigest()
