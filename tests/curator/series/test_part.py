"""A series of releases: charged once, measured once each, stopped wherever its bound would be in doubt."""

import dataclasses
import json
import shutil

import numpy as np
import polars as pl
import pytest
from safetensors import numpy as tensors

import hushrec as hr
from hushrec.curator import seeded
from hushrec.curator.fit import fit
from hushrec.curator.series import part as module
from hushrec.data.dropped import Dropped
from hushrec.errors import (
    BudgetError,
    BudgetExceeded,
    BudgetUnsupported,
    CheckpointError,
    ConfigError,
    DataError,
    GrantError,
    LedgerError,
    LedgerStale,
    RecordsDropped,
)
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.sums.series import WEIGHT_BITS, DatedSums
from support.series import DOMAIN, given

MODEL = hr.GlobalEffects()
RATINGS = given({user: range(user % 7, 40, 3) for user in range(30)})


@pytest.fixture
def ledger(tmp_path, budget):
    return Ledger.create(tmp_path / "ledger.db", budget(4.0, "user"), 4)


@pytest.fixture
def year(tmp_path):
    return tmp_path / "year"


def test_a_series_is_charged_once_and_says_so(ledger, year):
    made = [fit(RATINGS, MODEL, series=year, ledger=ledger) for _ in range(4)]
    assert ledger.spent.epsilon(1e-6) == pytest.approx(4, abs=2e-3)
    for number, release in enumerate(made):
        told = release.statement.ledger
        assert (told["part"], told["parts"], told["release_index"]) == (number, 4, number)
        assert release.statement.private
        assert release.statement.epsilon == pytest.approx(4, abs=2e-3)
        assert told["spent_epsilon"] == pytest.approx(4, abs=2e-3)
        said = f"release {number + 1} of a series of 4: the ε above is that of all of them together"
        assert said in str(release.statement)
        assert "was never put back from an older copy" in str(release.statement)
        assert hr.Release.from_bytes(release.to_bytes()).statement == release.statement
    assert len({release.to_bytes() for release in made}) == 4
    assert Ledger.open(ledger.path).spent == ledger.spent
    with pytest.raises(BudgetError, match="all 4 releases of this series are made"):
        fit(RATINGS, MODEL, series=year, ledger=ledger)
    assert ledger.releases_left == 0


def test_a_series_takes_what_the_ledger_has_left(ledger, year, budget):
    hr.fit(RATINGS, MODEL, budget(1.0, "user"), ledger=ledger)
    release = fit(RATINGS, MODEL, series=year, ledger=ledger)
    assert release.statement.ledger["parts"] == 3
    assert 3 < release.statement.epsilon < 4
    assert ledger.spent.epsilon(1e-6) == pytest.approx(4, abs=2e-3)
    with pytest.raises(BudgetExceeded):
        hr.fit(RATINGS, MODEL, budget(0.1, "user"), ledger=ledger, accept="share")
    assert not fit(RATINGS, MODEL, series=year, ledger=ledger).repeated


def test_a_release_that_was_lost_is_returned(ledger, year):
    first, second = (fit(RATINGS, MODEL, series=year, ledger=ledger) for _ in range(2))
    head = ledger.head
    again = fit(RATINGS, MODEL, series=year, ledger=ledger, release_index=0)
    assert again.repeated
    assert again.to_bytes() == first.to_bytes() != second.to_bytes()
    assert ledger.head == head
    with pytest.raises(LedgerError, match="release 2 of this ledger is not one of this series"):
        fit(RATINGS, MODEL, series=year, ledger=ledger, release_index=2)
    last = [fit(RATINGS, MODEL, series=year, ledger=ledger) for _ in range(2)][-1]
    again = fit(RATINGS, MODEL, series=year, ledger=ledger, release_index=3)  # also when all are made
    assert again.to_bytes() == last.to_bytes()


def test_users_and_items_join(ledger, year):
    fit(RATINGS, MODEL, series=year, ledger=ledger)
    grown = hr.Domain(["new", *reversed(DOMAIN.items)], scale=(1, 5, 1), max_users=100, max_per_user=500)
    more = given({user: range(user % 7, 40, 3) for user in range(60)}, grown)
    release = fit(more, MODEL, series=year, ledger=ledger)
    assert release.items[:2] == ("new", "i39")
    assert release.statement.ledger["part"] == 1
    for other in (
        hr.Domain(DOMAIN.items, scale=(0, 5, 1), max_users=100, max_per_user=500),
        hr.Domain(DOMAIN.items, scale=(1, 5, 1), max_users=200, max_per_user=500),
    ):
        with pytest.raises(ConfigError, match="a domain that differs in its items alone"):
            fit(given({1: [2]}, other), MODEL, series=year, ledger=ledger)
    with pytest.raises(ConfigError, match="another settings"):
        fit(RATINGS, hr.GlobalEffects(effects={"clip": 0.4}), series=year, ledger=ledger)


def test_deletions_take_effect_at_the_next_release(ledger, year, monkeypatch):
    """What the second release measures does not have the records that are gone."""
    seen, measure = [], DatedSums.measure

    def watched(self, dated):
        seen.append((dated.rows.n_users, dated.ages.tolist()))
        return measure(self, dated)

    monkeypatch.setattr(DatedSums, "measure", watched)
    fit(given({1: [0, 3], 2: [5]}), MODEL, series=year, ledger=ledger)
    fit(given({1: [3, 4]}), MODEL, series=year, ledger=ledger)
    assert seen == [(2, [0, 0, 0]), (1, [1, 0])]


def test_counts_of_interactions_repeat_too(ledger, year):
    clicks = hr.synthetic.interactions(users=200, items=20, interactions=1500, seed=1)
    for number in range(2):
        release = seeded.fit(
            clicks, hr.Popularity(), series=year, ledger=ledger, entropy=hr.testing.Seeded(number)
        )
    assert release.kind == "item scores"
    counts = np.bincount(clicks.items, minlength=20)
    assert np.corrcoef(release.tensors["item_scores"], counts)[0, 1] > 0.9


def test_likes_repeat_as_clicks_do(ledger, year):
    likes = DOMAIN.model_copy(update={"likes": 3.0})
    liked = given({user: range(user % 7, 40, 3) for user in range(30)}, likes)
    for _ in range(2):
        assert fit(liked, hr.Popularity(), series=year, ledger=ledger).kind == "item scores"


LIVES = {
    "stays": [[(item, 1 + 4 * (item % 2)) for item in range(40)]] * 4,
    "comes late and goes": [[], [(0, 5), (1, 1)], [], []],
    "goes and comes back": [[(item, 5) for item in range(30)], [], [(item, 5) for item in range(30)], []],
    "rates anew each time": [[(item, 5) for item in range(10 * part, 10 * part + 10)] for part in range(4)],
    "edits": [[(item, 1 if part % 2 else 5) for item in range(9)] for part in range(4)],
}


@pytest.mark.parametrize("life", LIVES)
def test_a_person_moves_all_that_is_published_by_no_more_than_was_charged(life, tmp_path, budget):
    """The same seeded noise with and without them: what all releases measured differs by what they add."""
    others = {user: range(user % 7, 40, 3) for user in range(1, 20)}
    kept = {}
    for joins in (False, True):
        folder, ledger = tmp_path / str(joins), Ledger.ephemeral(budget(4.0, "user"), 4)
        for part, own in enumerate(LIVES[life]):
            given_then = given(others | ({0: own} if joins and own else {}))
            seeded.fit(given_then, MODEL, series=folder, ledger=ledger, entropy=hr.testing.Seeded(part))
        files = [tensors.load_file(folder / f"measured-{part:04}.safetensors") for part in range(4)]
        kept[joins] = {name: np.array([file[name] for file in files]) for name in files[0]}
    moved = {name: float(np.linalg.norm(kept[True][name] - kept[False][name])) for name in kept[True]}
    for event in hr.plan_series(DOMAIN, MODEL, Ledger.ephemeral(budget(4.0, "user"), 4)).events:
        assert moved[event.name] <= event.sensitivity
    assert min(moved[name] for name in ("item sums", "item counts", "global count")) > 0


def test_of_a_user_no_more_counts_than_the_domain_says(ledger, year, monkeypatch):
    """More would still be within the bound, but not be what the domain and its statement say."""
    seen, measure = [], DatedSums.measure

    def watched(self, dated):
        seen.append(dated.rows.counts.tolist())
        return measure(self, dated)

    monkeypatch.setattr(DatedSums, "measure", watched)
    domain = hr.Domain(DOMAIN.items, scale=(1, 5, 1), max_users=100, max_per_user=6)
    for _ in range(2):
        fit(given({1: range(40), 2: [5]}, domain), MODEL, series=year, ledger=ledger)
    assert seen == [[6, 1], [6, 1]]


@pytest.mark.parametrize("cap", [2.0**29, 2.0**31, 1e300])
def test_a_contribution_cap_that_leaves_64_bits_is_refused_where_it_is_declared(cap):
    for declared in (
        lambda: hr.Popularity(contribution_cap=cap),
        lambda: hr.PrivateEASE(contribution_cap=cap),
        lambda: hr.GlobalEffects(effects={"contribution_cap": cap}),
        lambda: hr.CovarianceSVD(covariance={"contribution_cap": cap}),
    ):
        with pytest.raises(ConfigError, match="contribution_cap: Input should be less than 536870912"):
            declared()


def test_the_largest_contribution_cap_counts_everybody_in_full(ledger, year, monkeypatch):
    seen, measure = [], DatedSums.measure

    def watched(self, dated):
        seen.append(dated.weights.tolist())
        return measure(self, dated)

    monkeypatch.setattr(DatedSums, "measure", watched)
    model = hr.GlobalEffects(effects={"contribution_cap": 2.0**29 - 1})
    fit(given({1: range(40), 2: [5]}), model, series=year, ledger=ledger)
    assert seen == [[1 << WEIGHT_BITS] * 41]


def test_much_that_was_dropped_is_asked_about_at_every_release(ledger, year):
    table = RATINGS.to_polars()
    bad = hr.load(table.vstack(table[:200].with_columns(item_id=pl.lit("elsewhere"))), DOMAIN)
    for part in range(2):
        with pytest.raises(RecordsDropped, match="more than a tenth of the records were dropped"):
            fit(bad, MODEL, series=year, ledger=ledger)
        assert ledger.releases_left == 4 - part
        assert not list(year.glob(f"memory-{part:04}.parquet"))
        release = fit(bad, MODEL, series=year, ledger=ledger, accept="dropped")
        assert release.statement.ledger["part"] == part


# -- where the bound would be in doubt ---------------------------------------------------------------------


def stopped(monkeypatch, ledger, year, owner, at):
    """A call that is stopped where it reaches a function."""

    def stop(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, at, stop)
        with pytest.raises(KeyboardInterrupt):
            fit(RATINGS, MODEL, series=year, ledger=ledger)


def test_a_part_that_was_charged_is_never_measured_again(ledger, year, monkeypatch):
    fit(RATINGS, MODEL, series=year, ledger=ledger)
    stopped(monkeypatch, ledger, year, module, "running_sum")
    third = fit(RATINGS, MODEL, series=year, ledger=ledger)
    assert (third.statement.ledger["part"], third.statement.ledger["release_index"]) == (2, 1)
    assert ledger.spent.epsilon(1e-6) == pytest.approx(4, abs=2e-3)
    fit(RATINGS, MODEL, series=year, ledger=ledger)
    with pytest.raises(BudgetError, match="all 4 releases"):
        fit(RATINGS, MODEL, series=year, ledger=ledger)


def test_a_fit_that_stops_before_its_charge_loses_nothing(ledger, year, monkeypatch):
    for _ in range(2):
        stopped(monkeypatch, ledger, year, Ledger, "charge")
    assert fit(RATINGS, MODEL, series=year, ledger=ledger).statement.ledger["part"] == 0


def test_a_folder_that_is_lost_or_restored_stops_the_series(ledger, year, tmp_path):
    fit(RATINGS, MODEL, series=year, ledger=ledger)
    shutil.copytree(year, tmp_path / "copy")
    fit(RATINGS, MODEL, series=year, ledger=ledger)
    spent = ledger.spent
    with pytest.raises(CheckpointError, match=r"the ledger knows 2 releases of this series, the folder 1"):
        fit(RATINGS, MODEL, series=tmp_path / "copy", ledger=ledger)
    with pytest.raises(BudgetError):
        fit(RATINGS, MODEL, series=tmp_path / "new", ledger=ledger)
    assert ledger.spent == spent
    assert fit(RATINGS, MODEL, series=year, ledger=ledger).statement.ledger["part"] == 2


def test_a_restored_ledger_does_not_measure_a_part_again(ledger, year, tmp_path):
    """The folder knows better than a ledger that was put back from before its last charge."""
    fit(RATINGS, MODEL, series=year, ledger=ledger.path)
    shutil.copy(ledger.path, tmp_path / "backup")
    fit(RATINGS, MODEL, series=year, ledger=ledger.path)
    shutil.copy(ledger.path, tmp_path / "latest")
    shutil.copy(tmp_path / "backup", ledger.path)
    measured = (year / "measured-0001.safetensors").read_bytes()
    with pytest.raises(LedgerStale, match=r"the ledger knows 1 releases .* release 2 was measured already"):
        fit(RATINGS, MODEL, series=year, ledger=ledger.path)
    assert (year / "measured-0001.safetensors").read_bytes() == measured
    assert Ledger.open(ledger.path).releases_left == 3
    shutil.copy(tmp_path / "latest", ledger.path)
    assert fit(RATINGS, MODEL, series=year, ledger=ledger.path).statement.ledger["part"] == 2


@pytest.mark.postgres
def test_a_restored_database_does_not_measure_a_part_again(postgres, year, budget):
    """``pg_dump`` and back, or a standby that lacks the last charge."""
    name, copy = postgres.database(), postgres.database()
    ledger = Ledger.create(str(postgres.url(name)), budget(4.0, "user"), 4)
    fit(RATINGS, MODEL, series=year, ledger=ledger)
    postgres.psql(f"DROP DATABASE {copy}")
    postgres.psql(f"CREATE DATABASE {copy} TEMPLATE {name}")
    fit(RATINGS, MODEL, series=year, ledger=ledger)
    restored = Ledger.open(str(postgres.url(copy, query=f"ledger={ledger.name}")))
    with pytest.raises(LedgerStale, match="release 2 was measured already"):
        fit(RATINGS, MODEL, series=year, ledger=restored)
    assert restored.releases_left == 3
    assert fit(RATINGS, MODEL, series=year, ledger=ledger).statement.ledger["part"] == 2


def test_a_fit_that_is_killed_does_not_pass_on_another_memory(ledger, year, monkeypatch):
    """It remembers, and is stopped before the charge that would name what it remembers."""
    fit(RATINGS, MODEL, series=year, ledger=ledger)
    first = (year / "memory-0000.parquet").read_bytes()
    stopped(monkeypatch, ledger, year, Ledger, "charge")
    (year / "memory-0001.parquet").write_bytes(first)
    with pytest.raises(CheckpointError, match="release 1 of this series was measured with another copy"):
        fit(RATINGS, MODEL, series=year, ledger=ledger)


def test_two_folders_of_one_part_make_one_release(ledger, year, tmp_path, monkeypatch):
    """Both look before either is charged: the ledger's transaction decides."""
    fit(RATINGS, MODEL, series=year, ledger=ledger)
    shutil.copytree(year, tmp_path / "copy")
    charge = Ledger.charge

    def second(self, *arguments, **settings):
        monkeypatch.setattr(Ledger, "charge", charge)
        fit(RATINGS, MODEL, series=tmp_path / "copy", ledger=ledger)
        return charge(self, *arguments, **settings)

    monkeypatch.setattr(Ledger, "charge", second)
    with pytest.raises(GrantError, match="each is measured once"):
        fit(given({1: [0]}), MODEL, series=year, ledger=ledger)
    # The copy measured more than this folder remembers: who is missing here would count anew.
    with pytest.raises(CheckpointError, match="release 2 of this series was measured with another copy"):
        fit(RATINGS, MODEL, series=year, ledger=ledger)
    assert fit(RATINGS, MODEL, series=tmp_path / "copy", ledger=ledger).statement.ledger["part"] == 2


def test_seeded_noise_and_secret_noise_do_not_mix(ledger, year):
    assert fit(RATINGS, MODEL, series=year, ledger=ledger).statement.private
    with pytest.raises(GrantError, match="seeded in all of its releases or in none"):
        seeded.fit(RATINGS, MODEL, series=year, ledger=ledger, entropy=hr.testing.Seeded(1))


def test_after_a_seeded_release_none_of_the_series_is_private(ledger, year):
    assert not seeded.fit(
        RATINGS, MODEL, series=year, ledger=ledger, entropy=hr.testing.Seeded(1)
    ).statement.private
    assert not fit(RATINGS, MODEL, series=year, ledger=ledger).statement.private


def test_the_noise_of_two_releases_is_not_the_same(ledger, year):
    for _ in range(2):
        fit(RATINGS, MODEL, series=year, ledger=ledger)
    first, second = (
        tensors.load_file(year / f"measured-{part:04}.safetensors")["item counts"] for part in range(2)
    )
    assert json.loads((year / "series.json").read_text())["releases"] == 4
    assert np.std(second - first / 2) > 1


def test_another_ledger_is_refused(ledger, year, tmp_path, budget):
    fit(RATINGS, MODEL, series=year, ledger=ledger)
    (tmp_path / "elsewhere").mkdir()
    other = Ledger.create(tmp_path / "elsewhere" / "ledger.db", budget(4.0, "user"), 4)
    with pytest.raises(LedgerError, match="charged to another ledger"):
        fit(RATINGS, MODEL, series=year, ledger=other)


def test_another_series_may_follow_when_the_owner_allows_it(ledger, year, tmp_path, budget):
    fit(RATINGS, MODEL, series=year, ledger=ledger)
    with pytest.raises(BudgetError, match="what is left of the total is too little"):
        fit(RATINGS, MODEL, series=tmp_path / "second", ledger=ledger)
    ledger.extend(budget(8.0, "user"), 7)
    fit(RATINGS, MODEL, series=tmp_path / "third", ledger=ledger)
    first, other = (json.loads((tmp_path / name / "series.json").read_text()) for name in ("year", "third"))
    assert first["series"] != other["series"]
    assert fit(RATINGS, MODEL, series=year, ledger=ledger).statement.ledger["part"] == 1
    assert ledger.spent.epsilon(1e-6) == pytest.approx(8, abs=4e-3)


def test_a_first_release_that_was_refused_may_change_its_domain(ledger, year):
    nobody = RATINGS.select(RATINGS.items < 0)
    refused = dataclasses.replace(nobody, dropped=Dropped(item_id=9, records=9))
    with pytest.raises(RecordsDropped, match="no one has an item left"):
        fit(refused, MODEL, series=year, ledger=ledger)
    wider = hr.Domain(DOMAIN.items, scale=(1, 5, 1), max_users=200, max_per_user=500)
    assert fit(given({1: [2]}, wider), MODEL, series=year, ledger=ledger).statement.ledger["part"] == 0


def test_what_was_not_loaded_is_refused(ledger, year):
    with pytest.raises(DataError, match="load it first"):
        fit("ratings.csv", MODEL, series=year, ledger=ledger)
    assert not year.exists()


def test_people_who_ask_for_an_epsilon_of_their_own_are_not_given_that_of_all(ledger, year):
    asking = RATINGS.with_personal_epsilon(np.full(RATINGS.n_users, 0.5))
    classes = hr.Domain(
        DOMAIN.items, scale=(1, 5, 1), max_users=100, max_per_user=500, personal_epsilon={"strict": 0.5}
    )
    for ratings in (asking, dataclasses.replace(RATINGS, domain=classes)):
        with pytest.raises(BudgetUnsupported, match="same ε; drop the column personal_epsilon"):
            fit(ratings, MODEL, series=year, ledger=ledger)
    assert not ledger.entries()
