"""Frozen settings whose errors list the valid names."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from hushrec.errors import ConfigError


class Frozen(BaseModel):
    """Base class of nested settings: immutable, without unknown names. Privacy: public."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Settings(Frozen):
    """Base class of the settings of a model or a release method.

    Raises:
        ConfigError: A setting is unknown or wrong.

    Privacy: public.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    def __init__(self, **settings: object) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            parts = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            known = ", ".join(type(self).model_fields)
            raise ConfigError(
                f"invalid settings for {type(self).__name__}: {'; '.join(parts)}; valid settings are {known}"
            ) from None

    def settings(self) -> dict[str, Any]:
        """All settings that affect the release, as JSON values."""
        return self.model_dump(mode="json")
