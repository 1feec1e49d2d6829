"use strict";

const byId = id => document.getElementById(id);
const make = (tag, text, name) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (name) e.className = name;
  return e;
};

const grouped = n => n.toLocaleString("en");

// Colors are classes of both kinds; the style sheet chooses.
document.querySelectorAll("input[name=color]").forEach(input => input.addEventListener("change", () => {
  document.documentElement.dataset.color = input.value;
}));

// The table is made of the data behind it, a part at a time.
const query = byId("q");
if (query) {
  const part = 200; // rows that are shown until more are asked for
  const table = JSON.parse(byId("table").textContent);
  const body = document.querySelector("#rows tbody"), count = byId("count"), more = byId("more");
  const heads = [...document.querySelectorAll("#rows th")];
  const all = table.rows.map(([name, type, color, shape, size, offset, stored, quantized, elements, bytes, at]) => ({
    name, type: table.types[type], color: table.classes[color], shape, size, offset,
    stored: table.stored[stored], quantized: table.quantized[quantized], elements, bytes, at,
    text: (name + " " + table.types[type]).toLowerCase(),
  }));
  let rows = all, found = all, shown = 0, letters = 0;

  // What fits into two lines of the column, with the middle left out: names differ at their ends.
  const measure = () => {
    const cell = body.querySelector("td.name");
    if (!cell) return;
    const probe = make("span", "0".repeat(100));
    probe.className = "probe";
    cell.append(probe);
    const style = getComputedStyle(cell);
    const width = cell.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    letters = 2 * Math.max(Math.floor(width / (probe.getBoundingClientRect().width / 100)), 8);
    probe.remove();
  };
  const shorten = name => {
    if (!letters || name.length <= letters) return name;
    const points = [...name];
    if (points.length <= letters) return name;
    const head = Math.floor(letters / 2) - 1;
    return points.slice(0, head).join("") + "…" + points.slice(points.length - (letters - head - 1)).join("");
  };
  const line = row => {
    const tr = make("tr"), name = make("td", undefined, "name"), type = make("td");
    name.append(make("span", shorten(row.name)));
    type.append(make("i", undefined, row.color), row.type);
    tr.append(name, type, make("td", row.shape), make("td", row.size, "n"), make("td", row.offset, "n"), make("td", row.stored), make("td", row.quantized));
    return tr;
  };
  body.addEventListener("click", e => {
    const tr = e.target.closest("tr");
    if (!tr || String(getSelection())) return; // text is selected, to copy it
    const name = found[tr.sectionRowIndex].name, open = tr.classList.toggle("open");
    tr.querySelector(".name span").textContent = open ? name : shorten(name);
  });
  const show = n => {
    const lines = document.createDocumentFragment();
    for (const row of found.slice(shown, shown + n)) lines.append(line(row));
    body.append(lines);
    shown = Math.min(shown + n, found.length);
    const left = found.length - shown;
    more.hidden = !left;
    more.textContent = "Show " + Math.min(left, part) + " more";
    count.textContent = grouped(found.length) + " of " + grouped(all.length) + (left ? ", the first " + grouped(shown) + " are shown" : "");
  };
  const again = () => {
    body.replaceChildren();
    shown = 0;
    show(part);
  };
  const search = () => {
    const wanted = query.value.toLowerCase().trim().split(/\s+/);
    found = rows.filter(row => wanted.every(w => row.text.includes(w)));
    again();
  };
  const look = text => {
    query.value = text;
    search();
  };
  const fromAddress = () => {
    let text = location.hash.startsWith("#q=") ? location.hash.slice(3) : "";
    try { text = decodeURIComponent(text); } catch { /* as it stands */ }
    look(text);
  };
  more.addEventListener("click", () => show(part));
  // What stands behind #q= in the address is looked for, so that links keep it.
  query.addEventListener("input", () => {
    search();
    history.replaceState(null, "", query.value ? "#q=" + encodeURIComponent(query.value) : "#");
  });
  addEventListener("hashchange", fromAddress);
  measure();
  fromAddress();
  let width = innerWidth;
  addEventListener("resize", () => {
    if (width === innerWidth) return; // a phone's address bar
    width = innerWidth;
    measure();
    again();
  });
  document.querySelectorAll("#treemap [data-name]").forEach(g => g.addEventListener("click", () => {
    look(g.dataset.name);
    byId("tensors").scrollIntoView({behavior: "smooth"});
  }));

  // Sorting by a column, once more for the other way around.
  heads.forEach(head => head.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending", key = head.dataset.sort;
    heads.forEach(h => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    rows = [...all].sort((a, b) => (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0) * (up ? 1 : -1));
    search();
  }));
}

// The graph moves and zooms by its view box. One finger scrolls the page, two are the graph's.
const canvas = document.querySelector("#graph svg.canvas");
if (canvas) {
  const width = Number(canvas.dataset.width), height = Number(canvas.dataset.height);
  let x, y, scale; // of units to pixels
  const show = () => canvas.setAttribute("viewBox", [x, y, canvas.clientWidth / scale, canvas.clientHeight / scale].join(" "));
  const fit = least => {
    scale = Math.max(Math.min(canvas.clientWidth / width, canvas.clientHeight / height, 1.2), least);
    x = (width - canvas.clientWidth / scale) / 2;
    y = Math.min((height - canvas.clientHeight / scale) / 2, 0);
    show();
  };
  const zoom = (factor, px, py) => {
    const before = scale;
    scale = Math.min(Math.max(scale * factor, 0.02), 6);
    x += px / before - px / scale;
    y += py / before - py / scale;
    show();
  };
  const move = (dx, dy) => {
    x -= dx / scale;
    y -= dy / scale;
    show();
  };
  document.querySelectorAll("#graph [data-zoom]").forEach(b => b.addEventListener("click", () => {
    if (b.dataset.zoom === "fit") fit(0);
    else zoom(Number(b.dataset.zoom), canvas.clientWidth / 2, canvas.clientHeight / 2);
  }));
  canvas.addEventListener("wheel", e => {
    if (!e.ctrlKey) return;
    e.preventDefault();
    const at = canvas.getBoundingClientRect();
    zoom(Math.exp(-e.deltaY / 300), e.clientX - at.left, e.clientY - at.top);
  }, {passive: false});

  // A mouse drags; a press that does not move is a click.
  let pressed = false, dragged = 0;
  canvas.addEventListener("pointerdown", e => {
    pressed = e.pointerType === "mouse" && e.button === 0;
    dragged = 0;
  });
  addEventListener("pointerup", () => { pressed = false; });
  addEventListener("pointermove", e => {
    if (!pressed) return;
    dragged += Math.abs(e.movementX) + Math.abs(e.movementY);
    move(e.movementX, e.movementY);
  });

  // Two fingers: the middle between them moves, their distance zooms.
  let before = null;
  const pinch = e => {
    if (e.touches.length !== 2 || !e.cancelable) { // not when the page scrolls already
      before = null;
      return;
    }
    e.preventDefault();
    const [a, b] = e.touches, at = canvas.getBoundingClientRect();
    const now = {
      x: (a.clientX + b.clientX) / 2 - at.left, y: (a.clientY + b.clientY) / 2 - at.top,
      apart: Math.max(Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), 1),
    };
    if (before) {
      move(now.x - before.x, now.y - before.y);
      zoom(now.apart / before.apart, now.x, now.y);
    }
    before = now;
  };
  for (const kind of ["touchstart", "touchmove", "touchend", "touchcancel"]) canvas.addEventListener(kind, pinch, {passive: false});

  // A click shows all of a node.
  const facts = JSON.parse(byId("nodes").textContent), panel = byId("node");
  const boxes = [...canvas.querySelectorAll(".box")];
  const select = chosen => {
    boxes.forEach(b => b.classList.toggle("chosen", b === chosen));
    panel.hidden = !chosen;
    panel.replaceChildren();
    if (!chosen) return;
    const close = make("button", "×", "close");
    close.type = "button";
    close.setAttribute("aria-label", "close");
    close.addEventListener("click", () => select(null));
    const list = make("dl");
    for (const [label, value] of facts[boxes.indexOf(chosen)]) list.append(make("dt", label), make("dd", value));
    panel.append(close, make("h3", chosen.querySelector("text").textContent), list);
    panel.scrollTop = 0;
    if (getComputedStyle(panel).position !== "absolute") panel.scrollIntoView({block: "nearest", behavior: "smooth"});
  };
  boxes.forEach(b => {
    b.addEventListener("click", () => { if (dragged < 5) select(b); });
    b.addEventListener("keydown", e => {
      if (e.key !== "Enter" && e.key !== " ") return;
      e.preventDefault();
      select(b);
    });
  });
  canvas.addEventListener("click", e => { if (dragged < 5 && !e.target.closest(".box")) select(null); });
  addEventListener("keydown", e => { if (e.key === "Escape") select(null); });
  fit(0.7); // a deep graph begins at its top, and is read
}
document.documentElement.dataset.ready = "yes";
