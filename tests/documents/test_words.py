"""The words of guarantees: each has its code, each call its sentence, and each language the same figures."""

import ast
import json
import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

import hushrec
from hushrec.documents import html, terminal
from hushrec.documents.document import Document, Section
from hushrec.documents.words import LANGUAGES, Clause, Said, Words, english, texts
from hushrec.errors import ConfigError
from hushrec.figures import Number, above
from hushrec.release.statement import Local, Measured, Promised
from support.releases import statement

LAB = Path(__file__).parents[2] / "lab"
SAYING = {"words", "english", "Clause"}
"""Calls whose first argument names a sentence."""
ENGLISH_ALONE = "plan", "ledger", "holds", "checklist"
"""What no other language says yet: whole tables of the texts."""
FOREIGN = [lang for lang in LANGUAGES if lang != "en"]
FIGURES = {
    **dict.fromkeys(("n", "order", "max_per_user", "counts"), (2, "2", "2")),
    **dict.fromkeys(("n_items", "n_users", "max_users", "users", "events"), (150000, "150,000", "150.000")),
    **dict.fromkeys(("lo", "step", "likes", "threshold"), (0.5, "0.5", "0,5")),
    "hi": (5.0, "5", "5"),
    "epsilon": (1.25, "1.25", "1,25"),
    "delta": (1.25e-06, "1.25e-06", "1,25e-06"),
}
"""Values that are numbers, and how English and German write them; all others are text."""
IN_ENGLISH_ONLY = {
    "the",
    "of",
    "is",
    "are",
    "and",
    "with",
    "from",
    "for",
    "by",
    "what",
    "which",
    "each",
}


def names(text):
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def values_of(key):
    told = {name: FIGURES.get(name, (f"<{name}>",))[0] for name in names(texts("en")[key])}
    return told | ({"given": "interactions"} if "given" in told else {})


def everything_said():
    """Statements that together have every block there is."""
    sampled = Measured("v", "posterior sample", 5.0, 10.0, 12, 1.0, 0.5)
    cells = Measured("rows", "randomized response", 1.0, 0.5, 12, 1.0, 2.0)
    ledger = {**statement().ledger, "total_epsilon": 4.0, "total_delta": 1e-6, "spent_epsilon": 1.25}
    dated = {**ledger, "date": "2026-11-25", "population": "Our subscribers"}
    beside = {"model": "CovarianceSVD", "unit": "user", "adjacency": "add-remove"}
    yield statement(ledger=ledger, assumes=(Clause("assumes.cap", {"max_per_user": 5, "given": "ratings"}),))
    yield statement(ledger={**dated, "part": 1, "parts": 4}, unit="record", interactions=True)
    yield statement(
        measurements=(sampled,),
        caveats=(Clause("convergence.sample", {"names": "v"}), Clause("author.foreign", {"names": "mine.M"})),
        diagnostics={"R̂": 1.0625, "verdict": "NOT CONVERGED"},
    )
    yield statement(
        adjacency="replace-items",
        measurements=(cells,),
        epsilon=2.0,
        local=Local("cell", 1.0, 0.5, 0.75, 2, 0.25),
        caveats=(Clause("groups.exact"),),
        beside=Clause("beside.release", {**beside, "epsilon": 1.5, "delta": 1e-6}),
    )
    yield statement(personal_epsilon=True, classes=(Promised("strict", 0.5, 0.25, 0.49999),))
    yield statement(caveats=(Clause("unprotected.exact"),), measurements=(), epsilon=math.inf, ledger={})


def written(document):
    """The document by every writer, with its signs as they are read."""
    found = {
        "terminal": terminal.text(document.blocks),
        "page": html.page(document),
        "notebook": html.notebook(document),
    }
    return {name: " ".join(text.split()) for name, text in found.items()}


# -- every sentence has its code, and every call its sentence ----------------------------------------------


def asked(node: ast.expr, scope: ast.AST) -> Iterator[str]:
    """Patterns of the names that an argument can be: text, an f-string, a choice, or a variable of these."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield re.escape(node.value)
    elif isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else None for part in node.values]
        yield "".join("([^.]+)" if part is None else re.escape(str(part)) for part in parts)
    elif isinstance(node, ast.IfExp):
        yield from asked(node.body, scope)
        yield from asked(node.orelse, scope)
    elif isinstance(node, ast.Name):
        for one in ast.walk(scope):
            if isinstance(one, ast.Assign) and node.id in [
                t.id for t in one.targets if isinstance(t, ast.Name)
            ]:
                yield from asked(one.value, one)


@cache
def code() -> tuple[dict[str, str], frozenset[str]]:
    """The patterns that calls ask for, with the file of each; and every text that stands in the code."""
    patterns: dict[str, str] = {}
    constants = set()
    own = [path for path in LAB.rglob("*.py") if "tests" not in path.relative_to(LAB).parts]
    for path in [*Path(hushrec.__file__).parent.rglob("*.py"), *own]:
        tree = ast.parse(path.read_text("utf-8"))
        nodes = [*ast.walk(tree)]
        constants |= {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        for scope in nodes:
            if not isinstance(scope, ast.FunctionDef | ast.Module):
                continue
            for call in ast.walk(scope):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in SAYING:
                    first = call.args[0] if call.args else call.keywords[0].value
                    patterns |= dict.fromkeys(asked(first, scope), path.name)
    return patterns, frozenset(constants)


def spoken():
    """Every name that a call may give: where a number chooses, it is the part before `one` and `other`."""
    pairs = {
        key.removesuffix(".one") for key in texts("en") if f"{key.removesuffix('.one')}.other" in texts("en")
    }
    return {key.rpartition(".")[0] if key.rpartition(".")[0] in pairs else key for key in texts("en")}


def test_every_sentence_that_code_asks_for_exists():
    patterns, _ = code()
    assert len(patterns) > 100, "the calls are not found any more"
    keys = spoken()
    lost = {name: file for name, file in patterns.items() if not any(re.fullmatch(name, key) for key in keys)}
    assert lost == {}


def test_every_sentence_is_said_by_code():
    """By its name; or by the pattern of an f-string, with parts that stand in the code."""
    patterns, constants = code()

    def said(key):
        found = (re.fullmatch(name, key) for name in patterns)
        return key in constants or any(m and constants.issuperset(m.groups()) for m in found)

    assert {key for key in spoken() if not said(key)} == set()


# -- languages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", FOREIGN)
def test_a_language_has_the_sentences_of_english_with_the_same_figures(lang):
    own = texts(lang)
    assert own.keys() <= texts("en").keys()
    assert {key for key in own if names(own[key]) != names(texts("en")[key])} == set()
    assert {key for key in own if own[key].strip() != own[key] or not own[key]} == set()
    ends = {key for key in own if texts("en")[key].endswith(".") != own[key].endswith(".")}
    assert ends == set(), "a sentence ends where the others begin"


@pytest.mark.parametrize("lang", FOREIGN)
def test_a_language_lacks_no_sentence_but_whole_parts(lang):
    missing = texts("en").keys() - texts(lang).keys()
    assert {
        key for key in missing if not key.startswith(tuple(f"{part}." for part in ENGLISH_ALONE))
    } == set()


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_sentence_says_all_its_values_as_the_language_writes_them(lang):
    words, place = Words(lang), ("en", "de").index(lang)
    for key in texts(lang):
        values, name = values_of(key), key if key in spoken() else key.rpartition(".")[0]
        if key.endswith(".one") and name != key:
            continue  # its other form says no less
        said = words(name, **{"n": 2, **values})
        assert not {"{", "}"} & set(said)
        for value in values:
            written = FIGURES[value][1 + place] if value in FIGURES else f"<{value}>"
            if value == "given":
                written = texts(lang)["given.interactions.many"]
            assert written in said, (key, value)


def test_a_clause_says_the_same_after_it_was_written():
    for key in texts("en"):
        clause = Clause(key, values_of(key))
        read = Clause.from_json(json.loads(json.dumps(clause.to_json())))
        assert read == clause
        for lang in LANGUAGES:
            if key in spoken():
                assert Words(lang).clause(read) == Words(lang).clause(clause)


@pytest.mark.parametrize("lang", FOREIGN)
def test_a_statement_is_said_in_the_language_from_its_first_to_its_last_word(lang):
    for one in everything_said():
        document = one.document(lang)
        assert document.lang == lang
        for text in written(document).values():
            assert texts("en")["untranslated"] not in text
            assert texts(lang)["untranslated"] not in text
            assert "{" not in text.partition("</style>")[2]
        words = set(re.findall(r"\b[a-z]+\b", written(document)["terminal"].lower()))
        assert words & IN_ENGLISH_ONLY == set()
        assert one.to_json()["said"][lang].keys() == one.to_json()["said"]["en"].keys()
        for name, text in one.sentences(Words(lang)).items():
            assert text != one.sentences(english)[name]


@pytest.mark.parametrize("lang", FOREIGN)
def test_what_a_language_lacks_is_said_in_english_marked_and_confessed(lang, monkeypatch):
    whole = statement(assumes=(Clause("assumes.settings", {"given": "interactions"}), Clause("assumes.new")))
    assert not any(getattr(item, "lang", "") == "en" for item in _points(whole.document(lang)))
    monkeypatch.delitem(texts(lang), "assumes.settings")
    words = Words(lang)
    said = words.clause(whole.assumes[0])
    assert (said, said.lang) == (english.clause(whole.assumes[0]), "en"), "nor one word of the language in it"
    assert words.fell_back
    document = whole.document(lang)
    assert document.blocks[-1].text == texts(lang)["untranslated"]
    assert [item.lang for item in _points(document)] == ["en", lang]
    assert f'<li lang="en">{english.clause(whole.assumes[0])}</li>' in html.page(document)
    assert whole.document("en").blocks[-1] != document.blocks[-1]
    kept = Words(lang)
    assert kept.clause(whole.assumes[1]).lang == lang
    assert not kept.fell_back


def _points(document):
    sections = [block for block in document.blocks if isinstance(block, Section)]
    return [item for section in sections for block in section.blocks for item in getattr(block, "items", ())]


def test_a_language_that_there_is_not_is_refused():
    with pytest.raises(ConfigError, match="no statements in 'tlh'; choose one of de, en"):
        Words("tlh")


def test_sentences_that_are_joined_are_english_where_one_of_them_is():
    words = Words("de")
    assert words.join([Said("Eins.", "de"), "", Said("Zwei.", "de")]) == "Eins. Zwei."
    assert words.join([Said("Eins.", "de"), Said("Zwei.", "de")]).lang == "de"
    assert words.join([Said("Eins.", "de"), Said("Two.", "en")]).lang == "en"


def test_numbers_are_written_as_the_language_does():
    assert Words("de").number(1_234_567) == "1.234.567"
    assert Words("de").number(Number("1,234.5")) == "1.234,5"
    assert Words("de").number(0.25) == "0,25"
    assert english.number(1_234_567) == "1,234,567"
    assert Words("de")("times.factor", factor="1.5") == "1.5-mal", "a text is not a number"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_number_chooses_between_one_and_other(lang):
    words = Words(lang)
    for n, form in ((1, "one"), ("1", "one"), (2, "other"), (0, "other"), (1000, "other")):
        assert words("local.user_slot", n=n) == texts(lang)[f"local.user_slot.{form}"].format(
            n=words.number(n)
        )


# -- a sentence as a field -----------------------------------------------------------------------------------


def test_a_clause_is_known_by_its_name_and_exactly_its_values():
    own = {"max_per_user": 500, "given": "ratings"}
    assert Clause("assumes.cap", own).is_known
    assert Clause("assumes.new").is_known
    assert Clause("assumes.cap", own).kind == "assumes"
    assert not Clause("assumes.made_up", own).is_known
    assert not Clause("assumes", own).is_known
    assert not Clause("assumes.cap", {"max_per_user": 500}).is_known
    assert not Clause("assumes.cap", own | {"more": 1}).is_known
    assert not Clause("assumes.new", {"text": "nothing is assumed"}).is_known


@pytest.mark.parametrize(
    "value", [None, True, [500], {"max_per_user": 500}, math.inf, math.nan, 10**400], ids=repr
)
def test_a_clause_is_not_known_by_what_is_neither_text_nor_a_finite_number(value):
    assert not Clause("assumes.cap", {"max_per_user": value, "given": "ratings"}).is_known


def test_a_clause_names_unit_and_adjacency_in_its_language():
    values = {"model": "M", "epsilon": "1", "delta": "0", "unit": "user", "adjacency": "add-remove"}
    said = Words("de").clause(Clause("beside.release", values))
    assert said.endswith("Einheit Person, Nachbarschaft Hinzufügen oder Entfernen)")
    assert english.clause(Clause("beside.release", values)).endswith("per user, add-remove)")
    assert "Einheit <b>" in Words("de").clause(Clause("beside.release", values | {"unit": "<b>"}))


def test_a_figure_stands_for_itself_in_json():
    clause = Clause("holds.renyi", {"order": above(1.5)})
    assert json.loads(json.dumps(clause.to_json())) == {"name": "holds.renyi", "order": "1.5"}
    assert len({clause, Clause.from_json(clause.to_json())}) == 1


# -- one line changes every document -----------------------------------------------------------------------


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_sentence_is_changed_everywhere_by_one_line(lang, monkeypatch):
    """In a terminal, on a page, in a notebook, and in what a release's page shows."""
    made, new = statement(), "Ganz anders & neu: {about}, {other}, {what}."
    before = written(made.document(lang))
    monkeypatch.setitem(texts(lang), "grade.something", new)
    words = Words(lang)
    about, other = (words(f"pair.user.add-remove.{part}") for part in ("about", "other"))
    said = new.format(about=about, other=other, what=words("what.file"))
    for writer, text in written(made.document(lang)).items():
        assert said.replace("&", "&amp;" if "<p>" in text else "&") in text, writer
        assert "Ganz anders" not in before[writer]
    assert said in made.to_json()["said"][lang]["sentence"]


def test_a_notebook_and_a_page_of_another_language_say_so():
    document = statement().document("de")
    assert '<html lang="de">' in html.page(document)
    mixed = Document("statement", document.title, document.blocks, lang="en")
    assert 'lang="de"' in html.notebook(mixed)
