"""How files are read, and which fields of their records hold text, id and prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, TypeAlias

from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.metric import check_options, hints_of, option, parse_option, unsigned
from rote.corpus._select import conditions, where_option


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The flags of reading; the help texts are those of the command line."""

    SECTION: ClassVar[str] = "Reading"
    SHARED: ClassVar[bool] = True
    text_field: str | None = option(None, "field with the text (default: guessed)")
    id_field: str | None = option(None, "field with the id (default: guessed)")
    prompt_field: str | None = option(None, "field with the prompt; stored as meta 'prompt'")
    input_format: str | None = option(None, "input format, e.g. jsonl or text (default: by suffix)")
    plain: Literal["file", "line", "paragraph"] = option(
        "file", "plain text: one document per file, line or paragraph"
    )
    strip_prompt: bool = option(False, "remove an echoed prompt from the start of each text")
    on_error: Literal["stop", "skip"] = option(
        "stop", "on bad input: stop, or skip it and list what was skipped"
    )
    encoding: str = option("utf-8", "encoding of text, JSON and CSV")
    where: tuple[str, ...] = where_option()
    join: tuple[str, ...] = option(
        (),
        "add the fields of this file's records (references, documents, scores); matched by the "
        "--join-on field; repeatable",
        metavar="FILE",
        repeated=True,
        form=False,
    )
    join_on: str = option(
        "doc_id", "field to match records by, for --join", metavar="FIELD", form=False, also="--on"
    )

    def __post_init__(self) -> None:
        check_options(self)
        conditions(self.where)

    def beside(self, changes: Changes = ()) -> ReadOptions:
        """How another input of the same command is read: files alike, unless `changes` say
        otherwise; which records are taken, their prompts and what is joined are each input's own.

        >>> other = ReadOptions(text_field="story", where=("a=1",)).beside(("where=b=2",))
        >>> other.text_field, other.where
        ('story', ('b=2',))
        """
        if isinstance(changes, ReadOptions):
            return changes
        files = replace(self, prompt_field=None, strip_prompt=False, where=(), join=())
        if isinstance(changes, Mapping):
            pairs: Iterable[tuple[str, Any]] = changes.items()
        else:
            pairs = map(_change, [changes] if isinstance(changes, str) else changes)
        settings: dict[str, Any] = {}
        for name, value in pairs:
            item = _FIELDS.get(name.replace("-", "_"))
            if item is None:
                names = _FIELDS if isinstance(changes, Mapping) else _FLAG_NAMES
                raise UnknownName("option of reading", name, names)
            if value == "":
                value = True if isinstance(item.default, bool) else item.default
            value = parse_option(item, hints_of(ReadOptions)[item.name], value, text=True)
            if isinstance(value, tuple):
                value = (*settings.get(item.name, ()), *value)
            settings[item.name] = value
        return replace(files, **settings)


Changes: TypeAlias = "Sequence[str] | str | Mapping[str, Any] | ReadOptions"
"""How item input is read where it is not as the others: NAME=VALUE, with names of `ReadOptions`."""
_FIELDS = {item.name: item for item in fields(ReadOptions)}
_FLAG_NAMES = [name.replace("_", "-") for name in _FIELDS]


def _change(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise OptionError(f"write NAME=VALUE, such as text-field=summary, not {text!r}")
    return name.strip(), value.strip()


def read_option(of: str) -> Any:
    """For an option that names texts: how they are read, where that is not as the others."""
    return option(
        (),
        f"Reading options for {of} where they differ from the other texts: text-field=FIELD, "
        "where=FIELD=VALUE or another one; repeatable",
        metavar="NAME=VALUE",
        repeated=True,
        form=False,
        common=False,
        sign=unsigned,
    )


_FLAGS = re.compile(
    rf"--({'|'.join(sorted((n.replace('_', '-') for n in _FIELDS), key=len, reverse=True))})\b"
    r"(?: (skip|line|jsonl|json)\b)?"
)


def name_flags(text: str, role: str) -> str:
    """A message about an input that an option names, with the flags that are about it alone.

    >>> name_flags("Choose another field with --text-field", "train")
    'Choose another field with --train-read text-field=FIELD'
    """

    def named(match: re.Match[str]) -> str:
        value = match[2] or ("FIELD=VALUE" if match[1] == "where" else "FIELD")
        return f"--{role.replace('_', '-')}-read {match[1]}={value}"

    return _FLAGS.sub(named, text) if role else text


def with_flags(error: InputError, role: str) -> InputError:
    """The error with the flags of the input that it is about."""
    error.problem = name_flags(error.problem, role)
    error.remedy = error.remedy and name_flags(error.remedy, role)
    return error


@contextmanager
def naming_flags(role: str) -> Iterator[None]:
    """Errors from here are about the input of this role."""
    try:
        yield
    except InputError as error:
        with_flags(error, role)
        raise


_TEXT = (
    "text content output completion generation response answer summary generated_text prediction "
    "story body sentence abstract"
).split()
_ID = ("id", "uid", "_id", "key")
_PROMPT = ("prompt", "instruction", "question", "input")
# Fields that say something about a text; never taken for the text itself.
_ABOUT = frozenset(
    ("source", "model", "author", "doc_id", "lang", "language", "split", "title", "url", "date")
)


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields that hold text, id and prompt; `remark` says what was guessed."""

    text: str = "text"
    id: str | None = None
    prompt: str | None = None
    id_required: bool = False
    remark: str = ""


def find_fields(
    records: Sequence[Mapping[str, Any]], options: ReadOptions, file: str, note: str = ""
) -> Fields:
    """Choose the fields from the first records of a file, and say what was guessed."""
    text = options.text_field or _guess_text(records, file)
    id_field = options.id_field or next(
        (name for name in _ID if name != text and any(name in record for record in records)), None
    )
    prompt = options.prompt_field
    if prompt is None and options.strip_prompt:
        prompt = next((n for n in _PROMPT if n != text and any(n in r for r in records)), None)
        if prompt is None and records:
            raise InputError(
                f"no field contains the prompt to remove (fields: {_names(records)})",
                file=file,
                remedy="Name the field with --prompt-field, or leave out --strip-prompt",
            )
    remark = note
    if records:
        remark = "; ".join(filter(None, (note, _remark(text, id_field, prompt, options))))
    return Fields(text, id_field, prompt, options.id_field is not None, remark)


def _remark(text: str, id_field: str | None, prompt: str | None, options: ReadOptions) -> str:
    guessed = {}
    if options.text_field is None:
        guessed["--text-field"] = f"texts are in '{text}'"
    if options.id_field is None:
        guessed["--id-field"] = f"ids in '{id_field}'" if id_field else "ids are FILE:LINE"
    if options.prompt_field is None and prompt is not None:
        guessed["--prompt-field"] = f"prompts in '{prompt}'"
    if not guessed:
        return ""
    choose = "choose others" if len(guessed) > 1 else "chooses another"
    return f"{', '.join(guessed.values())} (guessed; {' and '.join(guessed)} {choose})"


def _guess_text(records: Sequence[Mapping[str, Any]], file: str) -> str:
    if not records:
        return "text"
    for name in _TEXT:
        if any(_is_text(record.get(name)) for record in records):
            return name
    if any(is_conversation(record.get("messages")) for record in records):
        return "messages"
    # Texts that are all null, empty or numbers are texts still: no other field stands in for them.
    if any("text" in r and (r["text"] is None or isinstance(r["text"], str)) for r in records):
        return "text"
    lengths: dict[str, float] = {}
    for name in dict.fromkeys(name for record in records for name in record):
        values = [record.get(name) for record in records]
        if name not in _ABOUT and name not in _ID and any(map(_is_text, values)):
            lengths[name] = sum(len(v) for v in values if isinstance(v, str)) / len(records)
    ranked = sorted(lengths, key=lambda name: -lengths[name])
    # Twice as long as any other field: a title beside an abstract does not make it unclear.
    if len(ranked) == 1 or (ranked and lengths[ranked[0]] >= 2 * lengths[ranked[1]]):
        return ranked[0]
    # A prompt is what a text answers: beside one other field it is not the text.
    others = [name for name in ranked if name not in _PROMPT]
    if len(others) == 1:
        return others[0]
    problem = "cannot tell which field contains the text" if ranked else "no field contains text"
    raise InputError(
        f"{problem} (fields: {_names(records)})",
        file=file,
        remedy="Name the field with --text-field",
    )


def is_conversation(value: Any) -> bool:
    """Whether it is a list of turns, of which the last is the text: what an assistant wrote."""
    turns = value if isinstance(value, list) and value else [None]
    return all(isinstance(turn, dict) and "role" in turn and "content" in turn for turn in turns)


def _is_text(value: object) -> bool:
    """Strings that are not numbers; a CSV file holds its numbers as strings too."""
    if not isinstance(value, str) or not value.strip():
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def _names(records: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(str(name) for record in records for name in record))
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
