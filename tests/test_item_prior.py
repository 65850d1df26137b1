"""What is publicly known about items: nothing, unless somebody says so."""

from hushrec.item_prior import NOTHING_KNOWN


def test_nothing_is_known_by_default():
    parts = (
        NOTHING_KNOWN.design,
        NOTHING_KNOWN.effects,
        NOTHING_KNOWN.effect_variance,
        NOTHING_KNOWN.factors,
    )
    assert all(part.size == 0 for part in parts)
    assert not NOTHING_KNOWN.told
