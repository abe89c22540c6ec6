"""The folder of `rote limit`: one JSONL file for each subset, and a manifest that explains them.

The corpus is read twice: once for its words, once to copy records. Everything is written beside
the folder's place, which it gets when it is whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rote import run
from rote.annotate import words
from rote.core.errors import InputError, OptionError
from rote.core.files import check_parent
from rote.core.progress import Reporter, Silent, several
from rote.corpus import Corpus, Problems, map_shards
from rote.curate.folder import manifest_before, new_folder, refuse_other_input, write_manifest
from rote.curate.limit import LimitOptions, Repeats, Subset, choose, repeats
from rote.curate.limit_elsewhere import WORDS, completed, thinning
from rote.curate.reading import Look, Read, Tokenizing, lines_at, look, read

SCHEMA = 1
MADE_BY = "rote limit"
FIELDS = {
    "input": {"fingerprint": str, "texts": int, "largest_frequency": int},
    "subsets": [
        {
            **dict.fromkeys(("file", "kind"), str),
            **dict.fromkeys(("max", "seed", "texts", "words", "bytes"), int),
            "sample": bool,
            "dropped?": {"most_blocking": [{"ngram": str, "texts": int}]},
        }
    ],
}
"""What is read of the manifest."""
# Seconds of one core and bytes for each word, measured on verses of 25 words; to plan by.
_READ, _NUMBERED, _WALKED, _MEMORY = 1e-6, 7e-8, 4e-8, 50
_PROCESS = 250e6


@dataclass(frozen=True, slots=True)
class Made:
    """What a folder holds; `new` is False where it held all of it before."""

    manifest: dict[str, Any]
    problems: Problems
    new: bool


def limit(
    corpus: Corpus,
    folder: Path,
    options: LimitOptions | None = None,
    *,
    jobs: int = 1,
    engine: str | run.Engine | None = None,
    reporter: Reporter | None = None,
) -> Made:
    """Make the subsets; a folder that holds them already is left as it is, any other refused."""
    options, reporter = options or LimitOptions(), reporter or Silent()
    works = run.get(engine, jobs)
    options.check()
    check_parent(folder)
    tokenizer = words.get(options.tokenizer)
    first = look(corpus, options.field, options.tokenizer)
    settings = _settings(options, first.name, tokenizer.signature)
    before = manifest_before(folder, MADE_BY, settings, FIELDS)
    reporter.say(_expected(first, options, works.jobs))
    skip = corpus.options.on_error == "skip"
    work = Tokenizing(first.field, options.layer, options.tokenizer, skip)
    thins = works.remote and before is None
    # How repetitive a text is below all limits matters to one kind of subset alone.
    floor = 1 if options.most_repeated else min(options.max)
    thin = thinning(corpus, work, options.n, floor, works, first.words) if thins else work
    found = read(corpus, thin, engine=works, reporter=reporter)
    if not len(found):
        raise InputError("the input holds no text that can be used")
    if before is not None:
        refuse_other_input(folder, before, found.fingerprint)
        return Made(before, found.problems, new=False)
    if options.sizes and max(options.sizes) > len(found):
        raise OptionError(
            f"--sizes asks for {several(max(options.sizes), 'text')}, and the input has "
            f"{len(found):,}"
        )
    with reporter.stage("numbering n-grams", 1.0) as advance:
        counted = repeats(found, options.n, min(options.max), _steps(advance))
    if thins and floor > 1 and counted.everywhere.max() <= floor:
        # No n-gram is over a limit, and the manifest says how often the most frequent one occurs.
        thin = thinning(corpus, work, options.n, 1, works, first.words)
        found = read(corpus, thin, engine=works, reporter=reporter)
        counted = repeats(found, options.n, min(options.max))
    if thins:
        counted = completed(found, counted)
    with reporter.stage("choosing texts", 1.0) as advance:
        subsets = choose(counted, found.keys, options, threads=jobs, progress=_steps(advance))
    # As large as their share of the input, unless that is packed.
    size = sum(map(len, subsets)) / len(found) * corpus.size
    reporter.say(f"writing {several(len(subsets), 'file')}, about {size / 1e6:,.1f} MB")
    with new_folder(folder) as partial:
        _write(corpus, partial, subsets, found, works, reporter)
        manifest = _manifest(settings, options, found, counted, subsets, partial)
        write_manifest(partial, manifest)
    return Made(manifest, found.problems, new=True)


def _expected(first: Look, options: LimitOptions, jobs: int) -> str:
    """What it will take, for a person to plan by."""
    walks = len(options.max) * options.seeds
    seconds = first.words * (_READ / jobs + _NUMBERED * options.n + _WALKED * walks / jobs)
    memory = _PROCESS * (jobs + (jobs > 1)) + first.words * _MEMORY
    return (
        f"about {several(first.texts, 'text')} and {several(first.words, 'word')} "
        f"(in '{first.name}'): about "
        f"{max(1.0, seconds):,.0f} s and {memory / 1e9:,.1f} GB of memory"
    )


def _steps(advance: Any) -> Any:
    """From shares of the whole to steps."""
    done = 0.0

    def progress(share: float) -> None:
        nonlocal done
        advance(share - done)
        done = share

    return progress


def _settings(options: LimitOptions, field: str, tokenizer: str) -> dict[str, Any]:
    """What the subsets depend on, as the manifest holds it."""
    held = asdict(options) | {"field": field, "tokenizer": tokenizer}
    return {name: list(v) if isinstance(v, tuple) else v for name, v in held.items()}


def _write(
    corpus: Corpus,
    folder: Path,
    subsets: Sequence[Subset],
    found: Read,
    engine: run.Engine,
    reporter: Reporter,
) -> None:
    """Copy the records of all subsets in one pass over the corpus, in the order of the input."""
    anywhere = np.logical_or.reduce([subset.texts for subset in subsets])
    ends = np.cumsum([len(lines) for lines in found.lines])
    places = [slice(end - len(lines), end) for end, lines in zip(ends, found.lines)]

    def wanted(shard: int) -> Any:
        return found.lines[shard][anywhere[places[shard]]]

    with ExitStack() as stack, reporter.stage("writing", corpus.size, unit="B") as advance:
        files = [stack.enter_context((folder / subset.name).open("wb")) for subset in subsets]
        copied = map_shards(lines_at, corpus, engine, given=wanted, doing="writing lines")
        for place, (size, records) in zip(places, copied):
            here = np.flatnonzero(anywhere[place])
            for subset, file in zip(subsets, files):
                taken = np.flatnonzero(subset.texts[place][here])
                file.write(b"".join([records[i] for i in taken.tolist()]))
            advance(size)


def _manifest(
    settings: dict[str, Any],
    options: LimitOptions,
    found: Read,
    counted: Repeats,
    subsets: Sequence[Subset],
    folder: Path,
) -> dict[str, Any]:
    from rote.core.distribution import version

    lengths = np.array(found.beside[WORDS]) if WORDS in found.beside else found.words
    return {
        "schema": SCHEMA,
        "made_by": MADE_BY,
        "rote": version(),
        "settings": settings,
        "input": {
            "fingerprint": found.fingerprint,
            "texts": len(found),
            "words": int(lengths.sum()),
            "shorter_than_n": int(np.count_nonzero(counted.everywhere == 0)),
            "largest_frequency": int(counted.everywhere.max()),
            "skipped": len(found.problems),
        },
        "subsets": [
            {
                "file": subset.name,
                "kind": subset.kind,
                "max": subset.limit,
                "seed": subset.seed,
                "sample": subset.size is not None,
                "texts": len(subset),
                "words": int(lengths[subset.texts].sum()),
                "bytes": (folder / subset.name).stat().st_size,
                **(_dropped(subset, found, counted, options.n) if _explains(subset) else {}),
            }
            for subset in subsets
        ],
    }


def _explains(subset: Subset) -> bool:
    return subset.kind == "limited" and subset.size is None


def _dropped(subset: Subset, found: Read, counted: Repeats, n: int) -> dict[str, Any]:
    """Why texts are not in a limited subset."""
    dropped = len(subset.texts) - len(subset)
    alone = int(np.count_nonzero(counted.inside > subset.limit))

    def spelled(gram: int) -> str:
        place = int(counted.places[gram])
        return " ".join(found.vocabulary[word] for word in found.ids[place : place + n])

    return {
        "dropped": {
            "texts": dropped,
            "over_the_limit_alone": alone,
            "over_the_limit_with_others": dropped - alone,
            "blocking_ngrams": subset.blocking,
            "most_blocking": [
                {
                    "ngram": spelled(gram),
                    "texts": texts,
                    "frequency": int(counted.frequency[gram]),
                }
                for gram, texts in subset.blockers
            ],
        }
    }
