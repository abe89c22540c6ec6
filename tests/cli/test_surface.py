"""The surface as a whole: few options at a glance, one name for one idea, mistakes that say so."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from functools import cache
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rote.cli._flags import SectionedCommand, SectionedOption, examples
from rote.cli.main import rote
from rote.core.metric import AT_A_GLANCE
from rote.core.registry import names, words_of
from rote.studies._functions import documentation, function, keywords_of
from tests.cli.calls import commands
from tests.test_findings import parsed

ROOT = Path(__file__).resolve().parents[2]


def options_of(name: str) -> list[SectionedOption]:
    return [one for one in commands()[name].params if isinstance(one, SectionedOption)]


def flag_of(option: click.Option) -> str:
    return max(option.opts, key=len)


def shown(name: str, *flags: str) -> str:
    found = CliRunner().invoke(rote, [*name.split(), *flags])
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

    said = documentation(find(name))
    usual, rest = said.partition("Keywords:\n")[2].split("\nFurther keywords:\n")
    command = commands()[" ".join(words_of(name))]
    assert isinstance(command, SectionedCommand)
    listed = re.findall(r"^    (\w+): ", usual, re.M)
    every = [field.name for field, _ in keywords_of(find(name))]
    assert sorted([*listed, *re.findall(r"^    (\w+): ", rest, re.M)]) == sorted(every)
    # What the shell has room for beside options of its own is there as well.
    assert command.glance & set(every) <= set(listed)
    assert len(listed) <= AT_A_GLANCE
    assert function(name.replace("-", "_")).__doc__ == said


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
        ("--alpha", "--seeds", "--theta", "--patience", "--placebo", "--tokens", "--items"),
        "train study repeats the paper's settings, the parts of it are free",
    ),
    **dict.fromkeys(("--beams", "--samples", "--temperature"), "generate is greedy, attacks draw"),
    **dict.fromkeys(("--corpus", "--model", "--answers", "--authors"), "one, or several of them"),
    **dict.fromkeys(("--context", "--limit", "--sort", "--examples"), "as much as fits the output"),
    **dict.fromkeys(("--interval", "--matched", "--correction"), "results as they were made"),
    "--by": "items are grouped by task, documents and summaries by source",
    "--document-field": "an index has no field that every document shares",
    "--embedder": "perturb compares words alone unless asked",
    "--output": "data sets have a place of their own, results are printed",
    "--random": "factors names fields, limit is asked for random subsets as well",
    "--seed-count": "trace looks words up in an index, decontaminate in a sample",
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
