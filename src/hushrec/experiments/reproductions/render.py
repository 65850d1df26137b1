"""How a results page is written: a template whose parts are tables and figures, and the CSV behind them.

Privacy: private, as what is written.
"""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from hushrec.experiments.reading import Curve, summary

_TEMPLATES = Path(__file__).parent / "pages"


def page(name: str, parts: Mapping[str, str], folder: Path) -> None:
    """Write a page: its template, with the parts where it names them as ``{{ part }}``.

    Raises:
        KeyError: The template and the parts do not name the same.
    """
    text = (_TEMPLATES / f"{name}.md").read_text(encoding="utf-8")
    for part, made in parts.items():
        if f"{{{{ {part} }}}}\n" not in text:
            raise KeyError(f"the template of {name} does not name the part {part!r}")
        text = text.replace(f"{{{{ {part} }}}}\n", made)
    if "{{" in text:
        raise KeyError("the template names a part that is not made: " + text[text.index("{{") :][:60])
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def picture(drawn: str, name: str, title: str, folder: Path) -> str:
    """Write a figure; its line in a page."""
    (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
    return f"![{title}]({name}.svg)\n"


def curves(data: Mapping[str, pl.DataFrame], path: Path) -> None:
    """Write what is averaged over splits of every grid, as CSV."""
    lines = [summary(rows).with_columns(pl.lit(name).alias("grid")) for name, rows in data.items()]
    columns = ["grid", *Curve._fields, "epsilon", "splits", "runs", "rmse", "low", "high", "mae"]
    columns += ["true_epsilon", "claimed_epsilon", "fit_seconds"]
    pl.concat(lines, how="diagonal_relaxed").select(columns).write_csv(path, float_precision=5)
