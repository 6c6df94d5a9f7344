//! The generated TypeScript compiles strictly, and a client can switch exhaustively over it.
//!
//! The compiler is `tsc` on the path, or what `CODEX_TSC` names. `.ci/run` installs one.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::{codex, repository};

/// Compiles the checked-in program against one surface.
fn check(surface: &str) {
    let repository = repository();
    let generated = repository.join("schema/typescript").join(surface);
    let folder = tempfile::tempdir().unwrap();
    let program = fs::read_to_string(repository.join("tests/typescript/client.ts")).unwrap();
    let program = program.replace("@generated", generated.to_str().unwrap());
    let file = folder.path().join("client.ts");
    fs::write(&file, program).unwrap();
    let index = [generated.join("index.ts"), generated.join("v2/index.ts")];
    let compiler = std::env::var_os("CODEX_TSC").unwrap_or_else(|| "tsc".into());
    let output = Command::new(compiler)
        .args([
            "--strict",
            "--noEmit",
            "--target",
            "es2022",
            "--moduleResolution",
            "bundler",
        ])
        .args(["--module", "es2022"])
        .arg(&file)
        .args(index)
        .output()
        .unwrap_or_else(|error| panic!("CODEX_TSC names no TypeScript compiler: {error}"));
    let errors = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{errors}");
}

#[test]
#[ignore = "needs a TypeScript compiler; .ci/run installs one"]
fn stable_types_compile() {
    check("stable");
}

#[test]
#[ignore = "needs a TypeScript compiler; .ci/run installs one"]
fn experimental_types_compile() {
    check("experimental");
}

#[test]
#[ignore = "needs a TypeScript compiler; .ci/run installs one"]
fn types_compile_as_nodejs_modules() {
    for options in [
        &[][..],
        &["--for", "0.117"],
        &["--for", "0.169", "--experimental"],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().to_str().unwrap();
        let generate = [
            "app-server",
            "generate-ts",
            "--import-extension",
            "js",
            "--out",
            out,
        ];
        codex(&[&generate, options].concat());
        let compiler = std::env::var_os("CODEX_TSC").unwrap_or_else(|| "tsc".into());
        let output = Command::new(compiler)
            .args(["--strict", "--noEmit", "--target", "es2022"])
            .args(["--module", "nodenext", "--moduleResolution", "nodenext"])
            .arg(folder.path().join("index.ts"))
            .output()
            .unwrap_or_else(|error| panic!("CODEX_TSC names no TypeScript compiler: {error}"));
        let errors = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{options:?}: {errors}");
    }
}

#[test]
#[ignore = "needs a TypeScript compiler, and types of Node.js that CODEX_NODE_TYPES names; .ci/run installs them"]
fn example_client_compiles_and_runs_a_turn() {
    let compiler = std::env::var_os("CODEX_TSC").unwrap_or_else(|| "tsc".into());
    let types = std::env::var_os("CODEX_NODE_TYPES").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::copy(repository().join("examples/client.ts"), file("client.ts")).unwrap();
    fs::write(file("package.json"), r#"{"type":"module"}"#).unwrap();
    let out = file("types");
    codex(&[
        "app-server",
        "generate-ts",
        "--import-extension",
        ".js",
        "--out",
        out.to_str().unwrap(),
    ]);
    for [module, resolution] in [["es2022", "bundler"], ["nodenext", "nodenext"]] {
        let output = Command::new(&compiler)
            .args(["--strict", "--target", "es2022", "--types", "node"])
            .args(["--module", module, "--moduleResolution", resolution])
            .arg("--typeRoots")
            .arg(&types)
            .arg(file("client.ts"))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{resolution}: {errors}");
    }
    runs_turns(|| {
        let mut node = Command::new("node");
        node.arg(file("client.js"));
        node
    });
}

#[test]
#[ignore = "needs python3"]
fn example_client_in_python_runs_a_turn() {
    runs_turns(|| {
        let mut python = Command::new("python3");
        python.arg(repository().join("examples/client.py"));
        python
    });
}

/// Runs an example twice: the person allows a command, and a patch.
#[track_caller]
fn runs_turns(client: impl Fn() -> Command) {
    for (scenario, asked, made) in [
        (
            "approve-command",
            "Allow \"/bin/bash -lc 'mkdir",
            "release-notes",
        ),
        ("approve-patch", "Allow a patch of \"", "USAGE"),
    ] {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("greet.sh"), "#!/bin/sh\necho \"hello\"\n").unwrap();
        let mut running = client()
            .args(["Do it.", "--scenario"])
            .arg(repository().join(format!("scenarios/{scenario}.toml")))
            .env("CODEX_PATH", env!("CARGO_BIN_EXE_codex"))
            .env("CODEX_HOME", home.path())
            .current_dir(home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        running.stdin.take().unwrap().write_all(b"y\n").unwrap();
        let output = running.wait_with_output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{shown}");
        assert!(shown.contains(asked), "{shown}");
        assert!(shown.trim_end().ends_with("completed"), "{shown}");
        assert!(home.path().join(made).exists(), "{shown}");
    }
}
