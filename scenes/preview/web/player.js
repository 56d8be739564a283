// The player: two videos take turns, so that a new draft replaces the old one at the same frame without a gap.

export const $ = (id) => document.getElementById(id);

export function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export const player = { video: $("one"), scene: "", draft: "", music: null };
let next = $("other"), asked = "";
const listeners = [];
export const onTime = (listener) => listeners.push(listener);

// ---- frames and beats: a frame is round(seconds of the film * fps), as the film is drawn ----------------------------------

const fps = () => player.music.fps;
export const lastFrame = () => player.music.frames - 1;
export const frameAt = (second) => Math.round(player.music.first + second * fps()) - player.music.first;
export const here = () => Math.min(Math.max(Math.floor(player.video.currentTime * fps() + 1e-3), 0), lastFrame());

export function seek(frame) {
  if (!player.music) return;
  const to = Math.min(Math.max(Math.round(frame), 0), lastFrame());
  player.video.currentTime = (to + 0.5) / fps();
  hideExact();
  changed();
}

export function stepFrame(by) {
  player.video.pause();
  seek(here() + by);
}

function step(frames, by) {
  const at = here();
  seek(by > 0 ? frames.find((frame) => frame > at) ?? lastFrame() : frames.findLast((frame) => frame < at) ?? 0);
}

export const stepBeat = (by) => player.music && step(player.music.beats.map(([second]) => frameAt(second)), by);
export const stepBar = (by) => player.music && step(player.music.beats.filter((beat) => beat[2] === 1).map(([second]) => frameAt(second)), by);

// Bar and beat of a frame, the beat with its fraction; null before the first.
export function beatOf(frame) {
  const { beats, first, frames } = player.music;
  const k = beats.findLastIndex(([second]) => frameAt(second) <= frame);
  if (k < 0) return null;
  const end = k + 1 < beats.length ? beats[k + 1][0] : frames / fps();
  const second = Math.round(first + frame) / fps() - first / fps();
  const part = Math.min(Math.max((second - beats[k][0]) / (end - beats[k][0]), 0), 0.99);
  return { k, bar: beats[k][1], beat: beats[k][2] + part };
}

export function toggle() {
  if (!player.draft) return;
  if (player.video.paused) { hideExact(); player.video.play().catch(() => {}); } else player.video.pause();
}

// ---- drafts ---------------------------------------------------------------------------------------------------------------

export function load(scene, draft, music) {
  const same = scene === player.scene;
  if (same && draft === asked) { player.music = music; return; }
  const frame = same && player.draft ? here() : 0, plays = !player.video.paused;
  asked = draft;
  player.music = music;
  if (!same) { player.scene = scene; hideExact(); }
  if (!draft) { show("", false); return; }
  next.src = `draft/${scene}.${draft}.mp4`;
  next.onloadeddata = () => {
    if (asked !== draft || player.scene !== scene) return;
    next.onseeked = () => { next.onseeked = null; if (asked === draft) show(draft, plays); };
    next.currentTime = (Math.min(frame, music.frames - 1) + 0.5) / music.fps;
  };
  next.onloadeddata.draft = draft;
  if (!same) { player.video.pause(); player.draft = ""; }
}

function show(draft, plays) {
  player.video.pause();
  player.draft = draft;
  if (draft) {
    [player.video, next] = [next, player.video];
    player.video.hidden = false;
    next.hidden = true;
    next.onloadeddata = next.onseeked = null;
    setUp(player.video);
    if (plays) player.video.play().catch(() => {});
  } else {
    player.video.hidden = true;
  }
  document.documentElement.dataset.plays = draft ? `${player.scene} ${draft}` : "";
  changed();
}

export function setUp(video) {
  video.loop = $("loop").getAttribute("aria-pressed") === "true";
  video.playbackRate = Number($("speed").value);
  video.muted = $("mute").getAttribute("aria-pressed") === "true";
}

// ---- the exact frame ------------------------------------------------------------------------------------------------------

let exact = null;

export function askExact(send) {
  if (!player.draft) return;
  player.video.pause();
  exact = { scene: player.scene, frame: player.music.first + here() };
  tellExact("drawing this frame …");
  send("frame", exact);
}

function tellExact(text) {
  $("badge").textContent = text;
  $("badge").hidden = !text;
}

export function hideExact() {
  exact = null;
  $("exact").hidden = true;
  tellExact("");
}

export function heardExact(told) {
  if (!exact || told.scene !== exact.scene || told.frame !== exact.frame) return;
  if (told.error) { tellExact(told.error); return; }
  const picture = $("exact");
  const source = `draft/${told.file}`;
  if (picture.getAttribute("src") === source && !picture.hidden) return;
  picture.onload = () => {
    if (!exact) return;
    picture.alt = `Frame ${told.frame} of the film, ${told.size[0]} × ${told.size[1]}`;
    picture.hidden = false;
    tellExact(`exact, ${told.size[0]} × ${told.size[1]}`);
  };
  picture.src = source;
}

// ---- who listens to the time ----------------------------------------------------------------------------------------------

let due = false;

export function changed() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    if (player.music) for (const listener of listeners) listener(here());
    if (!player.video.paused && !player.video.ended) changed();
  });
}

for (const video of [$("one"), $("other")]) {
  for (const name of ["play", "pause", "seeking", "seeked", "timeupdate", "ended"]) video.addEventListener(name, () => { if (video === player.video) changed(); });
  video.addEventListener("play", hideExact);
}
