"""Files of synthetic people, read and trained on by other libraries as any table is.

Metadata of such a file is JSON, which pyarrow shows. LensKit is in the environment of ``make
test-elsewhere``. ``lab/scoreboard/synthetic_people.py`` trains ``implicit`` on the same rows.
"""

import json

import numpy as np
import pytest

import hushrec as hr

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def release():
    data = hr.synthetic.interactions(users=3_000, items=60, interactions=60_000, seed=1)
    budget = hr.Budget(epsilon=8.0, delta=1e-6, unit="user", adjacency="add-remove")
    return hr.testing.fit(data, hr.PrivateEASE(), budget, entropy=hr.testing.Seeded(1))


@pytest.fixture(scope="module", params=["parquet", "csv"])
def file(request, release, tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / f"people.{request.param}"
    hr.write_people(release.synthesize(2_000, seed=3), path)
    return path


def frame(path):
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, dtype=str)


@pytest.mark.full
def test_pandas_has_the_rows_and_pyarrow_the_statement(release, file):
    rows = frame(file)
    assert list(rows.columns[:2]) == ["user_id", "item_id"]
    assert rows["user_id"].nunique() <= 2_000
    assert set(rows["item_id"]) <= set(release.items)
    assert not rows.duplicated(["user_id", "item_id"]).any()
    if file.suffix == ".parquet":
        pq = pytest.importorskip("pyarrow.parquet")
        said = json.loads(pq.read_metadata(file).metadata[b"hushrec.synthetic"])
    else:
        said = json.loads(file.with_name("people.csv.synthetic.json").read_text("utf-8"))
    assert said["statement"] == release.statement.to_json()


def test_lenskit_trains_on_them_and_finds_what_the_release_finds(release, file):
    """Lists of ten by LensKit's EASE on the rows, next to the release's own, for people of five items."""
    pytest.importorskip("lenskit")
    from lenskit.data import ItemList, RecQuery, from_interactions_df
    from lenskit.knn import EASEScorer

    scorer = EASEScorer(regularization=200)
    scorer.train(from_interactions_df(frame(file)[["user_id", "item_id"]]))
    client, rng, shared = hr.Client(release), np.random.default_rng(0), []
    for _ in range(40):
        own = rng.choice(release.items, 5, replace=False).tolist()
        query = RecQuery(user_items=ItemList(item_ids=own), history_items=ItemList(item_ids=own))
        others = [item for item in release.items if item not in own]
        scores = scorer(query, ItemList(item_ids=others)).scores()
        theirs = np.array(others)[np.argsort(-np.nan_to_num(scores, nan=-9))[:10]]
        ours = [row.item_id for row in client.recommend(own, n=10)]
        shared.append(len({*theirs} & {*ours}))
    assert np.mean(shared) > 6  # of ten; by chance 1.8
