from hushrec.pages import recommender
from hushrec.pages.item_table import ItemTable
from hushrec.release.artefact import Release
from hushrec.service.public_releases import PublicReleases
from hushrec.service.website import RELEASE, media_of, page
from support.signed import key_file, signature


def test_the_page_is_that_of_hushrec_page(folder, tmp_path):
    latest = PublicReleases(folder).latest
    made = page(latest, None, None)
    release = tmp_path / RELEASE
    release.write_bytes(latest.path.read_bytes())
    written = recommender.write(release, tmp_path / "page")
    names = {path.relative_to(tmp_path / "page").as_posix() for path in written}
    assert made.keys() == {"/", *(f"/{name}" for name in names)}
    for name in names:
        assert bytes(made[f"/{name}"].body) == (tmp_path / "page" / name).read_bytes()
    assert made["/"] is made["/index.html"]
    assert {one.cache for one in made.values()} == {"no-cache"}


def test_the_page_checks_the_signature_by_the_key(folder):
    path = folder / "week-10.safetensors"
    text = signature(path.read_bytes(), version=10, name=path.name)
    path.with_name(path.name + ".dsse.json").write_text(text, "utf-8")
    releases = PublicReleases(folder, key_file())
    made = page(releases.latest, None, releases.key)
    assert bytes(made["/key.pem"].body).decode() == key_file()
    assert bytes(made[f"/{RELEASE}.dsse.json"].body).decode() == text


def test_titles_are_shown_of_the_items(folder):
    latest = PublicReleases(folder).latest
    items = Release.open(latest.path).items
    titles = ItemTable(items, [f"Title {n}" for n in range(len(items))])
    assert b"Title 7" in bytes(page(latest, titles, None)["/titles.json"].body)


def test_a_release_without_a_page_is_led_to(folder, monkeypatch, caplog):
    monkeypatch.setattr(recommender, "LARGEST_RELEASE", 10)
    latest = PublicReleases(folder).latest
    text = bytes(page(latest, None, None)["/"].body).decode()
    assert latest.facts.url in text
    assert latest.facts.statement_page in text
    assert latest.promise.replace("'", "&#x27;") in text
    assert "no page of the latest release" in caplog.text


def test_media_types_are_those_that_browsers_want():
    assert media_of("client.js") == "text/javascript; charset=utf-8"
    assert media_of("page.css") == "text/css; charset=utf-8"
    assert media_of("app.webmanifest") == "application/manifest+json"
    assert media_of("films.safetensors") == media_of("nothing") == "application/octet-stream"


def test_the_page_brings_the_stylesheet_of_statements(folder):
    latest = PublicReleases(folder).latest
    text = bytes(latest.statement_page.body).decode()
    assert 'href="/statement.css"' in text
    assert all("/statement.css" in page(which, None, None) for which in (latest, None))
