// The globals of a console: a cell that runs one script after the other. Called with what globals.js shares.
({ native, sent, request, define, undefine }, { cwd, homeDir, tmpDir }) => {
  const quote = (text) => {
    const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes("`") ? "`" : "'";
    const body = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
    return mark + (mark === "'" ? body.replaceAll("'", "\\'") : body) + mark;
  };
  const isPlain = (key) => /^[A-Za-z_$][\w$]*$/.test(key);

  // The text of a value, and how many levels of objects it has.
  const shown = (value, level, around) => {
    if (typeof value === "string") return [quote(value), 0];
    if (typeof value === "bigint") return [`${value}n`, 0];
    if (typeof value === "function") {
      return [value.name ? `[Function: ${value.name}]` : "[Function (anonymous)]", 0];
    }
    if (value === null || typeof value !== "object") return [String(value), 0];
    if (around.includes(value)) return ["[Circular *1]", 0];
    if (value instanceof Error) return [`${value.name}: ${value.message}\n${value.stack ?? ""}`.trimEnd(), 0];
    if (value instanceof Date) return [isNaN(value) ? "Invalid Date" : value.toISOString(), 0];
    if (value instanceof RegExp) return [String(value), 0];
    if (value instanceof Promise) return ["Promise { <pending> }", 0];
    let height = 0;
    const inner = (one) => {
      const [text, levels] = shown(one, level + 1, [...around, value]);
      height = Math.max(height, levels);
      return text;
    };
    const name = Object.getPrototypeOf(value) === null ? "[Object: null prototype]" : value.constructor?.name;
    const list = Array.isArray(value) || ArrayBuffer.isView(value);
    let [prefix, parts] = [list || name === "Object" ? "" : `${name} `, []];
    if (level > 8) return [list ? "[Array]" : "[Object]", 0];
    if (list) {
      parts = Array.from(value).slice(0, 100).map(inner);
      if (value.length > 100) parts.push(`... ${value.length - 100} more items`);
      if (!Array.isArray(value)) prefix = `${name}(${value.length}) `;
    } else if (value instanceof Map) {
      prefix = `Map(${value.size}) `;
      parts = [...value].map(([key, one]) => `${inner(key)} => ${inner(one)}`);
    } else if (value instanceof Set) {
      prefix = `Set(${value.size}) `;
      parts = [...value].map(inner);
    } else {
      parts = Object.keys(value).map((key) => `${isPlain(key) ? key : quote(key)}: ${inner(value[key])}`);
    }
    const [open, close] = list ? "[]" : "{}";
    if (parts.length === 0) return [`${prefix}${open}${close}`, 1];
    const length = parts.reduce((sum, part) => sum + part.length, 2 * parts.length + 2 * level + prefix.length + 11);
    if (height < 3 && length <= 80 && !parts.some((part) => part.includes("\n"))) {
      return [`${prefix}${open} ${parts.join(", ")} ${close}`, height + 1];
    }
    const indent = "  ".repeat(level + 1);
    return [`${prefix}${open}\n${indent}${parts.join(`,\n${indent}`)}\n${"  ".repeat(level)}${close}`, height + 1];
  };

  const log = (...values) => {
    const text = values.map((value) => (typeof value === "string" ? value : shown(value, 0, [])[0]));
    native.text(sent(text.join(" ")));
  };

  const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const base64 = (bytes) => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 3) {
      const [one, two, three] = [bytes[at], bytes[at + 1], bytes[at + 2]];
      text += LETTERS[one >> 2] + LETTERS[((one & 3) << 4) | ((two ?? 0) >> 4)];
      text += two === undefined ? "=" : LETTERS[((two & 15) << 2) | ((three ?? 0) >> 6)];
      text += three === undefined ? "=" : LETTERS[three & 63];
    }
    return text;
  };

  const imagesOf = (value) => {
    if (typeof value === "string") return [value];
    if (Array.isArray(value)) return value.flatMap(imagesOf);
    if (value === null || typeof value !== "object") return [];
    const { bytes, mimeType, type } = value;
    if (bytes instanceof ArrayBuffer || ArrayBuffer.isView(bytes)) {
      if (typeof mimeType !== "string") throw new Error("codex.emitImage expects a mimeType beside bytes");
      const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
      return [`data:${mimeType};base64,${base64(view)}`];
    }
    if (type === "input_image") return [value.image_url];
    if (type === "image") return [`data:${mimeType};base64,${value.data}`];
    if (type === "text" || type === "input_text") throw new Error("codex.emitImage does not accept text beside an image");
    const parts = value.output ?? value.content ?? value.contentItems;
    if (typeof parts === "string") throw new Error("codex.emitImage does not accept text");
    return imagesOf(parts);
  };

  const codex = {
    cwd,
    homeDir,
    tmpDir,
    tool: async (name, input) => {
      if (typeof name !== "string" || name === "") throw new Error("codex.tool expects a tool name string");
      if (name === "js_repl" || name === "js_repl_reset") throw new Error("js_repl cannot invoke itself");
      try {
        return await request(name, input === undefined ? {} : input);
      } catch (error) {
        throw new Error(error);
      }
    },
    emitImage: async (value) => {
      const images = imagesOf(await value);
      if (images.length !== 1) throw new Error("codex.emitImage expects exactly one image");
      if (!/^data:/i.test(images[0])) throw new Error("codex.emitImage only accepts data URLs");
      native.image(sent(images[0]), "");
    },
  };
  undefine();
  define("console", { log, info: log, warn: log, error: log, debug: log });
  define("codex", codex);
}
