"""Kept outputs against found ones: text must be equal, numbers nearly.

Machines differ in the last digits of what they compute, so a number of JSON and CSV may differ by
a millionth, one that was rounded by one unit of its last digit. Whole numbers are counts and must
be equal, whole percentages were rounded. How wide a column is does not count.
"""

from __future__ import annotations

import bisect
import difflib
import re

EXACT = ("json", "csv")
"""Forms whose numbers are not rounded."""
_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)(?!\.\d)")
_HEAD = "══ "


def joined(sections: dict[str, str]) -> str:
    return "".join(f"{_HEAD}{title}\n{text}\n" for title, text in sections.items())


def split(text: str) -> dict[str, str]:
    parts = re.split(f"^{_HEAD}(.*)\n", text, flags=re.MULTILINE)
    return {title: own[:-1] for title, own in zip(parts[1::2], parts[2::2])}


def differences(kept: dict[str, str], found: dict[str, str]) -> list[str]:
    """Lines that say what differs; a section's title begins with its form."""
    said = [f"no section {title!r} any more" for title in kept if title not in found]
    said += [f"a section {title!r} that was not there" for title in found if title not in kept]
    for title in kept:
        if title in found and kept[title] != found[title]:
            changed = _changed(kept[title], found[title], title.split()[0] in EXACT)
            said += [f"{_HEAD}{title}", *changed] if changed else []
    return said


def _changed(kept: str, found: str, exact: bool) -> list[str]:
    old, new = kept.splitlines(), found.splitlines()
    if len(old) == len(new):
        new = [a if same(a, b, exact) else b for a, b in zip(old, new)]
    return list(difflib.unified_diff(old, new, "kept", "found", n=1, lineterm=""))


def same(kept: str, found: str, exact: bool) -> bool:
    """Whether two lines say the same."""
    if kept == found:
        return True
    if _words(kept) != _words(found):
        return False
    old, new = _NUMBER.finditer(kept), _NUMBER.finditer(found)
    return all(
        _near(a[0], b[0], exact, kept[a.end() :].lstrip().startswith(("%", r"\%")))
        for a, b in zip(old, new)
    )


def _words(line: str) -> str:
    return re.sub(r"\s+", " ", re.sub("─+|━+|-{3,}", "─", _NUMBER.sub("0", line))).strip()


def _near(kept: str, found: str, exact: bool, percent: bool) -> bool:
    if kept == found:
        return True
    places = [_places(kept), _places(found)]
    if max(places) == 0 and not percent:
        return False
    a, b = _value(kept), _value(found)
    if exact:
        return abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1e-3)
    return abs(a - b) <= 1.000001 * 10.0 ** -max(places)


def _value(number: str) -> float:
    return float(number.replace(",", "").replace("−", "-"))


def _places(number: str) -> int:
    """Digits behind the point, an exponent counted."""
    digits, _, power = number.partition("e")
    return len(digits.partition(".")[2]) - int(power or 0)


def lost(kept: dict[str, str], found: dict[str, str]) -> list[str]:
    """Words and numbers that a section held and holds no longer, wherever in it they stood: what
    is to be looked at when a new layout is recorded."""
    said = [f"no section {title!r} any more" for title in kept if title not in found]
    for title in kept:
        if title in found and kept[title] != found[title]:
            held = sorted(map(_value, set(_NUMBER.findall(found[title]))))
            words = _said(kept[title]) - _said(found[title])
            numbers = [one for one in _NUMBER.findall(kept[title]) if not _holds(held, one)]
            gone = [*sorted(words), *dict.fromkeys(numbers)]
            said += [f"{_HEAD}{title}: {' '.join(gone)}"] if gone else []
    return said


def _said(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_][\w'’-]*", text))


def _holds(held: list[float], number: str) -> bool:
    """Whether a number is there, with as many digits or fewer or more."""
    unit = 10.0 ** -_places(number) if _places(number) > 0 else 1e-9
    place = bisect.bisect_left(held, _value(number) - 1.01 * unit)
    return place < len(held) and held[place] <= _value(number) + 1.01 * unit
