"""Who is drawn before whom: a painter's order of boxes, ribbons and sprites, far to near.

Two disjoint axis-aligned boxes are separated by an axis plane, and the one on the eye's side of it cannot be hidden by the
other. Every pair whose bounds on the screen meet gives such a constraint, and a topological sort gives the order. It is exact
unless boxes hide each other in a ring; the rings are counted, and there, as among free items, the farther is drawn first. Boxes
that overlap are separated along the axis of least penetration, so that flying boxes which graze each other do not flicker.
"""

from __future__ import annotations

import math

import numpy as np

from scenes.stage.ink import BESIDE, IN_PLANE, NO_PLANES, box_corners, plane_relation
from scenes.stage.jit import Array, f4, i8, kernel

TOUCH = f4(1e-4)  # world units of overlap that count as touching: float32 rounding of neighbouring boxes
LEAST_PROBES, MOST_PROBES = 4, 48


@kernel
def _relation(lo: Array, hi: Array, i: int, j: int, eye: Array) -> int:
    """1: box i before j, -1: j before i, 0: neither can hide the other."""
    first = False
    second = False
    separated = False
    best = f4(-1e30)
    axis = 0
    for c in range(3):
        below = lo[j, c] - hi[i, c]  # gap where i is on the low side
        above = lo[i, c] - hi[j, c]
        gap = max(below, above)
        if gap > best:
            best = gap
            axis = c
        if gap < -TOUCH:
            continue
        separated = True
        if below >= above:
            if eye[c] >= lo[j, c]:
                first = True
            elif eye[c] <= hi[i, c]:
                second = True
            else:
                return 0
        elif eye[c] >= lo[i, c]:
            second = True
        elif eye[c] <= hi[j, c]:
            first = True
        else:
            return 0
    if not separated:
        i_low = lo[i, axis] + hi[i, axis] <= lo[j, axis] + hi[j, axis]
        middle = f4(0.5) * (max(lo[i, axis], lo[j, axis]) + min(hi[i, axis], hi[j, axis]))
        first = i_low == (eye[axis] >= middle)
        second = not first
    if first == second:
        return 0
    return 1 if first else -1


@kernel
def _ribbon_relation(lo: Array, hi: Array, box: int, a: Array, b: Array, eye: Array) -> int:
    """1: of the rays from the eye to the segment a-b that meet the box, most meet it first, so the ribbon is drawn before it;
    -1: most meet the ribbon first; 0: none meets the box."""
    length = f4(0)
    least = f4(1e30)
    for c in range(3):
        length += (b[c] - a[c]) * (b[c] - a[c])
        least = min(least, max(hi[box, c] - lo[box, c], f4(1e-3)))
    probes = min(MOST_PROBES, LEAST_PROBES + int(f4(2) * f4(math.sqrt(length)) / least))
    votes = 0
    for k in range(probes):
        t = (f4(k) + f4(0.5)) / f4(probes)
        enter = f4(0)
        leave = f4(1e30)
        for c in range(3):
            step = a[c] + (b[c] - a[c]) * t - eye[c]
            if abs(step) < f4(1e-9):
                step = f4(1e-9)
            t0 = (lo[box, c] - eye[c]) / step
            t1 = (hi[box, c] - eye[c]) / step
            enter = max(enter, min(t0, t1))
            leave = min(leave, max(t0, t1))
        if enter < leave:
            votes += 1 if enter < f4(0.9999) else -1
    if votes == 0:
        return 0
    return 1 if votes > 0 else -1


@kernel
def _line_misses(rect: Array, end: Array, bounds: Array) -> bool:
    """Whether a ribbon between two points of the screen, x y depth twice, passes beside a rectangle x0, y0, x1, y1.

    bounds (4,): those of the ribbon, which tell its width.
    """
    pad = max(bounds[2] - bounds[0] - abs(end[3] - end[0]), bounds[3] - bounds[1] - abs(end[4] - end[1]))
    nx, ny = end[1] - end[4], end[3] - end[0]
    reach = abs(nx) * (rect[2] - rect[0]) + abs(ny) * (rect[3] - rect[1])
    off = nx * (rect[0] + rect[2] - f4(2) * end[0]) + ny * (rect[1] + rect[3] - f4(2) * end[1])
    return bool(abs(off) > reach + pad * (abs(nx) + abs(ny)))


@kernel
def _before(keys: Array, i: int, j: int) -> bool:
    """Farther first; equal distances in the order they were added."""
    return bool(keys[i] > keys[j] or (keys[i] == keys[j] and i < j))


@kernel
def _push(heap: Array, size: int, keys: Array, item: int) -> int:
    k = size
    while k > 0:
        parent = (k - 1) >> 1
        if not _before(keys, item, heap[parent]):
            break
        heap[k] = heap[parent]
        k = parent
    heap[k] = item
    return size + 1


@kernel
def _pop(heap: Array, size: int, keys: Array) -> tuple[int, int]:
    top = heap[0]
    size -= 1
    item = heap[size]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and _before(keys, heap[child + 1], heap[child]):
            child += 1
        if not _before(keys, heap[child], item):
            break
        heap[k] = heap[child]
        k = child
    heap[k] = item
    return top, size


@kernel
def _grouped(key: Array, value: Array, count: int, n: int) -> tuple[Array, Array]:
    """Values by key: those of key k are grouped[start[k] : start[k + 1]]."""
    start = np.zeros(n + 1, np.int32)
    for e in range(count):
        start[key[e] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    fill = start.copy()
    grouped = np.empty(max(count, 1), np.int32)
    for e in range(count):
        grouped[fill[key[e]]] = value[e]
        fill[key[e]] += 1
    return grouped, start


@kernel
def _ring_member(shown: Array, count: int, earlier: Array, first: Array, waits: Array, keys: Array, boxes: int) -> int:
    """Who is drawn next where all wait for each other: of a ring, the farthest ribbon, or the farthest box if it has none."""
    item = -1
    for k in range(count):
        i = shown[k]
        if waits[i] > 0 and (item < 0 or keys[i] > keys[item]):
            item = i
    met = np.zeros(waits.size, np.bool_)
    for _ in range(2):  # first walk back into a ring, then once round it
        met[:] = False
        best = item
        while not met[item]:
            met[item] = True
            if (item >= boxes, keys[item]) > (best >= boxes, keys[best]):
                best = item
            for e in range(first[item], first[item + 1]):
                if waits[earlier[e]] > 0:
                    item = earlier[e]
                    break
    return int(best)


@kernel
def _plane_order(
    lo: Array, hi: Array, plane: int, other: int, planes: Array, boxes: int, a: Array, b: Array, eye: Array
) -> int:
    """1: the text plane before the other item, -1: the other before it, 0: either; planes are the last items."""
    corners = planes[plane - lo.shape[0] + planes.shape[0]]
    if other >= lo.shape[0] - planes.shape[0]:
        return plane_relation(corners, planes[other - lo.shape[0] + planes.shape[0]], BESIDE, eye)
    if other < boxes:
        side = plane_relation(corners, box_corners(lo[other], hi[other]), BESIDE, eye)
        return side if side != 0 else _relation(lo, hi, plane, other, eye)
    ends = np.empty((2, 3), f4)
    if other < boxes + a.shape[0]:
        ends[0], ends[1] = a[other - boxes], b[other - boxes]
    else:
        ends[0], ends[1] = lo[other], lo[other]
    return plane_relation(corners, ends, IN_PLANE, eye)


def painters_order(
    lo: Array, hi: Array, rect: Array, boxes: int, a: Array, b: Array, ends: Array, eye: Array, planes: Array = NO_PLANES
) -> tuple[Array, int]:
    """Order far to near of the items that are on the screen, and how many rings had to be broken.

    lo, hi (N, 3): boxes first, then ribbons (ends a, b, on the screen ends), sprites, text planes (corners planes (M, 4, 3));
    rect (N, 4) px x0, y0, x1, y1, empty where not shown; eye (3,).
    """
    order: tuple[Array, int] = _painters_order(lo, hi, rect, boxes, a, b, ends, eye, planes)
    return order


@kernel
def _painters_order(
    lo: Array, hi: Array, rect: Array, boxes: int, a: Array, b: Array, ends: Array, eye: Array, planes: Array
) -> tuple[Array, int]:
    n = lo.shape[0]
    ribbons = a.shape[0]
    first_plane = n - planes.shape[0]
    shown = np.empty(n, i8)
    keys = np.empty(n, f4)
    left = np.empty(n, f4)
    count = 0
    for i in range(n):
        if rect[i, 0] > rect[i, 2]:
            continue
        far = f4(0)
        for c in range(3):
            middle = (lo[i, c] + hi[i, c]) * f4(0.5) - eye[c]
            far += middle * middle
        keys[i] = far
        left[count] = rect[i, 0]
        shown[count] = i
        count += 1
    by_left = np.argsort(left[:count], kind="mergesort")
    tail = np.empty(8 * n + 64, np.int32)  # constraint e: tail[e] is drawn before head[e]
    head = np.empty(8 * n + 64, np.int32)
    edges = 0
    waits = np.zeros(n, np.int32)
    for p in range(count):
        i = shown[by_left[p]]
        right, top, bottom = rect[i, 2], rect[i, 1], rect[i, 3]
        for q in range(p + 1, count):
            j = shown[by_left[q]]
            if rect[j, 0] > right:
                break
            if rect[j, 1] > bottom or rect[j, 3] < top or (i >= boxes and j >= boxes and i < first_plane and j < first_plane):
                continue
            box, other = (i, j) if i < boxes else (j, i)
            if boxes <= other < boxes + ribbons and _line_misses(rect[box], ends[other - boxes], rect[other]):
                continue
            if i >= first_plane:
                relation = _plane_order(lo, hi, i, j, planes, boxes, a, b, eye)
            elif j >= first_plane:
                relation = -_plane_order(lo, hi, j, i, planes, boxes, a, b, eye)
            else:
                relation = _relation(lo, hi, i, j, eye)
            if relation != 0 and boxes <= other < boxes + ribbons:
                apart = f4(-1e30)
                for c in range(3):
                    apart = max(apart, lo[i, c] - hi[j, c], lo[j, c] - hi[i, c])
                if apart < -TOUCH:  # a slanted ribbon: its bounds meet the box, it need not
                    relation = _ribbon_relation(lo, hi, box, a[other - boxes], b[other - boxes], eye)
                    if box == i:
                        relation = -relation
            if relation == 0:
                continue
            if edges == tail.shape[0]:
                tail = np.concatenate((tail, np.empty_like(tail)))
                head = np.concatenate((head, np.empty_like(head)))
            tail[edges] = i if relation > 0 else j
            head[edges] = j if relation > 0 else i
            waits[head[edges]] += 1
            edges += 1
    after, start = _grouped(tail, head, edges, n)
    heap = np.empty(n + 1, i8)
    size = 0
    order = np.empty(count, i8)
    for k in range(count):
        if waits[shown[k]] == 0:
            size = _push(heap, size, keys, shown[k])
    unresolved = 0
    earlier, first = np.empty(0, np.int32), np.empty(0, np.int32)
    for w in range(count):
        if size == 0:  # a ring
            if unresolved == 0:
                earlier, first = _grouped(head, tail, edges, n)
            item = _ring_member(shown, count, earlier, first, waits, keys, boxes)
            waits[item] = 0
            unresolved += 1
            size = _push(heap, size, keys, item)
        item, size = _pop(heap, size, keys)
        waits[item] = -1
        order[w] = item
        for e in range(start[item], start[item + 1]):
            j = after[e]
            if waits[j] > 0:
                waits[j] -= 1
                if waits[j] == 0:
                    size = _push(heap, size, keys, j)
    return order, unresolved
