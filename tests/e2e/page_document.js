// As much of a document as the pages of traces use, for a test that runs their scripts without a browser.
// Text stays text here: whatever would parse markup throws.

class TestElement {
  constructor(tag) {
    Object.assign(this, { tag, className: "", nodes: [], attributes: {}, listeners: {}, parent: null, hidden: false });
    Object.assign(this, { title: "", tabIndex: -1, scrollTop: 0, clientWidth: 800, clientHeight: 400, offsetWidth: 10, offsetHeight: 10 });
    this.style = { setProperty() {} };
    const names = () => new Set(this.className.split(" ").filter(Boolean));
    const set = (all) => { this.className = [...all].join(" "); };
    this.classList = {
      add: (name) => set(names().add(name)),
      remove: (name) => { const all = names(); all.delete(name); set(all); },
      contains: (name) => names().has(name),
      toggle: (name, on = !names().has(name)) => { if (on) this.classList.add(name); else this.classList.remove(name); },
    };
  }

  set innerHTML(_) { throw new Error("markup from data"); }
  set outerHTML(_) { throw new Error("markup from data"); }
  insertAdjacentHTML() { throw new Error("markup from data"); }

  adopt(children) {
    return children.flatMap((child) => {
      if (child instanceof TestElement && child.tag === "#fragment") return child.nodes.splice(0);
      return [child instanceof TestElement ? child : String(child)];
    }).map((child) => {
      if (child instanceof TestElement) {
        child.remove();
        child.parent = this;
      }
      return child;
    });
  }

  append(...children) { this.nodes.push(...this.adopt(children)); }
  prepend(...children) { this.nodes.unshift(...this.adopt(children)); }
  replaceChildren(...children) { this.nodes = []; this.append(...children); }
  before(...children) { this.parent.nodes.splice(this.parent.nodes.indexOf(this), 0, ...this.parent.adopt(children)); }
  after(...children) { this.parent.nodes.splice(this.parent.nodes.indexOf(this) + 1, 0, ...this.parent.adopt(children)); }
  remove() {
    if (this.parent) this.parent.nodes = this.parent.nodes.filter((child) => child !== this);
    this.parent = null;
  }

  get textContent() { return this.nodes.map((child) => (child instanceof TestElement ? child.textContent : child)).join(""); }
  set textContent(text) { this.replaceChildren(String(text)); }
  setAttribute(name, value) { this.attributes[name] = value; }
  getAttribute(name) { return this.attributes[name] ?? null; }
  addEventListener(name, action) { (this.listeners[name] ??= []).push(action); }
  send(name, event = {}) {
    for (const action of this.listeners[name] ?? []) action({ target: this, preventDefault() {}, stopPropagation() {}, ...event });
  }
  all(test) {
    const own = this.nodes.filter((child) => child instanceof TestElement);
    return own.flatMap((child) => (test(child) ? [child, ...child.all(test)] : child.all(test)));
  }
  querySelector(wanted) { return this.all((one) => one.tag === wanted || `#${one.id}` === wanted)[0] ?? null; }
  contains(other) { return other === this || this.all((one) => one === other).length > 0; }
  focus() { document.activeElement = this; }
  blur() { document.activeElement = null; }
  select() { this.focus(); }
  scrollIntoView() {}
  showModal() { this.open = true; }
  getBoundingClientRect() { return { left: 0, top: 0 }; }
  getContext() {
    return new Proxy({ measureText: (text) => ({ width: text.length * 6 }) }, { get: (own, name) => own[name] ?? (() => {}), set: () => true });
  }
}

const elements = new Map();
const documentElement = new TestElement("html");
globalThis.document = {
  documentElement,
  activeElement: null,
  createElement: (tag) => new TestElement(tag),
  createDocumentFragment: () => new TestElement("#fragment"),
  getElementById(id) {
    if (!elements.has(id)) {
      const made = new TestElement("div");
      Object.assign(made, { id, checked: false, open: false, value: "" });
      if (id === "timeline") made.append(new TestElement("canvas"), document.getElementById("tip"));
      elements.set(id, made);
    }
    return elements.get(id);
  },
};
globalThis.location = { hash: "" };
globalThis.history = { pushState(_, __, address) { location.hash = address === "#" ? "" : address; } };
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
globalThis.getComputedStyle = () => ({ getPropertyValue: () => "#000" });
globalThis.ResizeObserver = class { observe() {} };
globalThis.requestAnimationFrame = (action) => action() ?? null;
globalThis.setTimeout = (action) => action() ?? 0;
globalThis.clearTimeout = () => {};
globalThis.addEventListener = () => {};
globalThis.removeEventListener = () => {};
globalThis.devicePixelRatio = 1;
globalThis.fetch = () => { throw new Error("a page loads nothing"); };

const BLOCKS = ["p", "h2", "h3", "h4", "li", "tr", "summary", "article", "section", "pre", "header", "dt", "details", "ol", "hr"];

/** The text of an element as a reader sees it, with a line for each block. */
function readable_text(node) {
  if (!(node instanceof TestElement)) return node;
  if (node.hidden) return "";
  if (node.tag === "hr") return "\n----\n";
  const inner = node.nodes.map(readable_text).join(node.tag === "tr" ? " | " : "");
  return BLOCKS.includes(node.tag) ? `\n${inner}\n` : inner;
}

globalThis.page = {
  /** The text of what is below the timeline, or of another part. */
  text: (id = "details") => readable_text(document.getElementById(id)).replace(/\n{2,}/g, "\n").trim(),
  /** Opens everything that is folded, also inside of what was folded. */
  open() {
    for (let round = 0; round < 8; round++) {
      const folded = document.getElementById("details").all((one) => one.tag === "details" && !one.isOpened);
      for (const box of folded) {
        box.open = true;
        box.isOpened = true;
        box.send("toggle");
      }
    }
  },
  /** Presses the first button with such a text; whether there is one. */
  press(text, id = "details") {
    const found = document.getElementById(id).all((one) => one.tag === "button" && one.textContent.includes(text))[0];
    found?.send("click");
    return found !== undefined;
  },
  tags: () => [...new Set([...elements.values()].flatMap((one) => one.all(() => true)).map((one) => one.tag))].sort().join(" "),
  count: (test) => [...elements.values()].flatMap((one) => one.all(test)).length,
};
