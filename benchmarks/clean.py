"""Clean data: how many planted test items are found, how fast, and beside whom.

    pip install datatrove==0.10.1 spacy datasketch rensa==0.5.0
    pip install decontaminate==0.3.0.post4      decon, from Python 3.12 on
    python benchmarks/clean.py [TEXTS] [--items FILE,...] [--words 1e6] [--peer-words 2e5]

Half of 600 items of each file (for the peer, an eighth) are planted into documents: verbatim on a
line of their own, as a paragraph, re-wrapped, inside a paragraph, and with some of their words
edited (one third each replaced, removed, added). Recall and precision are over pairs of document
and item; beside datatrove's n-gram filter (12 words) and decon with its defaults, which are asked
for documents alone, over documents. Then near-duplicates: copies with edits, found by `dedup`, by
datasketch's MinHash and by rensa's. Peers run in this process where they are installed, on fewer
words. Seconds are processor seconds of one core; those of `dedup` include reading and tokenizing.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import textwrap
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rote.core.layer import starts_of
from rote.core.progress import Silent
from rote.corpus import open_corpus
from rote.corpus.items import Item, read_items
from rote.curate.corpus_reader import ShardTokenizer, read_corpus
from rote.curate.decontaminate import ItemMatcher, take_sample
from rote.curate.dedup import DedupOptions, DedupTexts, WordNumbers, find_repetitions
from rote.run import get
from rote.search.part_matcher import MatchOptions

TEXTS = Path("../shared/data/novels_en/all-novels.jsonl.zst")
ITEMS = "../shared/data/winogrande/valid.jsonl,../shared/data/lambada/test.jsonl"
FORMS = {
    "verbatim": lambda text, width: f"\n{text}\n",
    "paragraph": lambda text, width: f"\n\n{text}\n\n",
    "re-wrapped": lambda text, width: f"\n{textwrap.fill(text, width)}\n",
    "embedded": lambda text, width: f" {text} ",
}
EDITS = (0.05, 0.1, 0.2)
_BATCH = 200


def documents(source: Path, words: float) -> list[str]:
    """The first texts, so many words of them."""
    found: list[str] = []
    for document in open_corpus(source if source.exists() else ["bible:kjv"]):
        found.append(document.text)
        words -= document.text.count(" ") + 1
        if words <= 0:
            break
    return found


def asked(item: Item) -> str:
    return item.instances()[item.answer or 0]


def edited(text: str, share: float, pool: Sequence[str], rng: random.Random) -> str:
    words = text.split()
    for place in rng.sample(range(len(words)), round(share * len(words))):
        other = rng.choice(pool)
        words[place] = rng.choice((other, "", f"{words[place]} {other}"))
    return " ".join(filter(None, words))


def planted(
    texts: Sequence[str], items: Sequence[Item], form: str, share: float, seed: int
) -> tuple[list[str], set[tuple[int, str]]]:
    """The texts with the items in them, each at a place of its own, and who holds which."""
    rng = random.Random(f"{form} {share} {seed}")
    pool = " ".join(texts[:20]).split()
    places: dict[int, list[tuple[int, Item]]] = {}
    for item in items:
        document = rng.randrange(len(texts))
        cut = texts[document].find(" ", rng.randrange(len(texts[document]) * 9 // 10))
        places.setdefault(document, []).append((max(0, cut), item))
    found, held = list(texts), set()
    for document, own in places.items():
        text = found[document]
        for cut, item in sorted(own, key=lambda each: -each[0]):
            words = edited(asked(item), share, pool, rng) if share else asked(item)
            text = text[:cut] + FORMS[form](words, rng.choice((30, 40, 50))) + text[cut:]
            held.add((document, item.id))
        found[document] = text
    return found, held


def rates(found: set[Any], held: set[Any]) -> str:
    right = len(found & held)
    return f"{right / max(1, len(held)):.3f} / {right / max(1, len(found)):.3f}"


def rote_finds(texts: Sequence[str], items: Sequence[Item], sample: list[str]) -> tuple[Any, float]:
    matcher = ItemMatcher.build(items, MatchOptions(), "ud", sample)
    found, began = set(), time.process_time()
    for first in range(0, len(texts), _BATCH):
        for match in matcher.find(texts[first : first + _BATCH]):
            found.add((first + match.document, items[matcher.items[match.part]].id))
    return found, time.process_time() - began


def datatrove_finds(texts: Sequence[str], items: Sequence[Item]) -> tuple[set[int], float] | None:
    """The documents that its n-gram filter would drop."""
    try:
        from datatrove.data import Document
        from datatrove.pipeline.decont import NGramsDecontConfig, NGramsDecontFilter
        from datatrove.pipeline.decont.n_grams import NGramsDecontIndexer
        from datatrove.utils.hashing import HashConfig
    except ImportError:
        return None
    settings = NGramsDecontConfig(find_query_ngrams=True, hash_config=HashConfig(hash_fc="sha1"))
    with tempfile.TemporaryDirectory() as folder:
        # Its indexer asks for lighteval, which nothing here needs: the hashes are made by its rule.
        indexer = object.__new__(NGramsDecontIndexer)
        keeper = NGramsDecontFilter(folder, settings)
        indexer.config, indexer.tokenizer = settings, keeper.tokenizer
        indexer.hash_func = keeper.hash_func
        hashes = {h for item in items for h in indexer.compute_hashes(asked(item))}
        np.array(list(hashes), dtype=settings.hash_config.np_descr).tofile(
            Path(folder) / "items.index.hashes"
        )
        began = time.process_time()
        found = {
            number
            for number, text in enumerate(texts)
            if keeper.filter(Document(text=text, id=str(number))) is not True
        }
        return found, time.process_time() - began


def decon_finds(texts: Sequence[str], items: Sequence[Item]) -> tuple[set[int], float] | None:
    """The documents that decon finds contaminated, with its own defaults."""
    try:
        import decon
    except ImportError:
        return None
    with tempfile.TemporaryDirectory() as folder:
        names = ("training", "evals", "reports")
        training, evals, reports = (Path(folder) / name for name in names)
        for path in (training, evals):
            path.mkdir()
        lines = [json.dumps({"text": text, "id": str(n)}) for n, text in enumerate(texts)]
        (training / "texts.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        records = [
            {
                "eval_key": "items",
                "eval_instance_index": number,
                "split": "test",
                "question": asked(item),
                "doc_id": number,
                "fingerprint": item.id,
            }
            for number, item in enumerate(items)
        ]
        lines = [json.dumps(record) for record in records]
        (evals / "items.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
        settings = decon.Config(*map(str, (training, evals, reports)), worker_threads=1)
        began = time.process_time()
        decon.detect(settings)
        seconds = time.process_time() - began
        found = set()
        for path in reports.rglob("*.jsonl"):
            for line in path.read_text("utf-8").splitlines():
                found.add(int(json.loads(line)["training_line"]))
        return found, seconds


def near(texts: Sequence[str], share: float, least: float) -> Iterable[str]:
    """Copies with edits among the texts: those found, and the time it took."""
    rng = random.Random(1)
    pool = " ".join(texts[:20]).split()
    both = [*texts, *(edited(text, share, pool, rng) for text in texts)]
    options = DedupOptions(near=least, length=0)
    began = time.process_time()
    corpus = open_corpus({"all": [{"id": str(n), "text": text} for n, text in enumerate(both)]})
    work = ShardTokenizer(None, "lower", "ud", False, folded=True)
    held = read_corpus(corpus, work, engine=get(None, 1), reporter=Silent())
    assert held.folded is not None
    ends = held.folded.text_ends
    found = find_repetitions(
        DedupTexts(
            words=WordNumbers(held.ids, held.ids[:0], held.part_starts, held.words),
            folded=WordNumbers(
                held.folded.ids, held.ids[:0], starts_of(ends), np.diff(ends, prepend=0)
            ),
            gone=np.zeros(len(both), np.bool_),
            vocabulary=held.vocabulary,
            sources=["all"] * len(both),
        ),
        options,
    )
    gone = {number for number in range(len(both)) if found.alike[number] >= 0}
    copies = set(range(len(texts), len(both)))
    yield f"rote {rates(gone, copies)}, {time.process_time() - began:.1f} s"
    runs = [_shingles(text) for text in both]
    for peer in (_datasketch, _rensa):
        began = time.process_time()
        gone_there = peer(runs, least)
        if gone_there is None:
            yield f"{peer.__name__.strip('_')} is not installed"
        else:
            seconds = time.process_time() - began
            yield f"{peer.__name__.strip('_')} {rates(gone_there, copies)}, {seconds:.1f} s"


def _shingles(text: str) -> list[str]:
    """For the peers, whose time does not count cutting them."""
    words = text.lower().split()
    return list({" ".join(words[i : i + 5]) for i in range(len(words) - 4)})


def _datasketch(runs: Sequence[list[str]], least: float) -> set[int] | None:
    try:
        from datasketch import MinHash, MinHashLSH
    except ImportError:
        return None
    table, gone = MinHashLSH(threshold=least, num_perm=128), set()
    for number, own in enumerate(runs):
        signature = MinHash(num_perm=128)
        signature.update_batch([run.encode() for run in own])
        if table.query(signature):
            gone.add(number)
        else:
            table.insert(str(number), signature)
    return gone


def _rensa(runs: Sequence[list[str]], least: float) -> set[int] | None:
    try:
        from rensa import RMinHashDeduplicator
    except ImportError:
        return None
    table = RMinHashDeduplicator(threshold=least, num_perm=128, use_lsh=True)
    kept = table.add_pairs((str(number), own) for number, own in enumerate(runs))
    return {number for number, stays in enumerate(kept) if not stays}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", nargs="?", type=Path, default=TEXTS)
    parser.add_argument("--items", default=ITEMS)
    parser.add_argument("--words", type=float, default=1e6)
    parser.add_argument("--peer-words", type=float, default=2e5)
    options = parser.parse_args()
    texts = documents(options.texts, options.words)
    words = sum(text.count(" ") + 1 for text in texts)
    sample = take_sample(texts, 16_000_000)
    conditions = [*((form, 0.0) for form in FORMS), *(("embedded", share) for share in EDITS)]
    for path in map(Path, options.items.split(",")):
        items = list(read_items([path]))
        random.Random(0).shuffle(items)
        items = items[:600]
        print(f"\n{path.name}, {len(items) // 2} of {len(items)} items in {words:,} words")
        peers = {"datatrove": datatrove_finds, "decon": decon_finds}
        heads = "".join(f" {name}: recall / precision | words/s |" for name in peers)
        print(f"| | recall / precision | words/s |{heads}")
        print("|---|---|---|---|---|---|---|", flush=True)
        few = [text[:3_000] for text in documents(options.texts, 1e6)][
            : int(options.peer_words / 500)
        ]
        for form, share in conditions:
            changed, held = planted(texts, items[: len(items) // 2], form, share, 0)
            found, seconds = rote_finds(changed, items, sample)
            cells = [rates(found, held), f"{words / seconds:,.0f}"]
            changed, held = planted(few, items[: len(items) // 8], form, share, 1)
            size = sum(text.count(" ") + 1 for text in changed)
            for finds in peers.values():
                peer = finds(changed, items)
                if peer:
                    cells += [rates(peer[0], {d for d, _ in held}), f"{size / peer[1]:,.0f}"]
                else:
                    cells += ["not installed", ""]
            name = f"{form}, {share:.0%} of words edited" if share else form
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print("\nnear-duplicates: every text again, with edits; recall / precision")
    few = [text[:4_000] for text in texts[:1_000]]
    for share in (0.01, 0.02, 0.03):
        print(f"{share:.0%} of words edited, from 0.8 on: {'; '.join(near(few, share, 0.8))}")


if __name__ == "__main__":
    main()
