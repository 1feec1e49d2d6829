// Draws on a canvas, sends what is drawn, and shows the answer and the model that gave it.
"use strict";

const byId = (id) => document.getElementById(id);
const paper = byId("paper"), pen = paper.getContext("2d", { willReadFrequently: true });
const side = 28, width = 20; // pixels that are sent; of a stroke
let drawing = null; // the pointer that draws
let at = { x: 140, y: 140 }, down = false; // the keyboard's pen
let asked = 0; // answers to older questions are dropped

const bars = [...Array(10).keys()].map((digit) => {
  const row = document.createElement("li");
  for (const name of ["digit", "bar", "percent"]) {
    row.append(Object.assign(document.createElement("span"), { className: name }));
  }
  row.children[0].textContent = digit;
  byId("bars").append(row);
  return row;
});

function ink() {
  return getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
}

function line(from, to) {
  pen.strokeStyle = ink();
  pen.lineWidth = width;
  pen.lineCap = pen.lineJoin = "round";
  pen.beginPath();
  pen.moveTo(from.x, from.y);
  pen.lineTo(to.x + 0.01, to.y);
  pen.stroke();
}

function place(event) {
  const box = paper.getBoundingClientRect();
  return { x: (event.clientX - box.left) * paper.width / box.width, y: (event.clientY - box.top) * paper.height / box.height };
}

paper.addEventListener("pointerdown", (event) => {
  if (drawing !== null || event.button !== 0) return;
  drawing = event.pointerId;
  try { paper.setPointerCapture(drawing); } catch { /* the pointer is gone already */ }
  at = place(event);
  line(at, at);
});
paper.addEventListener("pointermove", (event) => {
  if (event.pointerId !== drawing) return;
  for (const e of event.getCoalescedEvents?.() ?? []) {
    const to = place(e);
    line(at, to);
    at = to;
  }
  const to = place(event);
  line(at, to);
  at = to;
});
for (const end of ["pointerup", "pointercancel"]) {
  paper.addEventListener(end, (event) => {
    if (event.pointerId !== drawing) return;
    drawing = null;
    ask();
  });
}

paper.addEventListener("keydown", (event) => {
  const moves = { ArrowLeft: [-10, 0], ArrowRight: [10, 0], ArrowUp: [0, -10], ArrowDown: [0, 10] };
  const inside = (v) => Math.min(270, Math.max(10, v));
  if (event.key in moves) {
    const [dx, dy] = moves[event.key];
    const to = { x: inside(at.x + dx), y: inside(at.y + dy) };
    if (down) line(at, to);
    at = to;
    if (down) ask();
  } else if (event.key === " ") {
    down = !down;
    if (down) { line(at, at); ask(); }
  } else if (event.key === "Delete" || event.key === "Backspace") {
    clear();
  } else {
    return;
  }
  event.preventDefault();
});

function clear() {
  pen.clearRect(0, 0, paper.width, paper.height);
  asked++;
  byId("answer").replaceChildren(Object.assign(document.createElement("span"), { className: "none", textContent: "?" }));
  show(null);
}
byId("clear").addEventListener("click", clear);

// pixels makes the drawing small: the mean of the ink of each square.
function pixels() {
  const all = pen.getImageData(0, 0, paper.width, paper.height).data, square = paper.width / side;
  const list = new Array(side * side).fill(0);
  for (let y = 0; y < paper.height; y++) {
    for (let x = 0; x < paper.width; x++) {
      list[Math.floor(y / square) * side + Math.floor(x / square)] += all[(y * paper.width + x) * 4 + 3];
    }
  }
  return list.map((sum) => Math.round(sum / (square * square)));
}

function ask() {
  return send("application/json", JSON.stringify({ width: side, height: side, pixels: pixels() }));
}

byId("file").addEventListener("change", async () => {
  const file = byId("file").files[0];
  if (!file) return;
  clear();
  const picture = await createImageBitmap(file).catch(() => null);
  if (picture) pen.drawImage(picture, 0, 0, paper.width, paper.height);
  await send("image/png", file);
  byId("file").value = "";
});

async function send(type, body) {
  const mine = ++asked;
  const { ok, value } = await call("predict", { method: "POST", headers: { "Content-Type": type }, body });
  if (mine !== asked) return;
  const answer = byId("answer");
  answer.textContent = "";
  if (!ok) {
    answer.append(Object.assign(document.createElement("span"), { className: "why", textContent: value.error }));
    show(null);
    return;
  }
  answer.textContent = value.digit;
  show(value.probabilities, value.digit);
  if (byId("generation").textContent !== String(value.generation)) model();
}

function show(probabilities, best) {
  bars.forEach((row, digit) => {
    const p = probabilities ? probabilities[digit] : 0;
    row.classList.toggle("best", probabilities !== null && digit === best);
    row.children[1].style.width = `${p * 100}%`;
    row.children[2].textContent = probabilities ? `${(p * 100).toFixed(1)} %` : "";
  });
}

async function call(path, options) {
  try {
    const response = await fetch(path, options);
    return { ok: response.ok, value: await response.json() };
  } catch {
    return { ok: false, value: { error: "the service does not answer" } };
  }
}

function bytes(n) {
  return n < 1000 ? `${n} B` : n < 1e6 ? `${(n / 1000).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`;
}

// describe shows what is loaded, and news if there are any.
function describe({ ok, value }, news) {
  const bad = ok ? value.stale : value.error, was = byId("news").classList.contains("bad");
  if (bad || news !== undefined || was) byId("news").textContent = bad ?? news ?? "";
  byId("news").classList.toggle("bad", Boolean(bad));
  if (!ok) return;
  byId("name").textContent = value.name;
  byId("format").textContent = value.format;
  byId("size").textContent = bytes(value.size);
  byId("generation").textContent = value.generation;
  byId("decoded").textContent = value.decoded ? bytes(value.decoded) : "none: used where they are mapped";
}

async function model() { describe(await call("model")); }

byId("reload").addEventListener("click", async () => {
  const before = byId("generation").textContent;
  const answer = await call("reload", { method: "POST" });
  const same = answer.ok && String(answer.value.generation) === before;
  describe(answer, same ? "The file has not changed." : "Loaded.");
});

show(null);
model();
setInterval(() => { if (!document.hidden) model(); }, 5000);
