"use strict";
// The sliders of the report. Every number comes from the exact tables in the page; the collapse point is computed here.
(() => {
  const tables = JSON.parse(document.getElementById("tables").textContent);
  const { epsilon, k: sizes, gamma: gammas, shapes, factorials } = tables;
  const LABELS = [
    ["canonical", "canonical, your γ", "--c0"], ["guarded", "guarded", "--ink"],
    ["one-shot", "one-shot, exponential", "--c5"], ["peeling", "one-shot, Gumbel", "--c1"],
    ["bound", "nothing can do better", "--mute"],
  ];
  const byId = (name) => document.getElementById(name);
  const svg = byId("curves"), inputs = { epsilon: byId("epsilon"), k: byId("k"), gamma: byId("gamma") };
  const WIDTH = 640, HEIGHT = 330, LEFT = 56, RIGHT = 12, TOP = 14, BOTTOM = 42;
  const logs = epsilon.map(Math.log), first = logs[0], last = logs[logs.length - 1];
  const across = (log) => LEFT + (WIDTH - LEFT - RIGHT) * (log - first) / (last - first);
  const up = (chance) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - chance);
  const odds = (p) => Math.log(Math.max(p, 1e-99)) - Math.log(Math.max(1 - p, 1e-12));
  const chance = (o) => 1 / (1 + Math.exp(-o));

  const curveOf = (name, state) => {
    const shape = shapes[state.shape];
    if (name === "bound") return state.measure ? null : shape.bound[state.k];
    const cells = name === "canonical" ? shape.canonical[state.k][state.gamma] : shape.rivals[name][state.k];
    return cells.map((cell) => cell[state.measure]);
  };

  // Between two tabulated values the log odds are a straight line over ln epsilon.
  const at = (curve, log) => {
    const place = (log - first) / (last - first) * (logs.length - 1);
    const left = Math.min(Math.max(Math.floor(place), 0), logs.length - 2), share = (log - logs[left]) / (logs[left + 1] - logs[left]);
    if (curve[left] === curve[left + 1]) return curve[left];
    return chance(odds(curve[left]) * (1 - share) + odds(curve[left + 1]) * share);
  };
  const reaching = (curve, target) => {
    if (curve[curve.length - 1] < target) return Infinity;
    if (curve[0] >= target) return -Infinity;
    let low = first, high = last;
    for (let step = 0; step < 40; step++) {
      const middle = (low + high) / 2;
      if (at(curve, middle) >= target) high = middle; else low = middle;
    }
    return Math.exp(high);
  };

  // The largest ln C(i+j, i) / ((1 - gamma) A_i + gamma B_j): below it wrong sets outweigh the right one.
  const collapse = (counts, k, gamma) => {
    let most = 0;
    for (let i = 0; i < k; i++) {
      const inside = (1 - gamma) * (counts[k - 1 - i] - counts[k]);
      for (let j = i ? 1 : 0; j < counts.length - k; j++) {
        const crowd = factorials[i + j] - factorials[i] - factorials[j];
        if (crowd > 1e-12) most = Math.max(most, crowd / (inside + gamma * (counts[k - 1] - counts[k + j])));
      }
    }
    return most;
  };

  const make = (tag, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const short = (value) => value >= 100 ? value.toFixed(0) : Number(value.toPrecision(2)).toString();
  const percent = (p) => p > 0.9995 && p < 1 ? ">99.9%" : p < 0.0005 && p > 0 ? "<0.1%" : (100 * p).toFixed(1) + "%";

  // What never changes is drawn once: the shading, the grid, a path for each curve, the cursor.
  const shade = make("rect", { class: "collapse", x: LEFT, y: TOP, height: HEIGHT - TOP - BOTTOM });
  svg.append(shade);
  for (const step of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(make("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: up(step), y2: up(step) }));
    svg.append(make("text", { x: LEFT - 8, y: up(step) + 4, "text-anchor": "end" }, `${100 * step}%`));
  }
  for (const tick of [0.01, 0.1, 1, 10])
    svg.append(make("text", { x: across(Math.log(tick)), y: HEIGHT - BOTTOM + 20, "text-anchor": tick === 10 ? "end" : "middle" }, `ε = ${tick}`));
  const edge = make("line", { class: "edge", y1: TOP, y2: HEIGHT - BOTTOM }), edgeText = make("text", { class: "edge", y: HEIGHT - 6 });
  const cursor = make("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM });
  const paths = {}, dots = {};
  for (const [name, , colour] of [...LABELS].reverse()) {
    const dash = { bound: "2 4", guarded: "7 4" }[name] ?? "none";
    paths[name] = make("path", { id: `curve-${name}`, style: `stroke:var(${colour});stroke-dasharray:${dash}` });
    dots[name] = make("circle", { r: 4.5, style: `fill:var(${colour})` });
    svg.append(paths[name]);
  }
  svg.append(edge, edgeText, cursor, ...Object.values(dots));
  const rows = {};
  for (const [name, label, colour] of LABELS) {
    const row = document.createElement("tr"), title = document.createElement("td"), swatch = document.createElement("span");
    swatch.className = "swatch"; swatch.style.borderColor = `var(${colour})`;
    title.append(swatch, label); title.className = "who";
    const now = document.createElement("td"), need = document.createElement("td");
    now.className = need.className = "number";
    row.append(title, now, need); byId("reading").append(row);
    rows[name] = { row, now, need };
  }

  const draw = () => {
    const state = {
      shape: byId("shape").selectedIndex, measure: byId("measure").selectedIndex,
      k: Number(inputs.k.value), gamma: Number(inputs.gamma.value),
    };
    const log = Number(inputs.epsilon.value), here = Math.exp(log), k = sizes[state.k], gamma = gammas[state.gamma];
    const shape = shapes[state.shape];
    byId("epsilon-out").textContent = short(here);
    byId("k-out").textContent = k;
    byId("gamma-out").textContent = gamma;
    inputs.epsilon.setAttribute("aria-valuetext", short(here));
    inputs.k.setAttribute("aria-valuetext", k);
    inputs.gamma.setAttribute("aria-valuetext", gamma);
    byId("shape-text").textContent = shape.text + ".";
    for (const [name] of LABELS) {
      const curve = curveOf(name, state), { row, now, need } = rows[name];
      row.hidden = curve === null;
      dots[name].style.display = paths[name].style.display = curve === null ? "none" : "";
      if (curve === null) continue;
      let d = "";
      for (let step = 0; step <= 192; step++) {
        const x = first + (last - first) * step / 192;
        d += `${step ? "L" : "M"}${across(x).toFixed(1)} ${up(at(curve, x)).toFixed(1)}`;
      }
      paths[name].setAttribute("d", d);
      const value = at(curve, log), cost = reaching(curve, 0.99);
      dots[name].setAttribute("cx", across(log)); dots[name].setAttribute("cy", up(value));
      now.textContent = percent(value);
      need.textContent = cost === Infinity ? "over 10" : cost === -Infinity ? "under 0.01" : short(cost);
    }
    cursor.setAttribute("x1", across(log)); cursor.setAttribute("x2", across(log));
    const point = collapse(shape.counts, k, gamma), where = across(Math.min(Math.max(Math.log(point), first), last));
    shade.setAttribute("width", Math.max(where - LEFT, 0));
    edge.setAttribute("x1", where); edge.setAttribute("x2", where);
    edge.style.display = edgeText.style.display = point > epsilon[0] && point < epsilon[epsilon.length - 1] ? "" : "none";
    edgeText.textContent = `collapse at ε = ${short(point)}`;
    edgeText.setAttribute("x", where); edgeText.setAttribute("text-anchor", where < 190 ? "start" : where > 480 ? "end" : "middle");
    svg.dataset.collapse = point;
    const canonical = at(curveOf("canonical", state), log), peeling = at(curveOf("peeling", state), log);
    const what = state.measure ? "finds on average" : "is exactly right in";
    const crowd = point === 0 ? "With one item there is no crowd of wrong sets, so nothing collapses."
      : here < point ? `ε is below the collapse point ${short(point)}: so many wrong sets crowd around the right one that together they win. The guarded default falls back to one-shot there.`
      : `ε is above the collapse point ${short(point)}: the right set outweighs the crowd of wrong ones.`;
    byId("says").textContent = `At ε = ${short(here)}, the canonical top ${k} ${what} ${percent(canonical)}${state.measure ? " of the true list" : " of all draws"}, peeling ${percent(peeling)}. ${crowd}`;
  };

  for (const shape of shapes) byId("shape").append(new Option(shape.title));
  Object.assign(inputs.epsilon, { min: first, max: last, step: (last - first) / 480, value: Math.log(0.3) });
  Object.assign(inputs.k, { min: 0, max: sizes.length - 1, step: 1, value: sizes.indexOf(10) });
  Object.assign(inputs.gamma, { min: 0, max: gammas.length - 1, step: 1, value: gammas.indexOf(0.5) });
  let waiting = false;
  const soon = () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; draw(); }); } };
  for (const control of [...Object.values(inputs), byId("shape"), byId("measure")]) control.addEventListener("input", soon);
  draw();
  // On a phone the list of contents would fill the first screen: it opens when asked.
  if (matchMedia("(max-width: 74.99rem)").matches) document.querySelector(".contents details").open = false;
})();
