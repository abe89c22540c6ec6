"""The shell as a user meets it: every command, its output forms, its errors."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from rote.cli.main import MOVED, rote
from rote.core import plugins
from rote.core.distribution import version
from rote.core.errors import RoteError
from rote.core.progress import Silent
from rote.core.registry import GROUPS, names, words_of
from tests.cli.calls import commands
from tests.kit import invoke, write_jsonl

FAST = ["--permutations", "9", "--no-matched", "-q"]


@pytest.fixture
def answers(tmp_path: Path) -> str:
    rows = [
        {"id": f"{source}{n}", "source": source, "doc_id": n, "text": f"{opening} number {n} {n}."}
        for source, opening in (("human", "A plain text"), ("model", "As a testament, a text"))
        for n in range(6)
    ]
    return str(write_jsonl(tmp_path / "answers.jsonl", rows))


def test_no_help_waits_for_numba() -> None:
    """Of any command: kernels import it when the first of them is called."""
    code = (
        "import contextlib, io, json, sys\n"
        "from rote.cli.main import rote\n"
        "for name in json.loads(sys.argv[1]):\n"
        "    with contextlib.redirect_stdout(io.StringIO()):\n"
        "        rote.main([*name.split(), '--help'], standalone_mode=False)\n"
        "    assert 'numba' not in sys.modules, name\n"
    )
    subprocess.run([sys.executable, "-c", code, json.dumps(list(commands()))], check=True)


def test_help_lists_every_measure_without_importing_any() -> None:
    code = (
        "import sys; from rote.cli.main import rote\n"
        "rote.main(['--help'], standalone_mode=False)\n"
        "rote.main(['index', '--help'], standalone_mode=False)\n"
        "heavy = {'numpy', 'numba', 'polars', 'scipy', 'rich', 'altair', 'zstandard'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.split()[:1] == ["build"] for line in lines)
    for heading, own in GROUPS.items():
        place = lines.index(f"{heading}:") + 1
        assert [line.split()[0] for line in lines[place : place + len(own)]] == list(own)


def test_every_command_is_in_one_group() -> None:
    grouped = [name for own in GROUPS.values() for name in own]
    known = {words_of(name)[0] for name in names()} | set(plugins.members("cli.commands"))
    assert sorted(grouped) == sorted(known)
    assert rote.list_commands(click.Context(rote)) == grouped


@pytest.mark.parametrize("name", [*MOVED, "index document"])
def test_an_earlier_name_says_what_it_became(name: str) -> None:
    found = invoke(*name.split(), "texts.jsonl")
    assert found.exit_code == 2
    [line] = [line for line in found.output.splitlines() if line.startswith("Error: ")]
    assert f"`rote {name}` is now " in line
    for words in re.findall(r"`rote ([a-z -]+?)(?: --| IDX|`)", line)[1:]:
        assert words in commands()


def test_python_runs_the_package_which_says_its_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rote", "--version"], capture_output=True, text=True
    )
    assert done.stdout == f"rote, version {version()}\n", done.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("novelty", "with a corpus: --corpus takes an index or a file of texts"),
        ("overlap", "with a corpus: --train takes an index or a file of texts"),
        ("perplexity", "needs a language model: name one with --model"),
        ("precision-recall", "name one of the sources (--by) with --reference"),
    ],
)
def test_a_measure_that_compares_with_nothing_is_refused(
    name: str, said: str, answers: str
) -> None:
    found = invoke(name, answers, "--by", "source", *FAST)
    assert found.exit_code != 0
    assert said in str(found.exception)


def test_standard_input_is_read(answers: str) -> None:
    text = Path(answers).read_text()
    found = invoke("lexical", "-", "--json", *FAST, input=text)
    assert json.loads(found.stdout)["sources"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "id", "--reference", "human0"], "the field that --by names is missing"),
        (["--by", "text", "--reference", "x"], "the field that --by names is missing"),
        (["--by", "doc_id,source", "--reference", "1|human"], "only one text"),
        (["--figure", "f.bmp"], "--figure f.bmp: end in one of .png"),
    ],
)
def test_errors_say_what_is_wrong(answers: str, arguments: list[str], message: str) -> None:
    found = invoke("lexical", answers, *arguments, *FAST)
    assert isinstance(found.exception, RoteError), found.output
    assert message in str(found.exception)


def test_what_the_system_refuses_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from rote.cli import main as shell

    def refuse(**_: Any) -> None:
        raise PermissionError(13, "Permission denied", "out.json")

    monkeypatch.setattr(shell.rote, "main", refuse)
    with pytest.raises(SystemExit) as stopped:
        shell.main()
    assert stopped.value.code == 2


def test_skipped_records_are_counted_and_listed(tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text('{"text": "one two three"}\n{"text": ""}\nnot json\n{"text": "four five"}\n')
    found = invoke(
        "lexical", str(path), "--on-error", "skip", "--permutations", "9", "--no-matched"
    )
    assert found.exit_code == 0, found.output
    assert "skipped 2 records" in found.stderr
    assert "line 2, field 'text': the text is empty" in found.stderr
    assert "line 3" in found.stderr


def test_a_sample_keeps_parallel_texts_together(answers: str) -> None:
    found = invoke(
        "lexical",
        answers,
        "--by",
        "source",
        "--reference",
        "human",
        "--sample",
        "3",
        "--json",
        *FAST,
    )
    data = json.loads(found.stdout)
    assert {source["texts"] for source in data["sources"].values()} == {3}
    assert {row["shared_doc_ids"] for row in data["comparisons"]} == {3}


def test_the_demo_has_a_model_answer_the_bundled_prompts(tmp_path: Path) -> None:
    from rote.cli.commands.demo import _answered

    table = tmp_path / "table.json"
    table.write_text('{"paragraph.": {"Yes.": 1.0}, "Yes.": {"": 1.0}}')
    documents = _answered(f"fake:{table}", Silent())
    plain = [one for one in documents if one.meta["source"] == "plain"]
    written = [one for one in documents if one.meta["source"] == "table.json"]
    assert [one.meta["doc_id"] for one in written] == [one.meta["doc_id"] for one in plain]
    assert all(one.text for one in written)


def test_the_demo_names_a_command_that_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rote.cli.commands.demo import command_name

    called = tmp_path / "bin" / "rote"
    called.parent.mkdir()
    called.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command_name(called) == str(called)
    monkeypatch.setenv("PATH", str(called.parent))
    assert command_name(called) == "rote"
    assert command_name(tmp_path / "__main__.py") == "rote"


def test_a_file_that_is_not_there_gets_advice_for_the_shell() -> None:
    from rote import lexical

    told = str(invoke("lexical", "one text alone").exception)
    assert "Check the path" in told
    assert "list" not in told
    with pytest.raises(RoteError, match=r"one text alone is given as a list, \[text\]"):
        lexical("one text alone")


@pytest.mark.parametrize(
    ("keyword", "value", "said"),
    [
        ("interval", "0", "a number"),
        ("permutations", "9", "a whole number or None"),
        ("permutations", 9.5, "a whole number or None"),
        ("jobs", True, "a whole number"),
        ("matched", "no", "True or False"),
        ("window", "50", "a whole number"),
        ("interval", "0.7", "a number"),
        ("text_field", 3, "a text"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_by_name(keyword: str, value: Any, said: str) -> None:
    from rote import lexical

    with pytest.raises(RoteError) as refused:
        lexical(["a text", "another text"], **{keyword: value})
    assert f"{keyword} must be {said}" in str(refused.value)
    assert f"not {value!r}" in str(refused.value)


def test_very_many_sources_are_not_all_printed_and_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    rows = ({"who": f"author{n:03}", "text": f"A text of {n} words."} for n in range(150))
    write_jsonl(path, rows)
    found = invoke("templates", str(path), "--by", "who", "--no-matched", "--permutations", "0")
    assert "--by who makes 150 sources of 150 texts" in found.output
    assert "not printed: 90 more sources; --csv and --json give them all" in found.output
    assert len(found.output.splitlines()) < 1500
    assert "author000" in found.output
    assert "author149" not in found.output
    whole = invoke("lexical", str(path), "--by", "who", *FAST, "--csv")
    assert "author149" in whole.output
