"""What the scores are told; each looks at the fields that concern it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from rote.annotate import embeddings
from rote.core.errors import OptionError, UnknownName
from rote.core.metric import check_options, option
from rote.measure import _sentences as sentence_embeddings
from rote.measure.reference_scores.neural import sign_bertscore, sign_comet

Variant: TypeAlias = Literal["exact", "paper"]
NONE = "none"
OF_REFERENCE, OF_DOCUMENT, OF_BOTH = ("rouge", "cosine"), ("fragments",), ("entities",)
"""Scores by the fields of the records that they need."""
BY_MODEL = ("bertscore", "comet")
"""Scores by a model that has to be named."""
SCORES = (*OF_REFERENCE, *BY_MODEL, *OF_DOCUMENT, *OF_BOTH)


def _sign_stemmer(stemming: bool) -> str | bool:
    from importlib.metadata import version

    return f"porter/nltk-{version('nltk')}" if stemming else False


@dataclass(frozen=True, slots=True)
class Options:
    scores: tuple[str, ...] = option(
        (),
        "which scores: rouge, cosine, bertscore, comet, fragments, entities; default: all that the "
        "fields of the records and the models allow",
        metavar="NAME,...",
        common=True,
    )
    reference_field: str = option(
        "reference",
        "field with the reference to compare with",
        metavar="FIELD",
        common=True,
    )
    document_field: str = option(
        "document",
        "field with the source document, for fragments, entities and comet",
        metavar="FIELD",
        common=True,
    )
    rouge: Literal["f", "precision", "recall"] = option(
        "f", "which ROUGE; precision is of the text, recall of the reference"
    )
    stemming: bool = option(
        False, "ROUGE of Porter stems, as rouge-score does when asked to", sign=_sign_stemmer
    )
    embedder: str = option(
        embeddings.DEFAULT,
        "embedder for cosine: minilm (English), sentence-transformers:NAME; de=NAME: for German "
        "texts",
        sign=lambda name: name if name == NONE else sentence_embeddings.signed(name),
    )
    bertscore: str | None = option(
        None,
        "give BERTScore, by this model: a path, or a name that bert-score knows",
        metavar="MODEL",
        sign=sign_bertscore,
        common=True,
    )
    bertscore_layer: int | None = option(
        None,
        "layer of that model; needed for a path",
        sign=lambda layer: layer,
        least=0,
        most=1_000,
    )
    comet: str | None = option(
        None,
        "give COMET, by this model: a checkpoint's path, or a name such as "
        "Unbabel/wmt22-comet-da (extra comet)",
        metavar="MODEL",
        sign=sign_comet,
    )
    variant: Variant = option(
        "exact",
        "fragments: the longest runs, or the procedure as it is printed (paper); recall of "
        "entities: of the reference's, or of the text's own (paper)",
        common=True,
    )

    def __post_init__(self) -> None:
        check_options(self)
        for name in self.scores:
            if name not in SCORES:
                raise UnknownName("score", name, SCORES)
            if name in BY_MODEL and getattr(self, name) is None:
                raise OptionError(f"{name} needs a model: name one with --{name}")
        if not self.reference_field or not self.document_field:
            raise OptionError("reference_field and document_field must name fields of the records")


def chosen_scores(options: Options) -> tuple[str, ...]:
    """The scores asked for, in their order: a model that is named asks for its score."""
    with_model = [name for name in BY_MODEL if getattr(options, name) is not None]
    names = {*(options.scores or (*OF_REFERENCE, *OF_DOCUMENT, *OF_BOTH)), *with_model}
    return tuple(name for name in SCORES if name in names)


def possible_scores(options: Options, fields: Collection[str]) -> tuple[str, ...]:
    """Those of the chosen scores that records with these fields allow."""
    of_reference, of_document = options.reference_field in fields, options.document_field in fields
    allowed = {
        **dict.fromkeys((*OF_REFERENCE, "bertscore"), of_reference),
        **dict.fromkeys(OF_DOCUMENT, of_document),
        **dict.fromkeys((*OF_BOTH, "comet"), of_reference and of_document),
    }
    return tuple(name for name in chosen_scores(options) if allowed[name])


def settle_scores(options: Options, fields: Collection[str]) -> Options:
    """The options for records with these fields: where no scores are named, all that they allow."""
    names = options.scores or possible_scores(options, fields)
    if not names:
        raise OptionError(
            f"the records have neither a field '{options.reference_field}' nor "
            f"'{options.document_field}' to score texts against: --reference-field or "
            "--document-field names one"
        )
    chosen = chosen_scores(replace(options, scores=names))
    embedder = options.embedder if "cosine" in chosen else NONE
    return replace(options, scores=chosen, embedder=embedder)
