//! `--strict-config`: unknown settings are errors with their place.

use std::fs;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn run(home: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_codex"))
        .args(arguments)
        .env("HOME", home.path())
        .env("CODEX_HOME", home.path())
        .current_dir(home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The error of a run, with the path of the home folder as `@`.
fn error(home: &TempDir, arguments: &[&str]) -> String {
    let output = run(home, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
    let folder = fs::canonicalize(home.path()).unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    error.replace(&*folder.to_string_lossy(), "@")
}

fn home_with(text: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("config.toml"), text).unwrap();
    home
}

#[test]
fn unknown_settings_are_named_with_file_line_and_column() {
    let home = home_with(
        "model = 'm'\nfrob = 1\n[tui]\n  wib = 1\n[features]\nnope = true\nundo = true\n\
         [mcp_servers.a]\ncommand = 'c'\nwob = 1\n[profiles.p]\nzz = 1\n",
    );
    let expected = "error: @/config.toml:2:1: unknown setting `frob`\n\
                    @/config.toml:4:3: unknown setting `tui.wib`\n\
                    @/config.toml:6:1: unknown setting `features.nope`\n\
                    @/config.toml:10:1: unknown setting `mcp_servers.a.wob`\n\
                    @/config.toml:12:1: unknown setting `profiles.p.zz`\n";
    assert_eq!(
        error(&home, &["features", "list", "--strict-config"]),
        expected
    );
    assert_eq!(
        error(
            &home,
            &["--strict-config", "exec", "--skip-git-repo-check", "hi"]
        ),
        expected
    );
}

/// Without the flag it starts with a warning, and with unusable files it starts with defaults.
#[test]
fn a_server_does_not_start_with_unknown_settings() {
    let home = home_with("frob = 1\n");
    let told = error(&home, &["app-server", "--strict-config"]);
    assert!(
        told.contains("@/config.toml:1:1: unknown setting `frob`"),
        "{told}"
    );
    assert!(run(&home, &["app-server"]).status.success());
}

#[test]
fn unknown_flag_and_profile_settings_are_refused() {
    let home = home_with("model = 'm'\n");
    let told = error(
        &home,
        &["features", "list", "--strict-config", "-c", "blub.x=1"],
    );
    assert!(
        told.contains("unknown setting `blub`, from a flag"),
        "{told}"
    );
    fs::write(home.path().join("fast.config.toml"), "[tui]\nodd = 1\n").unwrap();
    let told = error(
        &home,
        &["-p", "fast", "features", "list", "--strict-config"],
    );
    assert!(
        told.contains("/fast.config.toml:2:1: unknown setting `tui.odd`"),
        "{told}"
    );
}

#[test]
fn known_settings_are_accepted() {
    let home = home_with(
        "model = 'm'\n[features]\nundo = true\n[projects.'/a.b']\ntrust_level = 'trusted'\n",
    );
    let listed = run(
        &home,
        &["features", "list", "--strict-config", "-c", "model=x"],
    );
    assert!(listed.status.success(), "{listed:?}");
}
