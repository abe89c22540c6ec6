"""Every command from Python: a function with a signature, results for a notebook, errors in its
words."""

from __future__ import annotations

import ast
import inspect
import pickle
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import rote
from rote.core.registry import functions
from rote.core.result import PanelResults, Result
from rote.studies.dispatch.functions import (
    FLAG_VALUES,
    command_function,
    describe,
    documentation,
    to_python,
    to_python_call,
)
from tests import stand_ins
from tests.cli.calls import World, commands

ROOT = Path(__file__).resolve().parent.parent
NOT_RUN = {
    "demo": "takes minutes; its parts are run by themselves",
    "serve": "waits for a browser",
    **dict.fromkeys(
        ("train_finetune", "train_calibrate", "train_intervene", "train_study"),
        "trains for minutes; tests/test_docs.py does that once",
    ),
}
NEEDS = {"torch": r"transformers:", "sklearn": "train_reina"}
SMALL = {
    "permutations": "19",
    "matched": "False",
    "max_tokens": "8",
    "steps": "2",
    "longest": "60",
    "neighbour_count": "2",
    "epochs": "1",
    "missing": "'skip'",
}
"""How many and how long changes nothing that is looked at here."""


# -- functions -----------------------------------------------------------------------------------


def test_every_command_is_a_function() -> None:
    """And every flag that does not say how the shell prints is a keyword of it."""
    known = {describe(name).shell: name for name in functions()}
    assert known.keys() == commands().keys()
    for shell, name in known.items():
        call = getattr(rote, name)
        assert callable(call), name
        parameters = inspect.signature(call).parameters
        flags = {one.name for one in commands()[shell].params if one.param_type_name == "option"}
        assert flags - PRINTING - AFTER.get(name, set()) <= parameters.keys(), name


PRINTING = {
    *("json", "csv", "latex", "md", "output", "quiet", "figure", "figures", "all"),
    "across",  # tables alone: a table in Python has to_latex(across=...)
    "fail_above",  # the exit status
}
AFTER = {"originality": {"accept", "write"}}
"""What the shell does with a result once it is there."""


def test_mypy_finds_a_misspelt_keyword_of_every_function(tmp_path: Path) -> None:
    right, wrong = [], []
    for name in functions():
        given = ["x"] * sum(
            one.kind is inspect.Parameter.POSITIONAL_ONLY for one in describe(name).inputs
        )
        for keyword in list(describe(name).keywords)[:1] or [""]:
            more = [f"{keyword}=x"] if keyword else []
            right.append(f"rote.{name}({', '.join([*given, *more])})")
        wrong.append(f"rote.{name}({', '.join([*given, 'refrence=x'])})")
    right += ["rote.index(x).trace(x, min_words=3).sources.sort('ttr')"]
    wrong += ["rote.index(x).trace(x, min_word=3)", "rote.open_index(x).trace(x, corpus=x)"]
    script = tmp_path / "script.py"
    lines = ["from typing import Any", "import rote", "x: Any = None", *right, *wrong]
    script.write_text("\n".join(lines) + "\n")
    first = len(lines) - len(wrong) + 1
    # The stub alone has all functions; what it imports takes mypy most of a minute.
    stub = str(ROOT / "src" / "rote" / "__init__.pyi")
    told = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=skip", str(script), stub],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PATH": "", "MYPYPATH": str(ROOT / "src")},
    )
    found = {int(line) for line in re.findall(r"script\.py:(\d+): error: Unexpected", told.stdout)}
    assert found == set(range(first, len(lines) + 1)), told.stdout + told.stderr
    assert len(re.findall(r"script\.py:\d+: error: ", told.stdout)) == len(wrong), told.stdout


@pytest.mark.parametrize("name", functions())
def test_the_first_example_of_a_docstring_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: Path
) -> None:
    doc = getattr(rote, name).__doc__
    assert doc == documentation(name)
    calls = re.findall(r"^    >>> (.*)$", doc, re.M)
    assert not re.search(r"(?<![\w-])--[a-z]", doc)
    for call in calls:
        called = re.findall(r"rote\.(\w+)\(", call)
        nodes = ast.walk(ast.parse(call, mode="eval"))
        given = {one.arg for node in nodes for one in getattr(node, "keywords", ())}
        assert given <= {*describe(called[0]).keywords}, call
    own = next((n for n, call in enumerate(calls) if call.startswith(f"rote.{name}(")), None)
    assert own is not None, "a call of it in its docstring"
    if name in NOT_RUN:
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rote.compare.intervals.HALF_SAMPLES", 40)
    for call in calls[: own + 1]:
        for package, part in NEEDS.items():
            if re.search(part, call) and find_spec(package) is None:
                pytest.skip(f"needs {package}")
        read = re.sub(r'(output=|write=|save\()"[^"]*"', "", call)
        stand_ins.provide(re.sub(r'["(,:=]', " ", read), name, built)
        eval(small(call), {"rote": rote, "Path": Path})


def small(call: str) -> str:
    """The same with few permutations and short texts."""
    known = describe(re.findall(r"rote\.(\w+)\(", call)[0]).keywords
    more = "".join(f", {k}={v}" for k, v in SMALL.items() if k in known and f"{k}=" not in call)
    end = call.index(").") if ")." in call else len(call) - 1
    return f"{call[:end]}{more}{call[end:]}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("built")


# -- results -------------------------------------------------------------------------------------

ASKED = [
    "lexical",
    "diversity",
    "trace",
    "search",
    "count",
    "top",
    "index originals",
    "table",
    "evaluate",
    "correlate",
    "keyness",
    "popularity",
    "style",
]


@pytest.mark.parametrize("name", ASKED)
def test_results_print_pickle_and_come_back_from_json(name: str, world: World) -> None:
    words = [one for one in world.call(name) if one not in ("--json", "-q")]
    call = to_python_call(shlex.join(["rote", *words]))
    found = eval(call, {"rote": rote, "Path": Path})
    assert isinstance(found, (Result, PanelResults))
    assert "\n" not in repr(found)
    assert len(repr(found)) < 400
    assert str(found).count("\n") > 2
    assert pickle.loads(pickle.dumps(found)) == found
    assert type(found).from_json(found.to_json()) == found
    again = type(found).from_json(found.to_json())
    assert str(again).splitlines()[:5] == str(found).splitlines()[:5]


def test_values_sources_and_differences_are_frames() -> None:
    texts = {
        "a": ["the cat sat on a mat and so did I", "a cat ran off with the hat"] * 4,
        "b": ["it rained on the long road home", "nobody waited at the gate today"] * 4,
    }
    found = rote.lexical(texts, reference="a", permutations=19)
    value = found["unique_1"]
    assert value["source"].to_list() == ["a", "b"]
    assert value["estimate"].to_list() == [found.by_source[s].values["unique_1"] for s in "ab"]
    assert "difference" in value.columns
    assert "matched" not in value.columns, "nothing in it"
    assert found["values"].equals(found.to_polars()) or found["values"].height
    import polars as pl  # not before: its threads would be missing in forked processes

    for frame in (value, found.sources, found.differences, found.to_polars()):
        assert isinstance(frame, pl.DataFrame)
    assert found.sources.columns[:3] == ["source", "texts", "words"]
    assert found.sources.sort("words")["words"].is_sorted()
    assert found.sources["source"].to_list() == [*found.by_source] == ["a", "b"]
    ttr = [found.by_source[source].values["ttr"] for source in "ab"]
    assert found.sources["ttr"].to_list() == ttr
    assert set(found.differences["value"]) >= {"unique_1", "ttr"}
    with pytest.raises(rote.UnknownName, match="did you mean 'unique_1'"):
        found["unique1"]
    panel = rote.diversity(texts, permutations=9)
    assert panel["lexical"].measure == panel[0].measure == "lexical"
    with pytest.raises(rote.UnknownName, match="did you mean 'lexical'"):
        panel["lexicl"]


def test_an_index_has_one_trace_and_answers_what_its_functions_answer(tmp_path: Path) -> None:
    texts = ["They left by the back gate as it rained.", "The gate was open."]
    held, memory = rote.index(texts, output=tmp_path / "IDX"), rote.index(texts)
    asked: dict[str, Any] = {"min_words": 3, "min_bits": 1, "kinds": "verbatim"}
    for index in (held, memory):
        assert "2 documents" in repr(index)
        assert index.trace(["We left by the back gate."], **asked) == rote.trace(
            ["We left by the back gate."], corpus=index, **asked
        )
        assert rote.search(index, "gate")["places"].height == index.count("gate") == 2
        assert rote.count(index, "the")["counts"]["occurrences"][0] == index.count("the")
        assert rote.top(index, k=3)["ngrams"].height == 3
    assert rote.search(tmp_path / "IDX", "gate") == rote.search(held, "gate")
    assert rote.index_verify(tmp_path / "IDX").about["whole"] is True
    assert rote.index_info(tmp_path / "IDX").about["documents"] == 2


# -- errors --------------------------------------------------------------------------------------


def messages() -> Iterator[tuple[str, str]]:
    """Every text of the package that names a flag, without docstrings; what is put in is X1."""
    for path in sorted((ROOT / "src/rote").rglob("*.py")):
        if path.relative_to(ROOT / "src/rote").parts[0] == "web" or path.name == "main.py":
            continue  # they speak of the shell alone
        tree = ast.parse(path.read_text("utf-8"))
        parts = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
        spoken = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        for node in ast.walk(tree):
            if id(node) in parts | spoken:
                continue
            if isinstance(node, ast.JoinedStr):
                held = (v.value if isinstance(v, ast.Constant) else "X1" for v in node.values)
                text = "".join(map(str, held))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            if re.search(r"(?<![\w-])--[a-z]|`rote [a-z]", text) and " " in text:
                yield f"{path.name}:{getattr(node, 'lineno', 0)}", text


def test_no_message_names_a_flag_in_python() -> None:
    choices: dict[str, set[str]] = {}
    for name in functions():
        for keyword, (_, hint) in describe(name).keywords.items():
            choices.setdefault(keyword, set()).update(re.findall(r"'([a-z0-9-]+)'", hint))
    known, found = {*choices}, 0
    for place, text in messages():
        said = to_python(text)
        if "pip install" not in text:
            assert not re.search(r"(?<![\w-])--[a-z]|`rote [a-z]", said), (place, said)
        for flag, after in re.findall(r"(?<![\w-])--([a-z][a-z-]*)(?: ([a-z]+)\b)?", text):
            keyword = flag.replace("-", "_")
            found += keyword in known
            if after in choices.get(keyword, ()):
                assert after in FLAG_VALUES, f"{place}: --{flag} {after}: list the value in VALUES"
    assert found > 200


def test_errors_speak_python_in_python_and_shell_in_the_shell(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from rote.cli.main import rote as command

    (tmp_path / "a.unknown").write_text("one")
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "one"}\n{"id": 1, "text": "two"}\n')
    with pytest.raises(rote.InputError) as raised:
        rote.lexical(tmp_path / "a.jsonl")
    assert "id_field" in str(raised.value)
    assert "on_error='skip'" in str(raised.value)
    assert "--" not in str(raised.value)
    assert pickle.loads(pickle.dumps(raised.value)).remedy == raised.value.remedy
    told = CliRunner().invoke(command, ["lexical", str(tmp_path / "a.jsonl"), "-q"])
    assert "--on-error skip" in str(told.exception)
    with pytest.raises(rote.OptionError, match="corpus takes an index"):
        rote.trace(["one"])
    with pytest.raises(rote.OptionError, match=r"rote\.index_add_layer\('.*', 'lemma'\)"):
        rote.search(rote.index(["one two"], output=tmp_path / "IDX"), "one", layer="lemma")
    with pytest.raises(rote.InputError, match="input_format"):
        rote.open_corpus(tmp_path / "a.unknown")


def test_errors_of_an_index_speak_python_in_python_and_shell_in_the_shell(tmp_path: Path) -> None:
    """A layer that is held but not sorted: every method that counts in it names what sorts it."""
    from rote.index.factory import open_index

    made = rote.index(["one two"], output=tmp_path / "IDX", layers="pos")
    unsorted = next(one for one in made.layers if one not in made.sorted_layers)
    given: dict[str, tuple[Any, ...]] = {
        "count": ("one",),
        "counts": (["one"],),
        "document_counts": (["one"],),
        "ngram_counts": (["one"],),
        "author_counts": (["one"],),
        "documents": ("one",),
        "authors": ("one",),
        "places": ("one", 1),
        "longest": ("one",),
        "lengths": ("one",),
        "extend": (["one"],),
        "holders": (["one"],),
    }
    for name, arguments in given.items():
        for index in (made, rote.open_index(tmp_path / "IDX"), made.on(1)):
            assert type(index) is rote.Index
            with pytest.raises(rote.OptionError, match=rf"rote\.index_add_layer\(.*{unsorted}"):
                getattr(index, name)(*arguments, layer=unsorted)
        with pytest.raises(rote.OptionError, match=rf"`rote index add-layer .* {unsorted}`"):
            getattr(open_index(tmp_path / "IDX"), name)(*arguments, layer=unsorted)
    assert inspect.signature(made.trace).parameters.keys() | {"corpus", "corpus_read"} == (
        inspect.signature(rote.trace).parameters.keys()
    )


def test_options_are_those_of_the_command() -> None:
    with pytest.raises(rote.OptionError, match="did you mean `reference`"):
        rote.diversity(["one two"], refrence="a")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        rote.search("IDX")  # type: ignore[call-arg]
    assert {one.name for one in fields(rote.ReadOptions)} <= {*describe("report").keywords}
    assert command_function("lexical") is rote.lexical
