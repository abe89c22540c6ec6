"""Texts by language models: prompts times settings times models, into one file.

Every text has its seed in its record and depends on nothing but that, the prompt, the settings
and the model. Whatever a model has answered is kept (`models.asking`), and the file grows by whole
lines (`_generate.resuming`): a run that was killed goes on and ends with the same bytes as one
that was not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rote.core.errors import InputError, OptionError
from rote.core.files import check_parent, open_regular
from rote.core.folder import refuse_links
from rote.core.json_reader import parse_json
from rote.core.metric import check_options, is_given, option
from rote.core.model import Charging, Decoding, Model
from rote.core.progress import Advance, Reporter
from rote.corpus import open_corpus, read_option
from rote.curate._generate.plan import Plan, Source, Wanted, fits, grid
from rote.curate._generate.prompts import Asked, PromptOptions
from rote.curate.reading import json_line
from rote.measure._speaking import Named

_AT_ONCE = 64
"""Texts between two writings to the file."""


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """Which texts are made. Several values of a setting make a grid."""

    temperature: tuple[float, ...] = option(
        (0.0,), "Sampling temperatures; 0 takes the likeliest token (greedy)"
    )
    top_p: tuple[float, ...] = option((1.0,), "Draw from the likeliest tokens that hold this share")
    top_k: tuple[int, ...] = option((0,), "Draw from this many likeliest tokens; 0: all")
    constraint: tuple[float, ...] = option(
        (0.0,),
        "Constraining factors c (GOT): with probability 1/c the likeliest token, otherwise a "
        "weighted draw; 0: none",
    )
    samples: int = option(
        1, "Texts for each prompt and setting, where something is drawn", least=1, most=10_000
    )
    max_tokens: int = option(128, "Tokens of a text at most", most=100_000)
    stop: tuple[str, ...] = option((), r"End before one of these strings (\n is a line's end)")
    beams: int = option(
        1,
        "Search for the likeliest text with this many beams (encoder-decoders)",
        least=1,
        most=1_000,
    )
    seed: int = option(0, "The seed that those of all texts are made from")
    source: Source = option(
        "auto",
        "What the field `source` names: the model, the settings, or both (auto: both if there "
        "are several settings)",
    )
    about: tuple[str, ...] = option(
        (),
        "Texts that every prompt is asked of: the text first, then the prompt",
        metavar="INPUT,...",
        opened=True,
        takes="texts",
    )
    about_read: tuple[str, ...] = read_option("what prompts are asked of")
    words: int = option(50, "Words of a text that `prefix:` takes", least=1, most=100_000)
    reference_words: int = option(
        0, "Words after them that are kept as the reference; 0: all", least=0, most=100_000
    )
    limit: int = option(0, "Take the first so many texts of each input; 0: all", least=0)

    def __post_init__(self) -> None:
        check_options(self)

    def decodings(self) -> list[Decoding]:
        return grid(
            self.temperature,
            self.top_p,
            self.top_k,
            self.constraint,
            max_tokens=self.max_tokens,
            stop=self.stop,
            beams=self.beams,
        )

    def prompts(self) -> PromptOptions:
        about = open_corpus(self.about) if is_given(self.about) else None
        return PromptOptions(about, self.words, self.reference_words, self.limit)


@dataclass(frozen=True, slots=True)
class Made:
    """What a run did: how many texts the file holds, and how many of them were there before."""

    texts: int
    before: int


def plan_of(prompts: Sequence[Asked], models: Sequence[Named], options: GenerateOptions) -> Plan:
    """Everything that is to be generated."""
    return Plan(prompts, models, options.decodings(), options.samples, options.seed, options.source)


def check(plan: Plan, models: Mapping[str, Model], path: Path) -> int:
    """Refuse, before the long work, what cannot be done; say how many texts are there already."""
    for name, model in models.items():
        for decoding in plan.decodings:
            if decoding.beams > 1 and not getattr(model, "searches", False):
                raise OptionError(f"'{name}' is no encoder-decoder: --beams is for those")
            model.generate([], decoding)  # a backend refuses what it cannot do
    signatures = {name: model.signature for name, model in models.items()}
    following = _all(plan)

    def wrong(number: int, line: bytes) -> str | None:
        wanted = next(following)
        return fits(line, wanted, signatures[wanted.model.name])

    return lines_held(path, len(plan), wrong)


def about_to(plan: Plan, models: Mapping[str, Model], done: int) -> None:
    """Tell models that cost money what is to come; they refuse where nobody has agreed."""
    left: dict[str, list[Wanted]] = {name: [] for name in models}
    for number, wanted in enumerate(_all(plan)):
        if number >= done:
            left[wanted.model.name].append(wanted)
    for name, model in models.items():
        if isinstance(model, Charging) and left[name]:
            read = sum(model.length(one.asked.text) for one in left[name])
            written = sum(one.decoding.max_tokens for one in left[name])
            model.about_to(len(left[name]), read, written)


def generate(plan: Plan, models: Mapping[str, Model], path: Path, reporter: Reporter) -> Made:
    """Write all texts of the plan to a file of JSON Lines, those that are missing."""
    from rote.models.answers import generate_all

    before = check(plan, models, path)
    total = len(plan)
    if path.exists():
        return Made(total, before)
    if before:
        reporter.say(f"{before:,} of {total:,} texts are there already")
    about_to(plan, models, before)
    passed = 0
    with growing(path) as write, reporter.stage("generating", total, "texts") as advance:
        advance(before)
        for named, decoding, wanted in plan.parts():
            first = max(0, before - passed)
            passed += len(wanted)
            model = models[named.name]
            for start in range(first, len(wanted), _AT_ONCE):
                some = wanted[start : start + _AT_ONCE]
                through = _Through(reporter, advance)
                prompts = [one.prompt for one in some]
                made = generate_all(model, prompts, decoding, through, count_filtered=False)
                advance(len(some) - through.advanced)  # those that were answered before
                write(
                    b"".join(
                        json_line(one.record(model.signature, text))
                        for one, text in zip(some, made)
                    )
                )
    return Made(total, before)


def _all(plan: Plan) -> Iterator[Wanted]:
    for _, _, wanted in plan.parts():
        yield from wanted


class _Through:
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


def partial_of(path: Path) -> Path:
    return path.with_name(path.name + ".partial")


def lines_held(path: Path, total: int, check: Check) -> int:
    """How many texts of this run are on disk already; refuses a file of another one."""
    check_parent(path)
    if path.is_dir():
        raise OptionError(f"{path} is a folder: name a file, such as {path / 'texts.jsonl'}")
    if path.exists():
        held = _checked(path, total, check)
        if held < total or _is_cut(path):
            raise OptionError(
                f"{path} holds {held:,} of {total:,} texts, so it is not whole: write to another "
                "file, or remove it; what was generated is kept and not asked for again"
            )
        return held
    partial = partial_of(path)
    refuse_links((partial,))
    return _checked(partial, total, check) if partial.exists() else 0


def record_in(line: bytes) -> dict[str, Any]:
    """The record in a line of such a file; an empty one where it holds something else."""
    try:
        held = parse_json(line)
    except InputError:
        return {}
    return held if isinstance(held, dict) else {}


@contextmanager
def growing(path: Path) -> Iterator[Callable[[bytes], None]]:
    """Appends lines; gives the file its name if everything went well."""
    partial = partial_of(path)
    refuse_links((partial,))
    with open(partial, "ab") as file:
        _take_away_half_a_line(partial, file)

        def write(lines: bytes) -> None:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())

        yield write
    os.replace(partial, path)


def _checked(path: Path, total: int, check: Check) -> int:
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


def _is_cut(path: Path) -> bool:
    data = path.read_bytes()[-1:]
    return bool(data) and data != b"\n"


def _take_away_half_a_line(path: Path, file: IO[bytes]) -> None:
    end = 0
    with open_regular(path) as reading:
        for line in reading:
            if line.endswith(b"\n"):
                end += len(line)
    file.truncate(end)
