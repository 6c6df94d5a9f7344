// What is shown below the timeline: the overview, or everything about one span.

const ITEMS_AT_ONCE = 60;

/** Members of a request that are about this request only. */
const NEW_EACH_TIME = ["input", "previous_response_id", "client_metadata"];

/** Lines shown before and after a difference. */
const AROUND = 3;

class Details {
  constructor(section, data, onSelect) {
    this.section = section;
    this.data = data;
    this.onSelect = onSelect;
    this.words = "";
    this.index();
  }

  /** Notes what ran inside what. */
  index() {
    const { data } = this;
    this.children = new Map();
    data.spans.forEach((span, at) => {
      if (span.parent === undefined) return;
      if (!this.children.has(span.parent)) this.children.set(span.parent, []);
      this.children.get(span.parent).push(at);
    });
    this.outcomes = new Outcomes(data);
  }

  /** Shows a span, or the overview; in its place what was found, where there is a list of that. */
  show(at, words, hits) {
    this.words = words;
    this.section.replaceChildren(...(at === null ? hits ?? this.overview() : this.span(at)));
    this.section.scrollTop = 0;
  }

  overview() {
    const { data } = this;
    const parts = [element("div", "title", element("h2", "", "Overview"))];
    if (data.problems.length > 0) parts.push(element("h3", "", "What is wrong with the bundle"), this.problems());
    const overview = new Overview(this);
    parts.push(...overview.show());
    parts.push(element("h3", "", "Agents"), overview.tree(), this.agents());
    if (data.edges.length > 0) {
      const edges = data.edges.map((_, edge) => edge).sort((a, b) => data.edges[a].start - data.edges[b].start);
      parts.push(element("h3", "", "Between agents"), this.edges(edges));
    }
    parts.push(element("h3", "", "Inferences"), this.inferences());
    return parts;
  }

  problems() {
    const rows = this.data.problems.slice(0, 200).map((problem) => [
      element("span", problem.damage ? "bad" : "", problem.damage ? "damage" : "notice"),
      problem.line === null ? "" : `line ${problem.line}`,
      problem.text,
    ]);
    return this.table(["", "where", "what"], rows, this.data.problems.length);
  }

  agents() {
    const { spans } = this.data;
    const sums = new Map();
    for (const span of spans) {
      const sum = sums.get(span.thread) ?? { turns: 0, inferences: 0, tools: 0, input: 0, output: 0, ms: 0 };
      sums.set(span.thread, sum);
      if (span.kind === "turn") sum.turns++;
      if (span.kind === "tool") sum.tools++;
      if (span.kind !== "inference") continue;
      sum.inferences++;
      sum.input += span.facts.usage?.input_tokens ?? 0;
      sum.output += span.facts.usage?.output_tokens ?? 0;
      sum.ms += span.end - span.start;
    }
    const rows = [...sums].filter(([at]) => spans[at].kind === "thread").map(([at, sum]) => [
      this.link(at), this.parentThread(at), spans[at].facts.model ?? "", sum.turns, sum.inferences, sum.tools,
      count(sum.input), count(sum.output), duration(sum.ms), duration(spans[at].end - spans[at].start),
    ]);
    const names = ["agent", "spawned by", "model", "turns", "inferences", "tools", "tokens in", "out", "model time", "time"];
    return this.table(names, rows, rows.length);
  }

  parentThread(at) {
    const parent = this.data.spans[at].parent;
    return parent === undefined ? "" : this.link(this.data.spans[parent].thread);
  }

  edges(list) {
    const rows = list.slice(0, 300).map((at) => {
      const edge = this.data.edges[at];
      const carried = edge.items.map((item) => this.itemText(item)).join(" ");
      return [
        edge.kind.replaceAll("_", " "), this.linkInThread(edge.source), this.linkInThread(edge.target),
        duration(edge.start - this.data.start), shorten(carried, 140),
      ];
    });
    return this.table(["what", "from", "to", "at", "carried"], rows, list.length);
  }

  inferences() {
    const { spans } = this.data;
    const list = spans.map((_, at) => at).filter((at) => spans[at].kind === "inference");
    const rows = list.slice(0, 300).map((at) => {
      const usage = spans[at].facts.usage;
      const said = spans[at].response.map((item) => this.itemText(item)).join(" ");
      return [
        this.link(at), this.link(spans[at].thread), duration(spans[at].start - this.data.start),
        duration(spans[at].end - spans[at].start),
        usage ? `${count(usage.input_tokens)} → ${count(usage.output_tokens)}` : "",
        shorten(said, 110),
      ];
    });
    return this.table(["model", "agent", "at", "took", "tokens", "answer"], rows, list.length);
  }

  table(names, rows, total) {
    const head = element("tr", "", ...names.map((name) => element("th", "", name)));
    const body = rows.map((row) => element("tr", "", ...row.map((cell) =>
      element("td", typeof cell === "number" ? "number" : "", typeof cell === "number" ? String(cell) : cell))));
    const table = element("table", "", element("thead", "", head), element("tbody", "", ...body));
    if (total <= rows.length) return table;
    return element("div", "", table, element("p", "note", `${count(total - rows.length)} more are in the timeline.`));
  }

  /** A button that selects a span; that of a command selects its tool, which shows it. */
  link(place) {
    const at = this.outcomes.shownBy(place);
    const span = this.data.spans[at];
    return button(shorten(nameOf(span), 60) || span.id, () => this.onSelect(at));
  }

  linkInThread(at) {
    const span = this.data.spans[at];
    if (span.thread === at) return this.link(at);
    return element("span", "links", this.link(span.thread), this.link(at));
  }

  span(at) {
    const span = this.data.spans[at];
    const bad = this.outcomes.isBad(at);
    const kind = element("span", "badge kind", span.kind);
    kind.style.setProperty("--swatch", `var(--${span.kind})`);
    const status = element("span", bad ? "badge bad" : "badge", span.open ? `${span.status}, no end` : span.status);
    const name = element("h2", "", marked(shorten(nameOf(span), 160), this.words));
    const took = element("span", "badge", duration(span.end - span.start));
    const title = element("div", "title", kind, name, status, took, this.ways(at));
    const side = element("div", "", factList(this.facts(at)), ...this.relations(at), ...this.payloads(span));
    const body = element("div", "", ...this.body(at));
    return [title, element("div", "columns", side, body)];
  }

  /** Buttons to what stands around a span. */
  ways(at) {
    const span = this.data.spans[at];
    const ways = element("span", "links", button("Overview", () => this.onSelect(null)));
    const up = [];
    for (let to = span.parent; to !== undefined && up.length < 12; to = this.data.spans[to].parent) up.unshift(to);
    ways.append(...up.map((to) => this.link(to)));
    return ways;
  }

  facts(at) {
    const span = this.data.spans[at];
    const { usage, summary, ...rest } = span.facts;
    const commands = this.outcomes.commandsOf.get(at) ?? [];
    for (const command of commands.slice(0, 1)) {
      const { cwd, exit_code: code, terminal } = this.data.spans[command].facts;
      Object.assign(rest, { tool: span.name, cwd, exit_code: code, terminal });
    }
    const waited = this.outcomes.waited(at);
    const facts = [
      ["started", `${new Date(span.start).toISOString()} (${duration(span.start - this.data.start)})`],
      ["sequence", span.seq[1] === null ? `${span.seq[0]} …` : `${span.seq[0]} … ${span.seq[1]}`],
      ["id", span.id],
      ...Object.entries(rest),
    ];
    if (waited > 0) facts.push(["waited for a person", duration(waited)]);
    if (usage) {
      facts.push(["tokens in", `${count(usage.input_tokens)}, ${count(usage.cached_input_tokens)} cached`]);
      facts.push(["tokens out", `${count(usage.output_tokens)}, ${count(usage.reasoning_output_tokens)} reasoning`]);
    }
    for (const [name, value] of Object.entries(summary ?? {})) if (name !== "type") facts.push([name, value]);
    return facts;
  }

  relations(at) {
    const parts = [];
    const children = (this.children.get(at) ?? []).filter((child) => this.outcomes.shownBy(child) === child);
    if (children.length > 0) {
      const shown = children.slice(0, 100).map((child) => this.link(child));
      const more = children.length > 100 ? [element("span", "note", `and ${children.length - 100} more`)] : [];
      parts.push(element("h3", "", `Inside (${children.length})`), element("div", "links", ...shown, ...more));
    }
    const touches = (edge) => [edge.source, edge.target].some((end) =>
      end === at || (this.data.spans[at].kind === "thread" && this.data.spans[end].thread === at));
    const edges = this.data.edges.map((_, edge) => edge).filter((edge) => touches(this.data.edges[edge]));
    if (edges.length > 0) parts.push(element("h3", "", "Between agents"), ...edges.map((edge) => this.edge(edge)));
    return parts;
  }

  /** An edge on a line, for the narrow column. */
  edge(at) {
    const edge = this.data.edges[at];
    const carried = edge.items.map((item) => this.itemText(item)).join(" ");
    const line = element("div", "links edge", element("span", "note", edge.kind.replaceAll("_", " ")),
      this.linkInThread(edge.source), "→", this.linkInThread(edge.target));
    return element("div", "", line, carried ? element("pre", "", shorten(carried, 400)) : null);
  }

  payloads(span) {
    const commands = this.outcomes.commandsOf.get(this.data.spans.indexOf(span)) ?? [];
    const list = [...(span.payloads ?? []), ...commands.flatMap((at) => this.data.spans[at].payloads ?? [])];
    const seen = new Set();
    const own = list.filter(([, at]) => !seen.has(at) && seen.add(at));
    if (own.length === 0) return [];
    return [element("h3", "", "Raw payloads"), ...own.map(([label, at]) => this.payload(label, at))];
  }

  /** A payload that is put into the document only when it is opened. */
  payload(label, at) {
    const payload = this.data.payloads[at];
    const note = element("span", "note", `${payload.path} · ${bytes(payload.bytes)}`);
    const box = element("details", "payload", element("summary", "", label, note));
    box.addEventListener("toggle", () => {
      if (!box.open || box.querySelector("pre")) return;
      if (payload.body === null) {
        box.append(element("p", "note", "The file is missing."));
        return;
      }
      if (payload.cut) {
        box.append(element("p", "note", `Cut to fit the page: ${bytes(payload.body.length)} of ${bytes(payload.bytes)}.`));
      }
      const text = longText(readable(payload), this.words);
      text.tabIndex = 0;
      box.append(text);
    });
    return box;
  }

  body(at) {
    const span = this.data.spans[at];
    const parts = (span.texts ?? []).flatMap(([label, text]) => [element("h3", "", label), longText(text, this.words)]);
    if (span.kind === "inference") parts.push(...this.conversation(at));
    if (span.kind === "turn" || span.kind === "thread") {
      const { spans } = this.data;
      const mine = (other) => span.kind === "thread" ? other.thread === at : other.parent === at;
      const calls = spans.map((_, to) => to).filter((to) => spans[to].kind === "inference" && mine(spans[to]));
      if (calls.length > 0) {
        parts.push(element("h3", "", "What was said"));
        for (const call of calls.slice(0, 40)) parts.push(...this.exchange(call));
      }
    }
    if (span.kind === "tool") {
      parts.push(element("pre", "outcome", this.outcomes.line(at)));
      if (this.outcomes.commandsOf.has(at)) parts.push(...this.outcomes.body(at, null, this.words));
      parts.push(...this.calls(at));
    }
    return parts;
  }

  /** What a request added to the conversation, and the answer. */
  exchange(at) {
    const span = this.data.spans[at];
    const fresh = this.freshItems(at).map((item) => this.item(item, false));
    const answer = span.response.map((item) => this.item(item, false));
    return [element("div", "links", this.link(at)), ...fresh.slice(-20), ...answer];
  }

  /** The request and the result of a tool, from its payloads. */
  calls(at) {
    const wanted = (this.data.spans[at].payloads ?? []).filter(([label]) => label !== "runtime");
    return wanted.flatMap(([label, place]) => {
      const payload = this.data.payloads[place];
      if (payload.body === null) return [];
      return [element("h3", "", label), longText(readable(payload), this.words)];
    });
  }

  /** Every item of a prompt, back through the prompts that it goes on from. */
  promptItems(at) {
    const pieces = [];
    let limit = Infinity;
    for (let place = at; place !== undefined;) {
      const { base, keep, add } = this.data.spans[place].prompt;
      pieces.unshift(add.slice(0, Math.max(0, limit - keep)));
      limit = Math.min(limit, keep);
      place = base;
    }
    return pieces.flat();
  }

  /** What a request added: the items that are neither in the prompt before nor that one's answer. */
  freshItems(at) {
    const { base, add } = this.data.spans[at].prompt;
    if (base === undefined) return add;
    const said = new Set(this.data.spans[base].response);
    return add.filter((item) => !said.has(item));
  }

  conversation(at) {
    const span = this.data.spans[at];
    const items = this.promptItems(at);
    const fresh = new Set(span.prompt.base === undefined ? [] : span.prompt.add);
    const list = element("div", "");
    let first = items.length;
    const more = button("", () => earlier());
    const earlier = () => {
      const from = Math.max(0, first - ITEMS_AT_ONCE);
      list.prepend(...items.slice(from, first).map((item) => this.item(item, fresh.has(item))));
      first = from;
      more.textContent = `Show earlier items (${count(first)})`;
      more.hidden = first === 0;
    };
    earlier();
    const parts = [...this.changes(at), element("h3", "", `What the model saw (${items.length} items)`), more, list];
    parts.push(element("h3", "", `What it answered (${span.response.length} items)`));
    parts.push(...span.response.map((item) => this.item(item, false)));
    return parts;
  }

  /** How a request differs from the one before: what it leaves out, and what it adds. */
  changes(at) {
    const { base, keep, add } = this.data.spans[at].prompt;
    if (base === undefined) return [];
    const before = this.promptItems(base);
    const dropped = before.slice(keep).filter((item) => !add.includes(item));
    const head = element("p", "note", `Against the request before: ${count(keep)} items kept, ${count(dropped.length)} left out, ${count(add.length)} added.`);
    head.append(...this.settingsChanged(base, at));
    const list = dropped.slice(0, 40).map((item) => this.item(item, false));
    if (list.length === 0) return [head];
    const box = element("details", "fold", element("summary", "bad", `Left out (${count(dropped.length)})`), ...list);
    return [head, box];
  }

  /** Members of a request, such as tools and instructions, that are other than in the request before. */
  settingsChanged(before, at) {
    const [old, now] = [before, at].map((place) => this.request(place));
    return this.settingsNames(before, at).map((name) => element("details", "fold", element("summary", "bad", `Changed: ${name}`),
      lineDiff(shown(old[name]), shown(now[name]))));
  }

  /** The names of those members. */
  settingsNames(before, at) {
    const [old, now] = [before, at].map((place) => this.request(place));
    if (old === null || now === null) return [];
    const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
    return names.filter((name) => !NEW_EACH_TIME.includes(name) && JSON.stringify(old[name]) !== JSON.stringify(now[name]));
  }

  /** The body of a request; none if it is not whole in this page. */
  request(at) {
    const found = (this.data.spans[at].payloads ?? []).find(([label]) => label === "request");
    const payload = found && this.data.payloads[found[1]];
    if (!payload?.body || payload.cut) return null;
    try {
      const value = JSON.parse(payload.body);
      return value !== null && typeof value === "object" ? value : null;
    } catch {
      return null;
    }
  }

  item(at, isFresh) {
    const item = this.data.items[at];
    const head = element("header", "", element("b", "", item.role), item.kind.replaceAll("_", " "));
    if (item.channel) head.append(element("span", "badge", item.channel));
    if (item.mail) head.append(element("span", "badge", `${item.mail[0]} → ${item.mail[1]}`));
    if (item.call) head.append(element("span", "", item.call));
    if (isFresh) head.append(element("span", "new-mark", "new"));
    const box = element("article", `item ${item.role}${isFresh ? " new" : ""}`, head);
    for (const part of item.parts) {
      const text = longText(part.kind === "encoded" ? part.text : readableText(part.text), this.words);
      // Only the model's server can read it.
      const isFolded = part.kind === "encoded" && part.text.length > 200;
      box.append(isFolded ? element("details", "fold", element("summary", "", `Encrypted, ${bytes(part.text.length)}`), text) : text);
      if (part.cut) box.append(element("p", "note", `${bytes(part.cut)} more are not in this page.`));
      if (part.payload !== undefined) box.append(this.payload(part.kind, part.payload));
    }
    return box;
  }

  itemText(at) {
    return this.data.items[at].parts.map((part) => part.text).join(" ");
  }
}

/** The lines between the first and the last difference of two texts, with a few around them. */
function lineDiff(old, now) {
  const [before, after] = [old.split("\n"), now.split("\n")];
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const box = element("pre", "patch");
  const add = (className, sign, lines) => lines.forEach((line) => box.append(element("span", className, `${sign} ${line}\n`)));
  add("", " ", before.slice(Math.max(0, head - AROUND), head));
  add("removed", "-", before.slice(head, before.length - tail));
  add("added", "+", after.slice(head, after.length - tail));
  add("", " ", after.slice(after.length - tail).slice(0, AROUND));
  return box;
}

/** A member of a request as text. */
function shown(value) {
  if (value === undefined) return "(absent)";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** The body of a payload with its layout, where it is whole. */
function readable(payload) {
  return payload.cut ? payload.body : readableText(payload.body);
}
