"""What a prompt and a notebook show: a line that fits, a page that does nothing, and nothing private."""

from dataclasses import replace
from html import escape

import pytest

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.data.synthetic import netflix_like
from hushrec.documents.words import Clause
from hushrec.models.mcsherry_mironov.covariance_svd import CovarianceSVD
from hushrec.privacy.accounting.budget import Budget
from support.documents import piece
from support.packed import packed

BUDGET = Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
LOCAL = Budget(epsilon=40.0, delta=0.0, unit="user", adjacency="replace")
WIDTH = 110
EVIL = "<script>alert('1')</script>"


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """One of each, by name."""
    folder = tmp_path_factory.mktemp("shown")
    ratings = netflix_like(200, 40, 3000, 5)
    train, test = holdout(ratings, 0.1, seed=0)
    ledger = hr.Ledger.create(folder / "ledger.db", BUDGET)
    release = hr.fit(train, CovarianceSVD(rank=3), BUDGET, ledger=ledger)
    data = hr.randomize(ratings, hr.RandomizedResponse(), LOCAL, ledger=hr.Ledger.ephemeral(LOCAL))
    return {
        "domain": ratings.domain,
        "budget": BUDGET,
        "plan": hr.plan(ratings.domain, CovarianceSVD(), BUDGET),
        "ledger": ledger,
        "release": release,
        "baseline": hr.baseline(train, CovarianceSVD(rank=3)),
        "statement": release.statement,
        "client": hr.Client(release),
        "evaluation": hr.evaluate(release, train=train, test=test),
        "data": data,
        "ratings": ratings,
        "blocks": packed(ratings, folder / "packed"),
    }


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("unprotected.seeded", "NOT PRIVATE"),
        ("convergence.sample", "CONDITIONAL ON CONVERGENCE"),
        ("author.foreign", "AUTHOR'S CLAIM"),
    ],
)
def test_a_caveat_comes_first(shown, name, first):
    named = {} if name == "unprotected.seeded" else {"names": f"{EVIL} " + "word " * 40}
    release = shown["release"]
    release = replace(release, statement=replace(release.statement, caveats=(Clause(name, named),)))
    assert f", {first}" in repr(release)
    assert len(repr(release)) <= WIDTH
    page = piece(release._repr_html_())
    assert page.index(escape(first)) < page.index("ε = 1 at δ")
    assert ("word word" in page) == bool(named)
    assert EVIL not in page


def test_nothing_is_told_of_private_rows(shown):
    """The same line and page for any rows of a domain."""
    whole = shown["ratings"]
    part = whole.slice(0, 10)
    assert repr(part) == repr(whole)
    assert part._repr_html_() == whole._repr_html_()


def test_hostile_names_do_nothing(shown):
    release = shown["release"]
    measured = replace(release.statement.measurements[0], name=EVIL)
    assumed = Clause("assumes.author", {"names": EVIL})
    statement = replace(release.statement, measurements=(measured,), assumes=(assumed, assumed))
    page = piece(replace(release, model=EVIL, statement=statement)._repr_html_())
    assert EVIL not in page
    assert page.count("&lt;script&gt;") >= 4
    domain = hr.Domain(["a"], scale=(1, 5, 1), max_users=9, personal_epsilon={EVIL: 1.0})
    assert EVIL not in piece(domain._repr_html_())
