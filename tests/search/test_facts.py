"""The guard for facts: pairs written for it, 100 whose facts differ and 60 that agree."""

import pytest

from rote.search.meaning.facts import (
    NAMES,
    NEGATION,
    NUMBERS,
    compare_facts,
    is_same_name,
    read_facts,
)

DIFFERENT_NUMBERS = """
She was born in 1912 in a small village. | She was born in 1921 in a small village.
The bridge is 340 metres long. | The bridge measures 430 metres.
They had three daughters and no son. | They had four daughters and no son.
The train leaves at 7:15 every morning. | Every morning the train departs at 8:15.
Water boils at 100 degrees at sea level. | Water boils at 90 degrees at sea level.
The school has twenty-one teachers. | The school employs twelve teachers.
He paid 4,500 dollars for the car. | He bought the car for 5,400 dollars.
The council met on 3 May. | The council met on 5 May.
About 60 % of the members voted yes. | About 16 % of the members voted in favour.
The war lasted seven years. | The war went on for nine years.
Her second novel won the prize. | Her fifth novel won the prize.
The tower has five hundred steps. | There are three hundred steps in the tower.
The recipe asks for 250 grams of flour. | You need 350 grams of flour for this recipe.
The island lies 12 miles from the coast. | The island is 22 miles off the coast.
The company was founded in 1986. | The firm was established in 1968.
Each box holds a dozen eggs. | Each box holds ten eggs.
The lake is 80 feet deep. | The depth of the lake is 18 feet.
Their flat is on the third floor. | They live on the eighth floor.
The law was passed in 2004. | Parliament passed the law in 2014.
The choir has 45 singers. | There are 54 singers in the choir.
A marathon is 42 kilometres long. | A marathon is 24 kilometres long.
The population was 3.2 million. | The population was 2.3 million.
The king reigned for thirty years. | The king ruled for forty years.
He scored 17 points in the final. | In the final he scored 71 points.
The temperature fell to minus 8. | The temperature dropped to minus 18.
The ticket costs nine euros. | A ticket is fifteen euros.
The museum owns 1,200 paintings. | The museum has 2,100 paintings.
The trial began six weeks later. | Eleven weeks later the trial began.
The ship carried 700 passengers. | On board the ship were 900 passengers.
She ran the race in 51 seconds. | She finished the race in 57 seconds.
The tree is two hundred years old. | The tree is six hundred years old.
The rent rose by 6 percent. | The rent went up by 9 percent.
The meeting took four hours. | The meeting lasted eight hours.
The army had 30,000 men. | There were 13,000 men in the army.
"""
DIFFERENT_NAMES = """
Paris is the city where the treaty was signed. | The treaty was signed in the city of Vienna.
Marie Lund discovered the comet. | The comet was discovered by Clara Voss.
The river flows through Hungary. | The river runs through Romania.
He moved to Chicago with his wife. | Together with his wife he moved to Boston.
The festival takes place in October. | The festival is held in August.
Anders wrote the letter to his mother. | Jonas wrote his mother a letter.
The company opened a plant in Brazil. | The company has opened a factory in Mexico.
Doctor Hale examined the boy. | The boy was examined by Doctor Finch.
The team from Leeds won the cup. | The cup was won by the team from Derby.
She studied law at Oxford. | At Cambridge she studied law.
The fire destroyed most of Lisbon. | Most of Hamburg was destroyed by the fire.
On Monday the shops are closed. | The shops are shut on Thursday.
Rosa painted the portrait in a single night. | In a single night Irene painted the portrait.
Napoleon lost the battle. | The battle was lost by Wellington.
The ship sailed from Bergen to Hull. | The ship went from Stavanger to Hull.
The expedition reached Nepal in spring. | In spring the expedition arrived in Bhutan.
The poem was written by Keats. | Byron wrote the poem.
Mr. Collins refused to pay the fine. | Mr. Bennet would not pay the fine.
The bank has its seat in Zurich. | The bank is based in Geneva.
Their flight to Madrid was late. | Their flight to Athens was delayed.
Tom gave the book to Sarah. | Tom gave the book to Emily.
The volcano is in Iceland. | The volcano lies in Chile.
The bishop of Lyon opposed the plan. | The plan was opposed by the bishop of Reims.
Einstein gave a lecture that evening. | That evening Bohr held a lecture.
The novel is set in Prague. | The novel takes place in Warsaw.
Microsoft bought the small company. | The small company was bought by Google.
The minister from Denmark spoke first. | First to speak was the minister from Sweden.
Peter found the key under the mat. | Martin found the key beneath the mat.
The old road leads to Canterbury. | The old road goes to Winchester.
Jupiter is visible tonight. | Tonight one can see Saturn.
The museum in Berlin owns the mask. | The mask belongs to the museum in Munich.
The statue shows Athena with a spear. | The statue depicts Hera with a spear.
The senator from Texas voted against it. | The senator from Ohio voted against it.
"""
DIFFERENT_NEGATION = """
The medicine is safe for children. | The medicine is not safe for children.
He has paid his debts. | He hasn't paid his debts.
The door was locked when we came. | The door wasn't locked when we came.
She always agreed with the committee. | She never agreed with the committee.
Everybody survived the accident. | Nobody survived the accident.
You may take photographs in the church. | You may not take photographs in the church.
The witness could identify the man. | The witness could not identify the man.
There is evidence for the claim. | There is no evidence for the claim.
The bridge is open in winter. | In winter the bridge is not open.
They have found the cause of the fire. | The cause of the fire has not been found.
The law applies to tourists. | The law does not apply to tourists.
He knew the answer. | He did not know the answer.
The soup contains meat. | The soup contains no meat.
The patient was able to walk. | The patient was not able to walk.
The results support the theory. | The results do not support the theory.
She left with her umbrella. | She left without her umbrella.
All the tests have passed. | None of the tests have passed.
I have been to the opera. | I have never been to the opera.
The king trusted his brother. | The king did not trust his brother.
The plan will work. | The plan won't work.
The plant needs light. | The plant doesn't need light.
He told his wife about the letter. | He told his wife nothing about the letter.
We can see the coast from here. | We can't see the coast from here.
The court found him guilty. | The court did not find him guilty.
The road is passable in spring. | The road is never passable in spring.
The team was ready for the match. | The team was not ready for the match.
Somebody answered the telephone. | Nobody answered the telephone.
The machine works under water. | The machine does not work under water.
She wanted to be queen. | She did not want to be queen.
They were related to the victim. | They were not related to the victim.
His name is on the list. | His name is not on the list.
The children were hungry. | The children weren't hungry.
The guests liked the wine. | The guests did not like the wine.
"""
REWORDED_NEGATION = """
The old bridge is safe for lorries. | Trucks cannot cross it without danger, it is not safe.
She likes dogs very much. | She isn't fond of dogs at all.
The boy had eaten breakfast before school. | Before going to school, he did not have breakfast.
The vaccine protects against the flu. | You are not protected from influenza by this vaccine.
The shop sells fresh bread on Sundays. | On Sunday there is no fresh bread in the store.
My uncle could swim across the lake. | My uncle was not able to swim over to the other side.
The committee accepted the proposal. | The proposal was not approved by the panel.
The driver saw the child on the road. | The motorist never noticed the kid in the street.
He survived the crash. | He did not live through the accident.
The letter reached her in time. | The letter did not get to her before it was too late.
The cake was sweet enough for the guests. | For the visitors the cake was not sweet enough.
All of the windows were broken by the storm. | The storm smashed none of the windows.
The dentist found a hole in her tooth. | There was no cavity in her tooth, the dentist said.
They paid for the meal. | They left without paying for what they had eaten.
The king forgave his son. | The king never pardoned his boy.
The engine starts when it is cold. | In cold weather the motor won't start.
You should add salt to the water. | Put no salt in the water.
The teacher believed the girl's story. | The girl told her tale, and the teacher did not believe it.
The river freezes in winter. | When winter comes, the stream does not freeze over.
The police caught the thief. | The burglar was not caught by the cops.
The paint was dry by the evening. | In the evening the paint had not dried yet.
He remembered where he had parked. | He had no memory of where he left the car.
The soldiers obeyed the order. | The troops did not follow the command.
Grandmother enjoyed the concert. | Grandma took no pleasure in the concert.
The plane landed on the island. | The aircraft never came down on the island.
The farmer sold his horse. | The farmer would not sell the horse he had.
Her parents knew about the wedding. | Her mom and dad had not been told of the wedding.
The key fits the lock. | That lock isn't one the key fits.
The mayor answered the reporter. | The journalist got no answer from the mayor.
You can drink the water from this well. | The water of this well is not fit to drink.
The trees grew tall in the valley. | In the valley, the trees did not become tall.
The student passed the test because she had studied. | She did not get through the exam.
The candle was burning when we returned. | When we came back, the candle wasn't lit.
The company will pay for the damage. | The firm is not going to cover the damage.
He apologized to his neighbor. | He never said sorry to the man next door.
The fish is fresh. | That fish isn't fresh any more.
The lawyer told the truth in court. | In court the attorney did not say what was true.
The children were allowed to stay up. | The kids weren't permitted to stay awake.
Rain fell all week. | It did not rain for the whole week.
She wore her ring on the journey. | While traveling she had no ring on.
"""
SAME = """
She was born in 1912 in a small village. | In 1912 she was born in a little village.
He has twenty-one cousins. | He has 21 cousins.
The firm employs two thousand people. | 2,000 people work for the firm.
The dog ran across the field after the ball. | Chasing the ball, the dog raced over the meadow.
The treaty was signed in Vienna. | It was in Vienna that they signed the treaty.
Nobody came to the party. | No one came to the party.
He did not agree with the plan. | He disagreed with the plan.
It is not possible to cross the river here. | Crossing the river at this place is impossible.
Marie Curie won the prize twice. | Curie won the prize two times.
The house was built in the 1990s. | The house dates from the 1990s.
The king died without an heir. | The king had no heir when he died.
They never saw the sea again. | They did not see the sea again.
Three of the boys could swim. | 3 of the boys were able to swim.
The price rose by half. | The price went up by 50 %.
On Friday the office is closed. | The office is shut on Fridays.
The old man sat by the fire and said nothing. | The old man did not speak and sat at the fireside.
She refused to answer. | She would not answer.
The river is about four hundred miles long. | The river is some 400 miles in length.
Mr. Smith sold his house last year. | Last year Smith sold his home.
Their eldest son became a doctor. | The oldest of their sons became a physician.
Ann and Tom were married in June. | In June Ann married Tom.
The shop has no bread left. | There is no more bread in the shop.
The United Nations sent help. | The UN sent help.
The film is neither funny nor sad. | The film is not funny, and it is not sad either.
The ship sank within ten minutes. | It took only ten minutes for the ship to sink.
He was the first to reach the top. | Before all others he reached the summit.
The city has 1.5 million inhabitants. | One and a half million people live in the city.
The garden is behind the house. | Behind the house there is a garden.
Rain is expected in the north. | In the north it will probably rain.
The boy broke the window with a stone. | The window was broken by the boy with a stone.
She could hardly believe it. | She could scarcely believe it.
The judge let him go free. | The judge set him free.
In the beginning there was only the sea. | At first there was nothing except the sea.
He was unable to open the box. | He could not open the box.
The teacher praised her pupils. | The pupils were praised by their teacher.
We have not heard from Paul since May. | Since May we haven't heard from Paul.
The farmer lost a third of his sheep. | One third of the farmer's sheep was lost.
The queen wore a red dress. | The dress that the queen wore was red.
It was too dark to read. | It was so dark that one could not read.
Johann Sebastian Bach wrote the piece. | The piece is by Bach.
The mountain is covered with snow all year. | There is snow on the mountain the whole year round.
He gave each child an apple. | Each child got an apple from him.
They arrived a day late. | They came one day late.
The museum is open every day except Monday. | The museum is not open on Monday.
The workers demand higher wages. | Higher pay is what the workers demand.
My brother lives in New York. | New York is where my brother lives.
The soldiers marched all night. | All night long the soldiers marched.
The cat was asleep on the sofa. | On the couch the cat was sleeping.
He failed the exam. | He did not pass the exam.
Sofia opened the letter with a knife. | With a knife Sofia opened the letter.
The journey takes two days by train. | By train it is a journey of two days.
Eat more vegetables if you want to stay healthy. | To keep fit you should eat more vegetables.
The fog made it hard to see the road. | Because of the fog the road could hardly be seen.
The thief was caught at the station in Rome. | Police caught the thief at Rome's station.
The bees leave the hive when it is warm. | When it is warm the bees fly out of the hive.
Put the cake in the oven for forty minutes. | Bake the cake for 40 minutes.
Nelson spoke first, then his sister. | First Nelson spoke, and his sister after him.
There is not much water in the well. | There is little water in the well.
The bell rings at noon. | At twelve o'clock the bell rings.
She only drinks tea. | She drinks nothing but tea.
"""


def pairs_of(block):
    return [tuple(part.strip() for part in line.split("|")) for line in block.strip().splitlines()]


def differences(pairs):
    facts = read_facts([text for pair in pairs for text in pair])
    return [compare_facts(one, other) for one, other in zip(facts[::2], facts[1::2])]


@pytest.mark.parametrize(
    ("block", "kind", "least"),
    [
        (DIFFERENT_NUMBERS, NUMBERS, 34),
        (DIFFERENT_NAMES, NAMES, 32),
        (DIFFERENT_NEGATION, NEGATION, 33),
        (REWORDED_NEGATION, NEGATION, 30),
    ],
)
def test_pairs_whose_facts_differ_are_told(block, kind, least):
    pairs = pairs_of(block)
    told = [kind in each for each in differences(pairs)]
    assert sum(told) >= least, [pair for pair, is_told in zip(pairs, told) if not is_told]


def test_a_hundred_pairs_differ():
    blocks = (DIFFERENT_NUMBERS, DIFFERENT_NAMES, DIFFERENT_NEGATION)
    assert sum(len(pairs_of(block)) for block in blocks) == 100


def test_paraphrases_with_the_same_facts_are_seldom_told():
    pairs = pairs_of(SAME)
    false = [(pair, each) for pair, each in zip(pairs, differences(pairs)) if each]
    assert len(pairs) == 60
    assert len(false) <= 3, false


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("two hundred and five men", {205}),
        ("in nineteen twelve", {1912}),
        ("nineteen hundred and twelve", {1912}),
        ("twenty-one", {21}),
        ("3.5 million people and 40,000 dogs", {3_500_000, 40_000}),
        ("on May 4, 1912", {4, 1912}),
        ("the first and the third", {1, 3}),
        ("forty thousand and five hundred", {40_500}),
        ("the 1990s", {1990}),
        ("at 7:15", {435}),
        ("five six", {5, 6}),
        ("no number here", set()),
    ],
)
def test_numbers_in_words_and_digits(text, numbers):
    assert read_facts([text])[0].numbers == numbers


def test_names_in_several_spellings():
    assert is_same_name("pishon", "pison")
    assert is_same_name("alex", "alexis")
    for names in ("kiev kyiv", "zelensky selenskyj", "mohammed muhammad", "kharkiv charkow"):
        assert is_same_name(*names.split())
    for names in ("london linden", "leeds lodz", "bern brno", "john jane", "martin merton"):
        assert not is_same_name(*names.split())
    assert not is_same_name("iran", "iraq")
    assert not is_same_name("austria", "australia")


def test_what_only_one_side_mentions_is_no_difference():
    facts = read_facts(["Ann won in 1912.", "She won.", "Ann did not win in 1912."])
    assert compare_facts(facts[0], facts[1]) == ()
    assert compare_facts(facts[0], facts[2]) == (NEGATION,)
    assert compare_facts(facts[2], facts[0]) == (NEGATION,)
