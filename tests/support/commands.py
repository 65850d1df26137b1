"""Command lines that several tests begin with."""

from pathlib import Path


def fit(
    budget,
    source="train.csv",
    ledger="ledger.db",
    out="films.safetensors",
    more="--model covariance-svd --set rank=3",
):
    """The command; the first fit of a ledger starts it."""
    new = "" if Path(ledger).exists() else "--new-ledger"
    return f"fit {source} --domain domain.json {budget} --ledger {ledger} {new} -o {out} {more}"
