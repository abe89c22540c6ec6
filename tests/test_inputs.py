"""Every input of every command: of any kind that holds it, and read as the options of reading say.

A contract over the registry: a command, or an input of one, that is new here has to be added to the
tables below, or these tests fail.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, fields, replace
from pathlib import Path
from typing import Any

import pytest

import rote
from rote.core.errors import InputError, OptionError, RoteError
from rote.core.metric import Metric
from rote.core.record import Call, Findings
from rote.core.registry import find, names
from rote.curate.pairs import (
    PairOptions,
    SubsetOptions,
    pairs_fingerprint,
    read_pairs,
    select_subset,
    subset_file,
)
from rote.report.options import ReportOptions
from rote.studies.dispatch import driver
from rote.studies.dispatch.driver import option_kinds
from tests.cli.calls import World
from tests.kit import invoke, read_jsonl

SMALL = {"permutations": 0, "interval": 0, "matched": False}
NEEDS_TORCH = ("train_calibrate", "train_finetune", "train_intervene", "train_study")


# Kinds of inputs


class DataSet:
    """As one of Hugging Face looks: rows, and what is in them."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.rows, self.features = rows, list(rows[0])

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, key: Any) -> Any:
        return [row[key] for row in self.rows] if isinstance(key, str) else self.rows[key]


class ColumnOfDataSet(Sequence[str]):
    """As a column of a data set of Hugging Face looks: a sequence that is no list."""

    def __init__(self, cells: Sequence[str]) -> None:
        self.cells = cells

    def __len__(self) -> int:
        return len(self.cells)

    def __getitem__(self, key: Any) -> Any:
        return self.cells[key]


def _made_by(library: str, make: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def made(rows: Any) -> Any:
        return make(pytest.importorskip(library), rows)

    return made


RECORDS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "records": list,
    "tuple": tuple,
    "generator": iter,
    "data set": DataSet,
    "polars": _made_by("polars", lambda polars, rows: polars.DataFrame(rows)),
    "lazy polars": _made_by("polars", lambda polars, rows: polars.DataFrame(rows).lazy()),
    "pandas": _made_by("pandas", lambda pandas, rows: pandas.DataFrame(rows)),
    "pyarrow": _made_by("pyarrow", lambda pyarrow, rows: pyarrow.Table.from_pylist(rows)),
}
COLUMNS: dict[str, Callable[[list[str]], Any]] = {
    "strings": list,
    "tuple of strings": tuple,
    "column of a data set": ColumnOfDataSet,
    "polars column": _made_by("polars", lambda polars, cells: polars.Series("text", cells)),
    "pandas column": _made_by("pandas", lambda pandas, cells: pandas.Series(cells)),
    "pyarrow column": _made_by("pyarrow", lambda pyarrow, cells: pyarrow.chunked_array([cells])),
    "numpy column": _made_by("numpy", lambda numpy, cells: numpy.array(cells)),
}


# Commands


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"), times=2)


def asked(name: str, world: World, folder: Path) -> tuple[str, dict[str, Any]]:
    """What a command works on, as a file of records, and the keywords of a call."""
    by: dict[str, Any] = {"by": "source", "reference": "human [/b]", **SMALL}
    corpus = {"corpus": world.corpus}
    summaries = [{**row, "document": f"Day {row['doc_id']}."} for row in read_jsonl(world.texts)]
    judged = world.lines("judged.jsonl", summaries)
    own: dict[str, tuple[str, dict[str, Any]]] = {
        "novelty": (world.texts, {**by, **corpus}),
        "contamination": (world.texts, {**by, **corpus, "n": (2, 3)}),
        "originality": (world.texts, {**by, **corpus}),
        "overlap": (
            world.texts,
            {**by, "train": world.corpus, "n": 2, "scores": "none", "layer": "lower"},
        ),
        "distinct": (world.sampled, {**by, "partition": "kind", "quality": "score"}),
        "perplexity": (world.texts, {**by, "model": f"fake:{world.path / 'table.json'}"}),
        "judge_agreement": (world.answers, {"interval": 0}),
        "correlate": (world.results, {"values": "all", "quality": world.quality}),
        "factors": (world.swept, {"values": "all", "over": "temperature"}),
        "popularity": (world.items, {"corpus": world.index, "n": 2}),
        "perturb": (world.items, {"perturbed": world.after, "n": 2}),
        "evaluate": (world.items, {"model": world.model}),
        "memorization": (world.items, {"model": world.model, "corpus": world.index, "n": 2}),
        "trace": (world.texts, {**corpus, "min_words": 3, "min_bits": 1}),
        "dedup": (world.texts, {**corpus, "length": 6, "output": folder / "clean"}),
        "decontaminate": (
            world.texts,
            {"test_items": world.items, "min_bits": 5, "output": folder / "clean"},
        ),
        "limit": (world.texts, {"max": 4, "seeds": 1, "output": folder / "limited"}),
        "generate": (
            world.texts,
            {"model": world.model, "max_tokens": 2, "output": folder / "made.jsonl"},
        ),
        "judge_model": (judged, {"model": world.judge, "of": "quality", "interval": 0}),
        "judge_page": (judged, {"sample": 2, "output": folder / "page.html"}),
        "train_pseudo_summaries": (world.texts, {"output": folder / "pairs.jsonl"}),
        "train_reina": (world.texts, {"output": folder / "retrieved.jsonl"}),
        "diversity": (world.texts, {"by": "source", "permutations": 0, "interval": 0}),
        "report": (
            world.texts,
            {
                **by,
                "measures": "lexical,novelty,overlap",
                "corpus": world.corpus,
                "train": world.corpus,
            },
        ),
    }
    if name in NEEDS_TORCH:
        more: dict[str, Any] = {"output": folder / "trained"}
        if name != "train_intervene":
            more |= {"model": "none"}
        return world.texts, more
    if name not in own:
        assert isinstance(find(name.replace("_", "-")), Metric), name
    return own.get(name, (world.texts, by))


COMMANDS = [*(name.replace("-", "_") for name in names()), "diversity", "report"]


@pytest.fixture(autouse=True)
def pairs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what trains a model, the pairs that it would be trained on."""

    def run(call: Call) -> Findings:
        pairs = read_pairs(call.inputs, call.of(PairOptions), call.reporter)
        if SubsetOptions in call.more:
            pairs = select_subset(pairs, subset_file(call.of(SubsetOptions), 0))
        found = {"pairs": [{"pairs": pairs_fingerprint(pairs)}]}
        return Findings(signed={}, tables=found, about={"folder": call.options.output.parent})

    def found(name: str) -> Any:
        record = find(name)
        if name.replace("-", "_") in NEEDS_TORCH:
            assert not isinstance(record, Metric)
            return replace(record, run=run)
        return record

    monkeypatch.setattr(driver, "find", found)


def shown(result: Any) -> Any:
    """What a call gives, without where it was put and what the input was called."""
    several = result if isinstance(result, list) else getattr(result, "results", [result])
    return [
        (
            {
                name: (source.texts, source.words, _plain(source.values))
                for name, source in one.by_source.items()
            },
            {name: _plain(rows) for name, rows in one.tables.items() if name != "values"},
            [_plain(record) for record in one.records or _written(one)],
        )
        for one in several
    ]


def _written(result: Any) -> list[dict[str, Any]]:
    """The records that a command wrote in place of giving them."""
    path = Path(result.about.get("file", "-"))
    return read_jsonl(path) if path.is_file() and path.suffix == ".jsonl" else []


NAMED = ("file", "path", "folder", "other", "used_more_by", "after", "prompt_text")
"""Where rows tell what an input was called, or what else its records hold."""


def _plain(value: Any) -> Any:
    """nan is equal to nan here; files and folders go by no name."""
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items() if k not in NAMED}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def called(name: str, given: Any, keywords: Mapping[str, Any]) -> Any:
    """What comes of a call: what it shows, or what it says that the input lacks."""
    try:
        return shown(getattr(rote, name)(given, **keywords))
    except (InputError, OptionError) as error:
        return re.sub(r"^.*?, line|\S*[/\\]\S+|texts|prompts|plain", "", str(error))


EVERY_FORM = ("lexical", "popularity", "generate", "limit")
"""A command of each reader gets its input in every form; the others in two of them, each in two
others than the one before it."""


def forms_for(name: str, forms: Mapping[str, Any]) -> dict[str, Any]:
    start = 2 * COMMANDS.index(name)
    chosen = (
        [*forms] if name in EVERY_FORM else [[*forms][n % len(forms)] for n in (start, start + 1)]
    )
    return {form: forms[form] for form in chosen}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_works_on_is_a_file_records_or_a_frame(
    name: str, world: World, tmp_path: Path
) -> None:
    path, keywords = asked(name, world, tmp_path / "0")
    if name in ("correlate", "factors"):
        return  # they work on results, which are no records
    (tmp_path / "0").mkdir()
    first = called(name, path, keywords)
    assert isinstance(first, list), first
    files: tuple[Any, ...] = (Path(path), [path], [Path(path)])
    for number, given in enumerate(files if name in EVERY_FORM else files[2:], 1):
        (tmp_path / str(number)).mkdir()
        _, own = asked(name, world, tmp_path / str(number))
        assert called(name, given, own) == first
    for kind, make in forms_for(name, RECORDS).items():
        (tmp_path / kind).mkdir()
        _, own = asked(name, world, tmp_path / kind)
        assert called(name, make(read_jsonl(path)), own) == first, kind


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_works_on_is_a_column_where_texts_are_enough(
    name: str, world: World, tmp_path: Path
) -> None:
    """What needs more than texts says so, whichever way they come."""
    if name in ("correlate", "factors", "judge_agreement"):
        return
    texts = [row["text"] for row in read_jsonl(world.texts)]
    path = world.lines("plain.jsonl", [{"text": text} for text in texts])

    def call(kind: str, given: Any) -> Any:
        (tmp_path / kind).mkdir()
        _, keywords = asked(name, world, tmp_path / kind)
        keywords = {k: v for k, v in keywords.items() if k not in ("by", "reference")}
        return called(name, given, keywords)

    first = call("file", path)
    for kind, make in forms_for(name, COLUMNS).items():
        found = call(kind, make(texts))
        assert _values(found) == _values(first), kind


def _values(found: Any) -> Any:
    """Without ids, and the name of the only source, which a list has not."""
    if isinstance(found, str):
        return "an error"
    return [list(sources.values()) for sources, _, _ in found]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_no_command_can_work_on_is_refused_by_name(
    name: str, world: World, tmp_path: Path
) -> None:
    _, keywords = asked(name, world, tmp_path)
    index = rote.open_index(world.index)
    with pytest.raises(RoteError, match=r"(texts|results|the input) cannot be of type Index"):
        getattr(rote, name)(index, **keywords)
    with open(world.texts) as file, pytest.raises(RoteError, match="cannot be of type"):
        getattr(rote, name)(file, **keywords)


@pytest.mark.parametrize("name", [n for n in COMMANDS if n not in ("diversity", "report")])
def test_no_keyword_is_taken_for_what_a_command_works_on(name: str) -> None:
    """A measure has a keyword `inputs`, the field of what texts were made from."""
    with pytest.raises(RoteError, match=r"unknown option `(inputs|no_such)`"):
        getattr(rote, name)("gone.jsonl", inputs="", no_such=1)


def test_the_field_of_what_texts_were_made_from_can_be_left_out(world: World) -> None:
    found = rote.lexical(world.texts, by="source", inputs="", **SMALL)
    assert not [source for source in found.by_source if "input" in source]
    assert [
        source
        for source in rote.lexical(world.texts, by="source", **SMALL).by_source
        if "input" in source
    ]


# Inputs beside what a command works on


def beside() -> list[tuple[str, Field[Any]]]:
    """Every option of a command that takes an input."""
    found = [("report", field) for field in fields(ReportOptions)]
    for name in names():
        found += [
            (name.replace("-", "_"), f) for kind in option_kinds(find(name)) for f in fields(kind)
        ]
    return [(name, field) for name, field in found if field.metadata.get("takes")]


INPUTS = {(name, field.name): field.metadata["takes"] for name, field in beside()}
TEXTS = [key for key, takes in INPUTS.items() if takes in ("corpus", "texts", "items")]


def test_every_option_that_names_data_says_what_it_takes() -> None:
    """A file that is read is an input: of no kind that is not tried here."""
    reading = re.compile(r"IDX|TRAIN|ITEMS|INPUT|FILE|PLACE")
    settings = {  # files of a form of their own, which a path names
        "deciles",
        "test",  # or the name of a split
        "instruction",  # or the text itself
        "key",
        "tokenizer",
        "log",
        "write",
        "write_answers",
        "output",
        "save_deciles",
        "templates_from",
        "unprompted",
        "corpus",
        "join",
    }
    for name in names():
        for kind in option_kinds(find(name)):
            for field in fields(kind):
                if not reading.search(field.metadata.get("metavar") or ""):
                    continue
                assert field.metadata.get("takes") or field.name in settings, (name, field.name)
    assert set(INPUTS.values()) == {"corpus", "texts", "items", "index", "table", "results"}


def given_beside(
    name: str, option: str, world: World, folder: Path
) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    """What a command works on, its keywords, and the records that the option may be given."""
    path, keywords = asked(name, world, folder)
    texts, corpus = read_jsonl(world.texts), read_jsonl(world.corpus)
    if name == "keyness":
        keywords |= {"min_count": 2, "min_texts": 1, "lengths": 1}
    records: dict[tuple[str, str], list[dict[str, Any]]] = {
        ("overlap", "placebo"): texts[:5],
        ("decontaminate", "test_items"): [
            {"id": "1", "text": read_jsonl(world.texts)[0]["text"], "task": "cats"}
        ],
        ("train_calibrate", "subset"): [{"id": "0-0"}, {"id": "1-3"}],
        ("train_finetune", "subset"): [{"id": "0-0"}, {"id": "1-3"}],
        ("decontaminate", "answers"): [],
        ("generate", "about"): corpus,
        ("perturb", "perturbed"): read_jsonl(world.after),
        ("correlate", "quality"): [
            {"source": source, "rating": number}
            for number, source in enumerate(
                rote.Result.from_json(Path(world.results).read_text()).by_source
            )
        ],
        ("originality", "authors"): [{"name": "A0 [/b]", "author": "Somebody Else"}],
    }
    if (name, option) == ("evaluate", "train"):
        return path, keywords | {"shots": 1}, read_jsonl(path)
    if (name, option) == ("trace", "unrelated"):
        keywords |= {"kinds": "meaning", "corpus": corpus}
        days = " ".join(f"Hen {n} went to the old barn again." for n in range(12))
        return path, keywords, [{"id": "1", "text": days}, {"id": "2", "text": days}]
    if (name, option) == ("overlap", "placebo"):
        keywords |= {"scores": "doc_id", "train": corpus}
    if (name, option) == ("decontaminate", "test_items"):
        keywords |= {"benchmark": "texts"}
    if (name, option) == ("decontaminate", "answers"):
        items = [{"id": "1", "goal": "open the tin", "sol1": "with a key", "sol2": "with a hen"}]
        keywords |= {"test_items": items}
        made = {**items[0], "label": 0, "source": "a", "correct": True, "prediction": 0}
        return path, keywords, [{**made, "asked": ["x"], "loglikelihoods": [-1.0, -2.0]}]
    return path, keywords, records.get((name, option), corpus)


READ = [
    (name, option)
    for name, option in TEXTS
    if (name, option)
    not in (
        *(("decontaminate", "answers"), ("perturb", "perturbed"), ("evaluate", "train")),
        ("trace", "unrelated"),  # few texts say nothing: the table of novels counts
    )
]
"""All but items with options, whose fields are the benchmark's own."""


@pytest.mark.parametrize(("name", "option"), READ)
def test_every_input_is_read_as_the_options_say(
    name: str, option: str, world: World, tmp_path: Path
) -> None:
    """Texts are in the field `story`, and in the field where they are looked for are others."""
    _, _, records = given_beside(name, option, world, tmp_path)
    options = {field.name for _, field in every_option(name)}
    usual, story = world.lines("usual.jsonl", records), world.lines("story.jsonl", moved(records))
    omitted: list[str] = []

    def call(place: str, given: Any, **more: Any) -> Any:
        (tmp_path / place).mkdir()
        path, own, _ = given_beside(name, option, world, tmp_path / place)
        main = [{k: v for k, v in row.items() if k != "reference"} for row in read_jsonl(path)]
        if name == "generate":
            main, own = [{"prompt": "Go on.", "text": "x"}], {**own, "prompt_field": "prompt"}
        if "text_field" in more:
            main = moved(main) if "text" in main[0] else main
            for key, takes in INPUTS.items():
                if key[0] == name and takes in ("corpus", "texts") and key[1] in own:
                    held = own[key[1]]
                    own[key[1]] = moved(held if isinstance(held, list) else read_jsonl(held))
        found = getattr(rote, name)(main, **{**own, option: given, **more})
        omitted[:] = [one.reason for one in getattr(found, "omitted", ())]
        return shown(found)

    first = call("usual", usual)
    if f"{option}_read" in options:
        assert call("guessed", story) != first
        assert call("one", story, **{f"{option}_read": "text-field=story"}) == first
        assert call("dict", story, **{f"{option}_read": {"text_field": "story"}}) == first
    assert call("all", story, text_field="story") == first
    flag = option.replace("_", "-")
    said = rf"--{flag}-read text-field=" if f"{option}_read" in options else "--text-field"
    if name == "report":  # which leaves out what cannot work, and says why
        call("none", usual, text_field="story")
        assert any(re.search(rf"usual\.jsonl.*story.*{said}", reason) for reason in omitted)
        return
    said = f"{option}_read='text-field=" if f"{option}_read" in options else "text_field"
    with pytest.raises(InputError, match=rf"usual\.jsonl.*story.*{said}") as error:
        call("none", usual, text_field="story")
    assert error.value.file == usual


def every_option(name: str) -> list[tuple[type, Field[Any]]]:
    found = (ReportOptions,) if name == "report" else option_kinds(find(name.replace("_", "-")))
    return [(kind, field) for kind in found for field in fields(kind)]


def moved(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Records with their texts in another field than the usual."""
    other = {"text": "Quite another text, of no use here."}
    kept = ({k: v for k, v in row.items() if k not in ("text", "reference")} for row in rows)
    return [{**own, "story": row["text"], **other} for own, row in zip(kept, rows)]


@pytest.mark.parametrize(("name", "option"), INPUTS)
def test_every_input_is_a_file_records_a_frame_or_a_column(
    name: str, option: str, world: World, tmp_path: Path
) -> None:
    """Of each kind that can hold it; of any other the error names the input."""
    takes, (_, _, records) = INPUTS[name, option], given_beside(name, option, world, tmp_path)
    of_texts = all(set(record) >= {"text"} for record in records)

    def call(place: str, given: Any) -> Any:
        (tmp_path / place).mkdir()
        path, own, _ = given_beside(name, option, world, tmp_path / place)
        try:
            return shown(getattr(rote, name)(path, **{**own, option: given}))
        except RoteError as error:
            return str(error)

    if takes == "results":
        first = call("file", world.results)
        assert call("path", [Path(world.results)]) == first
        assert call("result", rote.Result.from_json(Path(world.results).read_text())) == first
        assert not isinstance(first, str)
        return
    path = world.index if takes == "index" else _file(option, world, records)
    first = call("file", path)
    assert not isinstance(first, str), first
    assert call("path", Path(path)) == first
    refused = re.compile(rf"\b{option}\b")
    for kind, make in forms_for(name, RECORDS).items():
        found = call(kind, make(records))
        if takes == "index" or (name, option) in PHRASES:
            assert refused.search(found), (kind, found)
        else:
            assert found == first, kind
    plain = [{"text": record["text"]} for record in records] if of_texts else []
    as_texts = call("texts", world.lines("plain.jsonl", plain)) if plain else None
    for kind, make in forms_for(name, COLUMNS).items():
        cells = [record["text"] if of_texts else next(iter(record.values())) for record in records]
        found = call(kind, make(list(map(str, cells))))
        if (name, option) in PHRASES or option == "subset":
            assert found == first, kind
        elif takes in ("corpus", "texts", "items") and of_texts:
            assert _values(found) == _values(as_texts), kind
        elif kind not in ("strings", "tuple of strings"):  # which may be names of files
            assert refused.search(found), (kind, found)
        else:
            assert isinstance(found, str), kind
    opened = call("index", rote.open_index(world.index))
    if takes in ("corpus", "index"):
        assert opened == call("folder", world.index)
        assert not isinstance(opened, str)
    else:
        assert refused.search(opened), opened


PHRASES = {("keyness", "patterns")}
"""Inputs whose records are strings."""


def _file(option: str, world: World, records: Sequence[Mapping[str, Any]]) -> str:
    """The file that the option names where it is no list of records."""
    if option == "patterns":
        path = world.path / "patterns.txt"
        path.write_text("".join(f"{record['text']}\n" for record in records))
        return str(path)
    if option in ("quality", "authors"):
        path = world.path / f"{option}.csv"
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, list(records[0]))
            writer.writeheader()
            writer.writerows(records)
        return str(path)
    return world.lines(f"{option}.jsonl", records)


def told(*words: str) -> Any:
    found = invoke(*words, "-q")
    if found.exception is not None:
        return str(found.exception)
    return json.loads(found.stdout)


def test_flags_say_how_every_input_is_read(world: World) -> None:
    """The shell's flags are the keywords; a file that holds all splits serves as both inputs."""
    every = [{**row, "split": "test"} for row in read_jsonl(world.texts)]
    every += [{**row, "split": "train"} for row in read_jsonl(world.corpus)]
    both = world.lines("both.jsonl", moved(every))
    asked = ("overlap", both, "--where", "split=test", "--train", both, "-n", "2", "--json")
    asked += ("--permutations", "0", "--on", "text")
    found = told(*asked, "--text-field", "story", "--train-read", "where=split=train")
    usual = rote.overlap(world.texts, train=world.corpus, n=2, permutations=0, on="text")
    assert [own["values"]["overlap"] for own in found["sources"].values()] == [
        own.values["overlap"] for own in usual.by_source.values()
    ]
    refused = told(*asked, "--text-field", "story", "--train-read", "where=split=dev")
    assert "no record matches split=dev" in refused
    assert "--train-read where=FIELD=VALUE" in refused
    refused = told("overlap", world.texts, "--train", world.index, "--train-read", "text-field=a")
    assert "--train-read is for reading texts, but " in refused


def test_at_the_shell_a_name_is_never_a_text(world: World, tmp_path: Path) -> None:
    made = str(tmp_path / "made.jsonl")
    for words in (
        ("decontaminate", world.texts, "--test-items", "gone.jsonl", "-o", str(tmp_path / "clean")),
        ("generate", "start", "--about", "gone.jsonl", "--model", world.model, "-o", made),
        ("generate", "gone.jsonl", "--model", world.model, "-o", made),
        ("perturb", world.items, "--perturbed", "gone.jsonl"),
        ("novelty", world.texts, "--corpus", "gone.jsonl"),
    ):
        assert "gone.jsonl: no such file" in told(*words), words
