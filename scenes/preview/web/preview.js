// The page: hears how the scenes stand, shows the chosen one, and sends what is asked for.

import { $, make, player, load, seek, here, beatOf, onTime, toggle, stepFrame, stepBeat, stepBar, setUp, changed, askExact, heardExact } from "./player.js";
import { buildGrid } from "./grid.js";
import { showList, showStand } from "./list.js";

let state = null, musicOf = "";

async function send(what, body = {}) {
  await fetch(what, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }).catch(() => {});
}

const EMPTY = { failed: "no draft: why is told below", drawing: "the first draft is on its way", waiting: "the first draft is on its way" };
const choose = (scene) => send("choose", { scene });
const shown = () => state && state.scenes.find((scene) => scene.name === state.chosen);

function chooseNext(by) {
  const k = state.scenes.findIndex((scene) => scene.name === state.chosen) + by;
  if (state.scenes[k]) choose(state.scenes[k].name);
}

// ---- what the server tells ------------------------------------------------------------------------------------------------

function heard(told) {
  state = told;
  $("alarm").hidden = !told.error;
  $("alarm").textContent = told.error;
  const [width, height, rate] = told.size;
  $("sources").textContent = `${told.measurements.join(", ")} · ${told.track} · drafts ${width} × ${height} at ${rate}`;
  $("all").disabled = !told.scenes.some((scene) => ["stale", "missing"].includes(scene.state));
  $("stop").disabled = !told.scenes.some((scene) => ["drawing", "waiting"].includes(scene.state));
  showList(told, choose);
  heardExact(told.frame);
  const scene = shown();
  if (!scene) return;
  document.title = `${scene.name} · Preview`;
  showStand(scene, () => send("draw", { scene: scene.name }));
  $("empty").textContent = scene.latest ? "" : EMPTY[scene.state] || "no draft yet: draw it now";
  const key = `${scene.name} ${scene.latest} ${scene.frames} ${scene.first_bar}`;
  if (key !== musicOf) { musicOf = key; follow(scene, key); }
  document.documentElement.dataset.ready = "yes";
}

async function follow(scene, key) {
  const answer = await fetch(`scene/${scene.name}`).catch(() => null);
  if (!answer || !answer.ok || key !== musicOf) return;
  const music = await answer.json();
  if (key !== musicOf || !music.beats) return;
  load(scene.name, scene.latest, music);
  buildGrid();
  buildFigures();
  changed();
}

function listen() {
  const events = new EventSource("events");
  events.onmessage = (event) => heard(JSON.parse(event.data));
  events.onerror = () => {
    $("alarm").textContent = "The preview is not running: start it again, and this page goes on.";
    $("alarm").hidden = false;
  };
}

// ---- figures and readout --------------------------------------------------------------------------------------------------

let figures = [];

function buildFigures() {
  figures = player.music.claims.map((claim) => {
    const node = make("li", {}, make("button", { type: "button", onclick: () => seek(claim.first) }, claim.text),
      make("span", {}, make("span", { class: "key" }, ...claim.key.split(/(?<=\.)/).flatMap((part) => [part, make("wbr")])), ` ${claim.source}, ${claim.device}`));
    return { node, ...claim };
  });
  $("shown").replaceChildren(...figures.map((figure) => figure.node));
  $("shown-head").textContent = figures.length ? "Figures of this scene" : player.draft ? "No figures in this scene" : "";
}

onTime((frame) => {
  const at = beatOf(frame), { fps, first, frames } = player.music;
  $("at-beat").textContent = at ? `bar ${at.bar}:${at.beat.toFixed(2)}` : "before bar 1";
  $("at-frame").textContent = `frame ${frame} of ${frames}`;
  $("at-time").textContent = `${(frame / fps).toFixed(2)} s`;
  $("at-time").title = `${((first + frame) / fps).toFixed(2)} s of the track`;
  $("copy").textContent = at ? `still ${player.scene} ${at.bar}:${Number(at.beat.toFixed(3))}` : "";
  $("copy").hidden = !at;
  $("play").textContent = player.video.paused ? "▶" : "❚❚";
  $("play").setAttribute("aria-label", player.video.paused ? "Play" : "Pause");
  for (const figure of figures) figure.node.classList.toggle("here", figure.first <= frame && frame <= figure.last);
});

// ---- buttons and keys -----------------------------------------------------------------------------------------------------

function press(id) {
  $(id).setAttribute("aria-pressed", String($(id).getAttribute("aria-pressed") !== "true"));
  setUp(player.video);
}

async function copyCommand() {
  await navigator.clipboard.writeText(`./roofline ${$("copy").textContent}`).catch(() => {});
  $("copy").textContent = "copied";
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  $("theme").setAttribute("aria-label", name === "light" ? "Use dark colours" : "Use light colours");
}

const exact = () => askExact(send);
const KEYS = {
  " ": toggle, k: toggle,
  ArrowLeft: (event) => (event.shiftKey ? stepBar(-1) : stepBeat(-1)),
  ArrowRight: (event) => (event.shiftKey ? stepBar(1) : stepBeat(1)),
  ",": () => stepFrame(-1), ".": () => stepFrame(1),
  "[": () => chooseNext(-1), "]": () => chooseNext(1),
  e: exact, m: () => press("mute"), d: () => send("draw", { scene: state.chosen }), "?": () => $("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || $("keys").open || !player.music) return;
  if (event.target.closest("input, select, summary")) return;
  if (event.target.closest("button") && event.key === " ") return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(event);
});

const light = matchMedia("(prefers-color-scheme: light)");
theme(light.matches ? "light" : "dark");
light.addEventListener("change", () => theme(light.matches ? "light" : "dark"));
const pressed = {
  theme: () => theme(document.documentElement.dataset.theme === "light" ? "dark" : "light"),
  help: () => $("keys").showModal(), all: () => send("draw"), stop: () => send("stop"), play: toggle,
  "bar-back": () => stepBar(-1), "beat-back": () => stepBeat(-1), "frame-back": () => stepFrame(-1),
  "bar-on": () => stepBar(1), "beat-on": () => stepBeat(1), "frame-on": () => stepFrame(1),
  mute: () => press("mute"), loop: () => press("loop"), still: exact, copy: copyCommand,
};
for (const [id, act] of Object.entries(pressed)) $(id).addEventListener("click", act);
$("speed").addEventListener("change", () => setUp(player.video));
listen();
