"""Slow twins of the hashed features and of the network: plain Python, word by word."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from rote.annotate._hashing import lexicon
from rote.annotate._network import Network

MASK = (1 << 64) - 1
SEED, STEP, GOLDEN = 0xCBF29CE484222325, 0x100000001B3, 0x9E3779B97F4A7C15
Row = list[int]


def mix(value: int) -> int:
    value = (value ^ (value >> 32)) * 0xFF51AFD7ED558CCD & MASK
    value = (value ^ (value >> 32)) * 0xC4CEB9FE1A85EC53 & MASK
    return value ^ (value >> 32)


def pair(first: int, second: int) -> int:
    return mix(first + GOLDEN & MASK) ^ (second * STEP + GOLDEN & MASK)


def place(template: int, value: int, bits: int) -> int:
    return mix(value + template * GOLDEN & MASK) >> (64 - bits)


def letters(points: Sequence[int]) -> int:
    value = SEED
    for point in points:
        value = (value ^ point) * STEP & MASK
    return value


def kind(letter: str) -> str:
    if ord(letter) >= 0x10000 or not (letter.isalpha() or letter.isdigit()):
        return "mark"
    if letter.isdigit() and not letter.isalpha():
        return "digit"
    if letter.lower() != letter:
        return "upper"
    return "lower" if letter.islower() else "letter"


def small(letter: str) -> str:
    keep = ord(letter) >= 0x10000 or not letter.isalpha() or len(letter.lower()) != 1
    return letter if keep else letter.lower()


def describe(word: str) -> Row:
    """The attributes of one word, letters then lexicon."""
    kinds = [kind(letter) for letter in word]
    low = [small(letter) for letter in word]
    key = ["0" if k == "digit" else letter for letter, k in zip(low, kinds)]
    points = [ord(letter) for letter in key]
    row = [mix(letters(list(map(ord, part)))) for part in (word, low, key)]
    row += [mix(letters(points[::-1][:size])) for size in range(1, 6)]
    row += [mix(letters(points[:size])) for size in range(1, 5)]
    numbers = {"upper": 1, "lower": 2, "digit": 3, "letter": 4}
    signs = [numbers.get(k, ord(letter) + 16) for letter, k in zip(word, kinds)]
    short = [s for i, s in enumerate(signs[:12]) if i < 2 or {s} != set(signs[i - 2 : i])]
    row.append(mix(letters(short)))
    flags = "upper" in kinds
    flags += 2 * ("lower" in kinds or "letter" in kinds) + 4 * ("digit" in kinds)
    flags += 8 * ("mark" in kinds) + 16 * (kinds[:1] == ["upper"]) + 32 * (len(word) == 1)
    flags += 64 * (set(kinds) <= {"mark"}) + 128 * any(ord(letter) > 127 for letter in word)
    row.append(int(flags))
    return row + known().get(row[2], [0] * lexicon().classes.shape[1])


@cache
def known() -> dict[int, Row]:
    return dict(zip(lexicon().keys.tolist(), lexicon().classes.tolist()))


def padding(number: int) -> Row:
    return [mix(number)] * 13 + [0] + [0] * lexicon().classes.shape[1]


def around(rows: list[Row], i: int, offset: int, step: int) -> Row:
    """The attributes of the word at an offset in reading order, or of what stands there."""
    where = i + step * offset
    if 0 <= where < len(rows):
        return rows[where]
    return padding(1 if offset < 0 else 2)


def style(rows: list[Row], first: bool) -> int:
    upper = sum(row[13] & 1 for row in rows)
    lower = sum(row[13] >> 1 & 1 for row in rows)
    written = 1 if upper == 0 else 2 if lower == 0 and upper > 1 else 0
    return written + 4 * first


def scores(net: Network, words: list[Row], joined: list[int]) -> list[int]:
    """The score of each label; `words` are the attributes by role."""
    base = len(net.templates)
    places = []
    for number, (role, first, second) in enumerate(net.templates.tolist()):
        value = words[role][first]
        places.append((number, pair(value, words[role][second]) if second >= 0 else value))
    places += [(base + number, value) for number, value in enumerate(joined)]
    total = net.bias.tolist()
    for number, value in places:
        row = net.rows[place(number, value, net.bits)].tolist()
        total = [a + b for a, b in zip(total, row)]
    hidden = [min(max(value, 0), 2047) for value in total]
    return [
        bias + sum(a * b for a, b in zip(hidden, weights))
        for bias, weights in zip(net.output_bias.tolist(), net.output.tolist())
    ]


def best(values: list[int]) -> int:
    return values.index(max(values))
