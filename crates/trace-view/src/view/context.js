// What fills the context of a request, and where a request did not go on from the one before.

/** Breaks that are listed at most. */
const MOST_BREAKS = 40;

class Context {
  constructor(details) {
    this.details = details;
    this.data = details.data;
  }

  show() {
    const calls = this.data.spans.map((_, at) => at).filter((at) => this.data.spans[at].kind === "inference");
    if (calls.length === 0) return [];
    const last = calls.at(-1);
    const breaks = calls.map((at) => this.breakAt(at)).filter(Boolean);
    const parts = [element("h3", "", "What fills the context of the last request"), this.parts(last)];
    if (breaks.length === 0) return parts;
    const rows = breaks.slice(-MOST_BREAKS).map(({ at, why, usage, before }) => [
      this.details.link(at), duration(this.data.spans[at].start - this.data.start),
      usage ? `${count(before?.cached_input_tokens ?? 0)} → ${count(usage.cached_input_tokens)}` : "",
      element("span", "", why),
    ]);
    parts.push(element("h3", "", `Requests that did not go on from the one before (${count(breaks.length)})`),
      this.details.table(["request", "at", "cached tokens", "why"], rows, breaks.length));
    return parts;
  }

  /** The parts of a request by size. */
  parts(at) {
    const sizes = new Map();
    const add = (name, size) => size > 0 && sizes.set(name, (sizes.get(name) ?? 0) + size);
    const request = this.details.request(at);
    if (typeof request?.instructions === "string") add("instructions", request.instructions.length);
    for (const tool of Array.isArray(request?.tools) ? request.tools : []) {
      add(`tool ${tool?.name ?? tool?.type ?? ""}`, JSON.stringify(tool)?.length ?? 0);
    }
    for (const place of this.details.promptItems(at)) {
      const item = this.data.items[place];
      add(partName(item), item.parts.reduce((sum, part) => sum + part.text.length + (part.cut ?? 0), 0));
    }
    const list = [...sizes].sort((a, b) => b[1] - a[1]);
    const whole = Math.max(1, list.reduce((sum, [, size]) => sum + size, 0));
    const rows = list.slice(0, 14).map(([name, size]) => [shorten(name, 60), bytes(size), `${((100 * size) / whole).toFixed(1)} %`]);
    const usage = this.data.spans[at].facts.usage;
    const table = this.details.table(["part", "size", "share"], rows, rows.length);
    if (!usage) return table;
    const note = `${count(usage.input_tokens)} tokens in all, ${count(usage.cached_input_tokens)} of them cached.`;
    return element("div", "", table, element("p", "note", note));
  }

  /** Why a request is not the one before with more at its end; null if it is. */
  breakAt(at) {
    const { spans } = this.data;
    const call = spans[at];
    const before = this.previous(at);
    if (before === undefined) return null;
    const why = [];
    const compacted = this.data.compactions.some((one) =>
      one.thread === spans[call.thread]?.id && one.at >= spans[before].start && one.at <= call.start);
    const { base, keep } = call.prompt;
    const items = this.details.promptItems(before);
    const kept = base === undefined ? 0 : keep;
    if (compacted) why.push("the context was compacted");
    else if (kept < items.length) {
      const item = this.data.items[items[kept]];
      why.push(`item ${count(kept + 1)} of ${count(items.length)} is not the same: ${partName(item)}, ${shorten(textOf(item), 70)}`);
    }
    const changed = this.details.settingsNames(before, at);
    if (changed.length > 0) why.push(`changed: ${changed.join(", ")}`);
    if (why.length === 0) return null;
    return { at, why: why.join("; "), usage: call.facts.usage, before: spans[before].facts.usage };
  }

  /** The request before in the same thread. */
  previous(at) {
    const { spans } = this.data;
    for (let place = at - 1; place >= 0; place--) {
      if (spans[place].kind === "inference" && spans[place].thread === spans[at].thread) return place;
    }
    return undefined;
  }
}

/** What an item is to the size of a context. */
function partName(item) {
  if (item.kind.endsWith("_output")) return "outputs of tools";
  if (item.kind.endsWith("_call")) return "calls of tools";
  if (item.kind === "reasoning") return "reasoning";
  if (item.role === "assistant") return "answers";
  const text = item.parts[0]?.text.trimStart() ?? "";
  const tag = /^<([a-zA-Z_ ]{1,40})>/.exec(text);
  if (tag) return `<${tag[1]}>`;
  if (text.startsWith("# AGENTS")) return "AGENTS.md";
  return item.role === "user" ? "messages" : `${item.role} messages`;
}
