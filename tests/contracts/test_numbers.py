"""Public numbers fail closed: what is no number in range is refused by an error of hushrec, never answered.

Each row is a way in, with the values of ``ODD`` that are right there. A raw error of Python would be no
answer either, but it names no fix; and a search for the noise of a δ that is not a number never ends.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.split import held_out_people, holdout, kfold
from hushrec.errors import HushrecError
from hushrec.models import METHODS, MODELS, class_of
from hushrec.privacy.accounting import accountant, weights
from hushrec.privacy.accounting.measurement import Measurement, Responses, Substitutions
from hushrec.privacy.accounting.plan import require_small_delta, usual_delta
from hushrec.text import is_number
from support.releases import ranker
from support.releases import release as planted

ODD = {
    "NaN": math.nan,
    "∞": math.inf,
    "−∞": -math.inf,
    "−1": -1,
    "0": 0,
    "text": "3",
    "a word": "many",
    "None": None,
    "True": True,
    "NaN of NumPy": np.float64("nan"),
}
TERMS = {"epsilon": 1.0, "delta": 1e-6, "unit": "user", "adjacency": "add-remove"}
BUDGET = hr.Budget(**TERMS)
DOMAIN = hr.Domain(range(6), scale=(1, 5, 1), max_users=100)
RATINGS = hr.synthetic.netflix_like(30, 6, 90, 1)
RELEASE = planted(n=6, rank=2)
STARS, CLICKS = hr.Client(RELEASE), hr.Client(ranker(tuple("abcdef"), np.arange(6.0)))
ITEM, OTHER = RELEASE.items[:2]
EVENTS = (Measurement("sum", 1.0, "l2", 1.0, 1, noise=1.0),)


def declared(**facts: Any) -> hr.Domain:
    return hr.Domain(["a", "b"], **{"max_users": 9} | facts)


def ledger() -> hr.Ledger:
    return hr.Ledger.ephemeral(BUDGET, 5)


def ways() -> dict[str, tuple[Callable[[Any], Any], str]]:
    """Every way in: what it is called with, and the names of the values that are right."""
    return {
        "Budget(epsilon)": (lambda v: hr.Budget(**TERMS | {"epsilon": v}), ""),
        "Budget(delta)": (lambda v: hr.Budget(**TERMS | {"delta": v}), "0"),
        "Domain(max_users)": (lambda v: declared(max_users=v), ""),
        "Domain(max_per_user)": (lambda v: declared(max_per_user=v), ""),
        "Domain(counts)": (lambda v: declared(counts=v), "None"),
        "Domain(likes)": (lambda v: declared(likes=v, scale=(1, 5, 1)), "None"),
        "Domain(expected_users)": (lambda v: declared(expected_users=v), "None"),
        "Domain(expected_records)": (lambda v: declared(expected_records=v), "None"),
        "Domain(scale): lo": (lambda v: declared(scale=(v, 5, 1)), "−1 0"),
        "Domain(scale): hi": (lambda v: declared(scale=(1, v, 1)), ""),
        "Domain(scale): step": (lambda v: declared(scale=(1, 5, v)), ""),
        "Domain(personal_epsilon)": (lambda v: declared(personal_epsilon={"strict": v}), "0"),
        "with_personal_epsilon": (lambda v: RATINGS.with_personal_epsilon(np.array([v] * 30)), "0"),
        "capped": (RATINGS.capped, ""),
        "slice(start)": (lambda v: RATINGS.slice(v, 3), "0"),
        "slice(stop)": (lambda v: RATINGS.slice(0, v), "0"),
        "Reading(max_bytes)": (lambda v: hr.Reading(max_bytes=v), ""),
        "synthetic(users)": (lambda v: hr.synthetic.netflix_like(v, 6, 30, 1), ""),
        "synthetic(items)": (lambda v: hr.synthetic.interactions(20, v, 30, 1), ""),
        "synthetic(seed)": (lambda v: hr.synthetic.interactions(20, 6, 30, v), "0"),
        "Ledger.ephemeral": (lambda v: hr.Ledger.ephemeral(BUDGET, v), ""),
        "Ledger.extend": (lambda v: ledger().extend(BUDGET, v), "None"),
        "Ledger.confirm": (lambda v: ledger().confirm(BUDGET, v), ""),
        "Ledger.forfeit": (lambda v: ledger().forfeit(v), ""),
        "plan(split)": (lambda v: hr.plan(DOMAIN, hr.GlobalEffects(split={"item sums": v}), BUDGET), ""),
        "split_budget": (lambda v: hr.split_budget(BUDGET, v), ""),
        "recommend(n)": (lambda v: STARS.recommend({ITEM: 5}, v), "0"),
        "recommend(n) of clicks": (lambda v: CLICKS.recommend(["a"], v), "0"),
        "recommend(diversity)": (lambda v: STARS.recommend({ITEM: 5}, diversity=v), "0"),
        # A rating that is not finite is left out, and named in ``ignored``.
        "recommend(ratings)": (lambda v: STARS.recommend({ITEM: v}), "NaN ∞ −∞ −1 0 NaN-of-NumPy"),
        "predict(ratings)": (lambda v: STARS.predict({ITEM: v}), "NaN ∞ −∞ −1 0 NaN-of-NumPy"),
        "similar(n)": (lambda v: STARS.similar(ITEM, v), "0"),
        "reasons(n)": (lambda v: STARS.reasons({ITEM: 5}, OTHER, v), "0"),
        "recommend_all(n)": (lambda v: list(hr.recommend_all(RELEASE_OF_ALL, RATINGS, v)), ""),
        "synthesize(n_users)": (RELEASE.synthesize, ""),
        "synthesize(seed)": (lambda v: RELEASE.synthesize(3, seed=v), "0"),
        "synthesize(mean_items)": (lambda v: RELEASE.synthesize(3, mean_items=v), "None"),
        "holdout(fraction)": (lambda v: holdout(RATINGS, v, 0), "0"),
        "holdout(seed)": (lambda v: holdout(RATINGS, 0.2, v), "0"),
        "kfold(k)": (lambda v: list(kfold(RATINGS, v, 0)), ""),
        "held_out_people": (lambda v: held_out_people(RATINGS, v, 0), ""),
        "held_out_people(fraction)": (lambda v: held_out_people(RATINGS, 3, 0, fraction=v, least=2), ""),
        "usual_delta": (usual_delta, ""),
        "small delta": (lambda v: require_small_delta(v, 100), "0"),
        "small delta(max_users)": (lambda v: require_small_delta(1e-6, v), ""),
        # All of it is infinite, or nothing is lost: these are answers.
        "gaussian_delta(mu)": (lambda v: accountant.gaussian_delta(v, 1.0), "0 ∞"),
        "gaussian_delta(epsilon)": (lambda v: accountant.gaussian_delta(1.0, v), "0 ∞"),
        "gaussian_epsilon(mu)": (lambda v: accountant.gaussian_epsilon(v, 1e-6), "0 ∞"),
        "gaussian_epsilon(delta)": (lambda v: accountant.gaussian_epsilon(1.0, v), "0"),
        "gaussian_mu(epsilon)": (lambda v: accountant.gaussian_mu(v, 1e-6), "0 ∞"),
        "gaussian_mu(delta)": (lambda v: accountant.gaussian_mu(1.0, v), "0"),
        "ε of a plan(delta)": (lambda v: EVENTS[0].spent().epsilon_at(v), "0"),
        "weight(delta)": (lambda v: weights.weight(EVENTS, v, 0.5), ""),
        "weight(personal_epsilon)": (lambda v: weights.weight(EVENTS, 1e-6, v), "0"),
        "promised": (lambda v: weights.promised(EVENTS, 1e-6, v), "0"),
        "Responses(symbols)": (lambda v: Responses.of("cells", v, 1.0, 1, 1), ""),
        "Responses(exponent)": (lambda v: Responses.of("cells", 3, v, 1, 1), ""),
        **{
            f"Measurement({name}, {norm})": (
                lambda v, norm=norm, name=name: replace(EVENTS[0], norm=norm, **{name: v}),
                "0" if name in ("noise", "size") else "",  # which is none yet, or EVERY_RATING
            )
            for norm in ("l2", "l1", "loss")
            for name in ("sensitivity", "noise", "step", "size")
        },
        **dict(settings()),
    }


def settings() -> Any:
    """Every number among the settings of every model and method, with what its bounds allow."""
    for name in (*MODELS, *METHODS):
        kind = class_of(name)
        needed = {"keep_probability": 0.5, "group_probability": 0.5, "threshold": 1.0, "groups": "ratings"}
        needed = needed if name == "DistanceBased" else {}
        for setting, field in kind.model_fields.items():
            if "float" not in str(field.annotation) and "int" not in str(field.annotation):
                continue
            if "Mapping" in str(field.annotation):
                continue
            right = {"None"} if "None" in str(field.annotation) else set()
            bounds = [mark for mark in field.metadata if hasattr(mark, "ge")]
            right |= {"0"} if any(mark.ge == 0 for mark in bounds) else set()
            yield (
                f"{name}({setting})",
                (
                    lambda v, kind=kind, setting=setting, needed=needed: _set(kind, setting, v, needed),
                    " ".join(right),
                ),
            )


def _set(kind: Any, setting: str, value: Any, needed: dict[str, Any]) -> Any:
    """Settings that have an effect only with others are taken with these."""
    try:
        return kind(**needed | {setting: value})
    except HushrecError as error:
        if "has no effect" not in str(error):
            raise
        return None if is_number(value) else "taken"


RELEASE_OF_ALL = hr.baseline(RATINGS, hr.GlobalEffects())
WAYS = ways()


@pytest.mark.parametrize("way", WAYS)
def test_whatever_is_no_number_in_range_is_refused_by_an_error_of_hushrec(way):
    ask, right = WAYS[way]
    for name, value in ODD.items():
        if name.replace(" ", "-") in right.split():
            ask(value)
            continue
        with pytest.raises(HushrecError):
            pytest.fail(f"{way} answers {name}: {ask(value)!r}")


def test_no_answer_of_a_cache_is_taken_for_a_truth_value():
    """True equals 1 and hashes as it does, so a cache of one would know the other."""
    for ask, value in itertools.product(
        (
            lambda v: accountant.gaussian_epsilon(v, 1e-6),
            lambda v: accountant.gaussian_mu(v, 1e-6),
            lambda v: weights.weight(EVENTS, 1e-6, v),
        ),
        (1, 1.0),
    ):
        ask(value)
        with pytest.raises(HushrecError):
            ask(True)


def test_a_release_of_interactions_and_randomized_rows_are_planned_alike():
    """Of ``Substitutions``, whose numbers follow from the settings."""
    for odd in (math.nan, math.inf, -1.0, 0.0):
        with pytest.raises(HushrecError):
            Substitutions.of("slots", odd, 0.5, 1, 6)
