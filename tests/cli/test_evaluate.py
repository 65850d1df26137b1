import pytest

import hushrec as hr

PARTS = "--train train.csv --test test.csv --domain domain.json"


def test_errors_are_the_librarys_and_flagged(release, hushrec):
    shown = hushrec(f"evaluate films.safetensors {PARTS}").out
    domain = hr.Domain.open("domain.json")
    expected = hr.evaluate(
        hr.Release.open(release), train=hr.load("train.csv", domain), test=hr.load("test.csv", domain)
    )
    assert shown.startswith("NOT PRIVATE, not for publication")
    line = next(line for line in shown.splitlines() if line.startswith("films.safetensors"))
    assert line.split()[1:3] == [f"{expected['rmse']:.4f}", f"{expected['mae']:.4f}"]
    assert "item average" in shown
    assert "global average" in shown


def test_against_another_release(release, hushrec, budget):
    more = "--ledger ledger.db -o other.safetensors --model global-effects"
    hushrec("ledger extend ledger.db --epsilon 2 --max-releases 2")
    hushrec(f"fit train.csv --domain domain.json {budget} {more}")
    shown = hushrec(f"evaluate films.safetensors --against other.safetensors {PARTS}").out
    assert "RMSE of films.safetensors minus that of other.safetensors: " in shown
    same = hushrec(f"evaluate films.safetensors --against films.safetensors {PARTS}").out
    assert "+0.0000 (95 %: +0.0000 to +0.0000)" in same


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (PARTS.replace("test.csv", "train.csv"), "split the ratings first"),
        (PARTS.replace("domain.json", "other.json"), "release's domain"),
        (PARTS.replace("train.csv", "missing.csv"), "does not exist"),
    ],
)
def test_refusals(release, hushrec, refused, parts, message):
    hushrec("domain --items catalogue.csv --scale 0 5 1 --max-users 200 -o other.json")
    assert message in refused(f"evaluate films.safetensors {parts}")


def test_at_home_listed_people_fold_in(listing, hushrec):
    domain = hr.Domain.open("domain.json")
    parts = {"train": hr.load("train.csv", domain), "test": hr.load("test.csv", domain)}
    errors = []
    for option, fold_in in (("", False), ("--fold-in", True)):
        shown = hushrec(f"evaluate people.safetensors {PARTS} {option}").out
        expected = hr.evaluate(hr.Release.open(listing), **parts, fold_in=fold_in)
        line = next(line for line in shown.splitlines() if line.startswith("people.safetensors"))
        errors.append(line.split()[1])
        assert errors[-1] == f"{expected['rmse']:.4f}"
    assert errors[0] != errors[1]
