"""Treebank files (.conllu): texts that come with words, tags and dependency trees.

One document per `# newdoc`; where a file has none, one per sentence. The text is made
from `# text` or, where that is missing, from the words and `SpaceAfter=No`; sentences of
a document are joined by a space, paragraphs (`# newpar`) by a blank line. The annotation
stands in the document's meta as plain lists, for the annotator `given`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from rote.core.document import Document
from rote.core.errors import InputError
from rote.core.progress import several
from rote.corpus._linewise import (
    MAX_UNIT,
    LineBlock,
    block_shards,
    blocks_between_blanks,
    decode,
    first_block,
)
from rote.corpus._shard import SKIP, Fields, Numbered, Origin, Part, ReadOptions, Shard

T = TypeVar("T", str, bytes)
Lines = list[tuple[int, T]]

FIELDS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
_ESCAPE = re.compile(r"\\(.)")
_SPACES = {"s": " ", "t": "\t", "n": "\n", "r": "\r", "p": "|"}


@dataclass(slots=True)
class Sentence:
    """Columns of one sentence; heads count from 0, -1 is the root."""

    id: str = ""
    document: str = ""
    text: str = ""
    gap: str = " "
    new_paragraph: bool = False
    form: list[str] = field(default_factory=list)
    lemma: list[str] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    xpos: list[str] = field(default_factory=list)
    deprel: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Token:
    """What stands in the text as one piece: a word, or several written as one."""

    form: str
    gap: str
    line: int
    words: int = 1


def parse_sentence(lines: Lines[str], origin: Origin) -> Sentence | None:
    """A sentence of its numbered lines; None for comments alone. Raises InputError."""
    sentence = Sentence()
    sentence_text: str | None = None
    tokens: list[_Token] = []
    heads: list[tuple[int, str]] = []
    inside = 0  # how many words of a multiword token are still to come
    first = lines[0][0]
    for number, line in lines:
        if line.startswith("#"):
            key, _, value = (part.strip() for part in line[1:].partition("="))
            if key == "sent_id":
                sentence.id = value
            elif key in ("newdoc", "newdoc id"):
                sentence.document = value
            elif key in ("newpar", "newpar id"):
                sentence.new_paragraph = True
            elif key == "text":
                sentence_text = value
            continue
        columns = line.split("\t")
        if len(columns) != len(FIELDS):
            raise _input_error(
                f"{several(len(columns), 'column')}, not {len(FIELDS)}", number, origin, None
            )
        identity, form = columns[0], columns[1]
        if "." in identity:
            continue  # an empty node, which stands for nothing in the text
        if not form:
            raise _input_error("the word is empty", number, origin, "FORM")
        here = len(sentence.form) + 1
        if "-" in identity:
            start, _, end = identity.partition("-")
            if start != str(here) or not end.isdecimal() or int(end) <= here:
                raise _input_error(f"'{identity}' where {here} has to follow", number, origin, "ID")
            if inside:
                raise _input_error(f"{identity} overlaps the token before it", number, origin, "ID")
            inside = int(end) - here + 1
            tokens.append(_Token(form, _gap(columns[9]), number, inside))
            continue
        if identity != str(here):
            raise _input_error(f"'{identity}' where {here} has to follow", number, origin, "ID")
        if inside:
            inside -= 1
        else:
            tokens.append(_Token(form, _gap(columns[9]), number))
        for name, value in zip(_COLUMNS, (form, *columns[2:5], columns[7])):
            getattr(sentence, name).append(value)
        heads.append((number, columns[6]))
    if inside:
        raise _input_error(
            "a multiword token without all of its words", tokens[-1].line, origin, "ID"
        )
    if not sentence.form:
        return None
    sentence.heads = _heads(heads, origin)
    _place(sentence, tokens, sentence_text, first, origin)
    return sentence


def _input_error(problem: str, line: int, origin: Origin, column: str | None) -> InputError:
    remedy = f"Each word has ten columns, with tabs between them; {SKIP}"
    if column == "HEAD":
        remedy = f"HEAD is the number of a word of the sentence, or 0 for its root; {SKIP}"
    elif column == "ID":
        remedy = f"Words are numbered 1, 2, 3, ... in each sentence; {SKIP}"
    elif column == "text":
        remedy = f"Without the line '# text' the text is made from the words; {SKIP}"
    return origin.error(problem, line, field=column, remedy=remedy)


def _gap(misc: str) -> str:
    """The white space that follows a token."""
    for entry in misc.split("|"):
        if entry == "SpaceAfter=No":
            return ""
        if entry.startswith("SpacesAfter="):
            value = entry.removeprefix("SpacesAfter=")
            return _ESCAPE.sub(lambda match: _SPACES.get(match[1], match[0]), value)
    return " "


def _heads(fields: list[tuple[int, str]], origin: Origin) -> list[int]:
    """Heads as numbers, checked to be a tree; none at all where the file has none."""
    if all(value == "_" for _, value in fields):
        return []
    heads: list[int] = []
    for item, (number, value) in enumerate(fields):
        if not value.isdecimal() or int(value) > len(fields) or int(value) == item + 1:
            problem = f"'{value}' is not another word of this sentence of {len(fields)}"
            raise _input_error(problem, number, origin, "HEAD")
        heads.append(int(value) - 1)
    # 0 not seen, 1 on the path that is walked now, 2 known to lead to a root.
    state = [0] * len(heads)
    for item in range(len(heads)):
        path: list[int] = []
        while item >= 0 and state[item] == 0:
            state[item] = 1
            path.append(item)
            item = heads[item]
        if item >= 0 and state[item] == 1:
            problem = f"the heads form a cycle through word {item + 1}"
            raise _input_error(problem, fields[item][0], origin, "HEAD")
        for head in path:
            state[head] = 2
    return heads


def _place(
    sentence: Sentence, tokens: list[_Token], stated: str | None, line: int, origin: Origin
) -> None:
    """Find every token in the text, which is made from the tokens where it is not given."""
    if stated is None:
        pieces = [part for token in tokens for part in (token.form, token.gap)]
        text = "".join(pieces[:-1])
    else:
        text = stated
    position = word = 0
    for token in tokens:
        while position < len(text) and text[position].isspace():
            position += 1
        if not text.startswith(token.form, position):
            problem = f"'{token.form}' (line {token.line}) is not the next token of the text"
            raise _input_error(problem, line, origin, "text")
        end = position + len(token.form)
        _split(sentence, sentence.form[word : word + token.words], position, end, token.form)
        word += token.words
        position = end
    sentence.text, sentence.gap = text, tokens[-1].gap


def _split(sentence: Sentence, words: list[str], start: int, end: int, form: str) -> None:
    """Spans of the words of one token: parts of it where they spell it, else all of it."""
    spelt = "".join(words)
    if len(spelt) == len(form) and spelt.lower() == form.lower():
        for word in words:
            sentence.starts.append(start)
            start += len(word)
            sentence.ends.append(start)
    else:
        sentence.starts += [start] * len(words)
        sentence.ends += [end] * len(words)


SUFFIXES = (".conllu", ".conll-u")
_NEWDOC, _SENTENCE = "newdoc id", "sent_id"
_COLUMNS = ("form", "lemma", "upos", "xpos", "deprel")


def inspect(part: Part, options: ReadOptions) -> Fields:
    """Documents by `# newdoc` if the first lines of the file have it, else sentences."""
    lines = first_block(part, options).split(b"\n")
    if any(line.startswith(b"# newdoc") for line in lines):
        return Fields(id=_NEWDOC)
    return Fields(id=_SENTENCE, remark="one document per sentence (the file has no '# newdoc')")


def shards(part: Part, fields: Fields, options: ReadOptions) -> Iterator[Shard]:
    if fields.id == _SENTENCE:
        parse = partial(_records, by_sentence=True)
        return block_shards(part, fields, options, parse, "paragraph")
    regroup = partial(_whole_documents, file=part.origin.file)
    return block_shards(part, fields, options, _records, "paragraph", regroup)


def _whole_documents(blocks: Iterable[LineBlock], file: str) -> Iterator[LineBlock]:
    """Blocks that end where a document ends: what follows the last `# newdoc` waits."""
    data, line, size = b"", 1, 0
    broken: InputError | None = None
    stream = iter(blocks)
    while True:
        try:
            block = next(stream, None)
        except InputError as error:
            block, broken = None, error
        if block is None:
            break
        if not data:
            line = block.first_line
        data, size = data + block.data, size + block.size
        cut = data.rfind(b"\n# newdoc") + 1
        if cut:
            yield LineBlock(data[:cut], line, size)
            line += data.count(b"\n", 0, cut)
            data, size = data[cut:], 0
        if len(data) > MAX_UNIT:
            raise InputError(
                f"a document of more than {MAX_UNIT // 2**30} GiB",
                file=file,
                line=line,
                remedy="Cut it with '# newdoc' lines",
            )
    if data:
        yield LineBlock(data, line, size)
    if broken is not None:
        raise broken


def _records(
    data: bytes, first_line: int, encoding: str, origin: Origin, *, by_sentence: bool = False
) -> Iterator[Numbered]:
    document: list[Sentence] = []
    start = first_line
    problem: InputError | None = None
    for number, lines in blocks_between_blanks(data, first_line):
        new = by_sentence or any(raw.startswith(b"# newdoc") for _, raw in lines)
        if new and (document or problem):
            yield start, problem or _document(document, start, origin, by_sentence)
            document, problem = [], None
        if not document and problem is None:
            start = number
        try:
            text = [(n, decode(raw, encoding, n, origin).removesuffix("\r")) for n, raw in lines]
            if (sentence := parse_sentence(text, origin)) is not None:
                document.append(sentence)
        except InputError as error:
            problem = problem or error
    if document or problem:
        yield start, problem or _document(document, start, origin, by_sentence)


def _document(sentences: list[Sentence], line: int, origin: Origin, by_sentence: bool) -> Document:
    text: list[str] = []
    length = items = 0
    gap = ""
    columns: dict[str, list[str]] = {name: [] for name in _COLUMNS}
    places: dict[str, list[int]] = {"starts": [], "ends": [], "head": [], "sentence_ends": []}
    parsed = True
    for sentence in sentences:
        if text:
            text.append("\n\n" if sentence.new_paragraph else gap)
            length += len(text[-1])
        text.append(sentence.text)
        gap = sentence.gap
        for name in _COLUMNS:
            columns[name] += getattr(sentence, name)
        places["starts"] += [start + length for start in sentence.starts]
        places["ends"] += [end + length for end in sentence.ends]
        places["head"] += [head + items if head >= 0 else -1 for head in sentence.heads]
        parsed = parsed and bool(sentence.heads)
        items += len(sentence.form)
        places["sentence_ends"].append(items)
        length += len(sentence.text)
    if not parsed:
        del places["head"], columns["deprel"]
    # A column of underscores says that the file does not hold this kind of annotation.
    present = {n: c for n, c in columns.items() if n == "form" or any(v != "_" for v in c)}
    identity = sentences[0].id if by_sentence else sentences[0].document
    meta = {"annotation": {**places, **present}}
    return Document(identity or f"{origin.name}:{line}", "".join(text), meta)
