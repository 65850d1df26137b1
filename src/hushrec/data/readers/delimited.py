"""Files of text before they are read: how their lines are divided, and where the first record begins.

DuckDB parses the text. It never guesses: the dialect follows from the format, the header is read here, and
what DuckDB does not read strictly is rewritten first, into an unnamed file that vanishes with its process:
a pipe, which can be read once only; fields between runs of blanks; lines that end in different ways.

Privacy: private; errors name the file and the row, never a cell.
"""

import csv
import json
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple
from weakref import finalize

import pyarrow as pa

from hushrec.data.readers.duck import BARE_QUOTE, LARGEST_RECORD, NOT_UTF8, TOO_LONG
from hushrec.data.readers.sources import COMPRESSED, Part
from hushrec.data.reading import Reading
from hushrec.errors import DataError

_CHUNK = 1 << 22  # bytes read at once: bounds the memory; chosen by hand
_MARK = b"\xef\xbb\xbf"  # of the order of bytes, before the first line
# A file may unpack to this many times its size, and always to 64 MiB. Ratings compress to a third or a tenth.
# Both limits are chosen by hand.
_MAX_RATIO = 100
_FREE_BYTES = 1 << 26


class Dialect(NamedTuple):
    """The division of a line into fields.

    Attributes:
        separator: the text between two fields.
        header: True if the first line names the columns.
        quoted: True if double quotes protect separators and line ends.
    """

    separator: str
    header: bool = False
    quoted: bool = False


DIALECTS = {
    "csv": Dialect(",", header=True, quoted=True),
    "tsv": Dialect("\t", header=True, quoted=True),
    "u.data": Dialect("\t"),
    "dat": Dialect("::"),
    "text": Dialect("\t"),  # once runs of blanks are tabs
}


@dataclass
class TextFile:
    """A file of text that DuckDB can read.

    Attributes:
        name: in errors.
        path: what DuckDB opens: the file, or the rewritten one.
        compression: gzip, zstd or none.
        dialect: the division of its lines; separator and quotes as the reading says.
        fields: of the first line: names of the columns if there is a header; else a record. None if empty.
        skipped: lines before the first record; one whose cells hold the ends of lines counts once.
    """

    name: str
    path: str
    compression: str
    dialect: Dialect
    fields: list[str] | None = None
    skipped: int = 0


def opened(part: Part, reading: Reading, *, headerless: bool) -> TextFile:
    """Open a file of text, gzipped or not, or a pipe, and read its header.

    Args:
        headerless: whether there is no header, whatever the format.
    """
    path, dialect = part.file, DIALECTS[part.format]
    dialect = Dialect(
        reading.separator or dialect.separator, dialect.header and not headerless, dialect.quoted
    )
    dialect = dialect._replace(quoted=dialect.quoted and reading.quotes)
    file = TextFile(str(path), str(path), COMPRESSED.get(path.suffix, "none"), dialect)
    if path.is_file():
        _require_size(path, file.compression, reading.max_bytes)
    if part.format == "text":
        rewrite(file, reading.max_bytes, lambda line: b"\t".join(line.split()) + b"\n")
    elif not path.is_file():
        rewrite(file, reading.max_bytes)
    _read_header(file)
    return file


def rewrite(file: TextFile, max_bytes: int, line: Callable[[bytes], bytes] | None = None) -> None:
    """Copy a file, line by line if ``line`` rewrites them, into an unnamed one, and read that instead."""
    written, reason = 0, None
    try:
        spool: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed together with the file)
        finalize(file, spool.close)
        for chunk in chunks(file, by_line=line is not None):
            written += len(chunk)
            if written > max_bytes:
                raise DataError(_too_large(file.name, max_bytes))
            spool.write(chunk if line is None else line(chunk))
        spool.flush()
    except OSError as error:  # of the temporary file: those of the other are refusals
        reason = error.strerror
    if reason is not None:
        raise DataError(
            f"temporary files cannot be written: {reason}; name another folder for them in TMPDIR"
        )
    file.path, file.compression = f"/dev/fd/{spool.fileno()}", "none"


def chunks(file: TextFile, *, by_line: bool = False) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file, or its lines."""
    try:
        with ExitStack() as stack:
            stream: Any = stack.enter_context(open(file.path, "rb"))
            if file.compression != "none":
                stream = stack.enter_context(pa.CompressedInputStream(stream, file.compression))
            rest, row = b"", 1
            while chunk := stream.read(_CHUNK):
                if not by_line:
                    yield chunk
                    continue
                if not rest and row == 1:
                    chunk = chunk.removeprefix(_MARK)
                *lines, rest = (rest + chunk).split(b"\n")
                yield from (line + b"\n" for line in lines)
                row += len(lines)
                if len(rest) > _CHUNK:  # a line is in memory
                    raise DataError(f"{file.name}, row {row}: {TOO_LONG}")
            if rest:
                yield rest
            return
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None)
    if reason:
        raise DataError(f"{file.name} cannot be opened: {reason}")
    raise DataError(f"{file.name} is damaged or cut short; fetch or pack it again")


def _require_size(path: Path, compression: str, max_bytes: int) -> None:
    """Refuse a file that unpacks to more than ``max_bytes``, or to more than 100 times its size."""
    packed = path.stat().st_size
    if compression == "none":
        if packed > max_bytes:
            raise DataError(_too_large(str(path), max_bytes))
        return
    unpacked = 0
    for chunk in chunks(TextFile(str(path), str(path), compression, DIALECTS["csv"])):
        unpacked += len(chunk)
        require_plausible(path, unpacked, max_bytes)


def require_plausible(path: Path, unpacked: int, max_bytes: int) -> None:
    """Refuse a packed file that unpacks to more than ``max_bytes``, or to more than 100 times its size."""
    if unpacked > max_bytes:
        raise DataError(_too_large(str(path), max_bytes))
    if unpacked > max(_FREE_BYTES, _MAX_RATIO * path.stat().st_size):
        raise DataError(
            f"{path} unpacks to over {_MAX_RATIO} times its size, unlike any ratings; unpack it yourself"
        )


def _too_large(name: str, max_bytes: int) -> str:
    return f"{name} unpacks to more than {max_bytes} bytes; if it should, pass a larger max_bytes"


def _read_header(file: TextFile) -> None:
    """Find the first line with fields; blank lines, comments and a spreadsheet's ``sep=;`` may precede it."""
    head = b""
    for chunk in chunks(file):
        head += chunk
        if len(head) >= LARGEST_RECORD:
            break
    ends = b"\r" if b"\r" in head and b"\n" not in head else b"\n"
    data = head.removeprefix(_MARK).split(ends)
    for row, line in enumerate(map(_decoded, data), 1):
        if line is None or head.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise DataError(f"{file.name}, row {row}: {NOT_UTF8}")
        if not line.strip():
            continue
        if file.dialect.header and line.startswith("#") and row < len(data):
            _fields(file, row, iter([line]))  # refuses a quote that would reach into the next line
            continue
        if line[:4].lower() == "sep=" and len(line) == 5 and line[4] != '"':
            file.dialect, file.skipped = file.dialect._replace(separator=line[4]), row
            continue
        if len(line) >= LARGEST_RECORD - 2:
            raise DataError(f"{file.name}, row {row}: {TOO_LONG}")
        if "\r" in line:  # what follows may be a record
            raise DataError(
                f"{file.name}, row {row}: it ends in CR, and other lines in LF; write one of them"
            )
        file.fields = _fields(file, row, map(_decoded, data[row - 1 :]))
        file.skipped = row if file.dialect.header else file.skipped
        return


def _decoded(line: bytes) -> str | None:
    with suppress(UnicodeDecodeError):
        return line.removesuffix(b"\r").decode()
    return None


def _fields(file: TextFile, row: int, lines: Iterator[str | None]) -> list[str]:
    """Divide the first record, which may take several lines: a quoted cell may hold their ends."""
    if not file.dialect.quoted:
        return (next(lines) or "").split(file.dialect.separator)
    with suppress(csv.Error):
        separator = file.dialect.separator
        return next(csv.reader((f"{line}\n" for line in lines), delimiter=separator, strict=True))
    raise DataError(f"{file.name}, row {row}: {BARE_QUOTE}")


def mend_ends(file: TextFile) -> bool:
    """Rewrite a file whose lines end in CR LF and in LF alone, which DuckDB does not read; return whether."""
    mixed = has_mixed_ends(file)
    if mixed:
        rewrite(file, 1 << 62, lambda line: line[:-2] + b"\n" if line.endswith(b"\r\n") else line)
    return mixed


def has_mixed_ends(file: TextFile) -> bool:
    """Return True if some lines end in CR LF and others in LF alone, which DuckDB does not read."""
    both, last = 0, b""
    lone = False
    for chunk in chunks(file):
        chunk = last + chunk
        last = chunk[-1:] if chunk.endswith(b"\r") else b""
        pairs = chunk.count(b"\r\n")
        both += pairs
        lone = lone or chunk.count(b"\n") > pairs
    return lone and both > 0


def has_records(file: TextFile | None) -> bool:
    """Return True if a file has a line that is not blank."""
    return file is not None and any(line.strip(_MARK + b" \t\r\n") for line in chunks(file, by_line=True))


def json_fault(file: TextFile) -> str:
    """Say which line of a file is the first that is not one JSON object; empty if all are."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(read := dict(pairs)) < len(pairs):
            raise ValueError
        return read

    for row, line in enumerate(chunks(file, by_line=True), 1):
        where = f"{file.name}, row {row}"
        if len(line) > LARGEST_RECORD:
            return f"{where}: {TOO_LONG}"
        try:
            text = line.removeprefix(_MARK if row == 1 else b"").decode()
        except UnicodeDecodeError:
            return f"{where}: {NOT_UTF8}"
        if not text.strip():
            continue
        with suppress(ValueError, RecursionError):
            read = json.loads(text, object_pairs_hook=once)
            json.dumps(read, ensure_ascii=False).encode()  # half a surrogate pair is no text
            if isinstance(read, dict):
                continue
        return f"{where}: this line is not one JSON object; write one for each record"
    return ""
