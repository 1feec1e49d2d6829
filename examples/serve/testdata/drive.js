// Uses the page as people do, and writes into the document what it says. The test holds the load of the page
// back until this has ended.
"use strict";

const says = document.documentElement.dataset;
const element = (id) => document.getElementById(id);
const text = (id) => element(id).textContent;
const board = element("paper");

// until waits for something; the test gives up for it.
const until = async (what, f) => {
  says.waiting = what;
  while (!f()) await new Promise((next) => setTimeout(next, 10));
};

const stroke = (pointerType, points) => {
  const box = board.getBoundingClientRect();
  const send = (type, [x, y]) => board.dispatchEvent(new PointerEvent(type, {
    pointerId: 1, pointerType, isPrimary: true, button: 0, bubbles: true, cancelable: true, clientX: box.left + x * box.width / 280, clientY: box.top + y * box.height / 280,
  }));
  send("pointerdown", points[0]);
  points.slice(1).forEach((p) => send("pointermove", p));
  send("pointerup", points.at(-1));
};

const press = (key, times = 1) => {
  for (let i = 0; i < times; i++) board.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
};

// answered waits for the answer to what is drawn now.
const answered = async (what) => {
  await until(what, () => /^\d$/.test(text("answer")));
  return `${text("answer")} ${[...document.querySelectorAll("#bars .best .digit")].map((e) => e.textContent)}`;
};

const reloaded = async (kind) => {
  await fetch(`/swap?${kind}`, { method: "POST" });
  element("news").textContent = "";
  element("reload").click();
  await until(`reloading ${kind}`, () => text("news") !== "");
  return `${text("generation")} ${text("format")}: ${text("news")}`;
};

const arc = (x, y, rx, ry, from, to) => [...Array(13).keys()].map((i) => {
  const at = (from + (to - from) * i / 12) * Math.PI / 180;
  return [x + rx * Math.cos(at), y + ry * Math.sin(at)];
});

(async () => {
  await until("the model", () => text("generation") === "1");
  says.model = `${text("name")} ${text("format")} ${text("size")} ${text("decoded")}`;

  stroke("mouse", [[80, 70], [200, 70], [160, 140], [120, 220]]);
  says.mouse = await answered("the mouse");
  const picture = await new Promise((next) => board.toBlob(next));

  says.good = await reloaded("good");
  says.bad = await reloaded("bad");
  says.isBad = String(element("news").classList.contains("bad"));
  says.again = await reloaded("good");

  press("Delete");
  says.cleared = text("answer");
  board.focus();
  press(" ");
  press("ArrowUp", 15);
  press(" ");
  await until("all lines of the keyboard", () => Number(document.querySelector("#bars li:nth-child(2) .bar").style.width.replace("%", "")) > 50);
  says.keyboard = await answered("the keyboard");

  element("clear").click();
  const files = new DataTransfer();
  files.items.add(new File([picture], "seven.png", { type: "image/png" }));
  element("file").files = files.files;
  element("file").dispatchEvent(new Event("change"));
  says.picture = await answered("the picture");

  element("clear").click();
  stroke("touch", [...arc(130, 95, 50, 45, 200, 420), ...arc(130, 190, 58, 52, -70, 160)]);
  says.touch = await answered("the finger");
  says.width = String(document.documentElement.scrollWidth <= window.innerWidth);
  board.blur();
  await new Promise((next) => setTimeout(next, 300)); // the bars move
  says.done = "yes";
  await fetch("/done", { method: "POST" });
})().catch((e) => { says.failed = String(e); fetch("/done", { method: "POST" }); });
