// The scenes with how each stands, in signs and in words; and the line under the player about the one that is shown.

import { $, make } from "./player.js";

const SIGNS = { drawn: "✓", stale: "○", missing: "·", drawing: "◔", waiting: "…", failed: "✕" };
const rows = new Map();

function words(scene) {
  if (scene.state === "failed") return scene.error;
  if (scene.state === "drawing" && scene.said && !/^\S+ bars|drawn already/.test(scene.said)) return scene.said;
  if (scene.state === "drawing") return scene.of ? `drawing, ${scene.done} of ${scene.of} frames` : "drawing";
  if (scene.state === "waiting") return "waiting to be drawn";
  if (scene.state === "stale") return `stale: ${(scene.why[0] || "").replace(/^bars [\d, -]+ of \d+: (changed: )?/, "").replaceAll("scenes.", "")}`;
  if (scene.state === "missing") return "not drawn yet";
  return "drawn";
}

export function showList(state, choose) {
  const list = $("scenes");
  for (const scene of state.scenes) {
    let row = rows.get(scene.name);
    if (!row) {
      const [sign, name, bars, how, rail] = ["sign", "name", "bars", "how", "rail"].map((kind) => make("span", { class: kind }));
      sign.setAttribute("aria-hidden", "true");
      const button = make("button", { type: "button", onclick: () => choose(scene.name) }, sign, name, bars, how, rail);
      row = { sign, name, bars, how, rail, button, item: make("li", {}, button) };
      rows.set(scene.name, row);
    }
    row.sign.textContent = SIGNS[scene.state];
    row.name.textContent = scene.name;
    row.bars.textContent = scene.bars ? `${scene.first_bar}–${scene.first_bar + scene.bars - 1}` : "";
    row.bars.title = "bars of the track";
    row.how.textContent = words(scene);
    row.how.title = scene.state === "stale" ? scene.why.join("\n") : row.how.textContent;
    row.item.className = scene.state;
    row.rail.style.width = scene.state === "drawing" && scene.of ? `${(100 * scene.done) / scene.of}%` : "0";
    row.button.setAttribute("aria-current", String(scene.name === state.chosen));
  }
  const items = state.scenes.map((scene) => rows.get(scene.name).item);
  if (items.length !== list.children.length || items.some((item, k) => list.children[k] !== item)) list.replaceChildren(...items);
}

let stood = "";

export function showStand(scene, draw) {
  const key = JSON.stringify([scene.name, scene.state, scene.said, scene.done, scene.of, scene.error, scene.why, scene.draft]);
  if (key === stood) return;
  stood = key;
  const said = make("div", { class: "said" }, make("b", {}, scene.name), scene.idea || "");
  const why = (text, kind = "why") => said.append(make("div", { class: kind }, text));
  const parts = [said];
  if (scene.state === "failed") {
    why(scene.error, "failed");
    if (scene.trace) said.append(make("details", {}, make("summary", {}, "Whole trace"), make("pre", {}, scene.trace)));
  } else if (scene.state === "drawing") {
    why(words(scene));
    parts.push(make("progress", { max: scene.of || 1, value: scene.done || 0, "aria-label": "Frames drawn" }));
  } else if (scene.state === "stale") {
    why(`stale, ${scene.why.join("; ")}`);
  } else why(words(scene));
  if (!["drawing", "waiting"].includes(scene.state) && !(scene.state === "drawn" && scene.draft)) {
    parts.push(make("button", { type: "button", onclick: draw }, "Draw now"));
  }
  $("stand").replaceChildren(...parts);
}
