"""Ask a model which of two summaries is better, in both orders, and measure what influences it.

TEXTS are summaries (`text`, `source`) with the `document` that they are of, as for `rote judge
page`. Of each document every two summaries are shown to each model twice: A first, then B first.
--write keeps its answers in the form of people's, so that `rote judge agreement` compares the two:

\b
  rote judge model summaries.jsonl --model numpy:FOLDER --write model.jsonl
  rote judge agreement ann.jsonl model.jsonl --key page.key.json

A summary is better where both orders say so. A tie twice is a tie; where the orders contradict each
other the verdict is inconsistent, which counts as neither. An answer that names no text and no tie
is counted and never guessed: its pair has no verdict. Position: how often the text shown first
wins. Length: how often the longer text wins; a judge may be right that it is better.

--instruction FILE asks in other words: a text with {first} and {second} where the summaries stand,
{document} and {question} where those do. The answer is a letter (`A`, `B`, `T`, `Summary A.`,
`tie`), or anywhere a letter in two brackets: `[[A]]`, `[[B]]`, `[[T]]` or `[[C]]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from rote.compare.clusters import number_clusters, share_interval
from rote.compare.correlation import bonett_wright_interval, spearman
from rote.compare.exact_tests import sign_test
from rote.core.errors import InputError, OptionError
from rote.core.metric import check_options, handle, lines_option, option, unsigned_option
from rote.core.model import (
    MESSAGES,
    Chatting,
    Decoding,
    Generated,
    Message,
    Model,
    Prompt,
    chat_form,
)
from rote.core.progress import Reporter, several
from rote.core.record import Call, Findings, Study
from rote.core.result import SourceResult
from rote.core.table import VALUES, Column, FullTable, Table, estimate, make_columns, value_ends
from rote.corpus import ReadOptions
from rote.models.options import ModelOptions
from rote.studies._items import share_cells
from rote.studies.judge_agreement import PLAIN_VALUE, WINS, JudgePair, win_chart, win_row
from rote.studies.judge_page import JudgedDocument, draw_documents, group_summaries

INSTRUCTION = """Here are a document and two summaries of it.

Document:
{document}

Summary A:
{first}

Summary B:
{second}

{question} Answer with one letter: A, B, or T for a tie.
Answer:"""
QUESTIONS = {
    "relevance": "Which summary tells more of what matters in the document?",
    "consistency": "Which summary states fewer facts that the document does not support?",
    "quality": "Which summary is better?",
}
_FIELDS = ("document", "first", "second", "question")
_BRACKETED = re.compile(r"\[\[\s*(A|B|C|T|tie)\s*\]\]", re.IGNORECASE)
# The letter alone: "A summary that ..." is no verdict.
_PLAIN = re.compile(
    r"[\s\"'*(\[]*(?:(?:the )?(?:better )?(?:answer|verdict|summary|text)(?: is)?[\s:*\"'(]*)*"
    r"(?P<letter>(?-i:A|B|T)|tie)[\"'*)\]]*\s*(?:$|[\n.,:;])",
    re.IGNORECASE,
)
_SURE = 0.05
"""Below this p-value an effect of position or length is said in a note."""


@dataclass(frozen=True, slots=True)
class Options:
    """Who judges, what it is asked, and where its answers go."""

    SECTION: ClassVar[str] = "Judge"
    model: tuple[str, ...] = handle(
        (),
        "Judge models, each separately: transformers:NAME, openai-chat:URL#NAME, gguf:FILE; "
        "NAME=MODEL names a model",
        "M1,M2,...",
    )
    of: tuple[str, ...] = option(
        ("relevance", "consistency"), f"What is judged: {', '.join(QUESTIONS)}"
    )
    instruction: str = unsigned_option(
        "",
        "Another question: a file, or a text with {first} and {second} (and {document}, "
        "{question})",
        metavar="FILE",
    )
    chat: bool | None = option(
        None,
        "Ask in the model's chat form, or in plain text; default: the chat form if there is one",
        sign=lambda value: value,
    )
    max_tokens: int = option(8, "Maximum tokens of the answer", least=1, most=65_536)
    document_field: str = option("document", "Field that holds the document", metavar="FIELD")
    by: str = option("source", "Field with the source of a summary", metavar="FIELD")
    sample: int | None = unsigned_option(
        None, "Maximum number of documents, drawn as for the page", least=1
    )
    seed: int = unsigned_option(0, "The seed of that draw", least=0)
    write: Path | None = lines_option(
        None,
        "Write the answers to this file (JSON Lines), for `rote judge agreement`; -o with the "
        "ending .jsonl does the same",
    )
    interval: float = unsigned_option(0.95, "Confidence level of the intervals; 0: no intervals")

    def __post_init__(self) -> None:
        check_options(self)
        if not self.model:
            raise OptionError("no judge: name at least one model with --model")
        for name in self.of or ("",):
            if name not in QUESTIONS:
                raise OptionError(f"--of can be {', '.join(QUESTIONS)}, not '{name}'")


Verdict = Literal["a", "b", "alike", "inconsistent", "unreadable"]


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What a model says of two summaries: its choice with `a` shown first, and with `b` first."""

    judge: str
    doc_id: str
    of: str
    a: str
    b: str
    choices: tuple[str | None, str | None]
    lengths: tuple[int, int]
    """Words of both."""

    @property
    def winners(self) -> list[str | None]:
        """`a`, `b`, `alike` or None by each order."""
        return [
            None if choice is None else dict(zip("ABT", (*names, "alike")))[choice]
            for choice, names in zip(self.choices, ("ab", "ba"))
        ]

    @property
    def verdict(self) -> Verdict:
        first, second = self.winners
        if first is None or second is None:
            return "unreadable"
        verdicts: dict[str, Verdict] = {"a": "a", "b": "b", "alike": "alike"}
        return verdicts[first] if first == second else "inconsistent"

    @property
    def firsts(self) -> list[int]:
        """1 where the text shown first was chosen, -1 where the second was."""
        return [1 if choice == "A" else -1 for choice in self.choices if choice in ("A", "B")]

    @property
    def preference(self) -> float:
        """From -1 (b) to 1 (a): the mean over both orders; nan where one cannot be read."""
        if self.verdict == "unreadable":
            return float("nan")
        return sum({"a": 1, "b": -1}.get(winner or "", 0) for winner in self.winners) / 2


def parse_choice(answer: str) -> str | None:
    """`A`, `B` or `T`; None where an answer names none of them, or several.

    >>> [parse_choice(text) for text in ("A", " **B**.", "Both lack much. [[C]]", "A good one", "")]
    ['A', 'B', 'T', None, None]
    """
    bracketed = {match.group(1)[0].upper() for match in _BRACKETED.finditer(answer)}
    if bracketed:
        letter = bracketed.pop() if len(bracketed) == 1 else None
        return "T" if letter == "C" else letter
    plain = _PLAIN.match(answer)
    return plain["letter"][0].upper() if plain else None


def read_instruction(options: Options) -> str:
    """The question with its braces: the usual one, a text, or that of a file."""
    text = options.instruction
    if not text:
        return INSTRUCTION
    if "{first}" not in text:
        try:
            text = Path(text).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            raise InputError(
                "no instruction: neither a file of UTF-8 nor a text with {first} and {second}",
                file=text,
            ) from None
    missing = [f"{{{name}}}" for name in ("first", "second") if f"{{{name}}}" not in text]
    if missing:
        raise OptionError(f"the instruction lacks {' and '.join(missing)}")
    if "{question}" not in text and len(options.of) > 1:
        raise OptionError(
            "the instruction has no {question}, so it asks one thing: name it by --of, such as "
            "--of quality"
        )
    return text


def write_question(instruction: str, **fields: str) -> str:
    """The instruction with its fields filled in; braces in texts stay as they are."""
    pattern = "|".join(map(re.escape, _FIELDS))
    return re.sub(rf"\{{({pattern})\}}", lambda match: fields[match.group(1)], instruction)


def _check_form(name: str, model: Model, chat: bool | None) -> bool:
    """Whether this model is asked in its chat form."""
    form = chat_form(model)
    if chat and form is None:
        raise OptionError(f"'{name}' has no chat template: leave out --chat")
    if chat is False and form == MESSAGES:
        raise OptionError(f"'{name}' takes messages alone: leave out --no-chat")
    return form is not None and chat is not False


def _ask_judge(
    name: str, model: Model, texts: Sequence[str], options: Options, reporter: Reporter
) -> list[Generated]:
    from rote.models.answers import generate_all
    from rote.models.windows import check_room

    prompts = [Prompt(text) for text in texts]
    if _check_form(name, model, options.chat):
        prompts = [Prompt(text, messages=(Message("user", text),)) for text in texts]
        if isinstance(model, Chatting) and model.limit is not None:
            for prompt in prompts:
                length = model.length(model.render(prompt.messages))
                check_room(prompt.text, length, options.max_tokens, model.limit)
    decoding = Decoding(max_tokens=options.max_tokens)
    return generate_all(model, prompts, decoding, reporter, title=f"judging ({name})")


def judge_pairs(
    documents: Mapping[str, JudgedDocument],
    models: Mapping[str, Model],
    options: Options,
    reporter: Reporter,
) -> tuple[list[PairVerdict], list[dict[str, Any]]]:
    """The verdicts of every model on every two summaries, and the records that tell of them."""
    instruction = read_instruction(options)
    pairs = [
        (about, of, a, b)
        for about, item in documents.items()
        for of in options.of
        for a, b in combinations(sorted(item.texts), 2)
    ]
    if not pairs:
        raise InputError(
            "no document has two summaries to compare", remedy="Give those of several sources"
        )
    texts = [
        write_question(
            instruction,
            document=documents[about].document,
            first=documents[about].texts[first],
            second=documents[about].texts[second],
            question=QUESTIONS[of],
        )
        for about, of, a, b in pairs
        for first, second in ((a, b), (b, a))
    ]
    verdicts, records = [], []
    for name, model in models.items():
        answers = iter(_ask_judge(name, model, texts, options, reporter))
        for about, of, a, b in pairs:
            both = (next(answers).text, next(answers).text)
            sizes = [len(documents[about].texts[source].split()) for source in (a, b)]
            choices = (parse_choice(both[0]), parse_choice(both[1]))
            verdict = PairVerdict(name, about, of, a, b, choices, (sizes[0], sizes[1]))
            verdicts.append(verdict)
            pair = JudgePair(name, about, of, a, b, verdict.verdict)
            records.append({**asdict(pair), "answers": both, "model": model.signature})
    return verdicts, [{"kind": "pair", **record} for record in records]


def position_row(verdicts: Sequence[PairVerdict], level: float) -> dict[str, Any]:
    """How often the text shown first wins. Of one document all answers belong together."""
    firsts = [(verdict.doc_id, first) for verdict in verdicts for first in verdict.firsts]
    won = np.array([float(first > 0) for _, first in firsts])
    readable = [verdict for verdict in verdicts if verdict.verdict != "unreadable"]
    consistent = np.array([float(v.verdict != "inconsistent") for v in readable])
    choices = [choice for verdict in verdicts for choice in verdict.choices]
    documents = [verdict.doc_id for verdict in readable]
    return {
        "answers": len(choices),
        "unreadable": choices.count(None),
        "ties": choices.count("T"),
        **share_cells("first_wins", won, number_clusters([name for name, _ in firsts]), level),
        "p": _sign_test_documents(firsts),
        **share_cells("consistent", consistent, number_clusters(documents), level),
    }


def length_row(verdicts: Sequence[PairVerdict], level: float) -> dict[str, Any]:
    """How often the longer text wins, and how preference goes with length."""
    longer = [
        (v.doc_id, 1 if (v.verdict == "a") == (v.lengths[0] > v.lengths[1]) else -1)
        for v in verdicts
        if v.verdict in ("a", "b") and v.lengths[0] != v.lengths[1]
    ]
    won = np.array([float(sign > 0) for _, sign in longer])
    readable = [verdict for verdict in verdicts if verdict.verdict != "unreadable"]
    more = np.array([v.lengths[0] - v.lengths[1] for v in readable], np.float64)
    liked = np.array([verdict.preference for verdict in readable])
    # Each pair both ways round: which summary is called a says nothing.
    rho = float("nan")
    if len(readable):
        rho = spearman(np.concatenate((more, -more)), np.concatenate((liked, -liked)))
    documents = len({verdict.doc_id for verdict in readable})
    return {
        "pairs": len(longer),
        **share_cells("longer_wins", won, number_clusters([name for name, _ in longer]), level),
        "p": _sign_test_documents(longer),
        **estimate("rho", rho, bonett_wright_interval(rho, documents, level)),
    }


def _sign_test_documents(signs: Sequence[tuple[str, int]]) -> float:
    """The sign test over documents: does one direction prevail in more of them than the other?"""
    sums: dict[str, int] = {}
    for document, sign in signs:
        sums[document] = sums.get(document, 0) + sign
    return sign_test(list(sums.values()))


def _source_result(verdicts: Sequence[PairVerdict], source: str, options: Options) -> SourceResult:
    values, reaches = {}, {}
    judged = [v for v in verdicts if source in (v.a, v.b) and v.verdict != "unreadable"]
    for of in options.of:
        pairs = [verdict for verdict in judged if verdict.of == of]
        if not pairs:
            continue
        won = np.array([float({"a": v.a, "b": v.b}.get(v.verdict) == source) for v in pairs])
        values[of] = float(won.mean())
        documents = number_clusters([verdict.doc_id for verdict in pairs])
        reaches[of] = share_interval(won, documents, options.interval)
    clusters = len({verdict.doc_id for verdict in judged})
    return SourceResult(
        len(judged), 0, values, reaches if options.interval else {}, clusters=clusters
    )


def run(call: Call) -> Findings:
    from rote.search.open_models import open_models

    options: Options = call.options
    instruction = read_instruction(options)  # a slip is noticed before a model is opened
    items = group_summaries(list(call.inputs), options.document_field, options.by)
    documents = {name: items[name] for name in draw_documents(items, options.sample, options.seed)}
    models = open_models(options.model, call.of(ModelOptions), call.reporter)
    verdicts, records = judge_pairs(documents, models, options, call.reporter)
    tables: dict[str, list[dict[str, Any]]] = {"wins": [], "position": [], "length": []}
    for name in models:
        for of in options.of:
            some = [v for v in verdicts if (v.judge, v.of) == (name, of)]
            keys = {"judge": name, "of": of}
            tables["wins"] += [{**keys, **row} for row in _win_rows(some, options.interval)]
            tables["position"].append(keys | position_row(some, options.interval))
            tables["length"].append(keys | length_row(some, options.interval))
    sources = sorted({source for item in documents.values() for source in item.texts})
    questions = "\n".join([instruction, *(QUESTIONS[of] for of in options.of)])
    return Findings(
        sources={source: _source_result(verdicts, source, options) for source in sources},
        values=[{"value": of, "title": f"pairs won in {of}", **PLAIN_VALUE} for of in options.of],
        by=("source",),
        signed={
            "texts": call.inputs.fingerprint[:12],
            "documents": _fingerprint("\n".join(documents)),
            "models": [model.signature for model in models.values()],
            "question": _fingerprint(questions),
        },
        tables=tables,
        method="clusters of documents",
        notes=tuple(_notes(tables)),
        records=records,
    )


def _fingerprint(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _win_rows(verdicts: Sequence[PairVerdict], level: float) -> Iterator[dict[str, Any]]:
    signs = {"a": 1, "b": -1}
    for a, b in sorted({(verdict.a, verdict.b) for verdict in verdicts}):
        pairs = [verdict for verdict in verdicts if (verdict.a, verdict.b) == (a, b)]
        labels = {
            (verdict.judge, verdict.doc_id): signs.get(verdict.verdict, 0)
            for verdict in pairs
            if verdict.verdict != "unreadable"
        }
        if labels:
            contradictions = [verdict.verdict for verdict in pairs].count("inconsistent")
            yield win_row(labels, a, b, level) | {"inconsistent": contradictions}


def _notes(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    for row in tables["position"]:
        who = f"{row['judge']}, {row['of']}"
        if row["unreadable"]:
            yield (
                f"{who}: {row['unreadable']:,} of {several(row['answers'], 'answer')} name no text "
                "and no tie; their pairs have no verdict"
            )
        if row["p"] < _SURE:
            yield (
                f"{who}: the order influences the judge: the text shown first wins "
                f"{row['first_wins']:.0%} of the time"
            )
    for row in tables["length"]:
        if row["p"] < _SURE:
            yield (
                f"{row['judge']}, {row['of']}: the longer text wins {row['longer_wins']:.0%} of "
                f"{several(row['pairs'], 'pair')}; it may be better, or just longer"
            )


STUDY = Study(
    name="judge-model",
    title="Judgement of models",
    says="Which of two summaries a model prefers, and whether order and length influence it.",
    takes="texts",
    metavar="TEXTS...",
    options=Options,
    more=(ModelOptions, ReadOptions),
    run=run,
    section="references",
    citation=(
        "Zheng et al. (2023), Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena; Choubey et "
        "al. (2023), Lexical Repetitions Lead to Rote Learning, section 6"
    ),
    layout=(
        Table(
            VALUES,
            "Systems",
            (
                *make_columns("source texts=judgements:count"),
                *(
                    Column(of, f"{of}: won", "share", ends=value_ends(of), optional=True)
                    for of in QUESTIONS
                ),
            ),
        ),
        FullTable(
            "wins",
            "Better of two",
            (*make_columns("judge"), *WINS, *make_columns("inconsistent:count")),
        ),
        FullTable(
            "position",
            "Position",
            make_columns(
                "judge of answers:count unreadable:count ties:count first_wins:share~ p:p "
                "consistent=same_in_both_orders:share~"
            ),
        ),
        FullTable(
            "length",
            "Length",
            make_columns("judge of pairs:count longer_wins:share~ p:p rho=Spearman's_rho:number~"),
        ),
    ),
    charts=(win_chart("judge", "of"),),
)
