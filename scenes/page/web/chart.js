// The roofline: every ladder of every device, at any memory level, by either way to count bytes, hot or cold.

const SHAPES = ["circle", "square", "diamond", "triangle", "circle"];
const INKS = ["compute", "text", "violet", "memory", "other"];
const ALIKE = 1.04; // roofs nearer to each other than this share one name
const choice = { devices: new Set(), ladders: new Set(), level: "own", method: "best", time: "hot", roofs: "best" };
const chart = $("chart");
let marks = [], chosen = null;

const svg = (name, attributes = {}, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) node.setAttribute(key, value);
  node.append(...children);
  return node;
};

const ladderNames = [...new Set(content.devices.flatMap((one) => one.ladders.map((ladder) => ladder.name)))];
const ladderTitle = (name) => content.devices.flatMap((one) => one.ladders).find((one) => one.name === name).title;
const lookOf = (name) => { const k = ladderNames.indexOf(name); return { shape: SHAPES[k % 5], ink: `var(--${INKS[k % 5]})` }; };

// ---- what is chosen -----------------------------------------------------------------------------------------------------

function group(legend, ...labels) { return make("fieldset", {}, make("legend", {}, legend), ...labels); }

function box(kind, name, value, words, on, change, colour) {
  const input = make("input", { type: kind, name, value, checked: on });
  input.addEventListener("change", () => { change(input); drawChart(); });
  const key = colour ? make("span", { class: "key", "aria-hidden": "true" }) : null;
  if (key) key.style.color = colour;
  return make("label", {}, input, key, words);
}

function toggled(set) { return (input) => (input.checked ? set.add(input.value) : set.delete(input.value)); }

function radios(legend, name, options) {
  return group(legend, ...Object.entries(options).map(([value, words]) =>
    box("radio", name, value, words, choice[name] === value, (input) => { choice[name] = input.value; })));
}

function buildChoices() {
  if (content.devices.length) choice.devices.add(content.devices[0].file);
  for (const name of ladderNames) choice.ladders.add(name);
  const { levels, methods } = content.words;
  $("choices").append(
    group("Device", ...content.devices.map((one) =>
      box("checkbox", "device", one.file, `${one.name}, ${one.kind}`, choice.devices.has(one.file), toggled(choice.devices)))),
    group("Ladders", ...ladderNames.map((name) =>
      box("checkbox", "ladder", name, ladderTitle(name), true, toggled(choice.ladders), lookOf(name).ink))),
    radios("Bytes at", "level", { own: "where each ladder is bound", ...levels }),
    radios("Bytes by", "method", { best: "counters, else model", ...methods }),
    radios("Timed", "time", { hot: "back to back", cold: "with a cold L2" }),
    radios("Roofs", "roofs", { best: "best known", measured: "measured", computed: "computed", datasheet: "datasheet" }),
  );
  $("choices").addEventListener("submit", (event) => event.preventDefault());
}

// ---- what is drawn ------------------------------------------------------------------------------------------------------

function valueOf(roof) { return choice.roofs === "best" ? roof.values[roof.best] : roof.values[choice.roofs]; }
const isMeasured = (roof) => (choice.roofs === "best" ? roof.best : choice.roofs) === "measured";

function levelOf(ladder) { return choice.level === "own" ? ladder.level : choice.level; }

function intensityOf(ladder, rung) {
  const methods = rung.at[levelOf(ladder)] || {};
  return choice.method === "best" ? methods.counters ?? methods.model : methods[choice.method];
}

function roofOver(device, ladder, rung, x) {
  const math = device.roofs.find((roof) => roof.name === rung.roof);
  const level = device.roofs.find((roof) => roof.name === content.words.level_roof[levelOf(ladder)]);
  const limits = [];
  if (math && valueOf(math)) limits.push([valueOf(math), math.title]);
  if (level && x && valueOf(level)) limits.push([valueOf(level) * x, level.title]);
  return limits.sort((a, b) => a[0] - b[0])[0] || null;
}

function visible() {
  const found = [];
  content.devices.filter((one) => choice.devices.has(one.file)).forEach((device, order) => {
    for (const ladder of device.ladders.filter((one) => choice.ladders.has(one.name))) {
      for (const rung of ladder.rungs) {
        const rate = rung[choice.time];
        if (rate === null || rate === undefined) continue;
        const x = intensityOf(ladder, rung);
        found.push({ device, order, ladder, rung, rate, x, over: roofOver(device, ladder, rung, x), look: lookOf(ladder.name) });
      }
    }
  });
  return found;
}

function axes(found, devices, width, height) {
  const edge = { left: 52, right: 14, top: 16, bottom: 46 };
  const beams = found.map((mark) => mark.device.roofs.find((roof) => roof.name === mark.rung.roof)).filter(Boolean).map(valueOf).filter(Boolean);
  const placed = found.filter((mark) => mark.x), rates = [...found.map((mark) => mark.rate), ...beams];
  const xs = placed.map((mark) => mark.x);
  for (const mark of placed) if (mark.over) xs.push(mark.x);
  const low = xs.length ? Math.min(...xs) / 2.2 : 0.1, high = Math.max(xs.length ? Math.max(...xs) * 4 : 100, low * 500);
  const bottom = rates.length ? Math.min(...rates) / 2.6 : 0.1, top = Math.max(rates.length ? Math.max(...rates) * 1.9 : 100, bottom * 100);
  const strip = found.length > placed.length ? Math.min(150, width * 0.2) : 0;
  const x0 = edge.left + strip;
  return {
    ...edge, strip, x0, width, height, low, high, bottom: bottom, top, floor: height - edge.bottom,
    x: (v) => x0 + ((width - edge.right - x0) * Math.log(v / low)) / Math.log(high / low),
    y: (v) => height - edge.bottom - ((height - edge.bottom - edge.top) * Math.log(v / bottom)) / Math.log(top / bottom),
  };
}

function decades(low, high) {
  const out = [];
  for (let k = Math.ceil(Math.log10(low) - 1e-9); k <= Math.floor(Math.log10(high) + 1e-9); k++) out.push(10 ** k);
  return out;
}

function drawGrid(root, a) {
  for (const v of decades(a.low, a.high)) {
    for (let m = 1; m < 10; m++) {
      if (v * m > a.high) continue;
      root.append(svg("line", { class: m === 1 ? "grid" : "grid fine", x1: a.x(v * m), x2: a.x(v * m), y1: 16, y2: a.floor }));
    }
    root.append(svg("text", { x: a.x(v), y: a.floor + 18, "text-anchor": "middle" }, String(Number(v.toPrecision(1)))));
  }
  for (const v of decades(a.bottom, a.top)) {
    root.append(svg("line", { class: "grid", x1: a.x0, x2: a.width - a.right, y1: a.y(v), y2: a.y(v) }));
    root.append(svg("text", { x: a.left - 8, y: a.y(v) + 4, "text-anchor": "end" }, String(Number(v.toPrecision(1)))));
  }
  root.append(svg("text", { x: a.width - a.right, y: a.height - 8, "text-anchor": "end" }, "FLOP per byte"));
  root.append(svg("text", { x: 8, y: 12 }, "TFLOP/s"));
  if (a.strip) {
    root.append(svg("rect", { class: "strip", x: a.left, y: 16, width: a.strip - 8, height: a.floor - 16 }));
    root.append(svg("text", { x: a.left + 8, y: a.floor - 10 }, "bytes not known"));
  }
}

function together(roofs) {
  const groups = [];
  for (const roof of [...roofs].sort((p, q) => valueOf(q) - valueOf(p))) {
    const last = groups[groups.length - 1];
    if (last && valueOf(last[0]) / valueOf(roof) < ALIKE) last.push(roof);
    else groups.push([roof]);
  }
  return groups;
}

const short = (roof) => roof.title.replace(/ \(shared memory\)| cache|, read$/g, "").replace("Device memory", "DRAM");

function drawRoofs(root, a, device, found, back, taken) {
  const own = found.filter((mark) => mark.device === device);
  const used = new Set(own.map((mark) => mark.rung.roof)), levels = new Set(own.map((mark) => content.words.level_roof[levelOf(mark.ladder)]));
  const math = device.roofs.filter((roof) => roof.kind === "math" && valueOf(roof) && (used.has(roof.name) || !own.length));
  const memory = device.roofs.filter((roof) => roof.kind === "memory" && roof.name !== "dram_copy" && valueOf(roof));
  const peak = math.length ? Math.max(...math.map(valueOf)) : a.top;
  const tail = back ? " back" : "";
  for (const roofs of together(memory)) {
    const value = valueOf(roofs[0]), from = Math.max(a.low, a.bottom / value), to = Math.min(peak / value, a.high);
    if (to <= from) continue;
    const line = { x1: a.x(from), y1: a.y(from * value), x2: a.x(to), y2: a.y(to * value) };
    const dashed = isMeasured(roofs[0]) ? "" : " dashed", strong = roofs.some((roof) => levels.has(roof.name)) ? " chosen" : "";
    root.append(svg("line", { class: `slope${strong}${dashed}${tail}`, ...line }));
    if (back && !strong) continue;
    const turn = (Math.atan2(line.y2 - line.y1, line.x2 - line.x1) * 180) / Math.PI;
    const at = back ? 0.3 : 0.12, px = line.x1 + (line.x2 - line.x1) * at, py = line.y1 + (line.y2 - line.y1) * at - 7;
    root.append(svg("text", { class: "memory halo", x: px, y: py, transform: `rotate(${turn} ${px} ${py})` },
      `${back ? `${device.name.replace(/^NVIDIA (GeForce )?/, "")}: ` : ""}${roofs.map(short).join(", ")} ${Number(value.toPrecision(3))} TB/s`));
  }
  const steepest = memory.length ? Math.max(...memory.map(valueOf)) : Infinity;
  for (const roof of math) {
    const value = valueOf(roof), from = Math.max(Math.min(value / steepest, a.high / 6), a.low);
    root.append(svg("line", { class: `beam${isMeasured(roof) ? "" : " dashed"}${tail}`, x1: a.x(from), x2: a.width - a.right, y1: a.y(value), y2: a.y(value) }));
    const whose = back ? `${device.name.replace(/^NVIDIA (GeForce )?/, "")}: ` : "";
    const called = whose + (a.width < 620 || back ? roof.title.replace(/ \(.*\)/, "") : roof.title);
    const words = `${called}, ${Number(value.toPrecision(3))} TFLOP/s`, wide = words.length * 6.4;
    const box = { left: a.width - a.right - wide, right: a.width - a.right, top: a.y(value) - 20, bottom: a.y(value) - 4 };
    if (back && taken.some((other) => meets(box, other))) continue;
    taken.push(box);
    root.append(svg("text", { class: `compute halo${tail}`, x: a.width - a.right, y: a.y(value) - 8, "text-anchor": "end" }, words));
  }
}

const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

function shapeOf(shape, x, y, size, attributes) {
  if (shape === "square") return svg("rect", { x: x - size, y: y - size, width: 2 * size, height: 2 * size, ...attributes });
  if (shape === "circle") return svg("circle", { cx: x, cy: y, r: size * 1.1, ...attributes });
  const points = shape === "diamond" ? [[0, -1.4], [1.4, 0], [0, 1.4], [-1.4, 0]] : [[0, -1.3], [1.25, 0.95], [-1.25, 0.95]];
  return svg("polygon", { points: points.map(([u, v]) => `${x + u * size},${y + v * size}`).join(" "), ...attributes });
}

function drawMarks(root, a, found, taken) {
  const ways = new Map();
  for (const mark of found) {
    mark.px = mark.x ? a.x(mark.x) : a.left + a.strip * 0.3;
    mark.py = a.y(mark.rate);
    const key = `${mark.device.file} ${mark.ladder.name}`;
    if (!ways.has(key)) ways.set(key, []);
    ways.get(key).push(mark);
    taken.push({ left: mark.px - 9, right: mark.px + 9, top: mark.py - 9, bottom: mark.py + 9 });
  }
  for (const way of ways.values()) {
    const points = way.filter((mark) => mark.x).map((mark) => `${mark.px},${mark.py}`).join(" ");
    root.append(svg("polyline", { class: "way", points, style: `stroke:${way[0].look.ink}` }));
  }
  found.forEach((mark, k) => {
    const filled = choice.time === "hot" && mark.order === 0 ? mark.look.ink : "var(--plate)";
    const node = svg("g", { class: "mark", role: "button", tabindex: k === 0 ? "0" : "-1", "aria-label": wordsOf(mark) },
      svg("circle", { class: "hit", cx: mark.px, cy: mark.py, r: 14 }),
      svg("circle", { class: "ring", cx: mark.px, cy: mark.py, r: 12 }),
      shapeOf(mark.look.shape, mark.px, mark.py, 5.5, { style: `fill:${filled};stroke:${mark.look.ink};stroke-width:2;stroke-dasharray:${mark.order ? "3 2" : "none"}` }));
    node.addEventListener("click", () => choose(mark));
    node.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse" && !chosen) tell(mark); });
    node.addEventListener("focus", () => tell(mark));
    node.addEventListener("keydown", (event) => walk(event, k));
    mark.node = node;
    root.append(node);
  });
  nameMarks(root, a, ways, taken);
}

function nameMarks(root, a, ways, taken) {
  const narrow = a.width < 620;
  for (const way of ways.values()) {
    if (way[0].order > 0 && way[0].x) continue;
    const best = way.reduce((p, q) => (q.rate > p.rate ? q : p));
    for (const mark of [best, ...way.filter((one) => one !== best && !narrow)]) {
      const wide = mark.rung.title.length * 6.5, { px, py } = mark;
      const places = [[px + 12, py + 4, "start"], [px - 12, py + 4, "end"], [px, py - 13, "middle"], [px, py + 22, "middle"]];
      for (const [x, y, anchor] of places) {
        const left = anchor === "start" ? x : anchor === "end" ? x - wide : x - wide / 2;
        const box = { left, right: left + wide, top: y - 11, bottom: y + 3 };
        if (left < a.left || left + wide > a.width - 4 || taken.some((other) => meets(box, other))) continue;
        taken.push(box);
        root.append(svg("text", { class: "halo", x, y, "text-anchor": anchor, style: `fill:${mark.look.ink}` }, mark.rung.title));
        break;
      }
    }
  }
}

function drawChart() {
  const width = Math.max(chart.clientWidth, 280), height = Math.round(Math.min(Math.max(width * 0.58, 400), 660));
  marks = visible();
  const devices = content.devices.filter((one) => choice.devices.has(one.file)), a = axes(marks, devices, width, height), taken = [];
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Roofline with ${marks.length} kernels` });
  drawGrid(root, a);
  devices.forEach((device, order) => drawRoofs(root, a, device, marks, order > 0, taken));
  drawMarks(root, a, marks, taken);
  chart.replaceChildren(root);
  const again = chosen && marks.find((mark) => mark.rung === chosen.rung && mark.device === chosen.device);
  if (again) choose(again);
  else {
    chosen = null;
    tell(marks.filter((mark) => mark.ladder === marks[0].ladder).reduce((p, q) => (p && p.rate > q.rate ? p : q), null));
  }
  drawTable();
}

// ---- one rung in words --------------------------------------------------------------------------------------------------

const rateWords = (rate) => `${Number(rate.toPrecision(3))} TFLOP/s`;

function wordsOf(mark) {
  const where = mark.x ? ` at ${Number(mark.x.toPrecision(3))} FLOP per byte` : ", bytes not known";
  const share = mark.over ? `, ${(mark.rate / mark.over[0]).toFixed(2)} of the roof over it` : "";
  return `${mark.rung.title}, ${mark.ladder.title}: ${rateWords(mark.rate)}${where}${share}`;
}

function tell(mark) {
  const card = $("card");
  if (!mark) return card.replaceChildren(make("p", { class: "told" }, "No kernel fits what is chosen."));
  const { rung, ladder, device } = mark, rows = [];
  if (mark.x) rows.push(["bytes", `${Number(mark.x.toPrecision(3))} FLOP/B at ${content.words.levels[levelOf(ladder)]}`]);
  if (mark.over) rows.push(["roof over it", `${rateWords(mark.over[0])}, ${mark.over[1]}: ${(mark.rate / mark.over[0]).toFixed(2)} of it`]);
  const other = choice.time === "hot" ? "cold" : "hot";
  if (rung[other]) rows.push([other === "cold" ? "with a cold L2" : "back to back", rateWords(rung[other])]);
  if (rung.spread && choice.time === "hot") rows.push(["quartiles", `${number(rung.spread[0])} to ${number(rung.spread[1])}, ${rung.spread[2]} samples`]);
  if (rung.error) rows.push(["verified", `error ${rung.error[0].toExponential(1)}, at most ${rung.error[1].toExponential(1)}`]);
  rows.push(["device", `${device.name}, ${device.kind}${device.when ? ` ${device.when}` : ""}${device.how ? `, ${device.how}` : ""}`]);
  const key = new RegExp(`\\.${ladder.name}\\.(rungs\\.)?${rung.name}(\\.|$)`);
  const claim = content.claims.find((one) => key.test(one.key) && (content.keys[one.key] || {}).file === device.file);
  const left = make("div", {}, make("h3", {}, rung.title), make("p", { class: "told" }, rung.change), make("p", { class: "big" }, rateWords(mark.rate)),
    make("p", { class: "small" }, `${ladder.title}, ${ladder.problem}; ${ladder.dtype}`));
  if (claim) left.append(make("button", { type: "button", onclick: () => show(Math.min(claim.start + SHORT, claim.end)) }, "See it in the film"));
  card.replaceChildren(left, make("dl", {}, ...rows.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])));
}

function choose(mark) {
  chosen = mark;
  for (const one of marks) {
    one.node.classList.toggle("chosen", one === mark);
    one.node.setAttribute("tabindex", one === mark ? "0" : "-1");
  }
  tell(mark);
}

function walk(event, k) {
  const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
  if (event.key === "Enter" || event.key === " ") choose(marks[k]);
  else if (by) {
    const next = marks[(k + by + marks.length) % marks.length];
    choose(next);
    next.node.focus();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

const hasRung = ({ ladder, rung }) => content.devices.some((device) => device.ladders.some((one) => one.name === ladder && one.rungs.some((r) => r.name === rung)));

function showRung({ ladder, rung }, file) {
  choice.ladders.add(ladder);
  if (file && content.devices.some((device) => device.file === file)) choice.devices.add(file);
  for (const input of $("choices").querySelectorAll("input[type=checkbox]")) {
    input.checked = (input.name === "ladder" ? choice.ladders : choice.devices).has(input.value);
  }
  drawChart();
  const mark = marks.find((one) => one.ladder.name === ladder && one.rung.name === rung && (!file || one.device.file === file)) ||
    marks.find((one) => one.ladder.name === ladder && one.rung.name === rung);
  if (mark) { choose(mark); mark.node.focus({ preventScroll: true }); }
  chart.scrollIntoView({ behavior: still.matches ? "auto" : "smooth", block: "center" });
}

function drawTable() {
  const head = ["Device", "Ladder", "Kernel", "TFLOP/s", "FLOP/B", "of its roof"];
  const rows = marks.map((mark) => [mark.device.name, mark.ladder.title, mark.rung.title, Number(mark.rate.toPrecision(3)),
    mark.x ? Number(mark.x.toPrecision(3)) : "", mark.over ? (mark.rate / mark.over[0]).toFixed(2) : ""]);
  const cells = (row, name) => make("tr", {}, ...row.map((cell, k) => make(name, name === "td" && k > 2 ? { class: "n" } : name === "th" ? { scope: "col" } : {}, String(cell))));
  $("rungs").replaceChildren(make("table", {}, make("thead", {}, cells(head, "th")), make("tbody", {}, ...rows.map((row) => cells(row, "td")))));
}
