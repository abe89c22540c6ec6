"""What every command and page shows is what it showed before.

`python -m pytest tests/golden --record` writes tests/golden/kept anew and says which words and
numbers are gone; read the diff before it is committed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rote
from rote.core import plugins
from tests.cli.calls import World, commands, measure_once
from tests.golden import calls
from tests.golden.comparing import differences, joined, lost, split
from tests.golden.shell import done
from tests.measure.test_contract import StandIn

KEPT = Path(__file__).parent / "kept"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Little data in the folder where everything runs; embeddings without weights, because those
    of a neural model differ between machines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("golden"))
        patch.setattr("rote.annotate.embeddings.get", lambda name, **_: StandIn())
        # Nobody reads pictures here: half a header saves drawing them.
        patch.setattr("rote.report.svg.render_png", lambda spec: b"IHDR" + bytes(8))
        patch.setattr("rote.report.charts.render_png", lambda spec: b"IHDR" + bytes(8))
        # All forms show the same results.
        measure_once(patch, {})
        Path("data").mkdir()
        yield World(Path("data"))


@pytest.mark.parametrize("name", calls.CASES)
def test_outputs_are_as_they_were(
    name: str, world: World, pytestconfig: pytest.Config, record_property: Callable[..., None]
) -> None:
    file = KEPT / f"{name}.txt"
    found = calls.sections(name, world)
    if pytestconfig.getoption("--record", default=False):
        before = split(file.read_text("utf-8")) if file.exists() else {}
        record_property("lost", [f"{name}, {line}" for line in lost(before, found)])
        file.write_text(joined(found), "utf-8")
    changed = differences(split(file.read_text("utf-8")), found)
    assert not changed, "\n".join(
        [f"{name} shows something else:", *changed, "record anew only if this is meant"]
    )


@pytest.mark.parametrize("name", ["diversity", *plugins.members("measure")])
def test_python_gives_what_the_shell_gives(name: str, world: World) -> None:
    function, given = name.replace("-", "_"), calls.keywords(name, world)
    found = getattr(rote, function)(world.call(name)[1], **given)
    said = json.loads(done(*world.call(name), "--json"))
    made = [one.to_dict() for one in (found if isinstance(found, list) else [found])]
    assert json.loads(json.dumps(made)) == said.get("panel", [said])


def test_every_command_is_here_and_nothing_is_left_over() -> None:
    kept = {file.stem for file in KEPT.iterdir()}
    assert kept == set(calls.CASES)
    asked = "".join(file.read_text("utf-8") for file in KEPT.iterdir())
    missing = {name for name in commands() if f" rote {name} " not in asked.replace("\n", " ")}
    assert missing == set(calls.NOT_HERE)
