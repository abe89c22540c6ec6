"""The method section: every measure that ran is described and cited, with its settings."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest

from rote.core import plugins
from rote.core.metric import Metric
from rote.core.registry import find, names
from rote.core.result import Interval, Result
from rote.core.signature import Signature, option_settings
from rote.report.methods import Bibliography, parse_citation, write_methods
from rote.report.options import list_offered
from rote.report.report import Tool
from tests.report.made_results import result, study

OF_TEXTS = [name for name in list_offered() if name in plugins.members("measure")]
OF_ITEMS = [name for name in list_offered() if name not in OF_TEXTS]


def signed(name: str, **more: object) -> Result:
    """A result whose signature is the one that the measure's default settings have."""
    metric: Metric = plugins.load("measure", name).METRIC
    settings = {**option_settings(metric.options()), "sample": "all", "seed": 0, **more}
    return result(name, "x", {"human": (1.0, 0.1)}, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", OF_TEXTS)
def test_every_measure_is_described_and_all_its_works_are_listed(name: str) -> None:
    found = write_methods(study([signed(name)]))
    said = " ".join(found.paragraphs)
    assert f"{name} was measured (" not in said, "a measure needs a sentence of its own"
    cited = parse_citation(plugins.load("measure", name).METRIC.citation)
    unused = (
        *("Zhang and Shasha", "Zhang, Kishore, Wu, Weinberger and Artzi"),
        *("Rei, Stewart, Farinha and Lavie", "Guo, Shang and Clavel" if name == "keyness" else ""),
    )
    assert cited
    for work in cited:
        if work.who not in unused:
            assert any(work.who in entry and work.year in entry for entry in found.references)
            assert work.short.split(" ")[0] in said


@pytest.mark.parametrize("name", OF_ITEMS)
def test_every_study_of_a_report_is_described_and_cited(name: str) -> None:
    record = find(name)
    settings = defaultdict(lambda: "7", neighbours="none", variant="exact", count="documents")
    assert record.method is not None
    assert record.method(settings)[0].isupper()
    assert parse_citation(record.citation)


def test_every_work_has_a_title() -> None:
    books = Bibliography(find(name).citation for name in list_offered())
    assert all(entry.count(". ") >= 1 and len(entry) > 40 for entry in books.entries())


def test_two_works_of_the_same_authors_and_year_are_told_apart() -> None:
    found = write_methods(study([signed("templates"), signed("self-repetition")]))
    said = " ".join(found.paragraphs)
    assert "Shaib et al. 2024a" in said
    assert "Shaib et al. 2024b" in said
    assert sum("(2024a)" in entry or "(2024b)" in entry for entry in found.references) == 2


def test_a_work_is_listed_once_and_in_order() -> None:
    made = [signed(name) for name in ("lexical", "syntactic", "semantic")]
    entries = write_methods(study([*made, signed("keyness", of="patterns")])).references
    assert sum(entry.startswith("Guo") for entry in entries) == 1
    assert list(entries) == sorted(entries, key=str.casefold)


def test_settings_that_change_a_number_are_in_the_text() -> None:
    made = [
        signed("lexical", window=77, sample=500),
        signed("templates", n=9, variant="paper"),
        signed("precision-recall", k=3, sentences=1234),
        signed("novelty", within="doc_id"),
    ]
    said = " ".join(write_methods(study(made)).paragraphs)
    assert "windows of 77 words" in said
    assert "up to 500 texts per source, drawn at random" in said
    assert "n = 9" in said
    assert "variant paper" in said
    assert "the neighbour number 3" in said
    assert "1,234 sentences" in said
    assert "sets of texts with the same doc_id" in said


def test_intervals_tests_and_corrections_are_told_where_there_are_any() -> None:
    tested = result(
        *("templates", "x", {"human": (1.0, 0.1), "gpt": (2.0, 0.1)}),
        {"gpt": {"p": 0.005, "p_corrected": 0.005, "shared_doc_ids": 3}},
        **option_settings(plugins.load("measure", "templates").METRIC.options()),
        seed=5,
    )
    found = write_methods(study([replace(tested, interval=Interval(0.9, "jackknife over texts"))]))
    said = found.paragraphs[-1]
    assert "Intervals are at 90 % (jackknife over texts) for templates." in said
    assert "199 permutations" in said
    assert "same doc_id" in said
    assert "(Holm 1979)" in said
    assert "equal numbers per source" not in said
    assert "seed of all random draws is 5" in said
    row = {"p": 0.005, "p_corrected": 0.005, "shared_doc_ids": 12, "tested_texts": 24}
    fewer = result("lexical", "x", {"human": (1.0, 0.1), "gpt": (2.0, 0.1)}, {"gpt": row})
    assert (
        "equal numbers per source where they differ"
        in (write_methods(study([fewer])).paragraphs[-1])
    )
    untested = write_methods(study([signed("templates")]))
    assert not any(entry.startswith("Holm") for entry in untested.references)


def test_tools_and_version_are_named() -> None:
    made = replace(study([signed("lexical")]), tools=(Tool("spaCy en", "3.8", "MIT", "tags"),))
    said = " ".join(write_methods(made).paragraphs)
    assert "rote 0.1.0" in said
    assert "spaCy en (3.8) for tags" in said


def test_a_measure_of_another_package_is_told_by_its_settings() -> None:
    other = replace(
        signed("lexical"), measure="rhymes", signature=Signature.of({"measure": "rhymes", "n": 2})
    )
    found = write_methods(study([other]))
    assert any("rhymes was measured (n = 2" in text for text in found.paragraphs)
    assert found.references == []


def test_a_result_that_lacks_a_setting_is_told_by_those_it_has() -> None:
    older = result("lexical", "x", {"human": (1.0, 0.1)}, window=50)
    assert "lexical was measured (window = 50" in " ".join(write_methods(study([older])).paragraphs)


def test_every_work_that_a_measure_cites_can_be_found() -> None:
    """But for two whose address could not be checked."""
    nowhere = {"Nini", "Ruzzetti, Zanzotto and Caselli"}
    cited = [work for name in names() for work in parse_citation(find(name).citation)]
    assert {work.who for work in cited if not work.address} <= nowhere
    for work in cited:
        assert not work.address or work.address.startswith(("https://doi.org/10.", "https://"))
    assert (
        "doi = {10.18653/v1/2021.gem-1.7}" in Bibliography([find("originality").citation]).bibtex()
    )
