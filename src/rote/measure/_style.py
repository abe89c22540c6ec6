"""Biber's (1988) 67 features and six dimensions: names, examples, what his corpus of 481 texts has.

`mean` and `sd` are those of his table, in 1,000 words. A dimension adds up the features that load
on it with 0.35 or more, each on the one where it loads most, and subtracts those of the other sign.

The rules are those of pybiber 0.3.1, written for both kinds of dependency labels: Universal
Dependencies, and spaCy's. Every rule is a column of yes and no over all words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache, reduce
from operator import or_

import numpy as np

from rote.annotate.glyphs import fold
from rote.core.arrays import Flags, Floats, Integers
from rote.core.layer import Layer


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature: Biber's number, what it is called, a sentence that has it once."""

    number: int
    name: str
    title: str
    example: str
    mean: float
    sd: float


@dataclass(frozen=True, slots=True)
class Dimension:
    """What occurs together: names of features, those of the other end last."""

    name: str
    title: str
    more: str
    less: str = ""


_ROWS = """
past_tense | past tense | The boat sank. | 40.1 30.4
perfect_aspect | perfect aspect | She has eaten the soup. | 8.6 5.2
present_tense | present tense | He plays chess. | 77.7 34.3
place_adverbials | place adverbials | The children play outside. | 3.1 3.4
time_adverbials | time adverbials | The train left early. | 5.2 3.5
first_person | first person pronouns | Nobody told me. | 27.2 26.1
second_person | second person pronouns | The dog likes you. | 9.9 13.8
third_person | third person pronouns | The teacher praised him. | 29.9 22.5
it | pronoun it | The cat ate it. | 10.3 7.1
demonstrative_pronouns | demonstrative pronouns | This is good. | 4.6 4.8
indefinite_pronouns | indefinite pronouns | Somebody knocked. | 1.4 2.0
do_as_verb | do as a main verb | They did the work. | 3.0 3.5
wh_questions | wh-questions | Why did the engine stop? | 0.2 0.6
nominalizations | nominalizations | The happiness lasted. | 19.9 14.4
gerunds | gerunds | The hunting was good. | 7.0 3.8
nouns | other nouns | He bought bread. | 180.5 35.6
agentless_passives | passives without an agent | The house was sold. | 9.6 6.6
by_passives | passives with by | The house was sold by them. | 0.8 1.3
be_main_verb | be as a main verb | The water is cold. | 28.3 9.5
there | existential there | There is a problem. | 2.2 1.8
that_verb_complements | that-clauses after verbs | He said that the door was open. | 3.3 2.9
that_adjective_complements | that-clauses after adjectives | I am glad that you came. | 0.3 0.6
wh_clauses | wh-clauses | I know what you want. | 0.6 1.0
infinitives | infinitives | She wants to leave. | 14.9 5.6
present_participial_clauses | present participial clauses \
| Stuffing his mouth with bread, Joe ran out. | 1.0 1.7
past_participial_clauses | past participial clauses \
| Built in a week, the house stood for years. | 0.1 0.4
past_participial_relatives | past participles after nouns \
| The solution produced by this process is pure. | 2.5 3.1
present_participial_relatives | present participles after nouns \
| The event causing this decline is known. | 1.6 1.8
that_subject_relatives | that as subject of a relative clause \
| The dog that bit me ran away. | 0.4 0.8
that_object_relatives | that as object of a relative clause \
| The dog that I saw ran away. | 0.8 1.1
wh_subject_relatives | who, which as subject of a relative clause \
| The man who likes bread is here. | 2.1 2.0
wh_object_relatives | whom, which as object of a relative clause \
| The man whom Sally likes is here. | 1.4 1.7
pied_piping | preposition before whom, which | The manner in which he spoke was odd. | 0.7 1.1
sentence_relatives | which after a comma | Bob likes loud music, which is odd. | 0.1 0.4
because | because | She left because it rained. | 1.1 1.7
though | though, although | Although it rained, she left. | 0.5 0.8
if | if, unless | If it rains, we leave. | 2.5 2.2
other_subordinators | other adverbial subordinators | She sang while he slept. | 1.0 1.1
prepositions | prepositions | The key is under the mat. | 110.5 25.4
attributive_adjectives | attributive adjectives | He drives a red car. | 60.7 18.8
predicative_adjectives | predicative adjectives | The water is cold. | 4.7 2.6
adverbs | adverbs | He walks slowly. | 65.6 17.6
type_token | different words among 400, in percent | | 51.1 5.2
word_length | letters of a word | | 4.5 0.4
conjuncts | conjuncts | However, the plan failed. | 1.2 1.6
downtoners | downtoners | She barely slept. | 2.0 1.6
hedges | hedges | Maybe he knows. | 0.6 1.3
amplifiers | amplifiers | The soup was very hot. | 2.7 2.6
emphatics | emphatics | I really like tea. | 6.3 4.2
discourse_particles | discourse particles | It rained; well, we went out. | 1.2 2.3
demonstratives | demonstratives before nouns | She wrote this book. | 9.9 4.2
possibility_modals | modals of possibility | You can swim. | 5.8 3.5
necessity_modals | modals of necessity | You must swim. | 2.1 2.1
predictive_modals | modals of prediction | She will swim. | 5.6 4.2
public_verbs | public verbs | They announced the winner. | 7.7 5.4
private_verbs | private verbs | She believes him. | 18.0 10.4
suasive_verbs | suasive verbs | They demanded money. | 2.9 3.1
seem | seem, appear | He seems tired. | 0.8 1.0
contractions | contractions | She didn't come. | 13.5 18.6
that_deletion | that left out after a verb | I think he went home. | 3.1 4.1
stranded_prepositions | prepositions left behind | What are you looking at? | 2.0 2.7
split_infinitives | split infinitives | He wants to really win. | 0.0 0.0
split_auxiliaries | split auxiliaries | They have often called. | 5.5 2.5
phrasal_coordination | words joined by and, or | She bought bread and milk. | 3.4 2.7
clausal_coordination | clauses joined by and, but | She sang, and he danced. | 4.5 4.8
synthetic_negation | no, neither, nor | She has no money. | 1.7 1.6
analytic_negation | not | He did not come. | 8.5 6.1
"""


def _features() -> tuple[Feature, ...]:
    features = []
    for number, row in enumerate(_ROWS.strip().splitlines(), 1):
        name, title, example, figures = (part.strip() for part in row.split("|"))
        features.append(Feature(number, name, title, example, *map(float, figures.split())))
    return tuple(features)


FEATURES = _features()
DIMENSIONS = (
    Dimension(
        "dimension_1",
        "dimension 1 (involved, not informational)",
        "private_verbs that_deletion contractions present_tense second_person do_as_verb "
        "analytic_negation demonstrative_pronouns emphatics first_person it be_main_verb because "
        "discourse_particles indefinite_pronouns hedges amplifiers sentence_relatives wh_questions "
        "possibility_modals clausal_coordination wh_clauses stranded_prepositions",
        "nouns word_length prepositions type_token attributive_adjectives",
    ),
    Dimension(
        "dimension_2",
        "dimension 2 (narrative)",
        "past_tense third_person perfect_aspect public_verbs synthetic_negation "
        "present_participial_clauses",
    ),
    Dimension(
        "dimension_3",
        "dimension 3 (explicit, not tied to the situation)",
        "wh_object_relatives pied_piping wh_subject_relatives phrasal_coordination nominalizations",
        "time_adverbials place_adverbials adverbs",
    ),
    Dimension(
        "dimension_4",
        "dimension 4 (openly persuasive)",
        "infinitives predictive_modals suasive_verbs if necessity_modals split_auxiliaries",
    ),
    Dimension(
        "dimension_5",
        "dimension 5 (abstract)",
        "conjuncts agentless_passives past_participial_clauses by_passives "
        "past_participial_relatives other_subordinators",
    ),
    Dimension(
        "dimension_6",
        "dimension 6 (informational while speaking)",
        "that_verb_complements demonstratives that_object_relatives that_adjective_complements",
    ),
)
_PLACES = {feature.name: place for place, feature in enumerate(FEATURES)}


def dimensions(rates: Floats, common: bool) -> Floats:
    """The dimensions of texts, from their features. `common` leaves out features that Biber's texts
    have less than once in 1,000 words. An undefined feature counts as what his texts have on
    average; a text of which all are undefined has no dimensions."""
    scores = np.empty((len(rates), len(DIMENSIONS)))
    for column, dimension in enumerate(DIMENSIONS):
        total = np.zeros(len(rates))
        for sign, names in ((1, dimension.more), (-1, dimension.less)):
            for name in names.split():
                feature = FEATURES[_PLACES[name]]
                if not common or feature.mean >= 1:
                    z = (rates[:, _PLACES[name]] - feature.mean) / feature.sd
                    total += sign * np.where(np.isnan(z), 0.0, z)
        scores[:, column] = total
    scores[np.isnan(rates).all(axis=1)] = np.nan
    return scores


TYPES_AMONG = 400
"""Different words are counted among so many, from the beginning of a text."""
_BLOCK = 1 << 22
"""Words at a time: some 100 columns of yes and no fit the memory."""
_APART = ("obl:npmod", "obl:tmod", "obl:unmarked", "nmod:poss", "nmod:npmod", "nmod:unmarked")

_PLACE = (
    "aboard above abroad across alongside around behind below beneath beside inside near nearby "
    "outside underneath"
)
_PLACE_ADVERBS = (
    "ahead ashore astern away downhill downstairs downstream east far hereabouts indoors inland "
    "inshore locally north nowhere outdoors overboard overland overseas south underfoot "
    "underground uphill upstairs upstream west"
)
_TIME = (
    "afterwards again earlier early eventually formerly immediately initially instantly late "
    "lately later momentarily now nowadays once originally presently previously recently shortly "
    "simultaneously soon subsequently"
)
_DAYS = "today to-day tomorrow to-morrow tonight to-night yesterday"
_INDEFINITE = (
    "anybody anyone anything everybody everyone everything nobody none nothing nowhere somebody "
    "someone something"
)
_CONJUNCTS = (
    "alternatively consequently conversely e.g. furthermore hence however i.e. instead likewise "
    "moreover namely nevertheless nonetheless notwithstanding otherwise similarly therefore thus "
    "viz."
)
_CONJUNCT_PHRASES = (
    "in comparison, in contrast, in particular, in addition, in conclusion, in consequence, "
    "in sum, in summary, for example, for instance, by contrast, by comparison, in any event, "
    "in any case, in other words, as a result, as a consequence, on the contrary, on the other hand"
)
_HEDGES = "at about, something like, more or less, sort of, kind of"
_DOWNTONERS = (
    "almost barely hardly merely mildly nearly only partially partly practically scarcely slightly "
    "somewhat"
)
_AMPLIFIERS = (
    "absolutely completely definitely drastically enormously entirely extremely fully greatly "
    "highly intensely perfectly strongly thoroughly totally utterly very"
)
_PUBLIC = (
    "acknowledge add admit affirm agree allege announce argue assert bet boast certify claim "
    "comment complain concede confess confide confirm contend convey declare deny disclose exclaim "
    "explain forecast foretell guarantee hint insist maintain mention object predict proclaim "
    "promise pronounce prophesy protest remark repeat reply report say state submit suggest swear "
    "testify vow warn write"
)
_PRIVATE = (
    "accept anticipate ascertain assume believe calculate check conclude conjecture consider "
    "decide deduce deem demonstrate determine discern discover doubt dream ensure establish "
    "estimate expect fancy fear feel find foresee forget gather guess hear hold hope imagine imply "
    "indicate infer insure judge know learn mean note notice observe perceive presume presuppose "
    "pretend prove realise realize reason recall reckon recognise recognize reflect remember "
    "reveal see sense show signify suppose suspect think understand"
)
_SUASIVE = (
    "agree allow arrange ask beg command concede decide decree demand desire determine enjoin "
    "ensure entreat grant insist instruct intend move ordain order pledge pray prefer pronounce "
    "propose recommend request require resolve rule stipulate suggest urge vote"
)
_SEEM = "seem appear"
# Verbs after which a clause may lack its `that`.
_SAYING = f"{_PUBLIC} {_PRIVATE} {_SUASIVE} {_SEEM}"
_LINKING = "be seem appear become remain look feel sound act get turn prove"
_NO_NOMINALIZATIONS = (
    "apartment apartments attention business businesses capacities capacity cities city comment "
    "comments condition conditions document documents edition editions element elements "
    "environment environments experiment experiments fiction fictions function functions humanity "
    "identities identity mention mentions moment moments motion motions nation nations notion "
    "notions pity position positions qualities quality section sections solution solutions station "
    "stations tradition traditions universities university witness witnesses"
)
_NO_GERUNDS = (
    "according anything beijing bing bings boeing bring ceiling ceilings cling clings darling ding "
    "dings during evening evenings everything fling flings inning innings irving king kings "
    "morning mornings nothing notwithstanding offspring offsprings outstanding ping pings ring "
    "rings sing sings something spring springs sterling sting stings string strings thanksgiving "
    "thanksgivings thing things wedding wing wings wrongdoing wyoming"
)
_NOMINAL = ("tion", "tions", "ment", "ments", "ness", "nesses", "ity", "ities")
# What Universal Dependencies call a mark before -ing, and spaCy a preposition.
_BEFORE_ING = "of for by in from with without at on about through into upon against over"


def _plain(word: str) -> str:
    """In small letters and plain glyphs, which words that came with the input need not have."""
    return fold(word.lower()).replace("`", "'")


@lru_cache(maxsize=8)
def _tables(vocabulary: tuple[str, ...]) -> dict[str, Flags]:
    """By question: of every entry of a vocabulary the answer, as far as somebody asked. Windows of
    texts have the vocabularies of the texts: they are gone through once."""
    return {}


@lru_cache(maxsize=2)
def _plain_forms(vocabulary: tuple[str, ...]) -> tuple[dict[str, list[int]], Integers]:
    """By plain form the places of its spellings in the vocabulary; by place the form's number."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(vocabulary):
        places.setdefault(_plain(word), []).append(place)
    numbers = np.empty(len(vocabulary), np.int64)
    for number, forms in enumerate(places.values()):
        numbers[forms] = number
    return places, numbers


@dataclass(frozen=True)
class StyleColumns:
    """The layers, with what was found out about their vocabularies."""

    word: Layer
    tag: Layer
    upos: Layer
    dep: Layer
    lemma: Layer

    @cached_property
    def tables(self) -> dict[str, dict[str, Flags]]:
        layers = (field.name for field in fields(self))
        return {name: _tables(tuple(getattr(self, name).vocabulary)) for name in layers}

    @cached_property
    def plain_forms(self) -> tuple[dict[str, list[int]], Integers]:
        return _plain_forms(tuple(self.word.vocabulary))

    @property
    def universal(self) -> bool:
        """Whether labels are those of Universal Dependencies; spaCy's root is in capitals."""
        return "ROOT" not in self.dep.vocabulary

    def table(self, layer: str, what: str, is_it: Callable[[str], bool]) -> Flags:
        """Of every entry of a vocabulary whether it is `what`."""
        tables, vocabulary = self.tables[layer], getattr(self, layer).vocabulary
        if what not in tables:
            tables[what] = np.fromiter(map(is_it, vocabulary), bool, len(vocabulary))
        return tables[what]

    def listed(self, entries: str) -> Flags:
        """Of every word of the vocabulary whether it is one of these, in small letters."""
        tables, key = self.tables["word"], f"plain {entries}"
        if key not in tables:
            places, _ = self.plain_forms
            is_listed = np.zeros(len(self.word.vocabulary), bool)
            is_listed[[n for entry in entries.split() for n in places.get(entry, ())]] = True
            tables[key] = is_listed
        return tables[key]


class StyleTokens:
    """The words of some texts that follow each other: which are this, which are beside that."""

    def __init__(self, columns: StyleColumns, first: int, last: int) -> None:
        word = columns.word
        self.columns, self.texts = columns, last - first
        starts, ends = word.text_starts[first:last], word.text_ends[first:last]
        self.place = slice(int(starts[0]), int(ends[-1])) if last > first else slice(0, 0)
        self.size = self.place.stop - self.place.start
        self.text = np.repeat(np.arange(last - first), ends - starts)
        self.starts = starts - self.place.start
        self._ids: dict[str, Integers] = {}
        self._columns: dict[tuple[str, str], Flags] = {}
        self._same_text: dict[int, Flags] = {}

    def ids(self, layer: str) -> Integers:
        """In the width that numpy looks up by."""
        if layer not in self._ids:
            column: Layer = getattr(self.columns, layer)
            self._ids[layer] = column.ids[self.place].astype(np.intp)
        return self._ids[layer]

    def its(self, layer: str, what: str, is_it: Callable[[str], bool]) -> Flags:
        """Many rules ask the same: nobody may write to the answer."""
        key = (layer, what)
        if key not in self._columns:
            self._columns[key] = self.columns.table(layer, what, is_it).take(self.ids(layer))
        return self._columns[key]

    def any_of(self, layer: str, entries: str) -> Flags:
        return self.its(layer, entries, frozenset(entries.split()).__contains__)

    def words(self, entries: str) -> Flags:
        """Words in small letters; what is labelled as punctuation is none."""
        key = ("words", entries)
        if key not in self._columns:
            self._columns[key] = self.columns.listed(entries).take(self.ids("word")) & ~self.mark
        return self._columns[key]

    def verbs(self, lemmas: str) -> Flags:
        return self.any_of("lemma", lemmas) & self.tagged("V") & ~self.mark

    def tags(self, entries: str) -> Flags:
        return self.any_of("tag", entries)

    def tagged(self, *starts: str) -> Flags:
        return self.its("tag", f"starts {starts}", lambda tag: tag.startswith(starts))

    def pos(self, entries: str) -> Flags:
        return self.any_of("upos", entries)

    def role(self, universal: str, others: str) -> Flags:
        return self.any_of("dep", universal if self.columns.universal else others)

    @property
    def mark(self) -> Flags:
        return self.any_of("dep", "punct")

    def at(self, step: int, flags: Flags, outside: bool = False) -> Flags:
        """The same of the word so many behind (or ahead, below 0) in its text."""
        shifted = np.full(self.size, outside)
        if abs(step) < self.size:
            here, there = (slice(None, -step), slice(step, None))
            if step < 0:
                here, there = slice(-step, None), slice(None, step)
            if step not in self._same_text:
                self._same_text[step] = self.text[here] == self.text[there]
            same = self._same_text[step]
            shifted[here] = flags[there] | ~same if outside else flags[there] & same
        return shifted

    def phrases(self, phrases: str) -> Flags:
        """Where these words begin that follow each other."""
        is_match = np.zeros(self.size, bool)
        for phrase in phrases.split(", "):
            first, *rest = phrase.split()
            begins = np.flatnonzero(self.words(first))
            for step, word in enumerate(rest, 1):
                begins = begins[begins + step < self.size]
                same = self.text[begins] == self.text[begins + step]
                begins = begins[same & self.words(word)[begins + step]]
            is_match[begins] = True
        return is_match

    def count(self, flags: Flags) -> Integers:
        return np.bincount(self.text[flags], minlength=self.texts).astype(np.int64)

    def sentence_place(self) -> Integers:
        """How many words of its sentence come before a word."""
        begins = np.zeros(self.size, bool)
        begins[self.starts[self.starts < self.size]] = True
        ends = self.columns.word.sentence_ends
        if ends is not None:
            inner = ends[(ends > self.place.start) & (ends < self.place.stop)]
            begins[inner - self.place.start] = True
        numbers = np.arange(self.size)
        return numbers - np.maximum.accumulate(np.where(begins, numbers, 0))


def rates(columns: StyleColumns, block: int = _BLOCK) -> tuple[Floats, Integers]:
    """By text and feature how often in 1,000 words; and the words of each text."""
    ends = columns.word.text_ends
    tables: list[Floats] = [np.empty((0, len(FEATURES)))]
    words: list[Integers] = [np.empty(0, np.int64)]
    first = 0
    while first < len(ends):
        start = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, start + block, side="right")))
        tokens = StyleTokens(columns, first, last)
        is_word = tokens.its("word", "word", lambda word: any(map(str.isalnum, word)))
        words.append(tokens.count(is_word))
        each = np.where(words[-1] > 0, 1000 / np.maximum(words[-1], 1), np.nan)
        by_name = {name: np.multiply(n, each) for name, n in count_features(tokens).items()}
        by_name["type_token"] = _types(tokens, is_word, words[-1])
        by_name["word_length"] = _lengths(tokens)
        tables.append(np.stack([by_name[feature.name] for feature in FEATURES], axis=1))
        first = last
    return np.concatenate(tables), np.concatenate(words)


def _types(tokens: StyleTokens, is_word: Flags, words: Integers) -> Floats:
    """Different words among the first 400, in percent; undefined where a text has fewer."""
    has_value = words >= TYPES_AMONG
    if not has_value.any():
        return np.full(len(words), np.nan)
    known, plain = tokens.columns.plain_forms
    text = tokens.text[is_word]
    before = np.cumsum(words) - words
    early = has_value[text] & (np.arange(len(text)) - before[text] < TYPES_AMONG)
    ids = plain[tokens.ids("word")[is_word][early]]
    pairs = np.sort(text[early] * len(known) + ids)
    first = np.append(True, np.diff(pairs) > 0)
    types = np.bincount(pairs[first] // len(known), minlength=tokens.texts)
    return np.where(has_value, types * 100 / TYPES_AMONG, np.nan)


def _lengths(tokens: StyleTokens) -> Floats:
    """Mean letters of the words that are letters alone."""
    plain = tokens.its("word", "letters", lambda word: word.isascii() and word.isalpha())
    vocabulary = tokens.columns.word.vocabulary
    lengths = np.fromiter(map(len, vocabulary), np.int64, len(vocabulary))
    word_lengths = lengths[tokens.ids("word")] if len(lengths) else tokens.text
    total = np.bincount(tokens.text[plain], word_lengths[plain], tokens.texts)
    count = tokens.count(plain)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def count_features(t: StyleTokens) -> Mapping[str, Integers]:
    flags_by_name = {**_lists(t), **_verbs(t), **_clauses(t), **_phrases(t)}
    counts = {name: t.count(flags) for name, flags in flags_by_name.items()}
    nouns, gerunds = t.pos("NOUN PROPN") & ~_hyphened(t), _gerunds(t) & t.pos("NOUN")
    rest = t.count(nouns) - t.count(gerunds) - counts["nominalizations"]
    counts["nouns"] = np.maximum(rest, 0)
    relatives = counts["wh_subject_relatives"] + counts["wh_object_relatives"]
    counts["wh_clauses"] = np.maximum(counts["wh_clauses"] - relatives, 0)
    return counts


def _lists(t: StyleTokens) -> dict[str, Flags]:
    """Features that are lists of words."""
    after_mark = t.at(-1, t.mark)
    adverb, adjective, verb = t.tagged("R"), t.tagged("JJ"), t.tagged("V") & ~t.mark
    doing = t.words("do does doing did") & t.tagged("VB") & t.at(1, verb)
    so = t.words("so") & t.at(1, adjective & ~t.words("more most"))
    a_lot = t.phrases("a lot") & ~t.at(-1, t.words("such"))
    emphatics = t.words("just really most more") | a_lot | so | doing
    emphatics |= t.phrases("for sure, such a") | (t.words("real") & t.at(1, adjective))
    possessive = t.tagged("PRP")
    negated = t.its("word", "n't", lambda word: _plain(word).endswith("n't")) & ~t.mark
    apostrophe = t.its("word", "apostrophe", lambda word: "'" in _plain(word))
    modal = t.tags("MD")
    would = t.its("word", "'d 'll", lambda word: _plain(word).endswith(("'d", "'ll")))
    return {
        "place_adverbials": (t.words(_PLACE) & (adverb | t.tags("IN")))
        | (t.words(_PLACE_ADVERBS) & adverb),
        "time_adverbials": (t.words(_TIME) & adverb) | t.words(_DAYS),
        "first_person": t.words("i me us my we our myself ourselves") & possessive,
        "second_person": t.words("you your yourself yourselves thy thee thyself thou") & possessive,
        "third_person": possessive
        & t.words("she he they her him them his their himself herself themselves"),
        "it": t.words("it its itself") & possessive,
        "indefinite_pronouns": t.words(_INDEFINITE),
        "there": t.words("there") & t.tags("EX"),
        "infinitives": t.words("to") & t.tags("TO"),
        "though": t.words("though although tho") & t.tags("IN"),
        "if": t.words("if unless") & t.tags("IN"),
        "adverbs": (t.tagged("RB") | t.tags("WRB")) & ~t.mark,
        "conjuncts": t.words(_CONJUNCTS)
        | t.phrases(_CONJUNCT_PHRASES)
        | (t.words("else altogether rather") & after_mark),
        "downtoners": t.words(_DOWNTONERS),
        "hedges": t.words("maybe") | t.phrases(_HEDGES),
        "amplifiers": t.words(_AMPLIFIERS) | (t.words("altogether") & ~after_mark),
        "emphatics": emphatics,
        "discourse_particles": t.words("well now anyhow anyways") & after_mark,
        "possibility_modals": t.words("can ca may might could") & modal,
        "necessity_modals": t.words("ought should must") & modal,
        "predictive_modals": (t.words("will would shall wo sha") | would) & modal,
        "contractions": negated | (apostrophe & (verb | modal) & ~t.mark),
        "synthetic_negation": (t.words("no") & t.at(1, t.tagged("J", "N")))
        | t.words("neither nor"),
        "analytic_negation": t.words("not") | negated,
    }


def _verbs(t: StyleTokens) -> dict[str, Flags]:
    """Tense, aspect, voice, and lists of verbs."""
    auxiliary = t.role("aux aux:pass", "aux auxpass")
    be, passive = t.any_of("lemma", "be"), t.role("aux:pass", "auxpass")
    by = t.at(2, t.words("by")) | t.at(3, t.words("by"))
    adverb, verb, rb = t.pos("ADV"), t.pos("VERB"), t.tags("RB")
    split = t.at(1, rb) & (t.at(2, t.tags("VB")) | (t.at(2, rb) & t.at(3, t.tags("VB"))))
    apart = t.at(1, adverb) & (t.at(2, verb) | (t.at(2, adverb) & t.at(3, verb)))
    return {
        "past_tense": t.tags("VBD") & ~t.mark,
        "perfect_aspect": t.any_of("lemma", "have") & auxiliary,
        "present_tense": t.tags("VBZ VBP") & ~t.mark,
        "do_as_verb": t.any_of("lemma", "do") & ~auxiliary,
        "agentless_passives": passive & ~by,
        "by_passives": passive & by,
        "be_main_verb": be & t.tags("VBD VBP VBZ") & ~auxiliary,
        "public_verbs": t.verbs(_PUBLIC),
        "private_verbs": t.verbs(_PRIVATE),
        "suasive_verbs": t.verbs(_SUASIVE),
        "seem": t.verbs(_SEEM),
        "split_infinitives": t.tags("TO") & split,
        "split_auxiliaries": auxiliary & apart,
    }


def _clauses(t: StyleTokens) -> dict[str, Flags]:
    """Complements, relative clauses, participles, subordination."""
    that, who, verb = t.words("that"), t.tagged("W"), t.pos("VERB")
    subject = t.role("nsubj nsubj:pass nsubj:outer", "nsubj nsubjpass")
    plain_subject = t.role("nsubj nsubj:outer", "nsubj")
    complement = that & t.pos("SCONJ")
    noun = t.its("tag", "noun", lambda tag: tag.startswith(("N", "CD")) or "DT" in tag)
    mark = t.pos("PUNCT")
    is_asked = t.at(-2, t.any_of("lemma", "ask tell"))
    behind = t.at(-1, noun) | (t.at(-1, mark) & t.at(-2, noun) & t.words("who"))
    relative = who & ~is_asked & behind & ~that
    participle = t.role("advcl ccomp", "advcl ccomp") & t.at(-1, t.mark, outside=True)
    reduced = t.role("acl", "acl") & t.at(-1, t.pos("NOUN"))
    excluded = "because if unless though although tho that"
    excluded += f" {_BEFORE_ING}" if t.columns.universal else ""
    question = t.at(-1, mark) | t.at(-2, mark) | (t.sentence_place() <= 1)
    followed = (
        t.at(1, plain_subject & ~t.tags("WP")) & t.at(2, verb & ~t.tags("VBG"))
        | t.at(1, t.tags("DT")) & t.at(2, plain_subject) & t.at(3, verb)
        | t.at(1, t.tags("DT"))
        & t.at(2, t.any_of("dep", "amod"))
        & t.at(3, plain_subject)
        & t.at(4, verb)
    )
    return {
        "wh_questions": who & ~t.pos("DET") & t.at(1, t.any_of("dep", "aux")) & question,
        "that_verb_complements": complement & t.at(-1, verb),
        "that_adjective_complements": complement & t.at(-1, t.pos("ADJ")),
        "wh_clauses": who & ~t.words("which") & t.at(-1, verb),
        "present_participial_clauses": t.tags("VBG") & participle,
        "past_participial_clauses": t.tags("VBN") & participle,
        "past_participial_relatives": t.tags("VBN") & reduced,
        "present_participial_relatives": t.tags("VBG") & reduced,
        "that_subject_relatives": that & subject & t.at(-1, noun),
        "that_object_relatives": that & t.role("obj", "dobj") & t.at(-1, noun),
        "wh_subject_relatives": relative & subject,
        "wh_object_relatives": relative & (t.role("obj iobj", "dobj") | _governed(t)),
        "pied_piping": t.at(-1, t.tags("IN")) & t.words("who whom whose which") & who,
        "sentence_relatives": t.words("which") & t.at(-1, mark),
        "because": t.words("because") & t.at(1, ~t.words("of")),
        "other_subordinators": t.pos("SCONJ") & t.any_of("dep", "mark") & ~t.words(excluded),
        "that_deletion": t.any_of("lemma", _SAYING) & verb & followed,
    }


def _phrases(t: StyleTokens) -> dict[str, Flags]:
    """Nouns, adjectives, prepositions, coordination."""
    object_ = t.role("obj", "dobj") | _governed(t)
    subject = t.role("nsubj nsubj:pass nsubj:outer", "nsubj nsubjpass")
    demonstrative = t.words("that this these those")
    noun = t.its("tag", "noun", lambda tag: tag.startswith(("N", "CD")) or "DT" in tag)
    adjective = t.pos("ADJ")
    unhyphened = adjective & ~_hyphened(t)
    comma = t.its("word", "comma", lambda word: word == ",")
    kinds = ("NOUN", "VERB", "ADJ", "ADV")
    pairs = [t.at(1, t.pos(kind)) & t.at(-1, t.pos(kind)) for kind in kinds]
    attributive = t.at(1, t.pos("NOUN ADJ")) | (t.at(1, comma) & t.at(2, adjective))
    linked = t.at(-1, t.pos("VERB AUX") & t.any_of("lemma", _LINKING))
    stranded, preposition = _prepositions(t)
    plain_subject = t.role("nsubj nsubj:outer", "nsubj")
    clause = reduce(or_, (t.at(step, plain_subject) for step in (1, 2, 3)))
    formed = t.its("word", "nominal", lambda word: word.lower().endswith(_NOMINAL))
    return {
        "demonstrative_pronouns": t.tags("DT")
        & ~t.at(-1, noun)
        & (subject | object_)
        & demonstrative,
        "nominalizations": t.pos("NOUN") & formed & ~t.words(_NO_NOMINALIZATIONS),
        "gerunds": _gerunds(t),
        "prepositions": preposition,
        "attributive_adjectives": unhyphened & attributive,
        "predicative_adjectives": unhyphened & linked & t.at(1, ~t.pos("NOUN ADJ ADV")),
        "demonstratives": demonstrative & t.any_of("dep", "det"),
        "stranded_prepositions": stranded,
        "phrasal_coordination": t.tags("CC") & reduce(or_, pairs),
        "clausal_coordination": t.tags("CC") & ~t.role("root", "ROOT") & clause,
    }


def _governed(t: StyleTokens) -> Flags:
    """What a preposition governs."""
    if not t.columns.universal:
        return t.any_of("dep", "pobj")
    return t.its(
        "dep", "governed", lambda dep: dep.split(":")[0] in ("obl", "nmod") and dep not in _APART
    )


def _prepositions(t: StyleTokens) -> tuple[Flags, Flags]:
    """Those left behind, and all."""
    ends = t.at(1, t.its("tag", "mark", lambda tag: len(tag) == 1 and not tag.isalnum()))
    if not t.columns.universal:
        every = t.any_of("dep", "prep")
        return t.tags("IN") & every & ends, every
    prepositions = t.pos("ADP") & ~t.any_of("dep", "compound:prt fixed")
    stranded = t.tags("IN") & prepositions & ends
    before = t.words(_BEFORE_ING) & t.any_of("dep", "mark") & t.at(1, t.tags("VBG"))
    return stranded, (prepositions & t.any_of("dep", "case")) | stranded | before


def _hyphened(t: StyleTokens) -> Flags:
    return t.its("word", "-", lambda word: "-" in word)


def _gerunds(t: StyleTokens) -> Flags:
    formed = t.its("word", "ing", lambda word: word.lower().endswith(("ing", "ings")))
    used = t.role("nsubj nsubj:pass nsubj:outer obj", "nsubj nsubjpass dobj") | _governed(t)
    return formed & used & ~t.words(_NO_GERUNDS)
