"""Plans of texts: prompts, grids, seeds; and files that go on where they stopped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rote.core.errors import InputError, OptionError, UnknownName
from rote.core.model import Decoding, Generated, Prompt, Scored
from rote.core.progress import Silent
from rote.corpus import ReadOptions, open_corpus
from rote.curate import generate as generating
from rote.curate.generate import (
    GeneratedFile,
    GenerateOptions,
    GenerationPlan,
    build_plan,
    decoding_grid,
    decoding_label,
    generate,
    is_certain,
    partial_path,
)
from rote.curate.prompts import (
    SETS,
    GatheredPrompts,
    GenerationPrompt,
    PromptOptions,
    gather_prompts,
)
from rote.search.open_models import NamedModel, name_models
from tests.killing import fork, status
from tests.kit import read_jsonl, write_jsonl


class Echo:
    """Writes what it was asked; `asked` is a list of every prompt that reached it."""

    batch = 40

    def __init__(self, name: str = "echo", *, dies_after: int | None = None) -> None:
        self.signature = f"{name}/1"
        self.asked: list[tuple[Prompt, str]] = []
        self.told: list[tuple[int, int, int]] = []
        self._dies_after = dies_after

    def length(self, text: str) -> int:
        return len(text.split())

    def about_to(self, requests: int, read: int, generated: int) -> None:
        self.told.append((requests, read, generated))

    def score(self, wanted: Sequence[Any]) -> list[Scored]:
        raise AssertionError

    def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
        made = []
        for one in wanted:
            if self._dies_after is not None and len(self.asked) >= self._dies_after:
                os._exit(9)
            self.asked.append((one, decoding.signature))
            ended = "length" if one.seed % 2 else "end"
            made.append(Generated(f" {one.text} é\n{one.seed}", 3, ended))  # type: ignore[arg-type]
        return made


pytestmark = pytest.mark.usefixtures("own_cache")


def prompts_of(*given: str, read: ReadOptions | None = None, **options: Any) -> GatheredPrompts:
    return gather_prompts(given, PromptOptions(**options), read or ReadOptions())


def jsonl(path: Path, *records: dict[str, Any]) -> str:
    return str(write_jsonl(path, records))


def some(count: int = 7) -> list[GenerationPrompt]:
    return [GenerationPrompt(f"d{i}", f"d{i}", f"prompt number {i}") for i in range(count)]


def plan(count: int = 7, **options: Any) -> GenerationPlan:
    return build_plan(some(count), name_models(["fake:echo"]), GenerateOptions(**options))


def run(plan: GenerationPlan, path: Path, *models: Echo) -> GeneratedFile:
    held = dict(zip([one.name for one in plan.models], models or [Echo()]))
    return generate(plan, held, path, Silent())


# -- prompts ----------------------------------------------------------------------------------


def test_prompts_are_the_field_prompt_or_else_the_text(tmp_path: Path) -> None:
    given = jsonl(
        tmp_path / "p.jsonl",
        {"id": "1", "prompt": "Say hello", "text": "Hello", "topic": "greeting", "seed": 5},
        {"id": "2", "text": "Say goodbye", "doc_id": "bye", "source": "me"},
    )
    first, second = prompts_of(given).requests
    assert (first.id, first.doc_id, first.text) == ("1", "1", "Say hello")
    assert first.fields == {"topic": "greeting", "prompt_seed": 5, "reference": "Hello"}
    assert (second.id, second.doc_id, second.text) == ("bye", "bye", "Say goodbye")
    assert second.fields == {"prompt_source": "me"}
    alone = jsonl(tmp_path / "alone.jsonl", {"prompt": "Only a prompt"})
    assert prompts_of(alone).requests[0].text == "Only a prompt"
    pairs = jsonl(
        tmp_path / "pairs.jsonl", {"prompt": "Say hello to me", "reference": "Hello, you!"}
    )
    (pair,) = prompts_of(pairs).requests
    assert (pair.text, pair.fields) == ("Say hello to me", {"reference": "Hello, you!"})


def test_the_start_token_is_an_empty_prompt() -> None:
    assert prompts_of("start").requests == [GenerationPrompt("start", "start", "", continued=True)]
    assert [one.doc_id for one in prompts_of("start:3").requests] == [
        "start-1",
        "start-2",
        "start-3",
    ]
    with pytest.raises(OptionError, match="start token takes no text"):
        prompts_of("start", about=open_corpus("example:answers"))
    with pytest.raises(InputError, match="no prompts"):
        prompts_of("start:0")


def test_prefixes_are_the_first_words_and_keep_the_rest(tmp_path: Path) -> None:
    given = jsonl(
        tmp_path / "c.jsonl",
        {"id": "a", "text": " one  two\nthree four five "},
        {"id": "b", "text": "one two"},
        {"id": "c", "text": "one two three"},
    )
    found = prompts_of(f"prefix:{given}", words=2)
    assert [(one.id, one.text) for one in found.requests] == [("a", " one  two"), ("c", "one two")]
    assert [one.fields["reference"] for one in found.requests] == ["\nthree four five ", " three"]
    assert found.left_out == {"a text of at most 2 words has no continuation": 1}
    short = prompts_of(f"prefix:{given}", words=2, reference_words=2).requests
    assert [one.fields["reference"] for one in short] == ["\nthree four", " three"]
    with pytest.raises(InputError, match=r"no prompts .*no continuation: 3"):
        prompts_of(f"prefix:{given}", words=9)


@given(st.text("ab \n", max_size=30), st.integers(1, 4), st.integers(0, 3))
def test_a_prefix_and_its_reference_are_the_text(text: str, words: int, kept: int) -> None:
    from rote.core.document import Document
    from rote.curate.prompts import _prefix_prompt

    found = _prefix_prompt(Document("d", text), PromptOptions(words=words, reference_words=kept))
    if found is None:
        assert len(text.split()) <= words
        return
    reference = found.fields["reference"]
    assert text.startswith(found.text + reference)
    assert found.text.split() == text.split()[:words]
    rest = text.split()[words:]
    assert reference.split() == (rest[:kept] if kept else rest)


def test_sets_of_studies_are_asked_of_texts(tmp_path: Path) -> None:
    assert [len(prompts) for prompts in SETS.values()] == [7, 7, 7, 1, 1, 1, 1]
    texts = jsonl(
        tmp_path / "t.jsonl",
        {"id": "x", "text": "A text.", "lang": "en"},
        {"id": "y", "text": "B."},
    )
    found = prompts_of("set:cochrane", about=open_corpus(texts)).requests
    assert len(found) == 14
    assert found[0].text == "A text.\n\nPlease write a summary."
    assert (found[0].id, found[0].doc_id) == ("x cochrane-1", "x")
    assert found[0].fields == {"lang": "en", "instruction": "Please write a summary."}
    assert prompts_of("set:cnn-dm").requests[1].text == "Please write a summary of the article."
    with pytest.raises(UnknownName, match="did you mean 'cochrane'"):
        prompts_of("set:cochran")


def test_instructions_stand_where_their_study_puts_them(tmp_path: Path) -> None:
    texts = open_corpus(jsonl(tmp_path / "t.jsonl", {"id": "x", "text": "A text."}))
    instruction = SETS["xsum"][0]
    (auto,) = prompts_of("set:xsum", about=texts).requests
    assert auto.text == f"{instruction}\n\nA text."
    assert prompts_of("set:xsum", about=texts, instruction="after").requests[0].text == (
        f"A text.\n\n{instruction}"
    )
    shaib = prompts_of("set:cnn-dm", about=texts, instruction="before").requests[0]
    assert shaib.text == "Please write a summary.\n\nA text."
    # A dialogue is asked turn by turn, the instruction before its first.
    turns = [("user", "Hi"), ("assistant", "Hello."), ("user", "Bye")]
    messages = [{"role": role, "content": content} for role, content in turns]
    dialogues = open_corpus(jsonl(tmp_path / "d.jsonl", {"id": "x", "messages": messages}))
    (dialogue,) = prompts_of("set:daily-dialog", about=dialogues).requests
    assert [message.content for message in dialogue.messages] == [
        f"{SETS['daily-dialog'][0]}\n\nHi",
        "Hello.",
        "Bye",
    ]
    assert (dialogue.text, dialogue.doc_id) == ("Bye", "x")


def test_samples_are_spans_of_texts_drawn_by_the_seed(tmp_path: Path) -> None:
    words = {f"d{i}": [f"w{i}-{n}" for n in range(30)] for i in range(40)}
    given = jsonl(
        tmp_path / "c.jsonl", *({"id": name, "text": " ".join(w)} for name, w in words.items())
    )
    found = prompts_of(f"sample:{given}", words=5, draw=12, seed=3).requests
    assert found == prompts_of(f"sample:{given}", words=5, draw=12, seed=3).requests
    assert len(found) == 12
    begins = []
    for request in found:
        assert request.continued
        begin = words[request.id].index(request.text.split()[0])
        assert request.text == " ".join(words[request.id][begin : begin + 5])
        assert request.text + request.fields["reference"] == " ".join(words[request.id][begin:])
        begins.append(begin)
    assert len(set(begins)) > 4
    assert max(begins) <= 24
    other = prompts_of(f"sample:{given}", words=5, draw=12, seed=4).requests
    assert [one.id for one in other] != [one.id for one in found]
    # The draw is of texts, whatever stands before and after them.
    backwards = jsonl(
        tmp_path / "b.jsonl",
        *({"id": name, "text": " ".join(w)} for name, w in reversed(words.items())),
    )
    again = prompts_of(f"sample:{backwards}", words=5, draw=12, seed=3).requests
    assert {one.text for one in again} == {one.text for one in found}
    first = prompts_of(f"prefix:{given}", words=5, draw=3).requests
    assert all(one.text == " ".join(words[one.id][:5]) for one in first)
    assert len(first) == 3


def test_settings_vary_one_at_a_time() -> None:
    def labels(**options: Any) -> list[str]:
        return [decoding_label(one) for one in GenerateOptions(**options).decodings()]

    vary = ("temperature=.8,.9", "top-p=0.8,0.9 top_k=5")
    assert labels(vary=vary) == [
        "greedy",
        "temperature0.8",
        "temperature0.9",
        "temperature1-top-p0.8",
        "temperature1-top-p0.9",
        "temperature1-top-k5",
    ]
    assert labels(temperature=(0.5, 1.0), vary=("top_p=0.9", "temperature=0.5,0.7")) == [
        "temperature0.5",
        "temperature1",
        "temperature0.5-top-p0.9",
        "temperature1-top-p0.9",
        "temperature0.7",
    ]
    with pytest.raises(UnknownName, match="temperature"):
        labels(vary=("temperatur=1",))
    for wrong in ("temperature", "temperature=", "top_p=a", "top_k=1.5"):
        with pytest.raises(OptionError, match="write numbers"):
            labels(vary=(wrong,))
    with pytest.raises(OptionError, match="top_p must be"):
        labels(vary=("top_p=2",))


def test_the_same_prompt_is_asked_once(tmp_path: Path) -> None:
    found = prompts_of("example:answers")
    assert found.left_out["the same prompt came before"] > 0
    assert len({one.id for one in found.requests}) == len(found.requests)
    twice = (
        jsonl(tmp_path / "a.jsonl", {"id": "1", "text": "x"}),
        jsonl(tmp_path / "b.jsonl", {"id": "1", "text": "y"}),
    )
    with pytest.raises(InputError, match="2 prompts have the id '1'"):
        prompts_of(*twice)
    assert len(prompts_of("example:answers", limit=2).requests) <= 2


# -- the grid ---------------------------------------------------------------------------------


def test_settings_that_could_do_nothing_are_refused() -> None:
    for wrong in ({"top_ps": [0.9]}, {"top_ks": [3]}, {"constraints": [3]}):
        settings: dict[str, Any] = {"top_ps": [1], "top_ks": [0], "constraints": [0], **wrong}
        with pytest.raises(OptionError, match="temperature 0 does not sample"):
            decoding_grid([0], **settings, max_tokens=1)
    with pytest.raises(OptionError, match="--temperature names no value"):
        decoding_grid([], [1], [0], [0], max_tokens=1)
    with pytest.raises(OptionError, match="samples must be at least 1"):
        GenerateOptions(samples=0)
    assert decoding_grid([0], [1], [0], [0], max_tokens=1, stop=[r"\n\n"])[0].stop == ("\n\n",)


def test_what_is_certain_is_generated_once() -> None:
    made = plan(2, temperature=(0.0, 1.0), constraint=(0.0, 1.0, 3.0), samples=5, max_tokens=10)
    counts = [(decoding_label(decoding), len(wanted)) for _, decoding, wanted in made.parts()]
    assert counts == [
        ("greedy", 2),
        ("temperature1", 10),
        ("temperature1-constraint1", 2),
        ("temperature1-constraint3", 10),
    ]
    assert len(made) == 24
    assert made.tokens == 240
    assert is_certain(Decoding(1, temperature=1.0, top_k=1))


# -- the plan ---------------------------------------------------------------------------------


def test_seeds_differ_by_record_and_not_by_model() -> None:
    models = name_models(["a=fake:x", "b=fake:x"])
    options = GenerateOptions(temperature=(0.5, 1.0), samples=3)
    made = build_plan(some(4), models, options)
    seeds = {
        name: [
            one.seed for model, _, wanted in made.parts() if model.name == name for one in wanted
        ]
        for name in "ab"
    }
    assert seeds["a"] == seeds["b"]
    assert len(set(seeds["a"])) == 4 * 2 * 3
    assert all(0 <= seed < 2**31 for seed in seeds["a"])
    other = build_plan(some(4), models, GenerateOptions(temperature=(0.5, 1.0), samples=3, seed=1))
    assert not set(seeds["a"]) & {one.seed for *_, wanted in other.parts() for one in wanted}
    # A seed does not depend on what else is in the plan.
    fewer = build_plan(some(2), models[:1], GenerateOptions(temperature=(1.0,), samples=2))
    assert {one.seed for *_, wanted in fewer.parts() for one in wanted} < set(seeds["a"])


def test_sources_are_named_after_models_and_settings() -> None:
    def sources(**options: Any) -> list[str]:
        made = build_plan(some(1), name_models(["m=fake:x"]), GenerateOptions(**options))
        return [wanted[0].source for *_, wanted in made.parts()]

    assert sources() == ["m"]
    assert sources(temperature=(0.0, 1.0)) == ["m|greedy", "m|temperature1"]
    assert sources(temperature=(0.0, 1.0), source="model") == ["m", "m"]
    assert sources(temperature=(1.0,), source="settings") == ["temperature1"]
    assert sources(source="both") == ["m|greedy"]


def test_models_have_short_names_as_long_as_they_are_clear() -> None:
    given = ["index:some/folder", "index:f#lower", "openai:http://h:1/v1#org/m", "own=numpy:x/y=z"]
    assert [one.name for one in name_models(given)] == ["folder", "f-lower", "org/m", "own"]
    assert name_models(given)[3].spec == "numpy:x/y=z"
    assert name_models(["transformers:gpt2"]) == [NamedModel("transformers:gpt2", "gpt2")]
    assert [one.name for one in name_models(["numpy:a/x", "numpy:b/x"])] == [
        "numpy:a/x",
        "numpy:b/x",
    ]
    for wrong in ([], ["numpy:x", "numpy:x"], ["a=numpy:x", "a=numpy:y"]):
        with pytest.raises(OptionError, match=r"--model names a model twice|^no model: name one"):
            name_models(wrong)


# -- the file ---------------------------------------------------------------------------------


def test_records_hold_what_measures_need(tmp_path: Path) -> None:
    asked = [GenerationPrompt("p", "doc", "Say", {"reference": "so", "topic": "t"})]
    options = GenerateOptions(temperature=(1.0,), top_k=(5,), max_tokens=4, stop=("x",))
    run(build_plan(asked, name_models(["m=fake:x"]), options), tmp_path / "o.jsonl")
    held = read_jsonl(tmp_path / "o.jsonl")[0]
    seed = held.pop("seed")
    assert held == {
        "id": "p/m/temperature1-top-k5/1",
        "text": f" Say é\n{seed}",
        "source": "m",
        "doc_id": "doc",
        "prompt": "Say",
        "reference": "so",
        "topic": "t",
        "model": "m",
        "signature": "echo/1",
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 5,
        "constraint": 0.0,
        "max_tokens": 4,
        "stop": ["x"],
        "sample": 1,
        "ended": "length" if seed % 2 else "end",
        "incomplete": bool(seed % 2),
        "tokens": 3,
    }


def test_models_are_told_what_is_to_come(tmp_path: Path) -> None:
    model = Echo()
    run(plan(7, temperature=(0.0, 1.0), samples=2, max_tokens=10), tmp_path / "o.jsonl", model)
    assert model.told[0] == (21, 63, 210)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("dies_after", [0, 3, 11, 20])
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies_after: int, kept: bool
) -> None:
    monkeypatch.setattr(generating, "_AT_ONCE", 4)
    made = plan(7, temperature=(0.0, 1.0), samples=2)
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    never = Echo()
    run(made, whole, never)
    monkeypatch.setenv("ROTE_CACHE", str(tmp_path / "other"))
    child = fork(lambda: run(made, killed, Echo(dies_after=dies_after)))
    assert status(child) == 9
    assert not killed.exists()
    if not kept:  # the file alone is enough to go on
        monkeypatch.setenv("ROTE_CACHE", str(tmp_path / "empty"))
    partial = partial_path(killed)
    before = partial.read_bytes() if partial.exists() else b""
    partial.write_bytes(before + b'{"id": "cut o')  # as a kill in the middle of a line leaves it
    again = Echo()
    found = run(made, killed, again)
    assert found == GeneratedFile(21, before.count(b"\n"))
    assert killed.read_bytes() == whole.read_bytes()
    assert not partial.exists()
    # One prompt is a batch of its own here, so each that was answered is kept.
    assert len(again.asked) == 21 - (dies_after if kept else before.count(b"\n"))


def test_a_finished_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    run(plan(), path)
    before, when = path.read_bytes(), path.stat().st_mtime_ns
    model = Echo()
    assert run(plan(), path, model) == GeneratedFile(7, 7)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, when)
    assert model.asked == []
    assert model.told == []


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"temperature": (1.0,)}, "'temperature' is 0.0, not 1.0"),
        ({"seed": 1}, "'seed' is"),
        ({"max_tokens": 5}, "'max_tokens' is 128, not 5"),
        ({"count": 6}, "line 7: .*more texts"),
        ({"count": 8}, "7 of 8 texts, so it is incomplete"),
        ({"stop": ("x",)}, r"'stop' is null, not \[\"x\"\]"),
    ],
)
def test_a_file_of_other_settings_is_refused(
    tmp_path: Path, changed: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "o.jsonl"
    run(plan(), path)
    before = path.read_bytes()
    with pytest.raises(OptionError, match=reason):
        run(plan(**changed), path)
    assert path.read_bytes() == before


def test_a_file_of_another_model_or_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "o.jsonl"
    run(plan(), path)
    with pytest.raises(OptionError, match='\'signature\' is "echo/1", not "other/1"'):
        run(plan(), path, Echo("other"))
    path.rename(partial_path(path))
    with pytest.raises(OptionError, match="'signature' is"):
        run(plan(), path, Echo("other"))
    partial_path(path).unlink()
    for content, reason in (
        (b"no json\n", "no record"),
        (b"[1]\n", "no record"),
        (b"{}\n", "'source' is null"),
        (b'{"id"', "0 of 7 texts"),
    ):
        path.write_bytes(content)
        with pytest.raises(OptionError, match=reason):
            run(plan(), path)
    with pytest.raises(OptionError, match="is a folder"):
        run(plan(), tmp_path)
    with pytest.raises(OptionError, match="does not exist"):
        run(plan(), tmp_path / "none" / "o.jsonl")


def test_what_a_model_cannot_do_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    class Refuses(Echo):
        def generate(self, wanted: Sequence[Prompt], decoding: Decoding) -> list[Generated]:
            if decoding.top_k:
                raise OptionError("no top-k here")
            return super().generate(wanted, decoding)

    model = Refuses()
    with pytest.raises(OptionError, match="no top-k here"):
        run(plan(temperature=(1.0,), top_k=(0, 5)), tmp_path / "o.jsonl", model)
    assert model.asked == []
    assert list(tmp_path.glob("o.jsonl*")) == []
