// The page: totals, filters, search, keys, and what is selected. The selection stands in the address.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

/** Steps that the timeline as text has at most. */
const MOST_AS_TEXT = 300;

/** Whether light colours are shown: by choice, else by the setting of the system. */
function isLight() {
  const { classList } = document.documentElement;
  return classList.contains("light") || (!classList.contains("dark") && matchMedia("(prefers-color-scheme: light)").matches);
}

const KEYS = [
  ["/", "search"], ["n  N", "next, previous match"], ["Esc", "leave the search, or go to the overview"],
  ["j  k", "next, previous span"], ["u", "what the span ran inside"], ["z", "zoom to the span"],
  ["+  -  0", "zoom in, out, show everything"], ["← → ↑ ↓", "move the timeline"],
  ["o", "overview"], ["t", "light or dark"], ["?", "this list"],
  ["wheel", "scroll or zoom; with ctrl zoom, with shift pan"],
];

class Viewer {
  constructor() {
    this.selected = null;
    this.matches = null;
    this.sort();
    this.details = new Details(byId("details"), data, (at) => this.select(at));
    const outcomes = () => this.details.outcomes;
    this.timeline = new Timeline(byId("timeline"), data, (at) => this.select(at), outcomes);
    this.timeline.dimmed = (at) => this.isDimmed(at);
    this.showHead();
    this.showKinds();
    this.showAsText();
    this.listen();
    if (data.is_document) this.conversation = new Conversation(this);
    this.fromAddress();
  }

  sort() {
    for (const span of data.spans) {
      if (span.open) span.end = Math.max(span.start, data.end);
    }
    this.order = data.spans.map((_, at) => at).sort((a, b) =>
      data.spans[a].start - data.spans[b].start || data.spans[a].seq[0] - data.spans[b].seq[0]);
  }

  /** Shows data that have changed, and leaves the place where the reader is. */
  refresh() {
    const { timeline, details } = this;
    const isWhole = timeline.to >= timeline.shownEnd;
    this.sort();
    details.index();
    timeline.layOut();
    this.showHead();
    this.showKinds();
    this.showAsText();
    this.matches = this.words ? new Set(this.order.filter((at) => this.hasWords(at, this.words))) : null;
    const top = details.section.scrollTop;
    details.show(this.selected, this.words ?? "", this.hits());
    details.section.scrollTop = top;
    if (isWhole) timeline.fit();
    else timeline.draw();
  }

  /** Shows whether a followed session still runs. */
  showState(state) {
    byId("about").append(` · ${state}`);
  }

  showHead() {
    const { trace, totals } = data;
    byId("totals").replaceChildren();
    byId("about").textContent = `${trace.rollout_id} · ${new Date(data.start).toISOString()} · ${trace.status}`;
    const total = (number, name, isBad) => byId("totals").append(
      element("div", isBad ? "total bad" : "total", element("b", "", number), element("span", "", name)));
    total(duration(data.end - data.start), "in all");
    total(count(totals.threads), totals.threads === 1 ? "agent" : "agents");
    total(count(totals.turns), totals.turns === 1 ? "turn" : "turns");
    total(count(totals.inferences), `inferences, ${duration(totals.inference_ms)}`);
    total(count(totals.tools), `tool calls, ${duration(totals.tool_ms)}`);
    total(count(totals.input_tokens), `tokens in, ${count(totals.cached_tokens)} cached`);
    total(count(totals.output_tokens), `tokens out, ${count(totals.reasoning_tokens)} reasoning`);
    const waited = data.notices.reduce((sum, notice) => sum + Math.max(0, notice.waited ?? 0), 0);
    if (waited > 0) total(duration(waited), "waiting for a person");
    if (totals.failed > 0) total(count(totals.failed), "not completed", true);
    if (totals.exit_codes > 0) total(count(totals.exit_codes), totals.exit_codes === 1 ? "exit code not 0" : "exit codes not 0", true);
    if (trace.damaged) total(count(data.problems.length), "problems", true);
  }

  showKinds() {
    byId("kinds").replaceChildren();
    for (const kind of KINDS) {
      const { outcomes } = this.details;
      const number = data.spans.filter((span, at) => span.kind === kind && outcomes.shownBy(at) === at).length;
      if (number === 0) continue;
      const chip = button(`${kind} ${count(number)}`, () => {
        const on = chip.getAttribute("aria-pressed") !== "true";
        chip.setAttribute("aria-pressed", String(on));
        const shown = new Set(this.timeline.shown);
        if (on) shown.add(kind);
        else shown.delete(kind);
        this.timeline.setKinds(shown);
      }, "chip");
      chip.setAttribute("aria-pressed", String(this.timeline.shown.has(kind)));
      chip.style.setProperty("--swatch", `var(--${kind})`);
      byId("kinds").append(chip);
    }
  }

  /** The timeline as a list for those who do not see it. */
  showAsText() {
    const { outcomes } = this.details;
    const list = this.order.filter((at) => outcomes.shownBy(at) === at && data.spans[at].kind !== "terminal");
    // The last ones are the ones that matter in a long session.
    const shown = list.slice(-MOST_AS_TEXT);
    const entries = shown.map((at) => {
      const span = data.spans[at];
      const agent = span.kind === "thread" ? "" : ` of ${nameOf(data.spans[span.thread])}`;
      const isCall = span.kind === "tool" || span.kind === "cell";
      const what = isCall ? outcomes.line(at) : `${shorten(nameOf(span), 120)}, ${duration(span.end - span.start)}, ${span.status}`;
      return element("li", "", `at ${duration(span.start - data.start)}: ${span.kind}${agent}: ${what}`);
    });
    const hidden = list.length - shown.length;
    byId("timeline-text").replaceChildren(...(hidden > 0 ? [element("li", "", `${count(hidden)} earlier steps are not listed`)] : []), ...entries);
  }

  listen() {
    const { timeline } = this;
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", () => timeline.draw());
    byId("search").addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.search(), 150);
    });
    byId("failed").addEventListener("change", () => timeline.draw());
    byId("zoom-in").addEventListener("click", () => timeline.zoom(1.6));
    byId("zoom-out").addEventListener("click", () => timeline.zoom(1 / 1.6));
    byId("fit").addEventListener("click", () => timeline.fit());
    byId("theme").addEventListener("click", () => this.changeTheme());
    byId("help").addEventListener("click", () => byId("keys").showModal());
    for (const [key, what] of KEYS) byId("key-list").append(element("dt", "", key), element("dd", "", what));
    byId("split").addEventListener("pointerdown", (event) => this.resize(event));
    addEventListener("keydown", (event) => this.onKey(event));
    addEventListener("hashchange", () => this.onAddress());
  }

  /** What the address names: a span by its kind and id, which are the same in every page of a bundle. */
  fromAddress() {
    const place = data.spans.findIndex((_, one) => this.address(one) === location.hash);
    const at = place < 0 ? place : this.details.outcomes.shownBy(place);
    if (at !== this.selected || !this.isShown) this.show(at < 0 ? null : at);
  }

  /** The reader goes to another address of the page, for example back to the conversation. */
  onAddress() {
    this.fromAddress();
    this.conversation?.setShown(this.selected === null);
  }

  address(at) {
    return `#${data.spans[at].kind}/${encodeURIComponent(data.spans[at].id)}`;
  }

  select(place) {
    const at = place === null ? null : this.details.outcomes.shownBy(place);
    const wanted = at === null ? "" : this.address(at);
    if (location.hash !== wanted) history.pushState(null, "", wanted || "#");
    if (at !== null) this.conversation?.setShown(false);
    this.show(at);
  }

  show(at) {
    this.isShown = true;
    this.selected = this.timeline.selected = at;
    this.details.show(at, this.words ?? "", this.hits());
    if (at !== null) this.timeline.reveal(at);
    else this.timeline.draw();
  }

  isDimmed(at) {
    if (byId("failed").checked && !this.details.outcomes.isBad(at)) return true;
    return this.matches !== null && !this.matches.has(at);
  }

  search() {
    const words = byId("search").value.trim().toLowerCase();
    this.words = words;
    this.matches = words === "" ? null : new Set(this.order.filter((at) => this.hasWords(at, words)));
    byId("matches").textContent = this.matches === null ? "" : `${count(this.matches.size)} found`;
    this.timeline.draw();
    this.details.show(this.selected, words, this.hits());
  }

  /** The list of what was found; none without a search. */
  hits() {
    return this.matches === null ? undefined : hitList(this, this.words);
  }

  /** Whether the words are in what a span is, says, or adds to the conversation, or in its payloads. */
  hasWords(at, words) {
    const span = data.spans[at];
    const holds = (text) => text.toLowerCase().includes(words);
    const commands = this.details.outcomes.commandsOf.get(at) ?? [];
    if (commands.some((command) => this.hasWords(command, words))) return true;
    if (holds(span.name) || holds(span.id) || holds(span.kind)) return true;
    if (holds(Object.values(span.facts).map((fact) => JSON.stringify(fact)).join(" "))) return true;
    if ((span.texts ?? []).some(([, text]) => holds(text))) return true;
    const items = [...(span.prompt?.add ?? []), ...(span.response ?? [])];
    if (items.some((item) => data.items[item].parts.some((part) => holds(part.text)))) return true;
    // A request holds the whole history; what it added has been looked at.
    const payloads = (span.payloads ?? []).filter(([label]) => label !== "request");
    return payloads.some(([, place]) => holds(data.payloads[place].body ?? ""));
  }

  /** The next span in time, among the matches when there is a search. */
  step(by, among) {
    const list = this.order.filter((at) => (among === null || among.has(at)) && this.timeline.rowOf.has(at));
    if (list.length === 0) return;
    const rank = new Map(this.order.map((at, place) => [at, place]));
    const here = this.selected === null ? -1 : rank.get(this.selected);
    const after = by > 0 ? list.find((at) => rank.get(at) > here) : list.findLast((at) => rank.get(at) < here);
    this.select(after ?? (by > 0 ? list[0] : list[list.length - 1]));
  }

  changeTheme() {
    const { classList } = document.documentElement;
    const wasLight = isLight();
    classList.toggle("light", !wasLight);
    classList.toggle("dark", wasLight);
    this.timeline.draw();
  }

  resize(event) {
    event.preventDefault();
    const timeline = byId("timeline");
    const [y, height] = [event.clientY, timeline.clientHeight];
    const move = (now) => { timeline.style.height = `${Math.max(90, height + now.clientY - y)}px`; };
    addEventListener("pointermove", move);
    addEventListener("pointerup", () => removeEventListener("pointermove", move), { once: true });
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    if (event.target === byId("search")) {
      if (event.key === "Escape") this.leaveSearch();
      if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1, this.matches);
      return;
    }
    // Arrows scroll the details when those have the focus.
    const arrows = event.key.startsWith("Arrow") && byId("details").contains(document.activeElement);
    const action = arrows ? null : this.actions()[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  actions() {
    const { timeline } = this;
    return {
      "/": () => byId("search").select(),
      n: () => this.step(1, this.matches),
      N: () => this.step(-1, this.matches),
      Escape: () => (this.matches === null ? this.select(null) : this.leaveSearch()),
      j: () => this.step(1, null),
      k: () => this.step(-1, null),
      u: () => this.selected !== null && this.select(data.spans[this.selected].parent ?? null),
      z: () => this.selected !== null && timeline.zoomTo(this.selected),
      "+": () => timeline.zoom(1.6),
      "=": () => timeline.zoom(1.6),
      "-": () => timeline.zoom(1 / 1.6),
      0: () => timeline.fit(),
      ArrowLeft: () => timeline.pan(-0.15),
      ArrowRight: () => timeline.pan(0.15),
      ArrowUp: () => timeline.scroll(-ROW * 2),
      ArrowDown: () => timeline.scroll(ROW * 2),
      o: () => this.select(null),
      t: () => this.changeTheme(),
      "?": () => byId("keys").showModal(),
    };
  }

  leaveSearch() {
    byId("search").value = "";
    byId("search").blur();
    this.search();
  }
}

const viewer = new Viewer();
if (data.live) new Live(viewer, data);
