"""Who is drawn before whom: a painter's order of boxes, ribbons and sprites, far to near.

Two disjoint axis-aligned boxes are separated by an axis plane, and the one on the eye's side of it cannot be hidden by the
other. Every pair whose bounds on the screen meet gives such a constraint, and a topological sort gives the order. It is exact
unless boxes hide each other in a ring; the rings are counted, and there, as among free items, the farther is drawn first. Boxes
that overlap are separated along the axis of least penetration, so that flying boxes which graze each other do not flicker.
"""

from __future__ import annotations

import numpy as np

from scenes.stage.jit import Array, f4, i8, kernel

TOUCH = f4(1e-4)  # world units of overlap that count as touching: float32 rounding of neighbouring boxes
PROBES = 5


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
    """1: the box hides some of the segment a-b, so the ribbon is drawn first; -1: it does not. By rays from the eye."""
    for k in range(PROBES):
        t = (f4(k) + f4(0.5)) / f4(PROBES)
        enter = f4(0)
        leave = f4(1)
        for c in range(3):
            step = a[c] + (b[c] - a[c]) * t - eye[c]
            if abs(step) < f4(1e-9):
                step = f4(1e-9)
            t0 = (lo[box, c] - eye[c]) / step
            t1 = (hi[box, c] - eye[c]) / step
            enter = max(enter, min(t0, t1))
            leave = min(leave, max(t0, t1))
        if enter < min(leave, f4(0.9999)):
            return 1
    return -1


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
def painters_order(lo: Array, hi: Array, rect: Array, boxes: int, a: Array, b: Array, eye: Array) -> tuple[Array, int]:
    """Order far to near of the items that are on the screen, and how many rings had to be broken.

    lo, hi (N, 3): boxes first, then ribbons (ends a, b), then sprites; rect (N, 4) px x0, y0, x1, y1, empty where not shown;
    eye (3,).
    """
    n = lo.shape[0]
    ribbons = a.shape[0]
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
    start = np.zeros(n + 1, np.int32)
    for p in range(count):
        i = shown[by_left[p]]
        right, top, bottom = rect[i, 2], rect[i, 1], rect[i, 3]
        for q in range(p + 1, count):
            j = shown[by_left[q]]
            if rect[j, 0] > right:
                break
            if rect[j, 1] > bottom or rect[j, 3] < top or (i >= boxes and j >= boxes):
                continue
            relation = _relation(lo, hi, i, j, eye)
            box, other = (i, j) if i < boxes else (j, i)
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
            start[tail[edges] + 1] += 1
            waits[head[edges]] += 1
            edges += 1
    for i in range(n):
        start[i + 1] += start[i]
    fill = start.copy()
    after = np.empty(max(edges, 1), np.int32)
    for e in range(edges):
        after[fill[tail[e]]] = head[e]
        fill[tail[e]] += 1
    heap = np.empty(n + 1, i8)
    size = 0
    order = np.empty(count, i8)
    for k in range(count):
        if waits[shown[k]] == 0:
            size = _push(heap, size, keys, shown[k])
    unresolved = 0
    for w in range(count):
        if size == 0:  # a ring: free its farthest member
            farthest = -1
            for k in range(count):
                i = shown[k]
                if waits[i] > 0 and (farthest < 0 or keys[i] > keys[farthest]):
                    farthest = i
            waits[farthest] = 0
            unresolved += 1
            size = _push(heap, size, keys, farthest)
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
