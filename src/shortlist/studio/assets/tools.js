"use strict";
// What the scripts of the studio share.
const $ = (name) => document.getElementById(name);
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
const size = (bytes) => bytes === 0 ? "empty" : `about ${rounded(bytes)}`;
const rounded = (bytes) => bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : bytes < 1e9 ? `${(bytes / 1e6).toFixed(0)} MB` : `${(bytes / 1e9).toFixed(0)} GB`;
// With a capital letter, unless it begins with the name of a file, and a full stop.
const sentence = (text) => (/^[a-z]+[ ,:;]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text) + (/[.?!]$/.test(text) ? "" : ".");
const share = (part) => part === null ? "" : `${(100 * part).toFixed(part < 0.1 ? 1 : 0)}%`;
const facts = (node, rows) => node.replaceChildren(...rows.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
const fill = (select, names, label, empty) => {
  const before = select.value;
  select.replaceChildren(...(names.length ? names.map((one) => new Option(label(one), one.name)) : [new Option(empty, "")]));
  if (names.some((one) => one.name === before)) select.value = before;
};
const head = (...words) => element("thead", {}, element("tr", {}, ...words.map((word) => element("th", { scope: "col" }, word))));
