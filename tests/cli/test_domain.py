from pathlib import Path

import hushrec as hr


def test_domain_is_what_was_declared(here, hushrec):
    shown = hushrec(
        "domain --items catalogue.csv --scale 1 5 0.5 --cap 50 --max-users 999 --column id -o d.json"
    ).out
    domain = hr.Domain.open("d.json")
    assert (domain.n_items, domain.scale, domain.cap, domain.max_users) == (30, (1, 5, 0.5), 50, 999)
    assert "Next: hushrec plan --domain d.json" in shown


def test_the_next_command_can_be_typed(here, hushrec):
    shown = hushrec("domain --items catalogue.csv --scale 1 5 1 --max-users 200 -o d.json").out
    command = next(line for line in shown.splitlines() if line.startswith("Next: hushrec "))
    assert "Total" in hushrec(command.removeprefix("Next: hushrec ")).out


def test_refusals(here, refused):
    assert "missing.csv" in refused("domain --items missing.csv --scale 1 5 1 --max-users 9")
    assert "no scale" in refused("domain --items catalogue.csv --scale 5 1 1 --max-users 9")
    assert "choose another file with -o" in refused(
        "domain --items catalogue.csv --scale 1 5 1 --max-users 9 -o no/d.json"
    )
    assert not Path("domain.json.part").exists()
