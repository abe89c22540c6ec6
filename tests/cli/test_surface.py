"""The surface as a whole: few options at a glance, one name for one idea, mistakes that say so."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from rote.cli._flags import SectionedCommand, SectionedOption, examples, suggested
from rote.cli._output import Gate
from rote.cli.main import main
from rote.core.metric import AT_A_GLANCE
from rote.core.registry import names, words_of
from rote.core.result import Result, SourceResult
from rote.core.signature import Signature
from rote.studies.dispatch.functions import command_function, documentation
from tests.cli.calls import commands
from tests.kit import invoke, option_names, write_jsonl
from tests.test_findings import parsed

ROOT = Path(__file__).resolve().parents[2]


def options_of(name: str) -> list[SectionedOption]:
    return [one for one in commands()[name].params if isinstance(one, SectionedOption)]


def flag_of(option: click.Option) -> str:
    return max(option.opts, key=len)


def shown(name: str, *flags: str) -> str:
    found = invoke(*name.split(), *flags)
    assert found.exit_code == 0, found.output
    return found.output


def flags_in(text: str) -> set[str]:
    return set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.M)) - {"--help", "--help-all"}


# -- at a glance ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", commands())
def test_help_shows_ten_options_and_an_example_and_help_all_the_rest(name: str) -> None:
    brief, whole = shown(name, "--help"), shown(name, "--help-all")
    every = {flag_of(option) for option in options_of(name)}
    assert len(flags_in(brief)) <= AT_A_GLANCE
    assert flags_in(brief) <= every == flags_in(whole)
    assert every == flags_in(brief) or "--help-all" in brief
    calls = [
        line for line in examples(commands()[name].help or "") if f"rote {name} " in f"{line} "
    ]
    assert calls, "a call of it in its help"
    assert calls[0] in brief
    parsed(shlex.split(calls[0])[1:])


@pytest.mark.parametrize("name", names())
def test_python_says_the_same(name: str) -> None:
    from rote.core.registry import find

    said = documentation(name.replace("-", "_"))
    usual, rest = said.partition("Keywords:\n")[2].split("\nFurther keywords:\n")
    command = commands()[" ".join(words_of(name))]
    assert isinstance(command, SectionedCommand)
    listed = re.findall(r"^    (\w+): ", usual, re.M)
    every = option_names(find(name))
    assert sorted([*listed, *re.findall(r"^    (\w+): ", rest, re.M)]) == sorted(every)
    # What the shell has room for beside options of its own is there as well.
    assert command.glance & set(every) <= set(listed)
    assert len(listed) <= AT_A_GLANCE
    assert command_function(name.replace("-", "_")).__doc__ == said


# -- one name for one idea -----------------------------------------------------------------------

NEVER = {
    "--against": "--corpus, or --test-items where test items are looked for",
    "--format": "--input-format reads; what is written follows from the ending of -o",
    "--most": "--sample draws, --limit takes the first, --max is a bound",
    "--to": "--reference-field and --document-field name fields",
    "--idx": "--corpus",
    "--from": "--phrases-from",
}
"""Names that no option has, and what it is called instead."""
DIFFERENT = {
    **dict.fromkeys(
        ("--k", "--lengths", "--min-count", "--n", "--run", "--top"), "the definition's"
    ),
    **dict.fromkeys(("--near", "--max-texts", "--scores", "--sentences"), "the measure's own cost"),
    **dict.fromkeys(("--layer", "--layers", "--drop-incomplete"), "what the command is about"),
    **dict.fromkeys(("--on", "--quality", "--words"), "follows from the records where not given"),
    **dict.fromkeys(
        ("--alpha", "--seeds", "--theta", "--patience", "--placebo", "--tokens"),
        "train study repeats the paper's settings, the parts of it are free",
    ),
    **dict.fromkeys(("--beams", "--samples", "--temperature"), "generate is greedy, attacks draw"),
    "--seed": "evaluate draws examples as lm-evaluation-harness does",
    **dict.fromkeys(("--authors", "--corpus", "--model", "--train"), "one, or several of them"),
    **dict.fromkeys(("--context", "--limit", "--sort", "--examples"), "as much as fits the output"),
    **dict.fromkeys(("--interval", "--matched", "--correction"), "results as they were made"),
    "--chance": "a fragment is judged by its rarity, a match of meaning by its probability",
    "--by": "items are grouped by task, documents and summaries by source",
    "--document-field": "an index has no field that every document shares",
    "--embedder": "perturb compares words alone unless asked",
    "--instruction": "generate places that of a set, a judge reads one of its own",
    "--max-tokens": "a judge answers with a letter",
    "--of": "keyness is of phrases, a judgement of what is asked",
    "--output": "data sets have a place of their own, results are printed",
    "--random": "factors names fields, limit is asked for random subsets as well",
    "--min-bits": "a match is judged by its length, a part by the rarity of its words",
    "--sample": "edits are tried on a few documents, measures take all",
    "--min-words": "a match is longer than a fragment that needs a citation",
    "--tokenizer": "a backend's own where a corpus counts",
    "--variant": "perturb has the paper's way and a careful one",
}
"""Options whose default is not the same in all commands, and why."""


@cache
def holders() -> dict[str, dict[str, SectionedOption]]:
    """By flag the commands that have it."""
    found: dict[str, dict[str, SectionedOption]] = defaultdict(dict)
    for name in commands():
        for option in options_of(name):
            found[flag_of(option)][name] = option
    return found


def test_no_option_has_a_name_that_another_idea_has() -> None:
    assert not NEVER.keys() & holders().keys()


@pytest.mark.parametrize("name", commands())
def test_a_flag_is_the_keyword_of_python(name: str) -> None:
    for option in options_of(name):
        assert flag_of(option) == "--" + (option.name or "").replace("_", "-"), option.opts


def default_of(option: SectionedOption) -> str:
    return str(option.default)


def test_defaults_that_differ_are_named_with_a_reason() -> None:
    every = {
        flag: own for flag, own in holders().items() if flag != "--jobs"
    }  # the machine's cores
    differ = {
        flag: sorted({default_of(option) for option in own.values()})
        for flag, own in every.items()
        if len({default_of(option) for option in own.values()}) > 1
    }
    assert sorted(differ) == sorted(DIFFERENT), differ
    assert all(DIFFERENT.values())


# -- options that nobody is shown ------------------------------------------------------------------

UNSHOWN: dict[str, str] = {}
"""Options that no hand-written page names, and why they are there all the same."""
MOST_NAMES = 244
"""How many names of options there are: a new one takes the place of another."""


def test_every_option_is_named_by_a_page_that_somebody_wrote() -> None:
    """A guide, the page of a measure or the README: tests and the generated reference do not
    count, since they name whatever there is."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]
    text = "\n".join(p.read_text("utf-8") for p in pages if p.name != "cli.md")
    unshown = []
    for flag, own in holders().items():
        option = next(iter(own.values()))
        ways = [rf"(?<![\w-])--(?:no-)?{flag[2:]}(?![\w-])", rf"\b{option.name}="]
        ways += [rf"(?<![\w-]){one}\b" for one in option.opts if one[:2] != "--"]
        if not any(re.search(way, text) for way in ways):
            unshown.append(flag)
    assert sorted(unshown) == sorted(UNSHOWN)
    assert all(UNSHOWN.values())
    assert len(holders()) <= MOST_NAMES


# -- mistakes --------------------------------------------------------------------------------------

MISTAKES = {
    "lexcal T": "did you mean 'lexical'?",
    "rouge T": "`rote rouge` is now `rote score --scores rouge`",
    "finetune T": "`rote finetune` is now `rote train finetune`",
    "train finetun T": "did you mean 'finetune'?",
    "index document I 1": "`rote index document` is now `rote show IDX --id ID`",
    "index bild T": "did you mean 'build'?",
    "lexical": "Missing argument 'FILE...'",
    "lexical nowhere.jsonl": "nowhere.jsonl: no such file",
    "lexical T --bye source": "did you mean --by?",
    "lexical T --refernce a": "did you mean --reference?",
    "novelty T --against I": "did you mean --corpus?",
    "novelty T --index I": "did you mean --corpus?",
    "contamination T --corpus T --items texts": "did you mean --benchmark?",
    "train intervene T --items 3": "did you mean --sample?",
    "perturb T --answers x.jsonl": "did you mean --write-answers?",
    "dedup T --newest year": "did you mean --keep?",
    "lexical T --format jsonl": "did you mean --input-format?",
    "lexical T --threads 2": "did you mean --jobs?",
    "lexical T --out x.json": "did you mean --output?",
    "score T --to reference": "did you mean --reference-field?",
    "lexical T --corpus I": "rote lexical --help-all lists all",
    "lexical T --by sauce": "field 'sauce': the field that --by names",
    "lexical T --by source --reference humans": "'humans': known: a, b",
    "lexical T --where source=c": "source is a, b",
    "lexical T --where sorce=a": "no record has 'sorce'",
    "lexical T --where source": "write FIELD=VALUE",
    "lexical T --interval 95": "interval must be at least 0 and below 1",
    "lexical T --jobs 0": "jobs must be at least 1",
    "lexical T --window ten": "'ten' is not a valid integer",
    "lexical T --variant best": "'best' is not one of 'exact', 'paper', 'package'",
    "lexical T --layer lowr": "did you mean 'lower'?",
    "lexical T --tokenizer udd": "did you mean 'ud'?",
    "lexical T --text-field txt": "field 'txt': the field is missing",
    "lexical T --json --csv": "choose one of --json, --csv",
    "lexical T -o result.xyz": "results are not written as .xyz",
    "lexical T -o T": "would overwrite the input",
    "novelty T": "--corpus takes an index",
    "score T --scores rogue": "did you mean 'rouge'?",
    "count nowhere word": "nowhere: this is no index",
}
"""What people type, and what they are told. T holds two sources."""


@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_gets_one_message_and_exit_code_2(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    texts = tmp_path / "texts.jsonl"
    rows = [{"id": f"{s}{n}", "source": s, "text": "A short text."} for s in "ab" for n in (1, 2)]
    write_jsonl(texts, rows)
    monkeypatch.chdir(tmp_path)
    words = [str(texts) if word == "T" else word for word in typed.split()]
    monkeypatch.setattr("sys.argv", ["rote", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert MISTAKES[typed] in said
    assert len(re.findall(r"^(?:error|Error): ", said, re.M)) == 1
    assert "Traceback" not in said


def test_a_flag_is_suggested_by_its_idea_or_by_its_letters() -> None:
    assert suggested("--against", ["--csv", "--corpus"]) == "--corpus"
    assert suggested("--corpus", ["--csv", "--codecs"]) == ""
    assert suggested("--refrence", ["--reference", "--by"]) == "--reference"


# -- narrow terminals ------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [24, 30, 40, 60, 80, 100, 132])
@pytest.mark.parametrize("name", ["lexical", "templates", "keyness", "self_repetition", "style"])
def test_no_line_of_a_table_is_wider_than_the_terminal(name: str, width: int) -> None:
    from rich.cells import cell_len

    from rote.report.result_tables import results_text

    lines = results_text([_measured(name)], width).splitlines()
    lines = [line for line in lines if not line.startswith("measure:")]  # one line, to copy
    assert [line for line in lines if cell_len(line) > width] == []
    # A line that is broken goes on at the margin, where no row of a table begins.
    rules = [n for n, line in enumerate(lines) if line.strip() and set(line.strip()) == {"─"}]
    assert rules
    assert all(lines[n + 1].startswith(" ") for n in rules)


@cache
def _measured(name: str) -> Any:
    import rote as package

    given = {"by": "source", "reference": "plain", "permutations": 9, "matched": False}
    return getattr(package, name)("example:answers", **given)


@pytest.mark.parametrize(
    ("gate", "status", "line"),
    [
        ("ttr=1", 0, ""),
        ("ttr=0.05", 1, "failed: ttr of plain is 0.488312, more than 0.05"),
        ("ttt=1", 2, "did you mean 'ttr'?"),
        ("ttr", 2, "--fail-above takes a value and a number"),
    ],
)
def test_a_value_above_its_limit_fails(
    gate: str, status: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """As a pipeline sees it: the status of the process."""
    words = ["lexical", "example:answers", "--by", "source", "-q", "--fail-above", gate]
    monkeypatch.setattr("sys.argv", ["rote", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert (stopped.value.code or 0) == status
    assert line in capsys.readouterr().err


def test_a_gate_sees_every_result_of_a_panel(capsys: pytest.CaptureFixture[str]) -> None:
    """Measures of a panel share names of values and of tables; none of them hides another."""

    def measured(measure: str, rate: float, cell: float) -> Result:
        source = SourceResult(1, 10, {"rate": rate})
        tables = {"rows": [{"share": cell}]}
        signature = Signature.of({"measure": measure})
        return Result(measure, signature, (), None, None, {"a": source}, tables=tables)

    panel = [measured("templates", 0.9, 0.8), measured("novelty", 0.1, 0.2)]
    with pytest.raises(click.exceptions.Exit):
        Gate(("rate=0.5", "share=0.5")).check(panel)
    assert capsys.readouterr().err.splitlines() == [
        "failed: rate of a (templates) is 0.9, more than 0.5",
        "failed: share of row 1 of rows (templates) is 0.8, more than 0.5",
    ]
    Gate(("rate=0.95", "share=0.95")).check(panel)


def test_all_values_go_into_one_table(tmp_path: Path) -> None:
    import polars as pl

    target = tmp_path / "results.parquet"
    compared = ["example:answers", "--by", "source", "--reference", "plain"]
    compared += ["--permutations", "9"]
    ended = invoke("diversity", *compared, "-o", str(target))
    assert ended.exit_code == 0, ended.output
    frame = pl.read_parquet(target)
    columns = {"aspect", "source", "value", "estimate", "low", "high", "matched", "p_corrected"}
    assert columns <= set(frame.columns)
    assert frame["aspect"].n_unique() > 5
