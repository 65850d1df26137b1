"""What a prompt and a notebook show: a line that fits, a page that does nothing, and nothing private."""

from dataclasses import replace

import pytest

import hushrec as hr
from hushrec.data.synthetic import netflix_like
from hushrec.documents.sentences import Assumes
from hushrec.privacy.accounting.budget import Budget
from support.documents import piece

BUDGET = Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
EVIL = "<script>alert('1')</script>"


@pytest.fixture(scope="module")
def ratings():
    return netflix_like(200, 40, 3000, 5)


def test_nothing_is_told_of_private_rows(ratings):
    """The same line and page for any rows of a domain."""
    part = ratings.slice(0, 10)
    assert repr(part) == repr(ratings)
    assert part._repr_html_() == ratings._repr_html_()


def test_hostile_names_do_nothing(ratings, tmp_path):
    ledger = hr.Ledger.create(tmp_path / "ledger.db", BUDGET)
    release = hr.fit(ratings, hr.GlobalEffects(), BUDGET, ledger=ledger)
    measured = replace(release.statement.measurements[0], name=EVIL)
    assumed = Assumes.author(names=EVIL)
    statement = replace(release.statement, measurements=(measured,), assumes=(assumed, assumed))
    page = piece(replace(release, model=EVIL, statement=statement)._repr_html_())
    assert EVIL not in page
    assert page.count("&lt;script&gt;") >= 4
    domain = hr.Domain(["a"], scale=(1, 5, 1), max_users=9, personal_epsilon={EVIL: 1.0})
    assert EVIL not in piece(domain._repr_html_())
