"""A domain in one line."""

import hushrec as hr
from hushrec.data.declarations import domain_text


def test_hints_are_named_as_what_they_are():
    domain = hr.Domain(range(3), scale=(1, 5, 1), max_users=10, expected_users=7, expected_records=20)
    assert domain_text(domain).endswith("at most 10 users, about 7 users, about 20 ratings")
    assert domain_text(domain) in repr(domain)
