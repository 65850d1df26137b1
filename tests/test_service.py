"""Lists by JSON: what the library lists, with titles and reasons, and which ids it did not know."""

import asyncio
import json

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec import service
from hushrec.pages import site
from hushrec.pages.site import HEADERS, cached
from hushrec.release.client import Client
from hushrec.service import application
from support.releases import ranker, release


def asking(app):
    def ask(path, method="POST", **more):
        async def send():
            transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                return await client.request(method, path, **more)

        return asyncio.run(send())

    return ask


@pytest.fixture(scope="module")
def films():
    return release(n=300, seed=3, rank=4, titles=tuple(f"Title {i}" for i in range(300)))


@pytest.fixture(scope="module")
def folder(films, tmp_path_factory):
    scratch = tmp_path_factory.mktemp("served")
    site.write(films.save(scratch / "films.safetensors"), scratch / "site")
    return scratch / "site"


@pytest.fixture(scope="module")
def ask(films, folder):
    return asking(application(folder, Client(films)))


@pytest.fixture
def ask_of(folder):
    """Asks about another release than that of the site."""
    return lambda made: asking(application(folder, Client(made)))


def listed(rows):
    return [{name: row[name] for name in ("item_id", "score", "rank", "rating")} for row in rows]


def test_a_list_is_that_of_the_library(ask, films):
    own = {films.items[0]: 5, films.items[7]: 1.5}
    exclude = list(films.items[20:40])
    answer = ask("/lists", json={"ratings": own, "n": 25, "exclude": exclude, "reasons": 2})
    client = Client(films)
    assert answer.status_code == 200
    assert listed(answer.json()["rows"]) == [
        row._asdict() for row in client.recommend(own, 25, exclude=exclude)
    ]
    for row in answer.json()["rows"]:
        assert row["title"] == client.title(row["item_id"])
        assert row["reasons"] == [
            {**why._asdict(), "title": client.title(why.item_id), "items": []}
            for why in client.reasons(own, row["item_id"], 2)
        ]
    assert answer.json()["unknown"] == []
    assert answer.headers["cache-control"] == "no-store"


def test_ids_that_are_not_known_are_named(ask, films):
    own = {films.items[0]: 5, "nowhere": 1, "caf\u0065\u0301": 2}
    answer = ask("/lists", json={"ratings": own, "exclude": ["gone", films.items[1]]})
    assert answer.status_code == 200
    assert answer.json()["unknown"] == ["nowhere", "caf\u0065\u0301", "gone"], "as they were given"
    decomposed = films.items[0].replace("é", "e\u0301")
    assert ask("/lists", json={"ratings": {decomposed: 5}}).json()["unknown"] == []


def test_if_no_id_is_known_that_is_refused(ask):
    answer = ask("/lists", json={"ratings": {"nowhere": 1}})
    assert answer.status_code == 422
    assert "nothing of what was given is in this release's catalogue" in answer.json()["detail"]
    assert answer.headers["cache-control"] == "no-store"
    assert "nowhere" not in answer.text


def test_nothing_given_is_everybodys_list(ask, films):
    rows = ask("/lists", json={}).json()["rows"]
    assert listed(rows) == [row._asdict() for row in Client(films).recommend({})]
    assert not any(row["reasons"] for row in rows)


def test_items_are_for_interactions_and_ratings_for_ratings(ask, films, ask_of):
    clicks = ranker(tuple("abcdefghijklm"))
    rows = ask_of(clicks)("/lists", json={"items": ["a", "b", "zz"], "n": 3}).json()
    assert listed(rows["rows"]) == [row._asdict() for row in Client(clicks).recommend(["a", "b"], 3)]
    assert rows["unknown"] == ["zz"]
    assert rows["rows"][0]["title"] == rows["rows"][0]["item_id"], "without titles"
    assert rows["rows"][0]["reasons"] == [], "of scores that are the same for everybody"
    assert "of ratings" in ask("/lists", json={"items": [films.items[0]]}).json()["detail"]
    assert "without numbers" in ask_of(clicks)("/lists", json={"ratings": {"a": 1}}).json()["detail"]
    counted = ranker(tuple("abcd"), counts=9)
    assert ask_of(counted)("/lists", json={"ratings": {"a": 3}}).status_code == 200
    few = ask_of(counted)("/lists", json={"ratings": {"a": 3, "b": 0.2}})
    assert (few.status_code, few.json()["detail"]) == (
        422,
        "an own item counts less than one time; leave it out",
    )


LIMITS = [
    ({"n": 0}, "n: "),
    ({"n": service.LONGEST + 1}, "n: "),
    ({"reasons": service.MOST_REASONS + 1}, "reasons: "),
    ({"ratings": {f"secret{i}": 1 for i in range(service.MOST_ITEMS + 1)}}, "ratings: "),
    ({"exclude": ["secret"] * (service.MOST_ITEMS + 1)}, "exclude: "),
    ({"items": ["secret" * 100]}, "items: "),
    ({"ratings": {"": 1}}, "ratings: "),
    ({"ratings": {"secret": "much"}}, "ratings: "),
    ({"ratings": {"secret": 1}, "items": ["secret"]}, "give either ratings or items"),
    ({"secret": 1}, "a field is none of ratings, items, n, exclude, reasons"),
    ([], "the body is not an object of JSON"),
]


@pytest.mark.parametrize(("sent", "told"), LIMITS)
def test_what_is_beyond_a_limit_is_refused_in_words(ask, sent, told):
    answer = ask("/lists", json=sent)
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert "secret" not in answer.text


ODD_VALUES = [f'{{"ratings": {{"secret": {n}}}}}' for n in ("NaN", "Infinity", "1e999", "1" + "0" * 400)]
ODD_VALUES += ['{"ratings": {"secret\\ud800": 1}}', '{"exclude": ["secret\\ud800"]}', '["secret']


@pytest.mark.parametrize("text", ODD_VALUES)
def test_numbers_and_texts_that_are_none_are_refused(ask, text):
    answer = ask("/lists", content=text, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert "secret" not in answer.text


def test_nor_does_a_deep_body_harm(ask):
    for text in ("[" * 100_000, '{"n":' + "1" * 5_000 + "}"):
        answer = ask("/lists", content=text, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 422)


def test_a_large_body_is_not_read(ask):
    for more in ({"content": b" " * (service.LARGEST_BODY + 1)}, {"content": iter([b" " * 2**18] * 5)}):
        if not isinstance(more["content"], bytes):
            more["content"] = _pieces(more["content"])
        answer = ask("/lists", headers={"Content-Type": "application/json"}, **more)
        assert answer.status_code == 413


async def _pieces(parts):
    for part in parts:
        yield part


def test_a_form_of_another_site_is_no_request(ask):
    for media in ("text/plain", "application/x-www-form-urlencoded"):
        answer = ask("/lists", content=b'{"n": 1}', headers={"Content-Type": media})
        assert answer.status_code == 422
        assert "with Content-Type: application/json" in answer.json()["detail"]


SENT = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.dictionaries(
    st.sampled_from(["ratings", "items", "n", "exclude", "reasons", "x"]), SENT, max_size=4
)


@settings(max_examples=60, deadline=None)
@given(sent=FIELDS | SENT)
def test_whatever_is_sent_is_answered_or_refused(ask, sent):
    body = json.dumps(sent).encode()
    answer = ask("/lists", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 422), answer.text
    assert answer.headers["cache-control"] == "no-store"


def test_openapi_describes_lists(ask):
    told = ask("/openapi.json", "GET").json()
    assert told["paths"].keys() == {"/lists"}
    assert told["paths"]["/lists"].keys() == {"post"}
    assert told["paths"]["/lists"]["post"]["responses"].keys() == {"200", "413", "422"}
    own = told["components"]["schemas"]["Own"]["properties"]
    assert own["n"]["maximum"] == service.LONGEST
    assert own.keys() == {"ratings", "items", "n", "exclude", "reasons"}
    example = told["components"]["schemas"]["Own"]["examples"][0]
    assert service.Own(**example).n == 10


def test_the_files_of_the_site_are_sent_as_they_are(ask, folder):
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_file():
            answer = ask(f"/{name}", "GET")
            assert answer.content == path.read_bytes(), name
            assert answer.headers["cache-control"] == cached(name)
            again = ask(f"/{name}", "GET", headers={"If-None-Match": answer.headers["etag"]})
            assert (again.status_code, again.headers["cache-control"]) == (304, cached(name))
    assert ask("/", "GET").content == (folder / "index.html").read_bytes()
    assert ask("/page.webmanifest", "GET").headers["content-type"] == "application/manifest+json"


ODD = ["/nothing", "/lists", "/../pyproject.toml", "/..%2f..%2fetc%2fpasswd", "//etc/passwd", "/%00", "/docs"]


@pytest.mark.parametrize("path", ODD)
def test_what_is_not_there_is_not_sent_and_has_the_headers(ask, path):
    answer = ask(path, "GET")
    assert answer.status_code in (404, 405)
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


def test_a_failure_is_logged_by_its_type_alone(films, folder, monkeypatch, capfd):
    client = Client(films)
    ask = asking(application(folder, client))

    def fails(*_, **__):
        raise KeyError("a private id")

    monkeypatch.setattr(client, "recommend", fails)
    answer = ask("/lists", json={"ratings": {films.items[0]: 5}})
    assert answer.status_code == 500
    assert answer.headers["cache-control"] == "no-store"
    heard = capfd.readouterr()
    assert heard.err == "hushrec: a request failed (KeyError)\n"
    assert "private" not in heard.out + answer.text
