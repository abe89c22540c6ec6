"""The word lists of the `ud` tokenizer, packed for its kernel.

A word of up to eight bytes is its lower-case bytes read as one number, so that a
look-up compares the whole word exactly. English, after the guidelines of UD
English EWT.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

ABBREVIATION = 1  # keeps its full stop
PREFIX = 2  # stays with what follows its hyphen
UNIT = 4  # is cut off a number
DOMAIN = 8  # ends the name of a site
FILE = 16  # ends the name of a file
CLITIC = 32  # is cut off with the apostrophe before it
CLIPPED = 64  # begins with an apostrophe: 'em
LISTING = 128  # begins the name of a news group: comp.lang.c
WEAK = 256  # keeps its full stop only where no sentence can end
SITE = 512  # begins the name of a site
SCHEME = 1024  # begins a URL without slashes
CUT = 2048  # times the place at which a word is cut: cannot, dont

_LISTS = {
    ABBREVIATION: """
        dr drs mr mrs ms st mt ft jr sr prof rev gen gov sen rep reps lt col capt cmdr sgt maj hon
        pres supt messrs mme mlle inc ltd pvt co corp bros dept univ assn assoc etc vs eg ie cf et
        jan feb apr jun jul aug sep sept oct nov dec tue tues thu thur thurs fri blvd ave rd
        vol vols nos pp figs eds ext tel attn approx esp que hrs yr yrs lb lbs oz viz incl
        arr arrv adm resp""",
    WEAK: """
        no sat sun mon wed mar may al la va wa ca ed est fig min mins sec secs hr apt ste det
        conf para ph sc mob lv rec spec info ps misc dep""",
    PREFIX: """
        e non mid pre anti re post over co pro multi ex sub semi cross neo psycho socio counter
        intra inter micro un arch ultra super mini macro mega bi tri quasi pseudo trans proto
        under electro geo bio eco tele hyper auto infra meta""",
    UNIT: """
        am pm m k b bn mm cm ft kg lb lbs hz khz mhz ghz kb mb gb tb hh f x mins min minutes hrs
        hours days km kw kwh mw mwh mph oz ml mg sqft sq watt watts volt volts p percent yr yrs
        years inch inches ppm bps kbps mbps px dpi rpm w v""",
    DOMAIN: """
        com org net edu gov mil int info biz uk ca de fr jp au ru ch nl es se eu cn br io tv
        nz za pl""",
    FILE: """
        doc docx xls xlsx ppt pptx pdf txt rtf csv tsv json xml html htm php asp aspx jsp css js
        jpg jpeg gif png bmp tif tiff svg mp3 mp4 avi mov wav wmv zip gz tar rar exe dll url py
        java cpp md tex log dat ini cfg bat sh""",
    SITE: "www",
    SCHEME: "mailto tel",
    CLITIC: "s m d re ve ll",
    CLIPPED: "em n til till cause tis twas bout cuz round",
    LISTING: "alt comp misc rec soc sci talk news ba",
}
_CUTS = """
    can|not gon|na wan|na got|ta out|ta do|nt did|nt does|nt wo|nt ca|nt is|nt was|nt are|nt
    have|nt has|nt had|nt would|nt could|nt should|nt were|nt ai|nt i|m i|ve that|s there|s
    you|re they|re what|s he|s let|s here|s ar|nt gim|me lem|me du|nno n|no"""


def pack(word: str) -> int:
    """A word of up to eight bytes as a number."""
    return int.from_bytes(word.encode(), "big")


@lru_cache(maxsize=1)
def table() -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
    """Packed words and their bits, as an open hash table of a power of two."""
    bits: dict[int, int] = {}
    for bit, words in _LISTS.items():
        for word in words.split():
            bits[pack(word)] = bits.get(pack(word), 0) | bit
    for cut in _CUTS.split():
        key = pack(cut.replace("|", ""))
        bits[key] = bits.get(key, 0) | CUT * cut.index("|")
    size = 2048
    keys, values = np.zeros(size, np.uint64), np.zeros(size, np.uint16)
    for key, value in bits.items():
        slot = slot_of(key, size)
        while keys[slot]:
            slot = (slot + 1) % size
        keys[slot], values[slot] = key, value
    return keys, values


def slot_of(key: int, size: int) -> int:
    """Where the search for a key begins; the kernel computes the same."""
    return (key * 0x9E3779B97F4A7C15 % 2**64 >> 32) % size
