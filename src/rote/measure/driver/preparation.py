"""What a measure is given of one shard: its texts in layers, and what their records say of them.

Shards are prepared in worker processes; `collection` joins what comes back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from rote.annotate import annotators, words
from rote.annotate.language_check import SETTLED, declared, glance, languages
from rote.annotate.store import Store
from rote.annotate.trees import HEAD, head_layer
from rote.core.document import Annotation, Document, describe_absence
from rote.core.errors import InputError
from rote.core.facets import input_name
from rote.core.layer import DERIVED, Layer, derive
from rote.core.sample import SEVERAL, Need, RawText, Sample
from rote.corpus import SKIP, Batch, Shard, digest
from rote.measure.driver.settings import DOC_ID, Settings

RAW = "text"
_FROM_WORDS = frozenset({"word", *DERIVED})


@dataclass(frozen=True, slots=True)
class PreparedShard:
    """One shard, ready to be joined. Its documents hold no text and no fields any more."""

    batch: Batch
    size: int
    sample: Sample
    groups: list[str]
    doc_ids: list[str | None]
    sets: list[str | None]
    """What the field of `--within` holds."""
    digests: list[bytes]
    texts: list[bytes]
    """A hash of each text alone, by which copies are known."""
    fields: frozenset[str]
    guessed_languages: Counter[str]
    """What the texts look like, where the English models were used on them."""
    languages: Mapping[str | None, list[str]]
    """By field (None: the text itself) the code of each language, "" where it is not known."""
    inputs: PreparedShard | None = None
    """What the texts were made from, where that is measured too."""


def uses_annotator(settings: Settings, needs: Sequence[Need]) -> bool:
    """Words alone come from the tokenizer; as soon as a layer needs more (tags, trees), or another
    annotator was chosen, everything comes from the annotator."""
    layers = annotated_layers(needs)
    return settings.annotator != annotators.DEFAULT or not _FROM_WORDS.issuperset(layers)


def annotated_layers(needs: Sequence[Need]) -> list[str]:
    """The layers that the annotator must make; heads come with the dependencies."""
    layers = [need.layer for need in needs if need.tokenizer is None and need.layer != RAW]
    return list(dict.fromkeys("dep" if layer == HEAD else layer for layer in layers))


@dataclass(frozen=True, slots=True)
class Preparation:
    """The work on one shard; small and picklable, since it travels to worker processes."""

    needs: tuple[Need, ...]
    settings: Settings
    inputs: str | None
    """The field of what texts were made from, where that is measured too."""
    skip: bool
    languages: bool
    """Whether anybody asks for the languages of the texts."""

    def __call__(self, shard: Shard) -> PreparedShard:
        return self.piece(shard.read(), shard.size)

    def piece(self, batch: Batch, size: int, annotation: Annotation | None = None) -> PreparedShard:
        """A batch, annotated here unless that was done before."""
        if annotation is None:
            batch = self._checked(batch, skip=self.skip)
        else:
            self._checked(batch, skip=False)  # stored pieces cannot lose a document
        documents = batch.documents
        groups = [_group(document, self.settings.by, batch.label) for document in documents]
        codes = self._languages(documents, groups)
        guessed: Counter[str] = Counter()
        if annotation is None and uses_annotator(self.settings, self.needs):
            if self.settings.annotator == annotators.DEFAULT:
                guessed = glance([document.text for document in documents])
            settled = [
                replace(document, meta={**document.meta, SETTLED: code})
                for document, code in zip(documents, codes[None])
            ]
            annotator = annotators.get(self.settings.annotator)
            annotation = annotator(settled, annotated_layers(self.needs))
        return PreparedShard(
            batch=batch.bare(),
            size=size,
            sample=self._sample(documents, annotation),
            groups=groups,
            doc_ids=[_as_text(document.meta.get(self.settings.cluster)) for document in documents],
            sets=[_as_text(doc.meta.get(self.settings.within or "")) for doc in documents],
            digests=[self._digest(document) for document in documents],
            texts=[hash_id(document.text, 0) for document in documents],
            # Not the source that was made of its file's name.
            fields=frozenset(
                name
                for document in documents[:1]
                for name, value in document.meta.items()
                if name != "source" or value != batch.label
            ),
            guessed_languages=guessed,
            languages=codes,
            inputs=self._inputs(batch),
        )

    def _languages(
        self, documents: Sequence[Document], groups: Sequence[str]
    ) -> dict[str | None, list[str]]:
        """The languages of the texts and of the fields that are read as texts."""
        if not self.languages:
            return {None: [""] * len(documents)}
        fields = {field: self._field_texts(documents, field) for field in self._fields()}
        return {
            None: _by_source(documents, groups),
            **{field: _by_source(texts, groups) for field, texts in fields.items()},
        }

    def _field_texts(self, documents: Sequence[Document], field: str) -> list[Document]:
        """What a field holds as documents, with the language that the record states of it."""
        return [
            Document(d.id, _join_texts(d.meta[field]), {SETTLED: declared(d.meta, f"{field}_")})
            for d in documents
        ]

    def _inputs(self, batch: Batch) -> PreparedShard | None:
        """What the texts were made from, each text once, as a piece of its own."""
        if self.inputs is None:
            return None
        by, cluster, source = self.settings.by, self.settings.cluster, input_name(self.inputs)
        by_group: dict[tuple[str, ...], tuple[Document, int]] = {}
        for document, line in zip(batch.documents, batch.lines):
            text = document.meta.get(self.inputs)
            if isinstance(text, str) and text.strip():
                doc_id = _as_text(document.meta.get(DOC_ID))
                # Grouped as the text is, but not by who wrote that.
                meta: dict[str, object] = {name: document.meta.get(name) for name in by}
                meta |= {"source" if "source" in by else by[-1]: source} if by else {}
                # The record's own language is that of the text, not of what it was made from.
                meta[SETTLED] = declared(document.meta, f"{self.inputs}_")
                if document.meta.get(cluster) is not None:
                    meta.setdefault(cluster, _as_text(document.meta[cluster]))
                # Named by what it is, not by who answered it, so that it is known again.
                groups = [str(meta[name]) for name in by if meta[name] != source]
                name = " ".join([*groups, self.inputs, doc_id or hash_id(text, 0).hex()])
                by_group.setdefault((*groups, text), (Document(name, text, meta), line))
        if not by_group:
            return None
        documents, lines = map(list, zip(*by_group.values()))
        inputs = replace(batch, documents=documents, lines=lines, label=source, problems=[])
        settings = replace(self.settings, within=None)
        return replace(self, settings=settings, inputs=None).piece(inputs, 0)

    def _sample(self, documents: Sequence[Document], annotation: Annotation | None) -> Sample:
        texts = [document.text for document in documents]
        layered = _LayerMaker(self.settings.tokenizer, texts, annotation)
        beside = {field: self._beside(documents, field) for field in self._fields()}
        words = layered.words()
        return Sample(
            words=words.text_ends - words.text_starts,
            layers={
                need: (layered if need.field is None else beside[need.field]).layer(need)
                for need in self.needs
                if need.layer != RAW
            },
            raws={
                need.field: RawText.of(texts if need.field is None else beside[need.field].texts)
                for need in self.needs
                if need.layer == RAW
            },
        )

    def _fields(self) -> list[str]:
        return list(dict.fromkeys(need.field for need in self.needs if need.field is not None))

    def _beside(self, documents: Sequence[Document], field: str) -> _LayerMaker:
        """What a field holds, with the layers that are needed of it."""
        needs = [need for need in self.needs if need.field == field]
        plain = self._field_texts(documents, field)
        annotation = None
        if uses_annotator(self.settings, self.needs) and annotated_layers(needs):
            annotation = annotators.get(self.settings.annotator)(plain, annotated_layers(needs))
        texts = [document.text for document in plain]
        return _LayerMaker(self.settings.tokenizer, texts, annotation)

    def _digest(self, document: Document) -> bytes:
        """Of all that is counted: the text, and the fields that are read as texts."""
        hashed = digest(document)
        for field in self._fields():
            hashed = digest(Document(hashed.hex(), _join_texts(document.meta[field])))
        return hashed

    def _checked(self, batch: Batch, *, skip: bool) -> Batch:
        """The batch without records that lack a field; raises unless they are skipped."""
        problems: dict[int, InputError] = {}
        for number, document in enumerate(batch.documents):
            for field, asking, wrong in self._wrong(document):
                remedy = f"The record has: {', '.join(document.meta) or 'no other field'}"
                if field in document.meta:
                    remedy = f"Fix the record, or choose another field; {SKIP}"
                where = {"file": batch.file, "field": field, "remedy": remedy}
                problem = f"the field that {asking} {wrong}"
                problems[number] = InputError(problem, line=batch.lines[number], **where)
                break
        if not problems:
            return batch
        if not skip:
            raise next(iter(problems.values()))
        valid = [number for number in range(len(batch.documents)) if number not in problems]
        return replace(
            batch,
            documents=[batch.documents[number] for number in valid],
            lines=[batch.lines[number] for number in valid],
            problems=[*batch.problems, *problems.values()],
        )

    def _wrong(self, document: Document) -> Iterator[tuple[str, str, str]]:
        """Field, who asks for it, and what is wrong with it."""
        flag_of = dict.fromkeys(self.settings.by, "--by")
        if self.settings.within:
            flag_of.setdefault(self.settings.within, "--within")
        if self.settings.cluster != DOC_ID:
            flag_of.setdefault(self.settings.cluster, "--cluster")
        for field, flag in flag_of.items():
            if document.meta.get(field) is None:
                yield field, f"{flag} names", describe_absence(document.meta, field)
        for field in self._fields():
            needs = [need for need in self.needs if need.field == field]
            several, empty = (all(flags) for flags in zip(*((n.several, n.empty) for n in needs)))
            value = document.meta.get(field)
            if value is None:
                null = field in document.meta
                wrong = None if null and empty else describe_absence(document.meta, field)
            else:
                wrong = _text_problem(value, several)
            if wrong:
                yield field, "the measure reads", wrong


class _LayerMaker:
    """Texts and the layers over them, each made once, when it is first asked for."""

    def __init__(self, tokenizer: str, texts: list[str], annotation: Annotation | None) -> None:
        self.tokenizer, self.texts, self.annotation = tokenizer, texts, annotation
        self._words: dict[str, Layer] = {}

    def words(self, tokenizer: str | None = None) -> Layer:
        if tokenizer is None and self.annotation is not None:
            return self.annotation.word
        name = tokenizer or self.tokenizer
        if name not in self._words:
            self._words[name] = words.get(name)(self.texts)
        return self._words[name]

    def layer(self, need: Need) -> Layer:
        if need.tokenizer is None and self.annotation is not None:
            if need.layer == HEAD and self.annotation.heads is not None:
                return head_layer(self.annotation.word, self.annotation.heads)
            return {**self.annotation.layers, **self.annotation.trees}[need.layer]
        return derive(self.words(need.tokenizer), need.layer)


def prepare_stored(preparation: Preparation, store: Store, file: str) -> PreparedShard:
    """A piece that was annotated before, by its file's name."""
    batch, annotation = store.piece(file)
    return preparation.piece(batch, 1, annotation)


def hash_id(name: str, seed: int) -> bytes:
    salt = seed.to_bytes(8, "little")
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, salt=salt).digest()


def _by_source(documents: Sequence[Document], groups: Sequence[str]) -> list[str]:
    """The language of each document: as its record says, or as the texts of its source look."""
    codes = [""] * len(documents)
    members: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    for places in members.values():
        for place, code in zip(places, languages([documents[place] for place in places])):
            codes[place] = code
    return codes


def _group(document: Document, by: tuple[str, ...], label: str) -> str:
    return "|".join(str(document.meta[name]) for name in by) if by else label


def _as_text(value: object) -> str | None:
    return None if value is None else str(value)


def _text_problem(value: object, several: bool) -> str | None:
    if isinstance(value, (str, int, float)):
        return None
    if not isinstance(value, (list, tuple)):
        return f"holds no text but {type(value).__name__}"
    if not value or not all(isinstance(part, str) for part in value):
        return "contains a list of values that are not texts"
    return None if several else "contains a list where one text is needed"


def _join_texts(value: str | float | Sequence[str] | None) -> str:
    """A field's text, or its texts with a mark between them that none of them holds.

    A number is read as it is written, null as nothing.
    """
    if value is None:
        return ""
    if isinstance(value, (str, int, float)):
        return str(value).replace(SEVERAL, " ")
    return SEVERAL.join(part.replace(SEVERAL, " ") for part in value)
