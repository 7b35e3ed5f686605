// The studio's page: asks, shows the plan, lets the analyst confirm, follows the release. It keeps nothing.
(() => {
  const form = $("form");
  let state = null, confirmWord = null, asked = 0;
  let known = null; // the names of the columns, if they were asked for
  let columns = []; // those that are listed
  let current = null; // the release that was made last, until there is another question

  const show = (found) => {
    state = found;
    $("folder").textContent = `folder “${found.folder}”`;
    $("no-table").hidden = found.tables.length > 0;
    fill($("table"), found.tables, (one) => `${one.name} (about ${size(one.bytes)})`, "no table in this folder");
    fill($("candidates_file"), found.lists, (one) => one.name, "no list in this folder");
    if (found.lists.length) $("candidates_file").prepend(new Option("choose a file", "", true, !$("candidates_file").dataset.chosen));
    fill($("ledger"), found.ledgers, (one) => one.name, "none yet: make one below");
    if (!found.ledgers.length) $("new-ledger").open = true;
    showLedger();
    officer.offer(found.ledgers);
    showResults();
  };
  const showResults = () => {
    const done = [...state.done].reverse(), now = done.filter((job) => job.job === current), earlier = done.filter((job) => job.job !== current);
    $("results").replaceChildren(...now.map(result));
    if (earlier.length) $("results").append(element("details", { id: "earlier" }, element("summary", {}, `Released earlier: ${earlier.length}`),
      element("p", { class: "note" }, "The studio remembers them until it ends; the browser keeps nothing."), ...earlier.map(result)));
  };
  const showLedger = () => {
    const one = state.ledgers.find((ledger) => ledger.name === $("ledger").value), box = $("ledger-facts");
    box.replaceChildren();
    if (!one) return;
    const meter = element("div", { class: "meter", role: "img", "aria-label": `${share(one.share)} of the budget is spent` }, element("i"));
    meter.firstChild.style.width = `${100 * (one.share ?? 0)}%`;
    box.append(meter, element("p", { class: "note" }, sentence(one.standing)));
    if (one.caution) box.append(element("p", { class: "warning", role: "note" }, one.caution));
    if (one.entries.length) {
      const rows = one.entries.map((entry) => element("tr", {}, element("td", {}, String(entry.number)), element("td", {}, entry.time), element("td", {}, entry.cost), element("td", {}, entry.purpose)));
      box.append(element("table", { class: "entries", id: "entries" }, element("caption", { class: "unseen" }, "The newest entries"), head("entry", "when (UTC)", "cost", "what for"), element("tbody", {}, ...rows)));
    }
  };

  // What is no plain number goes to the server as it was written, which says what is wrong with it: 1,5 is never 15.
  const number = (text) => text.trim() === "" ? null : /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : text.trim();
  const question = () => {
    const data = new FormData(form);
    return {
      kind: data.get("kind"), value: data.get("value").trim(), lower: data.get("lower").trim(), upper: data.get("upper").trim(), step: data.get("step").trim(), q: data.get("q").trim(),
      table: data.get("table"), user: data.get("user").trim(), item: data.get("item").trim(), candidates: data.get("candidates"),
      candidates_file: data.get("candidates_file"), candidates_text: data.get("candidates_text"), k: number(data.get("k")),
      epsilon: number(data.get("epsilon")), columns: known, separator: $("separator-box").hidden ? null : data.get("separator"), smallest: $("smallest").checked && $("smallest").offsetParent !== null,
      large: $("large").checked && !$("large-box").hidden, delta: number(data.get("delta")), ordered: $("ordered").checked, values: $("values").checked, most: number(data.get("most")),
      where: data.get("where").trim(), by: data.get("by").trim(), groups: $("groups").closest("[data-way]").hidden ? "" : data.get("groups").trim(), groups_per_user: number(data.get("groups_per_user")),
      ledger: data.get("ledger"), purpose: data.get("purpose").trim(), unit: data.get("unit").trim(), users: number(data.get("users")), items: number(data.get("items")), shape: data.get("shape"),
    };
  };
  const FIELDS = { candidates: "candidates_file" }, OF_LEDGER = { name: "ledger-name", ledger: "ledger-name", epsilon: "ledger-epsilon", delta: "ledger-delta" };
  // Where a field is filled in: by the list of columns, once that is there.
  const seen = (id) => $("names").hidden && ["user", "item", "value"].includes(id) ? $("roles").querySelector("select") : $(id);
  const only = (name) => {
    for (const one of ["empty", "problem", "plan", "progress"]) $(one).hidden = one !== name;
    if (name !== "empty" && current) { current = null; showResults(); }
    if (current) $("empty").hidden = true;
  };
  // A problem begins with the name of its field: the panel says the label instead, and the field has it below.
  const fail = (error, fields = {}) => {
    const name = /^([a-z_]+):/.exec(error.message), field = name && $(fields[name[1]] ?? FIELDS[name[1]] ?? name[1]);
    if (name && name[1] === "epsilon" && number($("epsilon").value) > 30) $("large-box").hidden = false;
    const label = field && form.querySelector(`label[for="${field.id}"]`), said = name ? error.message.slice(name[0].length).trim() : error.message;
    $("problem").textContent = label ? `${label.textContent}: ${said}${sentence(said).slice(said.length)}` : sentence(said);
    only("problem");
    const place = name && seen(fields[name[1]] ?? FIELDS[name[1]] ?? name[1]);
    if (place !== field && place) place.focus();
    else if (field && field.offsetParent && form.contains(field)) {
      field.setAttribute("aria-invalid", "true");
      field.dataset.described = field.getAttribute("aria-describedby") ?? "";
      field.setAttribute("aria-describedby", `field-problem ${field.dataset.described}`.trim());
      (field.closest(".pair") ?? field).after(element("p", { id: "field-problem", class: "field-problem" }, sentence(said)));
      field.focus();
    } else $("problem").scrollIntoView({ block: "nearest" });
  };
  const mend = () => {
    $("field-problem")?.remove();
    for (const field of form.querySelectorAll("[aria-invalid]")) {
      field.removeAttribute("aria-invalid");
      if (field.dataset.described) field.setAttribute("aria-describedby", field.dataset.described); else field.removeAttribute("aria-describedby");
    }
  };
  const forget = () => { confirmWord = null; asked += 1; if (!$("plan").hidden) only("empty"); };

  const chance = (part) => part > 0.9995 ? ">99.9%" : `${(100 * part).toFixed(1)}%`;
  const showExpected = (found) => {
    $("expected").replaceChildren(element("p", {}, found.told));
    if (found.guessed) {
      const own = element("button", { type: "button", class: "quiet" }, "Write your own numbers");
      own.addEventListener("click", () => { $("users").closest("details").open = true; $("users").focus(); });
      $("expected").append(own);
    }
    if (!found.rows) return;
    const cells = (tag, texts) => element("tr", {}, ...texts.map((text, place) => element(tag, { ...(place ? { class: "number" } : {}), ...(tag === "th" ? { scope: "col" } : {}) }, text)));
    const rows = found.rows.map((row) => cells("td", [row.runs ? `${row.mechanism} (it runs)` : row.mechanism, chance(row.reached), row.needed === null ? "none is enough" : String(Number(row.needed.toPrecision(3)))]));
    const more = element("details", {}, element("summary", {}, "All mechanisms compared"),
      element("table", {}, element("thead", {}, cells("th", ["mechanism", "exactly right", "ε for 99%"])), element("tbody", {}, ...rows)));
    more.append(element("p", { class: "note" }, found.others));
    if (found.bound) more.append(element("p", { class: "note" }, `No mechanism can do it with ε below ${Number(found.bound.toPrecision(3))}.`));
    $("expected").append(more);
  };
  const expect = async (words) => {
    const turn = asked += 1;
    $("expected").replaceChildren(element("p", {}, "Working it out, on made-up counts …"));
    try {
      const first = await ask("expected", { ...words, quick: true });
      if (turn !== asked) return;
      showExpected(first);
    } catch { /* the plan itself says what is wrong */ }
    let found;
    try { found = await ask("expected", words); } catch (error) { found = { told: sentence(error.message.replace(/^[a-z_]+: /, "")) }; }
    if (turn === asked) showExpected(found);
  };

  const showPlan = (plan) => {
    confirmWord = plan.confirm;
    const each = plan.by ? ` for ${plan.groups ? `each of ${plan.groups} groups` : "each group that may be named"}` : "";
    $("plan-title").textContent = plan.q !== null ? `${plan.q.length === 1 ? (plan.q[0] === 0.5 ? "The median" : "1 quantile") : `${plan.q.length} quantiles`}${each}` : plan.k === null ? "Every name that enough people hold" : plan.candidates === null ? `Up to ${plan.k} items${each}` : `${plan.smallest ? "The " : ""}${plan.k} ${plan.smallest ? "smallest " : ""}of ${plan.candidates.toLocaleString("en")} candidates${each}`;
    $("right").textContent = plan.right_text;
    $("right-bar").style.width = `${100 * plan.right}%`;
    facts($("plan-facts"), [["Guarantee", `${plan.guarantee} for every ${plan.unit}${plan.by ? ", in all groups together" : ""}`], ["Mechanism", plan.mechanism], ["Why", plan.why]]);
    $("odds-words").textContent = plan.odds;
    $("odds-words").hidden = !plan.odds;
    $("caution").textContent = plan.caution;
    $("caution").hidden = !plan.caution;
    const [before, now] = $("plan-meter").children;
    before.style.width = `${100 * (plan.share_before ?? 0)}%`;
    now.style.width = `${100 * ((plan.share_after ?? 0) - (plan.share_before ?? 0))}%`;
    $("plan-meter").setAttribute("aria-label", `${share(plan.share_before)} is spent, ${share(plan.share_after)} after this`);
    $("plan-left").textContent = plan.booked;
    $("agree-text").textContent = plan.consent;
    $("agree").checked = false;
    $("release").disabled = true;
    only("plan");
    const panel = $("plan").parentElement;
    panel.scrollTop = 0;
    $("plan-title").focus({ preventScroll: true });
    if (panel.offsetHeight <= innerHeight) panel.scrollIntoView({ block: "nearest" }); else $("plan").scrollIntoView({ block: "start" });
  };

  const WORDS = { waiting: "Waiting for its turn.", checking: "Looking for the columns.", charging: "Booking the charge.", counting: "The charge is booked. Counting people.", drawing: "Drawing." };
  const follow = async (name) => {
    only("progress");
    for (;;) {
      const job = await ask(`job/${name}`);
      $("progress-text").textContent = WORDS[job.state] ?? "";
      if (job.state === "counting" && job.share > 0) $("progress-bar").value = job.share; else $("progress-bar").removeAttribute("value");
      if (job.state === "done") { current = name; show(await ask("state")); only("empty"); $("results").firstElementChild.querySelector("h2").focus(); return; }
      if (job.state === "failed") { show(await ask("state")); throw new Error(job.error + (job.booked ? " (the charge is booked, since the table was looked at)" : "")); }
      await new Promise((go) => setTimeout(go, 120));
    }
  };
  const counted = (job, place) => job.values.length ? [element("span", { class: "value" }, element("b", {}, job.values[place]))] : [];
  const listed = (one) => {
    const list = element(one.ordered ? "ol" : "ul", { class: one.values.length && one.items.length <= 12 ? "list few" : "list", role: "list" });
    one.items.forEach((item, place) => list.append(element("li", {}, one.ordered ? element("span", { class: "rank" }, String(place + 1)) : element("span", { class: "dot" }), element("bdi", { class: "name" }, item), ...counted(one, place))));
    return list;
  };
  const result = (job) => {
    const many = job.lists ?? [job], first = many[0] ?? { items: [], ordered: false };
    const none = many.every((one) => one.items.length === 0);
    const lists = many.flatMap((one) => [...(one.key === undefined ? [] : [element("h3", {}, element("bdi", {}, one.key))]), listed(one)]);
    const rows = element("dl", { class: "facts" });
    facts(rows, [["Guarantee", job.guarantee], ["Mechanism", job.mechanism], ["Booked", `${job.ledger}, entry ${job.entry}`], ["Head of its chain", job.head]]);
    const links = [["list.csv", "List as CSV"], ["list.json", "All of it as JSON"], ["report.html", "Report as a file"], ["repeat.ipynb", "Notebook that repeats it"], ["repeat.py", "Code that repeats it"]].map(([kind, title]) => element("a", { class: "button quiet", href: `download/${job.job}/${kind}`, download: "" }, title));
    links.unshift(element("a", { class: "button", href: `look/${job.job}`, target: "_blank", rel: "noopener" }, "Open the report"));
    const notes = job.notes.map((note) => element("p", { class: "note" }, note));
    const order = job.quantiles || none ? "" : first.ordered ? `In order, ${job.smallest ? "smallest" : "best"} first.` : "A set, sorted by name: its order says nothing.";
    if (none) lists.push(element("p", {}, "It looked, and found nothing that it may name: an answer too, and paid for. More people, a larger epsilon, a smaller k or a cap on the names of one person let more come out."));
    return element("article", { class: "card result" }, element("h2", { tabindex: "-1" }, job.purpose || (job.lists ? `${many.length} groups released` : job.quantiles ? "Quantiles released" : `${job.items.length} released`)), element("p", {}, job.summary), ...(order ? [element("p", { class: "note" }, order)] : []), ...lists, ...notes, rows, element("div", { class: "downloads" }, ...links));
  };

  const missing = (words) => {
    const list = words.kind === "list", way = list ? words.candidates : "";
    return [
      [!words.table, "table", "a table (there is none in this folder: try the made-up films, or start the studio where yours are)"],
      [!words.user, "user", "the column that says who a row is about"],
      [list && !words.item, "item", "the column of the items"],
      [!list && !words.value, "value", "the column of the values"],
      [!list && (!words.lower || !words.upper), "lower", "the range of the values"],
      [way === "file" && !words.candidates_file, "candidates_file", "the file with the candidates"],
      [way === "text" && !words.candidates_text.trim(), "candidates_text", "the candidates"],
      [["none", "every"].includes(way) && !words.delta, "delta", "a delta, such as 1e-6, since the names come from the data"],
      [!words.ledger, "ledger", "a ledger that pays (make one under 4)"],
    ].filter(([lacks]) => lacks);
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    mend();
    const words = question(), lacks = missing(words);
    if (lacks.length > 1) {
      $("problem").replaceChildren(element("p", {}, "Nearly there. For a plan the studio still needs:"), element("ul", {}, ...lacks.map(([, , text]) => element("li", {}, text))));
      only("problem");
      seen(lacks[0][1]).focus();
      return;
    }
    $("show-plan").textContent = "Looking at the plan …";
    try { showPlan(await ask("plan", words)); } catch (error) { fail(error); return; } finally { $("show-plan").textContent = "Show the plan"; }
    await expect(words);
  });
  form.addEventListener("input", forget);
  const fit = () => {
    const data = new FormData(form), kind = data.get("kind"), way = kind === "list" ? data.get("candidates") : "none";
    const within = (words, word) => words === undefined || words.split(" ").includes(word);
    for (const box of form.querySelectorAll("[data-way], [data-kind]")) box.hidden = !within(box.dataset.way, way) || !within(box.dataset.kind, kind);
    if ($("names").hidden) $("item-note").hidden = true;
    $("table-note").textContent = `One row for each ${kind === "list" ? "time a person met an item" : "value of a person"}. Its rows are not read yet.`;
  };
  const ROLES = { user: "people", item: "item", value: "value", by: "group" };
  const pick = () => {
    const found = Object.fromEntries(Object.keys(ROLES).map((name) => [name, []]));
    for (const select of $("roles").querySelectorAll("select")) if (select.value) found[select.value].push(select.dataset.column);
    const written = (name) => /[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
    for (const [name, columns] of Object.entries(found)) $(name).value = name === "item" ? columns.map(written).join(", ") : columns.at(-1) ?? "";
    if (found.by.length) $("some-rows").open = true;
  };
  const showRoles = (names) => {
    columns = names;
    const kind = new FormData(form).get("kind"), roles = Object.entries(ROLES).filter(([name]) => name !== (kind === "list" ? "value" : "item"));
    $("roles").replaceChildren(...columns.map((column, place) => {
      const select = element("select", { id: `role-${place}` }, new Option("not used", ""), ...roles.map(([name, word]) => new Option(word, name)));
      select.dataset.column = column;
      select.value = roles.map(([name]) => name).find((name) => $(name).value.split(",").map((word) => word.trim()).includes(column)) ?? "";
      return element("div", { class: "role" }, element("label", { for: `role-${place}` }, element("bdi", {}, column)), select);
    }));
    written(columns.length === 0);
  };
  const written = (whether) => {
    $("roles").hidden = $("write-columns").hidden = whether;
    $("names").hidden = !whether;
    $("item-note").hidden = !whether || new FormData(form).get("kind") !== "list";
  };
  const forgetColumns = () => {
    known = null;
    showRoles([]);
    $("separator-box").hidden = true;
    $("separator").value = "";
    $("first-line-box").hidden = !/\.(jsonl|ndjson)(\.gz)?$/i.test($("table").value);
    $("columns-said").textContent = /\.(parquet|pq)$/i.test($("table").value) ? "Reads the names of the columns, no rows."
      : $("first-line-box").hidden ? "Shows the first line of the file, which must hold the names of the columns: without such a line it would show a person's row." : "";
  };
  const readColumns = async () => {
    try {
      const found = await ask("columns", { table: $("table").value, first_line: $("first_line").checked, separator: $("separator").value });
      const between = found.between && { "\t": "a tab" }[found.between] || found.between;
      if (found.between) $("separator-box").hidden = false;
      known = found.all && !found.between ? found.columns : null;
      showRoles(found.between ? [] : found.columns);
      $("columns-said").textContent = found.between ? `The first line of the file was read: it is one single name, with ${between} in it. If ${between} stands between your columns, choose it here.` : found.columns.length ? `${found.read} Say what each column is.` : "It has no names of columns.";
      if (found.between) $("separator").focus();
      else if (found.columns.length) { pick(); $("roles").querySelector("select").focus(); }
    } catch (error) { $("columns-said").textContent = sentence(error.message.replace(/^table: /, "")); }
  };
  $("read-columns").addEventListener("click", readColumns);
  $("separator").addEventListener("change", readColumns);
  $("write-columns").addEventListener("click", () => { written(true); $("user").focus(); });
  $("roles").addEventListener("change", (event) => {
    const only = ["user", "value", "by"].includes(event.target.value);
    for (const other of $("roles").querySelectorAll("select")) if (only && other !== event.target && other.value === event.target.value) other.value = "";
    pick();
  });
  $("try-it").addEventListener("click", async () => {
    try {
      const found = await ask("example", {});
      show(found);
      const words = { table: "films.parquet", user: "user_id", item: "film", candidates_file: "films.txt", k: "10", epsilon: "1", users: "3000", purpose: "most watched films" };
      for (const [name, text] of Object.entries(words)) $(name).value = text;
      $("candidates_file").dataset.chosen = "yes";
      form.elements.kind.value = "list";
      form.elements.candidates.value = "file";
      fit();
      forgetColumns();
      forget();
      mend();
      if (!$("problem").hidden) only("empty"); // what was missing is filled in
      $("try-said").textContent = `${found.said} The form is filled in: ${found.ledgers.length ? "show the plan" : "make a ledger below, then show the plan"}.`;
    } catch (error) { fail(error); }
  });
  form.addEventListener("change", (event) => {
    if (["candidates", "kind"].includes(event.target.name)) fit();
    if (event.target.name === "table") forgetColumns();
    if (event.target.name === "kind" && columns.length) { showRoles(columns); pick(); }
    if (event.target.id === "ledger") showLedger();
    if (event.target.id === "candidates_file") event.target.dataset.chosen = "yes";
  });
  $("epsilon").addEventListener("input", () => { $("large-box").hidden = !(number($("epsilon").value) > 30); });
  $("agree").addEventListener("change", () => { $("release").disabled = !$("agree").checked; });
  $("release").addEventListener("click", async () => {
    const word = confirmWord, agree = $("agree").checked;
    confirmWord = null;
    $("release").disabled = true;
    try { await follow((await ask("release", { confirm: word, agree })).job); } catch (error) { fail(error); }
  });
  $("make-ledger").addEventListener("click", async () => {
    mend();
    try {
      const found = await ask("ledger", { name: $("ledger-name").value.trim(), epsilon: number($("ledger-epsilon").value), delta: number($("ledger-delta").value) });
      show(found);
      $("ledger").value = found.name;
      $("new-ledger").open = false;
      showLedger();
      $("ledger").focus(); // the button that had it is folded away
      if (!$("problem").hidden) only("empty");
    } catch (error) { fail(error, OF_LEDGER); }
  });
  form.reset();
  ask("state").then((found) => { show(found); forgetColumns(); }).catch(fail);
})();
