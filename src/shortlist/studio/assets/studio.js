"use strict";
// The studio's page: asks, shows the plan, lets the analyst confirm, follows the release. It keeps nothing.
(() => {
  const $ = (name) => document.getElementById(name);
  const form = $("form");
  let state = null, confirmWord = null;

  const element = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const ask = async (route, body) => {
    const options = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    let response;
    try { response = await fetch(route, { cache: "no-store", ...options }); }
    catch { throw new Error("The studio has ended. What was booked stays booked: start it again with `shortlist studio`."); }
    const found = await response.json();
    if (!response.ok) throw new Error(found.error);
    return found;
  };
  const size = (bytes) => bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : bytes < 1e9 ? `${(bytes / 1e6).toFixed(0)} MB` : `${(bytes / 1e9).toFixed(0)} GB`;
  const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.?!]$/.test(text) ? "" : ".");
  const share = (part) => part === null ? "" : `${(100 * part).toFixed(part < 0.1 ? 1 : 0)}%`;
  const facts = (node, rows) => node.replaceChildren(...rows.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));

  const fill = (select, names, label, empty) => {
    const before = select.value;
    select.replaceChildren(...(names.length ? names.map((one) => new Option(label(one), one.name)) : [new Option(empty, "")]));
    if (names.some((one) => one.name === before)) select.value = before;
  };
  const show = (found) => {
    state = found;
    $("folder").textContent = `in ${found.folder}`;
    fill($("table"), found.tables, (one) => `${one.name} (about ${size(one.bytes)})`, "no table in this folder");
    fill($("candidates_file"), found.lists, (one) => one.name, "no list in this folder");
    if (found.lists.length) $("candidates_file").prepend(new Option("choose a file", "", true, !$("candidates_file").dataset.chosen));
    fill($("ledger"), found.ledgers, (one) => one.name, "none yet: make one below");
    if (!found.ledgers.length) $("new-ledger").open = true;
    showLedger();
    $("results").replaceChildren(...[...found.done].reverse().map(result));
    if (found.done.length) $("empty").hidden = true;
  };
  const showLedger = () => {
    const one = state.ledgers.find((ledger) => ledger.name === $("ledger").value), box = $("ledger-facts");
    box.replaceChildren();
    if (!one) return;
    const meter = element("div", { class: "meter", role: "img", "aria-label": `${share(one.share)} of the budget is spent` }, element("i"));
    meter.firstChild.style.width = `${100 * (one.share ?? 0)}%`;
    box.append(meter, element("p", { class: "note" }, sentence(one.standing)));
    if (one.entries.length) {
      const rows = one.entries.map((entry) => element("tr", {}, element("td", {}, String(entry.number)), element("td", {}, entry.time), element("td", {}, entry.guarantee), element("td", {}, entry.purpose || entry.kind)));
      box.append(element("table", { class: "entries", id: "entries" }, element("tbody", {}, ...rows)));
    }
  };

  const number = (text) => text.trim() === "" ? null : Number(text);
  const question = () => {
    const data = new FormData(form);
    return {
      kind: data.get("kind"), value: data.get("value").trim(), lower: data.get("lower").trim(), upper: data.get("upper").trim(), step: data.get("step").trim(), q: data.get("q").trim(),
      table: data.get("table"), user: data.get("user").trim(), item: data.get("item").trim(), candidates: data.get("candidates"),
      candidates_file: data.get("candidates_file"), candidates_text: data.get("candidates_text"), k: number(data.get("k")),
      epsilon: number(data.get("epsilon")), delta: number(data.get("delta")), ordered: $("ordered").checked, values: $("values").checked, most: number(data.get("most")),
      where: data.get("where").trim(), by: data.get("by").trim(), groups: data.get("groups").trim(), groups_per_user: number(data.get("groups_per_user")),
      ledger: data.get("ledger"), purpose: data.get("purpose").trim(), unit: data.get("unit").trim(), users: number(data.get("users")), items: number(data.get("items")), shape: data.get("shape"),
    };
  };
  const only = (name) => {
    for (const one of ["empty", "problem", "plan", "progress"]) $(one).hidden = one !== name;
    if (name === "empty" && $("results").childElementCount) $("empty").hidden = true;
  };
  const fail = (error) => {
    const name = /^([a-z_]+):/.exec(error.message), field = name && $(name[1] === "candidates" ? "candidates_file" : name[1]);
    $("problem").textContent = sentence(error.message);
    only("problem");
    if (field && field.offsetParent && form.contains(field)) {
      field.setAttribute("aria-invalid", "true");
      field.setAttribute("aria-describedby", "field-problem");
      field.after(element("p", { id: "field-problem", class: "field-problem" }, sentence(error.message.slice(name[0].length).trim())));
      field.focus();
    } else $("problem").scrollIntoView({ block: "nearest" });
  };
  const mend = () => {
    $("field-problem")?.remove();
    for (const field of form.elements) { field.removeAttribute("aria-invalid"); field.removeAttribute("aria-describedby"); }
  };
  const forget = () => { confirmWord = null; if (!$("plan").hidden) only("empty"); };

  const chance = (part) => part > 0.9995 ? ">99.9%" : `${(100 * part).toFixed(1)}%`;
  const showExpected = (found) => {
    $("expected").hidden = found === null;
    $("expected").replaceChildren();
    if (found === null) return;
    const cells = (tag, texts) => element("tr", {}, ...texts.map((text, place) => element(tag, place ? { class: "number" } : {}, text)));
    const rows = found.rows.map((row) => cells("td", [row.mechanism, chance(row.reached), row.needed === null ? "none is enough" : String(Number(row.needed.toPrecision(3)))]));
    $("expected").append(element("p", {}, `If it were so: ${found.described}.`),
      element("table", {}, element("thead", {}, cells("th", ["mechanism", "exactly right", "ε for 99%"])), element("tbody", {}, ...rows)));
    if (found.bound) $("expected").append(element("p", { class: "note" }, `No mechanism can do it with ε below ${Number(found.bound.toPrecision(3))}.`));
  };

  const showPlan = (plan) => {
    confirmWord = plan.confirm;
    const each = plan.by ? ` for ${plan.groups ? `each of ${plan.groups} groups` : "each group that may be named"}` : "";
    $("plan-title").textContent = plan.q !== null ? `${plan.q.length === 1 ? (plan.q[0] === 0.5 ? "The median" : "1 quantile") : `${plan.q.length} quantiles`}${each}` : plan.k === null ? "Every name that enough people hold" : plan.candidates === null ? `${plan.k} items${each}` : `${plan.k} of ${plan.candidates.toLocaleString("en")} candidates${each}`;
    $("right").textContent = plan.right_text;
    $("right-bar").style.width = `${100 * plan.right}%`;
    facts($("plan-facts"), [["Guarantee", `${plan.guarantee} for every ${plan.unit}${plan.by ? ", in all groups together" : ""}`], ["Mechanism", plan.mechanism], ["Why", plan.why], ...(plan.charge === plan.guarantee ? [] : [["Booked as", plan.charge]])]);
    showExpected(plan.expected);
    const [before, now] = $("plan-meter").children;
    before.style.width = `${100 * (plan.share_before ?? 0)}%`;
    now.style.width = `${100 * ((plan.share_after ?? 0) - (plan.share_before ?? 0))}%`;
    $("plan-meter").setAttribute("aria-label", `${share(plan.share_before)} is spent, ${share(plan.share_after)} after this`);
    $("plan-left").textContent = `${plan.ledger}: ${plan.standing}. After this: ${plan.standing_after}.`;
    $("agree-text").textContent = `I spend ${plan.price} from ${plan.ledger}, for good.`;
    $("agree").checked = false;
    $("release").disabled = true;
    only("plan");
    $("plan-title").focus();
  };

  const WORDS = { waiting: "Waiting for its turn.", checking: "Looking for the columns.", charging: "Booking the charge.", counting: "The charge is booked. Counting people.", drawing: "Drawing." };
  const follow = async (name) => {
    only("progress");
    for (;;) {
      const job = await ask(`job/${name}`);
      $("progress-text").textContent = WORDS[job.state] ?? "";
      if (job.state === "counting" && job.share > 0) $("progress-bar").value = job.share; else $("progress-bar").removeAttribute("value");
      if (job.state === "done") { show(await ask("state")); only("empty"); $("results").firstElementChild.querySelector("h2").focus(); return; }
      if (job.state === "failed") { show(await ask("state")); throw new Error(job.error + (job.booked ? " (the charge is booked, since the table was looked at)" : "")); }
      await new Promise((go) => setTimeout(go, 120));
    }
  };
  const counted = (job, place) => job.values.length ? [element("span", { class: "value" }, element("b", {}, job.values[place]), job.margins.length ? ` ± ${job.margins[place]}` : "")] : [];
  const listed = (one) => {
    const list = element(one.ordered ? "ol" : "ul", { class: "list", role: "list" });
    one.items.forEach((item, place) => list.append(element("li", {}, one.ordered ? element("span", { class: "rank" }, String(place + 1)) : element("span", { class: "dot" }), element("bdi", { class: "name" }, item), ...counted(one, place))));
    return list;
  };
  const result = (job) => {
    const many = job.lists ?? [job], first = many[0] ?? { items: [], margins: [], ordered: false };
    const lists = many.flatMap((one) => [...(one.key === undefined ? [] : [element("h3", {}, element("bdi", {}, one.key))]), listed(one)]);
    const rows = element("dl", { class: "facts" });
    facts(rows, [["Guarantee", job.guarantee], ["Mechanism", job.mechanism], ["Booked", `${job.ledger}, entry ${job.entry}`], ["Then", job.standing], ["Head", job.head]]);
    const links = [["report.html", "Report"], ["list.csv", "List as CSV"], ["repeat.py", "Code that repeats it"]].map(([kind, title]) => element("a", { class: kind === "report.html" ? "button" : "button quiet", href: `download/${job.job}/${kind}`, download: "" }, title));
    const notes = job.notes.map((note) => element("p", { class: "note" }, note));
    const order = job.quantiles ? job.summary : `${job.summary} ${first.ordered ? "In order, best first." : "A set, sorted by name: its order says nothing."}` + (first.margins.length ? " ± is half of an interval that covers 95%." : "");
    return element("article", { class: "card result" }, element("h2", { tabindex: "-1" }, job.purpose || (job.lists ? `${many.length} groups released` : job.quantiles ? "Quantiles released" : `${job.items.length} released`)), element("p", { class: "note" }, order), ...lists, ...notes, rows, element("div", { class: "downloads" }, ...links));
  };

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    mend();
    try { showPlan(await ask("plan", question())); } catch (error) { fail(error); }
  });
  form.addEventListener("input", forget);
  const fit = () => {
    const data = new FormData(form), kind = data.get("kind"), way = kind === "list" ? data.get("candidates") : "none";
    const within = (words, word) => words === undefined || words.split(" ").includes(word);
    for (const box of form.querySelectorAll("[data-way], [data-kind]")) box.hidden = !within(box.dataset.way, way) || !within(box.dataset.kind, kind);
    $("table-note").textContent = `One row for each ${kind === "list" ? "time a person met an item" : "value of a person"}. It is not opened yet.`;
  };
  form.addEventListener("change", (event) => {
    if (["candidates", "kind"].includes(event.target.name)) fit();
    if (event.target.id === "ledger") showLedger();
    if (event.target.id === "candidates_file") event.target.dataset.chosen = "yes";
  });
  $("agree").addEventListener("change", () => { $("release").disabled = !$("agree").checked; });
  $("release").addEventListener("click", async () => {
    const word = confirmWord, agree = $("agree").checked;
    confirmWord = null;
    $("release").disabled = true;
    try { await follow((await ask("release", { confirm: word, agree })).job); } catch (error) { fail(error); }
  });
  $("make-ledger").addEventListener("click", async () => {
    try {
      const found = await ask("ledger", { name: $("ledger-name").value.trim(), epsilon: number($("ledger-epsilon").value), delta: number($("ledger-delta").value) });
      show(found);
      $("ledger").value = found.name;
      $("new-ledger").open = false;
      showLedger();
      if (!$("problem").hidden) only("empty");
    } catch (error) { fail(error); }
  });
  form.reset();
  ask("state").then(show).catch(fail);
})();
