"""Which column is which: by usual names, a mapping or positions; what an error advises and shows."""

import polars as pl
import pytest

from hushrec.data.readers import columns
from hushrec.data.readers.columns import COUNTED, RATED, UNRATED, UNUSED, by_name, by_position, headerless
from hushrec.errors import DataError
from support.refusals import refused, rows

BOTH = {"user_id": 0, "item_id": 1}
ALL = BOTH | {"rating": 2, "timestamp": 3}


def named(names, roles=RATED, **mapped):
    return by_name(mapped, names.split(), "the table", roles)


def test_usual_names_are_recognised_and_others_mapped():
    usual = ["user_id item_id rating timestamp", "userId movieId rating timestamp"]
    usual += [
        "user item rating timestamp",
        "UserID MovieID Rating Timestamp",
        "userID itemID RATING time_stamp",
    ]
    assert all(named(names) == ALL for names in usual)
    mapped = {"user_id": 1, "item_id": 2, "rating": 3, "timestamp": 4}
    assert named("user who item rating Timestamp", user_id="who") == mapped
    for asks in ("personal_epsilon", "Epsilon", "PRIVACY"):
        assert named(f"user_id item_id rating userId {asks}") == BOTH | {"rating": 2, "personal_epsilon": 4}
    table = pl.DataFrame({"who": ["x"], "what": ["10"], "rating": [2], "user": ["not he"], "note": ["!"]})
    assert rows(table, columns={"user_id": "who", "item_id": "what"}) == [("x", "10", 2.0)]
    with pytest.raises(DataError, match="no column for item_id"):
        named("user item rating", item_id="what")
    # Of two columns that might tell what people ask for, neither may be passed over.
    with pytest.raises(DataError, match="more than one column for personal_epsilon"):
        named("user_id item_id rating personal_epsilon privacy")


def test_positions_are_usual_or_mapped_and_an_epsilon_or_a_count_is_never_guessed():
    assert by_position({}, 3, "r.dat") == BOTH | {"rating": 2}
    assert by_position({}, 4, "r.dat") == by_position({}, 9, "r.dat") == ALL
    mapped = {"user_id": 4, "item_id": 0, "rating": 1, "personal_epsilon": 2}
    assert by_position(mapped, 5, "r.dat") == mapped
    for mapped, width in (({}, 2), (BOTH, 9), (BOTH | {"rating": 3}, 3), (BOTH | {"rating": -1}, 3)):
        with pytest.raises(DataError, match=rf"r.dat: a line has {width} field"):
            by_position(mapped, width, "r.dat")


def test_a_mapping_says_whether_there_is_a_header():
    assert [headerless(mapped) for mapped in ({"user_id": 3}, {}, {"user_id": "who"})] == [True, False, False]
    with pytest.raises(DataError, match="mixes names and positions"):
        headerless({"user_id": 0, "rating": "r"})
    unknown = {"usr": RATED, "count": RATED, "rating": COUNTED, UNUSED: (*UNRATED, UNUSED)}
    for key, roles in unknown.items():
        with pytest.raises(
            DataError, match=f"unknown key '{key}'; the keys for this domain are user_id, item"
        ):
            headerless({key: "stars"}, roles)


def test_interactions_need_no_rating_which_is_found_unless_it_has_a_role():
    names, roles = "user item rating count timestamp", (*COUNTED, UNUSED)
    assert named(names, UNRATED) == BOTH | {"timestamp": 4}
    assert named(names, COUNTED) == BOTH | {"count": 3, "timestamp": 4}
    assert named(names, roles) == BOTH | {"count": 3, "timestamp": 4, UNUSED: 2}
    assert named(names, roles, count="rating") == BOTH | {"count": 2, "timestamp": 4}
    assert named("user item", roles) == by_position({}, 2, "r.txt", UNRATED) == BOTH
    # The third field is a rating, as everywhere else.
    assert by_position({}, 4, "r.txt", COUNTED) == BOTH | {"timestamp": 3}
    assert by_position({}, 4, "r.txt", roles) == BOTH | {"timestamp": 3, UNUSED: 2}
    assert by_position(BOTH, 4, "r.txt", roles) == BOTH
    few = r'too few for user_id and item_id; .*\{"user_id": 0, "item_id": 1\}\) \(--column user_id=0'
    with pytest.raises(DataError, match=few):
        by_position({}, 1, "r.txt", UNRATED)
    with pytest.raises(DataError, match=r'no column for item_id; .*\{"user_id": \.\.\., "item_id": \.\.\.\}'):
        named("user what", UNRATED)


# -- what an error advises ---------------------------------------------------------------------------------


def of_file(tmp_path, content, name="r.csv"):
    """The refusal of a file."""
    (tmp_path / name).write_text(content)
    return refused(tmp_path / name)


def test_a_first_line_that_may_be_somebodys_record_is_not_shown(tmp_path):
    titles = ("Alien,NA", "Account of a Count,NA", "Heat,4711")  # titles may hold words of columns
    heads = [f"SECRET,{cells}\nSECRET,Heat,5\n" for cells in titles]
    for content in (*heads, "userId;movieId;SECRET\nSECRET;Heat;5\n"):
        said = of_file(tmp_path, content)
        assert not any(cell in said for cell in ("Alien", "Heat", "Account", "4711", "movieId"))


def test_another_separator_is_named(tmp_path):
    fixes = {";": 'separator=";"', "\t": 'format="tsv"', "|": 'separator="|"', "::": 'format="dat"'}
    for mark, fix in fixes.items():
        for head in ("user_id item_id rating", "SECRET SECRET 5"):
            assert f"give {fix}" in of_file(tmp_path, f"{head}\nx 10 5\n".replace(" ", mark))
    assert 'commas: give format="csv"' in of_file(tmp_path, "SECRET,10,5\n", "r.dat")
    assert "check format= and separator=" in of_file(tmp_path, "SECRET\n", "r.dat")
    assert columns.divided("user_id") == ""


def test_columns_are_named_as_they_are_typed_on_the_command_line(tmp_path):
    assert "--column user_id=NAME --column item_id=NAME" in of_file(tmp_path, "user,what,rating\n")
    assert "--column user_id=0 --column item_id=1 --column rating=2" in of_file(tmp_path, "5,10,5\n")
    told = columns.named(["item_id", *(f"n{k}" for k in range(90))], ("user_id",), {"item"})
    assert "it has item_id, n0, n1," in told
    assert "n10 and 79 more; say which is which" in told
