// The figures: each with the passage that shows it, when, and where it was measured.

const SHORT = 0.6; // seconds after a figure comes, when it can be read

const titleOf = (scene) => (content.passages.find((one) => one.name === scene) || { title: scene }).title;

function number(value) {
  if (value === undefined || value === null) return "";
  const size = Math.abs(value);
  return size !== 0 && (size >= 1e6 || size < 1e-3) ? value.toExponential(3) : String(Number(value.toPrecision(6)));
}

function detailsOf(claim) {
  const found = content.keys[claim.key] || {};
  const rows = [["key", claim.key], ["in the file", `${found.value} ${found.unit || ""}`.trim()]];
  if (found.low !== undefined && found.high !== undefined) {
    rows.push(["quartiles", `${number(found.low)} to ${number(found.high)}${found.n ? `, ${found.n} samples` : ""}`]);
  }
  rows.push(["device", found.device]);
  if (found.when) rows.push([found.source === "measured" ? "measured" : "file of", `${found.when.slice(0, 10)}${found.driver ? `, driver ${found.driver}` : ""}`]);
  rows.push(["file", found.file ? `${found.file}.json` : ""]);
  if (found.reference) rows.push(["reference", found.reference]);
  return make("dl", {}, ...rows.filter((row) => row[1]).flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]));
}

const isMemory = (key) => /(^|\.)(dram|l1|l2|load_path|traffic|memory|latencies|bandwidth|bus_bandwidth)(\.|$|_)/.test(key);

function rungOf(key) {
  const found = key.match(/^ladders\.([^.]+)\.rungs\.([^.]+)/) || key.match(/^derived\.(?:intensity|achieved|of_level)\.([^.]+)\.([^.]+)/);
  return found ? { ladder: found[1], rung: found[2] } : null;
}

function rowOf(claim) {
  const found = content.keys[claim.key] || {};
  const take = make("button", { type: "button", class: isMemory(claim.key) ? "take memory" : "take",
    "aria-label": `${claim.text}: show it in the film, ${titleOf(claim.scene)}, ${clock(claim.start)}`,
    onclick: () => show(Math.min(claim.start + SHORT, (claim.start + claim.end) / 2)) }, claim.text);
  const more = make("details", {}, make("summary", {}, make("span", { class: "tag" }, found.source || "unknown"), found.device || ""));
  more.addEventListener("toggle", () => {
    if (!more.open || more.children.length > 1) return;
    more.append(detailsOf(claim));
    const rung = rungOf(claim.key);
    if (rung && hasRung(rung)) {
      more.append(make("button", { type: "button", onclick: () => showRung(rung, found.file) }, "Show it on the roofline"));
    }
  });
  const row = make("li", {}, take, make("span", { class: "at" }, make("time", {}, clock(claim.start)), titleOf(claim.scene)), more);
  claim.row = row;
  claim.words = `${claim.text} ${claim.key} ${titleOf(claim.scene)} ${found.source} ${found.device}`.toLowerCase();
  claim.source = found.source || "";
  return row;
}

function buildFigures() {
  $("claims").append(...content.claims.map(rowOf));
  const scenes = new Set(content.claims.map((claim) => claim.scene));
  for (const one of content.passages) if (scenes.has(one.name)) $("in-passage").append(make("option", { value: one.name }, one.title));
  for (const source of [...new Set(content.claims.map((claim) => claim.source))].sort()) {
    $("of-source").append(make("option", { value: source }, source));
  }
  $("filter").addEventListener("input", filter);
  $("filter").addEventListener("submit", (event) => event.preventDefault());
  filter();
}

function filter() {
  const words = $("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const passage = $("in-passage").value, source = $("of-source").value, now = $("on-screen").checked, t = video.currentTime;
  let shown = 0;
  for (const claim of content.claims) {
    const fits = (!passage || claim.scene === passage) && (!source || claim.source === source) &&
      (!now || (claim.start <= t && t < claim.end)) && words.every((word) => claim.words.includes(word));
    claim.row.hidden = !fits;
    claim.row.style.display = fits ? "" : "none";
    shown += fits;
  }
  const told = `${shown} of ${content.claims.length} figures`;
  if ($("count").textContent !== told) $("count").textContent = told;
}

let seenNow = "";

function followFigures(t) {
  let seen = "";
  content.claims.forEach((claim, k) => { if (claim.start <= t && t < claim.end) seen += `${k} `; });
  if (seen === seenNow) return;
  seenNow = seen;
  for (const claim of content.claims) claim.row.classList.toggle("on", claim.start <= t && t < claim.end);
  if ($("on-screen").checked) filter();
}
