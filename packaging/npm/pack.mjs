#!/usr/bin/env node
// Makes the npm packages: one for each platform with its program, and the launcher that depends on them.
//
//     packaging/npm/pack.mjs --out DIR [--binary PLATFORM=PATH]...
//
// PLATFORM is what Node.js calls it, for example linux-x64. Publish the packages of the platforms first, then the launcher,
// so that no installation finds a launcher without its programs.

import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const NAME = "codex-engine";
const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-arm64", "darwin-x64", "win32-x64"];

const folder = path.dirname(fileURLToPath(import.meta.url));
const repository = path.join(folder, "../..");

const version = /^version = "(.+)"$/m.exec(readFileSync(path.join(repository, "Cargo.toml"), "utf8"))[1];
const common = { version, license: "Apache-2.0", engines: { node: ">=18" } };

/** Fills a folder with `fill` and packs it into `out`. */
function pack(manifest, out, fill) {
  const contents = mkdtempSync(path.join(tmpdir(), "npm-package-"));
  try {
    writeFileSync(path.join(contents, "package.json"), JSON.stringify({ ...manifest, ...common }, null, 2));
    copyFileSync(path.join(repository, "LICENSE"), path.join(contents, "LICENSE"));
    fill(contents);
    execFileSync("npm", ["pack", "--silent", "--pack-destination", out], { cwd: contents, stdio: "inherit" });
  } finally {
    rmSync(contents, { recursive: true });
  }
}

function packPlatform(platform, binary, out) {
  const [os, cpu] = platform.split("-");
  const manifest = { name: `${NAME}-${platform}`, description: `${NAME} for ${platform}`, os: [os], cpu: [cpu] };
  pack(manifest, out, (contents) => {
    const program = path.join(contents, "bin", os === "win32" ? "codex.exe" : "codex");
    mkdirSync(path.dirname(program));
    copyFileSync(binary, program);
    chmodSync(program, 0o755);
  });
}

function packLauncher(out) {
  const optionalDependencies = Object.fromEntries(PLATFORMS.map((platform) => [`${NAME}-${platform}`, version]));
  const description = "The local engine behind AI coding assistants";
  const manifest = { name: NAME, description, bin: { codex: "codex.js" }, optionalDependencies };
  pack(manifest, out, (contents) => {
    for (const file of ["codex.js", "README.md"]) {
      copyFileSync(path.join(folder, "launcher", file), path.join(contents, file));
    }
    chmodSync(path.join(contents, "codex.js"), 0o755);
  });
}

const { values } = parseArgs({
  options: { out: { type: "string" }, binary: { type: "string", multiple: true, default: [] } },
});
if (values.out === undefined) {
  throw new Error("--out DIR is missing");
}
const out = path.resolve(values.out);
mkdirSync(out, { recursive: true });
for (const binary of values.binary) {
  const [platform, file] = binary.split(/=(.*)/s);
  if (!PLATFORMS.includes(platform) || !file) {
    throw new Error(`--binary ${binary}: expected PLATFORM=PATH, with a platform of ${PLATFORMS.join(", ")}`);
  }
  packPlatform(platform, file, out);
}
packLauncher(out);
