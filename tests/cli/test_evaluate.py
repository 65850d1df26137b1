import json

import hushrec as hr
from hushrec.evaluation.protocol import references

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
