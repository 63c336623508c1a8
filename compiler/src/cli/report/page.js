"use strict";
// Draws the figures of the report from the data that the page carries. Nothing is loaded from anywhere.

const data = JSON.parse(document.getElementById("data").textContent);
const WIDTH = 1088;
const LEFT = 110;
const COLORS = {
  product: "#2da44e", compute: "#8ccf9f", all_gather: "#0969da", all_reduce: "#cf222e", reduce_scatter: "#bf8700",
  all_to_all: "#8250df", collective_permute: "#1b7c83", collective_broadcast: "#bf3989", other: "#57606a",
};

function svg(name, attributes, parent, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.appendChild(node);
  return node;
}

function html(name, parent, text, kind) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (kind) node.className = kind;
  parent.appendChild(node);
  return node;
}

// Three significant digits with the unit that suits them.
function scaled(value, step, units) {
  let unit = 0;
  while (value >= step && unit + 1 < units.length) { value /= step; unit += 1; }
  return Number(value.toPrecision(3)).toString() + " " + units[unit];
}
const bytes = (value) => scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const rate = (value) => scaled(value, 1000, ["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"]);
const flops = (value) => scaled(value, 1000, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"]);
const seconds = (value) => value === 0 ? "0 s" : scaled(value * 1e9, 1000, ["ns", "us", "ms", "s"]);

function kindOf(event) {
  if (event.stream === "compute") return event.flops > 0 ? "product" : "compute";
  const name = event.op.split(".").pop();
  return COLORS[name] ? name : "other";
}

// A figure that is drawn again between two positions: the wheel zooms, dragging moves, a double click shows all.
function zoomable(figure, end, draw) {
  let from = 0, to = end;
  const show = () => draw(from, to);
  const zoom = (factor, at) => {
    const middle = from + (to - from) * at;
    const width = Math.min(end, Math.max(end * 1e-6, (to - from) * factor));
    from = Math.min(Math.max(0, middle - width * at), end - width);
    to = from + width;
    show();
  };
  const part = (event) => {
    const box = figure.getBoundingClientRect();
    const left = LEFT * box.width / WIDTH;
    return Math.min(1, Math.max(0, (event.clientX - box.left - left) / (box.width - left)));
  };
  figure.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, part(event));
  }, { passive: false });
  let held = null;
  figure.addEventListener("mousedown", (event) => { held = { at: part(event), from: from }; });
  window.addEventListener("mouseup", () => { held = null; });
  figure.addEventListener("mousemove", (event) => {
    if (held === null) return;
    const width = to - from;
    from = Math.min(Math.max(0, held.from - (part(event) - held.at) * width), end - width);
    to = from + width;
    show();
  });
  figure.addEventListener("dblclick", () => { from = 0; to = end; show(); });
  show();
  return { zoom: zoom, all: () => { from = 0; to = end; show(); } };
}

// Round positions between two values, about `count` of them.
function ticks(from, to, count) {
  const raw = (to - from) / count;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw) || raw;
  const list = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) list.push(at);
  return list;
}

function timeline() {
  const place = document.getElementById("timeline");
  const events = data.timeline;
  if (events.length === 0) { html("p", place, "Nothing that takes time.", "quiet"); return; }
  const end = Math.max(...events.map((event) => event.start_s + event.seconds).slice(0, 100000), data.cost.step_s);
  const buttons = html("p", place);
  const copies = ["to the host", "from the host"].filter((stream) => events.some((e) => e.stream === stream));
  const streams = ["compute", "communication", ...copies], bottom = 12 + streams.length * 48;
  const figure = svg("svg", { class: "chart", viewBox: "0 0 " + WIDTH + " " + (bottom + 24) }, place);
  const detail = html("p", place, "", "detail");
  const rows = streams.map((stream) => events.filter((e) => e.stream === stream));
  const draw = (from, to) => {
    figure.replaceChildren();
    const x = (time) => LEFT + (time - from) / (to - from) * (WIDTH - LEFT);
    for (const at of ticks(from, to, 8)) {
      svg("line", { x1: x(at), x2: x(at), y1: 8, y2: bottom, stroke: "#d0d7de" }, figure);
      svg("text", { x: x(at) + 2, y: bottom + 16 }, figure, seconds(at));
    }
    rows.forEach((row, index) => {
      const y = 14 + index * 48;
      svg("text", { x: 6, y: y + 22 }, figure, streams[index]);
      let busy = LEFT;
      for (const event of row) {
        const left = Math.max(LEFT, x(event.start_s)), right = Math.min(WIDTH, x(event.start_s + event.seconds));
        if (right < LEFT || left > WIDTH || right < busy + 0.4) continue;
        const shape = svg("rect", {
          x: left, y: y, width: Math.max(0.5, right - left), height: 38, fill: COLORS[kindOf(event)],
        }, figure);
        shape.addEventListener("mouseenter", () => { detail.textContent = describe(event); });
        if (right - left > 90) svg("text", { x: left + 4, y: y + 23, style: "fill:#fff;pointer-events:none" }, figure, event.op.split(".").pop());
        busy = right;
      }
    });
  };
  const view = zoomable(figure, end, draw);
  for (const [name, action] of [["zoom in", () => view.zoom(0.5, 0.5)], ["zoom out", () => view.zoom(2, 0.5)], ["all", view.all]]) {
    html("button", buttons, name).addEventListener("click", action);
  }
  const legend = html("p", place, "", "quiet");
  for (const kind of new Set(events.map(kindOf))) {
    const box = html("span", legend, "■ ");
    box.style.color = COLORS[kind];
    html("span", legend, kind + "  ");
  }
}

function describe(event) {
  const work = event.flops > 0 ? ", " + flops(event.flops) : "";
  const from = event.loc ? "  (" + event.loc + ")" : "";
  return event.op + ": " + seconds(event.seconds) + " from " + seconds(event.start_s) + work + ", " + bytes(event.bytes) + from;
}

function memory() {
  const place = document.getElementById("memory");
  const held = data.memory;
  if (held.largest.length === 0) { html("p", place, "Nothing is held.", "quiet"); return; }
  const height = 260, bottom = height - 24;
  const figure = svg("svg", { class: "chart", viewBox: "0 0 " + WIDTH + " " + height }, place);
  const title = html("p", place, "", "quiet");
  const table = html("table", html("div", place, undefined, "wide"));
  const hue = (buffer) => "hsl(" + (buffer.first * 47 + buffer.last * 13) % 360 + " 55% 72%)";
  const end = held.steps + 1;
  const list = (step) => {
    table.replaceChildren();
    const alive = held.largest.filter((b) => b.first <= step && step <= b.last);
    const total = held.needed.reduce((now, change) => change[0] <= step ? change[1] : now, 0);
    title.textContent = "At step " + step + " of " + held.steps + ": " + bytes(total) + " are needed; the largest buffers:";
    const head = html("tr", html("thead", table));
    for (const name of ["bytes", "value", "type", "from step", "to step", "source"]) html("th", head, name, name.match("bytes|step") ? "number" : "");
    const body = html("tbody", table);
    for (const buffer of alive.slice(0, 12)) {
      const row = html("tr", body);
      html("td", row, bytes(buffer.bytes), "number");
      html("td", row, buffer.value + (buffer.values > 1 ? " and " + (buffer.values - 1) + " after it" : ""), "code");
      html("td", row, buffer.ty, "code");
      html("td", row, String(buffer.first), "number");
      html("td", row, String(buffer.last), "number");
      html("td", row, buffer.of || "", "code");
    }
  };
  let shown = 0;
  const top = Math.max(held.bytes, 1);
  const draw = (from, to) => {
    figure.replaceChildren();
    const x = (step) => LEFT + (step - from) / (to - from) * (WIDTH - LEFT);
    const y = (size) => bottom - size / top * (bottom - 12);
    for (const part of [0, 0.25, 0.5, 0.75, 1]) svg("text", { x: 6, y: y(part * top) + 4 }, figure, bytes(part * top));
    const clip = (left, right) => ({ x: Math.max(LEFT, left), width: Math.max(0.5, Math.min(WIDTH, right) - Math.max(LEFT, left)) });
    for (const buffer of held.largest) {
      if (x(buffer.last + 1) < LEFT || x(buffer.first) > WIDTH) continue;
      const size = clip(x(buffer.first), x(buffer.last + 1));
      const shape = svg("rect", {
        x: size.x, width: size.width, y: y(buffer.offset + buffer.bytes), height: Math.max(0.5, y(0) - y(buffer.bytes)),
        fill: hue(buffer), stroke: "#ffffff", "stroke-width": 0.5,
      }, figure);
      svg("title", {}, shape, buffer.value + ", " + bytes(buffer.bytes) + ", steps " + buffer.first + " to " + buffer.last);
    }
    let path = "";
    for (let i = 0; i < held.needed.length; i += 1) {
      const right = i + 1 < held.needed.length ? held.needed[i + 1][0] : end;
      const ends = [x(held.needed[i][0]), x(right)].map((at) => Math.min(WIDTH, Math.max(LEFT, at)));
      path += (path ? "L" : "M") + ends[0] + " " + y(held.needed[i][1]) + "L" + ends[1] + " " + y(held.needed[i][1]);
    }
    svg("path", { d: path, fill: "none", stroke: "#1b1f24", "stroke-width": 1.5 }, figure);
    for (const at of ticks(from, to, 8)) svg("text", { x: x(at) + 2, y: height - 8 }, figure, String(Math.round(at)));
    shown = { from: from, to: to };
  };
  zoomable(figure, end, draw);
  figure.addEventListener("click", (event) => {
    const box = figure.getBoundingClientRect();
    const part = ((event.clientX - box.left) * WIDTH / box.width - LEFT) / (WIDTH - LEFT);
    if (part >= 0) list(Math.floor(shown.from + part * (shown.to - shown.from)));
  });
  const peak = held.needed.reduce((best, change) => change[1] > best[1] ? change : best, [0, -1]);
  list(peak[0]);
}

function roofline() {
  const place = document.getElementById("roofline");
  const points = data.timeline.filter((e) => e.flops > 0 && e.bytes > 0 && e.seconds > 0);
  if (points.length === 0) { html("p", place, "No products or convolutions.", "quiet"); return; }
  const height = 300, bottom = height - 28;
  const ridge = data.peak_flops / data.memory_bandwidth;
  const intensities = points.map((p) => p.flops / p.bytes).concat([ridge]);
  const low = Math.min(...intensities) / 3, high = Math.max(...intensities) * 3;
  const rates = points.map((p) => p.flops / p.seconds).concat([data.peak_flops]);
  const least = Math.min(...rates) / 3, most = data.peak_flops * 2;
  const figure = svg("svg", { class: "chart", viewBox: "0 0 " + WIDTH + " " + height }, place);
  const detail = html("p", place, "", "detail");
  const x = (v) => LEFT + Math.log(v / low) / Math.log(high / low) * (WIDTH - LEFT);
  const y = (v) => bottom - Math.log(v / least) / Math.log(most / least) * (bottom - 10);
  for (let p = Math.ceil(Math.log10(low)); p <= Math.log10(high); p += 1) {
    svg("line", { x1: x(10 ** p), x2: x(10 ** p), y1: 10, y2: bottom, stroke: "#eaeef2" }, figure);
    svg("text", { x: x(10 ** p) + 2, y: height - 10 }, figure, Number((10 ** p).toPrecision(1)) + " FLOP/B");
  }
  for (let p = Math.ceil(Math.log10(least)); p <= Math.log10(most); p += 1) {
    svg("line", { x1: LEFT, x2: WIDTH, y1: y(10 ** p), y2: y(10 ** p), stroke: "#eaeef2" }, figure);
    svg("text", { x: 6, y: y(10 ** p) + 4 }, figure, rate(10 ** p));
  }
  const start = Math.max(low, least / data.memory_bandwidth);
  svg("path", {
    d: "M" + x(start) + " " + y(start * data.memory_bandwidth) + "L" + x(ridge) + " " + y(data.peak_flops) + "L" + WIDTH + " " + y(data.peak_flops),
    fill: "none", stroke: "#cf222e", "stroke-width": 1.5,
  }, figure);
  const longest = Math.max(...points.map((p) => p.seconds));
  for (const p of points) {
    const dot = svg("circle", {
      cx: x(p.flops / p.bytes), cy: y(p.flops / p.seconds), r: 3 + 7 * Math.sqrt(p.seconds / longest),
      fill: COLORS.product, "fill-opacity": 0.45, stroke: "#1a7f37",
    }, figure);
    dot.addEventListener("mouseenter", () => { detail.textContent = describe(p) + ", " + rate(p.flops / p.seconds); });
  }
}

timeline();
memory();
roofline();
