// The overview: what is worth a look, what failed, what took longest, what it cost.

class Overview {
  constructor(details) {
    this.details = details;
    this.data = details.data;
    this.outcomes = details.outcomes;
  }

  show() {
    return [
      ...this.findings(), ...this.failures(), ...new Story(this.details).show(), ...this.notices(), ...this.slowest(),
      ...this.models(), ...this.tokens(), ...new Context(this.details).show(), ...this.request(),
    ];
  }

  spansOf(kind) {
    return this.data.spans.map((_, at) => at).filter((at) => this.data.spans[at].kind === kind);
  }

  /** The span of what a finding is about; of a compaction, its first request. */
  spanOf(id) {
    const compaction = this.data.compactions.find((one) => one.id === id);
    return this.data.spans.findIndex((span) => span.id === (compaction?.requests[0] ?? id));
  }

  /** What is worth a look, each with the reason and the way there. */
  findings() {
    const { findings = [] } = this.data;
    if (findings.length === 0) return [];
    const rows = findings.map((finding) => {
      const at = this.spanOf(finding.object);
      return [
        element("b", "", finding.title), at < 0 ? finding.what : this.details.link(at), finding.agent,
        duration(finding.at - this.data.start), element("span", "", at < 0 ? finding.why : `${finding.what}: ${finding.why}`),
      ];
    });
    const table = this.details.table(["worth a look", "where", "agent", "at", "why"], rows, findings.length);
    return [element("h3", "bad", `Worth a look (${findings.length})`), element("div", "failures", table)];
  }

  /** Everything that failed and every exit code that is not 0, the last first. */
  failures() {
    const { spans } = this.data;
    const { outcomes } = this;
    // A terminal fails with its command, and a command is shown with its tool.
    const shown = spans.map((_, at) => at).filter((at) => spans[at].kind !== "terminal" && outcomes.shownBy(at) === at);
    const failed = shown.filter((at) => outcomes.isBad(at)).sort((a, b) => spans[b].end - spans[a].end);
    if (failed.length === 0) return [];
    const codes = failed.filter((at) => outcomes.exitCode(at) !== undefined && outcomes.exitCode(at) !== 0);
    const rows = failed.slice(0, 12).map((at) => [
      this.details.link(at), spans[at].kind, this.statusOf(at), duration(spans[at].start - this.data.start),
      element("span", "bad", shorten(this.errorOf(at), 240)),
    ]);
    const table = this.details.table(["what", "kind", "status", "at", "error"], rows, failed.length);
    const title = [
      failed.length > codes.length ? `Failed (${count(failed.length - codes.length)})` : "",
      codes.length > 0 ? `Exit code not 0 (${count(codes.length)})` : "",
    ].filter(Boolean).join(", ");
    return [element("h3", "bad", `${title}, the last first`), element("div", "failures", table)];
  }

  statusOf(at) {
    const code = this.outcomes.exitCode(at);
    if (code !== undefined && code !== 0) return `exit code ${code}`;
    const { spans } = this.data;
    const command = (this.outcomes.commandsOf.get(at) ?? []).find((one) => !GOOD.includes(spans[one].status));
    return GOOD.includes(spans[at].status) && command !== undefined ? spans[command].status : spans[at].status;
  }

  /** Why a span failed: its own error, or what it printed last. */
  errorOf(at) {
    const { spans } = this.data;
    const command = this.outcomes.commandsOf.get(at)?.[0];
    if (spans[at].kind === "command" || command !== undefined) {
      const texts = spans[command ?? at].texts ?? [];
      const printed = texts.filter(([label]) => label === "stdout" || label === "stderr").map(([, text]) => text);
      return resultOf(printed.join("\n"), 1);
    }
    return this.outcomes.failure(at);
  }

  slowest() {
    const { spans } = this.data;
    // A person who thinks is no work.
    const took = (at) => spans[at].end - spans[at].start - this.outcomes.waited(at);
    const steps = ["inference", "tool", "compaction"].flatMap((kind) => this.spansOf(kind));
    const list = steps.sort((a, b) => took(b) - took(a)).slice(0, 3).filter((at) => took(at) > 0);
    if (list.length === 0) return [];
    const links = list.map((at) => element("span", "links", this.details.link(at), `${spans[at].kind}, ${duration(took(at))}`));
    return [element("h3", "", "Slowest steps"), element("div", "links wide", ...links)];
  }

  /** Questions to the user with their answers, interrupts, warnings: what stands beside the conversation. */
  notices() {
    const { notices, start, quiet_hooks: quiet } = this.data;
    const hooks = quiet > 0 ? [element("p", "note", `${count(quiet)} ${quiet === 1 ? "hook" : "hooks"} ran and changed nothing.`)] : [];
    if (notices.length === 0) return hooks;
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
    return [element("h3", "", "Approvals, waits, hooks and warnings"), table, ...hooks];
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
    const priceOf = (model) => (Object.hasOwn(this.data.prices, model) ? this.data.prices[model] : undefined);
    const hasPrices = [...sums.keys()].some((model) => priceOf(model));
    const rows = [...sums].map(([model, sum]) => {
      const price = priceOf(model);
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
    const list = calls.slice(-400);
    const bars = list.map((at, place) => {
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
      // The chart is one stop of the tab key, and arrows move in it.
      bar.tabIndex = place === list.length - 1 ? 0 : -1;
      return bar;
    });
    const note = element("p", "note", `Each bar is a request, up to ${count(most)} tokens: cached, new and answered.`);
    const chart = element("div", "bars", ...bars);
    chart.setAttribute("role", "group");
    chart.setAttribute("aria-label", "Growth of the context: arrows move from request to request");
    chart.addEventListener("keydown", (event) => moveInChart(event, bars));
    return [element("h3", "", "Growth of the context"), chart, note];
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
      request = JSON.parse(payload.body) ?? {};
    } catch {
      return [];
    }
    const parts = [];
    if (request.instructions) {
      parts.push(element("h3", "", "System prompt"), foldedText("Instructions", String(request.instructions), "system", this.details.words));
    }
    if (Array.isArray(request.tools) && request.tools.length > 0) {
      parts.push(element("h3", "", `Tools (${request.tools.length})`));
      for (const tool of request.tools) {
        parts.push(foldedText(String(tool?.name ?? tool?.type), JSON.stringify(tool, null, 2), "tool", this.details.words));
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

/** Moves the focus among the bars of a chart. */
function moveInChart(event, bars) {
  const here = bars.indexOf(event.target);
  const to = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: bars.length - 1 }[event.key];
  if (to === undefined || here < 0) return;
  event.preventDefault();
  event.stopPropagation();
  const next = bars[Math.min(bars.length - 1, Math.max(0, to))];
  bars[here].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
