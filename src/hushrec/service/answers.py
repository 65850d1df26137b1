"""What the service tells of releases, and of itself, as JSON."""

from typing import Literal

from pydantic import BaseModel, Field


class ReleaseFacts(BaseModel):
    """One release, and where to fetch it."""

    sha256: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of the file")
    version: int = Field(ge=0, description="only grows within a ledger: refuse less than you have seen")
    ledger: str | None = Field(description="id of the ledger that was charged, if there is one")
    bytes: int = Field(ge=0, description="size of the file")
    model: str
    feedback: str = Field(description="what a person gives: ratings or interactions")
    items: int = Field(ge=0)
    unit: str = Field(description="privacy unit: user or rating")
    adjacency: str
    epsilon: float | None = Field(description="ε of this release by itself; null if no finite ε is known")
    delta: float
    url: str
    signature: str | None = Field(description="where its DSSE envelope is, if it is signed")
    statement: str = Field(description="where its statement of privacy is as JSON")
    statement_page: str = Field(description="where its statement of privacy is as a page")


class History(BaseModel):
    """All releases, newest first."""

    releases: list[ReleaseFacts]


class Health(BaseModel):
    """Whether the service can answer, and finds what comes: if not, its status is 503."""

    status: Literal["ok", "empty", "stale"] = Field(
        description="empty: there is no release; stale: several looks into the folder failed"
    )
    releases: int = Field(ge=0)
    left_out: int = Field(ge=0, description="files of the folder that are not served; the log says why")
    looked: int = Field(ge=0, description="seconds since the last look into the folder that succeeded")
