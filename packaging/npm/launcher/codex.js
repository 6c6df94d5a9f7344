#!/usr/bin/env node
// Runs the program of the package for this platform, with the same arguments, streams, signals and exit code.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const path = require("node:path");

const { name, optionalDependencies } = require("./package.json");

const platform = `${process.platform}-${process.arch}`;
const platformPackage = `${name}-${platform}`;

/** Prints what failed and what to do, and ends the process. */
function fail(reason) {
  process.stderr.write(`codex: ${reason}\n`);
  process.exit(1);
}

/** The path of the program for this platform. */
function findProgram() {
  if (!(platformPackage in optionalDependencies)) {
    const known = Object.keys(optionalDependencies).map((known) => known.slice(name.length + 1));
    fail(`there is no package for ${platform}; there are packages for ${known.join(", ")}. Build it from source instead.`);
  }
  const program = process.platform === "win32" ? "codex.exe" : "codex";
  try {
    return path.join(path.dirname(require.resolve(`${platformPackage}/package.json`)), "bin", program);
  } catch {
    return fail(
      `the package ${platformPackage} is missing. npm leaves it out with --omit=optional, and if node_modules was ` +
        `copied from another platform. Run: npm install ${platformPackage}@${optionalDependencies[platformPackage]}`,
    );
  }
}

const child = spawn(findProgram(), process.argv.slice(2), { stdio: "inherit", windowsHide: true });
// A terminal sends these to the program too, and a second one would end it at once.
const isInTerminal = process.stdin.isTTY === true;
for (const signal of ["SIGINT", "SIGQUIT"]) {
  process.on(signal, () => isInTerminal || child.kill(signal));
}
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => fail(`the program cannot be started: ${error.message}`));
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
