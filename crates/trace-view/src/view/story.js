// The overview: what failed, what took longest, what it cost, and the session as messages.

/** Turns at once in the list of messages. */
const TURNS_AT_ONCE = 20;

/** Statuses of spans that need no attention. */
const GOOD = ["completed", "running"];

class Story {
  constructor(details) {
    this.details = details;
    this.data = details.data;
    this.toolOfCall = new Map();
    this.data.spans.forEach((span, at) => {
      if (span.kind === "tool" && span.facts.call) this.toolOfCall.set(`${span.thread} ${span.facts.call}`, at);
    });
  }

  show() {
    return [
      ...this.findings(), ...this.failures(), ...this.notices(), ...this.slowest(), ...this.models(), ...this.tokens(),
      element("h3", "", "Messages"), ...this.messages(), ...this.request(),
    ];
  }

  spansOf(kind) {
    return this.data.spans.map((_, at) => at).filter((at) => this.data.spans[at].kind === kind);
  }

  /** What is worth a look, each with the reason and the way there. */
  findings() {
    const { findings = [], spans } = this.data;
    if (findings.length === 0) return [];
    const rows = findings.map((finding) => {
      const at = spans.findIndex((span) => span.id === finding.object);
      return [
        element("b", "", finding.title), at < 0 ? finding.what : this.details.link(at), finding.agent,
        duration(finding.at - this.data.start), element("span", "", at < 0 ? finding.why : `${finding.what}: ${finding.why}`),
      ];
    });
    const table = this.details.table(["worth a look", "where", "agent", "at", "why"], rows, findings.length);
    return [element("h3", "bad", `Worth a look (${findings.length})`), element("div", "failures", table)];
  }

  /** Everything that failed, the last first. */
  failures() {
    const { spans } = this.data;
    // A terminal fails with its command, which is listed.
    const failed = spans.map((_, at) => at).filter((at) => spans[at].kind !== "terminal" && !GOOD.includes(spans[at].status));
    if (failed.length === 0) return [];
    failed.sort((a, b) => spans[b].end - spans[a].end);
    const rows = failed.slice(0, 12).map((at) => [
      this.details.link(at), spans[at].kind, spans[at].status, duration(spans[at].start - this.data.start),
      element("span", "bad", shorten(this.errorOf(at), 240)),
    ]);
    const table = this.details.table(["what", "kind", "status", "at", "error"], rows, failed.length);
    return [element("h3", "bad", `Failed (${failed.length}), the last first`), element("div", "failures", table)];
  }

  /** Why a span failed: its own error, or what it printed last. */
  errorOf(at) {
    const span = this.data.spans[at];
    if (span.facts.error) return errorText(span.facts.error);
    const printed = (span.texts ?? []).filter(([label]) => label === "stderr" || label === "stdout").map(([, text]) => text);
    const result = (span.payloads ?? []).filter(([label]) => label === "result").map(([, place]) => this.data.payloads[place].body);
    const { exit_code: exit } = span.facts;
    const said = printed.find((text) => text) ?? result.find((text) => text);
    return said === undefined ? exit === undefined ? "" : `exit code ${exit}` : errorText(said);
  }

  slowest() {
    const { spans } = this.data;
    const took = (at) => spans[at].end - spans[at].start;
    const steps = ["inference", "tool", "compaction"].flatMap((kind) => this.spansOf(kind));
    const list = steps.sort((a, b) => took(b) - took(a)).slice(0, 3).filter((at) => took(at) > 0);
    if (list.length === 0) return [];
    const links = list.map((at) => element("span", "links", this.details.link(at), `${spans[at].kind}, ${duration(took(at))}`));
    return [element("h3", "", "Slowest steps"), element("div", "links wide", ...links)];
  }

  /** Questions to the user with their answers, interrupts, warnings: what stands beside the conversation. */
  notices() {
    const { notices, start } = this.data;
    if (notices.length === 0) return [];
    const repeats = new Map();
    for (const notice of notices) {
      const same = notice.kind === "warning" ? `${notice.kind} ${notice.text}` : notice;
      if (!repeats.has(same)) repeats.set(same, { notice, times: 0 });
      repeats.get(same).times++;
    }
    const hasAnswers = notices.some((notice) => notice.waited !== undefined);
    const rows = [...repeats.values()].slice(0, 60).map(({ notice, times }) => {
      const text = `${shorten(errorText(notice.text), 160)}${times > 1 ? ` (${count(times)} times)` : ""}`;
      const answer = [notice.answer ?? "", notice.waited === undefined ? "" : duration(notice.waited)];
      return [notice.kind, duration(notice.at - start), text, ...(hasAnswers ? answer : [])];
    });
    const names = ["what", "at", "", ...(hasAnswers ? ["answer", "waited"] : [])];
    const table = this.details.table(names, rows, repeats.size);
    return [element("h3", "", "Approvals, waits and warnings"), table];
  }

  /** Where tokens went, and money if prices are known. */
  models() {
    const sums = new Map();
    for (const at of this.spansOf("inference")) {
      const { model, usage } = this.data.spans[at].facts;
      if (!usage) continue;
      const sum = sums.get(model) ?? { calls: 0, fresh: 0, cached: 0, out: 0 };
      sums.set(model, sum);
      sum.calls++;
      sum.fresh += Math.max(0, usage.input_tokens - usage.cached_input_tokens);
      sum.cached += usage.cached_input_tokens;
      sum.out += usage.output_tokens;
    }
    if (sums.size === 0) return [];
    const hasPrices = [...sums.keys()].some((model) => this.data.prices[model]);
    const rows = [...sums].map(([model, sum]) => {
      const price = this.data.prices[model];
      const cost = price ? (sum.fresh * price[0] + sum.cached * price[1] + sum.out * price[2]) / 1e6 : null;
      const money = hasPrices ? [cost === null ? "" : cost.toFixed(4)] : [];
      return [model, sum.calls, count(sum.fresh), count(sum.cached), count(sum.out), ...money];
    });
    const names = ["model", "requests", "new tokens in", "cached", "out", ...(hasPrices ? ["cost"] : [])];
    const table = this.details.table(names, rows, rows.length);
    return [element("h3", "", "Tokens by model"), table];
  }

  /** The size of the context at each request, and what was cached of it. */
  tokens() {
    const { spans } = this.data;
    const calls = this.spansOf("inference").filter((at) => spans[at].facts.usage);
    if (calls.length === 0) return [];
    const size = (at) => spans[at].facts.usage.input_tokens + spans[at].facts.usage.output_tokens;
    const most = Math.max(1, ...calls.map(size));
    const bars = calls.slice(-400).map((at) => {
      const usage = spans[at].facts.usage;
      const bar = button("", () => this.details.onSelect(at), "bar");
      const part = (name, tokens) => {
        const piece = element("span", name);
        piece.style.height = `${(100 * tokens) / most}%`;
        return piece;
      };
      bar.append(part("out", usage.output_tokens), part("fresh", Math.max(0, usage.input_tokens - usage.cached_input_tokens)),
        part("cached", usage.cached_input_tokens));
      bar.title = `${spans[at].name}: ${count(usage.input_tokens)} in, ${count(usage.cached_input_tokens)} cached, ${count(usage.output_tokens)} out`;
      bar.setAttribute("aria-label", bar.title);
      return bar;
    });
    const note = element("p", "note", `Each bar is a request, up to ${count(most)} tokens: cached, new and answered.`);
    return [element("h3", "", "Growth of the context"), element("div", "bars", ...bars), note];
  }

  messages() {
    const { spans } = this.data;
    const turns = this.spansOf("turn").sort((a, b) => spans[a].start - spans[b].start || spans[a].seq[0] - spans[b].seq[0]);
    const list = element("div", "story");
    let shown = 0;
    const more = button("", () => next());
    const next = () => {
      for (const at of turns.slice(shown, shown + TURNS_AT_ONCE)) list.append(this.turn(at));
      shown = Math.min(turns.length, shown + TURNS_AT_ONCE);
      more.textContent = `Show more turns (${count(turns.length - shown)})`;
      more.hidden = shown === turns.length;
    };
    next();
    return [list, more];
  }

  turn(at) {
    const span = this.data.spans[at];
    const bad = !GOOD.includes(span.status);
    const agent = nameOf(this.data.spans[span.thread]);
    const head = element("header", "links", this.details.link(at), element("span", "", agent),
      element("span", "", duration(span.end - span.start)), element("span", bad ? "badge bad" : "badge", span.status));
    const box = element("section", bad ? "turn failed" : "turn", head);
    const calls = this.details.children.get(at) ?? [];
    for (const call of calls.filter((child) => this.data.spans[child].kind === "inference")) box.append(...this.exchange(call));
    return box;
  }

  exchange(at) {
    const span = this.data.spans[at];
    const fresh = this.details.freshItems(at).filter((item) => this.data.items[item].kind !== "reasoning");
    const parts = [...fresh, ...span.response].map((item) => this.message(item, span.thread)).filter(Boolean);
    if (!GOOD.includes(span.status)) {
      parts.push(element("p", "bad", "The request failed: ", span.facts.error ?? span.status, " ", this.details.link(at)));
    }
    return parts;
  }

  /** An item as people read it. Instructions and context are folded away, and so is what only the model can read. */
  message(at, thread) {
    const item = this.data.items[at];
    const text = item.parts.filter((part) => part.kind !== "encoded").map((part) => part.text).join("\n");
    if (item.kind === "function_call_output" || item.kind === "custom_tool_call_output") return this.folded(`Result of ${item.call ?? "a call"}: ${shorten(text, 90)}`, text, item);
    if (item.kind === "function_call" || item.kind === "custom_tool_call") return this.call(item, text, thread);
    if (item.kind === "reasoning") return text ? this.folded("Reasoning", text, item) : null;
    const isContext = item.role === "developer" || item.role === "system" || /^<[a-z_ ]+>|^# AGENTS/.test(text.trim());
    if (isContext) return this.folded(`Context: ${shorten(text, 60)}`, text, item);
    const who = item.mail ? `${item.mail[0]} → ${item.mail[1]}` : item.role;
    return element("article", `item ${item.role}`, element("header", "", element("b", "", who)), element("pre", "", marked(text, this.details.words)));
  }

  folded(title, text, item) {
    const lines = text.split("\n").length;
    const box = element("details", `fold ${item.role}`, element("summary", "", title, element("span", "note", `${count(lines)} lines`)));
    box.addEventListener("toggle", () => {
      if (box.open && !box.querySelector("pre")) box.append(element("pre", "", marked(text, this.details.words)));
    });
    return box;
  }

  call(item, text, thread) {
    const at = this.toolOfCall.get(`${thread} ${item.call}`);
    const span = at === undefined ? null : this.data.spans[at];
    const head = element("header", "links", element("b", "", "tool"), span ? this.details.link(at) : item.call ?? "");
    if (span && !GOOD.includes(span.status)) head.append(element("span", "badge bad", span.status));
    const box = element("article", "item tool", head);
    box.append(text.includes("*** Begin Patch") ? patch(text) : element("pre", "", marked(commandOf(text), this.details.words)));
    return box;
  }

  /** The system prompt and the tools of the first request. */
  request() {
    const first = this.spansOf("inference")[0];
    if (first === undefined) return [];
    const place = (this.data.spans[first].payloads ?? []).find(([label]) => label === "request");
    const payload = place && this.data.payloads[place[1]];
    if (!payload?.body || payload.cut) return [];
    let request = null;
    try {
      request = JSON.parse(payload.body);
    } catch {
      return [];
    }
    const parts = [];
    if (request.instructions) {
      parts.push(element("h3", "", "System prompt"), this.folded("Instructions", request.instructions, { role: "system" }));
    }
    if (request.tools?.length) {
      parts.push(element("h3", "", `Tools (${request.tools.length})`));
      for (const tool of request.tools) {
        parts.push(this.folded(tool.name ?? tool.type, JSON.stringify(tool, null, 2), { role: "tool" }));
      }
    }
    return parts;
  }

  /** Agents below the agents that started them, each with how many turns it had. */
  tree() {
    const { spans } = this.data;
    const parents = new Map();
    for (const at of this.spansOf("thread")) {
      const up = spans[at].parent === undefined ? null : spans[spans[at].parent].thread;
      if (!parents.has(up)) parents.set(up, []);
      parents.get(up).push(at);
    }
    const turns = new Map();
    for (const at of this.spansOf("turn")) turns.set(spans[at].thread, (turns.get(spans[at].thread) ?? 0) + 1);
    const below = (up, depth) => {
      const list = element("ul", "tree");
      for (const at of depth < 32 ? parents.get(up) ?? [] : []) {
        const item = element("li", "", this.details.link(at), ` ${count(turns.get(at) ?? 0)} turns`);
        if (parents.has(at)) item.append(below(at, depth + 1));
        list.append(item);
      }
      return list;
    };
    return below(null, 0);
  }
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
