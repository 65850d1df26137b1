import json

import polars as pl
import pytest

import hushrec as hr
from hushrec.data.split import load_split
from hushrec.evaluation.protocol import references

BUDGET = "--epsilon 1 --delta 1e-6 --unit user --adjacency add-remove"
PARTS = "--train train.csv --test test.csv --domain domain.json"


def parts(domain):
    return {name: hr.load(f"{name}.csv", hr.Domain.open(domain)) for name in ("train", "test")}


def test_errors_are_the_librarys_and_flagged_beside_what_they_should_beat(release, hushrec):
    shown = hushrec(f"evaluate films.safetensors {PARTS}").out
    found = hr.evaluate(hr.Release.open(release), **parts("domain.json"))
    assert shown.startswith("NOT PRIVATE, not for publication")
    beside = references(found, **parts("domain.json"))
    assert [*beside] == ["item average", "global average"]
    for scores in (found.scores, *beside.values()):
        assert all(str(scores[name]) in shown for name in ("rmse", "mae"))


def test_at_home_listed_people_fold_in(listing, hushrec):
    errors = []
    for option, fold_in in (("", False), ("--fold-in", True)):
        shown = hushrec(f"evaluate people.safetensors {PARTS} {option}").out
        found = hr.evaluate(hr.Release.open(listing), **parts("domain.json"), fold_in=fold_in)
        errors.append(str(found.scores["rmse"]))
        assert errors[-1] in shown
    assert errors[0] != errors[1]


def test_a_release_of_interactions_is_shown_beside_popularity(ranking, hushrec):
    hushrec("domain --items catalogue.csv --interactions --max-users 200 -o clicks.json")
    clicks, line = parts("clicks.json"), PARTS.replace("domain.json", "clicks.json")
    shown = hushrec(f"evaluate plain.safetensors {line} --metric recall@5 --metric coverage@5").out
    found = hr.evaluate(hr.Release.open("plain.safetensors"), **clicks, metrics=("recall@5", "coverage@5"))
    popular = hr.evaluate(hr.baseline(clicks["train"], hr.Popularity()), **clicks, metrics=["recall@5"])
    for score in (*found.scores.values(), popular.scores["recall@5"]):
        assert str(score) in shown
    assert f"{found.n_ranked} people; {found.n_left_out} have nothing to be found" in shown
    defaults = hushrec(f"evaluate plain.safetensors {line}").out
    assert all(name in defaults for name in ("recall@20", "recall@50", "ndcg@100"))


def test_the_scores_are_one_object(release, hushrec):
    more = "--likes 4 --metric recall@5 --metric rmse --metric coverage@5"
    facts = json.loads(hushrec(f"evaluate films.safetensors {PARTS} {more} --json").out)
    names = ["recall@5", "rmse", "coverage@5"]
    found = hr.evaluate(hr.Release.open(release), **parts("domain.json"), metrics=names, likes=4)
    assert facts["warning"].startswith("NOT PRIVATE")
    ours = {of["metric"]: of for of in facts["scores"] if of["name"] == found.model}
    assert {name: of["value"] for name, of in ours.items()} == dict(found)
    assert ours["rmse"]["error"] == found.scores["rmse"].error
    assert ours["coverage@5"]["error"] is None
    assert {of["name"] for of in facts["scores"]} >= {"popularity", "item average", "global average"}
    counts = found.n_users, found.n_held_out, found.n_ranked, found.n_left_out
    assert tuple(facts[name] for name in ("n_users", "n_held_out", "n_ranked", "n_left_out")) == counts


@pytest.mark.parametrize("where", ["last", "last-fifth", "1970-01-02"])
def test_a_split_by_time_fits_to_what_came_before_alone(where, here, hushrec):
    hushrec("domain --items catalogue.csv --scale 1 5 1 --likes 4 --max-users 200 -o likes.json")
    rated = pl.read_csv("train.csv").with_row_index("timestamp")
    rated.with_columns(pl.col("timestamp") * 7919 % 172_800).write_csv("timed.csv")
    train, test = load_split("timed.csv", domain := hr.Domain.open("likes.json"), where)
    spent = hr.Budget(epsilon=1, delta=1e-6, unit="user", adjacency="add-remove")
    made = hr.testing.fit(train, hr.Popularity(), spent, entropy=hr.testing.Seeded(0))
    found = hr.evaluate(made, train=train, test=test, metrics=["recall@5"])
    options = f"--domain likes.json --split {where} --metric recall@5 {BUDGET}"
    shown = hushrec(f"evaluate timed.csv {options} --model popularity")
    assert shown.out.startswith("NOT PRIVATE, not for publication")
    assert shown.err.startswith("Confidential, for the curator only")
    beside = references(found, train=train, test=test)["popularity"]["recall@5"]
    assert f"{found.scores['recall@5']}\n" in shown.out
    assert f"{beside}\n" in shown.out
    facts = json.loads(hushrec(f"evaluate timed.csv {options} --model popularity --json").out)
    assert (facts["split"], facts["budget"]["epsilon"], facts["n_held_out"]) == (where, 1, found.n_held_out)
    assert domain.digest == train.domain.digest
    assert not list(here.glob("*.db"))


def test_a_split_and_a_release_do_not_go_together(release, refused):
    """The release may have been fitted to what the split holds out."""
    split = f"--domain domain.json --split last {BUDGET}"
    assert "may have been fitted to what a split holds out" in refused(f"evaluate {release} {split}")
    assert "leave out --train, --test and" in refused(f"evaluate train.csv {split} {PARTS[:17]}")
    assert "give --epsilon, --delta" in refused("evaluate train.csv --domain domain.json --split last")
    assert "give one release with --train and --test" in refused(f"evaluate {release} {PARTS} {BUDGET}")
    assert "these ratings have none: name their column" in refused(f"evaluate train.csv {split}")
