//! `codex plugin`: plugins and marketplaces from a terminal.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::plugin_folders::MarketplaceFolder;
use crate::setup::{PROGRAM, home_with};

/// Runs to the end: whether it succeeded, what was answered and what was said beside it.
fn run(home: &Path, arguments: &[&str]) -> (bool, String, String) {
    let output = Command::new(PROGRAM)
        .arg("plugin")
        .args(arguments)
        .current_dir(home)
        .env("CODEX_HOME", home)
        .env("HOME", home.join("person"))
        .env_remove("RUST_LOG")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.success(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[track_caller]
pub(crate) fn answer(home: &Path, arguments: &[&str]) -> String {
    let (succeeded, answer, said) = run(home, arguments);
    assert!(succeeded, "{arguments:?}: {answer}{said}");
    answer
}

#[track_caller]
fn json_of(home: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&answer(home, &[arguments, &["--json"]].concat())).unwrap()
}

#[track_caller]
fn refusal(home: &Path, arguments: &[&str]) -> String {
    let (succeeded, _, said) = run(home, arguments);
    assert!(!succeeded, "{arguments:?}");
    said
}

#[test]
fn a_plugin_is_found_installed_and_removed() {
    let home = home_with("model = \"x\" # mine\n");
    let home = home.path();
    let mut team = MarketplaceFolder::new(&home.join("team"), "team");
    let manifest = json!({
        "name": "demo", "version": "1", "description": "For \u{1b}[31mdemonstrations",
        "interface": { "shortDescription": "Short" },
    });
    team.add("demo", &manifest, &json!({}));
    team.skill("demo", "hi", "x");
    assert!(answer(home, &["list"]).starts_with("There are no plugins."));
    let added = answer(home, &["marketplace", "add", "team"]);
    assert_eq!(
        added,
        format!("Added the marketplace 'team' at {}.\n", team.root.display())
    );
    let listed = answer(home, &["list"]);
    assert!(listed.contains("demo@team  -      Short\n"), "{listed}");
    let shown = answer(home, &["read", "demo"]);
    assert!(
        shown.contains("  skills: demo:hi\n") && !shown.contains('\u{1b}'),
        "{shown}"
    );
    assert_eq!(
        answer(home, &["install", "demo@team"]),
        "Installed the plugin 'demo@team'.\n"
    );
    let listed = json_of(home, &["list"]);
    assert_eq!(listed["marketplaces"][0]["plugins"][0]["installed"], true);
    assert_eq!(
        json_of(home, &["read", "demo"])["plugin"]["summary"]["enabled"],
        true
    );
    let config = fs::read_to_string(home.join("config.toml")).unwrap();
    assert!(
        config.starts_with("model = \"x\" # mine\n") && config.contains("[plugins.\"demo@team\"]")
    );
    assert_eq!(
        json_of(home, &["uninstall", "demo@team"]),
        json!({ "pluginId": "demo@team" })
    );
    assert!(!home.join("plugins/cache/team/demo").exists());
    answer(home, &["marketplace", "remove", "team"]);
    assert_eq!(json_of(home, &["list"])["marketplaces"], json!([]));
}

#[test]
fn failed_plugin_commands_give_the_reason() {
    let home = home_with("");
    let home = home.path();
    for name in ["one", "two"] {
        let mut marketplace = MarketplaceFolder::new(&home.join(name), name);
        marketplace.add("demo", &json!({ "name": "demo" }), &json!({}));
        answer(home, &["marketplace", "add", name]);
    }
    let of_one = json_of(home, &["list", "--available", "-m", "two"]);
    assert_eq!(of_one["marketplaces"].as_array().unwrap().len(), 1);
    assert_eq!(of_one["marketplaces"][0]["name"], "two");
    let no_marketplace = refusal(home, &["list", "-m", "three"]);
    assert!(
        no_marketplace.contains("no marketplace 'three'"),
        "{no_marketplace}"
    );
    let several = refusal(home, &["install", "demo"]);
    assert!(several.contains("Several marketplaces have the plugin 'demo': demo@one, demo@two"));
    let none = refusal(home, &["read", "none"]);
    assert!(
        none.contains("No marketplace has the plugin 'none'"),
        "{none}"
    );
    let wrong = refusal(home, &["uninstall", "demo"]);
    assert!(wrong.contains("'demo' is not installed"), "{wrong}");
    let missing = refusal(home, &["marketplace", "add", "none"]);
    assert!(
        missing.contains("failed to resolve local marketplace source path"),
        "{missing}"
    );
    let unknown = refusal(home, &["marketplace", "remove", "none"]);
    assert!(
        unknown.contains("marketplace `none` is not configured"),
        "{unknown}"
    );
}
