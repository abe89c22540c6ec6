"""What a reader must know before trusting a number: about the texts, and about the tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rote.core.numbers import format_number
from rote.core.progress import several
from rote.core.record import Study
from rote.core.registry import of_result
from rote.core.result import Result
from rote.measure._correct import UNTESTED
from rote.report.report import Alert, Report
from rote.report.verdicts import FEW, TOO_FEW, Verdicts
from rote.report.wording import capitalized, listed, percent

_SHORT = 40
"""Words of a text on average, below which values of windows mean little."""
_MUCH = 1.2
"""Mean lengths of texts that differ by more than this factor are told."""
_NAMED = 6


def alerts(study: Report, facets: Sequence[Verdicts]) -> list[Alert]:
    """All of them: first what is wrong with the texts, then what tests cannot say."""
    texts = [r for r in study.results if not isinstance(of_result(r.measure), Study)]
    found = [Alert("Texts", note) for note in study.notes]
    for facet in facets:
        where = f"{facet.facet}: " if facet.facet else ""
        found += [Alert(kind, where + text) for kind, text in _of_facet(facet)]
    found += [Alert("Prompts", text) for text in _unbalanced(texts)]
    found += [Alert("Tests", text) for text in _untested(texts)]
    if study.omitted:
        names = list(dict.fromkeys(one.section for one in study.omitted))
        found.append(Alert("Left out", f"{several(len(names), 'measure')}.", "omitted"))
    return list(dict.fromkeys(found))


def _of_facet(facet: Verdicts) -> Iterator[tuple[str, str]]:
    names = [*([facet.reference] if facet.reference else []), *facet.sources]
    groups = {
        "too few to compare": [n for n in names if facet.texts[n] < TOO_FEW],
        "intervals are rough, and a test that finds nothing has little power": [
            name for name in names if TOO_FEW <= facet.texts[name] < FEW
        ],
    }
    for words, few in groups.items():
        if few:
            sizes = _some([f"{name} ({facet.texts[name]})" for name in few])
            yield "Few texts", f"fewer than {FEW} texts: {sizes}: {words}."
    means = {name: facet.words[name] / facet.texts[name] for name in names if facet.texts[name]}
    if short := [name for name, mean in means.items() if mean < _SHORT]:
        sizes = _some([f"{name} ({format_number(means[name], '.0f')})" for name in short])
        yield "Short texts", f"fewer than {_SHORT} words on average: {sizes}."
    if facet.reference in means:
        base = means[str(facet.reference)]
        lengths = [
            f"{name} {percent(abs(mean / base - 1))} {'longer' if mean > base else 'shorter'}"
            for name, mean in means.items()
            if base and mean and not 1 / _MUCH <= mean / base <= _MUCH
        ]
        if lengths:
            yield "Lengths", f"texts differ in length from {facet.reference}: {_some(lengths)}."
    if facet.said_unequal and not facet.drawn:  # else it stands below the figure
        yield "Lengths", facet.said_unequal
    for what, inside in facet.circular.items():
        verb = "occurs" if len(inside) == 1 else "occur"
        yield (
            "Circular",
            f"{listed(inside)} {verb} in the {what} itself: no verdict rests on that.",
        )
    powerless = sum(one.state == "no power" for one in facet.comparisons)
    if powerless:
        many = f"{powerless} of {len(facet.comparisons)} comparisons"
        yield "Power", f"{many} have fewer than {FEW} independent texts: the test has no power."
    for name, why in facet.left_out.items():
        yield "Left out", f"{name.lower()}: {why}."


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _unbalanced(results: Sequence[Result]) -> list[str]:
    """Pairs of sources that share some of their prompts, and not all."""
    shares: dict[str, list[str]] = {}
    for result in results:
        for row in result.comparisons:
            shared, both = row.get("shared_doc_ids") or 0, (row["source"], row["reference"])
            if not all(name in result.by_source for name in both):
                continue
            most = max(result.by_source[name].texts for name in both)
            if 0 < shared < most:
                count = f"{shared:,} of {several(most, 'prompt')}"
                shares.setdefault(count, []).append(" and ".join(both))
    return [
        f"{_some(list(dict.fromkeys(pairs)))} share {count}." for count, pairs in shares.items()
    ]


def _untested(results: Sequence[Result]) -> list[str]:
    """Too few permutations or texts find nothing, whatever there is; which measures this is about
    is said where others are tested."""
    tested = {result.measure for result in results if result.comparisons}
    measures: dict[str, set[str]] = {}
    for result in results:
        for note in result.notes:
            if note.startswith(UNTESTED):
                measures.setdefault(note, set()).add(result.measure)
    return [
        f"{capitalized(note)}." if own >= tested else f"{', '.join(sorted(own))}: {note}."
        for note, own in measures.items()
    ]
