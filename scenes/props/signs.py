"""Signs: text planes of the world, each with an opacity of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scenes.stage.plane import TextPlane
from scenes.stage.world import World

Sign = tuple[TextPlane | Callable[[float], TextPlane], Callable[[float], float]]


@dataclass(frozen=True, slots=True)
class Signs:
    """Planes, still or moving with the beat, each drawn while its opacity is above 0."""

    signs: Sequence[Sign]

    def draw(self, world: World, beat: float) -> None:
        for plane, shown in self.signs:
            opacity = shown(beat)
            if opacity > 0.004:
                world.add((plane(beat) if callable(plane) else plane).shown(opacity))
