"""Fine-tuning, calibrating, summaries and the whole study, with a model that trains in seconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rote
from rote.core.errors import InputError, OptionError
from rote.core.result import read_results
from tests.kit import read_jsonl, write_jsonl

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

NAMES = ("Anna", "Paul", "Rome", "Berlin", "Mary", "Tom", "Paris", "Oslo")
SHAPE = {
    "model_type": "mbart",
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "max_position_embeddings": 64,
    "vocab_size": 350,
}


def pair(number: int, split: str) -> dict[str, Any]:
    name, other = NAMES[number % 8], NAMES[(number * 3 + 1) % 8]
    often = "was seen in the old town today" if number % 3 else f"met {other} near bridge {number}"
    document = f"In the news: {name} and {other}, item {number}. {name} {often}."
    own = {"doc_id": f"{split}{number}", "split": split}
    return own | {"document": document, "reference": f"{name} {often}."}


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    records = [*(pair(n, "train") for n in range(60)), *(pair(n, "validation") for n in range(40))]
    (tmp_path / "config.json").write_text(json.dumps(SHAPE))
    return write_jsonl(tmp_path / "pairs.jsonl", records)


def trained(pairs: Path, out: str = "models", **more: Any) -> Any:
    given = {
        "from_config": pairs.parent / "config.json",
        "steps": 6,
        "learning_rate": 3e-3,
        "tokens": 400,
        "longest": 60,
        "max_tokens": 12,
    }
    return rote.train_finetune(pairs, output=pairs.parent / out, **{**given, **more})


def test_each_seed_gives_a_model_of_its_subset(pairs: Path) -> None:
    folder = pairs.parent
    rote.limit(
        [pair(n, "train") for n in range(60)],
        max=(1,),
        seeds=2,
        text_field="document",
        field="reference",
        output=folder / "limited",
        random=True,
    )
    made = trained(pairs, seeds=(0, 1), subset=folder / "limited", theta=1, kind="random")
    rows = made.tables["models"]
    assert [row["subset"] for row in rows] == [f"max-1.seed-{s}.random.jsonl" for s in (0, 1)]
    assert all(0 < row["pairs"] < 60 for row in rows)
    assert all(row["validation"] > 0 for row in rows)
    again = trained(pairs, seeds=(0, 1), subset=folder / "limited", theta=1, kind="random")
    assert again.tables["models"] == rows
    with pytest.raises(OptionError, match=r"other settings .*pairs"):
        trained(pairs)
    with pytest.raises(OptionError, match="contains no subset of theta 7"):
        trained(pairs, "other", subset=folder / "limited", theta=7)


def test_patience_without_a_validation_split_holds_pairs_out(pairs: Path) -> None:
    folder = pairs.parent
    only = write_jsonl(folder / "train.jsonl", (pair(n, "train") for n in range(60)))
    given = {"learning_rate": 0.5, "steps": 30, "patience": 1, "evaluate_every": 2}
    made = trained(only, "own", **given)
    (row,) = made.tables["models"]
    assert (row["pairs"], row["held_out"]) == (54, 6)
    assert row["updates"] < 30  # such a rate makes the loss rise
    assert row["validation"] > 0
    assert "a tenth of the pairs, drawn at random, is held out" in made.about["notes"][0]
    looks = json.loads((folder / "own" / "seed-0" / "training.json").read_text())["validation"]
    assert [step for step, _ in looks] == list(range(2, row["updates"] + 1, 2))
    # A subset loses those of its pairs that are held out; a validation split loses nothing.
    ids = folder / "ids.txt"
    ids.write_text("".join(f"train{n}\n" for n in range(60)))
    (row,) = trained(only, "subset", subset=ids, **given).tables["models"]
    assert (row["pairs"], row["held_out"]) == (54, 6)
    (row,) = trained(pairs, "split", **given).tables["models"]
    assert (row["pairs"], row["held_out"]) == (60, 40)
    write_jsonl(only, [pair(0, "train")])
    with pytest.raises(OptionError, match="a single pair cannot be both trained on and held out"):
        trained(only, "none", **given)


def test_adapters_are_trained_beside_a_model_and_added_to_it(pairs: Path) -> None:
    pytest.importorskip("peft")
    trained(pairs, "start")
    start = str(pairs.parent / "start" / "seed-0")
    given = {"from_config": "", "model": start, "lora": 2, "steps": 2, "seeds": (0,)}
    trained(pairs, "adapted", **given)
    folder = pairs.parent / "adapted" / "seed-0"
    settings = json.loads((folder / "training.json").read_text())["settings"]
    assert settings["lora"] == 2
    assert not (folder / "adapter_config.json").exists()
    with pytest.raises(OptionError, match="lora 2, not 4"):
        trained(pairs, "adapted", **given | {"lora": 4})
    written = rote.generate(
        [{"id": "1", "text": "the old cat"}],
        model=(f"transformers:{folder}",),
        max_tokens=2,
        output=pairs.parent / "written.jsonl",
    )
    assert written.about["texts"] == 1
    with pytest.raises(OptionError, match="lora adapts a trained model"):
        trained(pairs, "none", lora=2)


def test_ids_that_are_not_in_the_data_are_an_error(pairs: Path) -> None:
    ids = pairs.parent / "ids.txt"
    ids.write_text("train1\ntrain2\n")
    made = trained(pairs, subset=ids)
    assert made.tables["models"][0]["pairs"] == 2
    ids.write_text("train1\nnobody\n")
    with pytest.raises(InputError, match="1 of 2 ids are not in the data, such as 'nobody'"):
        trained(pairs, "other", subset=ids)


def test_an_empty_document_or_reference_is_an_error_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    for field in ("document", "reference"):
        path.write_text(
            json.dumps(pair(0, "train")) + "\n" + json.dumps(pair(1, "train") | {field: " "})
        )
        with pytest.raises(InputError, match=r"line 2, field .*empty"):
            rote.train_finetune(path, from_config="tiny", output=tmp_path / "m")


def test_an_encoder_decoder_writes_what_other_commands_read(pairs: Path) -> None:
    folder = pairs.parent
    model = trained(pairs).tables["models"][0]["model"]
    some = write_jsonl(folder / "some.jsonl", (pair(n, "validation") for n in range(6)))
    made = rote.generate(
        str(some),
        model=f"m=transformers:{model}",
        beams=2,
        max_tokens=8,
        text_field="document",
        output=folder / "texts.jsonl",
    )
    assert made.about["texts"] == 6
    records = read_jsonl(folder / "texts.jsonl")
    assert records[0]["document"] == records[0]["prompt"] == pair(0, "validation")["document"]
    assert records[0]["reference"] == pair(0, "validation")["reference"]
    assert records[0]["beams"] == 2
    write_jsonl(folder / "texts.jsonl", (r | {"text": r["text"] or "."} for r in records))
    scores = ("rouge", "entities")
    found = rote.score(folder / "texts.jsonl", scores=scores, by="source", permutations=0)
    assert found.by_source["m"].texts == 6
    with pytest.raises(OptionError, match="takes no temperature"):
        rote.generate(
            str(some),
            model=f"m=transformers:{model}",
            temperature=1.0,
            text_field="document",
            output=folder / "other.jsonl",
        )


def test_beams_are_refused_where_there_is_no_encoder(tmp_path: Path) -> None:
    from tests.cli.calls import TABLE

    table = tmp_path / "table.json"
    table.write_text(json.dumps(TABLE))
    with pytest.raises(OptionError, match="not an encoder-decoder"):
        rote.generate("start:2", model=f"fake:{table}", beams=2, output=tmp_path / "t.jsonl")


def test_calibration_ranks_candidates_and_goes_on(pairs: Path) -> None:
    folder = pairs.parent
    model = trained(pairs).tables["models"][0]["model"]
    ids = folder / "ids.txt"
    ids.write_text("".join(f"train{n}\n" for n in range(12)))
    given = {
        "model": model,
        "subset": ids,
        "candidates": 3,
        "max_tokens": 8,
        "longest": 60,
        "epochs": 2,
        "output": folder / "calibrated",
    }
    made = rote.train_calibrate(pairs, **given).tables["models"][0]
    assert made["updates"] == 4
    assert made["best"] >= made["worst"]
    path = folder / "calibrated" / "seed-0.candidates.jsonl"
    held = read_jsonl(path)
    assert [len(one["candidates"]) for one in held] == [3] * 12
    weights = (folder / "calibrated" / "seed-0" / "model.safetensors").read_bytes()
    # Killed in the middle of the candidates: the rest is written, and all comes out the same.
    given["output"] = folder / "again"
    (folder / "again").mkdir()
    half = b"".join(path.read_bytes().splitlines(keepends=True)[:5]) + b'{"id": "tr'
    (folder / "again" / "seed-0.candidates.jsonl.partial").write_bytes(half)
    rote.train_calibrate(pairs, **given)
    assert (folder / "again" / "seed-0.candidates.jsonl").read_bytes() == path.read_bytes()
    assert (folder / "again" / "seed-0" / "model.safetensors").read_bytes() == weights


STUDY = {
    "theta": ("1", "all"),
    "seeds": (0, 1),
    "steps": 4,
    "learning_rate": 3e-3,
    "tokens": 400,
    "longest": 60,
    "max_tokens": 10,
    "beams": 2,
    "sample": 16,
    "placebo": 0.2,
    "candidates": 3,
}


def study(pairs: Path, **more: Any) -> Any:
    shape = pairs.parent / "config.json"
    return rote.train_study(
        pairs, from_config=shape, output=pairs.parent / "study", **{**STUDY, **more}
    )


@pytest.mark.slow
def test_the_whole_study_runs_and_resumes(pairs: Path) -> None:
    folder = pairs.parent / "study"
    study(pairs)
    before = {path: path.stat().st_mtime_ns for path in folder.glob("models/*/seed-*/model.*")}
    assert len(before) == 4
    made = study(pairs, equal_size=True, without_neighbours=True, calibrate=True)
    # What was there is not trained again.
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    arms = [row["source"] for row in made.tables["sizes"]]
    assert arms == [
        "theta=1",
        "all",
        "random as theta=1",
        "most repeated as theta=1",
        "without neighbours",
        "BRIO-1",
        "BRIO-all",
    ]
    sizes = {row["source"]: row["pairs"] for row in made.tables["sizes"]}
    assert sizes["theta=1"] == sizes["random as theta=1"] < sizes["all"] == 48
    assert sizes["without neighbours"] < 48
    averages = made.tables["averages"]
    assert {row["score"] for row in averages} >= {"rouge_2", "entity_precision"}
    assert all(0 <= row["mean"] <= 1 for row in averages if row["score"] == "rouge_1")
    compared = {(row["source"], row["than"]) for row in made.tables["contrasts"]}
    assert {("all", "theta=1"), ("random as theta=1", "theta=1"), ("BRIO-1", "all")} <= compared
    assert {row["items"] for row in made.tables["neighbours"]} >= {"all"}
    assert (folder / "figures" / "bins.svg").exists()
    assert json.loads((folder / "overlap.json").read_text())["measure"] == "overlap"
    (kept,) = read_results(folder, tables=True)
    for name, rows in made.tables.items():
        assert len(kept.tables[name]) == len(rows), name
    assert [row["pairs"] for row in kept.tables["sizes"]] == list(sizes.values())
    with pytest.raises(OptionError, match=r"a study with other settings .*steps 4, not 5"):
        study(pairs, steps=5)


def test_a_study_with_patience_validates_on_pairs_that_nobody_else_sees(pairs: Path) -> None:
    """The validation split is what is tested on here: a tenth of the training pairs is held out."""
    more = {"theta": ("all",), "seeds": (0,), "steps": 30, "patience": 1, "evaluate_every": 2}
    made = study(pairs, **more, learning_rate=0.5)
    (row,) = made.tables["sizes"]
    assert (row["pairs"], row["updates"] < 30) == (43, True)  # of 48 beside the placebo
    assert row["validation"] > 0
    assert made.notes[0].startswith("validated on 5 training pairs, drawn at random and held out")
    data = pairs.parent / "study" / "data"
    ids = {
        name: {json.loads(line)["doc_id"] for line in (data / f"{name}.jsonl").open()}
        for name in ("train", "placebo", "validation", "test")
    }
    assert len(set.union(*ids.values())) == sum(map(len, ids.values())) == 43 + 12 + 5 + 16
    with pairs.open("a") as file:
        file.writelines(json.dumps(pair(n, "test")) + "\n" for n in range(9))
    shape = pairs.parent / "config.json"
    other = rote.train_study(
        pairs, from_config=shape, output=pairs.parent / "other", **{**STUDY, **more}
    )
    assert other.notes[0] == "validated on 40 pairs of their own split"
    assert other.tables["sizes"][0]["pairs"] == 48


@pytest.mark.parametrize("name", ["data", "models", "texts", "limited", "figures", "study.json"])
def test_a_study_does_not_write_through_a_link(name: str, pairs: Path) -> None:
    folder, mine = pairs.parent / "study", pairs.parent / "mine"
    folder.mkdir()
    (folder / "study.json").write_text("{}")
    if name == "study.json":
        (folder / name).rename(mine)
    else:
        mine.mkdir()
    (folder / name).symlink_to(mine)
    with pytest.raises(OptionError, match="is a link to"):
        study(pairs)
    assert mine.read_text() == "{}" if mine.is_file() else not list(mine.iterdir())


def test_pairs_without_a_split_are_held_out_to_test_on(pairs: Path) -> None:
    records = [{k: v for k, v in pair(n, "train").items() if k != "split"} for n in range(60)]
    write_jsonl(pairs, records)
    made = study(pairs, theta=("all",), seeds=(0,), sample=None)
    assert made.notes[0] == "records have no split: tested on 6 pairs, drawn at random and held out"
    assert made.tables["sizes"][0]["pairs"] == 60 - 6 - 11  # the placebo is a fifth of the rest
    tested = {
        row["doc_id"]
        for row in map(json.loads, next((pairs.parent / "study" / "texts").iterdir()).open())
    }
    trained_on = (pairs.parent / "study" / "data" / "train.jsonl").read_text()
    assert len(tested) == 6
    assert not any(f'"{name}"' in trained_on for name in tested)


@pytest.mark.slow
def test_other_files_are_tested_on_zero_shot(pairs: Path) -> None:
    """Appendix B: trained on pseudo-summaries without a split, tested on other sets."""
    pseudo = pairs.parent / "pseudo.jsonl"
    records = [{k: v for k, v in pair(n, "p").items() if k != "split"} for n in range(50)]
    write_jsonl(pseudo, records)
    other = write_jsonl(pairs.parent / "other.jsonl", (pair(n, "test") for n in range(7, 19)))
    settings = {"seeds": (0,), "sample": 10, "test": f"{pairs},{other}"}
    shape = pairs.parent / "config.json"

    def run(**more: Any) -> Any:
        given = {**STUDY, **settings, "output": pairs.parent / "zero", **more}
        return rote.train_study(pseudo, from_config=shape, **given)

    made = run()
    folder = pairs.parent / "zero"
    assert "zero-shot: trained on 50 pairs, tested on other files" in made.notes
    assert made.tables["sizes"][-1]["pairs"] == 40  # a fifth is the placebo
    for name, names in (("pairs", "validation"), ("other", "test")):
        rows = [json.loads(line) for line in (folder / f"texts/{name}/all.seed-0.jsonl").open()]
        assert len(rows) == 10
        assert all(row["doc_id"].startswith(f"{name}/{names}") for row in rows)
        assert (folder / "tested" / name / "overlap.json").exists()
    assert [row["test"] for row in made.tables["averages"][::6]] == ["pairs"] * 2 + ["other"] * 2
    assert {row["test"] for row in made.tables["contrasts"]} == {"pairs", "other"}
    # The scores of a set are those of a study on it alone.
    alone = run(test=str(other), output=pairs.parent / "alone")
    wanted = [row for row in made.tables["averages"] if row["test"] == "other"]
    assert alone.tables["averages"] == wanted
    again = run()
    assert again.tables == made.tables
    with pytest.raises(OptionError, match="one test set"):
        run(without_neighbours=True)
    with pytest.raises(InputError, match=r"no pairs of the split none\.jsonl"):
        run(test="none.jsonl")


def test_no_test_split_is_an_error(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "pairs.jsonl", (pair(n, "train") for n in range(4)))
    with pytest.raises(InputError, match="no pairs of the split test or validation"):
        rote.train_study(path, from_config="tiny", output=tmp_path / "s")


def test_summaries_of_edited_documents_are_counted(pairs: Path) -> None:
    folder = pairs.parent
    model = trained(pairs).tables["models"][0]["model"]
    given = {"sample": 5, "max_tokens": 8, "longest": 60}
    models = (f"a={model}", f"a={model}", f"b={model}")
    made = rote.train_intervene(pairs, model=models, output=folder / "e.jsonl", **given)
    rows = [row for row in made.tables["outcomes"] if row["edit"] == "all"]
    assert {row["source"] for row in rows} == {"a", "b"}
    assert sum(row["share"] for row in rows if row["source"] == "a") == pytest.approx(1)
    cases = {row["source"]: row["cases"] for row in rows}
    assert cases["a"] == 2 * cases["b"] == 2 * made.about["edits"]


def test_equal_documents_are_read_once_and_those_of_kept_lines_not_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    from rote.core.progress import Silent
    from rote.models.training import summarizer
    from rote.studies._training import write_resumed

    asked: list[str] = []

    def write(loaded: Any, documents: list[str], how: Any) -> Any:
        asked.extend(documents)
        return [[summarizer.WrittenSummary(one.upper(), 1, True)] for one in documents]

    monkeypatch.setattr(summarizer, "write", write)
    loaded = SimpleNamespace(model=SimpleNamespace(eval=lambda: None))
    documents = ["b", "a long one", "b", "c", "a long one", "b"]

    def written(path: Path) -> bytes:
        write_resumed(
            loaded,
            documents,
            summarizer.Searching(),
            path,
            4096,
            lambda number, texts: {"id": number, "text": texts[0]},
            lambda number, line: None,
            Silent(),
        )
        return path.read_bytes()

    whole = written(tmp_path / "whole.jsonl")
    assert [json.loads(line)["text"] for line in whole.splitlines()] == [
        one.upper() for one in documents
    ]
    assert sorted(asked) == ["a long one", "b", "c"]
    asked.clear()
    half = b"".join(whole.splitlines(keepends=True)[:3]) + b'{"id": 3, "te'
    (tmp_path / "again.jsonl.partial").write_bytes(half)
    assert written(tmp_path / "again.jsonl") == whole
    assert asked == ["c"]


def test_a_signature_names_the_settings_that_a_shape_brings(pairs: Path) -> None:
    made = rote.train_finetune(pairs, from_config="tiny", steps=1, output=pairs.parent / "tiny")
    said = dict(one.split(":", 1) for one in str(made.signature).split("|"))
    assert (said["tokens"], said["learning_rate"], said["warmup"]) == ("1024", "0.003", "100")


def test_updates_are_those_of_one_pass_over_all_pairs_within_bounds() -> None:
    from rote.curate.pairs import TrainingPair
    from rote.studies._repetition import _count_updates

    def some(count: int) -> list[Any]:
        return [TrainingPair("", "d" * 60, "r" * 20)] * count

    assert _count_updates(some(10), 1024) == 1000
    assert _count_updates(some(76_800), 1024) == 1500
    assert _count_updates(some(500_000), 1024) == 2000
