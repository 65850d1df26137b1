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
    assert "not a scale" in refused("domain --items catalogue.csv --scale 5 1 1 --max-users 9")
    assert "choose another file with -o" in refused(
        "domain --items catalogue.csv --scale 1 5 1 --max-users 9 -o no/d.json"
    )
    assert not Path("domain.json.part").exists()


def test_a_list_of_people(here, hushrec, refused):
    Path("accounts.csv").write_text("since,account\n2020,b\n2021,a\n")
    line = "domain --items catalogue.csv --scale 1 5 1 --max-users 200 -o d.json"
    shown = hushrec(f"{line} --users accounts.csv --user-column account").out
    assert "roster of 2 people" in shown
    assert hr.Domain.open("d.json").users == ("a", "b")
    assert "users=, which is missing" in refused(f"{line} --user-column account")
    assert "missing.csv" in refused(f"{line} --users missing.csv")
    few = line.replace("200", "1")
    assert "2 people are listed, more than max_users" in refused(f"{few} --users accounts.csv")


def test_classes_of_privacy(here, hushrec, refused):
    line = "domain --items catalogue.csv --scale 1 5 1 --max-users 200 -o d.json"
    shown = hushrec(f"{line} --privacy-class strict=0.5 --privacy-class default=2").out
    assert "classes strict ε = 0.5, default ε = 2" in " ".join(shown.split())
    assert hr.Domain.open("d.json").privacy_classes == {"strict": 0.5, "default": 2.0}
    assert "--privacy-class strict=0.5" in refused(f"{line} --privacy-class strict")
    assert "must be a number" in refused(f"{line} --privacy-class strict=much")
    assert "more than once" in refused(f"{line} --privacy-class a=1 --privacy-class a=2")
    assert "0 or more" in refused(f"{line} --privacy-class a=-1")
