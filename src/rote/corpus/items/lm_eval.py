"""Sample logs of lm-evaluation-harness (`samples_TASK_DATE.jsonl`): what a model saw and chose.

Contexts and options are those of the requests, few-shot examples and all; they stand as
`arguments`: `{"gen_args_0": {"arg_0": context, "arg_1": continuation}, ...}`, in older versions
`[[context, continuation], ...]`. The metrics (`acc`, ...) are fields of the record, the fields
of `doc` and the folder's name as `source` (the harness names it after the model) stand in `meta`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rote.corpus.items._read import Item, Source

FIELDS = frozenset(("doc_id", "doc", "arguments", "target"))
_TASK = re.compile(r"samples_(?P<task>.+?)_\d{4}-\d\d-\d\dT")
_KINDS = {
    **dict.fromkeys(("blimp",), "formal"),
    **dict.fromkeys(("lambada", "piqa", "copa", "winogrande"), "functional"),
}
"""The kind of knowledge that a task asks for, by the beginning of its name."""
_LEFT = ("arguments", "resps", "filtered_resps", "doc", "target")
_UNFILTERED = "none"
_SPACES = (" ", "\n", "\t")


def item(record: Mapping[str, Any], number: int, source: Source) -> Item:
    pairs = requests(record["arguments"])
    doc = record["doc"] if isinstance(record["doc"], Mapping) else {}
    match = _TASK.match(source.name)
    task = match["task"] if match else source.name.split(".")[0].removeprefix("samples_")
    context, options, ending = _parts(pairs)
    if len(options) == 1 and not options[0]:  # generated: the target is what was asked for
        target = str(record["target"])
        has_space = not context or context[-1].isspace() or target[:1].isspace()
        options = (target if has_space else f" {target}",)
    filtered = str(record.get("filter", _UNFILTERED))
    kind = next((kind for name, kind in _KINDS.items() if task.startswith(name)), None)
    about = {name: value for name, value in record.items() if name not in _LEFT}
    return Item(
        id=str(record["doc_id"]) + (f".{filtered}" if filtered != _UNFILTERED else ""),
        task=task,
        context=context,
        options=options,
        answer=_answer(record, options, [option for _, option in pairs]),
        ending=ending,
        meta={
            **({"kind": kind} if kind else {}),
            "source": Path(source.file).absolute().parent.name,
            **doc,
            **about,
        },
    )


def _parts(pairs: Sequence[tuple[str, str]]) -> tuple[str, tuple[str, ...], str]:
    """Context, options and ending: where the options stand in the contexts (WinoGrande), what is
    asked for is the ending, and the context is what all of them begin with, in whole words."""
    contexts, texts = ([pair[place] for pair in pairs] for place in (0, 1))
    if len(set(contexts)) == 1:
        return contexts[0], tuple(texts), ""
    if len(set(texts)) > 1:
        return "", tuple(before + after for before, after in pairs), ""
    differ = (place for place, signs in enumerate(zip(*contexts)) if len(set(signs)) > 1)
    shared = contexts[0][: next(differ, min(map(len, contexts)))]
    shared = shared[: 1 + max(map(shared.rfind, _SPACES))]
    return shared, tuple(context[len(shared) :] for context in contexts), texts[0]


def requests(arguments: Any) -> list[tuple[str, str]]:
    """Context and continuation of every request that scores an option."""
    if isinstance(arguments, Mapping):
        arguments = [
            [argument.get("arg_0"), argument.get("arg_1")] for argument in arguments.values()
        ]
    if not isinstance(arguments, Sequence) or not arguments:
        raise ValueError("the field 'arguments' contains no requests")
    pairs = []
    for argument in arguments:
        if not isinstance(argument, Sequence) or not argument or not isinstance(argument[0], str):
            raise ValueError("the field 'arguments' contains a request without a context")
        follows = argument[1] if len(argument) > 1 else ""
        pairs.append((argument[0], follows if isinstance(follows, str) else ""))
    # acc_mutual_info asks for every option once more, without its context.
    half = len(pairs) // 2
    if len(pairs) % 2 == 0 and pairs[half:] == [("", option) for _, option in pairs[:half]]:
        return pairs[:half] if any(context for context, _ in pairs[:half]) else pairs
    return pairs


def _answer(
    record: Mapping[str, Any], options: Sequence[str], continuations: Sequence[str]
) -> int | None:
    """The right option: the target's number or text, else what the scores and `acc` tell."""
    if len(options) == 1:
        return 0
    target = record["target"]
    if re.fullmatch(r"\d+", str(target)) and int(target) < len(options):
        return int(target)
    same = [i for i, option in enumerate(continuations) if option.strip() == str(target).strip()]
    if len(same) == 1:
        return same[0]
    scores = _scores(record.get("filtered_resps", record.get("resps")))
    if record.get("acc") in (0, 1) and len(scores) == len(options):
        chosen = max(range(len(scores)), key=scores.__getitem__)
        if record["acc"] == 1:
            return chosen
        if len(options) == 2:
            return 1 - chosen
    raise ValueError(f"the field 'target' contains {target!r}, so the right option is unknown")


def _scores(responses: Any) -> list[float]:
    """The log-likelihood of each option; the harness writes numbers as texts."""
    scores = []
    for response in responses or ():
        while isinstance(response, list) and response:
            response = response[0]
        try:
            scores.append(float(response))
        except (TypeError, ValueError):
            return []
    return scores
