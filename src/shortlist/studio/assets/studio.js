// The studio's page: asks, shows the plan, lets the analyst confirm, follows the release. It keeps nothing.
(() => {
  const form = $("form");
  let state = null, confirmWord = null, asked = 0;
  let known = null; // the names of the columns, if they were asked for
  let columns = []; // those that are listed
  let current = null; // the release that was made last, until there is another question
  let tried = {}; // what the form was filled in with, for who tries it

  const show = (found) => {
    state = found;
    $("folder").textContent = `folder “${found.folder}”`;
    $("no-table").hidden = found.tables.length > 0;
    fill($("table"), found.tables, (one) => `${one.name} (${size(one.bytes)})`, "no table in this folder");
    offerLists();
    const paid = $("ledger").value;
    fill($("ledger"), found.ledgers, (one) => one.name, "none yet: make one below");
    if (found.ledgers.length) $("ledger").prepend(new Option("choose the ledger that pays", ""));
    if (found.ledgers.some((one) => one.name === paid)) $("ledger").value = paid; else propose();
    if (!found.ledgers.length) $("new-ledger").open = true;
    showLedger();
    officer.offer(found.ledgers);
    showResults();
  };
  // Tables are seldom public lists, and the one that is counted never is.
  const offerLists = () => {
    const select = $("candidates_file"), before = select.value, tables = new Set(state.tables.map((one) => one.name));
    const options = (files) => files.map((one) => new Option(one.name, one.name));
    const others = state.tables.filter((one) => one.name !== $("table").value);
    select.replaceChildren(new Option(state.lists.length ? "choose a file" : "no list in this folder", ""), ...options(state.lists.filter((one) => !tables.has(one.name))));
    if (others.length) select.append(element("optgroup", { label: "Tables: only one that anybody may read" }, ...options(others)));
    if ([...select.options].some((one) => one.value === before)) select.value = before;
  };
  // The ledger that paid for this table before, or one that paid for nothing yet: none that belongs to other data.
  const propose = () => {
    const table = $("table").value.split("/").at(-1);
    const fits = state.ledgers.find((one) => one.tables.includes(table)) ?? state.ledgers.find((one) => !one.tables.length);
    $("ledger").value = fits ? fits.name : "";
  };
  const showResults = () => {
    const done = [...state.done].reverse(), now = done.filter((job) => job.job === current), earlier = done.filter((job) => job.job !== current);
    $("results").replaceChildren(...now.map(shown.result));
    if (earlier.length) $("results").append(element("details", { id: "earlier" }, element("summary", {}, `Released earlier: ${earlier.length}`),
      element("p", { class: "note" }, "The studio remembers them until it ends, and the browser keeps nothing: save what you need."), ...earlier.map(shown.result)));
  };
  const showLedger = () => {
    const one = state.ledgers.find((ledger) => ledger.name === $("ledger").value), box = $("ledger-facts");
    box.replaceChildren();
    if (!one) return;
    const meter = element("div", { class: "meter", role: "img", "aria-label": `${share(one.share)} of the budget is spent` }, element("i"));
    meter.firstChild.style.width = `${100 * (one.share ?? 0)}%`;
    box.append(meter, element("p", { class: "plain left" }, one.left), element("p", { class: "note" }, sentence(one.standing)));
    if (one.delta) box.append(element("p", { class: "note" }, `Delta: ${sentence(one.delta)}`));
    if (one.caution) box.append(element("p", { class: "warning", role: "note" }, one.caution));
    if (one.entries.length) {
      const rows = one.entries.map((entry) => element("tr", {}, element("td", {}, String(entry.number)), element("td", {}, entry.time), element("td", {}, entry.cost), element("td", {}, entry.purpose)));
      box.append(element("table", { class: "entries", id: "entries" }, element("caption", one.entries.length < one.number ? {} : { class: "unseen" }, one.entries.length < one.number ? `The newest ${one.entries.length} of ${one.number} entries; all are under “The ledgers”.` : "All entries"), head("entry", "when (UTC)", "cost", "what for"), element("tbody", {}, ...rows)));
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
      where: data.get("where").trim(), by: $("by").closest("[data-way]").hidden ? "" : data.get("by").trim(), groups: $("groups").closest("[data-way]").hidden ? "" : data.get("groups").trim(), groups_per_user: number(data.get("groups_per_user")),
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

  const expect = async (words) => {
    const turn = asked += 1;
    $("expected").replaceChildren(element("p", {}, "Working it out, on made-up counts …"));
    try {
      const first = await ask("expected", { ...words, quick: true });
      if (turn !== asked) return;
      $("expected").replaceChildren(...shown.expected(first));
    } catch { /* the plan itself says what is wrong */ }
    let found;
    try { found = await ask("expected", words); } catch (error) { found = { told: sentence(error.message.replace(/^[a-z_]+: /, "")) }; }
    if (turn === asked) $("expected").replaceChildren(...shown.expected(found));
  };

  const showPlan = (plan) => {
    confirmWord = plan.confirm;
    const each = plan.by ? ` for ${plan.groups ? `each of ${plan.groups} groups` : "each group that may be named"}` : "";
    $("plan-title").textContent = plan.q !== null ? `${plan.q.length === 1 ? (plan.q[0] === 0.5 ? "The median" : "1 quantile") : `${plan.q.length} quantiles`}${each}` : plan.k === null ? "Every name that enough people hold" : plan.candidates === null ? `Up to ${plan.k} items${each}` : `${plan.smallest ? "The " : ""}${plan.k} ${plan.smallest ? "smallest " : ""}of ${plan.candidates.toLocaleString("en")} candidates${each}`;
    $("right").textContent = plan.guess_text;
    $("right-bar").style.width = `${100 * plan.guess}%`;
    facts($("plan-facts"), [["Guarantee", `${plan.guarantee} for every ${plan.unit}${plan.by ? ", in all groups together" : ""}`], ["Asked of", plan.asked_of], ["Mechanism", plan.mechanism], ["Why", plan.why]]);
    $("risk-words").textContent = plan.risk;
    $("risk-words").hidden = !plan.risk;
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
    $("spent").textContent = plan.spent;
    only("plan");
    bring($("plan-title"));
  };
  // To the beginning of the panel, beside the form or below it; with room for the forecast, which comes later.
  const bring = (title) => {
    const panel = $("plan").parentElement, wide = panel.offsetLeft > $("form").offsetLeft;
    title.focus({ preventScroll: true });
    if (!wide) panel.scrollIntoView({ block: "start" });
    else if (panel.offsetHeight + 250 > innerHeight) scrollTo(0, $("form").offsetTop - 20);
    else panel.scrollIntoView({ block: "nearest" });
  };
  // A panel higher than the window stops where its end is in sight; one that is lower, at the top.
  new ResizeObserver(([seen]) => seen.target.style.setProperty("--height", `${seen.target.offsetHeight}px`)).observe($("plan").parentElement);

  const WORDS = { waiting: "Waiting for its turn.", checking: "Looking for the columns.", charging: "Booking the charge.", counting: "The charge is booked. Counting people.", drawing: "Drawing." };
  const follow = async (name) => {
    only("progress");
    for (;;) {
      const job = await ask(`job/${name}`);
      $("progress-text").textContent = WORDS[job.state] ?? "";
      if (job.state === "counting" && job.share > 0) $("progress-bar").value = job.share; else $("progress-bar").removeAttribute("value");
      if (job.state === "done") { current = name; show(await ask("state")); only("empty"); bring($("results").firstElementChild.querySelector("h2")); return; }
      if (job.state === "failed") { show(await ask("state")); throw new Error(job.error + (job.booked ? " (the charge is booked, since the table was looked at)" : " (nothing was charged)")); }
      await new Promise((go) => setTimeout(go, 120));
    }
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
      [!words.ledger, "ledger", "a ledger that pays (choose or make one under 4)"],
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
    $("table-note").textContent = `One row for each ${kind === "list" ? "time a person met an item" : "value of a person"}. Its rows are read only after you have confirmed.`;
  };
  const ROLES = { user: "people", item: "item", value: "value", by: "group" };
  const pick = () => {
    const found = Object.fromEntries(Object.keys(ROLES).map((name) => [name, []]));
    for (const select of $("roles").querySelectorAll("select")) if (select.value) found[select.value].push(select.dataset.column);
    const written = (name) => /[",]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
    const unasked = new FormData(form).get("kind") === "list" ? "value" : "item"; // it stays, for who turns back
    for (const [name, columns] of Object.entries(found)) if (name !== unasked) $(name).value = name === "item" ? columns.map(written).join(", ") : columns.at(-1) ?? "";
    if (found.by.length) $("some-rows").open = true;
  };
  // The columns of "film, country"; one with a comma in its name stands in quotes.
  const listed = (text) => (text.match(/\s*"(?:[^"]|"")*"|[^,]+/g) ?? []).map((word) => word.trim().replace(/^"(.*)"$/, (_, name) => name.replaceAll('""', '"')));
  const showRoles = (names) => {
    columns = names;
    const kind = new FormData(form).get("kind"), roles = Object.entries(ROLES).filter(([name]) => name !== (kind === "list" ? "value" : "item"));
    $("roles").replaceChildren(...columns.map((column, place) => {
      const select = element("select", { id: `role-${place}` }, new Option("not used", ""), ...roles.map(([name, word]) => new Option(word, name)));
      select.dataset.column = column;
      select.value = roles.map(([name]) => name).find((name) => listed($(name).value).includes(column)) ?? "";
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
  // Another table: what the films had is none of its words.
  const untry = () => {
    for (const name of ["user", "item", "candidates_file", "users", "purpose"]) if ($(name).value === tried[name]) $(name).value = "";
    tried = {};
  };
  const clear = () => { mend(); if (!$("problem").hidden) only("empty"); };
  const readColumns = async () => {
    clear();
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
      tried = words;
      for (const [name, text] of Object.entries(words)) {
        $(name).value = text;
        if (name === "table") offerLists();
      }
      propose();
      showLedger();
      form.elements.kind.value = "list";
      form.elements.candidates.value = "file";
      fit();
      forgetColumns();
      forget();
      clear(); // what was missing is filled in
      $("try-said").textContent = `${found.said} The form is filled in: ${$("ledger").value ? "show the plan" : `${found.ledgers.length ? "choose or make" : "make"} a ledger below, then show the plan`}.`;
    } catch (error) { fail(error); }
  });
  form.addEventListener("change", (event) => {
    if (["candidates", "kind"].includes(event.target.name)) fit();
    if (event.target.name === "table") { untry(); forgetColumns(); offerLists(); propose(); showLedger(); clear(); }
    if (event.target.name === "kind" && columns.length) { showRoles(columns); pick(); }
    if (event.target.id === "ledger") showLedger();
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
  let budgets = 0;
  const showBudget = async () => {
    const turn = budgets += 1;
    let found = { risk: "", caution: "" };
    try { found = await ask("risk", { epsilon: number($("ledger-epsilon").value), delta: number($("ledger-delta").value) }); } catch { /* making the ledger says what is wrong */ }
    if (turn !== budgets) return;
    $("ledger-risk").textContent = found.risk;
    $("ledger-caution").textContent = found.caution;
    $("ledger-caution").hidden = !found.caution;
  };
  for (const name of ["ledger-epsilon", "ledger-delta"]) $(name).addEventListener("input", showBudget);
  // As it was at the last plan, which the studio remembers: the page keeps nothing. A tick for a large epsilon is given anew.
  const restore = (words) => {
    for (const [name, value] of Object.entries(words)) {
      const field = form.elements.namedItem(name);
      if (!field || value === null || name === "large") continue;
      if (field.type === "checkbox") field.checked = value === true;
      else if (!field.options || [...field.options].some((one) => one.value === value)) field.value = value;
      if (name === "table") { forgetColumns(); offerLists(); }
    }
    if (words.separator) { $("separator-box").hidden = false; $("separator").value = words.separator; }
    fit();
    known = words.columns ?? null;
    if (known) {
      showRoles(known);
      $("columns-said").textContent = "These names were read before. Say what each column is.";
    }
    if (words.where || words.by) $("some-rows").open = true;
    $("large-box").hidden = !(number($("epsilon").value) > 30);
    showLedger();
  };
  form.reset();
  ask("state").then((found) => { show(found); forgetColumns(); if (found.asked) restore(found.asked); showBudget(); }).catch(fail);
})();
