import hushrec as hr


def test_create_show_extend(here, hushrec, refused, budget):
    shown = hushrec(f"ledger create owner.db {budget} --horizon 4").out
    assert "Left: ε = 1\n" in shown
    assert "horizon 4" in shown
    assert hushrec("ledger show owner.db").out == shown
    assert "there is a ledger already" in refused(f"ledger create owner.db {budget}")
    assert "Left: ε = 2.5\n" in hushrec("ledger extend owner.db --epsilon 2.5").out
    assert "horizon 9" in hushrec("ledger extend owner.db --horizon 9").out
    ledger = hr.Ledger.open("owner.db")
    assert (ledger.total.epsilon, ledger.horizon) == (2.5, 9)


def test_extend_refuses_to_shrink_or_do_nothing(here, hushrec, refused, budget):
    hushrec(f"ledger create owner.db {budget}")
    assert "may grow, not shrink" in refused("ledger extend owner.db --epsilon 0.5")
    assert "--epsilon, --horizon or both" in refused("ledger extend owner.db")


def test_show_lists_releases(release, hushrec):
    entries = hr.Ledger.open("ledger.db").entries()
    lines = hushrec("ledger show ledger.db").out.splitlines()
    assert any(line.split() == ["0", "CovarianceSVD", "published", str(len(entries)), "1"] for line in lines)


def test_no_ledger(here, refused):
    assert "there is no ledger here" in refused("ledger show none.db")
