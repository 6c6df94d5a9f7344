//! Commands that people know from other releases.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::exec::ExecFolders;
use crate::stdout_of;

pub(crate) fn run(place: &ExecFolders, arguments: &[&str]) -> Output {
    command(place, arguments).output().unwrap()
}

fn command(place: &ExecFolders, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_codex"));
    command
        .args(arguments)
        .env("HOME", place.home.path())
        .env("CODEX_HOME", place.home.path())
        .current_dir(place.work.path())
        .stdin(Stdio::null());
    command
}

fn error_of(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn unsupported_commands_name_the_replacement() {
    let place = ExecFolders::new();
    for (command, instead) in [
        ("agents", "codex resume"),
        ("cloud", "codex exec"),
        ("apply", "git apply"),
        ("remote-control", "codex app-server daemon start"),
        ("update", "install it again"),
        ("app-server check", "codex debug app-server check"),
    ] {
        let words: Vec<_> = command.split(' ').collect();
        for more in [&[][..], &["x", "--flag"]] {
            let error = error_of(&run(&place, &[&words, more].concat()));
            assert!(error.contains(instead), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}

#[test]
fn features_are_set_in_the_users_file() {
    let place = ExecFolders::new();
    let file = place.home.path().join("config.toml");
    fs::write(&file, "# mine\nmodel = 'm'\n").unwrap();
    let told = stdout_of(&run(&place, &["features", "enable", "undo"]));
    assert!(told.starts_with("Enabled feature `undo`"), "{told}");
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains("# mine") && text.contains("undo = true"),
        "{text}"
    );
    stdout_of(&run(&place, &["features", "disable", "undo"]));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("undo = false"), "{text}");
    let error = error_of(&run(&place, &["features", "enable", "nope"]));
    assert!(error.contains("Unknown feature flag: nope"), "{error}");
}

#[test]
fn rules_files_are_checked() {
    let place = ExecFolders::new();
    let rules = place.work.path().join("a.rules");
    let text = "prefix_rule(pattern=[\"git\", \"push\"], decision=\"prompt\")\n\
                prefix_rule(pattern=[\"git\"], decision=\"allow\")\n";
    fs::write(&rules, text).unwrap();
    let checked = run(
        &place,
        &["execpolicy", "check", "-r", "a.rules", "git", "push", "-f"],
    );
    let checked: Value = serde_json::from_str(&stdout_of(&checked)).unwrap();
    assert_eq!(checked["decision"], "prompt");
    assert_eq!(checked["matchedRules"].as_array().unwrap().len(), 2);
    let other = run(
        &place,
        &["execpolicy", "check", "--pretty", "-r", "a.rules", "ls"],
    );
    let other: Value = serde_json::from_str(&stdout_of(&other)).unwrap();
    assert_eq!(other, serde_json::json!({ "matchedRules": [] }));
    let missing = run(&place, &["execpolicy", "check", "-r", "none.rules", "ls"]);
    assert!(error_of(&missing).contains("none.rules"));
}

#[test]
fn a_command_runs_in_the_sandbox_of_the_settings() {
    let place = ExecFolders::new();
    let script = "cat; echo told >&2; touch there; exit 7";
    let mut sandbox = command(&place, &["sandbox", "--", "sh", "-c", script]);
    let mut child = sandbox
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"typed").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_eq!(output.stdout, b"typed");
    assert!(String::from_utf8_lossy(&output.stderr).contains("told"));
    assert!(!place.work.path().join("there").exists());
    let profile = place.home.path().join("wide.config.toml");
    fs::write(profile, "sandbox_mode = 'workspace-write'\n").unwrap();
    for arguments in [
        &["sandbox", "-P", ":workspace", "--", "touch", "there"][..],
        &["sandbox", "--full-auto", "linux", "touch", "two"],
        &["sandbox", "linux", "--full-auto", "--", "touch", "six"],
        &["sandbox", "-p", "wide", "--", "touch", "five"],
        &["-s", "workspace-write", "sandbox", "touch", "three"],
        &[
            "sandbox",
            "--permissions-profile",
            ":workspace",
            "touch",
            "seven",
        ],
    ] {
        let output = run(&place, arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
    for file in ["there", "two", "three", "five", "six", "seven"] {
        assert!(place.work.path().join(file).exists(), "{file}");
    }
    let outside = run(
        &place,
        &["sandbox", "-P", ":workspace", "touch", "/usr/there"],
    );
    assert!(!outside.status.success(), "{outside:?}");
    let unknown = run(&place, &["sandbox", "-P", "nobody", "touch", "four"]);
    error_of(&unknown);
    assert!(!place.work.path().join("four").exists());
    let misspelt = run(&place, &["sandbox", "--full-atuo", "touch", "four"]);
    assert!(error_of(&misspelt).contains("no option `--full-atuo`"));
}

#[test]
fn model_input_is_printed_and_not_stored() {
    let place = ExecFolders::new();
    fs::write(place.work.path().join("AGENTS.md"), "Whisper.").unwrap();
    let printed = stdout_of(&run(&place, &["debug", "prompt-input", "hello there"]));
    let input: Value = serde_json::from_str(&printed).unwrap();
    let last = input.as_array().unwrap().last().unwrap();
    assert_eq!(last["content"][0]["text"], "hello there");
    assert!(printed.contains("Whisper."), "{printed}");
    assert!(place.rollouts().is_empty());
}

#[test]
fn built_in_models_are_printed() {
    let place = ExecFolders::new();
    let printed = stdout_of(&run(&place, &["debug", "models", "--bundled"]));
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert!(printed["models"][0]["slug"].is_string(), "{printed}");
}

#[test]
fn plugins_are_added_and_removed_by_name_and_marketplace() {
    let place = ExecFolders::new();
    let market = place.work.path().join("market");
    fs::create_dir_all(market.join(".agents/plugins")).unwrap();
    fs::create_dir_all(market.join("plugins/sample/.codex-plugin")).unwrap();
    let listed = "{\"name\":\"debug\",\"plugins\":[{\"name\":\"sample\",\
                  \"source\":{\"source\":\"local\",\"path\":\"./plugins/sample\"}}]}";
    fs::write(market.join(".agents/plugins/marketplace.json"), listed).unwrap();
    let manifest = "{\"name\":\"sample\",\"version\":\"1.0.0\",\"description\":\"d\"}";
    fs::write(
        market.join("plugins/sample/.codex-plugin/plugin.json"),
        manifest,
    )
    .unwrap();
    stdout_of(&run(&place, &["plugin", "marketplace", "add", "market"]));
    let listed = stdout_of(&run(&place, &["plugin", "marketplace", "list", "--json"]));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["marketplaces"][0]["name"], "debug", "{listed}");
    let market = fs::canonicalize(&market).unwrap();
    assert_eq!(listed["marketplaces"][0]["root"], market.to_str().unwrap());
    stdout_of(&run(&place, &["plugin", "add", "sample", "-m", "debug"]));
    let plugins = stdout_of(&run(&place, &["plugin", "list"]));
    assert!(plugins.contains("sample@debug"), "{plugins}");
    stdout_of(&run(&place, &["plugin", "remove", "sample"]));
    let error = error_of(&run(&place, &["plugin", "remove", "sample"]));
    assert!(error.contains("not installed"), "{error}");
}

#[test]
fn startup_configuration_has_requirements_or_their_error() {
    let place = ExecFolders::new();
    let ask = |more: &[&str]| {
        let arguments = [&["app-server", "--print-startup-config"], more].concat();
        let output = run(&place, &arguments);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        (answer, output.status.code())
    };
    let (answer, code) = ask(&[]);
    assert_eq!(code, Some(0));
    assert!(answer["configRequirements"].is_object(), "{answer}");
    assert!(answer["configRequirements"]["requirements"].is_null());
    assert_eq!(answer["appServerVersion"], env!("CARGO_PKG_VERSION"));
    fs::write(place.home.path().join("config.toml"), "unknown = 1\n").unwrap();
    assert_eq!(ask(&[]).1, Some(0));
    let (answer, code) = ask(&["--strict-config"]);
    assert_eq!(code, Some(1));
    assert_eq!(answer["error"]["data"]["reason"], "configLoad");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("config.toml:1:1"), "{message}");
}
