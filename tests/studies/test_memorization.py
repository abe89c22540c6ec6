"""The study of memorization: scores of items, and what they are held against."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import spearmanr

import rote
from rote.cli.main import rote as command
from rote.core.errors import InputError, OptionError
from rote.core.model import Continuation
from rote.core.progress import Silent
from rote.core.result import Result
from rote.corpus.items import Item
from rote.models.backends.fake import Fake
from rote.report.charts import draw_figures
from rote.report.result_tables import results_text
from rote.search.backends import open_backend
from rote.studies import _memorization_scores as attacks
from rote.studies._memorization_classifiers import count_words, group_overlap, word_baseline
from rote.studies._memorization_scores import score_attacks
from tests.kit import write_jsonl

# A model that was trained on "a b c d e f" and little else.
LEARNT = {"": {"a": 0.9, "x": 0.1}} | {
    one: {other: 0.8, "x": 0.1, "y": 0.1} for one, other in zip("abcdef", "bcdefa")
}
MODEL = Fake(LEARNT | {"x": {"y": 0.5, "x": 0.5}, "y": {"x": 0.5, "y": 0.5}})
MEMBER, OTHER = "a b c d e f", "x y x y x x"


def memorization(items: Sequence[Item], models: Mapping[str, Any], **keywords: Any) -> Result:
    return rote.memorization(items, model=models, **keywords)


def item(text: str, number: int = 0, **meta: object) -> Item:
    return Item(str(number), "texts", "", (text,), 0, "", meta)


def choice(right: str, wrong: str, number: int = 0, **meta: object) -> Item:
    return Item(str(number), "pairs", "", (right, wrong), 0, "", meta)


def loss(text: str) -> float:
    return attacks.loss(MODEL.score([Continuation("", text)])[0])


def test_scores_are_those_of_right_and_wrong_options() -> None:
    items = [choice(MEMBER, OTHER), item(OTHER), Item("2", "t", "", ("a", "b"), None)]
    found = score_attacks(items, MODEL, 0.2, None, Silent())
    assert found.of_right("loss")[:2] == pytest.approx([loss(MEMBER), loss(OTHER)])
    assert math.isnan(found.of_right("loss")[2])
    assert found.of_wrong("loss")[0] == pytest.approx(loss(OTHER))
    assert math.isnan(found.of_wrong("loss")[1])
    assert found.of_right("tde_accuracy")[:2].tolist() == [1, 0]
    assert np.isnan(found.of_right("neighbours")).all()


def test_differences_keep_their_sign_where_scores_are_negative() -> None:
    found = score_attacks([choice(MEMBER, OTHER)], MODEL, 0.2, None, Silent())
    right, wrong = found.of_right("tde_likelihood")[0], found.of_wrong("tde_likelihood")[0]
    assert wrong < right < 0
    assert found.differences("tde_likelihood")[0] == pytest.approx((right - wrong) / -right)
    assert found.differences("tde_likelihood")[0] > 0


def test_neighbours_are_asked_for_and_subtracted() -> None:
    def near(texts: Sequence[str], reporter: object) -> list[list[str]]:
        return [[text.replace("c", "x"), text.replace("d", "x")] for text in texts]

    found = score_attacks([item(MEMBER)], MODEL, 0.2, near, Silent())
    beside = [loss(MEMBER.replace("c", "x")), loss(MEMBER.replace("d", "x"))]
    expected = loss(MEMBER) - sum(beside) / 2
    assert found.of_right("neighbours")[0] == pytest.approx(expected)
    assert expected < 0


def known(**keywords: object) -> Result:
    items = [
        item(MEMBER, 0, member=True, repeats=4),
        item("a b c d", 1, member=True, repeats=1),
        item(OTHER, 2, member=False, repeats=0),
        item("y y x", 3, member=False, repeats=0),
    ]
    return memorization(items, {"toy": MODEL}, member="member", **keywords)


def test_members_are_told_from_others_by_every_attack_that_works() -> None:
    rows = {row["attack"]: row for row in known().tables["membership"]}
    assert set(rows) == {a.name for a in attacks.ATTACKS} - {"neighbours"}
    assert rows["loss"]["auc"] == 1  # lower for members, and turned
    assert (rows["loss"]["members"], rows["loss"]["others"]) == (2, 2)
    assert rows["loss"]["found"] == 1


def test_groups_of_members_are_each_held_against_all_others() -> None:
    rows = [r for r in known(by=("repeats",)).tables["membership"] if r["attack"] == "loss"]
    assert {(row["group"], row["members"], row["others"]) for row in rows} == {
        ("4", 1, 2),
        ("1", 1, 2),
    }


def test_the_overlap_of_both_groups_is_reported(tmp_path: Path) -> None:
    rows = known(n=2).tables["overlap"]
    assert [(row["of"], row["in"]) for row in rows] == [
        ("members", "others"),
        ("others", "members"),
    ]
    assert [row["share"] for row in rows] == [0, 0]
    assert group_overlap(["A b c d"], ["x b c y", "a"], 2)[0] == pytest.approx(1 / 3)
    assert np.isnan(group_overlap(["a"], ["a"], 2)).all()
    rote.index([MEMBER, MEMBER, "x y"], output=tmp_path / "index", layers=("lower",))
    backend = open_backend(str(tmp_path / "index"))
    items = [item(MEMBER, 0, member=1), item(OTHER, 1, member=0)]
    options = {"member": "member", "n": 2}
    result = memorization(items, {"toy": MODEL}, **options, corpus=backend)
    rows = [row for row in result.tables["overlap"] if row["in"] == "corpus"]
    shares = {row["of"]: row["share"] for row in rows}
    assert shares == {"members": 1, "others": 2 / 5}  # x y, twice, of five
    assert [row["copies"] for row in result.tables["items"]] == [2, 0]


def test_scores_go_with_frequency_where_they_do(tmp_path: Path) -> None:
    texts = [MEMBER] * 5 + [MEMBER[2:]] * 3 + [MEMBER[4:]] * 2 + ["x y x"]
    rote.index(texts, output=tmp_path / "index", layers=("lower",))
    backend = open_backend(str(tmp_path / "index"))
    items = [item(text, n) for n, text in enumerate(dict.fromkeys([*texts, OTHER]))]
    result = memorization(items, {"toy": MODEL}, n=2, corpus=backend)
    rows = {(r["attack"], r["frequency"]): r["spearman"] for r in result.tables["frequency"]}
    # Shorter runs stand inside longer ones, so their counts add up: 5, 8, 10, 1, 0.
    copies = [row["copies"] for row in result.tables["items"]]
    assert copies == [5, 8, 10, 1, 0]
    own = [row["loss"] for row in result.tables["items"]]
    assert rows["loss", "copies"] == pytest.approx(spearmanr(own, copies).statistic)


def test_frequency_is_looked_at_over_all_items_where_groups_are_made_by_it(tmp_path: Path) -> None:
    texts = [MEMBER, MEMBER[:7], MEMBER[:5], "x y x"]
    rote.index(texts, output=tmp_path / "index", layers=("lower",))
    backend = open_backend(str(tmp_path / "index"))
    items = [item(text, n, repeats=n) for n, text in enumerate(texts)]
    options = {"n": 2, "by": ("repeats",)}
    found = memorization(items, {"toy": MODEL}, **options, corpus=backend)
    rows = [row for row in found.tables["frequency"] if row["frequency"] == "copies"]
    assert {(row["group"], row["items"]) for row in rows} == {("all items", 4)}


def test_right_answers_are_predicted_and_halved() -> None:
    rng = np.random.default_rng(0)
    items = []
    for number in range(60):
        right = " ".join(rng.choice(list("abcdef"), 6))
        wrong = " ".join(rng.choice(list("xyabc"), 6))
        better = loss(right) < loss(wrong)
        acc = int(better if rng.random() < 0.8 else not better)
        items.append(choice(right, wrong, number, acc=acc))
    result = memorization(items, {"toy": MODEL})
    rows = {row["attack"]: row for row in result.tables["prediction"]}
    assert [one["of"] for one in rows["loss"]["coefficients"]] == ["right", "wrong"]
    assert rows["loss"]["items"] == 60
    share = max(rows["loss"]["right"], 60 - rows["loss"]["right"]) / 60
    assert rows["loss"]["majority_f1"] == pytest.approx(share / (1 + share))
    # Nobody made neighbours: there is nothing to halve by them.
    assert {row["attack"] for row in result.tables["halves"]} == {"tde_likelihood"}
    halves = [row for row in result.tables["halves"] if row["attack"] == "tde_likelihood"]
    assert [row["half"] for row in halves] == ["low", "high"]
    assert sum(row["items"] for row in halves) == 60
    rows = result.tables["items"]
    assert all(row["loss"] == pytest.approx(loss(i.instances()[0])) for row, i in zip(rows, items))
    assert all(
        row["loss_wrong"] == pytest.approx(loss(i.instances()[1])) for row, i in zip(rows, items)
    )
    again = Result.from_json(result.to_json())
    assert "prediction" in draw_figures(again)
    assert "macro-F1" in results_text([again], 140)


def test_what_is_wrong_is_said_before_a_model_is_asked() -> None:
    class Unasked:
        signature, batch = "unprompted", 1

        def __getattr__(self, name: str) -> object:
            raise AssertionError("asked")

    with pytest.raises(InputError, match="'member'"):
        memorization([item(MEMBER)], {"m": Unasked()}, member="member")
    options = {"member": "m"}
    with pytest.raises(InputError, match="members are true"):
        memorization([item(MEMBER, m="perhaps")], {"m": Unasked()}, **options)
    with pytest.raises(OptionError, match="k must be above 0"):
        memorization([item(MEMBER)], {"m": MODEL}, k=0)
    with pytest.raises(InputError, match="no input"):
        memorization([], {"m": Unasked()})


def test_the_command_scores_texts_and_draws_them(tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text(json.dumps(dict(MODEL.table)))
    records = [
        {"id": "m", "text": MEMBER, "member": True, "repeats": 4},
        {"id": "n", "text": "a b c d", "member": True, "repeats": 4},
        {"id": "o", "text": OTHER, "member": False, "repeats": 0},
        {"id": "p", "text": "y y x", "member": False, "repeats": 0},
    ]
    write_jsonl(tmp_path / "texts.jsonl", records)
    call = ["memorization", str(tmp_path / "texts.jsonl"), "--by", "repeats", "--member", "member"]
    call += ["--model", f"fake:{tmp_path / 'table.json'}"]
    runner = CliRunner()
    shown = runner.invoke(command, [*call, "--figure", str(tmp_path / "f.svg"), "-q"])
    assert shown.exit_code == 0, shown.output
    assert "Members against non-members" in shown.output
    assert (tmp_path / "f.svg").stat().st_size > 1000
    told = json.loads(runner.invoke(command, [*call, "--json", "-q"]).output)
    assert told["sources"]["table.json|4"]["values"]["tde_accuracy"] == 1
    assert runner.invoke(command, call[:-2]).exit_code != 0


def test_groups_that_are_numbers_stand_in_their_order_and_all_of_them_are_printed() -> None:
    repeats = (64, 1, 0, 16, 2, 8, 4, 32)
    items = [
        item(MEMBER if times else OTHER, 10 * place + times, repeats=times)
        for times in repeats
        for place in range(3)
    ]
    result = memorization(items, {"m": MODEL}, member="repeats", by=("repeats",))
    assert list(result.by_source) == [f"m|{times}" for times in sorted(repeats)]
    printed = results_text([result], 300)
    members = printed[printed.index("non-members: AUC") : printed.index("Members found")]
    lines = [line.split()[1] for line in members.splitlines() if line.startswith(" m ")]
    assert lines == ["1", "2", "4", "8", "16", "32", "64"]


def test_answers_of_several_models_in_one_file_are_mentioned() -> None:
    twice = [choice(MEMBER, OTHER, 1, acc=1), choice(MEMBER, OTHER, 1, acc=0)]
    assert any(
        "duplicates within a group" in note for note in memorization(twice, {"m": MODEL}).notes
    )
    once = [choice(MEMBER, OTHER, 1, acc=1), choice(MEMBER, OTHER, 2, acc=0)]
    assert not any(
        "duplicates within a group" in note for note in memorization(once, {"m": MODEL}).notes
    )
    with pytest.raises(OptionError, match="n must be at least 1"):
        memorization([item(MEMBER)], {"m": MODEL}, n=0)


def test_the_command_names_models_and_refuses_a_place_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "next.json").write_text(json.dumps(LEARNT))
    texts = write_jsonl(tmp_path / "texts.jsonl", [{"id": "1", "text": MEMBER}])
    asked = ["memorization", str(texts), "--model", f"own=fake:{tmp_path / 'next.json'}"]
    done = CliRunner().invoke(command, [*asked, "--json", "-q"])
    assert list(json.loads(done.stdout)["sources"]) == ["own|texts"]
    for flag in ("-o", "--figure"):
        error = (
            CliRunner().invoke(command, [*asked, flag, str(tmp_path / "no" / "x.png")]).exception
        )
        assert isinstance(error, OptionError)
        assert "create it first" in str(error)


def _texts(rng: np.random.Generator, count: int, words: Sequence[str]) -> list[str]:
    weights = 1 / np.arange(1, len(words) + 1)
    return [" ".join(rng.choice(words, 40, p=weights / weights.sum())) for _ in range(count)]


def test_words_of_groups_drawn_at_random_say_nothing() -> None:
    """Under the null the AUC of the words alone is 0.5, and its interval has it as often as it
    says: groups of equal and of unequal size."""
    rng, words = np.random.default_rng(0), [f"w{number}" for number in range(300)]
    for members, count in ((25, 50), (10, 60)):
        held, aucs = [], []
        for _ in range(40):
            texts = _texts(rng, count, words)
            bases = np.arange(members), np.arange(members, count)
            found = word_baseline(texts[:members], texts[members:], bases, level=0.9, seed=0)
            held.append(found["auc_low"] <= 0.5 <= found["auc_high"])
            aucs.append(found["auc"])
        assert np.mean(held) >= 0.85
        assert abs(np.mean(aucs) - 0.5) < 3 * np.std(aucs) / math.sqrt(len(aucs))


def test_bags_hold_counts_of_words_in_lower_case() -> None:
    held = count_words(["The the cat", "", "a CAT"])
    assert sorted(held.sum(axis=0).tolist()) == [1, 2, 2]
    assert held.sum(axis=1).tolist() == [3, 0, 2]


def test_a_perfect_auc_from_topic_alone_is_called_that() -> None:
    rng = np.random.default_rng(0)
    texts = [*_texts(rng, 12, list("abcdef")), *_texts(rng, 12, list("xy"))]
    items = [item(text, number, member=number < 12) for number, text in enumerate(texts)]
    result = memorization(items, {"m": MODEL}, member="member", n=2)
    (row,) = result.tables["topic"]
    assert (row["members"], row["others"], row["auc"]) == (12, 12, 1)
    assert any("here topic alone gives a perfect AUC" in note for note in result.notes)
    assert "by their words alone" in results_text([result], 140)
    # The same words on both sides: nothing is said of topic.
    alike = _texts(rng, 24, list("abcdef"))
    items = [item(text, number, member=number % 2) for number, text in enumerate(alike)]
    assert not any(
        "words alone" in note
        for note in memorization(items, {"m": MODEL}, member="member", n=2).notes
    )
    # Too few to be judged.
    assert math.isnan(known(n=2).tables["topic"][0]["auc"])
