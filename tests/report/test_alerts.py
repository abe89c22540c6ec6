"""Alerts: what limits the numbers is said once, above the details."""

from __future__ import annotations

from dataclasses import replace

from rote.report.report import Omission, Report
from rote.report.summary import list_alerts
from rote.report.verdicts import judge_facets
from tests.report.made_results import result, study
from tests.report.test_verdicts import NONE, SURE, held, two


def found(report: Report) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for one in list_alerts(report, judge_facets(report.results)):
        kinds.setdefault(one.kind, []).append(one.text)
    return kinds


def test_texts_that_are_fine_raise_none() -> None:
    assert found(study([two("templates", "per_token", 0.6, SURE)])) == {}


def test_few_and_short_texts_are_named_with_their_numbers() -> None:
    made = two(
        *("templates", "per_token", 0.6, NONE),
        texts={"human": 100, "gpt": 8},
        words={"human": 20_000, "gpt": 160},
    )
    kinds = found(study([made]))
    assert kinds["Few texts"] == [
        "fewer than 10 texts: gpt (8): intervals are rough, and tests have little power."
    ]
    assert kinds["Short texts"] == ["fewer than 40 words on average: gpt (20)."]
    assert kinds["Lengths"] == ["texts differ in length from human: gpt 90 % shorter."]
    assert kinds["Power"] == [
        "1 of 1 comparison found nothing but lacked power: fewer than 10 independent texts (gpt "
        "has 8)."
    ]


def test_prompts_that_only_some_answer_are_counted() -> None:
    made = two("templates", "per_token", 0.6, SURE)
    rows = [{**row, "shared_doc_ids": 60} for row in made.comparisons]
    kinds = found(study([replace(made, comparisons=rows)]))
    assert kinds["Prompts"] == ["gpt and human share 60 of 100 prompts."]
    # Of one author, say: whose texts need not answer anything.
    signature = made.signature.with_setting("cluster", "author")
    assert not found(study([replace(made, comparisons=rows, signature=signature)]))


def test_notes_of_tests_and_of_reading_are_there_and_so_is_what_was_left_out() -> None:
    made = replace(
        two("templates", "per_token", 0.6, SURE), notes=("not tested against human: too few",)
    )
    report = replace(
        study([made]),
        notes=("gpt: 3 of 100 texts are duplicates",),
        omitted=(Omission("overlap", "no training set"),),
    )
    kinds = found(report)
    assert kinds["Texts"] == ["gpt: 3 of 100 texts are duplicates"]
    assert kinds["Tests"] == ["Not tested against human: too few."]
    assert kinds["Left out"] == ["1 measure."]
    page = report.page()
    assert page.index('class="rote-alerts"') < page.index('id="templates"')
    assert "**Texts**: gpt" in report.markdown()


def test_what_is_circular_is_named() -> None:
    assert found(held(1.0, 0.1))["Circular"] == [
        "gpt occurs in the corpus itself: no verdict is based on that."
    ]


def test_no_usable_equal_length_is_an_alert_where_no_figure_says_it() -> None:
    made = result(
        *("lexical", "unique", {"human": (0.5, 0.01), "gpt": (0.6, 0.01)}, {"gpt": SURE}),
        higher="diverse",
        length_sensitive=True,
    )
    noted = replace(made, notes=("lexical: no usable equal length for gpt",))
    assert "no usable equal length with human" in found(study([noted]))["Lengths"][0]
