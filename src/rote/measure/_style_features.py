"""Biber's (1988) 67 features and six dimensions: names, examples, what his corpus of 481 texts has.

`mean` and `sd` are those of his table of descriptive statistics, in 1,000 words. A dimension adds
up the features that load on it with 0.35 or more, each on the one where it loads most, and
subtracts those that load with the other sign.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rote.core.array_types import Floats


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
    more: tuple[str, ...]
    less: tuple[str, ...] = ()


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
    found = []
    for number, row in enumerate(_ROWS.strip().splitlines(), 1):
        name, title, example, figures = (part.strip() for part in row.split("|"))
        found.append(Feature(number, name, title, example, *map(float, figures.split())))
    return tuple(found)


FEATURES = _features()
DIMENSIONS = (
    Dimension(
        "dimension_1",
        "dimension 1 (involved, not informational)",
        (
            *("private_verbs", "that_deletion", "contractions", "present_tense", "second_person"),
            *("do_as_verb", "analytic_negation", "demonstrative_pronouns", "emphatics"),
            *("first_person", "it", "be_main_verb", "because", "discourse_particles"),
            *("indefinite_pronouns", "hedges", "amplifiers", "sentence_relatives"),
            *("wh_questions", "possibility_modals", "clausal_coordination", "wh_clauses"),
            "stranded_prepositions",
        ),
        ("nouns", "word_length", "prepositions", "type_token", "attributive_adjectives"),
    ),
    Dimension(
        "dimension_2",
        "dimension 2 (narrative)",
        (
            *("past_tense", "third_person", "perfect_aspect", "public_verbs"),
            *("synthetic_negation", "present_participial_clauses"),
        ),
    ),
    Dimension(
        "dimension_3",
        "dimension 3 (explicit, not tied to the situation)",
        (
            *("wh_object_relatives", "pied_piping", "wh_subject_relatives"),
            *("phrasal_coordination", "nominalizations"),
        ),
        ("time_adverbials", "place_adverbials", "adverbs"),
    ),
    Dimension(
        "dimension_4",
        "dimension 4 (openly persuasive)",
        (
            *("infinitives", "predictive_modals", "suasive_verbs", "if"),
            *("necessity_modals", "split_auxiliaries"),
        ),
    ),
    Dimension(
        "dimension_5",
        "dimension 5 (abstract)",
        (
            *("conjuncts", "agentless_passives", "past_participial_clauses", "by_passives"),
            *("past_participial_relatives", "other_subordinators"),
        ),
    ),
    Dimension(
        "dimension_6",
        "dimension 6 (informational while speaking)",
        (
            *("that_verb_complements", "demonstratives", "that_object_relatives"),
            "that_adjective_complements",
        ),
    ),
)
_PLACES = {feature.name: place for place, feature in enumerate(FEATURES)}


def dimensions(rates: Floats, common: bool) -> Floats:
    """The dimensions of texts, from their features. `common` leaves out features that Biber's texts
    have less than once in 1,000 words. An undefined feature counts as what his texts have on
    average; a text of which all are undefined has no dimensions."""
    found = np.empty((len(rates), len(DIMENSIONS)))
    for column, dimension in enumerate(DIMENSIONS):
        total = np.zeros(len(rates))
        for sign, names in ((1, dimension.more), (-1, dimension.less)):
            for name in names:
                feature = FEATURES[_PLACES[name]]
                if not common or feature.mean >= 1:
                    z = (rates[:, _PLACES[name]] - feature.mean) / feature.sd
                    total += sign * np.where(np.isnan(z), 0.0, z)
        found[:, column] = total
    found[np.isnan(rates).all(axis=1)] = np.nan
    return found
