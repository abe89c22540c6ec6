"""What is said of one source beside the reference, in one facet of a study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rote.core.facets import Facet, is_input
from rote.core.progress import several
from rote.core.result import Result
from rote.report._grid import split
from rote.report.family import span
from rote.report.report import Statement
from rote.report.summary import contrast as wording
from rote.report.summary.contrast import Contrast

_MUCH = 1.2
"""Mean lengths of texts that differ by more than this factor are told."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One facet: its results, with the short names of its sources."""

    facet: Facet
    results: tuple[Result, ...]
    whole: tuple[Result, ...] = ()
    """The same with all facets."""

    @property
    def reference(self) -> str | None:
        return self.results[0].reference

    @property
    def others(self) -> list[str]:
        """The sources that are compared, without what the texts were made from."""
        names = dict.fromkeys(name for result in self.results for name in result.sources)
        return [name for name in names if name != self.reference and not is_input(name)]

    def group(self, name: str) -> str:
        return next((group for group, own in self.facet.names.items() if own == name), name)

    def size(self, name: str) -> tuple[int, int]:
        """The most texts of a source that any measure had, and their words."""
        found = [result.sources[name] for result in self.results if name in result.sources]
        best = max(found, key=lambda source: source.texts)
        return best.texts, best.words

    def factor(self, source: str) -> float:
        """How many times as long the texts of a source are as the reference's."""
        (texts, words), (others, their_words) = self.size(source), self.size(str(self.reference))
        if not (texts and words and others and their_words):
            return 1.0
        return (words / texts) / (their_words / others)

    def longer(self, source: str) -> str:
        """`35 % shorter`, where the texts differ much in length from the reference's."""
        factor = self.factor(source)
        if 1 / _MUCH <= factor <= _MUCH:
            return ""
        return f"{wording.percent(abs(factor - 1))} {'longer' if factor > 1 else 'shorter'}"


def scenes(results: Sequence[Result]) -> list[Scene]:
    parts: dict[str, tuple[Facet, list[Result]]] = {}
    for result in results:
        for facet, part in split(result):
            parts.setdefault(facet.title, (facet, []))[1].append(part)
    return [Scene(facet, tuple(own), tuple(results)) for facet, own in parts.values()]


def of_source(
    scene: Scene, source: str, own: Sequence[Contrast], each: int
) -> tuple[int, list[Statement]]:
    """How many differences a source has, and what is said of it."""
    defined = [one for one in own if not math.isnan(one.difference)]
    untested = [one for one in defined if one.sure == "untested" and one.at_equal_length is None]
    defined = [one for one in defined if one not in untested]
    by_length = [one for one in defined if is_length(one)]
    differing = _ranked([one for one in defined if differs(one)], each)
    reference, said = scene.reference, list[Statement]()
    if defined:
        said.append(_overall(scene, source, defined, differing, by_length))
    if untested:
        text = (
            f"Whether {source} differs from {reference} was not tested in "
            f"{several(len(untested), 'respect')}; the notes of the measures say why."
        )
        said.append(Statement(text, "untested", sure="untested"))
    said += [_difference(scene, one) for one in differing[:each]]
    said += [_length(scene, one) for one in by_length[: max(2, each // 2)]]
    group = scene.group(source)
    return len(differing), [replace(one, source=group) for one in said]


def _ranked(differing: Sequence[Contrast], told: int) -> list[Contrast]:
    """The clearest first; among those that are told one by one is one of each direction."""
    ranked = sorted(differing, key=lambda one: 0.0 if math.isnan(one.reaches) else -one.reaches)
    missing = {direction(one) for one in ranked} - {direction(one) for one in ranked[:told]}
    for way in sorted(missing - {""})[: max(0, told - 1)]:
        other = next(one for one in ranked if direction(one) == way)
        ranked.remove(other)
        ranked.insert(told - 1, other)
    return ranked


def is_length(one: Contrast) -> bool:
    """Whether there is a difference that was not found at equal length."""
    return one.sure in ("sure", "likely") and one.at_equal_length == "not"


def differs(one: Contrast) -> bool:
    if one.at_equal_length is None:
        return one.sure in ("sure", "likely")
    return one.at_equal_length != "not"


def only_equal(one: Contrast) -> bool:
    """Whether only the values at equal length tell the two apart, or tell it otherwise."""
    if one.at_equal_length in (None, "not"):
        return False
    return one.sure in ("not", "untested") or one.equal_difference * one.difference <= 0


def direction(one: Contrast) -> str:
    difference = one.equal_difference if only_equal(one) else one.difference
    if one.row.higher == "neither" or difference == 0:
        return ""
    other = {"diverse": "repetitive", "repetitive": "diverse"}[one.row.higher]
    return f"more {one.row.higher if difference > 0 else other}"


def _overall(
    scene: Scene,
    source: str,
    defined: Sequence[Contrast],
    differing: Sequence[Contrast],
    by_length: Sequence[Contrast],
) -> Statement:
    ways = [one for one in defined if one.row.higher != "neither"]
    gone = sum(one in by_length for one in ways)
    counts = {
        way: sum(direction(one) == f"more {way}" for one in differing)
        for way in ("repetitive", "diverse")
    }
    reference = scene.reference
    if not ways or not any(counts.values()):
        text = f"No difference between {source} and {reference} was found"
        if by_length:
            text += " at equal length"
        if differing:
            text += " in variety or repetition"
        elif len(defined) > 1:
            text += f" in any of {len(defined)} values"
        text += f"{_could_show(defined)}."
        return Statement(text, "overall", sure="not")
    first, *others = (way for way in sorted(counts, key=lambda w: -counts[w]) if counts[way])
    text = f"{source} is more {first} than {reference} in {counts[first]} of {len(ways)} respects"
    text += "".join(f" and more {way} in {counts[way]}" for way in others)
    same = [one for one in ways if not differs(one) and one not in by_length]
    text += f"; in {gone} a difference was found, but not at equal length" if gone else ""
    text += f"; in {len(same)} no difference was found{_could_show(same)}." if same else "."
    main = "repetitive" if counts["repetitive"] >= counts["diverse"] else "diverse"
    mixed = counts["repetitive"] and counts["diverse"]
    certain = all(one.sure == "sure" for one in differing)
    return Statement(
        text,
        "overall",
        direction="" if mixed else f"more {main}",
        sure="sure" if certain else "likely",
    )


def _could_show(contrasts: Sequence[Contrast]) -> str:
    """What the tests that found nothing would have found, and in how many that was little."""
    missed = [one for one in contrasts if one.own.verdict == "not found"]
    shares = [one.own.detectable / abs(one.other) for one in missed if one.relative == one.relative]
    alike = sum(one.own.equivalent for one in contrasts)
    shown = span(shares)
    return (f" ({shown} would have shown)" if shown else "") + (
        f", {'all' if alike == len(contrasts) else alike} within the margin" if alike else ""
    )


def _difference(scene: Scene, one: Contrast) -> Statement:
    headline, reference = one.headline, scene.reference
    value, other = one.value, one.other
    if only_equal(one):
        value, other = equal_values(one)
        verb = headline.more if one.equal_difference > 0 else headline.less
        text = (
            f"At equal length {one.source} {verb} than {reference}: "
            f"{wording.pair(value, other, headline)} "
            f"({wording.p_value(equal_p(one))}); over all texts it is "
            f"{wording.number(one.value, headline)} against {wording.number(one.other, headline)}, "
            "which length moves."
        )
    else:
        verb = headline.more if one.difference > 0 else headline.less
        hedge = "probably " if one.sure == "likely" else ""
        text = (
            f"{one.source} {hedge}{verb} than {reference}: "
            f"{wording.pair(value, other, headline)} ({wording.how_much(one)})."
        )
        text += _on_length(scene, one)
    return _statement(text, "difference", one, value - other)


def _on_length(scene: Scene, one: Contrast) -> str:
    """What length has to do with a difference that stays."""
    if one.at_equal_length is not None:
        value, other = (wording.number(v, one.headline) for v in equal_values(one))
        what = "lengths of sentences" if one.same else "length"
        return f" At equal {what}: {value} against {other}."
    if one.row.length_sensitive and (longer := scene.longer(one.source)):
        return f" Its texts are {longer}, and this value moves with length."
    return ""


def _length(scene: Scene, one: Contrast) -> Statement:
    headline = one.headline
    verb = headline.more if one.difference > 0 else headline.less
    value, other = (wording.number(v, headline) for v in equal_values(one))
    what = "lengths of sentences" if one.same else "length"
    text = (
        f"{one.source} {verb} than {scene.reference} "
        f"({wording.pair(one.value, one.other, headline)}), but at equal {what} no difference was "
        f"found: {value} against {other} ({wording.p_value(equal_p(one))})."
    )
    return replace(_statement(text, "length", one, one.difference), direction="", sure="not")


def equal_values(one: Contrast) -> tuple[float, float]:
    if one.same is not None:
        return one.same.value, one.same.other
    return one.own.matched, one.reference.matched


def equal_p(one: Contrast) -> float:
    return one.same.p if one.same is not None else one.own.matched_p_corrected


def _statement(text: str, kind: str, one: Contrast, difference: float) -> Statement:
    return Statement(
        text,
        kind,
        measure=one.row.measure,
        value=one.headline.value,
        direction=direction(one),
        sure=one.sure if not only_equal(one) else "sure",
        difference=difference,
        relative=None if math.isnan(one.relative) or only_equal(one) else one.relative,
        p=None if math.isnan(one.p) else one.p,
    )
