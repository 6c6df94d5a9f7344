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

/** Statuses of spans that need no attention. */
const GOOD = ["completed", "running"];

/** Longer texts are shown in part at first. */
const MOST_SHOWN = 20000;

/** The name of a span. Agents of one path are told apart by their nicknames. */
function nameOf(span) {
  return span.facts.nickname ? `${span.name} · ${span.facts.nickname}` : span.title ?? span.name;
}

/** A text; of a long one the beginning, with a way to the rest. */
function longText(text, words) {
  if (text.length <= MOST_SHOWN) return element("pre", "", marked(text, words));
  const box = element("pre", "", marked(text.slice(0, MOST_SHOWN), words));
  const more = button(`Show all (${bytes(text.length)})`, () => {
    box.replaceChildren(marked(text, words));
    more.remove();
  });
  return element("div", "", box, more);
}

/** A part of a text that was read as Markdown. */
function markdownElement(node, words) {
  if (typeof node === "string") return marked(node, words);
  const made = element(node.tag, "", ...node.children.map((child) => markdownElement(child, words)));
  if (node.link !== undefined) {
    made.setAttribute("href", node.link);
    made.setAttribute("rel", "noreferrer");
  }
  if (node.start !== undefined) made.setAttribute("start", String(node.start));
  return made;
}

/** Something that is made only when it is opened. */
function foldedBox(className, title, make) {
  const box = element("details", className, element("summary", "", ...title));
  let isMade = false;
  box.addEventListener("toggle", () => {
    if (!box.open || isMade) return;
    isMade = true;
    box.append(...make());
  });
  return box;
}

/** A text behind its title. */
function foldedText(title, text, role, words) {
  const lines = text.split("\n").length;
  const note = element("span", "note", `${count(lines)} ${lines === 1 ? "line" : "lines"}`);
  return foldedBox(`fold ${role}`, [title, note], () => [longText(text, words)]);
}

/** JSON with its layout, and texts in it that are JSON themselves as such: nothing is escaped twice. */
function readableText(text) {
  try {
    return /^\s*[[{]/.test(text) ? JSON.stringify(unfolded(JSON.parse(text, withDigits), 0), null, 2) : text;
  } catch {
    return text;
  }
}

/** Keeps the digits of numbers that are not what JavaScript would write. */
function withDigits(_, value, context) {
  const isOther = typeof value === "number" && context?.source !== undefined && String(value) !== context.source;
  return isOther && JSON.rawJSON ? JSON.rawJSON(context.source) : value;
}

/** A value in which texts that are JSON have become values. */
function unfolded(value, depth) {
  if (depth > 32 || JSON.isRawJSON?.(value)) return value;
  if (typeof value === "string") {
    if (!/^\s*[[{]/.test(value)) return value;
    try {
      return unfolded(JSON.parse(value, withDigits), depth + 1);
    } catch {
      return value;
    }
  }
  if (Array.isArray(value)) return value.map((one) => unfolded(one, depth + 1));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, unfolded(one, depth + 1)]));
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
  // The rest of an enormous text is not looked at.
  const line = text.slice(0, 20 * length + 1000).replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}
