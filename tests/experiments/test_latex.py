import math
import re

import polars as pl
import pytest

from hushrec.experiments import latex
from hushrec.experiments.reading import summary

PLACE = {
    "unit": "rating",
    "adjacency": "add-remove",
    "analysis": "corrected",
    "delta": 1e-6,
    "settings": "{}",
}
EXACT = {"unit": None, "adjacency": None, "analysis": None, "delta": None, "model": None}


def rows(splits=2):
    """Two curves and a reference: of RMSE the first is best at 1, the second at 2; of ndcg the reverse."""
    found = []
    for split in range(splits):
        for name, at in (("A & B_1", {1.0: 0.90, 2.0: 0.85}), ("ε-free", {1.0: 0.95, 2.0: 0.80})):
            for epsilon, error in at.items():
                facts = {**PLACE, "name": name, "model": "GlobalEffects", "epsilon": epsilon}
                found.append({**facts, "split": split, "rmse": error + split / 100, "ndcg@9": error})
        exact = {**PLACE, **EXACT, "settings": None, "name": "item average", "epsilon": float("inf")}
        found.append({**exact, "split": split, "rmse": 1.0, "ndcg@9": 0.5})
    seconds = {
        name: pl.lit(1.0) for name in ("fit_seconds", "predict_seconds", "true_epsilon", "claimed_epsilon")
    }
    return pl.DataFrame(found, infer_schema_length=None).with_columns(**seconds)


def lines(text):
    return [line[:-3].split(" & ") for line in text.splitlines() if line.endswith(r" \\")]


def test_the_best_of_a_line_is_bold_and_has_its_interval():
    made = latex.tables(rows(), "made-up")
    first, second = made.split(r"\end{table}")[:2]
    head, one, two, reference = lines(first.replace(r"A \& B", "A and B"))
    assert head == [r"$\varepsilon$", r"A and B\_1", r"$\varepsilon$-free"]
    assert re.fullmatch(r"\$\\mathbf\{0\.9050\}_\{-0\.\d{4}\}\^\{\+0\.\d{4}\}\$", one[1])
    assert "mathbf" not in one[2]
    assert ["mathbf" in cell for cell in two[1:]] == [False, True]
    assert reference[0] == "item average"
    assert r"\multicolumn{2}{c}{$1.0000_{-0.0000}^{+0.0000}$}" in reference[1]
    _, one, two, _ = lines(second.replace(r"A \& B", "A and B"))
    assert ["mathbf" in cell for cell in (*one[1:], *two[1:])] == [False, True, True, False]  # more is better


def test_numbers_are_those_of_the_summary():
    line = summary(rows()).row(0, named=True)
    cell = latex._cell(line, "rmse")
    assert cell == f"$0.9050_{{-{0.905 - line['low']:.4f}}}^{{+{line['high'] - 0.905:.4f}}}$"


def test_of_one_split_there_is_no_interval_and_the_caption_says_so():
    made = latex.tables(rows(1), "made-up")
    assert r"$\mathbf{0.9000}$" in made
    assert "one split, so no intervals" in made


def test_captions_say_what_it_is_about():
    caption = re.search(r"\\caption\{(.*)\}", latex.tables(rows(), "ml_1m 50 %")).group(1)
    for fact in (
        r"ml\_1m 50 \%",
        "unit rating",
        "adjacency add-remove",
        r"$\delta$ = 1e-06",
        "over 2 splits",
    ):
        assert fact in caption
    assert r"A \& B\_1: GlobalEffects" in caption


def test_it_is_latex_by_form():
    made = latex.tables(rows(), "50 % of #1_{~^<>$}\\")
    body = "\n".join(line for line in made.splitlines() if not line.startswith("%"))
    assert body.isascii()
    for name in ("table", "tabular"):
        assert made.count(rf"\begin{{{name}}}") == made.count(rf"\end{{{name}}}") == 2
    plain = re.sub(r"\\[{}$%&#_]", "", body)
    assert plain.count("{") == plain.count("}")
    assert plain.count("$") % 2 == 0
    columns = re.findall(r"begin\{tabular\}\{(\w+)\}", made)
    for table, wanted in zip(made.split(r"\end{table}"), columns, strict=False):
        cells = [re.sub(r"\\&", "", line) for line in table.splitlines() if line.endswith(r"\\")]
        for line in cells:
            spans = sum(int(n) - 1 for n in re.findall(r"multicolumn\{(\d)\}", line))
            assert line.count("&") + 1 + spans == len(wanted)


@pytest.mark.parametrize(
    ("given", "shown"), [("a_b", r"a\_b"), ("\\", r"\textbackslash{}"), ("ε", r"$\varepsilon$")]
)
def test_signs_are_printed_as_they_are(given, shown):
    assert latex.text(given) == shown


def test_noise_without_a_known_epsilon_is_marked_and_never_bold():
    own = rows().with_columns(
        true_epsilon=pl.when(name="ε-free").then(math.inf).otherwise("epsilon"),
    )
    first = latex.tables(own, "made-up").split(r"\end{table}")[0]
    head, one, two, _ = lines(first.replace(r"A \& B", "A and B"))
    assert head[2] == r"$\varepsilon$-free $\dagger$"
    assert ["mathbf" in cell for cell in (*one[1:], *two[1:])] == [True, False, True, False]
    caption = re.search(r"\\caption\{(.*)\}", first).group(1)
    assert r"$\dagger$ no $\varepsilon$ is known for $\varepsilon$-free: not private" in caption
    assert "NOT PRIVATE: measured on held-out data." in caption


def test_a_model_without_a_curve_stands_below():
    bare = {
        "name": "plain",
        "model": "MatrixFactorization",
        "settings": "{}",
        "analysis": "corrected",
        "epsilon": math.inf,
    }
    reference = rows().filter(name="item average")
    added = reference.with_columns(**{name: pl.lit(value) for name, value in bare.items()})
    both = pl.concat([rows().with_columns(pl.col("true_epsilon")), added])
    first = latex.tables(both, "made-up").split(r"\end{table}")[0]
    assert lines(first)[-1][0] == "plain"
    assert "plain: MatrixFactorization" in first
    assert r"$\infty$" not in first
    alone = latex.tables(added, "made-up")
    assert r"plain & \multicolumn{1}{c}{$1.0000" in alone
    assert r"\delta" not in alone
