// Start: build everything, then listen to keys, to the theme and to the window.

function applyTheme(name) {
  document.documentElement.dataset.theme = name;
  $("theme").setAttribute("aria-label", name === "light" ? "Use dark colours" : "Use light colours");
  readInks();
  changed();
}

function buildTheme() {
  const light = matchMedia("(prefers-color-scheme: light)");
  applyTheme(light.matches ? "light" : "dark");
  light.addEventListener("change", () => applyTheme(light.matches ? "light" : "dark"));
  $("theme").addEventListener("click", () => applyTheme(document.documentElement.dataset.theme === "light" ? "dark" : "light"));
}

function buildAbout() {
  const part = (head, rows) => make("div", {}, make("h3", {}, head), make("ul", {}, ...rows.filter(Boolean).map((row) => make("li", {}, row))));
  const { project, measurements } = content;
  $("provenance").append(
    part("Measured", content.device.told),
    part("Files", measurements.map((one) => make("span", { class: "mono" }, `${one.file.split("/").pop()} · sha256 ${one.sha256.slice(0, 16)}…`))),
    part("Credits", content.credits),
    part("Made by", [`${project.name} ${project.version}`, project.commit ? make("span", { class: "mono" }, `commit ${project.commit.slice(0, 12)}${project.changed_since ? ", with changes" : ""}`) : null]),
  );
}

const KEYS = {
  " ": () => (video.paused ? video.play().catch(() => {}) : video.pause()),
  ArrowLeft: (event) => (event.shiftKey ? stepBar(-1) : stepBeat(-1)),
  ArrowRight: (event) => (event.shiftKey ? stepBar(1) : stepBeat(1)),
  "[": () => stepPassage(-1), "]": () => stepPassage(1),
  c: toggleCaptions,
  m: () => { video.muted = !video.muted; },
  f: () => (document.fullscreenElement ? document.exitFullscreen() : $("screen").requestFullscreen?.().catch(() => {})),
  "/": () => { $("find").focus(); },
  "?": () => $("keys").showModal(),
};
KEYS.k = KEYS[" "];

function heard(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  if (event.target.closest("input, select, textarea, summary, [role=slider], video")) return;
  if (event.target.closest("button, [role=button]") && [" ", "Enter"].includes(event.key)) return;
  if (event.key.length === 1 && event.key !== " " && !$("keys-on").checked) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(event);
}

// An address that ends in #t=95 begins 95 seconds into the film.
function goToAddress() {
  const found = location.hash.match(/^#t=(\d+(?:\.\d+)?)$/);
  if (!found) return;
  const go = () => seek(Number(found[1]));
  if (video.readyState >= 1) go();
  else video.addEventListener("loadedmetadata", go, { once: true });
}

function start() {
  buildTheme();
  buildMap();
  buildLists();
  buildFigures();
  buildChoices();
  buildAbout();
  captions();
  dragTape();
  onTime(follow);
  onTime(followFigures);
  chooseFilm();
  goToAddress();
  addEventListener("hashchange", goToAddress);
  $("closer").addEventListener("click", () => zoom(1.5));
  $("wider").addEventListener("click", () => zoom(1 / 1.5));
  $("help").addEventListener("click", () => $("keys").showModal());
  $("unpin").addEventListener("click", () => $("stage").scrollIntoView({ behavior: still.matches ? "auto" : "smooth" }));
  document.addEventListener("keydown", heard);
  // Out of sight, a film that plays goes on in the corner.
  new IntersectionObserver(([seen]) => { $("stage").classList.toggle("away", !seen.isIntersecting && !video.paused); },
    { threshold: 0.15 }).observe($("stage"));
  video.addEventListener("pause", () => $("stage").classList.remove("away"));
  new ResizeObserver(() => { drawChart(); changed(); }).observe($("chart"));
  changed();
  document.documentElement.dataset.ready = "yes";
}

start();
