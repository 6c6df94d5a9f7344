// The globals of a cell. Evaluated once in the kernel; cells begin as copies of it.
(native) => {
  "use strict";
  const { stringify, parse } = JSON;
  const PromiseOf = Promise;
  const PARALLEL = 64;
  const MOST_STORED = 2 << 20;
  const calls = new Map();
  const waiting = [];
  const timers = new Map();
  const stored = new Map();
  const written = new Set();
  let storedLength = 0;
  let lastCall = 0;
  let lastTimer = 0;

  const asText = (value) =>
    value === null || !["object", "function", "symbol"].includes(typeof value)
      ? String(value)
      : String(stringify(value));

  // Half of a pair of surrogates has no form in the text that is sent.
  const sent = (value) => {
    const json = stringify(value);
    if (!/\\ud[89a-f]/i.test(json)) return json;
    return stringify(value, (_, part) => (typeof part === "string" ? part.toWellFormed() : part));
  };

  const send = ([id, name, input]) => native.call(id, name, input);

  const enqueue = (name, input, resolve, reject) => {
    const request = [lastCall + 1, name, sent(input)];
    if (native.isTooDeep(request[2])) return reject(`the arguments of \`${name}\` are nested too deeply`);
    lastCall += 1;
    calls.set(lastCall, { resolve, reject });
    if (calls.size - waiting.length > PARALLEL) waiting.push(request);
    else send(request);
  };

  const call = (name, freeform, input) =>
    new PromiseOf((resolve, reject) => {
      if (freeform) {
        if (typeof input !== "string") return reject(`tool \`${name}\` expects a string input`);
      } else if (input === undefined) {
        input = {};
      } else if (input === null || typeof input !== "object" || Array.isArray(input)) {
        return reject(`tool \`${name}\` expects a JSON object for arguments`);
      }
      enqueue(name, input, resolve, reject);
    });

  const IMAGE =
    "image expects a non-empty image URL string, an object with image_url and optional detail, or a raw MCP image block";
  const DETAILS = ["auto", "low", "high", "original"];

  const imageOf = (value) => {
    if (typeof value === "string") return [value];
    if (value === null || typeof value !== "object") throw IMAGE;
    if (typeof value.image_url === "string") return [value.image_url, value.detail];
    if (typeof value.type !== "string") throw IMAGE;
    if (value.type !== "image") throw `image only accepts MCP image blocks, got "${value.type}"`;
    if (typeof value.data !== "string" || value.data === "") throw IMAGE;
    const mime = value.mimeType ?? "application/octet-stream";
    const url = value.data.startsWith("data:") ? value.data : `data:${mime};base64,${value.data}`;
    return [url, value._meta?.["codex/imageDetail"]];
  };

  const image = (value, detail) => {
    const [url, own] = imageOf(value);
    if (url === "") throw IMAGE;
    const wanted = detail ?? own ?? "high";
    if (!DETAILS.includes(wanted)) throw `image detail must be one of: ${DETAILS.join(", ")}`;
    native.image(sent(url), wanted);
  };

  const globals = {
    text: (value) => native.text(sent(asText(value))),
    image,
    generatedImage: (value) => {
      image(value?.image_url ?? value);
      if (value?.output_hint !== undefined) native.text(sent(asText(value.output_hint)));
    },
    store: (key, value) => {
      key = String(key);
      let json;
      try {
        json = stringify(value);
      } catch {
        json = undefined;
      }
      if (json === undefined) {
        throw `Unable to store "${key}". Only plain serializable objects can be stored.`;
      }
      const length = storedLength - (stored.get(key)?.length ?? 0) + json.length;
      if (length > MOST_STORED) throw `Unable to store "${key}". Stored values are limited to 2 MiB of JSON.`;
      storedLength = length;
      stored.set(key, json);
      written.add(key);
    },
    load: (key) => {
      const json = stored.get(String(key));
      return json === undefined ? undefined : parse(json);
    },
    notify: (value) => {
      const text = asText(value);
      if (text.trim() === "") throw "notify expects non-empty text";
      native.notify(sent(text));
    },
    yield_control: () => native.yield(),
    exit: () => native.done(undefined, results()),
    setTimeout: (callback, delay) => {
      if (typeof callback !== "function") throw "setTimeout expects a function callback";
      timers.set(++lastTimer, callback);
      native.timer(lastTimer, Math.max(0, Number(delay ?? 0) || 0));
      return lastTimer;
    },
    clearTimeout: (id) => {
      timers.delete(id);
    },
  };
  const results = () => {
    const values = {};
    for (const key of written) values[key] = stored.get(key);
    return stringify(values);
  };
  const define = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  for (const name of ["console", "Atomics", "SharedArrayBuffer", "WebAssembly", "performance", "navigator"]) {
    delete globalThis[name];
  }
  for (const name of Object.keys(globals)) define(name, globals[name]);

  let isConsole = false;
  const request = (name, input) => new PromiseOf((resolve, reject) => enqueue(name, input, resolve, reject));
  const undefine = () => {
    for (const name of Object.keys(globals)) if (!name.endsWith("Timeout")) delete globalThis[name];
    delete globalThis.tools;
    delete globalThis.ALL_TOOLS;
  };
  // Before there is a cell, so that all begin with them.
  const setTools = (list) => {
    const tools = {};
    const all = parse(list);
    for (const { name, freeform } of all) tools[name] = async (input) => call(name, freeform, input);
    define("tools", tools);
    define("ALL_TOOLS", all.map(({ name, description }) => ({ name, description })));
  };
  setTools("[]");

  return {
    startConsole: (setUp, folders) => {
      isConsole = true;
      setUp({ native, sent, request, define, undefine }, parse(folders));
    },
    setTools,
    start: (values) => {
      values = parse(values);
      for (const key of Object.keys(values)) {
        stored.set(key, values[key]);
        storedLength += values[key].length;
      }
    },
    answer: (json) => {
      const { id, result } = parse(json);
      const { resolve, reject } = calls.get(id);
      calls.delete(id);
      if (waiting.length > 0) send(waiting.shift());
      if ("Ok" in result) resolve(result.Ok);
      else reject(result.Err);
    },
    due: (id) => {
      const callback = timers.get(id);
      timers.delete(id);
      callback?.();
    },
    results,
    shown: (error) => {
      if (isConsole) {
        const message = String(error?.message ?? error);
        if (message === "unsupported import in exec") return "js_repl has no modules: it does not run in Node";
        return message.replace(/^redeclaration of '(.*)'$/, "Identifier '$1' has already been declared");
      }
      if (error === null || typeof error !== "object" || typeof error.stack !== "string") {
        return String(error);
      }
      const head = `${error.name}: ${error.message}`;
      const frames = error.stack.split("\n").filter((frame) => frame !== "" && !frame.includes("eval_script"));
      const stack = frames.map((frame) => frame.replace(/at <anonymous> \((.*)\)$/, "at $1")).join("\n");
      if (stack === "") return head;
      return stack.startsWith(head) ? stack : `${head}\n${stack}`;
    },
  };
}
