"""Texts in two spellings: as a typewriter has them, and as a typesetter does."""

from __future__ import annotations

import re

# From left to right; `'` is last, for a quotation mark is no apostrophe.
_GLYPHS = (
    (r"\.\.\.", "…"),
    ("---?", "—"),
    (r"(?<=\d)-(?=\d)", "–"),
    (r'(?:(?<=\s)|(?<=\A)|(?<=—))"', "“"),
    ('"', "”"),
    ("ffi", "ﬃ"),
    ("fi", "ﬁ"),
    ("fl", "ﬂ"),
    (r"(?:(?<=\s)|(?<=\A)|(?<=“))'(?=[A-Z])", "‘"),
    ("'", "’"),
)
PLAIN = [
    "The officer didn't find it. \"It'll be fine,\" she said, \"won't it?\" -- and she'd left.",
    "I think he'd go if they'd asked... He says they'll flee, I know it. We've seen it.",
    "It wasn't Ann's. 'Nobody's,' they'd said; it'd been so in 1914-18 -- all that time.",
    "'Tis the first of five... \"Who's there?\" He'll say it's nothing, or they'd hear it.",
    "She'd have confessed--they're sure of it -- but the sheriff's men couldn't confirm 5-6 facts.",
    "You're late. \"I'd say,\" he began, \"that we'll find Mr. Flint's office before it's dark.\"",
]


def typeset(text: str) -> str:
    """The text with the glyphs of a typesetter."""
    for pattern, glyph in _GLYPHS:
        text = re.sub(pattern, glyph, text)
    return text
