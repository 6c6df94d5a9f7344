"use strict";
// Making elements and saying numbers. Text goes into the document as text, never as markup.

/** An element with a class, attributes and children; a child that is a string becomes text. */
function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const child of children) {
    if (child !== null && child !== undefined) made.append(child);
  }
  return made;
}

function button(label, action, className) {
  const made = element("button", className, label);
  made.type = "button";
  made.addEventListener("click", action);
  return made;
}

/** The name of a span. Agents of one path are told apart by their nicknames. */
function nameOf(span) {
  return span.facts.nickname ? `${span.name} · ${span.facts.nickname}` : span.name;
}

/** A definition list of those facts that have a value. */
function factList(facts) {
  const list = element("dl", "facts");
  for (const [name, value] of facts) {
    if (value === null || value === undefined || value === "") continue;
    list.append(element("dt", "", name.replaceAll("_", " ")), element("dd", "", String(value)));
  }
  return list;
}

/** Text with every place of the words in it marked. */
function marked(text, words) {
  const fragment = document.createDocumentFragment();
  if (!words) {
    fragment.append(text);
    return fragment;
  }
  const low = text.toLowerCase();
  // A letter that changes its length in lower case would move the marks.
  const searchable = low.length === text.length;
  let from = 0;
  for (let marks = 0; searchable && marks < 500; marks++) {
    const at = low.indexOf(words, from);
    if (at < 0) break;
    fragment.append(text.slice(from, at), element("mark", "", text.slice(at, at + words.length)));
    from = at + words.length;
  }
  fragment.append(text.slice(from));
  return fragment;
}

function duration(ms) {
  if (ms < 1000) return `${Math.round(ms * 10) / 10} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
  const minutes = Math.floor(ms / 60000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function count(number) {
  return number.toLocaleString("en");
}

function bytes(number) {
  if (number === null || number === undefined) return "missing";
  if (number < 1024) return `${number} B`;
  if (number < 1 << 20) return `${(number / 1024).toFixed(1)} KiB`;
  return `${(number / (1 << 20)).toFixed(1)} MiB`;
}

function shorten(text, length) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}
