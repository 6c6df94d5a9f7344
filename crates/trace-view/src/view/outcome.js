// What a call did and how it ended, in one line, and what stands behind that line.

/** Counts in the output of tests and builds. */
const COUNTS = /\b\d+ (?:tests? )?(?:passed|failed|failures?|errors?|warnings?|skipped)\b/gi;

/** The mark where output was cut before the model saw it. */
const CUT = /…\s*[0-9,]+ (?:tokens|chars|characters|bytes|lines) (?:truncated|omitted)[^…]*…|\[\.\.\. ?omitted [0-9]+ of [0-9]+ lines ?\.\.\.\]/;

/** With so much of its beginning and its end an output is found in what the model saw of it. */
const PIECE = 16;

/** So many places are tried. */
const MOST_TRIES = 1000;

/** So much of the end of an output is searched for its result. */
const TAIL = 20000;

class Outcomes {
  constructor(data) {
    this.data = data;
    this.commandsOf = new Map();
    this.toolOf = new Map();
    this.ofCall = new Map();
    this.outputs = new Map();
    this.waits = new Map();
    const { spans, items, notices } = data;
    spans.forEach((span, at) => {
      if (span.kind === "command" && spans[span.parent]?.kind === "tool") this.joinCommand(span.parent, at);
      if ((span.kind === "tool" || span.kind === "cell") && span.facts.call) {
        push(this.ofCall, `${this.threadId(span)} ${span.facts.call}`, at);
      }
    });
    items.forEach((item, at) => {
      if (item.call && item.kind.endsWith("_output")) push(this.outputs, `${item.thread} ${item.call}`, at);
    });
    for (const notice of notices) {
      if (notice.call && notice.waited > 0) {
        const key = `${notice.turn} ${notice.call}`;
        this.waits.set(key, (this.waits.get(key) ?? 0) + notice.waited);
      }
    }
  }

  /** A tool and its command are one thing to a reader. */
  joinCommand(tool, at) {
    push(this.commandsOf, tool, at);
    this.toolOf.set(at, tool);
    const { spans } = this.data;
    if (this.commandsOf.get(tool).length === 1) spans[tool].title = this.commandText(at);
  }

  threadId(span) {
    return this.data.spans[span.thread]?.id;
  }

  /** The span that shows a span: the tool of a command, anything else itself. */
  shownBy(at) {
    return this.toolOf.get(at) ?? at;
  }

  /** The span of a call that an item asks for. Of several with one id, the one that follows it. */
  spanOf(item) {
    const list = this.ofCall.get(`${item.thread} ${item.call}`) ?? [];
    const tools = list.filter((at) => this.data.spans[at].kind === "tool");
    const among = tools.length > 0 ? tools : list;
    return among.find((at) => this.data.spans[at].start >= item.at) ?? among[among.length - 1];
  }

  /** The output of a call as the model saw it. */
  outputOf(item) {
    const list = this.outputs.get(`${item.thread} ${item.call}`) ?? [];
    return list.find((at) => this.data.items[at].at >= item.at) ?? list[0];
  }

  /** How long a call waited for a person. */
  waited(at) {
    const span = this.data.spans[at];
    const turn = this.turnOf(at);
    return turn === null || !span.facts.call ? 0 : this.waits.get(`${turn} ${span.facts.call}`) ?? 0;
  }

  turnOf(at) {
    const { spans } = this.data;
    for (let up = at, steps = 0; up !== undefined && steps < 64; up = spans[up].parent, steps++) {
      if (spans[up].kind === "turn") return spans[up].id;
    }
    return null;
  }

  /** Whether something did not end as it should: by its status, or by the exit code of its command. */
  isBad(at) {
    const { spans } = this.data;
    return !GOOD.includes(spans[at].status) || this.exitCode(at) > 0 || this.exitCode(at) < 0
      || (this.commandsOf.get(at) ?? []).some((command) => !GOOD.includes(spans[command].status));
  }

  /** The exit code of a command, or of the command of a tool. */
  exitCode(at) {
    const { spans } = this.data;
    const codes = [at, ...(this.commandsOf.get(at) ?? [])].map((one) => spans[one].facts.exit_code);
    return codes.find((code) => typeof code === "number");
  }

  /** What a call did and how it ended. */
  line(at) {
    const span = this.data.spans[at];
    const waited = this.waited(at);
    const command = this.commandsOf.get(at)?.[0];
    const parts = command === undefined ? this.toolResult(at) : this.commandResult(command);
    if (span.kind === "cell") parts.push(this.inside(at));
    if (!span.open) parts.push(duration(Math.max(0, span.end - span.start - waited)));
    if (waited > 0) parts.push(`waited ${duration(waited)} for a person`);
    const what = command === undefined ? this.toolText(at) : this.commandText(command) + this.folder(command);
    return `${shorten(what, 200)} → ${parts.filter(Boolean).join(", ")}`;
  }

  commandText(at) {
    const span = this.data.spans[at];
    const text = (label) => (span.texts ?? []).find(([name]) => name === label)?.[1];
    if (text("command") !== undefined) return `$ ${shorten(text("command"), 160)}`;
    const typed = text("stdin");
    return typed === undefined ? "wait for output" : `type ${shorten(JSON.stringify(typed), 80)}`;
  }

  /** The folder of a command, if it is another one than that of its thread. */
  folder(at) {
    const span = this.data.spans[at];
    const own = this.data.spans[span.thread]?.facts.cwd;
    const { cwd } = span.facts;
    if (!cwd || !own || cwd === own) return "";
    const base = own.endsWith("/") ? own : `${own}/`;
    return ` (in ${cwd.startsWith(base) ? cwd.slice(base.length) : cwd}/)`;
  }

  commandResult(at) {
    const span = this.data.spans[at];
    const code = span.facts.exit_code;
    const parts = [typeof code === "number" ? String(code) : span.status];
    const printed = (span.texts ?? []).filter(([label]) => label === "stdout" || label === "stderr").map(([, text]) => text);
    parts.push(resultOf(printed.join("\n"), code));
    return parts;
  }

  toolResult(at) {
    const span = this.data.spans[at];
    const parts = [span.facts.status && span.kind === "cell" ? span.facts.status : span.status];
    if (!GOOD.includes(span.status)) parts.push(shorten(this.failure(at), 100));
    return parts;
  }

  inside(at) {
    const calls = this.data.spans.filter((span) => span.parent === at).length;
    return calls === 0 ? "" : `${count(calls)} ${calls === 1 ? "call" : "calls"}`;
  }

  /** Why a tool failed, as its result says. */
  failure(at) {
    const span = this.data.spans[at];
    if (span.facts.error) return errorText(span.facts.error);
    const result = this.payload(at, "result");
    return result === undefined ? "" : textIn(result);
  }

  /** The body of a payload of a span. */
  payload(at, label) {
    const found = (this.data.spans[at].payloads ?? []).find(([name]) => name === label);
    return found === undefined ? undefined : this.data.payloads[found[1]]?.body ?? undefined;
  }

  toolText(at) {
    const span = this.data.spans[at];
    if (span.kind === "cell") return "script";
    const body = this.payload(at, "invocation");
    if (body === undefined) return span.name;
    const value = parsed(body);
    const payload = value?.payload ?? value ?? {};
    const input = [payload.arguments, payload.input].find((one) => one !== undefined && one !== null);
    const text = typeof input === "string" ? input : input === undefined ? "" : JSON.stringify(input);
    if (text.includes("*** Begin Patch")) return patchText(commandOf(text));
    return argumentText(span.name, text);
  }

  /** What stands behind the line. */
  body(at, item, words) {
    const parts = [];
    const { spans } = this.data;
    for (const command of this.commandsOf.get(at) ?? []) parts.push(...this.commandBody(command, at, item, words));
    if (parts.length > 0) return parts;
    const asked = item === null ? readableText(this.payload(at, "invocation") ?? "") : textOf(item);
    if (asked) parts.push(asked.includes("*** Begin Patch") ? patch(asked) : longText(readableText(asked), words));
    const output = item === null ? undefined : this.outputOf(item);
    const answer = output === undefined ? this.payload(at, "result") : textOf(this.data.items[output]);
    if (answer) parts.push(element("h4", "", "Result"), longText(textIn(answer), words));
    if (spans[at].kind === "tool" && parts.length === 0) parts.push(element("p", "note", "Nothing of the call is in this page."));
    return parts;
  }

  /** A command with all that it printed, and the part of it that the model did not see. */
  commandBody(at, tool, item, words) {
    const span = this.data.spans[at];
    const parts = [];
    for (const [label, text] of span.texts ?? []) {
      const isOutput = label === "stdout" || label === "stderr";
      const seen = isOutput ? this.seen(tool, item) : "";
      if (label !== "command" || text.includes("\n") || text.length > 150) parts.push(element("h4", "", label));
      else continue;
      if (!isOutput || !isCut(text, seen)) {
        parts.push(longText(text, words));
        continue;
      }
      const omitted = omittedIn(text, seen);
      if (omitted === null) {
        parts.push(element("p", "note bad", `The model saw only a part of these ${bytes(text.length)}.`), longText(text, words));
        continue;
      }
      const kept = text.length - (omitted[1] - omitted[0]);
      parts.push(element("p", "note bad", `The model saw ${bytes(kept)} of ${bytes(text.length)}; what it did not see is marked.`));
      parts.push(markedRange(text, omitted));
    }
    return parts;
  }

  /** What the model saw of a call. */
  seen(tool, item) {
    const { spans, items } = this.data;
    const call = item?.call ?? spans[tool].facts.call;
    if (!call) return "";
    const thread = item?.thread ?? this.threadId(spans[tool]);
    const outputs = this.outputs.get(`${thread} ${call}`) ?? [];
    return outputs.map((at) => textOf(items[at])).join("\n");
  }
}

function push(map, key, value) {
  if (!map.has(key)) map.set(key, []);
  map.get(key).push(value);
}

/** The text of an item, without what only the model's server can read. */
function textOf(item) {
  return item.parts.filter((part) => part.kind !== "encoded").map((part) => part.text).join("\n");
}

/** The result in an output: counts of tests, else the last line of a failure or a short answer. */
function resultOf(output, code) {
  const lines = output.slice(-TAIL).split("\n").map((line) => line.trim()).filter(Boolean).slice(-200);
  for (const line of lines.toReversed()) {
    const counts = [...new Set(line.match(COUNTS) ?? [])].filter((one) => !/^0 (?!passed)/.test(one));
    if (counts.length > 0) return counts.slice(0, 4).join(", ");
  }
  if (lines.length === 0) return "";
  const isBad = typeof code === "number" && code !== 0;
  if (isBad) return shorten(lines[lines.length - 1], 80);
  if (lines.length === 1 && lines[0].length <= 60) return lines[0];
  const number = output.split("\n").length - (output.endsWith("\n") ? 1 : 0);
  return `${count(number)} ${number === 1 ? "line" : "lines"}`;
}

/** The files of a patch, and how many lines it adds and removes. */
function patchText(text) {
  const files = [];
  let [added, removed] = [0, 0];
  for (const line of text.split("\n")) {
    const found = /^\*\*\* (?:Add|Update|Delete) File: (.*)$/.exec(line);
    if (found) files.push(found[1].trim());
    else if (line.startsWith("+")) added++;
    else if (line.startsWith("-")) removed++;
  }
  const more = files.length > 3 ? ` and ${files.length - 3} more` : "";
  return `patch ${files.slice(0, 3).join(", ")}${more} (+${added} −${removed})`;
}

/** A tool with its arguments, each in a few words. */
function argumentText(name, text) {
  const value = parsed(text);
  if (value === null || typeof value !== "object") return text ? `${name} ${shorten(text, 80)}` : name;
  const members = Object.entries(value).slice(0, 6).map(([key, one]) =>
    `${key}: ${shorten(typeof one === "string" ? one : JSON.stringify(one) ?? "", 40)}`);
  return members.length === 0 ? name : `${name}(${members.join(", ")})`;
}

/** JSON as a value; null for what is none. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The text that a result is about: what a tool printed, or the message of an error, else all of it. */
function textIn(body) {
  const value = parsed(body);
  if (value === null || typeof value !== "object") return typeof value === "string" ? value : body;
  const inner = [value, value.result, value.output, value.payload].filter((one) => one && typeof one === "object");
  for (const one of inner) {
    const found = [one.output, one.error?.message, one.error, one.message, one.content, one.text].find((text) => typeof text === "string");
    if (found !== undefined) return found;
    if (Array.isArray(one.content) && one.content.every((part) => typeof part?.text === "string")) {
      return one.content.map((part) => part.text).join("\n");
    }
  }
  return readableText(body);
}

/** Whether the model saw an output only in part. */
function isCut(text, seen) {
  return CUT.test(seen) && !seen.includes(text.trim());
}

/**
 * Where the part of an output begins and ends that the model did not see; null if that cannot be told.
 * What it saw has the beginning of the output before the mark and the end of it behind the mark, with other texts around.
 */
function omittedIn(text, seen) {
  const mark = CUT.exec(seen);
  const whole = text.trimEnd();
  if (mark === null || whole.length < PIECE) return null;
  const head = seen.slice(0, mark.index).replace(/\n+$/, "");
  const tail = seen.slice(mark.index + mark[0].length).replace(/^\n+/, "");
  const [first, last] = [whole.slice(0, PIECE), whole.slice(-PIECE)];
  let start = -1;
  for (let at = head.indexOf(first), tries = 0; at >= 0 && tries < MOST_TRIES; at = head.indexOf(first, at + 1), tries++) {
    if (whole.startsWith(head.slice(at))) {
      start = head.length - at;
      break;
    }
  }
  let end = -1;
  for (let at = tail.lastIndexOf(last), tries = 0; at >= 0 && tries < MOST_TRIES; at = tail.lastIndexOf(last, at - 1), tries++) {
    if (whole.endsWith(tail.slice(0, at + PIECE))) {
      end = whole.length - at - PIECE;
      break;
    }
    if (at === 0) break;
  }
  return start < 0 || end < start ? null : [start, end];
}

/** A text of which a part is marked, with little around it. */
function markedRange(text, [start, end]) {
  const part = text.slice(start, end);
  const lines = part.length > 40000 ? `${part.slice(0, 20000)}\n… ${bytes(part.length - 40000)} more …\n${part.slice(-20000)}` : part;
  return element("pre", "", text.slice(Math.max(0, start - 400), start), element("mark", "unseen", lines), text.slice(end, end + 400));
}
