// A client of the app-server: one prompt, its answer, a question before each command and patch.
//
//   codex app-server generate-ts --import-extension .js --out types
//   node client.ts "What is in this folder?"
//
// What follows the prompt goes to the server, for example `--scenario ../scenarios/tour.toml`.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { createInterface as createPrompt } from "node:readline/promises";
import type { ClientRequests, ServerNotification, ServerRequest, ServerRequests } from "./types/index.js";

type Reply = { id: number; method?: undefined; result?: unknown; error?: { code: number; message: string } };

const [prompt = "Hello", ...options] = process.argv.slice(2);
const server = spawn(process.env["CODEX_PATH"] ?? "codex", ["app-server", ...options], {
  stdio: ["pipe", "pipe", "inherit"],
});
const waiting = new Map<number, (reply: Reply) => void>();
/** What each command or patch would do. Texts of the model are shown with their control characters as escapes. */
const known = new Map<string, string>();
let lastId = 0;

const send = (message: object) => void server.stdin.write(`${JSON.stringify(message)}\n`);

function call<M extends keyof ClientRequests>(method: M, params: ClientRequests[M]["params"]) {
  const id = ++lastId;
  send({ id, method, params });
  return new Promise<ClientRequests[M]["result"]>((resolve, reject) =>
    waiting.set(id, ({ result, error }) =>
      error ? reject(new Error(error.message)) : resolve(result as ClientRequests[M]["result"]),
    ),
  );
}

function reply<M extends keyof ServerRequests>(request: { id: unknown; method: M }, result: ServerRequests[M]["result"]) {
  send({ id: request.id, result });
}

async function answer(request: ServerRequest) {
  if (request.method === "item/commandExecution/requestApproval" || request.method === "item/fileChange/requestApproval") {
    const { itemId, engineNotice } = request.params;
    const command = "command" in request.params ? request.params.command : undefined;
    const what = command ? JSON.stringify(command) : known.get(itemId);
    if (what === undefined) return reply(request, { decision: "decline" });
    const notice = engineNotice ?? "";
    const person = createPrompt({ input: process.stdin, output: process.stdout });
    const word = await person.question(`${notice}\nAllow ${what}? [y/n] `);
    person.close();
    reply(request, { decision: word === "y" ? "accept" : "decline" });
  } else {
    send({ id: request.id, error: { code: -32601, message: "this client cannot answer that" } });
  }
}

function show(notification: ServerNotification) {
  if (notification.method === "item/agentMessage/delta") process.stdout.write(notification.params.delta);
  if (notification.method === "item/started") {
    const { item } = notification.params;
    if (item.type === "commandExecution") known.set(item.id, JSON.stringify(item.command));
    if (item.type === "fileChange") known.set(item.id, `a patch of ${item.changes.map(({ path }) => JSON.stringify(path)).join(", ")}`);
  }
  if (notification.method === "item/completed") process.stdout.write(`\n[${notification.params.item.type}]\n`);
  if (notification.method === "turn/completed") {
    console.log(notification.params.turn.error?.message ?? notification.params.turn.status);
    server.stdin.end();
  }
}

createInterface({ input: server.stdout }).on("line", (line) => {
  const message = JSON.parse(line) as Reply | ServerRequest | ServerNotification;
  if (message.method === undefined) waiting.get(message.id)?.(message);
  else if ("id" in message) void answer(message);
  else show(message);
});

await call("initialize", { clientInfo: { name: "example", title: null, version: "1.0" } });
send({ method: "initialized" });
const { thread } = await call("thread/start", { approvalPolicy: "untrusted" });
await call("turn/start", { threadId: thread.id, input: [{ type: "text", text: prompt }] });
