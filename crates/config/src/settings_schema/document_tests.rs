//! schema/config.json and the tables of docs/configuration.md are those of the settings.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::settings_schema;
use crate::schema::ConfigFile;

const BEGIN_COMMENT: &str = "<!-- The tables are made from the comments in crates/config/src/schema: just write-settings -->\n";
const END_COMMENT: &str = "<!-- End of the tables -->\n";

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Compares a file with what it should be, or writes it if that is asked for.
fn check(path: &str, expected: &str) {
    let path = repository(path);
    if std::env::var_os("CODEX_WRITE_DOCUMENTS").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let current = fs::read_to_string(&path).unwrap();
    assert!(
        current == expected,
        "{} is old: run `just write-settings`",
        path.display()
    );
}

#[test]
fn the_schema_of_settings_is_current() {
    let text = serde_json::to_string_pretty(&settings_schema()).unwrap();
    check("schema/config.json", &(text + "\n"));
}

#[test]
fn the_page_about_settings_is_current() {
    let page = fs::read_to_string(repository("docs/configuration.md")).unwrap();
    let (before, rest) = page.split_once(BEGIN_COMMENT).unwrap();
    let (_, after) = rest.split_once(END_COMMENT).unwrap();
    let expected = format!(
        "{before}{BEGIN_COMMENT}\n{}\n{END_COMMENT}{after}",
        settings_table()
    );
    check("docs/configuration.md", &expected);
}

#[test]
fn every_setting_has_a_description() {
    let schema = settings_schema();
    let mut without = Vec::new();
    for (key, setting) in members(&schema) {
        if text(setting).is_empty() {
            without.push(key.clone());
        }
    }
    for (name, definition) in schema["definitions"].as_object().unwrap() {
        for (key, setting) in members(definition) {
            if text(setting).is_empty() {
                without.push(format!("{name}.{key}"));
            }
        }
    }
    assert!(without.is_empty(), "no description: {without:?}");
}

#[test]
fn every_setting_that_is_read_is_in_the_schema() {
    let schema = settings_schema();
    let read = serde_json::to_value(ConfigFile::default()).unwrap();
    for key in read.as_object().unwrap().keys() {
        assert!(
            schema["properties"].get(key).is_some(),
            "`{key}` is missing"
        );
    }
}

/// The table of settings as Markdown: a section for the top level and one for each table below it.
fn settings_table() -> String {
    let schema = settings_schema();
    let mut page = SettingsPage {
        schema: &schema,
        text: String::new(),
        sections: Vec::new(),
    };
    page.top_level();
    let mut next = 0;
    while let Some((name, definition)) = page.sections.get(next).cloned() {
        page.section(&name, &definition);
        next += 1;
    }
    page.text
}

/// Whether the schema accepts a settings file.
fn accepts(validator: &jsonschema::Validator, text: &str) -> bool {
    let table: toml::Table = text.parse().unwrap();
    validator.is_valid(&serde_json::to_value(table).unwrap())
}

#[test]
fn schema_accepts_readable_settings() {
    let validator = jsonschema::validator_for(&settings_schema()).unwrap();
    let accepted = [
        "",
        "model = 'm'\nmodel_reasoning_effort = 'high'\nmodel_verbosity = 'low'",
        "model_reasoning_effort = 'ultra'",
        "service_tier = 'anything'",
        "approval_policy = 'untrusted'",
        "approval_policy = { granular = { sandbox_approval = true, rules = false, mcp_elicitations = true } }",
        "approvals_reviewer = 'auto_review'",
        "sandbox_mode = 'workspace-write'\n[sandbox_workspace_write]\nwritable_roots = ['/x']\nnetwork_access = true",
        "[permissions.p]\nextends = ':workspace'\n[permissions.p.filesystem]\n'/x' = 'deny'\n'/y' = { '.' = 'read' }\nglob_scan_max_depth = 2",
        "[permissions.p.network]\ndomains = { 'a.example' = 'allow' }\nunix_sockets = { '/s' = 'allow' }",
        "[shell_environment_policy]\ninherit = 'core'\nset = { A = 'b' }",
        "[model_providers.local]\nname = 'l'\nbase_url = 'http://127.0.0.1:1/v1'\nwire_api = 'chat'",
        "[mcp_servers.a]\ncommand = 'c'\nargs = ['-x']\nstartup_timeout_sec = 1.5\n[mcp_servers.a.tools.t]\napproval_mode = 'approve'",
        "[mcp_servers.b]\nurl = 'http://127.0.0.1:1'\noauth = { client_id = 'i' }",
        "[agents]\nmax_threads = 2\n[agents.reader]\ndescription = 'd'",
        "[apps._default]\nenabled = false\n[apps.x.tools.y]\nenabled = true",
        "[features]\nundo = true\nnetwork_proxy = { enabled = true, domains = {} }\nof_another_release = false",
        "[tools]\nweb_search = true",
        "[tools.web_search]\nallowed_domains = ['a']",
        "forced_chatgpt_workspace_id = ['a', 'b']",
        "[limits.turn]\nmax_tokens = 1\nmax_cost = 0.5",
        "[projects.'/p']\ntrust_level = 'trusted'",
        "[profiles.p]\nmodel = 'm'\nfeatures = { undo = true }",
        "[otel]\nexporter = 'none'",
        "[otel.exporter.otlp-http]\nendpoint = 'http://127.0.0.1:1'\nprotocol = 'json'",
        "[tui]\nnotifications = ['a']",
        "[hooks]\nStop = [{ hooks = [] }]",
        "[experimental_thread_store]\ntype = 'local'",
        "[ghost_snapshot]\nignore_untracked_files_over_bytes = 1",
        "[desktop]\nanything = [1]",
    ];
    for text in accepted {
        let table = text.parse().unwrap();
        crate::decode::decode::<ConfigFile>(&table).unwrap();
        assert!(accepts(&validator, text), "refused: {text}");
    }
    let page = fs::read_to_string(repository("docs/configuration.md")).unwrap();
    let example = page
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    assert!(accepts(&validator, example));
}

#[test]
fn the_schema_refuses_mistakes() {
    let validator = jsonschema::validator_for(&settings_schema()).unwrap();
    let refused = [
        "modle = 'm'",
        "model = 1",
        "approval_policy = 'sometimes'",
        "approval_policy = { granular = { rules = false } }",
        "sandbox_mode = 'none'",
        "[sandbox_workspace_write]\nwritable = ['/x']",
        "[permissions.p.filesystem]\n'/x' = 'sometimes'",
        "[shell_environment_policy]\ninherit = 'some'",
        "[model_providers.local]\nname = 'l'\nbase_ur = 'http://127.0.0.1:1/v1'",
        "[model_providers.local]\nname = 'l'\nwire_api = 'chats'",
        "[mcp_servers.a]\ncomand = 'c'",
        "[agents.reader]\nfile = 'd'",
        "[features]\nundo = 'yes'",
        "forced_chatgpt_workspace_id = 1",
        "[projects.'/p']\ntrust_level = 'maybe'",
        "[profiles.p]\nnotify = ['x']",
        "[history]\npersistence = 'some'",
        "[experimental_thread_store]\ntype = 'in_memory'",
    ];
    for text in refused {
        assert!(!accepts(&validator, text), "accepted: {text}");
    }
}

struct SettingsPage<'a> {
    schema: &'a Value,
    text: String,
    /// The tables that have a section: how they are written in a file, and the names of their definitions.
    sections: Vec<(String, String)>,
}

impl SettingsPage<'_> {
    fn top_level(&mut self) {
        self.text += "### Top level\n\n| key | value | what it does | default | project | profile | since |\n|---|---|---|---|---|---|---|\n";
        for (key, setting) in members(self.schema) {
            let value = self.value(setting, key);
            let (what, default) = split_default(setting);
            let effect = if setting["x-without-effect"] == true {
                " *Has no effect.*"
            } else {
                ""
            };
            let yes = |member: &str| if setting[member] == true { "yes" } else { "" };
            let (project, profile) = (yes("x-projects"), yes("x-profiles"));
            let since = setting["x-since"].as_str().unwrap_or("0.117");
            let until = match setting["x-until"].as_str() {
                Some(until) if until == since => " only".to_owned(),
                Some(until) => format!(" to {until}"),
                None => String::new(),
            };
            let _ = writeln!(
                self.text,
                "| `{key}` | {value} | {what}{effect} | {default} | {project} | {profile} | {since}{until} |"
            );
        }
    }

    fn section(&mut self, name: &str, definition: &str) {
        let Some(schema) = self.schema["definitions"].get(definition) else {
            return;
        };
        let _ = write!(self.text, "\n### `[{name}]`\n\n");
        let what = text(schema);
        // The heading says it already.
        if !what.starts_with("`[") {
            let _ = write!(self.text, "{what}\n\n");
        }
        self.text += "| key | value | what it does | default |\n|---|---|---|---|\n";
        let schema = schema.clone();
        for (key, setting) in members(&schema) {
            let value = self.value(setting, &format!("{name}.{key}"));
            let (what, default) = split_default(setting);
            let _ = writeln!(self.text, "| `{key}` | {value} | {what} | {default} |");
        }
        if let Some(others) = schema
            .get("additionalProperties")
            .filter(|it| it.is_object())
        {
            let value = self.value(others, &format!("{name}.<name>"));
            let _ = writeln!(self.text, "| any name | {value} | | |");
        }
    }

    /// What may be written for a setting. A table gets a section of its own.
    fn value(&mut self, setting: &Value, place: &str) -> String {
        if let Some(name) = reference(setting) {
            return self.named(&name, place);
        }
        if let Some(constant) = setting.get("const") {
            return format!("`{constant}`");
        }
        if let Some(Value::Array(values)) = setting.get("enum") {
            let values: Vec<_> = values.iter().map(|value| format!("`{value}`")).collect();
            return values.join(", ");
        }
        for forms in ["oneOf", "anyOf"] {
            if let Some(Value::Array(forms)) = setting.get(forms) {
                let forms: Vec<_> = forms.iter().map(|form| self.value(form, place)).collect();
                return forms.join(", ");
            }
        }
        match setting["type"].as_str() {
            Some("array") => format!("list of {}", self.value(&setting["items"], place)),
            Some("object") => match setting.get("additionalProperties") {
                Some(others) if others.is_object() => {
                    let value = self.value(others, &format!("{place}.<name>"));
                    format!("table: name = {value}")
                }
                _ => match members(setting).next() {
                    Some((key, inner)) if setting["required"].is_array() => {
                        let value = self.value(inner, &format!("{place}.{key}"));
                        format!("{{ {key} = {value} }}")
                    }
                    _ => "table".to_owned(),
                },
            },
            Some(kind) => kind.to_owned(),
            None => "any".to_owned(),
        }
    }

    fn named(&mut self, name: &str, place: &str) -> String {
        let Some(definition) = self.schema["definitions"].get(name) else {
            return "any".to_owned();
        };
        if definition.get("properties").is_none() {
            return self.value(&definition.clone(), place);
        }
        if let Some((known, _)) = self.sections.iter().find(|(_, it)| it == name) {
            return format!("table, see `[{known}]`");
        }
        self.sections.push((place.to_owned(), name.to_owned()));
        "table, see below".to_owned()
    }
}

fn members(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn reference(setting: &Value) -> Option<String> {
    let direct = setting
        .get("$ref")
        .or_else(|| setting.pointer("/allOf/0/$ref"))?;
    Some(direct.as_str()?.strip_prefix("#/definitions/")?.to_owned())
}

/// The description on one line, with nothing that would end the cell of a table.
fn text(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
}

/// What a setting does, and its default.
fn split_default(setting: &Value) -> (String, String) {
    let text = text(setting);
    if let Some((what, default)) = text.split_once(" Default: ") {
        return (what.to_owned(), default.trim_end_matches('.').to_owned());
    }
    let default = setting
        .get("default")
        .filter(|it| it.is_boolean() || it.is_string());
    (
        text,
        default.map_or_else(String::new, |it| it.to_string().replace('"', "`")),
    )
}
