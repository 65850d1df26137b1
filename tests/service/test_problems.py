import json

from hushrec.service.problems import DETAILS, STATUS, problem


def test_every_code_has_a_status_and_says_what_to_do():
    assert STATUS.keys() == DETAILS.keys()
    for code, status in STATUS.items():
        answer = problem(code, Retry_After="3")
        told = json.loads(answer.body)
        assert answer.status_code == told["status"] == status
        assert answer.media_type == "application/problem+json"
        assert (answer.headers["retry-after"], answer.headers["cache-control"]) == ("3", "no-store")
        assert told["type"] == f"urn:hushrec:problem:{told['code']}"
        assert (told["code"], told["detail"]) == (code, DETAILS[code])
        assert told["title"]


def test_codes_stay():
    assert sorted(STATUS) == [
        "address-too-long",
        "bad-request",
        "body-refused",
        "headers-too-large",
        "internal-error",
        "method-not-allowed",
        "not-found",
        "too-many-requests",
    ]
