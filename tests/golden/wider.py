"""Further questions: options that add tables, columns, sentences or files to what is shown."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rote.corpus import open_corpus
from tests.cli.calls import HUMAN, NAMES, World
from tests.cli.test_perturb import PAIRS
from tests.golden.shell import Sections, drawn, forms, remarks, written

BOTH = ("text", "json")
ANSWERS = ("example:answers", "--by", "source", "--reference", "plain", "-q")
FEW = ("--permutations", "19")
SAME = [
    {"id": "l1", "context": "He bought the automobile. He liked his", "target": "hat"},
    {"id": "l2", "context": "She purchased the automobile. She wore her", "target": "hat"},
]


def tasks(world: World) -> str:
    """The bundled answers as two tasks, with a score and a document of each."""
    rows = [
        {
            "id": one.id,
            "text": one.text,
            **one.meta,
            "score": (n * 7) % 5,
            "task": "things" if str(one.meta["doc_id"]).startswith("a ") else "ideas",
        }
        for n, one in enumerate(open_corpus(["example:answers"]))
    ]
    return world.lines("tasks.jsonl", rows)


def lexical(world: World) -> Sections:
    given = (tasks(world), "-q", *FEW)
    by_task = ("--by", "task,source", "--reference", "plain")
    return {
        **forms("lexical", *given, *by_task, "--no-matched"),
        **forms("lexical", *given, "--by", "source", "--per-text", only=["text", "csv"]),
        **forms("lexical", *given, "--within", "task", "--by", "source", only=["text", "json"]),
        **forms("lexical", *ANSWERS, "--variant", "paper", "--permutations", "0", only=["text"]),
        **forms("lexical", *ANSWERS, "--interval", "0.9", *FEW, only=["text"]),
        **remarks("lexical", *ANSWERS[:-1], *FEW),
    }


def self_repetition(world: World) -> Sections:
    return drawn("self-repetition", *ANSWERS, *FEW) | forms(
        *("self-repetition", *ANSWERS, *FEW), only=["json", "csv", "latex"]
    )


def diversity(world: World) -> Sections:
    by_task = ("--by", "task,source", "--reference", "plain", "--no-matched")
    return forms("diversity", tasks(world), "-q", "--permutations", "0", *by_task, only=["text"])


def compression(world: World) -> Sections:
    codecs = ("--codecs", "gzip,xz,zstd", "--layer", "pos", "--permutations", "9", "--no-matched")
    return forms("compression", *ANSWERS, *codecs, only=["text"])


def syntactic(world: World) -> Sections:
    return forms("syntactic", *ANSWERS, *FEW, "--per-text", only=BOTH)


def homogenization(world: World) -> Sections:
    return forms("homogenization", *ANSWERS, "--permutations", "9", "--per-text", only=BOTH)


def score(world: World) -> Sections:
    more = (
        "--scores",
        "rouge",
        "--reference-field",
        "document",
        "--per-text",
        "--by",
        "source",
        "--no-matched",
        "-q",
    )
    return forms("score", world.texts, *more, only=["text", "csv"])


def templates(world: World) -> Sections:
    few = ("--permutations", "0", "--no-matched", "-n", "4", "--top", "10", "--lengths", "4,5")
    marked = ("templates", *ANSWERS, *few, "--highlight", "model-like/a walk")
    asked = ("templates", *ANSWERS, *few, "--corpus", f"small={world.index}")
    asked += ("--model", world.model)
    return {
        **drawn(*asked),
        **forms(*asked, only=["json", "csv", "latex"]),
        **forms("templates", *ANSWERS, *few, "--templates-from", "model-like", only=["text"]),
        **forms(*marked, only=["text"]),
        **written(*marked, path="marked.html"),
        **written("templates", *ANSWERS, *few, to="--write", path="matches.jsonl"),
    }


def keyness(world: World) -> Sections:
    few = ("--min-count", "2", "--min-texts", "2", "--top", "3", "--permutations", "0")
    return forms("keyness", *ANSWERS, "--of", "patterns", *few, only=["text", "json", "latex"])


def overlap(world: World) -> Sections:
    asked = (tasks(world), "--by", "source", "--reference", "plain", "--permutations", "9", "-q")
    more = ("--train", world.texts, "--on", "text", "-n", "2", "--scores", "score", "--no-matched")
    beside = ("--placebo", world.corpus, "--control", "plain", "--normalize-to", "plain")
    return {
        **drawn("overlap", *asked, *more, *beside),
        **forms("overlap", *asked, *more, *beside, only=["json", "csv", "latex"]),
    }


def originality(world: World) -> Sections:
    asked = ("originality", world.texts, "--by", "source", "--corpus", world.index, "-q")
    more = ("--no-matched", "--verdicts", "--relax", "2", "--top", "2")
    return {
        **forms(*asked, *more, only=BOTH),
        **written(*asked, "--no-matched", to="--write", path="passing.jsonl"),
    }


def contamination(world: World) -> Sections:
    asked = ("contamination", world.items, "--corpus", world.corpus, "-n", "2,3", "--no-matched")
    return forms(*asked, "-q", only=["text", "json", "csv"])


def correlate(world: World) -> Sections:
    more = (world.swept, "--values", "all", "--facet", "temperature", "--correction", "bh", "-q")
    return forms("correlate", *more, only=["text", "csv", "latex"])


def factors(world: World) -> Sections:
    asked = ("factors", world.swept, "--values", "all", "--over", "temperature", "-q")
    return {
        **drawn(*asked, "--pair", "1,2"),
        **forms(*asked, "--pair", "1,2", only=["json", "csv", "latex"]),
        **forms(*asked, "--without", NAMES[1], "--order", "2,1", only=["text"]),
    }


def perturb(world: World) -> Sections:
    words, pairs = world.lines("words2.jsonl", SAME), world.lines("pairs.jsonl", PAIRS)
    models = f"{world.model},other={world.model.partition('=')[2]}"
    asked = ("perturb", words, pairs, "--model", models, "-q")
    more = (
        "--judge",
        world.model.partition("=")[2],
        "--judge-items",
        "1",
        "--corpus",
        world.index,
        "-n",
        "2",
    )
    return {
        **drawn(*asked, *more),
        **forms(*asked, *more, only=["json", "csv", "latex"]),
        **written(*asked, to="--write-answers", path="perturbed-answers.jsonl"),
        **written("perturb", words, "-q", to="--write", path="perturbed.jsonl"),
        **written("perturb", words, "-q", to="--log", path="perturbed-log.jsonl"),
    }


def evaluate(world: World) -> Sections:
    models = f"{world.model},other={world.model.partition('=')[2]}"
    asked = ("evaluate", world.items, world.words, "--model", models, "-q")
    return {
        **drawn(*asked),
        **forms(*asked, only=["json", "csv", "latex"]),
        **written(*asked, to="--write", path="evaluated.jsonl"),
    }


@cache
def _more(path: Path, _where: Path) -> World:
    """The same with more items, once for each world, wherever its name leads."""
    (path / "more").mkdir()
    return World(path / "more", times=6)


def popularity(world: World) -> Sections:
    asked = ("popularity", world.items, world.after, "--corpus", world.index, "-n", "2", "-q")
    more = _more(world.path, world.path.absolute())
    answers = ("evaluate", more.items, more.words, "--model", more.model, "-q")
    written(*answers, to="--write", path="answered.jsonl")
    pairs = ("popularity", "answered.jsonl", "--corpus", more.index, "-n", "1", "--pairs", "1")
    return {
        **forms(*pairs, "--by", "kind", "-q", only=["text", "json", "latex"]),
        **forms(*asked, "--correct", "acc", "--variant", "paper", only=BOTH),
        **written(*asked, to="--save-deciles", path="deciles.json"),
    }


def memorization(world: World) -> Sections:
    more = _more(world.path, world.path.absolute())
    asked = ("memorization", more.items, "--model", more.model, "--correct", "acc", "-q")
    words = ("memorization", more.words, "--model", more.model, "--neighbours", "wordnet", "-q")
    sliding = ("--extraction", "0.5", "--prefix", "2", "--suffix", "2", "--stride", "2")
    sliding = (*sliding, "--samples", "2", "-n", "2", "--near", "1")
    unprompted = (
        "memorization",
        more.words,
        "--model",
        more.model,
        "--unprompted",
        "8",
        "--run",
        "2",
    )
    unprompted = (*unprompted, "--tokens", "6", "-q")
    style = ("memorization", world.texts, "--model", world.model, "--corpus", world.index, "-q")
    style = (*style, "--layer", "pos", "--prefix", "4", "--suffix", "3", "--frequency", "doc_id")
    style = (*style, "--by", "source")
    referred = ("--reference-model", more.model.partition("=")[2], "--samples", "2", "-n", "2")
    referred = (*referred, "--prefix", "1", "--suffix", "2", "--stride", "9")
    return {
        **drawn(*asked, "--member", "member"),
        **forms(*asked, "--member", "member", *referred, only=["text"]),
        **forms(*words, only=["json"]),
        **drawn("memorization", more.words, "--model", more.model, *sliding, "-q"),
        **forms(*unprompted, only=["text", "json"]),
        **forms(*style, only=["text", "json", "csv"]),
    }


def trace(world: World) -> Sections:
    asked = ("trace", world.texts, "--corpus", world.index, "--min-words", "4", "--min-bits", "2")
    more = ("--sort", "unlikely", "--limit", "3", "-q")
    return {
        **forms(*asked, *more, only=BOTH),
        **written(*asked, *more, path="trace.html"),
        **remarks(*asked),
    }


def search(world: World) -> Sections:
    asked = ("search", world.index, '[pos="DT"] [lemma="mat" | lemma="tin"]')
    return {
        **forms(*asked, "--show", "pos,lemma", "--sort", "right"),
        **forms("search", world.index, "nothing like this", only=BOTH),
        **forms("search", world.index, "the", "--limit", "1", "--context", "10", only=["text"]),
        **forms("search", world.index, "the", "--by", "author"),
        **forms("search", world.index, "the", "--collocates", "3"),
    }


def count(world: World) -> Sections:
    return {
        **forms("count", world.index, "DT NN", "--layer", "pos", "--items"),
        **forms("count", world.index, "the tin", "--by", "author"),
        **forms("count", world.index, "the tin", "--patterns", "known", only=BOTH),
    }


def top(world: World) -> Sections:
    return forms("top", world.index, "-n", "3", "-k", "4", "--layer", "pos", "--no-examples")


def originals(world: World) -> Sections:
    asked = ("index", "originals", world.index, "--relax", "2", "--shortest", "-q")
    return written(*asked, to="--write", path="fragments.jsonl")


def generate(world: World) -> Sections:
    asked = ("generate", f"prefix:{world.texts}", "--words", "4", "--limit", "3", "--max-tokens")
    model = ("--model", f"{world.model},speaks=index:{world.index}")
    return {
        **written(*asked, "5", *model, "-q", path="continued.jsonl"),
        **remarks(*asked, "5", *model, "-o", "continued2.jsonl"),
    }


def limit(world: World) -> Sections:
    more = ("--max", "4", "--seeds", "1", "--jobs", "1")
    return remarks("limit", world.texts, *more, "-o", "limited2")


def index(world: World) -> Sections:
    return remarks("index", "build", world.texts, "-o", "idx-said", "--layers", "lower,pos")


def report(world: World) -> Sections:
    """With everything that can be given: a corpus, a training set, references, inputs."""
    asked = ("report", world.texts, "--by", "source", "--reference", HUMAN, "--permutations", "9")
    more = (
        "--corpus",
        world.index,
        "--train",
        world.corpus,
        "--no-matched",
        "-q",
        "--examples",
        "1",
    )
    less = ("--measures", "novelty,originality,contamination,overlap,score")
    items = ("report", world.items, "--corpus", world.index, "--permutations", "9", "-q")
    return written(*asked, *more, *less, path="corpus.html") | written(*items, path="items.html")


WIDER = {
    **{
        one.__name__.replace("_", "-"): one
        for one in (
            *(lexical, self_repetition, diversity, compression, syntactic, homogenization, score),
            *(templates, keyness, overlap, originality, contamination, correlate, factors),
            *(perturb, evaluate, popularity, memorization, trace, search),
            *(count, top, generate, limit, index),
        )
    },
    "index-originals": originals,
    "report-of-a-corpus": report,
}
