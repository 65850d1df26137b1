"""Members of zip archives, read as streams: nothing is unpacked to disk, so no path in an archive matters.

Privacy: private; errors name the archive and the member, never its content.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast
from weakref import finalize
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from hushrec.errors import DataError

_ENCRYPTED = 1  # bit 0 of the general purpose flags of the zip format

__all__ = ["File", "Member", "members"]


@dataclass(frozen=True, slots=True)
class Member:
    """A file in a zip archive.

    Attributes:
        whole: the archive, open while any of its members is in use.
        info: the archive's entry for the file.
    """

    archive: Path
    whole: ZipFile
    info: ZipInfo

    @property
    def name(self) -> str:
        return PurePosixPath(self.info.filename).name

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.info.filename).suffix

    def open(self) -> BinaryIO:
        """Open a stream of the unpacked bytes, at most as many as the archive states."""
        try:
            return cast(BinaryIO, self.whole.open(self.info))
        except (OSError, BadZipFile, RuntimeError, NotImplementedError):
            pass
        raise DataError(f"{self.archive} is damaged or cut short; fetch or pack it again")

    def __str__(self) -> str:
        return f"{self.archive}/{self.info.filename}"


File = Path | Member
"""A file on disk or in an archive."""


def members(archive: Path, pattern: str | None = None) -> list[Member]:
    """List the files in an archive, in the order of their names, without hidden ones.

    Args:
        archive: a zip archive.
        pattern: the name of a member, or a pattern with ``*`` and ``?``; None for all.
    """
    listing: list[Member] | None = None
    try:
        file = archive.open("rb")
        try:
            whole = ZipFile(file)
        except BaseException:
            file.close()
            raise
        finalize(whole, file.close)  # when its last member is forgotten, in whatever order that happens
        listing = [Member(archive, whole, info) for info in whole.infolist() if not info.is_dir()]
    except (OSError, ValueError, BadZipFile, NotImplementedError):
        pass
    if listing is None:
        raise DataError(f"{archive} is not a zip archive, or is damaged; fetch or pack it again")
    selected = sorted((member for member in listing if _wanted(member, pattern)), key=str)
    if not selected:
        raise DataError(
            f"{archive} holds no file{'' if pattern is None else ' ' + pattern}; name another one"
        )
    for member in selected:
        if member.info.flag_bits & _ENCRYPTED:
            raise DataError(f"{member} is encrypted; unpack it yourself")
        if member.info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):  # others may claim any memory
            raise DataError(
                f"{member} is packed in an unusual way; pack it again with deflate, the usual one"
            )
    return selected


def _wanted(member: Member, pattern: str | None) -> bool:
    name = member.info.filename
    if pattern is not None:
        return fnmatchcase(name, pattern)
    return not any(part.startswith((".", "_")) for part in PurePosixPath(name).parts)
