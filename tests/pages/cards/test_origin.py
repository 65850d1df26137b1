"""Where a release comes from."""

import shlex
from dataclasses import replace

from hushrec.pages.cards.document import Facts, Lines, Text
from hushrec.pages.cards.origin import data, file, ledger
from hushrec.pages.cards.subject import Subject
from hushrec.release.signing.signature import Signature
from support.releases import release, statement
from support.statements import KINDS


def subject(**changes):
    return Subject.of(release(statement=statement(**changes)), "films.safetensors", "5a" * 32)


def facts(blocks):
    return dict(row for block in blocks if isinstance(block, Facts) for row in block.rows)


def texts(blocks):
    return " ".join(block.text for block in blocks if isinstance(block, Text))


def test_data_are_told_by_what_was_declared():
    told = facts(data(subject(**KINDS["declared"])))
    assert told["population"] == "Our subscribers"
    assert told["controller"] == "Films Ltd"
    assert told["catalogue"] == "4 items, declared as public"
    assert facts(data(subject()))["contact"] == "not declared"


def test_the_ledger_names_its_head_and_what_is_spent():
    blocks = ledger(subject(ledger=KINDS["declared"]["ledger"] | {"file": "a.db"}), "")
    assert facts(blocks) == {"ledger": "9f" * 16, "head": "ab" * 32}
    assert "spent with this release: ε = 1.25 of a total of 4" in texts(blocks)
    assert "odds change at most 54.6 times, over all releases together." in texts(blocks)
    assert "Not declared" not in texts(blocks)
    assert "Not checked for this card" in texts(blocks)


def test_a_checked_history_is_told_as_such():
    assert "Verified for this card: all holds" in texts(ledger(subject(), "all holds"))
    assert "Not checked" not in texts(ledger(subject(), "all holds"))


def test_what_is_missing_is_named():
    assert "Not declared: population, controller, contact." in texts(ledger(subject(), ""))
    assert "No ledger that is kept was charged" in texts(ledger(subject(ledger={}), ""))


def test_the_file_is_named_by_its_digest_and_signature():
    told = facts(file(subject(hushrec="0.1.0", settings="77" * 32)))
    assert told["SHA-256"] == "5a" * 32
    assert told["SHA-256 of the settings"] == "77" * 32
    assert told["made by"] == "hushrec 0.1.0"
    assert told["model"] == "Planted, settings rank=2, covariance.clip=None"
    assert told["signature"].startswith("unsigned: ")
    signed = replace(subject(), signature=Signature("verified", "ab" * 32, 7, None))
    told = facts(file(signed))["signature"]
    assert told == str(signed.signature).replace("a key of yours", "a key of whoever made this card")
    assert told.endswith(", checked against a key of whoever made this card")


def test_settings_of_any_length_are_one_line():
    made = Subject.of(release(config={"a": "x" * 10_000}))
    assert len(facts(file(made))["model"].encode()) <= 512


def test_the_name_of_a_file_is_one_word_of_a_command():
    for name, word in (("a; touch x #.safetensors", "a; touch x #.safetensors"), ("-c", "./-c")):
        made = replace(subject(), named=name)
        steps = next(block for block in file(made) if isinstance(block, Lines)).lines
        assert [shlex.split(step)[:2][-1] for step in steps[:1]] == [word]
        assert all(word in shlex.split(step) for step in steps)


def test_the_steps_verify_this_file():
    steps = next(block for block in file(subject()) if isinstance(block, Lines)).lines
    assert all("films.safetensors" in step for step in steps)
    assert any("--key" in step for step in steps)
    made = Subject("data set", "m", {}, 4, "scale", "", statement(), named="rows.parquet")
    assert not any("--key" in step for step in next(b for b in file(made) if isinstance(b, Lines)).lines)
