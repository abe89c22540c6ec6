"""Models asked about perturbed items: they answer them before and after, asked alike both times;
and a judge says whether items mean the same.

The instructions of the judge are those of Ruzzetti et al. (2026), appendix A.3. By default the
model does not write: which of the two words, *same* or *different*, is the likelier one is its
verdict. An endpoint that gives no log-probabilities is made to write one (`--judge-by writing`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar, Literal

import numpy as np

from rote.core.metric import OptionSet, option
from rote.core.model import Continuation, Decoding, Model, Prompt
from rote.core.progress import Reporter, share_steps
from rote.corpus.items import Item, ItemRecord
from rote.curate.perturb import rewrite_record
from rote.index.grams import Grams
from rote.models.answers import generate_all, score_all
from rote.search.backends import Backend
from rote.studies._evaluation import ANSWER_FIELDS, ModelAnswer, answer_all, answer_record
from rote.studies._items import Floats, Labels, mean_by_number, read_correctness
from rote.studies._popularity_scores import DecileScale, score_popularity

NO_EMBEDDER = "none"


@dataclass(frozen=True, slots=True)
class ItemPairs:
    """Items before and after, one by one; the same number of options each."""

    before: Sequence[Item]
    after: Sequence[Item]

    def texts(self) -> tuple[list[str], list[str]]:
        """All instances, before and after, in the same order."""
        return _instances(self.before), _instances(self.after)

    def mean(self, values: Floats) -> Floats:
        """From instances to items."""
        sizes = [len(item.options) for item in self.before]
        return mean_by_number(np.repeat(np.arange(len(sizes)), sizes), values, len(sizes))

    def right(self, values: Floats) -> Floats:
        """Of each item the value of the instance with the right option; nan where none is."""
        firsts = np.cumsum([0, *(len(item.options) for item in self.before)])
        chosen = np.full(len(self.before), np.nan)
        for number, item in enumerate(self.before):
            if item.answer is not None:
                chosen[number] = values[firsts[number] + item.answer]
        return chosen


def _instances(items: Sequence[Item]) -> list[str]:
    return [text for item in items for text in item.instances()]


def rouge_l(pairs: ItemPairs) -> Floats:
    """ROUGE-L F of each perturbed item with its original, mean over its instances."""
    from rote.measure.reference_scores.rouge import rouge, side_of

    before, after = map(side_of, pairs.texts())
    f_scores = rouge(after, before, threads=1, progress=lambda share: None)["rouge_l"].f
    return pairs.mean(f_scores)


def cosine(pairs: ItemPairs, embedder: str, reporter: Reporter) -> Floats:
    """Cosine of the embeddings of each perturbed item and its original, mean over instances."""
    from rote.annotate import embeddings

    before, after = pairs.texts()
    vectors = embeddings.get(embedder)([*before, *after], reporter).astype(np.float64)
    original, changed = vectors[: len(before)], vectors[len(before) :]
    lengths = np.linalg.norm(original, axis=1) * np.linalg.norm(changed, axis=1)
    products = np.einsum("ij,ij->i", original, changed)
    cosines = np.divide(products, lengths, out=np.full(len(before), np.nan), where=lengths > 0)
    return pairs.mean(cosines)


def bertscore(pairs: ItemPairs, model: str, layer: int | None, reporter: Reporter) -> Floats:
    """BERTScore F of each perturbed item with its original, mean over its instances."""
    from rote.measure.reference_scores.neural import score_bertscore

    before, after = pairs.texts()
    references = [[text] for text in before]
    with reporter.stage("BERTScore", 1.0) as advance:
        progress = share_steps(advance)
        scores = score_bertscore(after, references, model=model, layer=layer, progress=progress)
    return pairs.mean(scores[:, 2])


def pair_popularity(
    pairs: ItemPairs,
    backend: Backend,
    n: int,
    *,
    scale: DecileScale | None,
    max_undefined: float,
    reporter: Reporter,
) -> tuple[Floats, Floats]:
    """IPS of the instances with the right option, before and after.

    The deciles are those of the originals, which the perturbed items do not change.
    """
    before, after = pairs.texts()
    tasks = [item.task for item in pairs.before for _ in item.options]
    first = score_popularity(
        before, tasks, backend, n, scale=scale, max_undefined=max_undefined, reporter=reporter
    )
    second = score_popularity(after, tasks, backend, n, scale=first.scale, reporter=reporter)
    return pairs.right(first.ips), pairs.right(second.ips)


def count_words(words: Sequence[str], backend: Backend, reporter: Reporter) -> Labels:
    """How often each word, or run of words, occurs in the corpus."""
    layer = backend.tokenize(words, reporter)
    grams = Grams(layer.ids, layer.text_ends, layer.vocabulary)
    return np.asarray(backend.counts(grams, reporter), np.int64)


def read_answers(items: Sequence[Item], column: str | None) -> Floats:
    """1 where an item was answered correctly, 0 where not, nan where no field says it."""
    return np.array([read_correctness(item, column) for item in items])


def last_words(items: Sequence[Item]) -> Floats:
    """The log-likelihood of the last word, where an answer of `rote evaluate` tells it."""
    likelihoods = np.full(len(items), np.nan)
    for number, item in enumerate(items):
        logged = item.meta.get("loglikelihoods")
        if len(item.options) == 1 and isinstance(logged, list) and len(logged) == 1:
            likelihoods[number] = float(logged[0])
    return likelihoods


ORIGINAL = "original"
_LOGS, _CHOICES = "lm-eval", "choices"


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """What a model answered before and after, item by item.

    `pos` says what was replaced (`noun,verb`); `before` and `after` are 1, 0 or nan; `words` are
    the log-likelihoods of last words, nan for items with something to choose from.
    """

    source: str
    pos: str
    before: Floats
    after: Floats
    words_before: Floats
    words_after: Floats


@dataclass(frozen=True, slots=True)
class PerturbAnswers:
    """What all models answered, and every answer as a record."""

    changes: tuple[BeforeAfter, ...]
    rows: list[dict[str, Any]]
    signatures: Mapping[str, str]


def ask_models(
    models: Mapping[str, Model],
    records: Sequence[ItemRecord],
    perturbed: Mapping[str, Sequence[ItemRecord]],
    reporter: Reporter,
) -> PerturbAnswers:
    """Every model on the originals, and on the items of each kind of perturbation."""
    answered: list[BeforeAfter] = []
    rows: list[dict[str, Any]] = []
    for name, model in models.items():
        first = answer_all(records, model, reporter, title=f"originals ({name})")
        rows += _answer_rows(first, name, model, ORIGINAL)
        for pos, others in perturbed.items():
            second = answer_all(others, model, reporter, title=f"{pos} perturbed ({name})")
            rows += _answer_rows(second, name, model, pos)
            accuracies = _accuracies(first), _accuracies(second)
            words = _answer_last_words(first), _answer_last_words(second)
            answered.append(BeforeAfter(name, pos, *accuracies, *words))
    signatures = {name: model.signature for name, model in models.items()}
    return PerturbAnswers(tuple(answered), rows, signatures)


def replace_items(records: Sequence[ItemRecord], items: Sequence[Item]) -> list[ItemRecord]:
    """The records with the texts of other items, to be asked as the originals are."""
    replaced = []
    for record, item in zip(records, items):
        form = _CHOICES if record.form == _LOGS else record.form
        replaced.append(ItemRecord(form, rewrite_record(record, item, ANSWER_FIELDS), item))
    return replaced


def _answer_rows(
    answers: Sequence[ModelAnswer], name: str, model: Model, pos: str
) -> Iterator[dict[str, Any]]:
    for answer in answers:
        yield {**answer_record(answer, name, model.signature), "perturbed": pos}


def _accuracies(answers: Sequence[ModelAnswer]) -> Floats:
    return np.array([math.nan if answer.acc is None else float(answer.acc) for answer in answers])


def _answer_last_words(answers: Sequence[ModelAnswer]) -> Floats:
    scored = [answer.question.last_word and answer.why is None for answer in answers]
    return np.array([a.loglikelihoods[0] if s else math.nan for a, s in zip(answers, scored)])


SAME, DIFFERENT = "same", "different"
# Ruzzetti, Zanzotto and Caselli, appendix A.3, word for word: another prompt is another judge.
_SYSTEM = (
    "You are a strict semantic evaluator. Your only task is to determine whether two sentences "
    "express the same meaning. Consider only their meaning, not style. If they convey the same "
    "meaning, output exactly: same. If they do not, output exactly: different. There might be some "
    "unusual words, but this will not affect your judgement negatively, and in this case you "
    "should output same. Synonyms are ok. Do not output anything else."
)
_USER = (
    'Compare the following two sentences:\nSentence A: "{one}" Sentence B: "{other}"\n'
    "Do they convey the same meaning? Respond with only one word: same or different."
)
_WRITTEN = 8
"""Tokens in which the verdict has to be given."""


@dataclass(frozen=True, slots=True)
class JudgeOptions(OptionSet):
    """Who judges, and how many items."""

    SECTION: ClassVar[str] = "A model that judges"
    judge: str | None = option(
        None,
        "Judge model for whether items keep their meaning, with the paper's prompt",
        metavar="M",
    )
    judge_items: int = option(
        50, "Items per task for the judge, drawn with --seed; 0: all", least=0
    )
    judge_by: Literal["likelihood", "writing"] = option(
        "likelihood",
        "The judge's verdict: the likelier of same and different, or the word that it writes",
    )


def judge_prompt(original: str, changed: str) -> str:
    return f"{_SYSTEM}\n\n{_USER.format(one=original.strip(), other=changed.strip())}"


def judge_items(
    pairs: ItemPairs, model: Model, options: JudgeOptions, reporter: Reporter, *, seed: int = 0
) -> Floats:
    """1 where the judge says same, 0 where different; nan where it was not asked or says neither.

    Only items that changed are judged, in the instance with the right option.
    """
    places = sample_changed(pairs, options.judge_items, seed)
    texts = []
    for n in places:
        both = (item.instances()[item.answer or 0] for item in (pairs.before[n], pairs.after[n]))
        texts.append(judge_prompt(*both))
    judge = _judge_by_likelihood if options.judge_by == "likelihood" else _judge_by_writing
    same = np.full(len(pairs.before), math.nan)
    same[places] = judge(texts, model, reporter)
    return same


def sample_changed(pairs: ItemPairs, size: int, seed: int) -> list[int]:
    """So many of the changed items of each task; which ones depends on seed and ids alone."""
    by_task: dict[str, list[tuple[bytes, int]]] = {}
    for number, (original, changed) in enumerate(zip(pairs.before, pairs.after)):
        if original.instances() != changed.instances():
            key = f"{seed}\0{original.task}\0{original.id}".encode("utf-8", "surrogatepass")
            entry = blake2b(key, digest_size=8).digest(), number
            by_task.setdefault(original.task, []).append(entry)
    return sorted(
        number
        for task_items in by_task.values()
        for _, number in sorted(task_items)[: size or len(task_items)]
    )


def _judge_by_likelihood(texts: Sequence[str], model: Model, reporter: Reporter) -> list[float]:
    wanted = [Continuation(text, f"\n{word}") for text in texts for word in (SAME, DIFFERENT)]
    scores = iter(score_all(model, wanted, reporter, title="judging"))
    return [float(next(scores).total >= next(scores).total) for _ in texts]


def _judge_by_writing(texts: Sequence[str], model: Model, reporter: Reporter) -> list[float]:
    decoding = Decoding(max_tokens=_WRITTEN)
    answers = generate_all(
        model, [Prompt(f"{text}\n") for text in texts], decoding, reporter, title="judging"
    )
    return [parse_verdict(answer.text) for answer in answers]


def parse_verdict(answer: str) -> float:
    """What a written answer means: its first word."""
    first = (answer.split() or [""])[0].strip("\"'*.:,!").lower()
    return {SAME: 1.0, DIFFERENT: 0.0}.get(first, math.nan)
