"use strict";

// Search: what stands behind #q= in the address is looked for, so that links keep it.
const query = document.getElementById("q");
if (query) {
  const most = 500; // rows that are shown at a time
  let rows = [...document.querySelectorAll("#rows tbody tr")];
  const texts = new Map(rows.map(r => [r, (r.cells[0].textContent + " " + r.cells[1].textContent).toLowerCase()]));
  const count = document.getElementById("count");
  const search = () => {
    const wanted = query.value.toLowerCase().trim().split(/\s+/);
    let found = 0;
    for (const row of rows) {
      const hit = wanted.every(w => texts.get(row).includes(w));
      found += hit;
      row.hidden = !hit || found > most;
    }
    count.textContent = found + " of " + rows.length + (found > most ? ", the first " + most + " are shown" : "");
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
  query.addEventListener("input", () => {
    search();
    history.replaceState(null, "", query.value ? "#q=" + encodeURIComponent(query.value) : "#");
  });
  addEventListener("hashchange", fromAddress);
  fromAddress();
  document.querySelectorAll("#treemap [data-name]").forEach(g => g.addEventListener("click", () => {
    look(g.dataset.name);
    document.getElementById("tensors").scrollIntoView({behavior: "smooth"});
  }));

  // Sorting by a column, once more for the other way around.
  const body = document.querySelector("#rows tbody");
  const heads = [...document.querySelectorAll("#rows th")];
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    heads.forEach(h => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = head.dataset.key;
    const value = key === "text" ? r => r.cells[column].textContent : r => Number(r.dataset[key]);
    const order = rows.map(r => [value(r), r]);
    order.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1));
    rows = order.map(([, r]) => r);
    body.append(...rows);
    search();
  }));
}

// The graph moves and zooms by its view box.
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
  canvas.addEventListener("pointerdown", e => canvas.setPointerCapture(e.pointerId));
  canvas.addEventListener("pointermove", e => {
    if (!canvas.hasPointerCapture(e.pointerId)) return;
    x -= e.movementX / scale;
    y -= e.movementY / scale;
    show();
  });
  fit(0.7); // a deep graph begins at its top, and is read
}
document.documentElement.dataset.ready = "yes";
