import hashlib
import json
import re

import pytest

import hushrec as hr
from hushrec.evaluation import baselines
from hushrec.evaluation.rankings import rank

PARTS = "--train train.csv --test test.csv --domain domain.json"


def values(shown, name):
    """Cells of the first line that begins with a name."""
    line = next(line for line in shown.splitlines() if line.startswith(name))
    return re.split(r"\s{2,}", line.strip())[1:]


def test_errors_are_the_librarys_and_flagged(release, hushrec):
    shown = hushrec(f"evaluate films.safetensors {PARTS}").out
    domain = hr.Domain.open("domain.json")
    expected = hr.evaluate(
        hr.Release.open(release), train=hr.load("train.csv", domain), test=hr.load("test.csv", domain)
    )
    assert shown.startswith("NOT PRIVATE, not for publication")
    assert values(shown, "films.safetensors")[:2] == [str(expected.scores[name]) for name in ("rmse", "mae")]
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


def test_at_home_listed_people_fold_in(listing, hushrec):
    domain = hr.Domain.open("domain.json")
    parts = {"train": hr.load("train.csv", domain), "test": hr.load("test.csv", domain)}
    errors = []
    for option, fold_in in (("", False), ("--fold-in", True)):
        shown = hushrec(f"evaluate people.safetensors {PARTS} {option}").out
        expected = hr.evaluate(hr.Release.open(listing), **parts, fold_in=fold_in)
        errors.append(values(shown, "people.safetensors")[0])
        assert errors[-1] == str(expected.scores["rmse"])
    assert errors[0] != errors[1]


# -- rankings ---------------------------------------------------------------------------------------------


@pytest.fixture
def clicks(ranking, hushrec):
    """The parts as interactions: a domain without a scale."""
    hushrec("domain --items catalogue.csv --interactions --max-users 200 -o clicks.json")
    domain = hr.Domain.open("clicks.json")
    return {name: hr.load(f"{name}.csv", domain) for name in ("train", "test")}


CLICKS = PARTS.replace("domain.json", "clicks.json")


def test_a_release_of_interactions_is_shown_beside_popularity(clicks, hushrec):
    shown = hushrec(f"evaluate plain.safetensors {CLICKS} --metric recall@5 --metric coverage@5").out
    assert shown.startswith("NOT PRIVATE, not for publication")
    release = hr.Release.open("plain.safetensors")
    expected = hr.evaluate(release, **clicks, metrics=("recall@5", "coverage@5"))
    assert values(shown, "plain.safetensors") == [str(score) for score in expected.scores.values()]
    lists = rank(baselines.popularity(clicks["train"]), **clicks, n=5)
    assert len(values(shown, "popularity")) == 2
    popular = hr.evaluate(hr.baseline(clicks["train"], hr.Popularity()), **clicks, metrics=["recall@5"])
    assert values(shown, "popularity")[0] == str(popular.scores["recall@5"])
    assert (
        f"means over {len(lists.users)} people who have something to be found; {lists.n_left_out} " in shown
    )
    defaults = hushrec(f"evaluate plain.safetensors {CLICKS}").out
    assert all(name in defaults for name in ("recall@20", "recall@50", "ndcg@100"))


def test_rankings_of_ratings_and_their_differences(release, ranking, hushrec):
    """``--against`` itself has no difference; each metric is compared but coverage, which has no interval."""
    more = "--likes 4 --metric ndcg@5 --metric rmse --metric coverage@5"
    shown = hushrec(f"evaluate films.safetensors {PARTS} --against films.safetensors {more}").out
    for name in ("ndcg@5", "RMSE"):
        assert f"{name} of films.safetensors minus that of films.safetensors: +0.0000 (95 %: +0.0000" in shown
    assert "coverage@5 of" not in shown
    assert [len(values(shown, name)) for name in ("popularity", "item average")] == [2, 1]
    domain = hr.Domain.open("domain.json")
    parts = {name: hr.load(f"{name}.csv", domain) for name in ("train", "test")}
    opened = hr.Release.open(release)
    expected = hr.evaluate(opened, **parts, metrics=["ndcg@5"], likes=4).scores["ndcg@5"]
    assert values(shown, "films.safetensors")[0] == str(expected)


def test_the_scores_are_one_object(release, hushrec):
    more = "--likes 4 --metric recall@5 --metric rmse --metric coverage@5"
    shown = hushrec(f"evaluate films.safetensors {PARTS} --against films.safetensors {more} --json").out
    facts = json.loads(shown)
    domain = hr.Domain.open("domain.json")
    expected = hr.evaluate(
        hr.Release.open(release),
        train=hr.load("train.csv", domain),
        test=hr.load("test.csv", domain),
        metrics=["recall@5", "rmse", "coverage@5"],
        likes=4,
    )
    digest = hashlib.sha256(release.read_bytes()).hexdigest()
    assert facts["releases"] == [{"name": "films.safetensors", "sha256": digest}] * 2
    assert facts["warning"].startswith("NOT PRIVATE")
    ours = {of["metric"]: of for of in facts["scores"] if of["name"] == "films.safetensors"}
    assert [*ours] == ["recall@5", "rmse", "coverage@5"]
    for name, score in expected.scores.items():
        assert ours[name]["value"] == score.value
    assert ours["rmse"]["error"] == expected.scores["rmse"].error
    assert ours["coverage@5"]["error"] is None
    assert {of["name"] for of in facts["scores"]} >= {"popularity", "item average", "global average"}
    assert [of["metric"] for of in facts["differences"]] == ["recall@5", "rmse"]
    assert facts["differences"][0]["low"] == facts["differences"][0]["high"] == 0
    counts = expected.n_users, expected.n_held_out, expected.n_ranked, expected.n_left_out
    assert tuple(facts[name] for name in ("n_users", "n_held_out", "n_ranked", "n_left_out")) == counts
