// Drives `codex app-server` with the client of Happy, without its servers.
// Usage: node happy.mjs FOLDER_OF_ITS_DIST

import assert from "node:assert/strict";
import { readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];
const file = readdirSync(folder).find((name) => /^types-.*\.mjs$/.test(name));
const all = Object.values(await import(join(folder, file)));
const Client = all.find((one) => one?.name === "CodexAppServerClient");

const client = new Client();
let seen = [];
let asked = 0;
client.setEventHandler((event) => seen.push(event.type));
client.setApprovalHandler(async () => {
  asked += 1;
  return "approved";
});
await client.connect();
const { threadId } = await client.startThread({ model: "gpt-5.4", cwd: process.cwd(), approvalPolicy: "untrusted" });
await client.sendTurnAndWait("make a folder", { approvalPolicy: "untrusted" });
assert.equal(asked, 1);
assert.ok(seen.includes("exec_command_end") && seen.at(-1) === "task_complete", seen.join());
rmdirSync("made");

const turn = client.sendTurnAndWait("slowly", {});
await new Promise((resolve) => setTimeout(resolve, 500));
const { aborted, forcedRestart } = await client.abortTurnWithFallback({ gracePeriodMs: 5000 });
assert.ok(aborted && !forcedRestart);
await turn;

await client.setGoal({ threadId, objective: "Do it.", status: "paused" });
await client.clearGoal({ threadId });
await client.rollbackThread({ threadId, numTurns: 1 });
await client.forkThread({ threadId });
await client.resumeThread({ threadId });
seen = [];
await client.sendTurnAndWait("hello", {});
assert.ok(seen.includes("agent_message"), seen.join());
await client.disconnect();
console.log("ok happy");
process.exit(0);
