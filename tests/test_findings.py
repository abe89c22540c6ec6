"""The findings pages: their commands exist, and the script that checks their numbers sees them."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest

from rote.cli.main import rote

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = sorted((DOCS / "findings").glob("*.md"))


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_findings", DOCS / "check_findings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


script = _loaded()


def parsed(words: list[str]) -> None:
    """As the shell would read them: flags that exist, choices that are offered."""
    command: click.Command = rote
    context = click.Context(rote, info_name="rote")
    while isinstance(command, click.Group):
        found = command.get_command(context, words[0])
        assert found is not None, words[0]
        command, context, words = found, click.Context(found, parent=context), words[1:]
    given, _, _ = command.make_parser(context).parse_args(args=list(words))
    for param in command.params:
        value = given.get(param.name or "")
        if isinstance(param.type, click.Choice) and isinstance(value, str):
            param.type.convert(value, param, context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_printed_command_is_one(page: Path) -> None:
    commands = script.commands(page.read_text(encoding="utf-8"))
    assert commands
    for words in commands:
        parsed(words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_origins_of_numbers_name_files_that_a_command_of_the_page_writes(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    files = {script.written_by(words) for words in script.commands(text)}
    assert {origin.file for origin in script.origins_of(text)} <= files
    script.fill(text, {}, script.Outcome())  # columns that the tables have


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_figures_are_drawn_by_a_command_of_the_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert all((page.parent / one).is_file() for one in script.figures_of(text, page.stem))


def test_a_figure_is_compared_with_the_one_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "PAGES", tmp_path)
    for folder in ("figures", "work/trees"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "figures" / "words-trees-all.svg").write_text("old")
    (tmp_path / "work" / "trees" / "all.svg").write_text("new")
    page = """
```sh
rote lexical a.jsonl --figures trees
```
![All](figures/words-trees-all.svg)
"""
    for write, wrong in ((False, 1), (True, 1), (False, 0)):
        outcome = script.Outcome()
        script.check_figures(page, "words", tmp_path / "work", write, outcome)
        assert (len(outcome.wrong), outcome.agreeing) == (wrong, 1 - wrong)
    with pytest.raises(SystemExit, match="no command draws"):
        script.figures_of(page.replace("trees-all", "other"), "words")


def test_a_flag_that_is_not_there_is_noticed() -> None:
    with pytest.raises(click.NoSuchOption):
        parsed(["lexical", "texts.jsonl", "--no-such-flag"])
    with pytest.raises(click.BadParameter):
        parsed(["lexical", "texts.jsonl", "--variant", "best"])


PAGE = """
```sh
rote lexical a.jsonl --by genre,source -o lexical.json   # also others
```

<!-- check
rows: {genre}|{source}
names: stories=wp
MTLD: lexical.json mtld±
Unique: lexical.json unique
p: lexical.json p(mtld)
bold: 0.05
-->
| genre | source | MTLD | Unique | p |
|---|---|---|---|---|
| stories | human | 61.8 ±2.0 | 55.2% ±0.3 | |
| | gpt | **76.5** ±1.6 | 54.0% | 0.01 |
"""


def _source(mtld: float, half_width: float, unique: float) -> dict[str, object]:
    values = {"mtld": mtld, "unique": unique}
    return {"values": values, "intervals": {"mtld": [mtld - half_width, mtld + half_width]}}


RESULT = {
    "sources": {"wp|human": _source(61.84, 2.04, 0.5521), "wp|gpt": _source(76.51, 1.9, 0.531)},
    "comparisons": [{"source": "wp|gpt", "value": "mtld", "p_corrected": 0.0101}],
    "tables": {
        "matched": [{"source": "wp|gpt", "value": "mtld", "mean": 1234.5, "low": 1, "high": 3}]
    },
}


def test_numbers_of_a_table_are_compared_with_the_result() -> None:
    assert script.commands(PAGE) == [
        ["lexical", "a.jsonl", "--by", "genre,source", "-o", "lexical.json"]
    ]
    outcome = script.Outcome()
    filled = script.fill(PAGE, {"lexical.json": json.loads(json.dumps(RESULT))}, outcome)
    assert outcome.agreeing == 5
    assert [line.split(" in ")[0] for line in outcome.wrong] == ["wp|gpt, mtld±", "wp|gpt, unique"]
    assert filled == PAGE.replace("±1.6", "±1.9").replace("54.0%", "53.1%")
    script.fill(PAGE + "Text.\n" + PAGE, {"lexical.json": RESULT}, outcome := script.Outcome())
    assert outcome.agreeing == 10
    plain, outcome = PAGE.replace("**", "").replace("±1.6", "±1.9"), script.Outcome()
    assert script.fill(plain, {"lexical.json": RESULT}, outcome) == filled
    assert outcome.wrong[0] == "wp|gpt, mtld in lexical.json: p = 0.0101, but not bold"
    outcome = script.Outcome()
    assert script.fill(PAGE, {}, outcome) == PAGE
    assert (outcome.agreeing, outcome.wrong, len(outcome.unchecked)) == (0, [], 7)


PROSE = """
rote 0.1.0, run on 1 May 2020: 61.8<!--lexical.json wp|human mtld--> against
1,100<!--lexical.json wp|gpt matched(mtld)-->, that is 50.0%<!--lexical.json wp|human unique-->,
−14.0
<!--lexical.json wp|human mtld - lexical.json wp|gpt mtld-->and +0.9
<!--lexical.json wp|human unique / lexical.json wp|gpt unique-->of 300 words `a 5` by GPT-3.5.
"""


def test_numbers_of_the_text_are_compared_with_the_result() -> None:
    page = PROSE.replace("\n<!--", "<!--")
    outcome = script.Outcome()
    filled = script.fill(page, {"lexical.json": RESULT}, outcome)
    assert outcome.agreeing == 1
    assert len(outcome.wrong) == 4
    for old, new in (("1,100", "1,234"), ("50.0%", "55.2%"), ("−14.0", "−14.7"), ("+0.9", "+1.0")):
        page = page.replace(old, new)
    assert filled == page
    assert script.unchecked_numbers(page) == ["300"]


def test_the_mean_over_sources_or_rows() -> None:
    rows = [{"source": "a", "other": "b", "x": 1}, {"source": "c", "other": "b", "x": 3}]
    result = RESULT | {"tables": {"pairs": [*rows, {"source": "a", "other": "a", "x": 7}]}}
    text = "0.54<!--lexical.json * unique--> and 2<!--lexical.json * pairs(b).x-->"
    script.fill(text, {"lexical.json": result}, outcome := script.Outcome())
    assert (outcome.agreeing, outcome.wrong) == (2, [])


@pytest.mark.parametrize(
    ("printed", "value", "expected"),
    [("0.10", 0.2, "0.20"), ("12", 12_345.6, "12,346"), ("1,200", 900.4, "900"), ("-3", 4.2, "4")],
)
def test_a_number_is_written_as_the_one_before(printed: str, value: float, expected: str) -> None:
    assert script.write_like(printed, value) == expected


STUDY = """
```sh
rote train study pairs.jsonl --from-config tiny -o study
```

<!-- check
rows: {arm}
scale: 100
names: least=theta 1
ROUGE-2: study averages(rouge_2).mean±
more: study contrasts(all, rouge_2).more
-->
| arm | ROUGE-2 | more |
|---|---|---|
| least | 21.7 ±0.4 | −0.3 |
| all | 42.0 ±0.3 | |
"""


def test_rows_of_other_tables_are_found_by_their_cells(tmp_path: Path) -> None:
    def row(source: str, mean: float, reach: float) -> dict[str, object]:
        ends = {"mean_low": mean - reach, "mean_high": mean + reach}
        return {"source": source, "score": "rouge_2", "mean": mean, **ends}

    tables = {
        "averages": [row("theta 1", 0.2171, 0.004), row("all", 0.4291, 0.003)],
        "contrasts": [{"source": "theta 1", "than": "all", "score": "rouge_2", "more": -0.0031}],
    }
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "result.json").write_text(json.dumps({"sources": {}, "tables": tables}))
    outcome = script.Outcome()
    script.fill(STUDY, script.results_of(["study"], tmp_path), outcome)
    assert outcome.agreeing == 4
    assert outcome.wrong == ["all, mean in study: '42.0' on the page, 42.91"]
