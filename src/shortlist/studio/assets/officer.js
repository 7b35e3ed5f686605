// The view of whoever answers for a budget: one ledger, its entries, its risk; and which view is shown.
const officer = (() => {
  const bar = (words, text, part, kind) => {
    const row = element("div", { class: `row ${kind}` }, element("span", {}, words), element("b", {}, text), element("div", { class: "bar" }, element("i")));
    row.querySelector("i").style.width = `${100 * part}%`;
    return row;
  };
  const table = (columns, rows) => element("table", { class: "stack" }, head(...columns), element("tbody", {}, ...rows.map((cells) =>
    element("tr", {}, ...cells.map((cell, place) => element("td", { "data-label": columns[place] }, element("bdi", {}, cell)))))));
  const shown = (one) => {
    const meter = element("div", { class: "meter", role: "img", "aria-label": `${share(one.share)} of the budget is booked` }, element("i"));
    meter.firstChild.style.width = `${100 * one.share}%`;
    const rows = element("dl", { class: "facts" });
    facts(rows, [["Promise", `${one.promise} for every person, for all releases together`], ["Rules", one.terms], ["Booked so far", `${one.so_far}, ${one.times}: progress, not a promise`], ["Left", one.admits],
      ["Chain", one.chain], ["Head of the chain", one.head]]);
    const path = one.name.split("/").map(encodeURIComponent).join("/");
    const links = [["report.html", "Report as a file"], ["report.csv", "All entries as CSV"]].map(([kind, title]) => element("a", { class: "button quiet", href: `ledger/${kind}/${path}`, download: "" }, title));
    links.unshift(element("a", { class: "button", href: `ledger/look/${path}`, target: "_blank", rel: "noopener" }, "Open the report"));
    const waits = one.waiting.length ? [element("h3", {}, "Waiting for approval"), table(["entry", "who asked", "what for", "table and columns"], one.waiting.map((ask) => [String(ask.number), ask.who || "not noted", ask.purpose || "not said", ask.source || "not noted"])),
      element("p", { class: "note" }, "Nothing was charged for them, and nothing looked at. Somebody else than who asked may approve one: ", element("code", {}, `shortlist ledger approve ${one.name} ${one.waiting[0].number}`))] : [];
    return [element("div", { class: "card" }, element("h2", {}, one.name), meter, rows, ...(one.caution ? [element("p", { class: "warning", role: "note" }, one.caution)] : []), element("div", { class: "downloads" }, ...links)),
      element("div", { class: "card" }, element("h3", {}, "What it can give away"), element("p", { class: "note" }, "Somebody knows everything else and every release, and guesses whether one person is in the data."),
        element("div", { class: "risk flat" }, bar("Before any release, they are right", "50%", 0.5, ""), bar("After what is booked so far, at most", one.booked_text, one.booked_guess, "after"), bar("After the whole budget, at most: this is the promise", one.guess_text, one.guess, "after"))),
      element("div", { class: "card" }, ...waits, element("h3", {}, "Every entry"), one.entries.length ? table(one.columns, one.entries) : element("p", {}, "None so far."))];
  };
  let looks = 0;
  const look = async () => {
    const name = $("officer-ledger").value, turn = looks += 1; // who chooses another does not wait for the first
    $("officer-problem").hidden = true;
    $("officer").replaceChildren();
    if (!name) { $("officer").append(element("p", {}, "There is no ledger in this folder yet: make one under “A release”.")); return; }
    let found = [], said = "";
    try { found = shown(await ask("officer", { ledger: name })); } catch (error) { said = sentence(error.message); }
    if (turn !== looks) return;
    $("officer").replaceChildren(...found);
    $("officer-problem").textContent = said;
    $("officer-problem").hidden = !said;
  };
  let chosen = false;
  const turn = () => {
    const ledgers = location.hash === "#ledgers";
    $("view-ledgers").hidden = !ledgers;
    $("view-release").hidden = ledgers;
    for (const [name, here] of [["to-ledgers", ledgers], ["to-release", !ledgers]]) if (here) $(name).setAttribute("aria-current", "page"); else $(name).removeAttribute("aria-current");
    if (ledgers) {
      if (!chosen && $("ledger").value) $("officer-ledger").value = $("ledger").value; // the one that pays in the other view
      look();
      $("officer-title").focus();
    }
  };
  $("officer-ledger").addEventListener("change", () => { chosen = true; look(); });
  addEventListener("hashchange", turn);
  let started = false;
  return {
    offer: (ledgers) => {
      fill($("officer-ledger"), ledgers, (one) => one.name, "none yet");
      if (!started) { started = true; turn(); }
    },
  };
})();
