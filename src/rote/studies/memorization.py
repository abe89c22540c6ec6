"""Measure whether a model recalls texts or test items, and what that explains.

ITEMS are texts, benchmarks, or results of `rote evaluate`. Each is scored by the attacks of the
field: completing its second half (TDE), loss, loss against neighbours, zlib, Min-K%, Min-K%++,
and with --reference-model loss against that model and the error zone.


  rote memorization passages.jsonl --model FOLDER --member member --by repeats --corpus IDX
  rote memorization results.jsonl --model transformers:NAME --neighbours wordnet --by task
  rote memorization book.jsonl --model FOLDER --extraction 0.5 --temperature 0.8 --top-k 40
  rote memorization passages.jsonl --model FOLDER --unprompted 500 --by repeats
  rote memorization passages.jsonl --model step-100,step-1000 --layer pos --frequency repeats

Where it is known what the model was trained on (--member), the scores of members are compared with
those of others; where right answers are known (acc), against the answers (section 6 of Ruzzetti et
al. 2026); with --corpus, against how often an item occurs in the training data. --extraction says
where along a text, and in how many draws, the model writes what follows; --unprompted which
passages it recites when nobody asks for them.

With --layer it is told what the model recalls word for word, and what in the same grammar alone:
given the first --prefix words of each text it goes on by greedy decoding, and the tags of the next
--suffix words are compared with the text's own (Shaib et al. 2024), by how often it saw the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from rote.compare.clusters import number_clusters
from rote.core.errors import OptionError, UnknownName
from rote.core.facets import sort_groups
from rote.core.metric import LONGEST_NGRAM, check_options, handle, is_given, option, unsigned_option
from rote.core.model import Decoding, Model
from rote.core.progress import Reporter
from rote.core.record import Call, Findings, Study
from rote.core.result import Row
from rote.corpus.items import ItemOptions, fingerprint
from rote.models.endpoint.answers import CannotScore
from rote.models.options import ModelOptions
from rote.search.backends import Backend, BackendOptions, open_backend
from rote.studies import _memorization_extraction as extraction
from rote.studies import _memorization_output as output
from rote.studies import _memorization_scores as attacks
from rote.studies import _memorization_style as style
from rote.studies import _memorization_unprompted as unprompted
from rote.studies._items import check_by, items_by_group, read_correctness
from rote.studies._memorization_output import CHARTS, LAYOUT, MemorizationScoring
from rote.studies._memorization_style import STYLE_CHARTS, STYLE_LAYOUT

_METHOD = (
    "Memorization is scored on the instance with the right option: whether its second half is "
    "completed word for word, loss per token, loss less that of neighbours ({neighbours}), loss "
    "per compressed byte, Min-K% and Min-K%++ (k = {k})"
)
_STYLE_METHOD = (
    "A text is memorized word for word where greedy decoding after its first words writes the next "
    "ones (words before and behind the cut: {windows}), in style where it writes words with the "
    "same {layer}"
)
METHOD = "jackknife (means), DeLong (AUC), Wilson (shares); twins are kept together"


@dataclass(frozen=True, slots=True)
class Options:
    """Who is asked, what is scored, and what is known of the items."""

    model: tuple[str, ...] = handle(
        (),
        "Models: a folder, transformers:NAME, openai:URL#NAME, index:FOLDER; NAME=MODEL names a "
        "model",
        "M,...",
        common=True,
    )
    corpus: str | None = handle(
        None,
        "Corpus to count the training data in: an index, or infini-gram:NAME",
        "IDX",
        takes="index",
        common=True,
    )
    reference_model: str | None = handle(
        None,
        "Model to compare with: same tokenizer, not trained on the items, such as an "
        "earlier checkpoint",
        "M",
    )
    neighbours: str = handle(
        "none",
        "Source of neighbours: wordnet, index (words that --corpus has in the same position), "
        "masked:NAME (a masked model, extra lm), none",
        "KIND",
        common=True,
    )
    neighbour_count: int = unsigned_option(10, "Neighbours of each text", most=1_000)
    k: float = option(
        0.2,
        "Share of the least likely tokens, for Min-K% and Min-K%++",
        short="-k",
        above=0,
        most=1,
    )
    n: int = option(
        7,
        "Tokens in an n-gram, for the frequency in --corpus",
        short="-n",
        least=1,
        most=LONGEST_NGRAM,
    )
    correct: str | None = option(
        None,
        "Field with whether an item was answered correctly; acc in results of `rote evaluate`",
        metavar="FIELD",
        sign=lambda name: name or "acc",
    )
    member: str | None = option(
        None,
        "Field with whether the model was trained on an item (true, or how often)",
        metavar="FIELD",
        sign=lambda name: name or "unknown",
        common=True,
    )
    by: tuple[str, ...] = option(
        ("task",), "Fields to group by: task, kind, any other", common=True
    )
    extraction: float | None = unsigned_option(
        None,
        "Slide windows along each text: number of draws needed to write the continuation of a "
        "prefix at least once with this probability, such as 0.5",
        metavar="P",
        above=0,
        below=1,
        common=True,
    )
    near: int = unsigned_option(
        0,
        "Maximum edits for a near match; with --extraction, gives a lower bound of its probability",
        least=0,
        most=100,
    )
    beams: int = unsigned_option(16, "Beam width of --near", least=1, most=1_000)
    samples: int = unsigned_option(
        0,
        "Draw this many texts after each window's prefix: the best match, n-grams (-n) covered",
        least=0,
        most=10_000,
    )
    unprompted: str | None = unsigned_option(
        None,
        "Draw this many texts that begin with nothing, or take those of a file: which of the "
        "passages they recite",
        metavar="N|FILE",
        opened=True,
        takes="items",
    )
    run: int = unsigned_option(
        10,
        "Minimum length of a recitation, in words, with --unprompted",
        least=2,
        most=LONGEST_NGRAM,
    )
    tokens: int = unsigned_option(
        128, "Tokens of each text that --unprompted draws", least=1, most=100_000
    )
    prefix: int = unsigned_option(50, "Prefix length of a window, in words", least=1, most=10_000)
    suffix: int = unsigned_option(
        50, "Suffix length of a window, in words: what the model must write", least=1, most=10_000
    )
    stride: int = unsigned_option(10, "Step between windows, in words", least=1, most=10_000)
    temperature: float = unsigned_option(
        1.0, "Sampling temperature of --extraction and --samples; 0: greedy", least=0
    )
    top_k: int = unsigned_option(
        0, "Top-k sampling: draw from this many likeliest tokens; 0: all", least=0
    )
    top_p: float = unsigned_option(
        1.0,
        "Nucleus sampling: draw from the likeliest tokens with this probability mass",
        above=0,
        most=1,
    )
    layer: str | None = unsigned_option(
        None,
        "Compare what the model writes in this layer too: pos, upos, ...; memorized word for word, "
        "or in style",
        common=True,
    )
    frequency: str | None = unsigned_option(
        None,
        "With --layer, field that says how often the model saw a text; default: how often its "
        "words occur in --corpus",
        metavar="FIELD",
    )
    sample: int | None = unsigned_option(
        None, "With --layer, take this many texts, drawn by the seed", metavar="N", least=1
    )
    seed: int = option(0, "Random seed of folds, neighbours and draws")
    interval: float = unsigned_option(0.95, "Confidence level of the intervals; 0: no intervals")

    def __post_init__(self) -> None:
        check_options(self)
        check_by(self.by)
        has_texts = (
            self.unprompted is not None and unprompted.count_to_draw(self.unprompted) is None
        )
        if not self.model and not has_texts:
            raise OptionError("no model: name one or more with --model")
        if self.layer is not None:
            _check_style(self)


def _check_style(options: Options) -> None:
    """With a layer there is one question, and its layer is one that can be made."""
    from rote.annotate import annotators

    others = ("extraction", "samples", "unprompted", "reference_model", "member")
    for name in others:
        if getattr(options, name):
            flag = name.replace("_", "-")
            raise OptionError(f"--layer and --{flag} exclude each other: leave one out")
    if options.layer not in annotators.get().gives:
        raise UnknownName("layer", str(options.layer), annotators.get().gives)


def _draw_settings(options: Options) -> dict[str, str]:
    """What the signature says of windows and draws."""
    windows = options.extraction is not None or options.samples
    drawing = Decoding(1, options.temperature, options.top_p, options.top_k)
    settings = {
        "extraction": "" if options.extraction is None else f"{options.extraction:g}",
        "near": f"{options.near}-{options.beams}" if options.near else "",
        "samples": str(options.samples or ""),
        "unprompted": unprompted.unprompted_signature(
            options.unprompted, options.run, options.tokens
        ),
        "windows": f"{options.prefix}-{options.suffix}-{options.stride}" if windows else "",
    }
    settings["drawing"] = drawing.signature.removesuffix("-max1") if any(settings.values()) else ""
    return {name: value for name, value in settings.items() if value}


def run(call: Call) -> Findings:
    """Score every item by every attack; with a layer, what is recalled in words and in style."""
    if call.options.layer is not None:
        return style.run(call)
    from rote.curate.neighbours import neighbour_maker
    from rote.search.open_models import open_model, open_models

    options, reporter = call.options, call.reporter
    if options.unprompted is not None and unprompted.count_to_draw(options.unprompted) is None:
        texts = unprompted.read_texts(options.unprompted, call.of(ItemOptions).read, reporter)
        options = replace(options, unprompted=texts)
    items = [record.item for record in call.inputs]
    # What is wrong with the items is said before a model is asked.
    groups = sort_groups(items_by_group(items, options.by))
    correct = np.array([read_correctness(item, options.correct) for item in items])
    member = np.array(
        [attacks.read_member(item, options.member) if options.member else np.nan for item in items]
    )
    backend = None
    if is_given(options.corpus):
        backend = open_backend(options.corpus, call.of(BackendOptions), reporter)
    near = neighbour_maker(
        options.neighbours, options.neighbour_count, corpus=options.corpus, seed=options.seed
    )
    wanted = None
    if options.extraction is not None or options.samples:
        wanted = extraction.cut_windows(items, options.prefix, options.suffix, options.stride)
    how = call.of(ModelOptions)
    models = open_models(options.model, how, reporter)
    reference = None
    if options.reference_model is not None:
        spec = options.reference_model
        reference = open_model(spec, how, reporter) if isinstance(spec, str) else spec
    scores, silent = {}, []
    for name, model in models.items():
        try:
            scores[name] = attacks.score_attacks(items, model, options.k, near, reporter, reference)
        except CannotScore:
            # What it draws can be looked at all the same.
            draws = options.samples or options.unprompted is not None
            if not draws or options.extraction is not None:
                raise
            scores[name] = attacks.undefined_scores(items)
            silent.append(name)
    windows = drawn = None
    drawing = Decoding(1, options.temperature, options.top_p, options.top_k)
    if wanted is not None and options.extraction is not None:
        bound = (options.near, options.beams)
        windows = extraction.score_windows(
            items, models, wanted, drawing, options.extraction, bound, reporter
        )
    if wanted is not None and options.samples:
        requests = extraction.window_requests(items, wanted)
        drawn = extraction.draw_samples(
            models, requests, drawing, options.samples, options.n, backend, reporter
        )
    right = attacks.instance_numbers(items)[0]
    frequencies = (
        attacks.corpus_frequencies(items, right, backend, options.n, reporter) if backend else None
    )
    names = [(item.base, item.id, *item.instances()) for item in items]
    order = np.empty(len(items), np.int64)
    order[sorted(range(len(items)), key=names.__getitem__)] = np.arange(len(items))
    bases = number_clusters([item.base for item in items])
    known = (scores, correct, member, frequencies, bases, order)
    results = (options, wanted or (), windows, drawn)
    scored = MemorizationScoring(items, groups, *known, *results)
    rows = output.build_tables(scored)
    if options.unprompted is not None:
        rows |= _recitation_tables(scored, models, backend, reporter)
    made_by = options.neighbours if isinstance(options.neighbours, str) else "given"
    return Findings(
        sources=output.source_results(scored),
        values=output.value_rows(scored),
        by=("model", *options.by),
        signed={
            "models": [model.signature for model in models.values()],
            **({"reference_model": reference.signature} if reference is not None else {}),
            "neighbours": f"{made_by}-{options.neighbour_count}" if near else "none",
            "corpus": backend.signature if backend else "none",
            "items": fingerprint(items),
            **_draw_settings(options),
        },
        tables=rows,
        method=METHOD,
        notes=(
            *(
                f"{name} gives no log-probabilities of what it is sent: only its draws are analysed"
                for name in silent
            ),
            *output.notes(scored, rows),
        ),
    )


def _recitation_tables(
    scored: MemorizationScoring,
    models: Mapping[str, Model],
    backend: Backend | None,
    reporter: Reporter,
) -> dict[str, list[Row]]:
    """What the models, or the texts that were given, recite of the passages."""
    options = scored.options
    count = unprompted.count_to_draw(options.unprompted)
    drawing = Decoding(options.tokens, options.temperature, options.top_p, options.top_k)
    some = [options.unprompted]
    if count is not None:
        some = unprompted.draw_texts(models, count, drawing, reporter)
    if scored.samples is not None:
        some += unprompted.prefix_texts(scored.samples.texts, [cut.item for cut in scored.cuts])
    corpus = (backend, options.n) if backend is not None else None
    of_items = (scored.items, scored.groups, scored.bases)
    return unprompted.recitation_tables(
        *of_items, some, options.run, options.interval, corpus, reporter
    )


STUDY = Study(
    name="memorization",
    title="Memorization",
    says="What a model has memorized.",
    takes="items",
    metavar="ITEMS...",
    options=Options,
    more=(ItemOptions, BackendOptions, ModelOptions),
    run=run,
    citation="Ruzzetti, Zanzotto and Caselli, Lexical Popularity: Quantifying the Impact of "
    "Pre-training for LLM Performance; " + style.CITATION,
    cited_with={"layer": "Shaib"},
    section="corpus",
    charts=(*CHARTS, *STYLE_CHARTS),
    layout=(*LAYOUT, *STYLE_LAYOUT),
    method=lambda settings: (_STYLE_METHOD if "layer" in settings else _METHOD).format_map(
        settings
    ),
    report=lambda context: (
        context.lacks("model") or {"model": context.model, "corpus": context.corpus}
    ),
)
