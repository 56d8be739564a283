"""The order of the stage reel, as data: one row a passage, each showing some of what the stage can draw."""

from __future__ import annotations

import hashlib

from measure.dataset import find_file
from scenes.film import Row
from scenes.stage.transitions.cut import Cut

OTHER_GPU = "rtx-3090-published"  # its record, beside that of the render's own GPU


def _held(name: str) -> str:
    """A measurement file by name, with a digest of its content."""
    return f"{name} {hashlib.sha256(find_file(name).read_bytes()).hexdigest()[:20]}"


ORDER: tuple[Row, ...] = (
    # The song's bridge: a plain of boxes rolls.
    Row("reel-voxels", "scenes.reel.voxels", "Voxels", 83, 4, "boxes of any size, colour and glow"),
    # Down through the brightest crest onto the boards.
    Row("reel-boards", "scenes.reel.boards", "Boards", 87, 4, "a board for any device record",
        transition=Cut("dive", 2.0, 2.0, travel=1.4), files=(_held(OTHER_GPU),)),
    # Closer, near the core.
    Row("reel-packets", "scenes.reel.packets", "PacketsOnBoard", 91, 4, "packets along paths",
        transition=Cut("glitch", 1.0, 1.0)),
    Row("reel-trails", "scenes.reel.trails", "Trails", 95, 4, "ribbons and trails, hidden by what stands before them",
        transition=Cut("streak", 1.5, 1.5, heading=12.0)),
    # The last chorus.
    Row("reel-planes", "scenes.reel.planes", "Planes", 99, 4, "text that stands in the world",
        transition=Cut("shatter", 1.5, 2.0, travel=1.2)),
    Row("reel-type", "scenes.reel.lettering", "Lettering", 103, 4, "type, live digits, labels that keep apart",
        transition=Cut("whip", 1.0, 1.0)),
    # The end: a ring opens on the dark.
    Row("reel-light", "scenes.reel.lights", "Lights", 107, 4, "glow, fog, shadow and horizon",
        transition=Cut("iris", 1.5, 1.5)),
)  # fmt: skip

ELEMENTS: tuple[str, ...] = (
    "voxels", "board and chip", "packets", "ribbons", "trails", "sprites", "text planes", "occlusion",
    "ground and horizon", "mirror", "fog", "contact shadow", "bloom", "dithering",
    "camera dolly", "camera orbit", "camera dive", "camera breath",
    "dive", "whip", "shatter", "streak", "glitch", "iris",
    "headline", "label", "number", "code", "lyric", "live digits", "label layout", "claims",
)  # fmt: skip
"""What the stage can do, by name: each is shown by a passage that lists it in `shows`; a transition by the one it leads to."""
