"""The client in JavaScript beside the one in Python, on the same releases and questions, in Node."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release import artefact, kinds
from hushrec.release.artefact import Release
from javascript import cases
from support.releases import closed, opened, release

pytestmark = pytest.mark.page
HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src" / "hushrec" / "javascript"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("cases")
    cases.write(made)
    return made


def run(folder):
    command = ["node", "--test", "--test-reporter=tap", str(HERE / "client.test.js")]
    return subprocess.run(
        command, env={**os.environ, "CASES": str(folder)}, capture_output=True, text=True, timeout=300
    )


def test_it_answers_as_python_does(folder):
    done = run(folder)
    assert done.returncode == 0, done.stdout
    assert f"# pass {len(cases.releases()) + 10}" in done.stdout


@pytest.mark.parametrize("name", ["factors", "clicks", "item-scores"])
def test_a_wrong_answer_is_noticed(folder, tmp_path, name):
    expected = json.loads((folder / f"{name}.json").read_text("utf-8"))
    question = next(
        q for q in expected["questions"] if q["ask"] == "recommend" and q.get("answer", {}).get("rows")
    )
    question["answer"]["rows"][0][1] += 1e-5
    (tmp_path / f"{name}.json").write_text(json.dumps(expected), encoding="utf-8")
    (tmp_path / f"{name}.safetensors").write_bytes((folder / f"{name}.safetensors").read_bytes())
    (tmp_path / "index.json").write_text(json.dumps([name]), encoding="utf-8")
    done = run(tmp_path)
    assert done.returncode == 1
    assert "but Python says" in done.stdout


def test_it_answers_as_the_vectors_of_the_format_say():
    command = ["node", "--test", "--test-reporter=tap", str(HERE / "vectors.test.js")]
    environment = {**os.environ, "VECTORS": str(HERE.parent / "vectors")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout
    assert "# pass 3" in done.stdout


PLANTED = {
    "everybody's list for ids of which none is known": ("own.js", "anyKnown || !some,", "true,"),
    "what is ignored is not told": ("own.js", "ignored.push(name);", "name;"),
    "a count below one is one": ("own.js", " || (release.counts !== null && value < 1)", ""),
    "ids of other types are texts": (
        "own.js",
        'if (typeof name === "string") return name.',
        "return String(name).",
    ),
    "a length that is no number is none": ("client.js", "Number.isInteger(n) && ", ""),
    "an id hides the titles that it is": ("client.js", "[item, ...found", "[item]; [...found"),
    "a sharp s is another letter": ("titles.js", "toUpperCase().", ""),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_noticed(folder, tmp_path, planted):
    file, right, wrong = PLANTED[planted]
    shutil.copytree(SOURCE, tmp_path / "src/hushrec/javascript")
    shutil.copytree(HERE, tmp_path / "tests/javascript")
    path = tmp_path / "src/hushrec/javascript" / file
    text = path.read_text("utf-8")
    assert text.count(right) == 1
    path.write_text(text.replace(right, wrong), encoding="utf-8")
    (tmp_path / "cases").mkdir()
    for name in ("factors", "factors-titles", "counts"):
        for ending in ("json", "safetensors"):
            shutil.copy(folder / f"{name}.{ending}", tmp_path / "cases")
    (tmp_path / "cases/index.json").write_text('["factors", "factors-titles", "counts"]', encoding="utf-8")
    command = ["node", "--test", "--test-reporter=tap", str(tmp_path / "tests/javascript/client.test.js")]
    environment = {**os.environ, "CASES": str(tmp_path / "cases")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1, done.stdout


def test_the_example_of_the_documentation_runs(tmp_path):
    page = (HERE.parents[1] / "docs" / "recommend.md").read_text("utf-8")
    example = page.partition("### In Node\n\n```js\n")[2].partition("```")[0]
    shutil.copytree(SOURCE, tmp_path / "hushrec-client")
    made = release(items=("Alien", "Heat", "Tron", "Speed"), titles=("Alien (1979)", "", "Tron (1982)", ""))
    made.save(tmp_path / "films.safetensors")
    (tmp_path / "example.mjs").write_text(example, encoding="utf-8")
    done = subprocess.run(
        ["node", "example.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert "ε = 1.25 at δ = 1e-06 per user, add-remove\n1 " in done.stdout
    assert "contribution:" in done.stdout


def test_both_clients_know_the_kinds_that_pages_show_alike():
    file = SOURCE / "kinds.js"
    script = (
        f"import {{ KINDS, POSITIVE, VALUES, WHOLE }} from '{file}';"
        "console.log(JSON.stringify([Object.entries(KINDS), [...POSITIVE], VALUES, [...WHOLE]]))"
    )
    command = ["node", "--input-type=module", "--eval", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    told, positive, values, whole = json.loads(done.stdout)
    shown = {name for name, _ in told}
    assert shown == kinds.SHOWN == {made.kind for made in cases.releases().values()}
    for name, kind in told:
        assert not set(kind["tensors"]) & set(kinds.DTYPES)  # all are F32
        assert kind["tensors"] == {tensor: list(shape) for tensor, shape in kinds.KINDS[name].items()}
        assert kind["constants"] == {constant: list(ends) for constant, ends in kinds.CONSTANTS[name].items()}
    assert (set(positive), shown - kinds.RANKERS) == (kinds.POSITIVE, {"factors"})
    assert values == {tensor: list(shape) for tensor, shape in kinds.VALUES.items()}
    assert set(whole) == set(kinds.VALUES) & set(kinds.DTYPES)
    assert {kinds.dtype_of(tensor) for tensor in whole} == {np.int32}  # I32, which JavaScript reads as well


def read(paths, client=SOURCE):
    """What the client in JavaScript says of each file."""
    script = """
        import { readFileSync } from "node:fs";
        const [client, ...paths] = process.argv.slice(1);
        const { Release } = await import(client);
        for (const path of paths) {
          try {
            await Release.from(new Uint8Array(readFileSync(path)));
            console.log("read");
          } catch (error) {
            console.log(error.name, error.message);
          }
        }
    """
    reader = (client / "artefact.js").as_uri()
    command = ["node", "--input-type=module", "-e", script, reader, *map(str, paths)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()


ACTS = "\x1b[2J"


def refused_by_both(folder, crafted, client=SOURCE):
    """What JavaScript says of files that Python refuses: of each, one fact of a release is another."""
    facts, tensors = opened(release().to_bytes())
    paths = []
    for at, (name, value) in enumerate(crafted):
        paths.append(folder / f"{at}.safetensors")
        paths[-1].write_bytes(closed({**facts, name: value}, tensors))
        with pytest.raises(ReleaseError):
            Release.open(paths[-1])
    said = read(paths, client)
    assert len(said) == len(paths) > 0
    return said


def test_it_refuses_what_readers_see_that_python_refuses(tmp_path):
    tastes = [{}, {"en": {"taste": "x"}}, {"taste": ACTS}, {"taste": 1}, "taste"]
    crafted = [("said", said) for said in tastes] + [("dimensions", 0), ("dimensions", -1)]
    for line in refused_by_both(tmp_path, crafted):
        assert "this is not a hushrec release, or it is damaged" in line


def test_it_refuses_titles_that_python_refuses(tmp_path):
    crafted = [("titles", "\n" * 2_000_000), ("features", {"genres": "\n" * 2_000_000})]
    for line in refused_by_both(tmp_path, crafted):
        assert "not one line of text for each item" in line


LEDGERS = [{"id": ["x"]}, {"id": None}, {"head": 1}, {"file": 1}, {"seq": 1.5}, {"release_index": True}]
LEDGERS += [{"contact": ACTS}]
HEADLINE = release().statement.headline
SAID = [{}, [], {"en": {"headline": HEADLINE, "sentence": "x"}}, {"headline": HEADLINE}]
SAID += [
    {"headline": HEADLINE, "sentence": "x", **odd}
    for odd in ({"sentence": ACTS}, {"story": ACTS}, {"together": ACTS}, {"headline": 1}, {"story": None})
]
FACTS = ["text", {}, {"name": 1}, {"name": ACTS}, {"name": "unprotected.seeded", "why": ACTS}]
STRANGE = [{"name": "condition.unheard"}]
STATED = [("kind", "plan"), *(("said", said) for said in SAID)]
STATED += [(name, [fact]) for name in ("caveats", "assumes", "decisions") for fact in FACTS]
STATED += [("beside", fact) for fact in FACTS] + [("caveats", "none"), ("assumes", None)]
STATED += [("caveats", STRANGE)]


def odd_statements():
    """Statements of which one field is another than Python reads."""
    told = opened(release().to_bytes())[0]["statement"]
    yield from (("statement", {**told, name: odd}) for name, odd in STATED)
    yield from (("statement", {**told, "ledger": {**told["ledger"], **odd}}) for odd in LEDGERS)


def test_it_refuses_statements_that_python_refuses(tmp_path):
    for line in refused_by_both(tmp_path, odd_statements()):
        assert "the statement of privacy is malformed" in line


def forged_headlines():
    """Statements whose headline, or a figure of it, is another than the facts give."""
    told = opened(release().to_bytes())[0]["statement"]
    said = told["said"]
    for headline in ("", "ε = 0.1", said["headline"].replace("1.25", "1"), said["headline"] + " "):
        yield "statement", {**told, "said": {**said, "headline": headline}}
    yield "statement", {**told, "said": {"sentence": said["sentence"]}}
    for more in ({"epsilon": 8.0}, {"delta": 1e-5}, {"unit": "record"}, {"adjacency": "replace"}):
        yield "statement", {**told, **more}
    yield "statement", {**told, "caveats": [{"name": "unprotected.seeded"}]}
    yield "statement", {**told, "caveats": [{"name": "groups.exact"}]}


def test_a_headline_that_is_not_that_of_the_figures_is_refused_by_both(tmp_path):
    for line in refused_by_both(tmp_path, forged_headlines()):
        assert "the headline of the statement of privacy is not that of its figures" in line


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("each(value, shown)", "each(value, text)"),
        ("  each(value, safe);", ""),
        ("  text(object(value).name);", ""),
        ("each(fields.ledger, safe);", ""),
        ('if (fields.kind !== "statement")', "if (false)"),
        ("if (beside !== null) fact(beside);", ""),
    ],
)
def test_a_statement_that_is_read_unchecked_is_noticed(tmp_path, right, wrong):
    client = shutil.copytree(SOURCE, tmp_path / "javascript")
    text = (client / "statement.js").read_text("utf-8")
    assert text.count(right) == 1
    (client / "statement.js").write_text(text.replace(right, wrong), encoding="utf-8")
    assert "read" in refused_by_both(tmp_path, odd_statements(), client)


@pytest.mark.parametrize("version", [2, 4, "3", None])
def test_it_refuses_other_versions_of_the_statement(tmp_path, version):
    told = opened(release().to_bytes())[0]["statement"]
    (line,) = refused_by_both(tmp_path, [("statement", {**told, "version": version})])
    assert "this hushrec reads 3; upgrade hushrec" in line


@pytest.mark.parametrize("kind", ["factors and people", "neighbours", "dense neighbours"])
def test_other_kinds_are_refused_in_one_sentence(tmp_path, kind):
    path = release(kind).save(tmp_path / "films.safetensors")
    assert read([path]) == [
        f"ReleaseError a release of kind '{kind}' is for Python: JavaScript reads factors, linear items and "
        "item scores; make one of these, as CovarianceSVD and PrivateEASE do"
    ]


@pytest.mark.parametrize("depth", [5_000, 1_000_000])
@pytest.mark.parametrize("ends", [True, False])
def test_brackets_in_brackets_are_refused_and_not_followed(tmp_path, depth, ends):
    facts, tensors = opened(release(settings={"deep": "HERE"}).to_bytes())
    del facts["sha256"]
    text = json.dumps(facts).replace('"HERE"', "[" * depth + "]" * depth * ends)
    path = tmp_path / "films.safetensors"
    path.write_bytes(artefact._seal(text, tensors))
    with pytest.raises(ReleaseError) as refused:
        Release.open(path)
    assert read([path]) == [f"ReleaseError {refused.value}"]


def test_other_formats_are_refused_as_in_python(tmp_path):
    facts, tensors = opened(release().to_bytes())
    path = tmp_path / "films.safetensors"
    path.write_bytes(closed({**facts, "format": 4}, tensors))
    with pytest.raises(ReleaseError) as refused:
        Release.open(path)
    assert read([path]) == [f"ReleaseError {refused.value}"]
