"""What tags mean, with examples: for people who read runs of them.

Penn tags as the English Web Treebank has them, the universal parts of speech, and the relations of
Universal Dependencies.
"""

from __future__ import annotations

from collections.abc import Iterable

_PENN = """
CC coordinating conjunction: and, but, or
CD number: two, 1984
DT determiner: the, a, this, some
EX existential there: there is
FW foreign word: de facto
GW part of a word written apart: an other
IN preposition or subordinating conjunction: in, of, because
JJ adjective: old, happy
JJR adjective, comparative: older
JJS adjective, superlative: oldest
LS number of a list: 1), a)
MD modal verb: can, will, should
NN noun, singular: dog, time
NNS noun, plural: dogs, times
NNP name, singular: Anna, London
NNPS name, plural: the Alps
PDT predeterminer: all the, such a
POS possessive ending: 's
PRP personal pronoun: I, it, them
PRP$ possessive pronoun: my, its, their
RB adverb: quickly, not, very
RBR adverb, comparative: faster
RBS adverb, superlative: most
RP particle: give up, go on
SYM symbol: =, %
TO to: to go, to the shop
UH interjection: oh, yes
VB verb, base form: go, be
VBD verb, past tense: went, was
VBG verb, -ing form: going
VBN verb, past participle: gone, seen
VBP verb, present, not third person singular: go, are
VBZ verb, present, third person singular: goes, is
WDT wh-determiner: which, that
WP wh-pronoun: who, what
WP$ possessive wh-pronoun: whose
WRB wh-adverb: when, how
ADD address: a mail or web address
AFX affix: pre-, non-
HYPH hyphen: well-known
NFP mark beside the sentence: ***, :-)
$ sign of money: $, £
. end of a sentence: . ! ?
, comma: ,
: other mark inside a sentence: ; : –
`` opening quotation mark: “
'' closing quotation mark: ”
-LRB- opening bracket: (
-RRB- closing bracket: )
"""
_UNIVERSAL = """
ADJ adjective: old, happy
ADP preposition: in, of
ADV adverb: quickly, when
AUX auxiliary: is, have, can
CCONJ coordinating conjunction: and, or
DET determiner: the, a, this
INTJ interjection: oh, yes
NOUN noun: dog, time
NUM number: two, 1984
PART particle: not, 's, to go
PRON pronoun: I, it, who
PROPN name: Anna, London
PUNCT punctuation: . , ?
SCONJ subordinating conjunction: because, that
SYM symbol: =, %
VERB verb: go, saw
X anything else: de facto
"""
_RELATIONS = """
acl clause that modifies a noun: a reason to go
acl:relcl relative clause: the man who came
advcl adverbial clause: if it rains
advcl:relcl relative clause of a whole clause: which was odd
advmod adverb: goes quickly
amod adjective of a noun: old dog
appos apposition: Anna, my aunt
aux auxiliary: has gone
aux:pass passive auxiliary: was seen
case preposition or 's: in the house
cc conjunction word: and
cc:preconj first half of a conjunction: both … and
ccomp clause as an object: says that it rains
compound compound: phone book
compound:prt particle of a verb: give up
conj second part of a conjunction: dogs and cats
cop form of be: is old
csubj clause as a subject: to go is hard
csubj:outer clause as a subject of a clause: the point is …
csubj:pass clause as a subject of a passive: is said that …
dep some other relation: –
det determiner: the dog
det:predet predeterminer: all the dogs
discourse interjection: oh, well
dislocated moved out of the clause: him, I like
expl it or there without meaning: there is
fixed fixed expression: as well as
flat name of several words: Anna Voss
goeswith word written apart: an other
iobj indirect object: gave her a book
list entry of a list: a mail address below a name
mark word that opens a clause: because, to, that
nmod noun that modifies a noun: end of the day
nmod:desc title or description: Uncle Tom
nmod:poss possessor: Anna's book
nmod:unmarked noun of time or measure beside a noun: the day before
nsubj subject: the dog sleeps
nsubj:outer subject of a clause as predicate: the point is that …
nsubj:pass subject of a passive: it was seen
nummod number of a noun: two dogs
obj object: sees the dog
obl noun with a preposition beside a verb: sleeps in the house
obl:agent who does it in a passive: seen by Anna
obl:unmarked noun of time or measure beside a verb: left last night
orphan left over where the verb is missing: and Bo tea
parataxis clause set beside another: it rained, she said
punct punctuation: .
reparandum slip that is taken back: the the dog
root root of the sentence: the dog sleeps
vocative who is spoken to: Anna, come
xcomp verb without a subject of its own: wants to go
"""


def _read(lines: str) -> dict[str, tuple[str, str]]:
    meanings = {}
    for line in lines.strip().splitlines():
        tag, _, meaning = line.partition(" ")
        name, _, example = meaning.partition(": ")
        meanings[tag] = (name, example)
    return meanings


LEGEND = {"pos": _read(_PENN), "upos": _read(_UNIVERSAL), "dep": _read(_RELATIONS)}
"""By layer and tag: what it is called, and an example."""


def legend(layer: str, tags: Iterable[str]) -> list[tuple[str, str, str]]:
    """Those of the tags that have a meaning to be told, in the order of the alphabet."""
    known = LEGEND.get(layer, {})
    return [(tag, *known[tag]) for tag in sorted(set(tags)) if tag in known]
