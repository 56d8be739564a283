// The player: which file plays, where it is, and how it is asked to go elsewhere.

const $ = (id) => document.getElementById(id);
const content = JSON.parse($("content").textContent);
const video = $("video");
const still = matchMedia("(prefers-reduced-motion: reduce)");

function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") node.addEventListener("click", value);
    else if (value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function clock(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

// ---- which film plays: the full one beside the page, else the small copy inside of it -----------------------------------

let copy = null;

function smallCopy() {
  if (copy === null) {
    const coded = atob($("proxy").textContent.trim());
    const bytes = new Uint8Array(coded.length);
    for (let k = 0; k < coded.length; k++) bytes[k] = coded.charCodeAt(k);
    copy = URL.createObjectURL(new Blob([bytes], { type: "video/mp4" }));
    $("proxy").remove();
  }
  return copy;
}

function playSmall() {
  const { currentTime, paused } = video;
  video.dataset.plays = "small";
  video.src = smallCopy();
  tellSource();
  resume(currentTime, paused);
}

function playFull() {
  const { currentTime, paused } = video;
  video.dataset.plays = "full";
  video.src = encodeURIComponent(content.film.file);
  tellSource();
  resume(currentTime, paused);
}

function resume(time, paused) {
  if (time > 0) video.addEventListener("loadedmetadata", () => { video.currentTime = time; }, { once: true });
  if (!paused) video.play().catch(() => {});
}

function tellSource() {
  const [width, height] = content.film.size;
  const full = `${content.film.file}, ${width} × ${height} at ${content.film.fps}`;
  const small = "a small copy inside of this page";
  const node = $("source");
  node.replaceChildren(video.dataset.plays === "full" ? `Plays ${full}, from beside this page. ` : `Plays ${small}. `);
  if (content.film.beside) {
    const other = video.dataset.plays === "full" ? ["Play the small copy", playSmall] : [`Play ${content.film.file}`, playFull];
    node.append(make("button", { type: "button", onclick: other[1] }, other[0]));
  }
}

video.addEventListener("error", () => {
  if (video.dataset.plays === "full") playSmall();
});
video.addEventListener("loadedmetadata", () => {
  // A server that cannot send parts of a file lets nobody jump in it; the copy inside of the page can.
  const reach = video.seekable.length ? video.seekable.end(video.seekable.length - 1) : 0;
  if (video.dataset.plays === "full" && reach < video.duration - 1) playSmall();
});

function chooseFilm() {
  const narrow = matchMedia("(max-width: 44rem)").matches || (navigator.connection && navigator.connection.saveData);
  if (content.film.beside && !narrow) playFull();
  else playSmall();
}

// ---- where it is --------------------------------------------------------------------------------------------------------

const length = content.film.seconds;
const passageAt = (t) => content.passages.findLast((one) => one.start <= t + 1e-3) || content.passages[0];

function beatAt(t) {
  let low = 0, high = content.beats.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (content.beats[middle][0] <= t + 1e-3) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

const lastBar = (k) => {
  for (let j = Math.min(k, content.beats.length - 1); j >= 0; j--) if (content.beats[j][1]) return j;
  return 0;
};

function barWords(t) {
  const k = beatAt(t);
  if (k < 0) return "";
  const first = lastBar(k);
  return `bar ${content.beats[first][1]}:${k - first + 1}`;
}

function seek(t) {
  video.currentTime = Math.min(Math.max(t, 0), length - 0.02);
  changed();
}

function show(t) {
  // Somewhere else on the page something was asked for: the film stops there, in sight.
  video.pause();
  seek(t);
  if (!away()) return;
  $("stage").scrollIntoView({ behavior: still.matches ? "auto" : "smooth", block: "start" });
}

const away = () => $("stage").getBoundingClientRect().top < -80 || $("stage").getBoundingClientRect().top > innerHeight * 0.7;

function stepBeat(by) {
  const k = beatAt(video.currentTime);
  seek((content.beats[Math.min(Math.max(k + by, 0), content.beats.length - 1)] || [0])[0]);
}

function stepBar(by) {
  const bars = content.beats.filter((beat) => beat[1]).map((beat) => beat[0]);
  const t = video.currentTime;
  seek(by > 0 ? bars.find((bar) => bar > t + 0.02) ?? length : bars.findLast((bar) => bar < t - 0.25) ?? 0);
}

function stepPassage(by) {
  const starts = content.passages.map((one) => one.start), t = video.currentTime;
  seek(by > 0 ? starts.find((start) => start > t + 0.02) ?? length : starts.findLast((start) => start < t - 1) ?? 0);
}

// ---- who listens to the time --------------------------------------------------------------------------------------------

const listeners = [];
let told = -1, asked = false;

function onTime(listener) { listeners.push(listener); }

function changed() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    told = video.currentTime;
    for (const listener of listeners) listener(told);
    if (!video.paused && !video.ended) changed();
  });
}

for (const name of ["play", "pause", "seeking", "seeked", "timeupdate", "loadedmetadata"]) video.addEventListener(name, changed);

// ---- captions, in the browser's own way -----------------------------------------------------------------------------------

function captions() {
  if (!content.lines.length) return;
  const track = video.addTextTrack("captions", "Words", "en");
  for (const line of content.lines) {
    const end = line.words[line.words.length - 1][2];
    track.addCue(new VTTCue(line.words[0][1], Math.max(end, line.words[0][1] + 0.1), line.text));
  }
  track.mode = "hidden"; // the film shows its words itself; c, or the player's own menu, shows these too
}

function toggleCaptions() {
  const track = video.textTracks[0];
  if (track) track.mode = track.mode === "showing" ? "hidden" : "showing";
}
