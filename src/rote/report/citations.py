"""Citations of measures as references of a paper: each work once, with what it is called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_WORK = re.compile(r"(?:on \w+: )?(?P<who>[^();:]+?) \((?P<years>\d{4}(?:, \d{4})*)\)(?P<rest>.*)")
_UNDATED = re.compile(r"(?P<who>[^();:,]+(?:, [^();:,]+)* and [^();:,]+), (?P<rest>.+)")

TITLES: Mapping[tuple[str, str], str] = {
    ("Covington and McFall", "2010"): "Cutting the Gordian Knot: The Moving-Average Type-Token "
    "Ratio (MATTR). Journal of Quantitative Linguistics 17",
    ("McCarthy and Jarvis", "2007"): "vocd: A theoretical and empirical evaluation. Language "
    "Testing 24",
    ("McCarthy and Jarvis", "2010"): "MTLD, vocd-D, and HD-D: A validation study of sophisticated "
    "approaches to lexical diversity assessment. Behavior Research Methods 42",
    (
        "Shervashidze, Schweitzer, van Leeuwen, Mehlhorn and Borgwardt",
        "2011",
    ): "Weisfeiler-Lehman Graph Kernels. Journal of Machine Learning Research 12",
    ("Zhang and Shasha", "1989"): "Simple Fast Algorithms for the Editing Distance between Trees "
    "and Related Problems. SIAM Journal on Computing 18",
    ("Papineni et al.", "2002"): "BLEU: a Method for Automatic Evaluation of Machine Translation",
    ("Good", "1953"): "The Population Frequencies of Species and the Estimation of Population "
    "Parameters. Biometrika 40",
    ("Kynkäänniemi, Karras, Laine, Lehtinen and Aila", "2019"): "Improved Precision and Recall "
    "Metric for Assessing Generative Models",
    ("Naeem, Oh, Uh, Choi and Yoo", "2020"): "Reliable Fidelity and Diversity Metrics for "
    "Generative Models",
    ("Monroe, Colaresi and Quinn", "2008"): "Fightin' Words: Lexical Feature Selection and "
    "Evaluation for Identifying the Content of Political Conflict. Political Analysis 16",
    ("Friedman and Dieng", "2023"): "The Vendi Score: A Diversity Evaluation Metric for Machine "
    "Learning",
    ("Reimers and Gurevych", "2019"): "Sentence-BERT: Sentence Embeddings using Siamese "
    "BERT-Networks",
}
"""What a work is called, where a measure's citation names its authors and what it is used for."""


@dataclass(frozen=True, slots=True)
class Work:
    """One work: its authors as they are cited, its year, its title."""

    who: str
    year: str
    title: str

    @property
    def short(self) -> str:
        authors = re.split(r", | and ", self.who)
        named = self.who if len(authors) <= 2 else f"{authors[0]} et al."
        return f"{named} {self.year}".strip()


def works(citation: str) -> list[Work]:
    """The works that a measure's citation names."""
    found: dict[tuple[str, str], Work] = {}
    for part in citation.split("; "):
        match = _WORK.fullmatch(part.strip())
        if match:
            for year in match["years"].split(", "):
                key = (match["who"], year)
                found[key] = Work(*key, TITLES.get(key) or _title(match["rest"]))
        elif undated := _UNDATED.fullmatch(part.strip()):
            found[undated["who"], ""] = Work(undated["who"], "", undated["rest"])
    return list(found.values())


def _title(rest: str) -> str:
    """The title alone: not what the work is cited for, nor where in it."""
    title = rest.removeprefix(",").strip()
    if title.startswith("for "):
        return ""
    return re.sub(r"(, for [a-z -]+|, table \d+| \([^()]*-grams\))+$", "", title)


class Bibliography:
    """All works of a text, with letters behind the years of those that read the same."""

    def __init__(self, citations: Iterable[str]) -> None:
        every = [work for citation in citations for work in works(citation)]
        self._works: dict[tuple[str, str, str], Work] = {}
        for work in every:
            # The same work may be named with its title here and without it there.
            key = (work.who, work.year, work.title[:20])
            self._works.setdefault(key, work)
        alike: dict[str, list[Work]] = {}
        for work in sorted(self._works.values(), key=lambda w: (w.who, w.title)):
            alike.setdefault(work.short, []).append(work)
        self._letters = {
            (work.who, work.year, work.title): chr(ord("a") + number) if len(same) > 1 else ""
            for same in alike.values()
            for number, work in enumerate(same)
        }

    def cite(self, citation: str) -> str:
        """`(Guo et al. 2025; Covington and McFall 2010)`."""
        said = [self._works[w.who, w.year, w.title[:20]] for w in works(citation)]
        return f"({'; '.join(dict.fromkeys(w.short + self._letter(w) for w in said))})"

    def entries(self) -> Sequence[str]:
        """The list of references, in alphabetical order."""
        return sorted((self._entry(work) for work in self._works.values()), key=str.casefold)

    def _letter(self, work: Work) -> str:
        return self._letters[work.who, work.year, work.title]

    def _entry(self, work: Work) -> str:
        year = f" ({work.year}{self._letter(work)})" if work.year else ""
        if not work.title:
            return f"{work.who}{year}."
        return f"{work.who}{year}. {work.title}" + ("" if work.title[-1] in ".?!" else ".")
