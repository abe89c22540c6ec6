"""The web app under load: many users searching while the index is added to and merged.

    python benchmarks/serve.py                          50 users, 30 seconds, bible:kjv
    python benchmarks/serve.py --users 10 --seconds 10

A real server (uvicorn) on an index of most of the King James Version's chapters. The users ask by
HTTP, each its next question as soon as the last is answered: counts, concordance pages in several
orders, forms, groups, pages of the browser, documents. Meanwhile `rote index add` adds the other
chapters in several steps, each a process of its own as it would be, and `rote index merge` joins
the segments halfway and at the end.

Every answer is checked. What is right is counted beforehand in plain Python over the annotated
chapters, without any index, for every state that the index goes through. An answer says which
state it is about (how many documents there are); it is wrong if any number or line in it differs
from that state's, and old if it is about a state that had been replaced more than a second before
the question was sent. Both, and errors of any kind, have to be 0.

httpx does for a load tool here: the users are as many coroutines, and each answer has to be
compared with a truth that moves, which is what a general load tool leaves to its user anyway.
Client and server share the machine, so the figures are those of both together; the load average
says what else was running.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import httpx
import numpy as np

from rote.annotate import annotators
from rote.core.document import Document
from rote.corpus import open_corpus

KEY = "kjv"
STEPS = 5
"""How often documents are added."""
ADDED = 40
"""Documents of one step."""
GRACE = 1.0
"""Seconds within which a request may still see the state before."""
_ROTE = [sys.executable, "-c", "from rote.cli.main import main; main()"]

Item = Callable[[str, str], bool]
"""Whether a word, given with its tag, is what a query asks for at this place."""


def word(*forms: str) -> Item:
    return lambda lower, tag: lower in forms


def tagged(prefix: str) -> Item:
    return lambda lower, tag: tag.startswith(prefix)


QUERIES: dict[str, list[Item]] = {
    "came to pass": [word("came"), word("to"), word("pass")],
    "in the land of egypt": [word(w) for w in "in the land of egypt".split()],
    "lord": [word("lord")],
    '"man|woman"': [word("man", "woman")],
    '"un.*ly"': [lambda lower, tag: bool(re.fullmatch("un.*ly", lower))],
    '"the" "son" [] []': [word("the"), word("son"), *[lambda lower, tag: True] * 2],
    '[pos="JJ"] "heart"': [lambda lower, tag: tag == "JJ", word("heart")],
    '[pos="NN.*"] "and" [pos="NN.*"]': [tagged("NN"), word("and"), tagged("NN")],
    "no such words stand here": [word(w) for w in "no such words stand here".split()],
}


@dataclass(frozen=True)
class State:
    """What the index holds after some steps: by query how often, where, and what."""

    documents: int
    matches: dict[str, int]
    holding: dict[str, int]
    forms: dict[str, Counter[str]]
    books: dict[str, Counter[str]]
    places: dict[str, set[tuple[str, int]]]
    texts: dict[str, str]


@dataclass
class Run:
    """What happened, for all users together."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    old: list[str] = field(default_factory=list)
    seen: Counter[int] = field(default_factory=Counter)
    published: list[tuple[float, int]] = field(default_factory=list)
    """When each state was there, and how many documents it has."""
    took: float = 0.0
    cpu: float = 0.0
    """Seconds of all of it, and processor seconds of the server in them."""


def counted(chapters: Sequence[Document], sizes: Sequence[int]) -> dict[int, State]:
    """All states, each by going through its chapters once more than the one before."""
    made = annotators.get()(list(chapters), ("lower", "pos"))
    lower, tags = made.layers["lower"], made.layers["pos"]
    states: dict[int, State] = {}
    now = State(
        0,
        dict.fromkeys(QUERIES, 0),
        dict.fromkeys(QUERIES, 0),
        {q: Counter() for q in QUERIES},
        {q: Counter() for q in QUERIES},
        {q: set() for q in QUERIES},
        {},
    )
    for number, chapter in enumerate(chapters):
        items = list(zip(lower.items(number), tags.items(number)))
        spans = lower.spans(number)
        now.texts[chapter.id] = chapter.text
        for query, wanted in QUERIES.items():
            found = _found(items, wanted)
            now.matches[query] += len(found)
            now.holding[query] += bool(found)
            for first in found:
                start, end = spans[first][0], spans[first + len(wanted) - 1][1]
                now.forms[query][" ".join(chapter.text[start:end].lower().split())] += 1
                now.books[query][str(chapter.meta["book"])] += 1
                now.places[query].add((chapter.id, start))
        if number + 1 in sizes:
            states[number + 1] = State(
                number + 1,
                dict(now.matches),
                dict(now.holding),
                {q: Counter(c) for q, c in now.forms.items()},
                {q: Counter(c) for q, c in now.books.items()},
                {q: set(p) for q, p in now.places.items()},
                dict(now.texts),
            )
    return states


def _found(items: Sequence[tuple[str, str]], wanted: Sequence[Item]) -> list[int]:
    size = len(wanted)
    return [
        i
        for i in range(len(items) - size + 1)
        if all(fits(*items[i + k]) for k, fits in enumerate(wanted))
    ]


# -- the questions, each with its check ------------------------------------------------------

Check = Callable[[State], bool]
Question = tuple[str, str, dict[str, Any]]


def question(chance: random.Random, states: Sequence[State]) -> tuple[str, str, dict[str, Any]]:
    """Kind, address, parameters."""
    query = chance.choice(list(QUERIES))
    kind = chance.choices(
        ["count", "lines", "sorted", "forms", "groups", "page", "document"], [4, 4, 2, 1, 1, 3, 1]
    )[0]
    asked: dict[str, Any] = {"index": KEY, "q": query}
    if kind == "count":
        return kind, "/api/count", {"index": KEY, "phrase": query, "layer": "lower"}
    if kind in ("lines", "sorted"):
        sort = "place" if kind == "lines" else chance.choice(["left", "right", "form"])
        return kind, "/api/search", {**asked, "sort": sort, "page": chance.randint(1, 3)}
    if kind == "forms":
        return kind, "/api/search/forms", {**asked, "per": 1000}
    if kind == "groups":
        return kind, "/api/search/groups", {**asked, "by": "book", "per": 1000}
    if kind == "page":
        return kind, "/search", asked
    identity = chance.choice(list(states[0].texts))
    return kind, f"/api/document/{KEY}", {"id": identity}


def right(kind: str, given: dict[str, Any], answer: Any, state: State) -> bool:
    """Whether an answer is that of this state."""
    query = given.get("q") or given.get("phrase") or ""
    if kind == "document":
        return bool(state.texts[given["id"]].startswith(answer["text"]))
    total, holding = state.matches[query], state.holding[query]
    if kind == "count":
        (row,) = answer["counts"]
        return row["occurrences"] == total and row["documents"] in (None, holding)
    if kind == "page":
        said = f"{total:,} match{'' if total == 1 else 'es'}"
        return bool(
            re.search(rf'<h2 id="matches">{said}( in {holding:,} documents?)?</h2>', answer)
        )
    if answer["matches"] != total:
        return False
    if kind == "forms":
        every = sorted(state.forms[query].items(), key=lambda pair: (-pair[1], pair[0]))
        return [(r["form"], r["count"]) for r in answer["forms"]] == every[: given["per"]]
    if kind == "groups":
        return {r["group"]: r["matches"] for r in answer["groups"]} == dict(state.books[query])
    first = 50 * (given["page"] - 1)
    lines = answer["lines"]
    return len(lines) == max(0, min(50, total - first)) and all(
        (line["document"], line["start"]) in state.places[query]
        and state.texts[line["document"]][line["start"] : line["end"]] == line["match"]
        for line in lines
    )


async def user(
    number: int, address: str, states: dict[int, State], run: Run, goes_on: Callable[[], bool]
) -> None:
    chance = random.Random(number)
    listed = list(states.values())
    async with httpx.AsyncClient(base_url=address, timeout=120) as client:
        while goes_on():
            kind, place, given = question(chance, listed)
            begun = time.perf_counter()
            try:
                response = await client.get(place, params=given)
            except httpx.HTTPError as error:
                run.errors.append(f"{place} {given}: {error!r}")
                continue
            run.seconds.setdefault(kind, []).append(time.perf_counter() - begun)
            if response.status_code != 200:
                run.errors.append(f"{place} {given}: {response.status_code} {response.text[:200]}")
                continue
            _judge(kind, given, response, begun, states, run)


def _judge(
    kind: str,
    given: dict[str, Any],
    response: httpx.Response,
    begun: float,
    states: dict[int, State],
    run: Run,
) -> None:
    said = f"{kind} {given}"
    if kind == "page":
        # A page does not say its state: it has to fit one that there was.
        if not any(right(kind, given, response.text, state) for state in states.values()):
            run.wrong.append(said)
        return
    answer = response.json()
    state = states.get(answer["documents"])
    if state is None or not right(kind, given, answer, state):
        run.wrong.append(f"{said}: {json.dumps(answer)[:200]}")
        return
    run.seen[state.documents] += 1
    least = max(documents for at, documents in run.published if at <= begun - GRACE)
    if state.documents < least:
        run.old.append(f"{said}: {state.documents} documents, and {least} were there before")


async def writer(
    index: Path, steps: Sequence[Path], sizes: Sequence[int], run: Run, pause: float
) -> None:
    """Adds and merges, one process after the other, as somebody at a shell would."""
    for number, (file, size) in enumerate(zip(steps, sizes)):
        await asyncio.sleep(pause)
        await _rote("index", "add", str(index), str(file), "-q")
        run.published.append((time.perf_counter(), size))
        if number in (len(steps) // 2, len(steps) - 1):
            await _rote("index", "merge", str(index), "-q")


async def _rote(*arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *_ROTE, *arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, said = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"rote {' '.join(arguments)}: {said.decode()}")


# -- the server ------------------------------------------------------------------------------


def serve(index: Path, store: Path, port: int) -> None:
    import uvicorn

    from rote.web.app import make_app
    from rote.web.workspace import Workspace

    app = make_app(Workspace({KEY: index}, {}, store))
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")


def started(index: Path, store: Path, port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--server", str(index), str(store), str(port)]
    process = subprocess.Popen(command)
    for _ in range(600):
        try:
            urlopen(f"http://127.0.0.1:{port}/api/indexes").read()
            return process
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.1)
    raise RuntimeError("the server did not start")


# -- what came out ---------------------------------------------------------------------------


def report(run: Run, users: int, before: float) -> bool:
    every = np.array([s for found in run.seconds.values() for s in found]) * 1000
    rate, each = len(every) / run.took, run.cpu / max(1, len(every)) * 1000
    print(f"\n{users} users, {run.took:.1f} s, {len(every):,} requests, {rate:,.0f} requests/s")
    print(f"processor time of the server: {each:.1f} ms a request")
    print(
        f"{os.cpu_count()} cores; load average {before:.1f} before, {os.getloadavg()[0]:.1f} after"
    )
    print(f"\n{'milliseconds':12} {'requests':>9} {'p50':>7} {'p95':>7} {'p99':>7} {'most':>7}")
    for kind, found in [*sorted(run.seconds.items()), ("all", (every / 1000).tolist())]:
        times = np.array(found) * 1000
        p50, p95, p99 = np.percentile(times, [50, 95, 99])
        print(f"{kind:12} {len(times):9,} {p50:7,.0f} {p95:7,.0f} {p99:7,.0f} {times.max():7,.0f}")
    states = ", ".join(f"{size}: {n:,}" for size, n in sorted(run.seen.items()))
    print(f"\nanswers by the number of documents in the index: {states}")
    bad = {"errors": run.errors, "wrong answers": run.wrong, "old answers": run.old}
    for name, found in bad.items():
        print(f"{name}: {len(found)}")
        for line in found[:5]:
            print(f"  {line}")
    return not any(bad.values())


def main() -> None:
    parser = argparse.ArgumentParser(description="The web app under load.")
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--port", type=int, default=8766)
    parser.add_argument(
        "--server", nargs=3, metavar=("IDX", "STORE", "PORT"), help=argparse.SUPPRESS
    )
    given = parser.parse_args()
    if given.server:
        serve(Path(given.server[0]), Path(given.server[1]), int(given.server[2]))
        return
    with tempfile.TemporaryDirectory(prefix="rote-serve-") as folder:
        sys.exit(0 if measure(Path(folder), given) else 1)


def measure(folder: Path, given: argparse.Namespace) -> bool:
    chapters = list(open_corpus(["bible:kjv"]))
    first = len(chapters) - STEPS * ADDED
    sizes = [first + ADDED * step for step in range(STEPS + 1)]
    print("counting what is right in plain Python ...")
    states = counted(chapters, sizes)
    files = [
        _written(folder / f"{i}.jsonl", chapters[a:b])
        for i, (a, b) in enumerate(zip([0, *sizes], sizes))
    ]
    index = folder / "idx"
    subprocess.run([*_ROTE, "index", "build", str(files[0]), "-o", str(index), "-q"], check=True)
    server = started(index, folder / "store", given.port)
    before, run = os.getloadavg()[0], Run()
    try:
        asyncio.run(_all(given, index, files[1:], sizes, states, run, server.pid))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
    return report(run, given.users, before)


async def _all(
    given: argparse.Namespace,
    index: Path,
    files: Sequence[Path],
    sizes: Sequence[int],
    states: dict[int, State],
    run: Run,
    server: int,
) -> None:
    address = f"http://127.0.0.1:{given.port}"
    # Kernels are loaded on their first call: not what is measured here.
    await user(-1, address, states, Run(published=[(0.0, sizes[0])]), _for(5))
    run.published.append((0.0, sizes[0]))
    begun, cpu = time.perf_counter(), cpu_seconds(server)
    writing = asyncio.create_task(
        writer(index, files, sizes[1:], run, given.seconds / (len(files) + 1) / 2)
    )
    enough = _for(given.seconds)
    # Nobody stops before the last document is there.
    users = (
        user(n, address, states, run, lambda: enough() or not writing.done())
        for n in range(given.users)
    )
    await asyncio.gather(*users)
    await writing
    run.took, run.cpu = time.perf_counter() - begun, cpu_seconds(server) - cpu
    last = Run(published=run.published)
    await user(-2, address, states, last, _for(2))
    if set(last.seen) - {sizes[-1]}:
        run.old.append("the last documents are not found at the end")
    run.errors += last.errors
    run.wrong += last.wrong


def _for(seconds: float) -> Callable[[], bool]:
    until = time.perf_counter() + seconds
    return lambda: time.perf_counter() < until


def cpu_seconds(server: int) -> float:
    """Processor seconds of the server so far; nan where the system does not say."""
    try:
        fields = Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _written(path: Path, chapters: Sequence[Document]) -> Path:
    lines = (json.dumps({"id": c.id, "text": c.text, **c.meta}) for c in chapters)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


if __name__ == "__main__":
    main()
