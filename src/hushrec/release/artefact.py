"""A release: one safetensors file with its statement of privacy, checked before use.

Its facts are one text of JSON in the metadata, which begins with the SHA-256 of all bytes that follow: the
other facts, the table of the tensors, their numbers. Only the size of the header and a constant stand before
it, and with another size the tensors would not fill the file. So every byte is covered, and any language can
check it. The digest detects damage and careless edits, not forgers, who can update it: signatures do.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from hushrec import files
from hushrec.documents import html
from hushrec.documents.document import Document, Facts
from hushrec.errors import ReleaseError
from hushrec.release import kinds as contents
from hushrec.release import untrusted_json as facts_of
from hushrec.release.kinds import (
    CONSTANTS,
    KINDS,
    POSITIVE,
    RANKERS,
    are_columns,
    are_rows,
    dtype_of,
    ranges,
    shapes,
)
from hushrec.release.signature import require_signed
from hushrec.release.statement import Statement
from hushrec.text import one_line

if TYPE_CHECKING:
    from hushrec.release.synthesis.synthetic_people import SyntheticPeople

FORMAT = 8  # version of the file's layout
LARGEST_FILE = 4 * 2**30  # bytes; a larger file is refused before it is read
LARGEST_RANK = 2048  # of an item's vector; chosen by hand
LARGEST_ID = 256
"""Bytes in an id, as in a domain."""
_BEFORE = b'{"__metadata__":{"hushrec":"{\\"sha256\\":\\"'
"""The header and the tensors, between the header's size and the SHA-256."""
_START = 8 + len(_BEFORE)
_END = _START + 64
_NO_SCALE = (0.0, 1.0, 1.0)
"""Without ratings, nothing depends on their scale."""
_LINES = "there is not one line of text for each item among the titles or features"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release:
    """Everything that a user needs to predict on their own device, with the statement of privacy.

    Attributes:
        model: name of the model.
        settings: the model's settings.
        kind: the kind of predictor, a key of ``KINDS``.
        items: item ids, in the order of the tensors' rows.
        scale: (lo, hi, step) of the ratings; None if people give interactions without ratings.
        constants: public numbers that the predictor needs.
        tensors: name → array, float32 unless ``DTYPES`` says otherwise.
        statement: the statement of privacy.
        users: ids of the users whose effects and factors are among the tensors, in the order of the rows;
            empty for kinds that list no one.
        likes: the lowest rating that is a like, if interactions are likes.
        counts: the largest number of times that an item counts, if interactions are counted.
        titles: public titles of the items, "" where there is none; empty if the domain declares none.
        features: other public texts about each item, by name, such as genres.
        values: name and value of the features that explain a part of linear scores, such as genres and
            Comedy, in the order of the tensors' rows. A wide value may have several rows.
        repeated: whether ``fit`` took it from the ledger, where an earlier fit had stored it, and charged
            nothing. The file does not hold this.
        signed_by: the owner's public key by which the file's signature was checked; empty if it was not. The
            file does not hold this.

    Raises:
        ReleaseError: The parts do not match or are not finite.

    Privacy: public; post-processing of what the statement lists.
    """

    model: str
    settings: Mapping[str, Any]
    kind: str
    items: tuple[str, ...]
    scale: tuple[float, float, float] | None
    constants: Mapping[str, float]
    tensors: Mapping[str, NDArray[Any]]
    statement: Statement
    users: tuple[str, ...] = ()
    likes: float | None = None
    counts: int | None = None
    titles: tuple[str, ...] = ()
    features: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    values: tuple[tuple[str, str], ...] = ()
    repeated: bool = False
    signed_by: str = ""

    def __post_init__(self) -> None:
        rank = _checked_tensors(self)
        _check_scale(self, rank)
        _check_constants(self)
        _check_texts(self)

    @property
    def feedback(self) -> str:
        """The kind of data: "ratings" or "interactions", as for a domain."""
        return "ratings" if self.scale is not None and self.likes is None else "interactions"

    @property
    def dimensions(self) -> int:
        """Number of dimensions of taste: directions in which the lists of two people can differ.

        Exact for models that leave out what the noise hides, and an upper bound for the others (``taste``
        says which). Computed from the tensors (``contents.dimensions``).
        """
        return contents.dimensions(self.kind, self.tensors, self.constants)

    @property
    def personal(self) -> bool:
        """Whether lists depend on who asks, beyond leaving out their own items."""
        return self.dimensions > 0

    @property
    def taste(self) -> str:
        """The tastes that are left after the noise, as a sentence."""
        n_known = self.constants.get("known_factors", 0.0)
        decisions = self.statement.decisions
        learned = contents.tastes(self.dimensions, self.model, self.settings, self._noise, decisions, n_known)
        n_placed = int(self.constants.get("placed_items", 0.0))
        if not n_placed:
            return learned
        placed, them = ("1 item", "it") if n_placed == 1 else (f"{n_placed:,} items", "them")
        return f"{learned} {placed} came after the fit: features alone place {them} in lists."

    def _texts_shown(self) -> dict[str, str]:
        """Return the texts that a page shows of it, by name."""
        sentences = {"taste": self.taste}
        if not self.personal:
            sentences["why_same"] = self.why_same
        return sentences

    @property
    def why_same(self) -> str:
        """Why everybody gets the same list, without dimensions of taste."""
        return contents.why_same(self.model, self.settings, self._noise, self.statement.decisions)

    @property
    def _noise(self) -> float | None:
        """ε of the noise; None without noise. Noise that is seeded hides tastes as well."""
        return self.statement.epsilon if self.statement.measurements else None

    def require_scale(self) -> tuple[float, float, float]:
        """The scale of the ratings that are predicted.

        Raises:
            ReleaseError: the release is of interactions.
        """
        if self.scale is None or self.likes is not None:
            raise ReleaseError(
                "this release is of interactions: it ranks items and predicts no ratings; call recommend"
            )
        return self.scale

    def synthesize(
        self, n_users: int, *, seed: int = 0, mean_items: float | None = None
    ) -> "SyntheticPeople":
        """Draw synthetic people, whose rows anyone can train recommenders on.

        Args:
            n_users: number of people.
            seed, mean_items: as for ``SyntheticPeople``.

        Raises:
            ReleaseError: The release holds no model of people, or there are too many.
        """
        from hushrec.release.synthesis.synthetic_people import SyntheticPeople

        return SyntheticPeople(self, n_users, seed=seed, mean_items=mean_items)

    def to_bytes(self) -> bytes:
        """The file's bytes; the same release gives the same bytes."""
        facts: dict[str, Any] = {
            "format": FORMAT,
            "model": self.model,
            "settings": dict(self.settings),
            "kind": self.kind,
            "items": list(self.items),
            "constants": dict(self.constants),
            "statement": self.statement.to_json(),
            "dimensions": self.dimensions,  # these two follow from the others: for readers, never read back
            "said": self._texts_shown(),
        }
        lists = {"users": self.users, "scale": self.scale}
        facts |= {name: list(value) for name, value in lists.items() if value}
        optional: dict[str, Any] = {"likes": self.likes, "counts": self.counts}
        if self.titles:
            optional["titles"] = "\n".join(self.titles)
        if self.features:
            optional["features"] = {name: "\n".join(lines) for name, lines in self.features.items()}
        if self.values:
            names = zip(("features", "values"), zip(*self.values, strict=True), strict=True)
            optional["values"] = {name: "\n".join(lines) for name, lines in names}
        facts |= {name: value for name, value in optional.items() if value is not None}
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return _seal(text, self.tensors)

    def save(self, path: str | Path) -> Path:
        """Write the release as one file, whole or not at all.

        Args:
            path: ending in ``.safetensors``.

        Raises:
            ReleaseError: The name does not end in ``.safetensors``.
            OSError: The file cannot be written.
        """
        path = Path(path)
        if path.suffix != ".safetensors":
            raise ReleaseError(
                f"name it {path.name}.safetensors: the ledger finds its releases by that ending"
            )
        data = self.to_bytes()
        with files.whole(path) as file:
            file.write(data)
        return path

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The release that these bytes hold.

        Raises:
            ReleaseError: The bytes are not a release, were altered, or have another format.
        """
        table = (
            "this is a table, not a release; if it is a released data set, fit a model on it first "
            "(hushrec fit)"
        )
        damaged = "this is not a hushrec release, or it is damaged; fetch it again"
        with facts_of.parsing(table if data[:4] == b"PAR1" else damaged):
            # safetensors: 8 bytes with the size of the header, the header as JSON, then the tensors.
            size = int.from_bytes(data[:8], "little")
            facts = _facts(data[8 : 8 + size] if size <= facts_of.LARGEST else b"")
            if facts["format"] != FORMAT:
                raise ReleaseError(
                    f"this release has format {facts['format']!r}, this hushrec reads {FORMAT}; use the "
                    "version that wrote it, or release again"
                )
            # Only now, since another version may put its digest elsewhere.
            if not _is_intact(data):
                raise ReleaseError("the release was altered after it was written; fetch it again")
            if (left := facts_of.typed(facts["dimensions"], int)) < 0:
                raise ValueError("fewer dimensions than none")
            # Texts for readers of the file alone: their form is checked, and what they say is computed anew.
            facts_of.sayings(facts["said"], "taste", *([] if left else ["why_same"]))
            tensors, items = safetensors.numpy.load(data), _texts(facts["items"])
            return cls(
                model=facts_of.typed(facts["model"], str),
                settings=facts_of.typed(facts["settings"], dict),
                kind=facts_of.typed(facts["kind"], str),
                items=items,
                scale=_scale(facts["scale"]) if "scale" in facts else None,
                constants={name: facts_of.number(value) for name, value in facts["constants"].items()},
                tensors=tensors,
                statement=Statement.from_json(facts["statement"]),
                users=_texts(facts.get("users", [])),
                likes=facts_of.number(facts["likes"]) if "likes" in facts else None,
                counts=facts_of.typed(facts["counts"], int) if "counts" in facts else None,
                titles=_lines(facts["titles"], len(items)) if "titles" in facts else (),
                features={name: _lines(text, len(items)) for name, text in facts.get("features", {}).items()},
                values=_values(facts["values"], tensors) if "values" in facts else (),
            )

    @classmethod
    def open(cls, path: str | Path, *, key: str | Path | None = None) -> Self:
        """Read and check a release.

        Args:
            path: the file.
            key: the owner's public key, its file or its text: a release that it did not sign is then refused.
                The signature lies next to the release, as ``RELEASE.sig``.

        Raises:
            ReleaseError: The file is missing, too large, altered, not a release, or not signed by ``key``.
        """
        path = Path(path)
        data = files.read(path, ReleaseError, fix="name the release file itself", largest=LARGEST_FILE)
        signed_by = "" if key is None else require_signed(data, path, key)
        return replace(cls.from_bytes(data), signed_by=signed_by)

    def __repr__(self) -> str:
        people = f"{len(self.users):,} people, " if self.users else ""
        summary = f"{self.dimensions:,} taste dimensions, {self.statement.headline}"
        return f"Release({self.model}, {len(self.items):,} items, {people}{summary})"

    @property
    def gives(self) -> str:
        """What people give, as the domain declares it."""
        if self.scale is None:
            return "interactions" if self.counts is None else f"interactions counted up to {self.counts:,}"
        lo, hi, step = self.scale
        scale = f"scale {lo:g} to {hi:g} by {step:g}"
        return scale if self.likes is None else f"likes: ratings of at least {self.likes:g} on the {scale}"

    def document(self) -> Document:
        """Describe the file and its promise."""
        rows = [
            ("items", f"{len(self.items):,}"),
            ("people give", self.gives),
            ("predicts from", f"a user's own {self.feedback}"),
            ("tastes", self.taste),
            ("signature", f"checked, by the key {self.signed_by}" if self.signed_by else "not checked"),
        ]
        if self.users:
            rows.append(("people listed", f"{len(self.users):,}"))
        statement = self.statement.document()
        facts = {
            "model": self.model,
            "settings": dict(self.settings),
            "form": self.kind,
            "feedback": self.feedback,
            "n_items": len(self.items),
            "n_people": len(self.users),
            "scale": self.scale and list(self.scale),
            "likes": self.likes,
            "counts": self.counts,
            "taste": self.taste,
            "dimensions": self.dimensions,
            "signed_by": self.signed_by or None,
            "statement": statement.facts,
        }
        blocks = [Facts(rows), *statement.blocks]
        return Document("release", f"Release of {self.model}", blocks, facts=facts)

    def _repr_html_(self) -> str:
        return html.notebook(self.document())


def _checked_tensors(release: Release) -> int:
    """Check that the tensors are those of the kind, and return the rank of the factors; 0 without."""
    valued = bool(release.values)
    expected = shapes(release.kind, valued=valued) if release.kind in KINDS else {}
    if set(release.tensors) != set(expected) or (valued and release.kind != "linear items"):
        raise ReleaseError(f"kind {release.kind!r} is unknown, or its tensors are not those of this kind")
    n = len(release.items)
    # Sizes by name: what is not known yet, such as the rank, is that of the first tensor that has it.
    sizes = {"items": n, "pairs": n * (n + 1) // 2, "people": len(release.users)}
    sizes |= {"values": len(release.values), "ends of items": n + 1}
    if bool(release.users) != any("people" in dimensions for dimensions in expected.values()):
        raise ReleaseError(
            f"a release of kind {release.kind!r} lists people but must not, or must but does not"
        )
    for name, dimensions in expected.items():
        _check_tensor(name, release.tensors[name], dimensions, sizes)
    return max(sizes.get("rank", 0), sizes.get("similarity rank", 0))


def _check_tensor(
    name: str, tensor: NDArray[Any], dimensions: tuple[str, ...], sizes: dict[str, int]
) -> None:
    """Check one tensor; sizes that are still free take this tensor's."""
    shape = tuple(sizes.setdefault(d, m) for d, m in zip(dimensions, tensor.shape, strict=False))
    if tensor.dtype != dtype_of(name) or tensor.shape != shape or len(shape) != len(dimensions):
        raise ReleaseError(f"tensor {name} has the wrong type or shape")
    if not np.isfinite(tensor).all():
        raise ReleaseError(f"tensor {name} holds numbers that are not finite")
    if name in POSITIVE and (tensor <= 0).any():
        raise ReleaseError(f"tensor {name} holds numbers that are not positive")


def _check_scale(release: Release, rank: int) -> None:
    """Check what people give: the scale, the lowest like, the largest count, and that the kind is of it."""
    lo, hi, step = release.scale or _NO_SCALE
    if not lo < hi or not step > 0 or rank > LARGEST_RANK:
        raise ReleaseError("the scale is empty, or there are more factors than a release may have")
    if release.likes is not None and (release.scale is None or not lo <= release.likes <= hi):
        raise ReleaseError("the lowest rating that is a like is not on the scale")
    if release.counts is not None and (release.scale is not None or not 2 <= release.counts <= 255):
        raise ReleaseError("the largest count is out of range, or ratings are counted")
    if (release.kind in RANKERS) != (release.feedback == "interactions"):
        raise ReleaseError(f"a release of kind {release.kind!r} cannot be of {release.feedback}")


def _check_constants(release: Release) -> None:
    """Check the numbers that the predictor needs, and rows of ratings, which are on the scale."""
    lo, hi, step = release.scale or _NO_SCALE
    valued = bool(release.values)
    for name, (least, most) in ranges(release.kind, release.constants, valued=valued).items():
        if not least <= release.constants.get(name, math.nan) <= most:
            raise ReleaseError(f"the constant {name} is missing or out of range")
    if "row_starts" in release.tensors and not are_rows(
        release.tensors, len(release.items), (hi - lo) / step
    ):
        raise ReleaseError("the rows are malformed, or hold an unknown item or a rating off the scale")
    if valued and not are_columns(
        release.tensors["value_starts"], release.tensors["value_columns"], len(release.values)
    ):
        raise ReleaseError("the values of the items are malformed, or one of them is unknown")
    if "distance" in CONSTANTS[release.kind] and release.constants["distance"] % 1:
        raise ReleaseError("the constant distance is not a whole number")
    if not np.isfinite([lo, hi, step, *release.constants.values()]).all():
        raise ReleaseError("the scale or a constant is not finite")


def _check_texts(release: Release) -> None:
    """Check ids, titles and features."""
    items, users, features = release.items, release.users, release.features
    if not release.model.isprintable() or not all(map(_is_id, (*items, *users))):
        raise ReleaseError("the model's name or an id is not printable text, or an id is too long")
    texts = [*([release.titles] if release.titles else []), *features.values()]
    named = [*features, *(text for value in release.values for text in value)]
    if not all(name and one_line(name) == name for name in named) or not all(
        len(lines) == len(items) and all("\n" not in line for line in lines) for lines in texts
    ):
        raise ReleaseError(_LINES)
    if len(set(items)) != len(items) or len(set(users)) != len(users):
        raise ReleaseError("an id is repeated")


def _scale(values: Any) -> tuple[float, float, float]:
    lo, hi, step = map(facts_of.number, facts_of.entries(values))
    return lo, hi, step


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(facts_of.typed(text, str) for text in facts_of.entries(values))


def _lines(text: str, n: int) -> tuple[str, ...]:
    """Texts about items, one a line, made safe to print; counted first, as each takes more memory alone."""
    if text.count("\n") != n - 1:
        raise ReleaseError(_LINES)
    return tuple(map(one_line, text.split("\n")))


def _values(texts: Any, tensors: Mapping[str, NDArray[Any]]) -> tuple[tuple[str, str], ...]:
    """Name and value of the features that explain a part of the scores."""
    names, values = (_lines(texts[name], len(tensors["value_counts"])) for name in ("features", "values"))
    return tuple(zip(names, values, strict=True))


def _facts(header: bytes) -> Any:
    """Our metadata in the header of a safetensors file; the rest describes a few tensors."""
    outer = facts_of.parse(header.decode(), strings=0, others=1 << 14)
    return facts_of.parse(outer["__metadata__"]["hushrec"])


def _is_id(name: str) -> bool:
    try:
        return 1 <= len(name.encode()) <= LARGEST_ID
    except UnicodeEncodeError:
        return False


def _seal(text: str, tensors: Mapping[str, NDArray[Any]]) -> bytes:
    """The file of these facts, as JSON, and tensors, with its SHA-256."""
    unsealed = f'{{"sha256":"{"0" * 64}",{text[1:]}'
    arrays = {name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)}
    data = safetensors.numpy.save(arrays, {"hushrec": unsealed})
    return data[:_START] + _digest(data) + data[_END:]


def _is_intact(data: bytes) -> bool:
    """Whether the file states the SHA-256 of its bytes, in the one place for it."""
    return data[8:_START] == _BEFORE and data[_START:_END] == _digest(data)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(memoryview(data)[_END:]).hexdigest().encode()
