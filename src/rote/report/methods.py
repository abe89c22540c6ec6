"""The method section of a paper, written from the signatures of the results, with references."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rote.core.facets import EACH
from rote.core.numbers import format_percent, join_names, name_some
from rote.core.progress import several
from rote.core.record import SECTIONS
from rote.core.registry import of_result
from rote.core.result import Result
from rote.report.report import Material, Report
from rote.report.wording import describe_correction, list_families

_HOLM = "Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure"
_WESTFALL = (
    "Westfall and Young (1993), Resampling-Based Multiple Testing: Examples and Methods for "
    "p-Value Adjustment"
)
_BENJAMINI = (
    "Benjamini and Hochberg (1995), Controlling the False Discovery Rate: A Practical and Powerful "
    "Approach to Multiple Testing"
)
_SCHUIRMANN = (
    "Schuirmann (1987), A Comparison of the Two One-Sided Tests Procedure and the Power Approach "
    "for Assessing the Equivalence of Average Bioavailability"
)
_MAX_SOURCES = 6


@dataclass(frozen=True, slots=True)
class Methods:
    paragraphs: Sequence[str]
    references: Sequence[str]
    addresses: Sequence[str] = ()
    """Of each reference: its DOI or address, where that is known."""
    bibtex: str = ""


def write_methods(study: Report) -> Methods:
    citations = [cited_works(result) for result in study.results]
    tested = any(result.comparisons for result in study.results)
    books = Bibliography([*citations, *(_statistics_works(study.results) if tested else [])])
    paragraphs = [_describe_texts(study), _describe_tools(study)]
    for part in _group_results(study.results):
        paragraphs.append(" ".join(_describe_measure(result, books) for result in part))
    paragraphs.append(_describe_uncertainty(study, books))
    filled = [text for text in paragraphs if text]
    return Methods(filled, books.entries(), books.addresses(), books.bibtex())


def cited_works(result: Result) -> str:
    """What a measure is cited by, but for works of what its settings leave out."""
    record = of_result(result.measure)
    if record is None:
        return ""
    settings = dict(result.signature.settings)
    off = [name for name in record.cited_with if settings.get(name, "None") in ("None", "0")]
    unused = [record.cited_with[name] for name in off]
    parts = record.citation.split("; ")
    return "; ".join(part for part in parts if not any(words in part for words in unused))


def _describe_texts(study: Report) -> str:
    sentences = [_describe_material(material, study.measured()) for material in study.materials]
    if study.reference:
        others = f"The other sources are compared with {study.reference}."
        sentences.append("Every two sources are compared." if study.reference == EACH else others)
    sentences.append(f"All measures were computed with rote {study.version}.")
    return " ".join(sentences)


def _describe_material(material: Material, measured: int | None) -> str:
    facts = material.facts
    if material.role == "texts":
        sources: Mapping[str, Mapping[str, int]] = facts["sources"]
        sizes = [
            f"{name}: {several(size['texts'], 'text')}, {several(size['words'], 'word')}"
            for name, size in sources.items()
        ]
        of, of_all = ("", "") if measured is None else (f"{measured:,} of ", " in all")
        return (
            f"We measured {of}{several(facts['texts'], 'text')} "
            f"({several(facts['words'], 'word')}{of_all}) of {several(len(sizes), 'source')} "
            f"({name_some(sizes, _MAX_SOURCES, '; ')}; {material.name}, "
            f"fingerprint {material.fingerprint[:12]})."
        )
    if material.role == "items":
        items = several(facts["items"], "test item")
        return f"We measured {items} ({facts['tasks']}; {material.name})."
    what = "corpus" if material.role == "corpus" else "training set"
    size = [f"{facts[name]:,} {name}" for name in ("documents", "words") if name in facts]
    mark = f"fingerprint {material.fingerprint[:12]}" if material.fingerprint else ""
    about = ", ".join(filter(None, (*size, mark)))
    return f"They are held against the {what} {material.name}{f' ({about})' if about else ''}."


def _describe_tools(study: Report) -> str:
    tools = [tool for tool in study.tools if tool.name != "rote"]
    if not tools:
        return ""
    descriptions = [f"{tool.name} ({tool.version}) for {tool.use}" for tool in tools]
    return f"We used {join_names(descriptions)}."


def _group_results(results: Sequence[Result]) -> Iterator[list[Result]]:
    """Results that belong into one paragraph: a panel and what is beside it, then by section."""
    groups: dict[str, list[Result]] = {"": [], **{name: [] for name in SECTIONS}}
    for result in results:
        record = of_result(result.measure)
        alone = record is None or record.section in ("diversity", "others")
        groups["" if alone or record is None else record.section].append(result)
    yield from filter(None, groups.values())


def _describe_measure(result: Result, books: Bibliography) -> str:
    settings = dict(result.signature.settings)
    record = of_result(result.measure)
    try:
        sentence = record.method(settings) if record and record.method else ""
    except (KeyError, ValueError):
        sentence = ""  # the signature lacks a setting: another version made it
    if not sentence:
        values = ", ".join(f"{n} = {value}" for n, value in settings.items() if n != "measure")
        sentence = f"{result.measure} was measured ({values})"
    cited = books.cite(source) if (source := cited_works(result)) else ""
    extra = []
    if settings.get("variant", "exact") != "exact":
        extra.append(f"variant {settings['variant']}")
    if settings.get("sample", "all") != "all":
        extra.append(f"up to {int(settings['sample']):,} texts per source, drawn at random")
    if settings.get("within"):
        extra.append(f"mean over sets of texts with the same {settings['within']}")
    more = f" [{'; '.join(extra)}]" if extra else ""
    return f"{sentence}{more} {cited}".rstrip() + "."


_WORKS = {"westfall-young": [_HOLM, _WESTFALL], "holm": [_HOLM], "bh": [_BENJAMINI]}


def _corrections_used(results: Sequence[Result]) -> list[str]:
    used = dict.fromkeys(row["correction"] for row in list_families(results))
    return list(used) or ["westfall-young"]


def _statistics_works(results: Sequence[Result]) -> list[str]:
    works = [work for name in _corrections_used(results) for work in _WORKS[name]]
    margin = any("margin" in row for result in results for row in result.comparisons)
    return [*works, *([_SCHUIRMANN] if margin else [])]


def _describe_procedure(correction: str, books: Bibliography) -> str:
    if correction == "holm":
        return f"over all of them {books.cite(_HOLM)}"
    if correction == "bh":
        return f"over all of them for the share of false discoveries {books.cite(_BENJAMINI)}"
    return (
        f"over all values of a source by step-down maxima of the permuted differences "
        f"{books.cite(_WESTFALL)} and over sources {books.cite(_HOLM)}"
    )


def _describe_uncertainty(study: Report, books: Bibliography) -> str:
    sentences = [*_describe_intervals(study.results), *_describe_tests(study.results, books)]
    seeds = {dict(result.signature.settings).get("seed") for result in study.results} - {None}
    if len(seeds) == 1:
        sentences.append(f"The seed of all random draws is {seeds.pop()}.")
    return " ".join(sentences)


def _describe_intervals(results: Sequence[Result]) -> Iterator[str]:
    measures_by_interval: dict[str, list[str]] = {}
    for result in results:
        if result.interval:
            level = format_percent(result.interval.level)
            how = result.interval.method.partition("; ")[0]
            measures_by_interval.setdefault(f"{level} ({how})", []).append(result.measure)
    if not measures_by_interval:
        return
    parts = [
        f"{how} for {join_names(list(dict.fromkeys(names)))}"
        for how, names in measures_by_interval.items()
    ]
    yield f"Intervals are at {'; '.join(parts)}."


def _describe_tests(results: Sequence[Result], books: Bibliography) -> Iterator[str]:
    rows = [row for result in results for row in result.comparisons]
    if not rows:
        return
    counts = sorted({int(row["permutations"]) for row in rows})
    number = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    shared = any(row.get("shared_doc_ids") for row in rows)
    how = " or ".join(_describe_procedure(name, books) for name in _corrections_used(results))
    where = ", within texts of the same doc_id where both sources have them" if shared else ""
    fewer = any("tested_texts" in row for row in rows)
    where += ", with equal numbers per source where they differ" * fewer
    pairs = any(result.reference == EACH for result in results if result.comparisons)
    whom = "Every two sources are" if pairs else "Each source is"
    yield (
        f"{whom} tested{'' if pairs else ' against the reference'} by permuting the labels of "
        f"their texts ({number} permutations, two-sided{where}); p-values are corrected {how} "
        f"({describe_correction(results)})."
    )
    if margin := next(
        filter(None, (dict(r.signature.settings).get("equivalent") for r in results)), None
    ):
        yield (
            f"A difference counts as smaller than the margin ({margin}) if two one-sided tests "
            f"reject {books.cite(_SCHUIRMANN)}, by Welch's t on the standard errors of the "
            "intervals, corrected in the same way over as many tests, by Holm unless it is "
            "Benjamini and Hochberg."
        )
    rows = [row for result in results for row in result.tables.get("matched", ())]
    if any("window" in row for row in rows):
        yield (
            "Values that depend on the number or the length of texts are also given at equal size: "
            "equally many windows from every source, one per text, all of the same length, with a "
            "separate permutation test."
        )
    elif rows:
        yield "Values that depend on the number of texts are also given at equal numbers."


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


_ARXIV = "10.48550/arXiv."
_ADDRESSES = {
    "A Framework for Few-Shot Language": "10.5281/zenodo.10256836",
    "A Simple Sequentially Rejective": "https://www.jstor.org/stable/4615733",
    "A Comparison of the Two One-Sided": "10.1007/BF01068419",
    "AI as Humanity's Salieri": f"{_ARXIV}2410.04265",
    "Accurate Methods for the Statistics": "https://aclanthology.org/J93-1003/",
    "Artificial Hivemind": f"{_ARXIV}2510.22954",
    "BERTScore": f"{_ARXIV}1904.09675",
    "BLEU: a Method": "10.3115/1073083.1073135",
    "BRIO": "10.18653/v1/2022.acl-long.207",
    "Benchmarking Linguistic Diversity": "10.1162/tacl.a.47",
    "COMET": "10.18653/v1/2020.emnlp-main.213",
    "Controlling the False Discovery Rate": "10.1111/j.2517-6161.1995.tb02031.x",
    "Computing Krippendorff's": "https://repository.upenn.edu/asc_papers/43/",
    "Cutting the Gordian Knot": "10.1080/09296171003643098",
    "Detection and Measurement of Syntactic": f"{_ARXIV}2407.00211",
    "Does Writing with Language Models": f"{_ARXIV}2309.05196",
    "Evaluating n-Gram Novelty": f"{_ARXIV}2406.13069",
    "Exploring Precision and Recall": f"{_ARXIV}2402.10693",
    "Fightin' Words": "10.1093/pan/mpn018",
    "GOT: Testing for Originality": "10.18653/v1/2021.gem-1.7",
    "Improved Precision and Recall": f"{_ARXIV}1904.06991",
    "Language Models are Few-Shot": f"{_ARXIV}2005.14165",
    "Judging LLM-as-a-Judge": f"{_ARXIV}2306.05685",
    "Lexical Repetitions Lead": "https://aclanthology.org/2023.findings-emnlp.484/",
    "MTLD, vocd-D, and HD-D": "10.3758/BRM.42.2.381",
    "Newsroom": "10.18653/v1/N18-1065",
    "NoveltyBench": f"{_ARXIV}2504.05228",
    "PaLM": f"{_ARXIV}2204.02311",
    "Perplexity": "10.1121/1.2016299",
    "ROUGE: A Package": "https://aclanthology.org/W04-1013/",
    "Reliable Fidelity": f"{_ARXIV}2002.09797",
    "Self-Repetition in Abstractive": f"{_ARXIV}2210.08145",
    "Sentence-BERT": "10.18653/v1/D19-1410",
    "Simple Fast Algorithms for the Editing": "10.1137/0218082",
    "Standardizing the Measurement of Text": f"{_ARXIV}2403.00553",
    "The Population Frequencies of Species": "10.1093/biomet/40.3-4.237",
    "The Vendi Score": f"{_ARXIV}2210.02410",
    "Training Data is More Valuable": f"{_ARXIV}2203.08773",
    "Variation across Speech": "10.1017/CBO9780511621024",
    "Weisfeiler-Lehman": "https://jmlr.org/papers/v12/shervashidze11a.html",
    "pybiber": "https://github.com/browndw/pybiber",
    "vocd: A theoretical": "10.1177/0265532207080767",
}
"""Where works are found, by the beginning of their titles."""


@dataclass(frozen=True, slots=True)
class CitedWork:
    who: str
    year: str
    title: str

    @property
    def address(self) -> str:
        """Its DOI as an address, or another; nothing where we know none."""
        address = next((to for title, to in _ADDRESSES.items() if self.title.startswith(title)), "")
        return f"https://doi.org/{address}" if address.startswith("10.") else address

    @property
    def short(self) -> str:
        authors = re.split(r", | and ", self.who)
        who = self.who if len(authors) <= 2 else f"{authors[0]} et al."
        return f"{who} {self.year}".strip()


def parse_citation(citation: str) -> list[CitedWork]:
    by_author_and_year: dict[tuple[str, str], CitedWork] = {}
    for part in citation.split("; "):
        match = _WORK.fullmatch(part.strip())
        if match:
            for year in match["years"].split(", "):
                key = (match["who"], year)
                title = TITLES.get(key) or _clean_title(match["rest"])
                by_author_and_year[key] = CitedWork(*key, title)
        elif undated := _UNDATED.fullmatch(part.strip()):
            by_author_and_year[undated["who"], ""] = CitedWork(undated["who"], "", undated["rest"])
    return list(by_author_and_year.values())


def _clean_title(rest: str) -> str:
    """The title alone: not what the work is cited for, nor where in it."""
    title = rest.removeprefix(",").strip()
    if title.startswith("for "):
        return ""
    return re.sub(
        r"(, for [a-z -]+|, (table|section) \d+|, appendix [A-Z]| \([^()]*-grams\))+$", "", title
    )


class Bibliography:
    """All works of a text, with letters behind the years of those that read the same."""

    def __init__(self, citations: Iterable[str]) -> None:
        self._works: dict[tuple[str, str, str], CitedWork] = {}
        for work in (work for citation in citations for work in parse_citation(citation)):
            # The same work may be named with its title here and without it there.
            self._works.setdefault((work.who, work.year, work.title[:20]), work)
        alike: dict[str, list[CitedWork]] = {}
        for work in sorted(self._works.values(), key=lambda w: (w.who, w.title)):
            alike.setdefault(work.short, []).append(work)
        self._letters = {
            work: chr(ord("a") + number) if len(same) > 1 else ""
            for same in alike.values()
            for number, work in enumerate(same)
        }
        self._sorted = sorted(self._works.values(), key=lambda work: self._entry(work).casefold())

    def cite(self, citation: str) -> str:
        """`(Guo et al. 2025; Covington and McFall 2010)`."""
        cited = [self._works[w.who, w.year, w.title[:20]] for w in parse_citation(citation)]
        return f"({'; '.join(dict.fromkeys(w.short + self._letters[w] for w in cited))})"

    def entries(self) -> Sequence[str]:
        return [self._entry(work) for work in self._sorted]

    def addresses(self) -> Sequence[str]:
        """Of each entry: where it is found, if we know."""
        return [work.address for work in self._sorted]

    def bibtex(self) -> str:
        return "\n\n".join(self._bibtex(work) for work in self._sorted)

    def _bibtex(self, work: CitedWork) -> str:
        authors = re.split(r", | and ", work.who.removesuffix(" et al."))
        names = " and ".join([*authors, *(["others"] if work.who.endswith(" et al.") else [])])
        key = re.sub(r"[^a-z]", "", authors[0].lower()) + work.year + self._letters[work]
        title = f"{{{work.title}}}" if work.title else ""
        fields = {"author": names, "title": title, "year": work.year}
        doi = work.address.removeprefix("https://doi.org/")
        fields |= {"doi": doi} if doi != work.address else {"url": work.address}
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@misc{{{key},", *lines, "}"])

    def _entry(self, work: CitedWork) -> str:
        year = f" ({work.year}{self._letters[work]})" if work.year else ""
        if not work.title:
            return f"{work.who}{year}."
        return f"{work.who}{year}. {work.title}" + ("" if work.title[-1] in ".?!" else ".")
