"""Who reads the texts of a source: the annotator and the embedder of its language.

Sources whose language nobody asked for knows are left out of a measure that needs such a model.
Sources that are read by different models are measured apart: their values are not exchangeable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rote.annotate import annotators, embeddings
from rote.annotate.language_check import by_language, language_name
from rote.annotate.store import Store
from rote.core.errors import OptionError
from rote.core.facets import is_input
from rote.core.layer import DERIVED
from rote.core.metric import Metric
from rote.core.sample import Need
from rote.measure.driver.collection import CollectedTexts
from rote.measure.driver.preparation import annotated_layers
from rote.measure.driver.settings import Settings

_ENGLISH = "en"


class UnknownLanguage(OptionError):
    """No source is left that the models of a measure know."""


@dataclass(frozen=True, slots=True)
class LanguagePart:
    """Sources that the same models read, the options that name these, and who made the layers."""

    collected: CollectedTexts
    options: Any
    tokenizers: Mapping[str | None, str]
    code: str
    """The language, where it is not that of most sources."""


def needs_language(metric: Metric, options: Any) -> bool:
    return metric.english or metric.embeds(options) or bool(_annotated_needs(metric, options))


def split_languages(
    metric: Metric,
    options: Any,
    collected: CollectedTexts,
    settings: Settings,
    tokenizers: Mapping[str | None, str],
    *,
    store: Store | None = None,
) -> tuple[list[LanguagePart], list[str]]:
    """The sources by who reads them, those with the reference first, and what is left out."""
    if not needs_language(metric, options):
        return [LanguagePart(collected, options, tokenizers, "")], []
    members: dict[tuple[str, str], list[str]] = {}
    notes: dict[str, list[str]] = {}
    for group in collected.groups:
        stored = store is not None and not is_input(group)
        setting = store.annotator if store is not None and stored else settings.annotator
        languages = _Languages(metric, options, setting, group, collected.languages)
        if why := languages.problem():
            notes.setdefault(why, []).append(group)
        else:
            members.setdefault((languages.annotator(), languages.embedder()), []).append(group)
    name = metric.name
    left_out = [f"{name} leaves out {', '.join(s)}: {why}" for why, s in notes.items()]
    if not members:
        raise UnknownLanguage("; ".join(left_out))
    parts = []
    for place, (annotator, embedder) in enumerate(_first_reader(members, collected, settings)):
        sources = members[annotator, embedder]
        part_tokenizers = dict(tokenizers)
        if place and annotator:
            part_tokenizers[None] = annotators.get(annotator).signature
        parts.append(
            LanguagePart(
                collected=collected.only(sources),
                options=replace(options, embedder=embedder) if embedder else options,
                tokenizers=part_tokenizers,
                code=collected.languages.get((sources[0], None), "") if place else "",
            )
        )
    return parts, left_out


def language_signatures(
    metric: Metric, options: Any, collected: CollectedTexts, settings: Settings
) -> tuple[str, ...]:
    """What a signature says of models for single languages: of those that the texts have."""
    there = set(collected.languages.values()) - {""}
    models: list[tuple[Any, str]] = [(annotators, settings.annotator)]
    if metric.embeds(options):
        models.append((embeddings, options.embedder))
    return tuple(
        f"{code}={room.get(name).signature}"
        for room, setting in models
        for code, name in by_language(setting, room.DEFAULT).items()
        if code in there
    )


def _annotated_needs(metric: Metric, options: Any) -> list[Need]:
    """Layers that only models make."""
    needs = [need for need in metric.needs(options) if annotated_layers([need])]
    return [need for need in needs if need.layer not in ("word", *DERIVED)]


@dataclass(frozen=True, slots=True)
class _Languages:
    """Who reads the texts of one source for a measure, and the fields beside them."""

    metric: Metric
    options: Any
    setting: str
    group: str
    codes: Mapping[tuple[str, str | None], str]

    def code(self, field: str | None = None) -> str:
        return self.codes.get((self.group, field), "")

    def problem(self) -> str:
        """Why the source is left out; "" where the models know its language."""
        if self.metric.english and self.code() not in ("", _ENGLISH):
            return _note("texts", self.code(), f"its rules are about {language_name(_ENGLISH)}")
        for need in _annotated_needs(self.metric, self.options):
            if why := self._not_annotated(need):
                return _note(need.field or "texts", self.code(need.field), why)
        if self.embedder():
            for field in dict.fromkeys(need.field for need in self.metric.needs(self.options)):
                if why := self._not_embedded(field):
                    return _note(field or "texts", self.code(field), why)
        return ""

    def annotator(self, field: str | None = None) -> str:
        """The name of who makes the layers; "" where no model has to."""
        if not _annotated_needs(self.metric, self.options):
            return ""
        names = by_language(self.setting, annotators.DEFAULT)
        return names.get(self.code(field), names[""])

    def embedder(self, field: str | None = None) -> str:
        if not self.metric.embeds(self.options):
            return ""
        names = by_language(self.options.embedder, embeddings.DEFAULT)
        return names.get(self.code(field), names[""])

    def _not_annotated(self, need: Need) -> str:
        name, code = self.annotator(need.field), self.code(need.field)
        annotator = annotators.get(name)
        (layer,) = annotated_layers([need])
        if layer not in annotator.gives:
            return f"the annotator {name} does not provide the layer '{layer}'"
        # Whoever names an annotator for a language wants it read by that one.
        is_requested = code in by_language(self.setting, annotators.DEFAULT)
        known = None if is_requested else getattr(annotator, "language", None)
        if not code or known is None or code == known:
            return ""
        return (
            f"the annotator {name} knows {language_name(known)} (--annotator {code}=NAME names "
            "another)"
        )

    def _not_embedded(self, field: str | None) -> str:
        name, code = self.embedder(field), self.code(field)
        if name != self.embedder():
            return (
                f"the texts use {self.embedder()}, and vectors of different models are not "
                "comparable"
            )
        requested = by_language(self.options.embedder, embeddings.DEFAULT)
        if code in ("", _ENGLISH, *requested) or not embeddings.get(name).english:
            return ""
        return (
            f"the embedder {name} knows {language_name(_ENGLISH)} (--embedder {code}=NAME names "
            "another)"
        )


def _note(what: str, code: str, why: str) -> str:
    subject = "the texts are" if what == "texts" else f"the field '{what}' is"
    return f"{subject} taken for {language_name(code)}, and {why}" if code else why


def _first_reader(
    members: Mapping[tuple[str, str], Sequence[str]],
    collected: CollectedTexts,
    settings: Settings,
) -> list[tuple[str, str]]:
    """The readers, first who reads the reference, or else most texts."""

    def rank(readers: tuple[str, str]) -> tuple[bool, int]:
        sources = members[readers]
        texts = sum(len(collected.groups[group]) for group in sources if not is_input(group))
        return all(
            settings.reference not in (group, *group.split("|")) for group in sources
        ), -texts

    return sorted(members, key=rank)
