// What came out and what is to be expected, as elements: from what the server says, and from nothing else.
const shown = (() => {
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
    const keep = element("p", { class: "keep" }, element("b", {}, "Save it now: "), "the studio forgets it when it ends. The notebook and the code ask again, and running them is charged again.");
    return element("article", { class: "card result" }, element("h2", { tabindex: "-1" }, job.purpose || (job.lists ? `${many.length} groups released` : job.quantiles ? "Quantiles released" : `${job.items.length} released`)), element("p", {}, job.summary), ...(order ? [element("p", { class: "note" }, order)] : []), ...lists, ...notes, rows, keep, element("div", { class: "downloads" }, ...links));
  };
  const chance = (part) => part > 0.9995 ? ">99.9%" : `${(100 * part).toFixed(1)}%`;
  const expected = (found) => {
    const parts = [element("p", {}, found.told)];
    if (found.guessed) {
      const own = element("button", { type: "button", class: "quiet" }, "Write your own numbers");
      own.addEventListener("click", () => { $("users").closest("details").open = true; $("users").focus(); });
      parts.push(own);
    }
    if (!found.rows) return parts;
    const cells = (tag, texts) => element("tr", {}, ...texts.map((text, place) => element(tag, { ...(place ? { class: "number" } : {}), ...(tag === "th" ? { scope: "col" } : {}) }, text)));
    const rows = found.rows.map((row) => cells("td", [row.runs ? `${row.mechanism} (it runs)` : row.mechanism, chance(row.reached), row.needed === null ? "none is enough" : String(Number(row.needed.toPrecision(3)))]));
    const more = element("details", {}, element("summary", {}, "All mechanisms compared"),
      element("table", {}, element("thead", {}, cells("th", ["mechanism", "exactly right", "ε for 99%"])), element("tbody", {}, ...rows)));
    more.append(element("p", { class: "note" }, found.others));
    if (found.bound) more.append(element("p", { class: "note" }, `No mechanism can do it with ε below ${Number(found.bound.toPrecision(3))}.`));
    return [...parts, more];
  };
  return { result, expected };
})();
