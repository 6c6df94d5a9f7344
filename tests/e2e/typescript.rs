//! The generated TypeScript compiles strictly, and a client can switch exhaustively over it.
//!
//! The compiler is `tsc` on the path, or what `CODEX_TSC` names. `.ci/run` installs one.

use std::fs;
use std::process::Command;

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
fn types_with_extensions_in_imports_compile_as_modules_of_nodejs() {
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
