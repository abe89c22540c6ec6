"""Texts by language models: prompts times settings times models, into one file.

Every text has its seed in its record and depends on nothing but that, the prompt, the settings and
the model. Answers of models are cached, and the file grows by whole lines: a run that was killed
goes on and ends with the same bytes as one that was not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import product
from pathlib import Path
from typing import Any, Literal

from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.files import check_parent, open_regular
from rote.core.json_reader import parse_json
from rote.core.locked_folder import refuse_links
from rote.core.metric import OptionSet, is_given, option
from rote.core.model import (
    MESSAGES,
    Charging,
    Chatting,
    Decoding,
    Generated,
    Message,
    Model,
    Prompt,
    chat_form,
)
from rote.core.progress import Advance, Reporter
from rote.corpus import open_corpus, read_option
from rote.curate.corpus_reader import json_line
from rote.curate.prompts import GenerationPrompt, PromptOptions
from rote.models.windows import check_room
from rote.search.open_models import NamedModel

_SYSTEM, _USER, _PLAIN = "system", "user", "text"


def decoding_grid(
    temperatures: Sequence[float],
    top_ps: Sequence[float],
    top_ks: Sequence[int],
    constraints: Sequence[float],
    *,
    max_tokens: int,
    stop: Sequence[str] = (),
    beams: int = 1,
) -> list[Decoding]:
    """The settings in the order in which they are given. Greedy decoding draws nothing, so
    settings of draws leave it as it is, and it occurs there once."""
    for name, values in zip(_VARIED, (temperatures, top_ps, top_ks, constraints)):
        if not values:
            raise OptionError(f"--{name.replace('_', '-')} names no value")
    drawn = any(p < 1 for p in top_ps) or any(top_ks) or any(constraints)
    if drawn and not any(temperatures):
        raise OptionError(
            "--top-p, --top-k and --constraint affect sampling, but temperature 0 does not sample: "
            "set one, such as --temperature 1"
        )
    stops = tuple(text.replace(r"\n", "\n").replace(r"\t", "\t") for text in stop)
    by_signature: dict[str, Decoding] = {}
    for temperature, top_p, top_k, constraint in product(temperatures, top_ps, top_ks, constraints):
        if temperature:
            decoding = Decoding(max_tokens, temperature, top_p, top_k, constraint, stops, beams)
        else:
            # Its settings are as if they were not there, but a wrong one is still an error.
            Decoding(max_tokens, 1, top_p, top_k, constraint)
            decoding = Decoding(max_tokens, stop=stops, beams=beams)
        by_signature.setdefault(decoding.signature, decoding)
    return list(by_signature.values())


_VARIED = {"temperature": float, "top_p": float, "top_k": int, "constraint": float}
"""Settings that several values may be given of, in the order of `decoding_grid`."""


def parse_settings(vary: Sequence[str]) -> list[tuple[str, tuple[float, ...]]]:
    """Settings and their values, as --vary writes them.

    >>> parse_settings(["temperature=.5,.7", "top-k=40"])
    [('temperature', (0.5, 0.7)), ('top_k', (40,))]
    """
    settings = []
    for part in (part for text in vary for part in text.split()):
        name, _, values = part.partition("=")
        name = name.replace("-", "_")
        if name not in _VARIED:
            raise UnknownName("setting that can vary", name, _VARIED)
        try:
            settings.append((name, tuple(_VARIED[name](value) for value in values.split(","))))
        except ValueError:
            raise OptionError(
                f"--vary {part}: write numbers, such as {name}=1,2 or temperature=0.5,0.7"
            ) from None
    return settings


def decoding_label(decoding: Decoding) -> str:
    """The settings without what all have in common."""
    return decoding.signature.partition(f"-max{decoding.max_tokens}")[0]


def is_certain(decoding: Decoding) -> bool:
    """Whether every draw would come out the same."""
    return not decoding.sampled or decoding.constraint == 1 or decoding.top_k == 1


Source = Literal["auto", "model", "settings", "both"]


@dataclass(frozen=True, slots=True)
class PlannedText:
    request: GenerationPrompt
    model: NamedModel
    decoding: Decoding
    sample: int
    seed: int
    source: str
    form: str = ""
    """The chat form of the model, "text" where it has one and is sent plain text; "" where it has
    none, or takes messages alone."""
    messages: tuple[Message, ...] = ()

    @property
    def prompt(self) -> Prompt:
        return Prompt(self.request.text, self.seed, self.messages)

    @property
    def id(self) -> str:
        label = decoding_label(self.decoding)
        return f"{self.request.id}/{self.model.name}/{label}/{self.sample}"

    def settled(self, signature: str) -> dict[str, Any]:
        """What is in its record whatever the model writes."""
        decoding = self.decoding
        return {
            "id": self.id,
            "source": self.source,
            "doc_id": self.request.doc_id,
            "prompt": self.request.text,
            **self._conversation(),
            **self.request.fields,
            "model": self.model.name,
            "signature": signature,
            **{name: getattr(decoding, name) for name in (*_VARIED, "max_tokens")},
            **({"stop": list(decoding.stop)} if decoding.stop else {}),
            **({} if decoding.beams == 1 else {"beams": decoding.beams}),
            "sample": self.sample,
            "seed": self.seed,
        }

    def _conversation(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"form": self.form} if self.form else {}
        if self.request.messages:
            turns = self.messages or self.request.messages
            fields["messages"] = [{"role": turn.role, "content": turn.content} for turn in turns]
        elif self.messages and self.messages[0].role == _SYSTEM:
            fields["system"] = self.messages[0].content
        return fields

    def record(self, signature: str, generated: Generated) -> dict[str, Any]:
        settled = self.settled(signature)
        withheld = generated.ended == "filtered" and not generated.text
        return {
            "id": settled.pop("id"),
            # An empty text would be one that the model wrote.
            "text": None if withheld else generated.text,
            **settled,
            "ended": generated.ended,
            "incomplete": generated.ended in ("length", "filtered"),
            "tokens": generated.tokens,
            **({} if generated.sent is None else {"sent": generated.sent}),
        }


@dataclass(frozen=True, slots=True)
class GenerationPlan:
    """Texts that share a model and settings stand together: they are asked for in batches."""

    prompts: Sequence[GenerationPrompt]
    models: Sequence[NamedModel]
    decodings: Sequence[Decoding]
    samples: int
    seed: int
    source: Source
    chat: bool | None = None
    system: str = ""
    forms: Mapping[str, str | None] = field(default_factory=dict)
    """The chat form of each model by its name."""

    def parts(self) -> Iterator[tuple[NamedModel, Decoding, list[PlannedText]]]:
        for model in self.models:
            for decoding in self.decodings:
                yield model, decoding, list(self._part(model, decoding))

    def __len__(self) -> int:
        return len(self.models) * sum(self.texts(decoding) for decoding in self.decodings)

    def texts(self, decoding: Decoding) -> int:
        return len(self.prompts) * self.times(decoding)

    def times(self, decoding: Decoding) -> int:
        """How often a prompt is continued: more than once would be the same where nothing is
        drawn."""
        return 1 if is_certain(decoding) else self.samples

    @property
    def tokens(self) -> int:
        """Tokens that are generated at most."""
        return len(self.models) * sum(self.texts(d) * d.max_tokens for d in self.decodings)

    def _part(self, model: NamedModel, decoding: Decoding) -> Iterator[PlannedText]:
        source, form = self._source(model, decoding), self.forms.get(model.name)
        for request in self.prompts:
            messages = self.conversation(request, form)
            sent_form = "" if form in (None, MESSAGES) else str(form) if messages else _PLAIN
            for sample in range(1, self.times(decoding) + 1):
                seed = _seed(self.seed, request.id, request.text, decoding_label(decoding), sample)
                yield PlannedText(
                    request, model, decoding, sample, seed, source, sent_form, messages
                )

    def conversation(self, request: GenerationPrompt, form: str | None) -> tuple[Message, ...]:
        """What a prompt is in the chat form; nothing where it is sent as plain text. The beginning
        of a text is continued, not answered, unless somebody asks for an answer."""
        wanted = self.chat or (self.chat is None and (not request.continued or bool(self.system)))
        if form is None or not (wanted or form == MESSAGES):
            return ()
        turns = request.messages or (Message(_USER, request.text),)
        if self.system:
            turns = tuple(turn for turn in turns if turn.role != _SYSTEM)
            return (Message(_SYSTEM, self.system), *turns)
        return turns

    def _source(self, model: NamedModel, decoding: Decoding) -> str:
        kind = self.source
        if kind == "auto":
            kind = "both" if len(self.decodings) > 1 else "model"
        parts = {"model": [model.name], "settings": [decoding_label(decoding)]}
        return "|".join(parts.get(kind, [model.name, decoding_label(decoding)]))


def _seed(*parts: object) -> int:
    """Of 31 bits, which every endpoint takes. It does not depend on the model, so that two
    models draw with the same luck."""
    return int.from_bytes(blake2b(json.dumps(parts).encode(), digest_size=4).digest(), "big") >> 1


def describe_difference(line: bytes, wanted: PlannedText, signature: str) -> str | None:
    """None if a line of a file is the record of this text; else what is different."""
    try:
        record = parse_json(line)
    except InputError:
        record = None
    if not isinstance(record, dict):
        return "a line is no record"
    # As it would be written, so that tuples, dates and the like compare.
    settled: Mapping[str, Any] = parse_json(json_line(wanted.settled(signature)))
    # A setting says more than the id, which is made of settings.
    for name, value in sorted(settled.items(), key=lambda entry: entry[0] == "id"):
        if record.get(name) != value:
            return f"'{name}' is {_shorten(record.get(name))}, not {_shorten(value)}"
    missing = [name for name in ("text", "ended", "tokens") if name not in record]
    return f"a record has no '{missing[0]}'" if missing else None


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."


_AT_ONCE = 64
"""Texts between two writings to the file."""


@dataclass(frozen=True, slots=True)
class GenerateOptions(OptionSet):
    """Which texts are made. Several values of a setting make a grid."""

    temperature: tuple[float, ...] = option((0.0,), "Sampling temperatures; 0: greedy decoding")
    top_p: tuple[float, ...] = option(
        (1.0,), "Nucleus sampling: draw from the likeliest tokens with this probability mass"
    )
    top_k: tuple[int, ...] = option(
        (0,), "Top-k sampling: draw from this many likeliest tokens; 0: all"
    )
    constraint: tuple[float, ...] = option(
        (0.0,),
        "Constraining factors c (GOT): with probability 1/c the likeliest token, otherwise a "
        "sampled one; 0: none",
    )
    vary: tuple[str, ...] = option(
        (),
        "Settings to vary one at a time: temperature=0.5,0.7 or top_p=0.8,0.9 (at temperature 1 "
        "if --temperature is 0); repeatable",
        metavar="NAME=VALUE,...",
        repeated=True,
        form=False,
        sign=lambda value: value or None,
    )
    samples: int = option(1, "Samples per prompt and setting (if sampling)", least=1, most=10_000)
    max_tokens: int = option(128, "Maximum tokens per text", most=100_000)
    stop: tuple[str, ...] = option((), r"End before one of these strings (\n is a line's end)")
    beams: int = option(
        1,
        "Beam search with this many beams (encoder-decoders)",
        least=1,
        most=1_000,
    )
    seed: int = option(0, "Random seed; the seed of each text derives from it")
    source: Source = option(
        "auto",
        "Content of the field `source`: the model, the settings, or both (auto: both if there are "
        "several settings)",
    )
    chat: bool | None = option(
        None,
        "Send prompts in the model's chat form, or as plain text; default: the chat form where the "
        "model has a template, and plain text for `start` and `prefix:`",
        sign=lambda value: value,
    )
    system: str = option(
        "", "System text of the chat form", metavar="TEXT", sign=lambda value: value or None
    )
    about: tuple[str, ...] = option(
        (), "Texts to ask every prompt about", metavar="INPUT,...", opened=True, takes="texts"
    )
    instruction: Literal["auto", "before", "after"] = option(
        "auto",
        "Position of the prompt relative to such a text (auto: as in the study of a `set:`, else "
        "after)",
        sign=lambda value: None if value == "auto" else value,
    )
    about_read: tuple[str, ...] = read_option("what prompts are asked of")
    words: int = option(
        50, "Words of a text that `prefix:` and `sample:` take", least=1, most=100_000
    )
    reference_words: int = option(
        0, "Words after them to store as the reference; 0: all", least=0, most=100_000
    )
    limit: int = option(0, "Number of texts per input, from the first on; 0: all", least=0)
    sample: int = option(
        0,
        "Number of texts per input, drawn at random with --seed; 0: all",
        least=0,
        sign=lambda value: value or None,
    )

    def decodings(self) -> list[Decoding]:
        """All combinations of the settings, then those that vary one at a time; each once."""
        settings: dict[str, Sequence[Any]] = {name: getattr(self, name) for name in _VARIED}
        grids = [settings]
        for name, values in parse_settings(self.vary):
            drawn = {} if any(self.temperature) else {"temperature": (1.0,)}
            grids.append({**settings, **drawn, name: values})
        fixed: dict[str, Any] = {"stop": self.stop, "beams": self.beams}
        every = (decoding_grid(*g.values(), max_tokens=self.max_tokens, **fixed) for g in grids)
        by_signature = {d.signature: d for decodings in every for d in decodings}
        return list(by_signature.values())

    def prompts(self) -> PromptOptions:
        about = open_corpus(self.about) if is_given(self.about) else None
        names = ("words", "reference_words", "limit", "seed", "instruction")
        same = {name: getattr(self, name) for name in names}
        return PromptOptions(about, draw=self.sample, **same)


@dataclass(frozen=True, slots=True)
class GeneratedFile:
    """What a run did: how many texts the file holds, and how many of them were there before."""

    texts: int
    before: int


def build_plan(
    prompts: Sequence[GenerationPrompt], models: Sequence[NamedModel], options: GenerateOptions
) -> GenerationPlan:
    names = ("samples", "seed", "source", "chat", "system")
    same = {name: getattr(options, name) for name in names}
    return GenerationPlan(prompts, models, options.decodings(), **same)


def check_plan(plan: GenerationPlan, models: Mapping[str, Model], path: Path) -> int:
    """Refuse, before the long work, what cannot be done; say how many texts are there already."""
    for name, model in models.items():
        for decoding in plan.decodings:
            if decoding.beams > 1 and not getattr(model, "searches", False):
                raise OptionError(f"'{name}' is not an encoder-decoder: only those take --beams")
            model.generate([], decoding)  # a backend refuses what it cannot do
        _check_conversations(plan, name, model)
    signatures = {name: model.signature for name, model in models.items()}
    following = _all_texts(plan)

    def wrong(number: int, line: bytes) -> str | None:
        wanted = next(following)
        return describe_difference(line, wanted, signatures[wanted.model.name])

    return count_lines(path, len(plan), wrong)


def _check_conversations(plan: GenerationPlan, name: str, model: Model) -> None:
    """Refuse what a model cannot be sent: all prompts are looked at before the first is."""
    form = plan.forms[name]
    if form is None and (plan.chat or plan.system):
        flag = "--chat" if plan.chat else "--system"
        raise OptionError(
            f"'{name}' has no chat template, so it does not take {flag}: leave that out, or name "
            "an instruct model"
        )
    if plan.chat is False and (form == MESSAGES or plan.system):
        cause = "--system is a message" if plan.system else f"'{name}' takes messages alone"
        raise OptionError(f"{cause}: leave out --no-chat")
    longest = max(decoding.max_tokens for decoding in plan.decodings)
    for request in plan.prompts:
        messages = plan.conversation(request, form)
        if not messages and len(request.messages) > 1:
            raise OptionError(
                f"the prompt '{request.id}' is a conversation of {len(request.messages)} turns, "
                f"and '{name}' is sent plain text: name an instruct model, without --no-chat"
            )
        if messages and isinstance(model, Chatting):
            text = model.render(messages)
            if model.limit is not None:
                check_room(request.text, model.length(text), longest, model.limit)


def announce_costs(plan: GenerationPlan, models: Mapping[str, Model], done: int) -> None:
    """Tell models that cost money what is to come; they refuse where nobody has agreed."""
    pending: dict[str, list[PlannedText]] = {name: [] for name in models}
    for number, wanted in enumerate(_all_texts(plan)):
        if number >= done:
            pending[wanted.model.name].append(wanted)
    for name, model in models.items():
        if isinstance(model, Charging) and pending[name]:
            read = sum(model.length(planned.request.text) for planned in pending[name])
            token_limit = sum(planned.decoding.max_tokens for planned in pending[name])
            model.about_to(len(pending[name]), read, token_limit)


def generate(
    plan: GenerationPlan, models: Mapping[str, Model], path: Path, reporter: Reporter
) -> GeneratedFile:
    """Write all texts of the plan to a file of JSON Lines, those that are missing."""
    from rote.models.answers import generate_all

    plan = replace(plan, forms={name: chat_form(model) for name, model in models.items()})
    before = check_plan(plan, models, path)
    for name, form in plan.forms.items():
        is_chat = any(plan.conversation(request, form) for request in plan.prompts)
        if form not in (None, MESSAGES) and is_chat:
            reporter.say(f"{name}: prompts go in chat form ({form}); --no-chat sends plain text")
    total = len(plan)
    if path.exists():
        return GeneratedFile(total, before)
    if before:
        reporter.say(f"{before:,} of {total:,} texts already exist")
    announce_costs(plan, models, before)
    passed = 0
    with grow_file(path) as write, reporter.stage("generating", total, "texts") as advance:
        advance(before)
        for model_name, decoding, wanted in plan.parts():
            first = max(0, before - passed)
            passed += len(wanted)
            model = models[model_name.name]
            for start in range(first, len(wanted), _AT_ONCE):
                some = wanted[start : start + _AT_ONCE]
                through = _InnerReporter(reporter, advance)
                prompts = [planned.prompt for planned in some]
                generated = generate_all(model, prompts, decoding, through, count_filtered=False)
                advance(len(some) - through.advanced)  # those that were answered before
                pairs = zip(some, generated)
                records = [planned.record(model.signature, text) for planned, text in pairs]
                write(b"".join(map(json_line, records)))
    return GeneratedFile(total, before)


def _all_texts(plan: GenerationPlan) -> Iterator[PlannedText]:
    for _, _, wanted in plan.parts():
        yield from wanted


class _InnerReporter:
    """Batches move the bar of the whole run instead of having one of their own."""

    def __init__(self, reporter: Reporter, advance: Advance) -> None:
        self._reporter, self._advance = reporter, advance
        self.advanced = 0.0

    @contextmanager
    def stage(self, title: str, total: float | None, unit: str = "") -> Iterator[Advance]:
        def advance(amount: float) -> None:
            self.advanced += amount
            self._advance(amount)

        yield advance

    def say(self, line: str) -> None:
        self._reporter.say(line)

    def warn(self, line: str) -> None:
        self._reporter.warn(line)


Check = Callable[[int, bytes], "str | None"]
"""What is wrong with line number i of a file, if anything."""


def partial_path(path: Path) -> Path:
    return path.with_name(path.name + ".partial")


def count_lines(path: Path, total: int, check: Check) -> int:
    """How many texts of this run are on disk already; refuses a file of another one."""
    check_parent(path)
    if path.is_dir():
        raise OptionError(f"{path} is a folder: name a file, such as {path / 'texts.jsonl'}")
    if path.exists():
        count = _check_lines(path, total, check)
        if count < total or path.read_bytes()[-1:] not in (b"", b"\n"):
            raise OptionError(
                f"{path} holds {count:,} of {total:,} texts, so it is incomplete: write to another "
                "file, or remove it; generated texts are saved and not requested again"
            )
        return count
    partial = partial_path(path)
    refuse_links((partial,))
    return _check_lines(partial, total, check) if partial.exists() else 0


def parse_record(line: bytes) -> dict[str, Any]:
    """The record in a line of such a file; an empty one where it holds something else."""
    try:
        record = parse_json(line)
    except InputError:
        return {}
    return record if isinstance(record, dict) else {}


@contextmanager
def grow_file(path: Path) -> Iterator[Callable[[bytes], None]]:
    """Appends lines; gives the file its name if everything went well."""
    partial = partial_path(path)
    refuse_links((partial,))
    with open(partial, "ab") as file:
        with open_regular(partial) as reading:
            # Half a line, of a run that was killed, is written again.
            file.truncate(sum(len(line) for line in reading if line.endswith(b"\n")))

        def write(lines: bytes) -> None:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())

        yield write
    os.replace(partial, path)


def _check_lines(path: Path, total: int, check: Check) -> int:
    count = 0
    with open_regular(path) as file:
        for line in file:
            if not line.endswith(b"\n"):
                break  # cut off: it is written again
            wrong = "it holds more texts" if count == total else check(count, line)
            if wrong is not None:
                raise OptionError(
                    f"{path}, line {count + 1}: the file was made with other settings ({wrong}): "
                    "write to another file, or remove it"
                )
            count += 1
    return count
