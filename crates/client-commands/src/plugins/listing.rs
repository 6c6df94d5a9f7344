//! Formats plugins for people: a table, or a list of facts.

use std::fmt::Write as _;

use codex_client::harmless;
use serde_json::{Value, json};

use super::members;

/// The plugins of all marketplaces as a table, and the marketplaces that cannot be used.
pub(super) fn as_table(listed: &Value) -> String {
    let mut rows = vec![["Plugin", "State", "Description"].map(str::to_owned)];
    for marketplace in members(&listed["marketplaces"]) {
        for plugin in members(&marketplace["plugins"]) {
            let shown = &plugin["interface"]["shortDescription"];
            rows.push([text(&plugin["id"]), state(plugin).to_owned(), text(shown)]);
        }
    }
    let mut table = String::new();
    if rows.len() == 1 {
        table.push_str(
            "There are no plugins. Add a marketplace: codex plugin marketplace add FOLDER\n",
        );
    } else {
        let width = |column: usize| {
            let widths = rows.iter().map(|row| row[column].chars().count());
            widths.max().unwrap_or_default()
        };
        let (first, second) = (width(0), width(1));
        for [plugin, state, description] in &rows {
            let line = format!("{plugin:first$}  {state:second$}  {description}");
            let _ = writeln!(table, "{}", line.trim_end());
        }
    }
    for error in members(&listed["marketplaceLoadErrors"]) {
        let _ = writeln!(table, "\nwarning: {}", text(&error["message"]));
    }
    table
}

/// Which copies of marketplaces have changed, and which could not be looked at.
pub(super) fn as_upgrades(answer: &Value) -> String {
    let mut shown = String::new();
    for root in members(&answer["upgradedRoots"]) {
        let _ = writeln!(shown, "Upgraded {}", text(root));
    }
    for error in members(&answer["errors"]) {
        let (name, message) = (text(&error["marketplaceName"]), text(&error["message"]));
        let _ = writeln!(shown, "warning: {name}: {message}");
    }
    if shown.is_empty() {
        shown.push_str("All copies of marketplaces are up to date.\n");
    }
    shown
}

fn state(plugin: &Value) -> &'static str {
    match (plugin["installed"] == true, plugin["enabled"] == true) {
        (true, true) => "installed",
        (true, false) => "disabled",
        _ if plugin["installPolicy"] == "NOT_AVAILABLE" => "not available",
        _ => "-",
    }
}

/// One plugin as a list of facts.
pub(super) fn as_facts(plugin: &Value) -> String {
    let summary = &plugin["summary"];
    let names = |list: &Value, member: &str| {
        let names = members(list).map(|entry| match member {
            "" => text(entry),
            member => text(&entry[member]),
        });
        names.collect::<Vec<_>>().join(", ")
    };
    let facts = [
        ("state", state(summary).to_owned()),
        ("version", text(&summary["localVersion"])),
        ("repository", text(&summary["source"]["url"])),
        ("folder", text(&summary["source"]["path"])),
        ("description", text(&plugin["description"])),
        ("skills", names(&plugin["skills"], "name")),
        ("mcp servers", names(&plugin["mcpServers"], "")),
        ("apps", names(&plugin["apps"], "name")),
    ];
    let mut shown = format!("{}\n", text(&summary["id"]));
    for (fact, value) in facts {
        if !value.is_empty() {
            let _ = writeln!(shown, "  {fact}: {value}");
        }
    }
    shown
}

/// A text on one line, without control characters. Plugins are foreign.
fn text(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    harmless(&text.split_whitespace().collect::<Vec<_>>().join(" ")).to_string()
}

/// The end of the path of a marketplace, below its root.
const MANIFEST: &str = ".agents/plugins/marketplace.json";

/// The names of all marketplaces, and where they are.
pub(super) fn marketplaces(listed: &Value) -> Value {
    let marketplaces = members(&listed["marketplaces"]).map(|marketplace| {
        let path = marketplace["path"].as_str().unwrap_or_default();
        let root = path.strip_suffix(MANIFEST).unwrap_or(path);
        json!({ "name": marketplace["name"], "root": root.trim_end_matches('/') })
    });
    json!({
        "marketplaces": marketplaces.collect::<Vec<_>>(),
        "errors": listed["marketplaceLoadErrors"],
    })
}

/// The marketplaces as a table, and those that cannot be used.
pub(super) fn marketplaces_as_table(listed: &Value) -> String {
    let mut table = String::new();
    let all: Vec<&Value> = members(&listed["marketplaces"]).collect();
    let names = all.iter().map(|it| text(&it["name"]).chars().count());
    let width = names.max().unwrap_or_default();
    for marketplace in &all {
        let (name, root) = (text(&marketplace["name"]), text(&marketplace["root"]));
        let _ = writeln!(table, "{name:width$}  {root}");
    }
    if all.is_empty() {
        table.push_str("There are no marketplaces. Add one: codex plugin marketplace add FOLDER\n");
    }
    for error in members(&listed["errors"]) {
        let _ = writeln!(table, "\nwarning: {}", text(&error["message"]));
    }
    table
}
