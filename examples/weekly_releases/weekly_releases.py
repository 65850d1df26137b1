"""Make three of twelve weekly releases, from made-up clicks on made-up titles."""

from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import hushrec as hr

WEEKS = 12  # planned; this program makes the first three
ADJECTIVES = "Amber Brave Calm Distant Early First Gentle Hidden Idle Last Narrow Old Pale Quiet Red Silent"
NOUNS = "Bridge Choir Door Engine Ferry Garden House Island Kitchen Lantern Mirror River Season Train Window"


def made_up_clicks() -> tuple[pa.Table, dict[str, str]]:
    """Make up 90,000 clicks of 6,000 users, each in week 1, 2 or 3, and a title for each of 240 ids."""
    made = hr.synthetic.interactions(users=6_000, items=240, interactions=90_000, seed=7)
    titles = (f"The {adjective} {noun}" for adjective, noun in product(ADJECTIVES.split(), NOUNS.split()))
    weeks = pa.array([record % 3 + 1 for record in range(made.n_entries)])
    return made.table().append_column("week", weeks), dict(zip(made.domain.items, titles, strict=True))


def release_week(week: int, clicks: pa.Table, domain: hr.Domain, ledger: hr.Ledger) -> Path:
    """Release all clicks up to a week, with the noisy sums of the weeks before, and sign the file."""
    so_far = hr.load(clicks.filter(pc.field("week") <= week), domain)
    release = hr.fit(so_far, hr.PrivateEASE(), budget="auto", ledger=ledger)  # its share of the total
    print(f"Week {week} states ε =", round(release.statement.epsilon, 3))
    file = release.save(f"week-{week}.safetensors")
    hr.sign(file, "owner.key")
    return file


clicks, titles = made_up_clicks()
domain = hr.Domain(titles, titles=titles, max_users=10_000, expected_users=6_000, expected_records=90_000)
total = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
print(f"The first of {WEEKS} releases:", hr.split_budget(total, WEEKS, first=True))

ledger = hr.Ledger.create("ledger.db", total, WEEKS, population="Our viewers", controller="Films Ltd")
hr.new_key("owner.key")
for week in (1, 2, 3):
    if week == 3:
        clicks = clicks.filter(pc.field("user_id") != "u00042")  # this user asked to be deleted
    client = hr.Client(release_week(week, clicks, domain, ledger))
    rows = client.recommend(["i00020", "i00050"], n=3)  # for a viewer who likes these two
    print(f"Week {week}:", ", ".join(client.title(row.item_id) for row in rows))
print("Releases left:", ledger.state().releases_left)
