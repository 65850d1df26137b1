"""Write a split, and the lists of a private release for it, as Parquet files for other libraries.

python make_lists.py FOLDER
"""

import sys
from pathlib import Path

import pyarrow.parquet as pq

import hushrec as hr
from hushrec.curator.recommend_all import write_lists
from hushrec.data.split import held_out_people

folder = Path(sys.argv[1])
folder.mkdir(exist_ok=True)

clicks = hr.synthetic.interactions(users=5000, items=500, interactions=150_000, seed=1)
train, fold_in, test = held_out_people(clicks, 500, seed=0)
budget = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
release = hr.testing.fit(train, hr.PrivateEASE(), budget, entropy=hr.testing.Seeded(0))

for name, part in {"train": train, "fold_in": fold_in, "test": test}.items():
    pq.write_table(part.table(), folder / f"{name}.parquet")
write_lists(hr.recommend_all(release, fold_in, n=100), folder / "lists.parquet")

print(hr.evaluate(release, train=fold_in, test=test, fitted=train))
