import json
from pathlib import Path

import pytest

from support.releases import release as made_up

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def test_page_writes_a_folder_and_says_how_to_look_at_it(tmp_path, hushrec, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    made = made_up(n=4)
    made.save("films.safetensors")
    lines = [f"{item},Title {n},199{n},Drama|War,a.png" for n, item in enumerate(made.items)]
    Path("titles.csv").write_text("\n".join(["id,title,Year,genres,picture", *lines]), "utf-8")
    Path("a.png").write_bytes(PNG)
    shown = hushrec("page films.safetensors --titles titles.csv -o there").out
    assert "Wrote there" in shown
    assert "http.server -d there" in shown
    assert Path("there/index.html").is_file()
    columns = json.loads(Path("there/titles.json").read_text("utf-8"))
    assert columns["titles"] == ["Title 0", "Title 1", "Title 2", "Title 3"]
    assert columns["years"] == ["1990", "1991", "1992", "1993"]
    assert columns["genres"] == ["Drama|War"] * 4
    assert len(set(columns["pictures"])) == 1


def test_a_table_without_titles_is_refused_and_good_titles_stay(tmp_path, hushrec, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    made = made_up(n=4, titles=("Alien", "Heat", "Ran", "Solaris"), features={"year": ("1", "2", "3", "4")})
    made.save("films.safetensors")
    first, second = made.items[:2]
    Path("filme.csv").write_text(f"Nummer,Titel\n{first},Aliens\n{second},\n", "utf-8")
    line = "page films.safetensors --titles filme.csv -o there"
    assert "no column title or name: its columns are Nummer, Titel" in refused(line)
    assert not Path("there").exists()
    Path("filme.csv").write_text(f"Nummer,Title\n{first},Aliens\n{second},\n", "utf-8")
    assert "Taken from filme.csv: ids of Nummer, titles of Title" in hushrec(line).err
    columns = json.loads(Path("there/titles.json").read_text("utf-8"))
    assert columns == {"titles": ["Aliens", "Heat", "Ran", "Solaris"], "years": ["1", "2", "3", "4"]}


@pytest.mark.parametrize("separator", [";", "\t"])
def test_titles_are_read_with_their_separator(tmp_path, hushrec, refused, monkeypatch, separator):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    made = made_up(n=4)
    made.save("films.safetensors")
    lines = ["id,title,year", *(f"{item},Title {n},199{n}" for n, item in enumerate(made.items))]
    Path("titles.csv").write_text("\n".join(lines).replace(",", separator), "utf-8")
    line = "page films.safetensors -o there"
    typed = "$'\\t'" if separator == "\t" else f"'{separator}'"
    assert f"(--separator {typed}), or write it with commas" in refused(f"{line} --titles titles.csv")
    assert "give --titles as well" in refused(f"{line} --separator '{separator}'")
    hushrec(f"{line} --titles titles.csv --separator '{separator}'")
    columns = json.loads(Path("there/titles.json").read_text("utf-8"))
    assert columns == {
        "titles": [f"Title {n}" for n in range(4)],
        "years": ["1990", "1991", "1992", "1993"],
    }


def test_a_page_has_the_sites_title_and_style(tmp_path, hushrec, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made_up(n=4).save("films.safetensors")
    Path("pink.css").write_text("h1 { color: hotpink }", "utf-8")
    hushrec("page films.safetensors --title 'Söhne & Co' --css pink.css -o there")
    index = Path("there/index.html").read_text("utf-8")
    assert "<title>Söhne &amp; Co</title>" in index
    assert Path("there/own.css").read_text("utf-8") == "h1 { color: hotpink }"
    assert "own.css" in json.loads(Path("there/contents.json").read_text("utf-8"))["files"]


def test_a_signed_release_whose_page_has_no_key_is_named_wherever_the_page_goes(
    tmp_path, hushrec, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    made_up(n=4).save("films.safetensors")
    assert "Warning" not in hushrec("page films.safetensors -o first").err
    hushrec("show films.safetensors --sign owner.key --new-key")
    assert "Warning" not in hushrec("page films.safetensors --key owner.pub -o there").err
    for folder, told in ("elsewhere", "films.safetensors.sig is left out"), ("there", "theirs with --key"):
        assert told in hushrec(f"page films.safetensors -o {folder}").err
