"""The notes of a statement: each says which figure holds, and under what condition."""

import math

import pytest

from hushrec.release import statement_text


@pytest.mark.parametrize(
    ("claimed", "epsilon", "sampled", "words"),
    [
        (1.0, 7.5, False, "its proof does not hold as printed"),
        (8.0, 7.5, False, "holds for the noise here, but as printed does not hold under every setting"),
        (8.0, 7.5, True, "assumes that the chain had converged"),
        (1.0, math.inf, False, "No finite ε is known for this noise."),
    ],
)
def test_a_papers_claim_is_never_called_valid(claimed, epsilon, sampled, words):
    said = statement_text.claim(claimed, epsilon, sampled=sampled)
    assert said.startswith("Not a valid guarantee")
    assert words in said
    assert ("true cost" in said) == math.isfinite(epsilon)


def test_the_ledger_counts_releases_from_one():
    charged = statement_text.charged({"file": "a.db", "release_index": 2, "max_releases": 4, "seq": 9})
    assert charged[0] == "Charged to a.db: release 3 of at most 4, entry 9"
    assert statement_text.charged({})[0].startswith("Charged to a ledger in memory: release 1 ")
