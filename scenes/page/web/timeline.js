// The timeline: a tape that runs under a fixed line (passages, words, beats, figures) and a map of the whole film.

const tape = $("tape");
let perSecond = matchMedia("(max-width: 44rem)").matches ? 100 : 150; // px
const HEAD = 0.36; // share of the width at which the line stands
const LANES = { passages: [10, 30], words: [52, 26], beats: [92, 18], figures: [122, 10] };

function ink(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }

let inks = {};
function readInks() {
  inks = Object.fromEntries(["plate", "raised", "line", "edge", "text", "quiet", "memory", "compute", "thread"].map((n) => [n, ink(n)]));
}

function drawTape(t) {
  const width = tape.clientWidth, height = tape.clientHeight, dense = devicePixelRatio || 1;
  if (tape.width !== Math.round(width * dense) || tape.height !== Math.round(height * dense)) {
    tape.width = Math.round(width * dense);
    tape.height = Math.round(height * dense);
  }
  const pen = tape.getContext("2d");
  pen.setTransform(dense, 0, 0, dense, 0, 0);
  pen.clearRect(0, 0, width, height);
  const x = (second) => width * HEAD + (second - t) * perSecond;
  const from = t - (width * HEAD) / perSecond - 4, to = t + (width * (1 - HEAD)) / perSecond;
  pen.textBaseline = "middle";
  drawPassages(pen, x, from, to);
  drawBeats(pen, x, from, to, t);
  drawWords(pen, x, from, to, t);
  drawFigures(pen, x, from, to, t);
  pen.fillStyle = inks.thread;
  pen.fillRect(Math.round(width * HEAD) - 1, 0, 3, height);
}

function drawPassages(pen, x, from, to) {
  const [top, tall] = LANES.passages;
  pen.font = `700 14px ${ink("sans")}`;
  for (const one of content.passages) {
    if (one.end < from || one.start > to) continue;
    const left = x(one.start) + 2, right = x(one.end) - 2;
    const colour = one.kind === "chorus" ? inks.compute : inks.memory;
    pen.globalAlpha = 0.18;
    pen.fillStyle = colour;
    pen.fillRect(left, top, right - left, tall);
    pen.globalAlpha = 1;
    pen.fillRect(left, top, 3, tall);
    pen.save();
    pen.beginPath();
    pen.rect(left, top, right - left, tall);
    pen.clip();
    pen.fillStyle = inks.text;
    pen.fillText(one.title, Math.min(Math.max(left + 12, 12), right - pen.measureText(one.title).width - 10), top + tall / 2 + 1);
    pen.restore();
  }
}

function drawWords(pen, x, from, to, t) {
  const [top, tall] = LANES.words;
  for (const line of content.lines) {
    for (const [text, start, end] of line.words) {
      if (end < from || start > to) continue;
      const now = start <= t && t < end;
      pen.fillStyle = now ? inks.text : inks.raised;
      pen.fillRect(x(start), top + tall - 3, Math.max((end - start) * perSecond - 2, 2), 3);
      pen.font = `${now ? 700 : 500} 15px ${ink("sans")}`;
      pen.fillStyle = now ? inks.text : inks.quiet;
      pen.fillText(text, x(start), top + tall / 2 - 3, Math.max((end - start) * perSecond - 3, 12));
    }
  }
}

function drawBeats(pen, x, from, to, t) {
  const [top, tall] = LANES.beats, here = beatAt(t);
  pen.font = `500 11px ${ink("mono")}`;
  content.beats.forEach(([second, bar], k) => {
    if (second < from || second > to) return;
    pen.fillStyle = k === here ? inks.text : bar ? inks.edge : inks.line;
    const high = bar ? tall : tall / 2;
    pen.fillRect(Math.round(x(second)), top + tall - high, k === here ? 3 : 2, high);
    if (bar) {
      pen.fillStyle = inks.quiet;
      pen.fillText(bar, Math.round(x(second)) + 6, top + 5);
    }
  });
}

function drawFigures(pen, x, from, to, t) {
  const [top, tall] = LANES.figures;
  for (const one of content.claims) {
    if (one.start < from || one.start > to) continue;
    pen.fillStyle = one.start <= t && t < one.end ? inks.thread : inks.compute;
    pen.beginPath();
    const middle = x(one.start), half = tall / 2;
    pen.moveTo(middle, top);
    pen.lineTo(middle + half, top + half);
    pen.lineTo(middle, top + tall);
    pen.lineTo(middle - half, top + half);
    pen.fill();
  }
}

function dragTape() {
  let from = null;
  tape.addEventListener("pointerdown", (event) => {
    from = { x: event.clientX, t: video.currentTime, moved: false };
    tape.setPointerCapture(event.pointerId);
  });
  tape.addEventListener("pointermove", (event) => {
    if (from === null) return;
    const by = event.clientX - from.x;
    from.moved ||= Math.abs(by) > 4;
    if (from.moved) seek(from.t - by / perSecond);
  });
  tape.addEventListener("pointerup", (event) => {
    if (from !== null && !from.moved) seek(from.t + (event.offsetX - tape.clientWidth * HEAD) / perSecond);
    from = null;
  });
  tape.addEventListener("pointercancel", () => { from = null; });
}

function zoom(by) {
  perSecond = Math.min(Math.max(perSecond * by, 24), 480);
  drawTape(video.currentTime);
}

// ---- the map of the whole film --------------------------------------------------------------------------------------------

const map = $("map");
let pointer = null;

function buildMap() {
  map.setAttribute("aria-valuemax", String(Math.round(length)));
  for (const one of content.passages) {
    const part = make("i", { class: one.kind, title: `${clock(one.start)} ${one.title}` });
    part.style.left = `calc(${(100 * one.start) / length}% + 1px)`;
    part.style.width = `calc(${(100 * (one.end - one.start)) / length}% - 2px)`;
    one.part = part;
    map.append(part);
  }
  pointer = make("b");
  map.append(pointer);
  const go = (event) => seek((length * (event.clientX - map.getBoundingClientRect().left)) / map.clientWidth);
  map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); go(event); });
  map.addEventListener("pointermove", (event) => { if (map.hasPointerCapture(event.pointerId)) go(event); });
  const moves = {
    ArrowLeft: () => stepBeat(-1), ArrowRight: () => stepBeat(1), ArrowDown: () => stepBeat(-1), ArrowUp: () => stepBeat(1),
    PageDown: () => stepPassage(-1), PageUp: () => stepPassage(1), Home: () => seek(0), End: () => seek(length),
  };
  map.addEventListener("keydown", (event) => {
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.shiftKey && event.key.startsWith("Arrow")) stepBar(/Left|Down/.test(event.key) ? -1 : 1);
    else move();
  });
}

// ---- chapters and words as lists --------------------------------------------------------------------------------------------

function buildLists() {
  for (const one of content.passages) {
    const button = make("button", { type: "button", class: one.kind, onclick: () => seek(one.start) },
      make("time", {}, clock(Math.round(one.start))), make("span", {}, one.title, make("small", {}, one.idea)));
    one.button = button;
    $("chapters").append(make("li", {}, button));
  }
  for (const line of content.lines) {
    line.start = line.words[0][1];
    line.button = make("button", { type: "button", onclick: () => seek(line.start) }, line.text);
    $("lines").append(make("li", {}, line.button));
  }
  $("words-fold").hidden = !content.lines.length;
}

let passageNow = null, lineNow = null;

function follow(t) {
  const passage = passageAt(t), line = content.lines.findLast((one) => one.start <= t) || null;
  if (passage !== passageNow) {
    for (const one of content.passages) {
      one.button.setAttribute("aria-current", String(one === passage));
      one.part.classList.toggle("here", one === passage);
    }
    $("now-title").textContent = passage.title;
    $("now-idea").textContent = passage.idea;
    passageNow = passage;
  }
  if (line !== lineNow) {
    if (lineNow) lineNow.button.removeAttribute("aria-current");
    if (line) line.button.setAttribute("aria-current", "true");
    lineNow = line;
  }
  $("now-bar").textContent = barWords(t);
  $("now-time").textContent = `${clock(t)} / ${clock(length)}`;
  pointer.style.left = `${(100 * t) / length}%`;
  map.setAttribute("aria-valuenow", String(Math.round(t)));
  map.setAttribute("aria-valuetext", `${clock(t)}, ${passage.title}, ${barWords(t)}`);
  drawTape(t);
}
