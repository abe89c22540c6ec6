"""Treebank files (.conllu): texts that come with words, tags and dependency trees.

One document per `# newdoc`; where a file has none, one per sentence. The text is made
from `# text` or, where that is missing, from the words and `SpaceAfter=No`; sentences of
a document are joined by a space, paragraphs (`# newpar`) by a blank line. The annotation
stands in the document's meta as plain lists, for the annotator `given`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from rote.core.document import Document
from rote.core.errors import InputError
from rote.corpus._blocks import MAX_UNIT, Block, cut_blocks
from rote.corpus._conllu_sentence import Lines, Sentence, parse_sentence
from rote.corpus._fields import Fields, Origin
from rote.corpus._linewise import block_shards, decode, empty, first_block
from rote.corpus._options import ReadOptions
from rote.corpus._shard import SHARD_BYTES, Numbered, Part, Shard, failed
from rote.corpus._streams import shard_encoding, text_pieces

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
        yield from block_shards(part, fields, options, parse, "paragraph")
        return
    origin, encoding = part.origin, shard_encoding(options.encoding)
    pieces = text_pieces(part, options.encoding)
    found = False
    try:
        blocks = cut_blocks(pieces, SHARD_BYTES, origin.file, "paragraph")
        for block in _whole_documents(blocks, origin.file):
            found = found or not block.data.isspace()
            records = partial(_records, block.data, block.first_line, encoding, origin)
            yield Shard(origin, fields, options, block.size, records)
        if not found:
            raise empty(origin)
    except InputError as error:
        yield Shard(origin, fields, options, 0, partial(failed, error))


def _whole_documents(blocks: Iterable[Block], file: str) -> Iterator[Block]:
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
            yield Block(data[:cut], line, size)
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
        yield Block(data, line, size)
    if broken is not None:
        raise broken


def _records(
    data: bytes, first_line: int, encoding: str, origin: Origin, *, by_sentence: bool = False
) -> Iterator[Numbered]:
    document: list[Sentence] = []
    start = first_line
    problem: InputError | None = None
    for number, lines in _sentences(data, first_line):
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


def _sentences(data: bytes, first_line: int) -> Iterator[tuple[int, Lines[bytes]]]:
    """The numbered lines of each sentence: blank lines stand between them."""
    lines: Lines[bytes] = []
    for number, raw in enumerate((*data.split(b"\n"), b""), first_line):
        if raw and not raw.isspace():
            lines.append((number, raw))
        elif lines:
            yield lines[0][0], lines
            lines = []


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
    given = {n: c for n, c in columns.items() if n == "form" or any(v != "_" for v in c)}
    identity = sentences[0].id if by_sentence else sentences[0].document
    meta = {"annotation": {**places, **given}}
    return Document(identity or f"{origin.name}:{line}", "".join(text), meta)
