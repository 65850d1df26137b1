"""A page that a site calls its own, in Chromium: another language, its own title and style, offline too."""

import json
import re
import shutil
from pathlib import Path

import pytest

import hushrec
from hushrec.documents.words import Words
from hushrec.pages import recommender
from hushrec.pages.page_style import PageStyle
from support.axe import faults
from support.releases import closed, opened, ranker, statement
from support.sites import released

pytestmark = pytest.mark.page
READY = "html[data-ready]"
ASSETS = Path("pages/assets/recommender")
PINK = b":root { --paper: #fff0f6 } h1 { color: rgb(176, 18, 95) }"
SAID = """() => {
    const body = document.body.cloneNode(true);
    body.querySelectorAll("[lang=en], noscript").forEach((one) => one.remove());
    const names = ["aria-label", "aria-description", "title", "alt", "placeholder"];
    const all = [...body.querySelectorAll("*")];
    const read = all.flatMap((one) => names.map((name) => one.getAttribute(name) ?? ""));
    return [document.title, body.textContent, ...read];
}"""


def rest(said):
    """Words that do not come from the texts, which are marked."""
    before = None
    while said != before:
        before, said = said, re.sub(r"⟦[^⟦⟧]*⟧", " ", said)
    return re.findall(r"[^\W\d_]{2,}", re.sub(r"SHA-256 [0-9a-f]{64}", "", said))


def marked(text):
    if isinstance(text, str):
        return f"⟦{text}⟧"
    return {name: marked(one) for name, one in text.items()}


@pytest.fixture
def marks(tmp_path, monkeypatch):
    """A language in which every text of the page is marked."""
    copy = tmp_path / "marked"
    for part in ("pages/assets", "javascript"):
        shutil.copytree(Path(hushrec.__file__).parent / part, copy / part)
    texts = copy / ASSETS / "texts"
    english = json.loads((texts / "en.json").read_text("utf-8"))
    (texts / "qq.json").write_text(json.dumps(marked(english), ensure_ascii=False), "utf-8")
    monkeypatch.setattr(recommender, "files", lambda _: copy)
    return copy


def numbered(made, titles):
    """Titles without letters, so that all letters of the page are its own."""
    table = titles(made.items)
    table.titles[:] = [str(1000 + place) for place in range(len(made.items))]
    table.genres[:] = [""] * len(made.items)
    return table


def everything(page, click):
    """All that a page of stars or likes can say, at each step."""
    yield page.evaluate(SAID)
    for nth in range(3):
        page.locator("#found > li").nth(nth).locator(click).nth(-1).click()
    page.click("#map summary")
    yield page.evaluate(SAID)
    page.locator("#own-list > li").nth(0).locator(click).nth(0).click()
    for sought in ("1", "10000000", "nothing"):
        page.fill("#search", sought)
        yield page.evaluate(SAID)
    for text in ("[]", "{}", "no", '["0"]', '{"0": 9}', '{"0": 3}'):
        page.set_input_files("#import-file", {"name": "a", "mimeType": "text/json", "buffer": text.encode()})
        page.wait_for_function("() => document.getElementById('import-file').value === ''")
        yield page.evaluate(SAID)
    page.click("#erase")
    yield page.evaluate(SAID)
    page.click("#erase-yes")
    yield page.evaluate(SAID)


def says_nothing_else(page, steps):
    for said in steps:
        assert not [word for text in said for word in rest(text)]
        assert said[1].count("⟦") > 10, "the page is in the marked language"


def test_all_that_a_page_of_stars_says_is_in_its_texts(page, visit, films, titles, marks):
    made = films()
    visit(made, titled=numbered(made, titles), style=PageStyle(lang="qq"))
    says_nothing_else(page, everything(page, "[role=radio]"))


def test_all_that_a_page_of_likes_says_is_in_its_texts(page, visit, likes, titles, marks):
    made = likes()
    visit(made, name="clicks", titled=numbered(made, titles), style=PageStyle(lang="qq"))
    says_nothing_else(page, everything(page, ".like"))


def test_a_text_in_a_script_is_noticed(page, visit, films, titles, marks):
    path = marks / ASSETS / "chooser.js"
    path.write_text(path.read_text("utf-8").replace('words("begin")', '"Some to begin with"'), "utf-8")
    made = films()
    visit(made, titled=numbered(made, titles), style=PageStyle(lang="qq"))
    with pytest.raises(AssertionError, match="Some"):
        says_nothing_else(page, everything(page, "[role=radio]"))


def test_all_that_a_refusal_says_is_in_its_texts(page, films, titles, signed, host, relist, marks):
    given = {"titles": numbered(films(), titles), "style": PageStyle(lang="qq")}
    served = host(signed(version=5, **given))
    page.goto(served.url)
    page.wait_for_selector(READY)
    page.locator("#found [role=radio]").nth(4).click()
    signed(version=6, signer=1, **given)
    page.reload()
    page.locator("#newer", has_text="⟦").wait_for()
    says_nothing_else(page, [page.evaluate(SAID)])
    page.evaluate("navigator.serviceWorker.getRegistration().then((one) => one.unregister())")
    page.evaluate("caches.keys().then((names) => Promise.all(names.map((name) => caches.delete(name))))")
    films(seed=9).save(released(served.folder))
    relist(served.folder)
    page.reload()
    page.locator("#trouble").wait_for()
    says_nothing_else(page, [page.evaluate(SAID)])


@pytest.fixture
def german(page, visit, films):
    page.emulate_media(reduced_motion="reduce")  # what fades in has too little contrast meanwhile
    return visit(films(), style=PageStyle("Filmkiste Süd", PINK, "de"))


def test_a_page_in_german_with_a_title_and_a_style_of_its_own(page, german):
    assert page.evaluate("document.documentElement.lang") == "de"
    assert page.title() == page.inner_text("h1") == "Filmkiste Süd"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(176, 18, 95)"
    page.locator("#found [role=radio]").nth(4).click()
    assert page.inner_text("#own-title") == "1 Titel bewertet"
    assert "durch 5 Sterne für" in page.inner_text("#ranked")
    assert re.fullmatch(r"\d,\d", page.locator(".expected").nth(0).inner_text())
    assert page.inner_text("#sentence").startswith("Wer diese Datei liest")
    assert "1,25 bei δ = 1e-06" in page.inner_text("#facts")
    page.click("#meaning summary")
    assert faults(page) == []
    page.click("#statement")
    assert page.evaluate("document.documentElement.lang") == "de"


PROMISED = ["sentence", "story", "protected", "unprotected"]
GERMAN = {"all": PROMISED, "nothing": [], "parts": ["story", "protected"]}
"""What a file has in German, by the name of the case."""


@pytest.fixture
def promised(page, host, films, written, relist, tmp_path):
    """Opens a German page of a file that says some of the promise in German, and looks at all of it."""

    def look(german):
        made = films(statement=statement(ledger={}))
        folder = written(made, style=PageStyle(lang="de"))
        facts, tensors = opened((tmp_path / "films.safetensors").read_bytes())
        said = facts["statement"]["said"]
        said["de"] = {name: said["de"][name] for name in german}
        release = json.loads((folder / "contents.json").read_text("utf-8"))["release"]
        (folder / release).write_bytes(closed(facts, tensors))
        relist(folder)
        page.goto(host(folder).url)
        page.wait_for_selector(READY)
        english = [said["en"][name] for name in PROMISED if name not in german]
        assert page.locator("#promise [lang=en]").all_text_contents() == english, "marked as English"
        assert page.locator("#promise [lang]").count() == len(english)
        shown = page.locator("#promise").text_content()
        assert all(said["de"][name] in shown for name in german), "said in German"

    return look


@pytest.mark.parametrize("german", GERMAN.values(), ids=GERMAN)
def test_a_promise_is_in_german_or_in_english_that_is_marked(promised, german):
    promised(german)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("others[language] ?? {}", "others.fr ?? {}"),
        ('lang: language !== "en" && "en"', "lang: false"),
        ("own[name] ?? (en[name]", "own[name] ?? (language in others ? undefined : en[name]"),
    ],
)
@pytest.mark.full
def test_a_promise_in_another_language_is_noticed(promised, planted, right, wrong):
    planted(ASSETS / "promise.js", right, wrong)
    with pytest.raises(AssertionError, match=r"as English|in German"):
        promised(GERMAN["parts"])


def test_why_lists_are_the_same_is_in_german(page, visit):
    made = ranker([f"i{k}" for k in range(30)])
    visit(made, name="popular", titled=None, style=PageStyle(lang="de"))
    assert page.inner_text("#list-note").startswith(made.tastes(Words("de")))
    assert "Listen" in made.tastes(Words("de"))
    assert page.locator("#list-note [lang]").count() == 0


def test_language_title_and_style_stay_without_a_network(page, german):
    german.stop()
    page.context.set_offline(True)
    page.reload()
    page.wait_for_selector(READY)
    assert page.title() == "Filmkiste Süd"
    assert page.inner_text("#list-title") == "Die Liste für alle"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(176, 18, 95)"


def test_a_style_reaches_no_other_host(page, visit, films, heard):
    """The policy of the page blocks what a style would fetch from elsewhere."""
    css = b'@import "https://else.where/a.css"; h1 { background: url(https://else.where/b.png) }'
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: asked.remove(request.url))
    visit(films(), style=PageStyle(css=css))
    page.wait_for_timeout(300)
    assert heard
    assert all("Content Security Policy" in line for line in heard)
    heard.clear()
    assert not [url for url in asked if "else.where" in url]
