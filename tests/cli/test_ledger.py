from pathlib import Path

import pytest

import hushrec as hr
from support.stopped import stopped


def test_create_show_extend(here, hushrec, refused, budget):
    shown = hushrec(f"ledger create owner.db {budget} --max-releases 4").out
    assert "over all releases together; ε = 1 is left.\n" in shown
    share = "takes an equal share: ε = 0.4752 for each of 4 more releases."
    assert share in " ".join(shown.split())
    assert "at most 4" in shown
    assert shown.startswith(hushrec("ledger show owner.db").out)
    assert "there is a ledger already" in refused(f"ledger create owner.db {budget}")
    extended = hushrec("ledger extend owner.db --epsilon 2.5").out
    assert "together; ε = 2.5 is left. " in " ".join(extended.split())
    assert "at most 9" in hushrec("ledger extend owner.db --max-releases 9").out
    state = hr.Ledger.open("owner.db").state()
    assert (state.total.epsilon, state.max_releases) == (2.5, 9)


def test_show_lists_releases(release, hushrec):
    (charge,) = hr.Ledger.open("ledger.db").state().charges
    lines = hushrec("ledger show ledger.db").out.splitlines()
    assert any(line.split() == ["0", "CovarianceSVD", "made", str(len(charge.booked)), "1"] for line in lines)


@pytest.mark.parametrize("ending", ["safetensors", "csv"])
def test_a_release_is_fetched_again_at_no_cost(here, hushrec, refused, budget, ending):
    if ending == "safetensors":
        line = f"fit train.csv --model global-effects {budget}"
    else:
        line = f"randomize train.csv --method randomized-response {budget} --delta 0 --adjacency replace"
    hushrec(f"{line} --domain domain.json --ledger ledger.db --new-ledger -o one.{ending}")
    before = Path("ledger.db").read_bytes()
    said = hushrec(f"ledger fetch ledger.db 0 -o again.{ending}").out
    assert said == f"Wrote again.{ending}: release 0; nothing was charged\n"
    assert Path(f"again.{ending}").read_bytes() == Path(f"one.{ending}").read_bytes()
    assert Path("ledger.db").read_bytes() == before
    assert Path(f"again.{ending}.statement.json").exists() == (ending != "safetensors")
    assert "no release 1 was made" in refused(f"ledger fetch ledger.db 1 -o none.{ending}")
    assert "exists" in refused(f"ledger fetch ledger.db 0 -o again.{ending}")
    other = "csv" if ending == "safetensors" else "safetensors"
    assert "not a" in refused(f"ledger fetch ledger.db 0 -o other.{other}")
    assert not Path(f"other.{other}").exists()


def test_a_charge_that_is_given_up_stays_spent(here, hushrec, refused, budget):
    files = "--domain domain.json --ledger ledger.db -o a.safetensors"
    line = f"fit train.csv {files} --model global-effects {budget}"
    with stopped():
        hushrec(f"{line} --new-ledger", 130)
    assert "Release 0 is forfeited: its ε stays spent" in hushrec("ledger forfeit ledger.db 0").out
    assert "holds no charge" in refused("ledger forfeit ledger.db 1")
    assert "hushrec ledger extend" in refused(line)


def test_the_sql_of_a_database_is_printed(hushrec):
    printed = hushrec("ledger sql").out
    assert printed.startswith("BEGIN;\n")
    assert printed.endswith("COMMIT;\n")
    assert "CREATE SCHEMA hushrec" in printed


def test_a_ledger_that_others_may_read_says_so(release, hushrec):
    path = release.parent / "ledger.db"
    assert path.stat().st_mode & 0o777 == 0o600
    assert "Users other than the owner" not in hushrec("ledger show ledger.db").out
    path.chmod(0o640)
    told = "Users other than the owner can access ledger.db (mode 640): chmod 600, unless intended"
    assert told in hushrec("ledger show ledger.db").out
