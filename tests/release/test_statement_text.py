"""The notes of a statement: each says which figure holds, and under what condition."""

from hushrec.release import statement_text


def test_the_ledger_counts_releases_from_one():
    charged = statement_text.charged({"file": "a.db", "release_index": 2, "max_releases": 4, "seq": 9})
    assert charged[0] == "Charged to a.db: release 3 of at most 4, entry 9"
    assert statement_text.charged({})[0].startswith("Charged to a ledger in memory: release 1 ")
