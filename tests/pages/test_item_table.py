"""Public titles of items, and their pictures."""

import pytest

from hushrec.errors import ReleaseError
from hushrec.pages.item_table import LARGEST_PICTURE, ItemTable

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def table(**columns):
    return ItemTable(["a", "b"], ["Alien", "Heat"], **columns)


def test_a_catalogue_takes_its_own_items_in_its_order():
    found = table(years=["1979", "1995"]).of(["b", "missing", "a"])
    assert found.titles == ["Heat", "", "Alien"]
    assert found.to_json() == {"titles": ["Heat", "", "Alien"], "years": ["1995", "", "1979"]}


def test_where_the_table_has_nothing_what_is_held_stays():
    held = {"titles": ["Heat (held)", "Ran", "Alien (held)"], "years": ["1995", "1985", ""], "genres": ()}
    found = ItemTable(["a", "b"], ["Alien", ""]).of(["b", "missing", "a"], held)
    assert found.to_json() == {"titles": ["Heat (held)", "Ran", "Alien"], "years": ["1995", "1985", ""]}


def test_texts_are_made_safe_to_show_on_one_line():
    found = ItemTable(["a"], ["Two\n lines \x1b[2J"]).of(["a"])
    assert found.titles == ["Two lines \\x1b[2J"]


def test_a_table_of_another_catalogue_is_refused():
    with pytest.raises(ReleaseError, match="none of the 2 ids"):
        table().of(["c"])


def test_columns_of_other_lengths_are_refused():
    for columns in ({"years": ["1979"]}, {"pictures": ["a.png"] * 3}):
        with pytest.raises(ReleaseError, match="one of each"):
            table(**columns)
    with pytest.raises(ReleaseError, match="one of each"):
        ItemTable(["a"], [])


@pytest.mark.parametrize(
    "name",
    [
        "https://else.where/a.png",
        "//else.where/a.png",
        "data:image/png;base64,AA",
        "/etc/a.png",
        "../a.png",
        "\\\\x\\a",
    ],
)
def test_a_picture_from_elsewhere_is_refused(name):
    with pytest.raises(ReleaseError, match="not a file next to"):
        table(pictures=["", name])


def test_a_picture_is_read_from_the_folder_of_the_table(tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    assert table(pictures=["a.png", ""], folder=tmp_path).picture(0) == ("png", PNG)


def test_what_is_no_small_picture_is_refused(tmp_path):
    folder = tmp_path / "beside"
    folder.mkdir()
    (tmp_path / "out.png").write_bytes(PNG)
    (folder / "link.png").symlink_to(tmp_path / "out.png")
    (folder / "drawing.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>")
    (folder / "sound.webp").write_bytes(b"RIFF\0\0\0\0WAVE")
    (folder / "huge.png").write_bytes(PNG + bytes(LARGEST_PICTURE))
    for name in ("link.png", "drawing.svg", "sound.webp", "huge.png"):
        with pytest.raises(ReleaseError, match="is not a PNG"):
            table(pictures=[name, ""], folder=folder).picture(0)
    with pytest.raises(ReleaseError, match="cannot be read: No such file"):
        table(pictures=["gone.png", ""], folder=folder).picture(0)
