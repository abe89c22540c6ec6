"""One sentence of a CoNLL-U file: its lines checked, its words placed in its text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeVar

from rote.core.errors import InputError
from rote.corpus._fields import SKIP, Origin

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
    written: str | None = None
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
                written = value
            continue
        columns = line.split("\t")
        if len(columns) != len(FIELDS):
            raise _bad(f"{len(columns)} columns, not {len(FIELDS)}", number, origin, None)
        identity, form = columns[0], columns[1]
        if "." in identity:
            continue  # an empty node, which stands for nothing in the text
        if not form:
            raise _bad("the word is empty", number, origin, "FORM")
        here = len(sentence.form) + 1
        if "-" in identity:
            last = _range(identity, here, number, origin)
            if inside:
                raise _bad(f"{identity} overlaps the token before it", number, origin, "ID")
            inside = last - here + 1
            tokens.append(_Token(form, _gap(columns[9]), number, inside))
            continue
        if identity != str(here):
            raise _bad(f"'{identity}' where {here} has to follow", number, origin, "ID")
        if inside:
            inside -= 1
        else:
            tokens.append(_Token(form, _gap(columns[9]), number))
        sentence.form.append(form)
        sentence.lemma.append(columns[2])
        sentence.upos.append(columns[3])
        sentence.xpos.append(columns[4])
        sentence.deprel.append(columns[7])
        heads.append((number, columns[6]))
    if inside:
        raise _bad("a multiword token without all of its words", tokens[-1].line, origin, "ID")
    if not sentence.form:
        return None
    sentence.heads = _heads(heads, origin)
    _place(sentence, tokens, written, first, origin)
    return sentence


def _bad(problem: str, line: int, origin: Origin, column: str | None) -> InputError:
    remedy = f"Each word has ten columns, with tabs between them; {SKIP}"
    if column == "HEAD":
        remedy = f"HEAD is the number of a word of the sentence, or 0 for its root; {SKIP}"
    elif column == "ID":
        remedy = f"Words are numbered 1, 2, 3, ... in each sentence; {SKIP}"
    elif column == "text":
        remedy = f"Without the line '# text' the text is made from the words; {SKIP}"
    return InputError(problem, file=origin.file, line=line, field=column, remedy=remedy)


def _range(identity: str, here: int, number: int, origin: Origin) -> int:
    start, _, end = identity.partition("-")
    if start != str(here) or not end.isdecimal() or int(end) <= here:
        raise _bad(f"'{identity}' where {here} has to follow", number, origin, "ID")
    return int(end)


def _gap(misc: str) -> str:
    """The white space that follows a token."""
    for entry in misc.split("|"):
        if entry == "SpaceAfter=No":
            return ""
        if entry.startswith("SpacesAfter="):
            value = entry.removeprefix("SpacesAfter=")
            return _ESCAPE.sub(lambda match: _SPACES.get(match[1], match[0]), value)
    return " "


def _heads(given: list[tuple[int, str]], origin: Origin) -> list[int]:
    """Heads as numbers, checked to be a tree; none at all where the file has none."""
    if all(value == "_" for _, value in given):
        return []
    heads: list[int] = []
    for item, (number, value) in enumerate(given):
        if not value.isdecimal() or int(value) > len(given) or int(value) == item + 1:
            problem = f"'{value}' is no other word of this sentence of {len(given)}"
            raise _bad(problem, number, origin, "HEAD")
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
            problem = f"the heads form a circle through word {item + 1}"
            raise _bad(problem, given[item][0], origin, "HEAD")
        for seen in path:
            state[seen] = 2
    return heads


def _place(
    sentence: Sentence, tokens: list[_Token], written: str | None, line: int, origin: Origin
) -> None:
    """Find every token in the text, which is made from the tokens where it is not given."""
    if written is None:
        pieces = [part for token in tokens for part in (token.form, token.gap)]
        text = "".join(pieces[:-1])
    else:
        text = written
    position = word = 0
    for token in tokens:
        while position < len(text) and text[position].isspace():
            position += 1
        if not text.startswith(token.form, position):
            problem = f"'{token.form}' (line {token.line}) is not what follows in the text"
            raise _bad(problem, line, origin, "text")
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
