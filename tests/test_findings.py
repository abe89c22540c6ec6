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
def test_what_is_checked_names_columns_and_files_of_the_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    files = {script.written_by(words) for words in script.commands(text)}
    for check in script.checks(text):
        assert check.table
        for column, (file, *_) in check.columns.items():
            assert column in check.table[0]
            assert file in files


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
-->
| genre | source | MTLD | Unique | p |
|---|---|---|---|---|
| stories | human | 61.8 ±2.0 | 55.2% ±0.3 | |
| | gpt | **76.5** ±1.6 | 54.0% | 0.01 |
"""


def test_numbers_are_held_against_the_result() -> None:
    def source(mtld: float, reach: float, unique: float) -> dict[str, object]:
        values = {"mtld": mtld, "unique": unique}
        return {"values": values, "intervals": {"mtld": [mtld - reach, mtld + reach]}}

    result = {
        "sources": {"wp|human": source(61.84, 2.04, 0.5521), "wp|gpt": source(76.51, 1.9, 0.531)},
        "comparisons": [{"source": "wp|gpt", "value": "mtld", "p_corrected": 0.0101}],
        "tables": {},
    }
    assert script.commands(PAGE) == [
        ["lexical", "a.jsonl", "--by", "genre,source", "-o", "lexical.json"]
    ]
    found = script.Found()
    (check,) = script.checks(PAGE)
    script.compare(check, {"lexical.json": json.loads(json.dumps(result))}, found)
    assert found.right == 5
    assert [line.split(":")[0] for line in found.wrong] == ["wp|gpt, MTLD", "wp|gpt, Unique"]
    script.compare(check, {}, found := script.Found())
    assert (found.right, found.wrong, len(found.unchecked)) == (0, [], 5)


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
    found = script.Found()
    results = script.results_of(["study"], tmp_path)
    (check,) = script.checks(STUDY)
    script.compare(check, results, found)
    assert found.right == 4
    assert found.wrong == ["all, ROUGE-2: '42.0 ±0.3' on the page, 0.4291"]
