// Bars, beats, words and figures of the scene under the player; a press or a drag goes there.

import { $, make, player, frameAt, lastFrame, seek, beatOf, onTime, stepBeat, stepBar, stepFrame } from "./player.js";

const grid = $("grid");
const ROWS = 3, TOP = 3.1, TALL = 1.35; // rem: rows of words
let parts = { bars: [], beats: [], words: [], figures: [] }, head = null;

const place = (frame) => `${(100 * frame) / player.music.frames}%`;

export function buildGrid() {
  const { beats, words, claims, frames } = player.music;
  parts = { bars: [], beats: [], words: [], figures: [] };
  head = make("i", { class: "head" });
  const starts = beats.filter((beat) => beat[2] === 1);
  starts.forEach(([second, bar], k) => {
    const first = frameAt(second), end = k + 1 < starts.length ? frameAt(starts[k + 1][0]) : frames;
    const node = make("span", { class: `bar${bar % 2 ? " odd" : ""}` }, String(bar));
    Object.assign(node.style, { left: place(first), width: place(end - first) });
    parts.bars.push({ node, first, end });
  });
  parts.beats = beats.map(([second, , beat]) => {
    const node = make("i", { class: `beat${beat === 1 ? " first" : ""}` });
    node.style.left = place(frameAt(second));
    return { node };
  });
  parts.words = words.map(([text, start, end]) => {
    const node = make("span", { class: "word" }, text);
    node.style.left = place(frameAt(start));
    return { node, first: frameAt(start), end: Math.max(frameAt(end), frameAt(start) + 1) };
  });
  parts.figures = claims.map((claim) => {
    const node = make("i", { class: "figure" });
    Object.assign(node.style, { left: place(claim.first), width: place(claim.last + 1 - claim.first) });
    return { node, first: claim.first, end: claim.last + 1 };
  });
  grid.replaceChildren(...Object.values(parts).flat().map((part) => part.node), head);
  grid.setAttribute("aria-valuemax", String(lastFrame()));
  layRows();
}

// Words that would meet stand under each other; figures share the lowest rows.
function layRows() {
  const ends = new Array(ROWS).fill(-Infinity);
  for (const { node } of parts.words) {
    const left = node.offsetLeft, row = ends.findIndex((end) => end <= left);
    const at = row < 0 ? ends.indexOf(Math.min(...ends)) : row;
    ends[at] = left + node.offsetWidth + 6;
    node.style.top = `${TOP + TALL * at}rem`;
  }
  const lanes = [];
  for (const { node, first, end } of parts.figures) {
    let lane = lanes.findIndex((busy) => busy <= first);
    if (lane < 0) lane = lanes.length;
    lanes[lane] = end;
    node.style.bottom = `${0.35 + 0.5 * (lane % 3)}rem`;
  }
}

new ResizeObserver(() => { if (player.music) layRows(); }).observe(grid);

onTime((frame) => {
  if (!head) return;
  head.style.left = place(frame);
  const at = beatOf(frame);
  parts.beats.forEach((part, k) => part.node.classList.toggle("here", at !== null && k === at.k));
  for (const kind of ["bars", "words", "figures"]) {
    for (const part of parts[kind]) part.node.classList.toggle("here", part.first <= frame && frame < part.end);
  }
  grid.setAttribute("aria-valuenow", String(frame));
  grid.setAttribute("aria-valuetext", at ? `bar ${at.bar}, beat ${at.beat.toFixed(2)}` : "before the first beat");
});

const go = (event) => {
  if (!player.music) return;
  const box = grid.getBoundingClientRect();
  seek(Math.floor((player.music.frames * (event.clientX - box.left)) / box.width));
};
grid.addEventListener("pointerdown", (event) => { grid.setPointerCapture(event.pointerId); go(event); });
grid.addEventListener("pointermove", (event) => { if (grid.hasPointerCapture(event.pointerId)) go(event); });
grid.addEventListener("keydown", (event) => {
  const by = { ArrowUp: 1, ArrowDown: -1, PageUp: 1, PageDown: -1 }[event.key];
  if (event.key === "Home") seek(0);
  else if (event.key === "End") seek(lastFrame());
  else if (event.key.startsWith("Page")) stepBar(by);
  else if (by && event.shiftKey) stepFrame(by);
  else if (by) stepBeat(by);
  else return;
  event.preventDefault();
  event.stopPropagation();
});
