"""What is publicly known about items: nothing, unless somebody says so."""

import numpy as np
from scipy.sparse import csr_array

from hushrec.item_prior import FeatureGroup, ItemPrior


def test_every_fact_changes_the_digest():
    """So that a plan commits to all of them."""
    one, ones = np.ones(3), np.ones((3, 2))
    table = csr_array(np.eye(3, 2))
    priors = [
        ItemPrior(features=(FeatureGroup("genres", ("a", "b"), ("a", "b"), table),)),
        ItemPrior(features=(FeatureGroup("genres", ("a", "c"), ("a", "c"), table),)),
        ItemPrior(features=(FeatureGroup("genres", ("a", "b"), ("a", "b"), csr_array(np.eye(3, 2, 1))),)),
        ItemPrior(design=ones, groups=np.zeros(2, dtype=np.int64)),
        ItemPrior(design=ones, groups=np.arange(2)),
        ItemPrior(design=2 * ones, groups=np.zeros(2, dtype=np.int64)),
        ItemPrior(effects=one, effect_variance=one),
        ItemPrior(effects=one, effect_variance=2 * one),
        ItemPrior(factors=ones),
        ItemPrior(factors=ones, says=("a release",)),
    ]
    assert len({prior.digest for prior in priors} - {""}) == len(priors)
