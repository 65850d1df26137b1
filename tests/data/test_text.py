"""Files of text: every dialect gives its records; what cannot be read is refused by row, without a cell."""

import contextlib
import csv
import gzip
import io
import os
import tracemalloc
from dataclasses import FrozenInstanceError

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.readers.sources import recognise
from hushrec.data.reading import FORMATS, PLAIN, Reading
from hushrec.errors import DataError
from support.pipes import piped
from support.refusals import DOMAIN, refused, rows

HEAD = b"user,item,rating\n"
TIMED = [("1", "10", 4.0, 100), ("1", "30", 5.0, 200), ("2", "20", 1.0, 300)]
BARE = [row[:3] for row in TIMED]


def zstd(content):
    return pa.compress(content, codec="zstd", asbytes=True)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("u.data", b"2\t20\t1\t300\n1\t10\t4\t100\n1\t30\t5\t200\n"),
        ("u1.base", b"2\t20\t1\t300\n1\t10\t4\t100\n1\t30\t5\t200"),
        ("r.dat", b"1::10::4::100\n1::30::5::200\n2::20::1::300"),
        ("r.csv", b"userId,movieId,rating,timestamp\n1,10,4,100\n1,30,5.0,200\n2,20,1.0,300\n"),
        ("r.csv", b'note,rating,"item","user"\n"a,""b""",4,"10","1"\n,"5",30,1\n"x\ny",1,20,2\n'),
        ("r.csv", b'user,item,rating,"a\nname"\n1,10,4,\n1,30,5,\n2,20,1,\n'),
        ("r.tsv", b"user\titem\trating\n1\t10\t4\n1\t30\t5\n2\t20\t1\n"),
        ("r.txt", b"1 10 4\n1 30 5\n2 20 1\n"),
        ("r.txt", b"\xef\xbb\xbf  1 \t 10  4 100\r\n\n1\t30\t5 200\n2  20   1 300"),
        ("r.csv", b"\xef\xbb\xbfuser,item,rating\n1,10,4\n\n1,30,5\n\n\n2,20,1\n\n"),
        ("u.data", b"\xef\xbb\xbf1\t10\t4\r\n\r\n1\t30\t5\r\n2\t20\t1"),
        ("r.csv", b'\n \n# made by "hand", x\n#\nuser,item,rating\n1,10,4\n1,30,5\n2,20,1\n'),
        ("r.csv", b"\xef\xbb\xbfsep=;\r\nuser;item;rating\r\n1;10;4\r\n1;30;5\r\n2;20;1\r\n"),
        ("r.csv", b"rating,user,item\r\n4,1,10\r\n5,1,30\r\n1,2,20\r\n"),
        ("r.csv", b"rating,user,item\r4,1,10\r5,1,30\r1,2,20\r"),
        ("r.csv", b"rating,user,item\r\n4,1,10\n5,1,30\r\n1,2,20"),
        ("r.csv", b"rating,user,item\n4,1,10\r\n5,1,30\n1,2,20\r\n"),
        ("u.data", b"1\t10\t4\t100\n1\t30\t5\t200\r\n2\t20\t1\t300\n"),
        ("r.csv", b"user,item,rating\n1,10,4,\n1,30,5\n2,20,1,,"),  # empty fields too many say nothing
    ],
)
def test_a_file_is_its_records_packed_or_not_or_from_a_pipe(tmp_path, name, content):
    expected = TIMED if b"300" in content else BARE
    for end, packed in {"": content, ".gz": gzip.compress(content, mtime=0), ".zst": zstd(content)}.items():
        path = tmp_path / f"{name}{end}"
        path.write_bytes(packed)
        assert rows(path) == expected
        path.unlink()
        with piped(path, [packed]):
            assert rows(path) == expected
        path.unlink()


def test_ids_are_what_the_cells_hold(tmp_path):
    ids = ["a,b", 'a"b', "a\nb", "a\r\nb", " a ", "a;b", '""', "é", "#", "\u2028", "null", "007", "7", "1e3"]
    for quoting in (csv.QUOTE_ALL, csv.QUOTE_MINIMAL):
        for ends in ("\n", "\r\n"):
            text = io.StringIO(newline="")
            writer = csv.writer(text, quoting=quoting, lineterminator=ends)
            writer.writerows([("user", "item", "rating"), *((user, "10", "1") for user in ids)])
            (tmp_path / "r.csv").write_text(text.getvalue(), encoding="utf-8", newline="")
            assert [user for user, *_ in rows(tmp_path / "r.csv")] == sorted(ids, key=str.encode)


def test_the_dialect_is_what_is_said(tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes(b"user;item;rating\n1;10;3,5\n1;30;5\n2;20;1,0\n2;30;1.000\n")
    assert rows(path, separator=";", decimal=",") == BARE  # 1.000 might be a thousand or a one: dropped
    assert rows(path, separator=";") == [("1", "30", 5.0), ("2", "30", 1.0)]
    domain = Domain(["1"], max_users=9, personal_epsilon={"v1.0": 3, "a,b": 4})
    path.write_text("user;item;epsilon\nw;1;v1.0\nx;1;a,b\ny;1;0,5\nz;1;0.5\n")
    assert [row[2] for row in rows(path, domain, separator=";", decimal=",")] == [3, 4, 0.5]
    for separator in (" ", "'", "\\", "|", "\t", "\0"):
        path.write_text(separator.join(("user", "item", "rating", "1\n1", "10", "4", "x\n")))
        assert rows(path, separator=separator) == BARE[:1]


def test_without_quotes_a_quote_is_a_letter(tmp_path):
    path = tmp_path / "r.tsv"
    path.write_bytes(b'user\titem\trating\n"weird" al\t10\t1\n"x\t20\t2\n6\'1"\t10\t3\n')
    wanted = [('"weird" al', "10", 1.0), ('"x', "20", 2.0), ("6'1\"", "10", 3.0)]
    assert rows(path, quotes=False) == wanted
    assert "row 2: a quote does not enclose a whole cell" in refused(path)
    assert "give quotes=False (--no-quotes)" in refused(path)
    path.write_bytes(b"user\titem\trating\n6'1\"\t10\t3\n")  # within a cell it is a letter in any case
    assert rows(path) == wanted[2:]


def test_positions_say_that_there_is_no_header(tmp_path):
    path, places = tmp_path / "r.csv", {"user_id": 1, "item_id": 0, "rating": 3}
    content = b"10,1,100,4\n30,1,200,5\n20,2,300,1\n"
    for start in (b"", b"\xef\xbb\xbf", b"\n\n", b"sep=,\n"):
        path.write_bytes(start + content)
        assert rows(path, columns=places | {"timestamp": 2}) == TIMED
        assert rows(path, columns=places) == BARE
    path.write_bytes(b'10,"1\n1",100,4\n')
    assert rows(path, columns=places) == [("1\n1", "10", 4.0)]


@pytest.mark.parametrize(("name", "pack"), [("r.csv", bytes), ("r.csv.gz", gzip.compress)])
def test_a_file_without_records_is_valid_whatever_it_holds(tmp_path, name, pack):
    (tmp_path / "more.csv").write_bytes(b"user,item,rating,timestamp\na,10,1,7\n")
    for content in (HEAD.strip(), HEAD.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + HEAD + b"\n", b"", b"\n\n"):
        (tmp_path / name).write_bytes(pack(content))
        assert rows(tmp_path / name) == []
        if not content.strip():
            assert len(rows([tmp_path / name, tmp_path / "more.csv"])) == 1
            assert rows(tmp_path / name, columns={"user_id": 5, "item_id": 1, "rating": 2}) == []
            assert [rows(tmp_path / name, format=format) for format in ("u.data", "dat", "text")] == [[]] * 3


def test_a_name_with_signs_of_a_pattern_is_a_name(tmp_path):
    (tmp_path / "r1.csv").write_bytes(HEAD + b"other,10,1\n")
    for name in ("r[1].csv", "r*.csv", "r?.csv", "r'1.csv", "r{1}.csv", 'r"1.csv', "é 1.csv"):
        for content in (HEAD + b"a,10,1\n", HEAD + b"a,10,1\r\n"):
            (tmp_path / name).write_bytes(content)
            assert rows(tmp_path / name) == [("a", "10", 1.0)]
    strange = os.fsdecode(os.fsencode(tmp_path) + b"/r\xff.csv")
    os.link(tmp_path / "r1.csv", strange)
    with pytest.raises(DataError, match="the name of this file is not UTF-8; rename it"):
        load(strange, DOMAIN)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.csv", HEAD + b"SECRET7,10,1\nSECRET7,10\n", "row 3: 2 field(s) where the first line has 3"),
        ("r.csv", HEAD + b"SECRET7,10,1\nSECRET7,10", "row 3: 2 field(s)"),
        ("r.csv", HEAD + b"SECRET7,10,1\nSECRET7", "row 3: 1 field(s)"),
        ("r.csv", HEAD + b"SECRET7,10,1\nSECRET7,10,1,9", "row 3: 4 field(s)"),
        ("r.csv", HEAD + b"SECRET7,10,1,9\n", "row 2: 4 field(s)"),
        ("unicode.csv", HEAD + b"Line: 99 Expected Number of Columns: 1 Found: 99,1\n", "row 2: 2 field(s)"),
        ("r.csv", b"\n# x\n" + HEAD + b"a,10,1\n\n\nSECRET7,10\n", "row 7: 2 field(s)"),
        ("r.csv", HEAD + b"SECRET7,10\nSECRET7,10,1,9\n", "row 2: 2 field(s)"),  # one short, one long
        ("r.csv", HEAD + b'"a\nb",10,1\nSECRET7,10\n', "row 3: 2 field(s)"),  # of records
        ("r.csv", HEAD + b'"SECRET7,x",10,1\n"SECRET7,10,1\n', "row 3: a quote does not enclose"),
        ("r.csv", HEAD + b'a,10,1\na,10,"SECRET7', "row 3: a quote does not enclose"),
        ("r.csv", HEAD + b'"SEC"RET7,10,1\n', "row 2: a quote does not enclose a whole cell"),
        ("r.csv", b'user,item,rating,"x\nSECRET7,10,1\n', "row 1: a quote does not enclose a whole cell"),
        ("r.csv", b'# "x", y\n# a,"SECRET7\n' + HEAD, "row 2: a quote does not enclose a whole cell"),
        ("r.csv", HEAD + b"a,10,1\nSECRET7\xff,10,1\n", "row 3: not UTF-8; convert the file"),
        ("r.csv", HEAD + "SECRET7é,10,1\n".encode("latin-1"), "row 2: not UTF-8"),
        ("r.csv", HEAD + b"a,10,1\nSECRET7\xed\xa0\x80,10,1\n", "row 3: not UTF-8"),
        ("r.csv", b"SECRET7\xff,10,1\n", "row 1: not UTF-8"),
        ("r.csv", "user,item,rating\nSECRET7,10,1\n".encode("utf-16"), "row 1: not UTF-8"),
        ("r.csv", HEAD + b"SECRET7,10,1\rSECRET7,10,1\r", "check the format, and that all lines end alike"),
        ("r.csv", b"user,item,rating\rSECRET7,x,y\nz,10,1\n", "row 1: it ends in CR, and other lines in LF"),
        ("r.csv", b"SECRET7,10,1\nSECRET7,20,1\n", "looks like data, not like a header"),
        ("r.csv", b"user,item\nSECRET7,10\n", "no column for rating; it has user, item; say which is which"),
        ("r.csv", b"user;item;rating\nSECRET7;10;1\n", 'divided by semicolons: give separator=";"'),
        ("r.csv", b"user,item,rating,rating\nSECRET7,10,1,2\n", "more than one column for rating"),
        ("r.tsv", b"user\titem\trating\nSECRET7\t10\n", "row 2: 2 field(s)"),
        ("u.data", b"1\t10\t1\t0\nSECRET7\t10\t1\n", "row 2: 3 field(s) where the first line has 4"),
        ("u.data", b"SECRET7 10 1 0\n", "1 field(s), which is too few"),
        ("r.dat", b"1::10::1::0\nSECRET7::10::1:0\n", "row 2: 3 field(s)"),
        ("r.dat", b"1\tSECRET7\t1\n", "1 field(s), which is too few"),
        ("r.txt", b"1 10 1\n\nSECRET7 10\n", "row 3: 2 field(s)"),
        ("r.txt", b"SECRET7,10,1\n", "1 field(s), which is too few"),
        ("r.csv", HEAD + b"SECRET7" * 200_000 + b",10,1\n", "row 2: over 1048576 bytes"),
        ("r.csv", b"user,item,rating," + b"SECRET7" * 200_000, "row 1: over 1048576 bytes"),
        ("r.txt", b"a 10 1\n" + b"SECRET7 " * 200_000, "row 2: "),
        ("r.csv", HEAD + b'"SECRET7,10,1\n' + b"SECRET7,10,1\n" * 200_000, "row 2: a quote does not enclose"),
        ("r.csv", HEAD + b"a,10,1\n" * 300_000 + b"SECRET7,10\n" + HEAD, "row 300002: 2 field(s)"),
        ("r.csv", HEAD + b"a,10,1\n" * 300_000 + b"SECRET\xff,10,1\n" + HEAD, "row 300002: not UTF-8"),
        (
            "r.csv.gz",
            gzip.compress(HEAD + b"a,10,1\n" * 300_000 + b"SECRET7,10\n", 1, mtime=0),
            "row 300002: 2 field",
        ),
        ("r.csv.gz", b"SECRET7", "damaged or cut short; fetch or pack it again"),
        ("r.csv.zst", b"SECRET7", "damaged or cut short"),
        ("r.csv.gz", gzip.compress(HEAD + b"SECRET7,10,1\n" * 99, mtime=0)[:-20], "damaged or cut short"),
        ("r.csv.zst", zstd(HEAD + os.urandom(200).hex().encode() * 20)[:-20], "damaged or cut short"),
    ],
)
def test_what_is_no_table_is_refused_with_its_row(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    said = refused(tmp_path / name)
    assert message in said
    assert said.startswith(str(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("ratings", {}, "does not tell the format; give format= one of csv"),
        ("ratings.xlsx", {}, "does not tell the format"),
        ("ratings.parquet.gz", {}, "damaged"),
        ("ratings.feather", {}, "Arrow IPC files are not read; give the table: pyarrow.feather.read_table"),
        ("ratings.dat", {"separator": ";"}, "separator= apply to the formats csv and tsv, not to dat"),
        ("ratings.txt", {"decimal": ","}, "apply to the formats csv and tsv"),
        ("ratings.jsonl", {"quotes": False}, "apply to the formats csv and tsv"),
        ("ratings.parquet", {"separator": ";", "decimal": ","}, "separator= and decimal= apply to"),
        ("r.csv", {"format": "xml"}, "format='xml' is unknown; the formats are csv, tsv, u.data"),
        ("r.csv", {"decimal": "·"}, "decimal='·' is not a decimal sign; give"),
        *(("r.csv", {"separator": mark}, "one ASCII character, not a quote") for mark in ("::", "", *'é"\n')),
    ],
)
def test_a_wrong_request_is_explained(tmp_path, name, options, message):
    (tmp_path / name).write_bytes(HEAD)
    with pytest.raises(DataError, match=message):
        rows(tmp_path / name, **options)


def test_what_is_said_of_files_of_text_is_named_and_stays():
    assert PLAIN.of_text == [] == Reading(columns={"user_id": "who"}, max_bytes=9).of_text
    said = Reading(format="tsv", separator=";", decimal=",", quotes=False).of_text
    assert said == ["format=", "separator=", "decimal=", "quotes="]
    assert Reading() == PLAIN
    with pytest.raises(FrozenInstanceError):
        PLAIN.decimal = ","


def test_the_name_tells_the_format(tmp_path):
    names = {"u.data": "u.data", "ua.test": "u.data", "u5.base": "u.data", "R.CSV": "csv", "r.csv.gz": "csv"}
    names |= {"a.tab.zst": "tsv", "r.dat": "dat", "r.txt": "text", "a.pq": "parquet", "r.ndjson": "jsonl"}
    assert {name: recognise(tmp_path / name) for name in names} == names
    assert set(names.values()) == set(FORMATS)


def test_the_file_at_fault_is_named(tmp_path, monkeypatch):
    for name, content in {"a": b"x,10,1\n", "b": b"SECRET,10\n", "c": b"y,20,2\n"}.items():
        (tmp_path / f"{name}.csv").write_bytes(HEAD + content)
    assert refused(f"{tmp_path}/*.csv").startswith(f"{tmp_path}/b.csv, row 2: 2 field(s)")

    def denied(*_args, **_kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hushrec.data.readers.delimited.open", denied, raising=False)
    assert "a.csv cannot be opened: Permission denied" in refused(tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["r.csv.gz", "r.txt.gz", "r.csv.zst", "r.jsonl.zst"])
def test_a_bomb_is_refused_in_bounded_memory(tmp_path, name):
    """It would unpack to 80 MB: refused at the first 64 MiB, in the memory of a few blocks."""
    content = HEAD + (b"SECRET7,10,1," + b"x" * 9_986 + b"\n") * 8_000
    (tmp_path / name).write_bytes(
        gzip.compress(content, 6, mtime=0) if name.endswith("gz") else zstd(content)
    )
    assert (tmp_path / name).stat().st_size < 500_000
    del content
    tracemalloc.start()
    said = refused(tmp_path / name)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "unpacks to over 100 times its size" in said
    assert peak < 30 << 20


def test_files_and_pipes_are_bounded_by_their_bytes(tmp_path):
    (tmp_path / "r.csv").write_bytes(HEAD + b"SECRET7,10,1\n" * 1000)
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(HEAD + b"SECRET7,10,1\n" * 1000, mtime=0))
    for name in ("r.csv", "r.csv.gz"):
        said = refused(tmp_path / name, max_bytes=9999)
        assert "more than 9999 bytes; if it should, pass a larger max_bytes" in said
        assert rows(tmp_path / name, max_bytes=99_999) == [("SECRET7", "10", 1.0)]
    for name, line in {"p.csv": b"SECRET,10,1\n", "p.txt": b"SECRET 10 1\n", "p.jsonl": b"{}\n"}.items():
        with piped(tmp_path / name, iter(lambda line=line: line * 5000, None)):  # without end
            assert "more than 9999999 bytes" in refused(tmp_path / name, max_bytes=9_999_999)
    with piped(tmp_path / "q.txt", iter(lambda: b"SECRET " * 5000, None)):
        assert "row 1: over 1048576 bytes" in refused(tmp_path / "q.txt")


BYTES = [b",", b'"', b"\n", b"\r", b"\t", b":", b" ", b"1", b"x", b"{", b"}", b"\0", b"\xff", b"\x1f"]


@settings(derandomize=True, max_examples=150, deadline=None)
@given(
    st.sampled_from(["r.csv", "r.tsv", "u.data", "r.dat", "r.txt", "r.csv.gz", "r.jsonl"]),
    st.sampled_from([b"", HEAD, HEAD.replace(b",", b"\t"), b"sep=;\n", b'{"user":1,"item":10,"rating":1}\n']),
    st.lists(st.sampled_from(BYTES)),
)
def test_any_bytes_are_read_or_refused(tmp_path_factory, name, head, parts):
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes(head + b"".join(parts))
    with contextlib.suppress(DataError):
        load(path, DOMAIN)
        return
    refused(path)
