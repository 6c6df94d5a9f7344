// The session as a story: turns with what was said, calls with their outcome, and compactions as breaks.

/** Turns at once, requests of a turn at once, and turns in the jump list. */
const TURNS_AT_ONCE = 20;
const REQUESTS_AT_ONCE = 60;
const MOST_JUMPS = 500;

class Story {
  constructor(details) {
    this.details = details;
    this.data = details.data;
    this.outcomes = details.outcomes;
    const { spans } = this.data;
    const turns = spans.map((_, at) => at).filter((at) => spans[at].kind === "turn");
    this.turns = turns.sort((a, b) => spans[a].start - spans[b].start || spans[a].seq[0] - spans[b].seq[0]);
    this.places = new Map(this.turns.map((at, place) => [spans[at].id, place]));
    this.byTurn = { notices: new Map(), compactions: new Map() };
    for (const notice of this.data.notices) push(this.byTurn.notices, notice.turn ?? this.turnAt(notice.at), notice);
    for (const one of this.data.compactions) push(this.byTurn.compactions, one.turn, one);
    this.noteItems();
  }

  /** The turn at a time: the first that had begun and had not ended. */
  turnAt(time) {
    const { spans } = this.data;
    const found = this.turns.find((at) => spans[at].start <= time && spans[at].end >= time);
    return found === undefined ? undefined : spans[found].id;
  }

  /** Where each item was first sent, and which items only repeat others after a compaction. */
  noteItems() {
    this.firstSent = new Map();
    this.replaced = new Set(this.data.compactions.flatMap((one) => one.after));
    this.data.spans.forEach((span, at) => {
      for (const item of span.prompt?.add ?? []) if (!this.firstSent.has(item)) this.firstSent.set(item, at);
      for (const item of span.response ?? []) this.firstSent.set(item, -1);
    });
  }

  show() {
    if (this.turns.length === 0) return [];
    const start = Math.max(0, this.startingTurn());
    const list = element("div", "story");
    this.showFrom(list, start);
    const jumps = this.turns.length > 1 ? [this.jumpList(list, start)] : [];
    return [element("h3", "", "What happened"), ...jumps, list];
  }

  /** The story begins at the last failure; without one, at the end. */
  startingTurn() {
    const failed = this.turns.findLastIndex((at) => this.hasFailed(at));
    return failed >= 0 ? failed : this.turns.length - 1;
  }

  /** Whether a turn did not end well, or its last command did not. */
  hasFailed(at) {
    const { spans } = this.data;
    if (!GOOD.includes(spans[at].status)) return true;
    const requests = (this.details.children.get(at) ?? []).filter((one) => spans[one].kind === "inference");
    const last = requests.at(-1);
    if (last !== undefined && !GOOD.includes(spans[last].status)) return true;
    const calls = requests.flatMap((one) => this.details.children.get(one) ?? []);
    const call = calls.filter((one) => this.outcomes.commandsOf.has(one)).at(-1);
    return call !== undefined && this.outcomes.isBad(call);
  }

  /** Shows turns from one on, with ways to the earlier and later ones. */
  showFrom(list, start) {
    let [from, to] = [start, start];
    const earlier = button("", () => {
      const first = Math.max(0, from - TURNS_AT_ONCE);
      earlier.after(...this.turns.slice(first, from).map((at) => this.turn(at)));
      from = first;
      label();
    });
    const later = button("", () => more());
    const more = () => {
      const end = Math.min(this.turns.length, to + TURNS_AT_ONCE);
      later.before(...this.turns.slice(to, end).map((at) => this.turn(at)));
      to = end;
      label();
    };
    const label = () => {
      earlier.textContent = `Show earlier turns (${count(from)})`;
      earlier.hidden = from === 0;
      later.textContent = `Show later turns (${count(this.turns.length - to)})`;
      later.hidden = to === this.turns.length;
    };
    list.replaceChildren(earlier, later);
    more();
  }

  /** The turns by their first words. */
  jumpList(list, start) {
    const { spans } = this.data;
    const hasAgents = spans.filter((span) => span.kind === "thread").length > 1;
    const entries = this.turns.slice(-MOST_JUMPS).map((at) => {
      const place = this.places.get(spans[at].id);
      const agent = hasAgents ? `${nameOf(spans[spans[at].thread])} ` : "";
      const words = `${place + 1}. ${agent}${this.firstWords(at)}`;
      const jump = button(words, () => {
        this.showFrom(list, place);
        list.scrollIntoView();
      }, this.hasFailed(at) ? "jump bad" : "jump");
      return element("li", "", jump);
    });
    const hidden = this.turns.length - entries.length;
    const box = element("details", "fold jumps", element("summary", "", `Turns (${count(this.turns.length)}), shown from turn ${start + 1} on`),
      hidden > 0 ? element("p", "note", `${count(hidden)} earlier ones are not listed.`) : null, element("ol", "", ...entries));
    box.open = this.turns.length <= 12;
    return box;
  }

  /** What a turn was asked. */
  firstWords(at) {
    const { spans, items } = this.data;
    for (const call of this.requestsOf(at)) {
      for (const place of this.freshOf(call)) {
        const item = items[place];
        if ((item.role === "user" || item.mail) && item.kind === "message" && !isContext(item)) return shorten(textOf(item), 70) || "…";
      }
    }
    return spans[at].name;
  }

  requestsOf(turn) {
    return (this.details.children.get(turn) ?? []).filter((child) => this.data.spans[child].kind === "inference");
  }

  /** The items that a request sent first. */
  freshOf(at) {
    return this.details.freshItems(at).filter((item) => this.firstSent.get(item) === at && !this.replaced.has(item));
  }

  /** A turn; of a long one the end, unless it is to be whole. */
  turn(at, isWhole) {
    const span = this.data.spans[at];
    const isBad = !GOOD.includes(span.status);
    const agent = nameOf(this.data.spans[span.thread]);
    const head = element("header", "links", this.details.link(at), element("span", "", agent),
      element("span", "", duration(span.end - span.start)), element("span", isBad ? "badge bad" : "badge", span.status));
    const box = element("section", isBad ? "turn failed" : "turn", head);
    const requests = this.requestsOf(at);
    const compactions = this.byTurn.compactions.get(span.id) ?? [];
    const events = [
      ...requests.map((call) => ({ at: this.data.spans[call].start, parts: () => this.exchange(call) })),
      ...(this.byTurn.notices.get(span.id) ?? []).map((notice) => ({ at: notice.at, parts: () => [this.notice(notice)] })),
      ...compactions.map((one) => ({ at: one.at, parts: () => this.compaction(one) })),
      ...this.failedCompactions(at, compactions).map((call) => ({ at: this.data.spans[call].end, parts: () => this.failedCompaction(call) })),
    ].sort((a, b) => a.at - b.at);
    let first = isWhole ? 0 : Math.max(0, events.length - REQUESTS_AT_ONCE);
    const body = element("div", "", ...events.slice(first).flatMap((event) => event.parts()));
    if (first > 0) {
      const more = button(`Show the beginning of the turn (${count(first)} steps)`, () => {
        more.remove();
        body.prepend(...events.slice(0, first).flatMap((event) => event.parts()));
        first = 0;
      });
      box.append(more);
    }
    box.append(body);
    return box;
  }

  exchange(at) {
    const span = this.data.spans[at];
    const fresh = this.freshOf(at).filter((item) => this.data.items[item].kind !== "reasoning");
    const parts = [...fresh, ...span.response].map((item) => this.message(item)).filter(Boolean);
    if (!GOOD.includes(span.status)) {
      const error = span.facts.error ? errorText(span.facts.error) : span.status;
      parts.push(element("p", "bad", "The request failed: ", shorten(error, 400), " ", this.details.link(at)));
    }
    return parts;
  }

  /** An item as people read it. Instructions and context are folded away, and so is what only the model can read. */
  message(at) {
    const item = this.data.items[at];
    const text = textOf(item);
    if (item.kind.endsWith("_call_output")) return this.result(item, text);
    if (item.kind === "function_call" || item.kind === "custom_tool_call") return this.call(item, text);
    if (item.kind === "reasoning") return text ? this.folded("Reasoning", text, item) : null;
    if (item.kind === "compaction_marker") return null;
    if (isContext(item)) return this.folded(`Context: ${shorten(text, 60)}`, text, item);
    const who = item.mail ? `${item.mail[0]} → ${item.mail[1]}` : item.role;
    return element("article", `item ${item.role}`, element("header", "", element("b", "", who)), this.said(item, text));
  }

  said(item, text) {
    if (item.markdown === undefined) return longText(text, this.details.words);
    return element("div", "markdown", ...item.markdown.map((node) => markdownElement(node, this.details.words)));
  }

  folded(title, text, item) {
    return foldedText(title, text, item.role, this.details.words);
  }

  /** The result of a call that no span is known of; any other stands behind its call. */
  result(item, text) {
    if (this.outcomes.spanOf(item) !== undefined) return null;
    return this.folded(`Result of ${shorten(item.call ?? "a call", 40)}: ${shorten(textIn(text), 90)}`, textIn(text), item);
  }

  /** A call with its outcome in one line, and behind it what it was given and what came of it. */
  call(item, text) {
    const at = this.outcomes.spanOf(item);
    if (at === undefined) {
      const line = text.includes("*** Begin Patch") ? patchText(commandOf(text)) : shorten(commandOf(text), 200);
      return foldedBox("fold call", [element("code", "", line)], () =>
        [text.includes("*** Begin Patch") ? patch(text) : longText(readableText(text), this.details.words)]);
    }
    return this.outcome(at, item);
  }

  outcome(at, item) {
    const { details, outcomes } = this;
    const cell = item === null ? undefined : this.cellOf(at, item);
    const shown = cell ?? at;
    const isBad = outcomes.isBad(at) || outcomes.isBad(shown);
    const line = element("code", isBad ? "bad" : "", outcomes.line(shown));
    const box = foldedBox(isBad ? "fold call failed" : "fold call", [line], () =>
      [element("div", "links", details.link(at)), ...outcomes.body(at, item, details.words)]);
    const inside = (details.children.get(shown) ?? []).filter((one) => this.data.spans[one].kind === "tool");
    if (this.data.spans[shown].kind !== "cell" || inside.length === 0) return box;
    const rest = inside.length > REQUESTS_AT_ONCE ? [element("p", "note", `${count(inside.length - REQUESTS_AT_ONCE)} more calls.`)] : [];
    return element("div", "nested", box, ...inside.slice(0, REQUESTS_AT_ONCE).map((one) => this.outcome(one, null)), ...rest);
  }

  /** The script that a call is. */
  cellOf(at, item) {
    const list = this.outcomes.ofCall.get(`${item.thread} ${item.call}`) ?? [];
    return list.find((one) => this.data.spans[one].kind === "cell" && this.data.spans[one].start >= this.data.spans[at].start)
      ?? list.find((one) => this.data.spans[one].kind === "cell");
  }

  /** What happened beside the conversation. */
  notice(notice) {
    const text = shorten(errorText(notice.text), 240);
    const answer = notice.answer ? ` → ${shorten(notice.answer, 80)}` : "";
    const waited = notice.waited === undefined ? "" : `, after ${duration(notice.waited)}`;
    return element("p", notice.kind === "error" ? "aside bad" : "aside", element("b", "", notice.kind), ` ${text}${answer}${waited}`);
  }

  /** A compaction: what the context was, what it became, and what is gone. */
  compaction(one) {
    const { items, spans } = this.data;
    const after = new Set(one.after);
    const texts = new Set(one.after.map((item) => textOf(items[item])));
    const known = new Set(one.before);
    const dropped = one.before.filter((item) => !after.has(item) && !texts.has(textOf(items[item])));
    const before = new Set(one.before.map((item) => textOf(items[item])));
    const added = one.after.filter((item) => !known.has(item) && !before.has(textOf(items[item])) && textOf(items[item]) !== "");
    const thread = spans.findIndex((span) => span.kind === "thread" && span.id === one.thread);
    const [was, became] = [this.tokensAround(thread, one.at, -1), this.tokensAround(thread, one.at, 1)];
    const side = (name, list, tokens) => element("div", "", element("b", "", name),
      ` ${count(list.length)} items${tokens === null ? "" : `, ${count(tokens)} tokens`}`);
    const card = element("section", "compaction", element("h4", "", "The context was compacted"),
      element("div", "sides", side("before", one.before, was), side("after", one.after, became)));
    for (const item of added.slice(0, 4)) card.append(this.folded("Summary", textOf(items[item]), items[item]));
    if (dropped.length > 0) {
      card.append(foldedBox("fold", [`Dropped (${count(dropped.length)})`], () => {
        const list = dropped.slice(0, 200).map((item) => this.details.item(item, false));
        const rest = dropped.length - list.length;
        return rest > 0 ? [...list, element("p", "note", `${count(rest)} more.`)] : list;
      }));
    }
    const links = one.requests.map((id) => spans.findIndex((span) => span.kind === "compaction" && span.id === id)).filter((at) => at >= 0);
    if (links.length > 0) card.append(element("div", "links", ...links.map((at) => this.details.link(at))));
    return [element("hr", "break"), card];
  }

  /** The tokens of the last request before a time, or the first one after it. */
  tokensAround(thread, time, direction) {
    const { spans } = this.data;
    const calls = spans.filter((span) => span.kind === "inference" && span.thread === thread && span.facts.usage);
    const found = direction < 0 ? calls.findLast((span) => span.start <= time) : calls.find((span) => span.start >= time);
    return found ? found.facts.usage.input_tokens : null;
  }

  failedCompactions(turn, installed) {
    const { spans } = this.data;
    const known = new Set(installed.flatMap((one) => one.requests));
    return (this.details.children.get(turn) ?? []).filter((at) =>
      spans[at].kind === "compaction" && !GOOD.includes(spans[at].status) && !known.has(spans[at].id));
  }

  failedCompaction(at) {
    return [element("p", "aside bad", "A compaction failed: ", shorten(this.outcomes.failure(at), 240), " ", this.details.link(at))];
  }
}

/** Whether an item is context that programs wrote. */
function isContext(item) {
  return item.role === "developer" || item.role === "system" || /^<[a-z_ ]+>|^# AGENTS/.test(textOf(item).trimStart().slice(0, 200));
}

/** The message in an error that is JSON, or the error as it is. */
function errorText(text) {
  try {
    const { error, message } = JSON.parse(text);
    const found = error?.message ?? error ?? message;
    return typeof found === "string" ? found : text;
  } catch {
    return text;
  }
}

/** A patch with its lines coloured. */
function patch(text) {
  const box = element("pre", "patch");
  const inner = /"(?:input|patch)"\s*:/.test(text) ? commandOf(text) : text;
  for (const line of inner.split("\n")) {
    const name = { "+": "added", "-": "removed", "@": "place" }[line[0]] ?? (line.startsWith("***") ? "place" : "");
    box.append(element("span", name, `${line}\n`));
  }
  return box;
}

/** The command in the arguments of a call, or the arguments as they are. */
function commandOf(text) {
  try {
    const { command, cmd, input, patch: body } = JSON.parse(text);
    const found = command ?? cmd ?? input ?? body;
    if (Array.isArray(found)) {
      const isScript = found.length === 3 && /(^|\/)(ba|z|da)?sh$/.test(found[0]) && /^-l?c$/.test(found[1]);
      return `$ ${isScript ? found[2] : found.join(" ")}`;
    }
    if (typeof found === "string") return command !== undefined || cmd !== undefined ? `$ ${found}` : found;
  } catch {
    // Arguments that are no JSON are shown as they are.
  }
  return text;
}

/** What was found, with the text around it. */
function hitList(viewer, words) {
  const hits = viewer.order.filter((at) => viewer.matches.has(at));
  const rows = hits.slice(0, 200).map((at) => [
    viewer.details.link(at), data.spans[at].kind, duration(data.spans[at].start - data.start), hitText(at, words),
  ]);
  return [element("h3", "", `Found (${count(hits.length)})`), viewer.details.table(["what", "kind", "at", "text"], rows, hits.length)];
}

/** The first text of a span that holds the words. */
function hitText(at, words) {
  const span = data.spans[at];
  const items = [...(span.prompt?.add ?? []), ...(span.response ?? [])];
  const texts = [
    span.name, ...(span.texts ?? []).map(([, text]) => text),
    ...items.flatMap((item) => data.items[item].parts.map((part) => part.text)),
    ...(span.payloads ?? []).filter(([label]) => label !== "request").map(([, place]) => data.payloads[place].body ?? ""),
  ];
  const text = texts.find((one) => one.toLowerCase().includes(words)) ?? span.id;
  const place = Math.max(0, text.toLowerCase().indexOf(words) - 60);
  return element("span", "", marked(shorten(text.slice(place, place + 400), 180), words));
}
