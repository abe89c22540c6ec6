"""Pieces of work: where they come from, what is in them, and what reading them gives.

The main process cuts input into shards; `Shard.read()` parses one, in whichever
process the caller likes, and gives a `Batch` of Documents.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any, Protocol

from rote.core.document import Document
from rote.core.errors import InputError
from rote.corpus._fields import Fields as Fields
from rote.corpus._fields import ReadOptions as ReadOptions
from rote.corpus._fields import find_fields as find_fields
from rote.corpus._fields import is_conversation, naming_flags, with_flags
from rote.corpus._select import SKIP as SKIP
from rote.corpus._select import JoinedRecords, conditions


@dataclass(frozen=True, slots=True)
class Origin:
    """Where records come from: `file` as shown in messages, `name` as used in ids.

    `label` names the group of texts when no field does; `source`, where given, is
    put into the meta of every Document.
    """

    file: str
    name: str
    label: str
    source: str | None = None

    def error(
        self,
        problem: str,
        line: int | None = None,
        *,
        field: str | None = None,
        remedy: str | None = None,
    ) -> InputError:
        """What is wrong at a place of the file."""
        return InputError(problem, file=self.file, line=line, field=field, remedy=remedy)


def to_document(
    record: dict[str, Any], fields: Fields, number: int, origin: Origin, *, strip: bool = False
) -> Document:
    """Make a Document of a record, which is used up; raises InputError."""
    text = record.pop(fields.text, _MISSING)
    if type(text) is list and is_conversation(text):
        record["messages"], text = text, text[-1]["content"]
    if type(text) is not str:
        raise _bad_text(text, fields.text, list(record), number, origin)
    identity = record.pop(fields.id, None) if fields.id is not None else None
    if type(identity) is not str:
        identity = _identity(identity, fields, number, origin)
    prompt = None
    if fields.prompt is not None:
        prompt = record.get(fields.prompt)
        record.setdefault("prompt", prompt)
    if strip and isinstance(prompt, str):
        text = strip_prompt(text, prompt)
    check_text(text, fields.text, number, origin)
    if origin.source is not None:
        record["source"] = origin.source
    return Document(identity, text, record)


_MISSING = object()


def _identity(value: object, fields: Fields, number: int, origin: Origin) -> str:
    if type(value) is int:
        return str(value)
    if value is None and not fields.id_required:
        return f"{origin.name}:{number}"
    problem = "the id is missing" if value is None else f"the id is {kind_of(value)}"
    raise origin.error(
        problem,
        number,
        field=fields.id,
        remedy=f"Ids are strings or whole numbers: choose another field with --id-field; {SKIP}",
    )


def _bad_text(
    value: object, field: str, names: list[str], number: int, origin: Origin
) -> InputError:
    if value is _MISSING:
        field_names = ", ".join(map(str, names[:20])) or "none"
        problem = f"the field is missing (fields: {field_names})"
    else:
        problem = f"the text is {kind_of(value)}, not a string"
    return origin.error(
        problem, number, field=field, remedy=f"Choose another field with --text-field; {SKIP}"
    )


def check_text(text: str, field: str, number: int, origin: Origin) -> None:
    """Refuse what no measure can use: nothing at all, and half a character."""
    if not text or text.isspace():
        raise origin.error(
            "the text is empty",
            number,
            field=field,
            remedy=f"Give it a text, or remove the record; {SKIP}",
        )
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise origin.error(
                f"an unpaired surrogate (\\u{ord(text[error.start]):04x}) at position "
                f"{error.start}",
                number,
                field=field,
                remedy=f"Fix the escape: a surrogate needs its pair; {SKIP}",
            ) from None


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    kinds = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
    kinds |= {str: "a string", dict: "an object", type(None): "null"}
    return kinds.get(type(value), f"of type {type(value).__name__}")


def strip_prompt(text: str, prompt: str) -> str:
    """Remove the prompt where the text begins with it, whatever white space stands between."""
    position = 0
    for word in prompt.split():
        while position < len(text) and text[position].isspace():
            position += 1
        if not text.startswith(word, position):
            return text
        position += len(word)
    if position and _continues(text[position - 1]) and _continues(text[position : position + 1]):
        return text  # the prompt "a cat" does not stand at the start of "a cattle market"
    return text[position:].lstrip() if position else text


def _continues(character: str) -> bool:
    # Only letters with case: scripts without spaces go on directly after the prompt.
    return character.isdigit() or character.isupper() or character.islower()


SHARD_BYTES = 4 * 2**20

# A record with its line (or record) number; a problem travels in the place of the record.
Numbered = tuple[int, "dict[str, Any] | Document | InputError"]


class Reader(Protocol):
    """What a file in this folder has to offer; heavy imports belong inside its functions."""

    SUFFIXES: tuple[str, ...]

    def inspect(self, part: Part, options: ReadOptions) -> Fields:
        """Find out which fields are used, from the first records alone."""

    def shards(self, part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
        """Cut one part into shards of about SHARD_BYTES, in order, by the data alone."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file, or whatever else one reader reads in one go."""

    reader: str
    where: Any
    origin: Origin
    size: int
    compression: str = ""
    plain: str | None = None


def hash_of(identity: str) -> int:
    """64 bits that stand for an id, the same in every process."""
    return hash_id(identity.encode("utf-8", "surrogatepass"))


def hash_id(identity: bytes) -> int:
    return int.from_bytes(blake2b(identity, digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class Batch:
    """The Documents of one shard, and what could not be used."""

    documents: list[Document]
    file: str
    label: str
    lines: list[int]
    problems: list[InputError]
    id_field: str | None = None
    hashes: Sequence[int] = ()
    """Of the ids, where they were made with the batch."""
    role: str = ""
    """As that of the corpus."""

    def bare(self) -> Batch:
        """Ids and lines, and the hashes by which ids are compared: all that travels back."""
        ids = [document.id for document in self.documents]
        return replace(
            self, documents=[Document(each, "") for each in ids], hashes=list(map(hash_of, ids))
        )

    def without(self, numbers: Container[int], problems: list[InputError]) -> Batch:
        """The batch without some of its documents, and what was wrong with them."""
        places = [i for i in range(len(self.documents)) if i not in numbers]
        return replace(
            self,
            documents=[self.documents[i] for i in places],
            lines=[self.lines[i] for i in places],
            problems=[*self.problems, *problems],
            hashes=[self.hashes[i] for i in places] if self.hashes else (),
        )


@dataclass(frozen=True, slots=True)
class Shard:
    """A bounded piece of input that can be sent to another process.

    `size` is the number of bytes of the input that it stands for, so that the
    sizes of all shards add up to the size of the corpus. One that `refers` to its place in a
    file holds no text itself. `number` counts the shards of a corpus; `part` says which part
    of it this one is of, and `place` which of the part's shards it is. `read_joined` gives what
    other files say of its records. Neighbours with the same number `together` cost little more
    than one.
    """

    origin: Origin
    fields: Fields
    options: ReadOptions
    size: int
    records: Callable[[], Iterable[Numbered]]
    refers: bool = False
    number: int = 0
    read_joined: Callable[[], JoinedRecords] | None = None
    part: int = 0
    place: int = 0
    together: int | None = None
    role: str = ""

    def read(self) -> Batch:
        """Parse the piece; with `on_error="stop"` the first problem is raised."""
        with naming_flags(self.role):
            return self._read()

    def _read(self) -> Batch:
        documents: list[Document] = []
        lines: list[int] = []
        problems: list[InputError] = []
        origin, fields, strip = self.origin, self.fields, self.options.strip_prompt
        where = conditions(self.options.where)
        joined_records = self.read_joined() if self.read_joined is not None else None
        for number, item in self.records():
            try:
                if isinstance(item, dict):
                    document = to_document(item, fields, number, origin, strip=strip)
                elif isinstance(item, Document):
                    check_text(item.text, "text", number, origin)
                    document = item
                    if origin.source is not None:
                        document = replace(item, meta={**item.meta, "source": origin.source})
                else:
                    raise item
                if joined_records is not None:
                    document = joined_records.add(document, partial(origin.error, line=number))
            except InputError as problem:
                if self.options.on_error == "stop":
                    raise
                problems.append(with_flags(problem, self.role))
            else:
                if all(condition.holds(document) for condition in where):
                    documents.append(document)
                    lines.append(number)
        return Batch(
            documents, origin.file, origin.label, lines, problems, fields.id, role=self.role
        )


def failure_of(shard: Shard) -> InputError | None:
    """The bad news, if that is all that a shard carries."""
    records = shard.records
    return records.args[0] if isinstance(records, partial) and records.func is failed else None


def failed(error: InputError) -> list[Numbered]:
    """The records of a shard that only carries bad news, such as a file that is cut short."""
    return [(error.line or 0, error)]
