"""Public facts: what they change, that plans commit to them, and that statements say which they were."""

import dataclasses

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.curator.public_items import item_prior
from hushrec.data.people import People
from hushrec.data.split import holdout
from hushrec.documents.sentences import Assumes
from hushrec.errors import ChargeUnpublished, ConfigError, DomainError, ReleaseError
from hushrec.models import MODELS, class_of
from support.packed import packed
from support.stopped import stopped

N = 300
GENRES = {"genres": [("Drama|War", "Comedy", "Horror|Drama")[item % 3] for item in range(N)]}
BUDGET = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")


def world(
    seed: int,
    features: dict[str, list[str]] | None = None,
    *,
    people: int = 400,
    unrated: int = 30,
    roster: bool = False,
) -> People:
    """People who like one genre by a star more than the next; the last items have no rating."""
    rng = np.random.default_rng(seed)
    rated = [(f"u{u}", i) for u in range(people) for i in rng.choice(N - unrated, 20, replace=False)]
    stars = [int(np.clip(round(4 - item % 3 + rng.normal(0, 0.5)), 1, 5)) for _, item in rated]
    users = [f"u{u}" for u in range(people)] if roster else None
    domain = hr.Domain(range(N), scale=(1, 5, 1), max_users=1000, features=features, users=users)
    columns = {"user": [user for user, _ in rated], "item": [str(item) for _, item in rated], "rating": stars}
    return hr.load(pl.DataFrame(columns), domain)


def clicks(seed: int, features: dict[str, list[str]] | None = None, *, people: int) -> hr.People:
    """People with twenty items each, of which about three in four are of the one genre that they like."""
    rng = np.random.default_rng(seed)
    users, items = [], []
    for user in range(people):
        weights = np.where(np.arange(N) % 3 == user % 3, 6.0, 1.0)
        items += rng.choice(N, 20, replace=False, p=weights / weights.sum()).tolist()
        users += [f"u{user}"] * 20
    domain = hr.Domain(range(N), max_users=1000, features=features)
    return hr.load(pl.DataFrame({"user": users, "item": [str(item) for item in items]}), domain)


def fitted(ratings: People, **more) -> hr.Release:
    return hr.testing.fit(ratings, hr.GlobalEffects(), BUDGET, entropy=hr.testing.Seeded(1), **more)


def told(release: hr.Release) -> float:
    """Correlation of the effects of items without any rating with those that the world would give them."""
    return float(np.corrcoef(release.tensors["item_effects"][-30:], -(np.arange(N) % 3)[-30:])[0, 1])


def test_items_that_nobody_rated_are_predicted_from_their_features():
    assert told(fitted(world(0, GENRES))) > 0.95
    assert told(fitted(world(0))) < 0.5


def test_a_prior_predicts_what_these_people_did_not_rate():
    """A fit of few people whose ratings are public: their release says more than the noise hides."""
    public = hr.baseline(world(1, people=200, unrated=0), hr.GlobalEffects())
    assert told(fitted(world(0), prior=public)) > 0.9


def test_a_plan_commits_to_what_is_known_and_says_it():
    domain, other = world(0).domain, world(0, GENRES).domain
    assert domain == other
    public = hr.baseline(world(1, people=50), hr.GlobalEffects())
    plans = [
        hr.plan(domain, hr.GlobalEffects(), BUDGET),
        hr.plan(other, hr.GlobalEffects(), BUDGET),
        hr.plan(domain, hr.GlobalEffects(), BUDGET, public),
        hr.plan(other, hr.GlobalEffects(), BUDGET, public),
    ]
    assert len({plan.key("ledger") for plan in plans}) == 4
    genres = Assumes.catalogue_says(names="genres")
    assert [len(plan.beforehand) for plan in plans] == [0, 1, 1, 2]
    assert plans[1].beforehand == (genres,)
    assert plans[1].facts["beforehand"] == [genres.to_json()]
    assert f"Known beforehand: {genres}." in str(plans[1])
    assert "Known beforehand" not in str(plans[0])
    assert len({plan.epsilon for plan in plans}) == 1


def test_a_stopped_fit_goes_on_with_its_own_prior_alone(tmp_path):
    total = BUDGET.model_copy(update={"epsilon": 2.0})
    ledger = hr.Ledger.create(tmp_path / "ledger.db", total, max_releases=2)
    ratings, public = world(0), hr.baseline(world(1, people=50), hr.GlobalEffects())

    def call(prior=None):
        return hr.fit(ratings, hr.GlobalEffects(), "auto", ledger=ledger, prior=prior)

    with stopped():
        call(public)
    with pytest.raises(ChargeUnpublished):
        call()
    assert call(public).statement.ledger["release_index"] == 0


@pytest.mark.parametrize(
    ("model", "made", "store"),
    [
        (hr.GlobalEffects(), world, "memory"),
        (hr.GlobalEffects(), world, "blocks"),
        (hr.PrivateEASE(rank=4), clicks, "memory"),
    ],
)
def test_a_baseline_of_the_same_people_is_no_public_fact(model, made, store, tmp_path):
    """Without noise it tells every rating, at whatever ε the next release is charged."""
    people = made(0, people=60)
    others = made(1, people=60)
    if store == "blocks":
        people = packed(people, tmp_path / "people")
    shown = hr.Release.from_bytes(hr.baseline(people, model).to_bytes())
    through = hr.baseline(others, model, prior=shown)  # which holds what the first one tells
    ledger = hr.Ledger.create(tmp_path / "ledger.db", BUDGET)
    for prior in (shown, through):
        with pytest.raises(ConfigError, match=r"baseline of these same people.*Nothing was charged"):
            hr.fit(people, model, BUDGET, ledger=ledger, prior=prior)
        with pytest.raises(ConfigError, match="baseline of these same people"):
            hr.testing.fit(people, model, BUDGET, entropy=hr.testing.Seeded(1), prior=prior)
    assert not ledger.state().charges
    assert hr.fit(people, model, BUDGET, ledger=ledger, prior=hr.baseline(others, model)).statement.private


def test_a_private_release_of_the_same_people_is_a_prior(tmp_path):
    people, total = world(0, people=60), BUDGET.model_copy(update={"epsilon": 3.0})
    ledger = hr.Ledger.create(tmp_path / "ledger.db", total, max_releases=2)
    first = hr.fit(people, hr.GlobalEffects(), BUDGET, ledger=ledger)
    assert not first.statement.people
    assert hr.fit(people, hr.GlobalEffects(), BUDGET, ledger=ledger, prior=first).statement.private


def test_a_seeded_release_and_one_of_a_ledger_in_memory_are_no_public_facts():
    people, others = world(0, people=60), world(1, people=60)
    for prior in (
        fitted(others),
        hr.fit(others, hr.GlobalEffects(), BUDGET, ledger=hr.Ledger.ephemeral(BUDGET)),
    ):
        with pytest.raises(ConfigError, match="promises nothing"):
            fitted(people, prior=prior)


def test_models_without_use_for_a_prior_refuse_one_and_name_those_that_have():
    public = hr.baseline(world(1, people=50), hr.GlobalEffects())
    with pytest.raises(ConfigError, match=r"MatrixFactorization has no use for a prior.*GlobalEffects"):
        hr.baseline(world(0), hr.MatrixFactorization(rank=2), prior=public)


@pytest.mark.parametrize("name", [name for name in MODELS if class_of(name).informed])
@pytest.mark.full
def test_every_model_that_says_so_uses_what_is_known(name):
    """With features its baseline is another one."""
    kind = class_of(name)
    if kind.feedback == "interactions":
        tensor, pair = "item_factors", [clicks(0, features, people=40) for features in (None, GENRES)]
    else:
        pair = [world(0, features, people=40, roster=True) for features in (None, GENRES)]
        tensor = "item_effects"
    plain, informed = (hr.baseline(given, kind()).tensors[tensor] for given in pair)
    assert not np.array_equal(plain, informed)


def test_a_model_without_use_for_features_commits_to_none():
    assert item_prior(hr.MatrixFactorization(), world(0, GENRES).domain).digest == ""


def part_of(ratings: People, people: slice) -> People:
    """The ratings of some of the people."""
    start, stop, _ = people.indices(ratings.n_users)
    first, last = ratings.indptr[[start, stop]]
    pointers = ratings.indptr[start : stop + 1] - first
    given = slice(first, last)
    return People(
        ratings.domain, ratings.users[people], pointers, ratings.items[given], ratings.values[given]
    )


def crowd() -> People:
    """Generated people, of whom the first 500 made their ratings public."""
    made = hr.synthetic.netflix_like(2000, 200, 60_000, 3)
    hints = {"expected_users": 2000, "expected_records": 50_000}
    return dataclasses.replace(made, domain=made.domain.model_copy(update=hints))


@pytest.mark.full
def test_factors_that_start_at_public_ones_end_nearer():
    """The error falls by more than a hundredth, which is ten times what another seed changes."""
    everybody = crowd()
    public = hr.baseline(part_of(everybody, slice(0, 500)), hr.PosteriorMF(rank=3))
    train, test = holdout(part_of(everybody, slice(500, 2000)), 0.1, seed=0)
    budget, model = BUDGET.model_copy(update={"epsilon": 8.0}), hr.PosteriorMF(rank=3, epochs=32)
    informed, alone = (
        hr.evaluate(
            hr.testing.fit(train, model, budget, entropy=hr.testing.Seeded(0), prior=prior),
            train=train,
            test=test,
        )["rmse"]
        for prior in (public, None)
    )
    assert informed < alone - 0.01


# -- items that come after a fit ----------------------------------------------------------------------------

CATALOGUE = {
    "genres": [("Drama|War", "Comedy", "Horror|Drama")[item % 3] for item in range(N)],
    "year": [str(1950 + item % 60) for item in range(N)],
}


@pytest.fixture(scope="module")
def release() -> hr.Release:
    made = hr.testing.fit(
        clicks(1, CATALOGUE, people=1000),
        hr.PrivateEASE(),
        hr.Budget(epsilon=8.0, delta=1e-6, unit="user", adjacency="add-remove"),
        entropy=hr.testing.Seeded(1),
    )
    return hr.Release.from_bytes(made.to_bytes())  # whose features are in another order


def test_new_items_go_to_who_likes_their_genre(release: hr.Release) -> None:
    new = ["war", "comedy", "horror"]
    features = {"genres": ["War|Drama", "Comedy", "Horror"], "year": ["1980", "1980", "1980"]}
    longer, unknown = hr.add_items(release, new, features=features)
    assert unknown == {}
    client = hr.Client(hr.Release.from_bytes(longer.to_bytes()))
    for kind, item in enumerate(new):
        own = {str(at) for at in range(kind, 60, 3)}  # in no order
        assert client.recommend(own, 1, allowed=new)[0].item_id == item
        raising = next(row for row in client.reasons(own, item, 5) if row.contribution > 0)
        assert raising.feature == "genres"
        assert raising.value in features["genres"][kind]
        assert set(raising.items) == own
        liking = [row.item_id for row in client.recommend([item], 40)]
        assert np.mean([name in new or int(name) % 3 == kind for name in liking]) > 0.7


def test_the_release_keeps_its_promise_and_says_what_was_added(release: hr.Release) -> None:
    longer, _ = hr.add_items(release, ["new"], features={"genres": ["War"]})
    longer, _ = hr.add_items(longer, ["newer", "newest"], titles=["Newer (1999)", "Newest"])
    assert longer.statement == release.statement
    assert longer.items == (*release.items, "new", "newer", "newest")
    assert longer.features["genres"][-3:] == ("War", "", "")
    assert longer.titles[-3:] == ("", "Newer (1999)", "Newest")
    assert longer.taste == f"{release.taste} 3 items came after the fit: features alone place them in lists."
    for name in release.tensors:
        kept = longer.tensors[name][: len(release.tensors[name])]
        np.testing.assert_array_equal(kept, release.tensors[name], strict=True)
    assert hr.Client(longer).recommend(["1", "4"]) != []


def test_unknown_values_are_counted_and_numbers_count_as_the_nearest(release: hr.Release) -> None:
    texts = ["War|Comdey", "Comdey", "", "War"]
    years = ["2199", "1993.7", "soon", "1994"]
    longer, unknown = hr.add_items(release, [*"abcd"], features={"genres": texts, "year": years})
    assert unknown == {"genres: Comdey": 2, "year: soon": 1}
    starts, columns = longer.tensors["value_starts"], longer.tensors["value_columns"]

    def values(item: str) -> list[tuple[str, str]]:
        at = longer.items.index(item)
        return [longer.values[column] for column in columns[starts[at] : starts[at + 1]]]

    assert values("a") == [("genres", "War"), *(v for v in values("59") if v[0] == "year")]
    assert values("b") == [v for v in values("44") if v[0] == "year"]
    assert values("d") == [("genres", "War"), *(v for v in values("44") if v[0] == "year")]
    assert values("c") == []
    assert values("44")[-1] == values("44")[-2], "of two tables one value is shown"
    average = np.exp(release.constants["count_intercept"])
    assert longer.tensors["item_scores"][longer.items.index("c")] == pytest.approx(average, rel=1e-5)


def test_what_cannot_be_added_is_refused(release: hr.Release) -> None:
    with pytest.raises(ReleaseError, match="'1' is in the release already, as are 2 of the 3 new items"):
        hr.add_items(release, ["1", "2", "new"])
    with pytest.raises(ReleaseError, match="has no feature 'genre'; it has genres, year"):
        hr.add_items(release, ["new"], features={"genre": ["War"]})
    with pytest.raises(DomainError):
        hr.add_items(release, ["new", "new"])
    bare = hr.baseline(clicks(1, people=1000), hr.PrivateEASE())
    assert bare.kind == "linear items"
    with pytest.raises(ReleaseError, match="fit PrivateEASE on a domain with features"):
        hr.add_items(bare, ["new"])


def test_titles_have_years_too() -> None:
    """Without a feature named year, the year in the title places a new item."""
    domain = hr.Domain(
        range(N), max_users=1000, titles=[f"Film {item} ({1950 + item % 3 * 20})" for item in range(N)]
    )
    train = dataclasses.replace(clicks(1, people=1000), domain=domain)
    longer, unknown = hr.add_items(hr.baseline(train, hr.PrivateEASE()), ["new"], titles=["New (1969)"])
    assert unknown == {}
    assert {value for value in longer.values if value[1] == "1970"} == {("year in the title", "1970")}
    own = [str(at) for at in range(1, 60, 3)]
    assert "new" in {row.item_id for row in hr.Client(longer).recommend(own, 90)}


def test_no_identity_hangs_on_an_order_that_means_nothing():
    """A set is written out in another order in each process: a plan of it must be the same plan."""
    years = [str(1900 + item % 90) for item in range(N)]
    one = {"year": years, **GENRES}
    other = {"genres": ["|".join(reversed(text.split("|"))) for text in GENRES["genres"]], "year": years}
    domains = [hr.Domain(range(N), max_users=1000, features=features) for features in (one, other)]
    names = [query.name for query in hr.PrivateEASE().queries(domains[0], BUDGET)]
    splits = ({name: 1.0 + len(name) for name in order} for order in (names, reversed(names)))
    plans = [
        hr.plan(domain, hr.PrivateEASE(split=split), BUDGET)
        for domain, split in zip(domains, splits, strict=True)
    ]
    assert plans[0].beforehand_digest == plans[1].beforehand_digest != ""
    assert plans[0].key("ledger") == plans[1].key("ledger")
