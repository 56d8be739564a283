"""Layout of a draw record: one row of float32 that says everything about one face, line, disc or soft patch on the screen.

Edges are half planes: A[e] x + B[e] y + C[e] is the distance in px to edge e, positive inside.
"""

from __future__ import annotations

FACE, LINE, DISC, SOFT, TEXT = 0, 1, 2, 3, 4  # TEXT has a layout of its own in its first 16 places: `ink`

A, B, C = 0, 4, 8  # four edges each
GROW = 12  # per edge: 0.5, or 1.5 where the neighbouring face is drawn later and covers the seam
BEVEL = 16  # per edge: 1 = bright bevel, 0 = none
BEVEL_INVERSE = 20  # 1 / bevel width in px
HIGHLIGHT = 21  # strength of the edge light
X0, Y0 = 22, 23  # where the light is expanded
GAIN = 24  # light = c + x cx + y cy + xx cxx + xy cxy + yy cyy
COLOR = 30  # 0..255
ALPHA = 33  # alpha = c + x cx + y cy
FOG = 36  # fog = c + x cx + y cy
EMISSION = 39  # 0..255
KIND = 40
BOX = 41  # x0, y0, x1, y1 px
INNER = 45  # from this distance to every edge on, coverage is 1 and there is no bevel
GAIN_MAX = 46  # light at which the brightest channel is full: more would turn the hue
KEEP = 47  # SOFT: share of what lies beneath that is taken away at full coverage
RADIUS = 3  # DISC: centre x, y in A, A + 1
SIZE = 48
