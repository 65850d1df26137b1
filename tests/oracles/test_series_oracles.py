"""What a series adds up, against jax-privacy's matrix factorizations. Skipped where it is not installed."""

import numpy as np
import pytest

from hushrec.estimation.running_sums import running_sum
from hushrec.privacy.accounting.ages import BITS, age_weights, joint_norm
from hushrec.privacy.bounded import Noisy
from hushrec.sums.series import WEIGHT_BITS, Arrivals, DatedCounts
from support.series import DOMAIN, given

pytestmark = pytest.mark.filterwarnings("ignore")

WEEKS = 52


def errors() -> np.ndarray:
    """Variance of each running sum of a series, for noise of one per measurement."""
    silent = {part: Noisy("sums", np.zeros(1), 1.0, 1.0, None) for part in range(WEEKS)}
    until = [{number: silent[number] for number in range(part + 1)} for part in range(WEEKS)]
    return np.array([running_sum(known, part).sigma ** 2 for part, known in enumerate(until)])


def test_the_weights_by_age_are_the_best_toeplitz_strategy() -> None:
    toeplitz = pytest.importorskip("jax_privacy.matrix_factorization.toeplitz")
    theirs = toeplitz.optimal_max_error_strategy_coefs(WEEKS)
    np.testing.assert_allclose(age_weights(WEEKS) * 2.0**-BITS, np.asarray(theirs), rtol=1e-5)
    once = toeplitz.minsep_sensitivity_squared(theirs, min_sep=1, max_participations=1)
    assert joint_norm(WEEKS) ** 2 == pytest.approx(float(once), rel=1e-5)
    np.testing.assert_allclose(
        errors(), np.asarray(toeplitz.per_query_error(strategy_coef=theirs)), rtol=1e-5
    )


@pytest.mark.parametrize("came", [0, 1, 17, 50, 51])
def test_what_a_record_moves_is_a_column_of_their_encoder(came: int) -> None:
    """One record, through the memory and the counts that a series releases."""
    toeplitz = pytest.importorskip("jax_privacy.matrix_factorization.toeplitz")
    coefficients = toeplitz.optimal_max_error_strategy_coefs(WEEKS)
    encoder = np.asarray(toeplitz.materialize_lower_triangular(coefficients))
    counts, memory, moved = DatedCounts(DOMAIN, WEEKS, 2.0), Arrivals(), []
    for part in range(WEEKS):
        memory, dated = memory.joined(given({1: [3]} if part >= came else {}), part, 2.0)
        moved.append(counts.measure(dated)[0][3])
    assert dated.weights.tolist() == [1 << WEIGHT_BITS]
    (query,) = counts.queries()
    np.testing.assert_allclose(np.array(moved) * query.step, encoder[:, came], atol=1e-6)
    sensitivity = pytest.importorskip("jax_privacy.matrix_factorization.sensitivity")
    charged = float(sensitivity.single_participation_sensitivity(encoder)) * 2.0**0.5  # Σ w² is at most 2
    assert query.sensitivity == pytest.approx(charged, rel=1e-5)


def test_no_factorization_has_much_less_noise() -> None:
    """Theirs is optimized numerically, for the mean over releases, without any form imposed."""
    dense = pytest.importorskip("jax_privacy.matrix_factorization.dense")
    encoder = np.asarray(dense.optimize(WEEKS))
    theirs = np.linalg.norm(np.tri(WEEKS) @ np.linalg.inv(encoder), axis=1) ** 2
    theirs *= np.linalg.norm(encoder, axis=0).max() ** 2
    ours = errors() * joint_norm(WEEKS) ** 2
    assert theirs.mean() <= ours.mean() <= 1.07**2 * theirs.mean()
    assert ours.max() <= 1.03**2 * theirs.max()
