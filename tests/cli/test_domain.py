from pathlib import Path

import pytest

import hushrec as hr


def test_domain_is_what_was_declared(here, hushrec):
    shown = hushrec(
        "domain --items catalogue.csv --scale 1 5 0.5 --max-per-user 50 --max-users 999 --column id -o d.json"
    ).out
    domain = hr.Domain.open("d.json")
    assert (domain.n_items, domain.scale, domain.max_per_user, domain.max_users) == (30, (1, 5, 0.5), 50, 999)
    assert "Next: hushrec plan --domain d.json" in shown


def test_columns_that_are_not_taken_along_are_named(here, hushrec):
    Path("shop.csv").write_text("sku,name,category\na,One,x\nb,Two,y\n")
    line = "domain --items shop.csv --interactions --max-users 200 -o d.json"
    assert "Not taken along: category; --feature COLUMN" in hushrec(line).out
    assert "Not taken along" not in hushrec(f"{line} --feature category").out
    Path("shop.csv").write_text("sku,label\na,One\nb,Two\n")
    assert "Not taken along: label; --titles COLUMN takes titles, --feature" in hushrec(line).out


@pytest.mark.parametrize("given", ["--scale 1 5 1", "--interactions", "--scale 1 5 1 --likes 4"])
def test_the_next_command_can_be_typed(here, hushrec, given):
    shown = hushrec(f"domain --items catalogue.csv {given} --max-users 200 -o d.json").out
    command = next(line for line in shown.splitlines() if line.startswith("Next: hushrec "))
    assert "What will be measured" in hushrec(command.removeprefix("Next: hushrec ")).out


def test_refusals(here, refused):
    assert "missing.csv" in refused("domain --items missing.csv --scale 1 5 1 --max-users 9")
    for options in ("", "--interactions --scale 1 5 1"):
        told = refused(f"domain --items catalogue.csv {options} --max-users 200")
        assert "either --scale LO HI STEP for ratings, or --interactions" in told
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
    shown = hushrec(f"{line} --personal-epsilon strict=0.5 --personal-epsilon default=2").out
    assert "classes strict ε = 0.5, default ε = 2" in " ".join(shown.split())
    assert hr.Domain.open("d.json").personal_epsilon == {"strict": 0.5, "default": 2.0}
    assert "0 or more" in refused(f"{line} --personal-epsilon a=-1")
