"""The texts that the app and the report are opened with: plain ones, and ones that mean harm."""

from __future__ import annotations

COPIED = "the grey heron waited beside the frozen mill until the miller had gone home"
"""Stands in one document of the index, and in the text that is traced."""

SCRIPT = "<script>window.harmed = 'script'</script>"
IMAGE = '"><img src=x onerror="window.harmed = \'image\'">'
QUOTES = "' onmouseover='window.harmed = 1' \" autofocus onfocus=\"window.harmed = 2"
CLOSING = "</textarea></title></style><svg onload=\"window.harmed = 'svg'\">"
LINK = "javascript:window.harmed='link'"
FORMULA = "{{ 7 * 191 }} {% raw %} ${7 * 191}"
OVERRIDE = "invoice\u202efdp.exe\u202c \u2066isolated"
ANSI = "\x1b[31mred\x1b[0m \x1b]0;title\x07 bell"
HARM = (SCRIPT, IMAGE, QUOTES, CLOSING, LINK, FORMULA, OVERRIDE, ANSI)
LONG_WORD = "w" * 250_000
HARMFUL_NAME = "<img src=x onerror=harmed=1>&quot;'.jsonl"
HARMFUL_SOURCE = f"model{SCRIPT}{IMAGE}\u202e"

_THINGS = "lamp river bridge garden letter window winter market island tower".split()
_PEOPLE = "miller baker sailor doctor teacher farmer painter singer hunter weaver".split()


def documents() -> list[dict[str, str]]:
    """Those of the index: sixty that share a phrase, one that is copied from, and hostile ones."""
    made = []
    for number in range(60):
        thing, person = _THINGS[number % 10], _PEOPLE[(number + number // 10) % 10]
        text = f"Once more the {person} spoke about the {thing}. It was number {number} of sixty."
        author = "Ada Voss" if number % 2 else "Ben Okoro"
        made.append({"id": f"tale-{number:02}", "author": author, "text": text})
    heron = f"Snow fell all night. In the morning {COPIED}. Nobody saw it."
    made.append({"id": "heron", "author": "Cleo Marsh", "text": heron})
    for number, harm in enumerate(HARM):
        text = f"A hostile page says {harm} and then {harm} ends."
        made.append({"id": f"hostile {number} {harm}", "author": f"{harm} author", "text": text})
    made.append({"id": "long", "author": "Nobody", "text": f"Before {LONG_WORD} after it."})
    return made


def answers() -> list[dict[str, str]]:
    """Two sources of one file: the model says the same sentence again and again."""
    made = []
    for number in range(10):
        thing, person = _THINGS[number], _PEOPLE[number]
        human = (
            f"The {person} lost a {thing} that winter. Some said it never mattered; others, who "
            f"had seen {number} of them burn, kept quiet and went home by the old road. "
            f"Years later a {person} wrote {number} letters, each about another {thing}, and "
            "posted none."
        )
        model = (
            f"The {person} looked at the {thing} with a quiet smile. The {person} looked at the "
            f"{_THINGS[number - 1]} with a quiet smile. It was a quiet day. "
            f"The {person} looked at the {_THINGS[number - 2]} with a quiet smile. It was a "
            "quiet night."
        )
        made.append({"id": f"h{number}", "prompt": thing, "source": "human", "text": human})
        made.append({"id": f"m{number}", "prompt": thing, "source": "model", "text": model})
    return made


def hostile_answers() -> list[dict[str, str]]:
    """Sources, ids and texts that mean harm, beside a few plain texts."""
    made = [{**one, "id": f"{one['id']} {SCRIPT}"} for one in answers()]
    for one in made:
        one["source"] = HARMFUL_SOURCE if one["source"] == "model" else one["source"]
    for number, harm in enumerate(HARM):
        for source in ("human", HARMFUL_SOURCE):
            text = f"It was said that {harm} is here. It was said that {harm} is there."
            own = f"{number} {harm} of {source[:5]}"
            made.append({"id": own, "source": source, "text": text, "prompt": harm})
    made.append({"id": "long", "source": "human", "text": f"A word {LONG_WORD} of one text."})
    return made


def many_answers() -> list[dict[str, str]]:
    """So many that measuring all of it takes longer than any of these tests."""
    return [
        {**one, "id": f"{one['id']}-{number}", "text": " ".join([one["text"]] * 10)}
        for number in range(100)
        for one in answers()
    ]
