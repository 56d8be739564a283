"""A module whose import fails."""

from scenes.stage.palette import no_such_colour  # type: ignore[attr-defined]  # noqa: F401
