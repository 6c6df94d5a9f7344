//! Whether the user trusts a hook: the hash of what the user saw is in the user's settings.

use std::collections::{BTreeMap, BTreeSet};

use codex_protocol::{HookEventName, HookSource};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::hook::{Hook, HookAction, HookTrust, OnError};
use crate::hook_files::{FileCheck, HookFiles};
use crate::usable_handler::UsableHandler;

/// The user's decisions about hooks, by their keys: the table `hooks.state` of the user's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookStates(BTreeMap<String, HookState>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct HookState {
    trusted_hash: Option<String>,
    enabled: Option<bool>,
}

/// What the user decides about hooks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookDecisions {
    /// Whether any hook runs.
    pub are_on: bool,
    /// Whether those run that the user has not decided about.
    pub trusts_new: bool,
    /// The ids of the plugins that are switched on.
    pub plugins: BTreeSet<String>,
    /// The decisions about single hooks.
    pub states: HookStates,
    /// The definitions of the user's hooks, if they were read again since the hooks were: others are gone.
    pub defined: Option<BTreeSet<String>>,
}

impl HookDecisions {
    /// Whether a hook may run, whatever was decided when it was read.
    #[must_use]
    pub fn allow(&self, hook: &Hook) -> bool {
        self.apply(hook).is_some()
    }

    /// The hook as it is by these decisions, if it may run.
    #[must_use]
    pub fn apply(&self, hook: &Hook) -> Option<Hook> {
        let plugin = hook.plugin.as_ref();
        let is_on = self.are_on && plugin.is_none_or(|plugin| self.plugins.contains(&plugin.id));
        let is_gone = hook.source == HookSource::User
            && (self.defined.as_ref()).is_some_and(|defined| !defined.contains(&hook.definition));
        let hash = HookHash {
            definition: hook.definition.clone(),
            files: hook.files.content.clone(),
        };
        let (trust, check) = self
            .states
            .trust(hook.source, &hook.key, &hash, &hook.files);
        let hook = Hook {
            enabled: self.states.enabled(&hook.key),
            trust,
            check,
            ..hook.clone()
        };
        (is_on && !is_gone && hook.may_run(self.trusts_new)).then_some(hook)
    }
}

impl HookStates {
    /// Reads the table. Entries that cannot be read count as absent.
    #[must_use]
    pub fn parse(table: &Value) -> Self {
        let entries = table.as_object().into_iter().flatten();
        Self(
            entries
                .filter_map(|(key, state)| Some((key.clone(), HookState::deserialize(state).ok()?)))
                .collect(),
        )
    }

    /// Whether the hook is switched on; hooks are, unless the user switched them off.
    pub(crate) fn enabled(&self, key: &str) -> bool {
        self.0.get(key).and_then(|state| state.enabled) != Some(false)
    }

    /// Whether the user trusts a hook, and what has to be true of its files when it runs.
    pub(crate) fn trust(
        &self,
        source: HookSource,
        key: &str,
        hash: &HookHash,
        files: &HookFiles,
    ) -> (HookTrust, FileCheck) {
        if source == HookSource::System {
            return (HookTrust::Managed, FileCheck::AsRecorded);
        }
        let state = self.0.get(key);
        let Some(trusted) = state.and_then(|state| state.trusted_hash.as_deref()) else {
            return (HookTrust::Untrusted, FileCheck::AsRecorded);
        };
        let is_known = files.problem.is_none();
        if is_known && trusted == hash.whole() {
            return (HookTrust::Trusted, FileCheck::Content(hash.files.clone()));
        }
        // Other releases know the definition only.
        if is_known && trusted == hash.definition && files.writable.is_none() {
            return (HookTrust::Trusted, FileCheck::Unwritable);
        }
        (HookTrust::Modified, FileCheck::Unwritable)
    }
}

/// The hashes of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HookHash {
    /// Of what it does; for a hook of a plugin, also of the plugin.
    pub(crate) definition: String,
    /// Of the files that its line leads to, if there are any.
    pub(crate) files: Option<String>,
}

impl HookHash {
    /// What the user trusts.
    pub(crate) fn whole(&self) -> String {
        let Some(files) = &self.files else {
            return self.definition.clone();
        };
        let both = format!("{}/{files}", self.definition);
        sha256(both.as_bytes())
    }
}

/// The hash of what a hook does. Other engines compute the same one, except for `onError`, which they do not know.
pub(crate) fn hash_of(
    event: HookEventName,
    matcher: Option<&str>,
    handler: &UsableHandler,
    timeout: u64,
) -> String {
    // Keys in alphabetical order.
    let mut fields = BTreeMap::new();
    let mut put = |key: &'static str, value: Value| fields.insert(key, value);
    if let Some(limit) = handler.context_limit {
        put("additionalContextLimit", json!(limit));
    }
    if handler.on_error == OnError::Block {
        put("onError", json!("block"));
    }
    if let Some(message) = &handler.status_message {
        put("statusMessage", json!(message));
    }
    put("timeout", json!(timeout));
    match &handler.action {
        HookAction::Command { line, is_async } => {
            put("async", json!(is_async));
            put("command", json!(line));
            put("type", json!("command"));
        }
        HookAction::McpTool {
            server,
            tool,
            input,
        } => {
            put("input", sorted(&Value::Object(input.clone())));
            put("server", json!(server));
            put("tool", json!(tool));
            put("type", json!("mcp_tool"));
        }
    }
    let mut hook = Map::new();
    hook.insert("event_name".to_owned(), json!(event.snake_case()));
    hook.insert("hooks".to_owned(), json!([fields]));
    if let Some(matcher) = matcher {
        hook.insert("matcher".to_owned(), json!(matcher));
    }
    sha256(Value::Object(hook).to_string().as_bytes())
}

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let mut hash = String::from("sha256:");
    for byte in digest {
        for nibble in [byte >> 4, byte & 0xf] {
            hash.extend(char::from_digit(u32::from(nibble), 16));
        }
    }
    hash
}

/// The value with the members of all objects in alphabetical order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().collect();
            let sorted = members
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(sorted.collect())
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::CommandHandler;

    /// Recorded from a reference.
    #[test]
    fn a_tool_has_the_hash_of_other_releases() {
        let of = |input: Value, tool: &str| {
            let written = json!({ "server": "s", "tool": tool, "input": input });
            let handler = UsableHandler::of_tool(&serde_json::from_value(written).unwrap());
            hash_of(HookEventName::PreToolUse, None, &handler, 600)
        };
        let expected = "sha256:512cf58fb1a288c356a4eac3a7960c4fa4beef61cd5c4259b54760eaf8665f18";
        assert_eq!(of(json!({}), "t"), expected);
        let expected = "sha256:a0258a822cfa9d5433463ee1db4aa96748f656770a7524ec33b99e7e4c72dce6";
        assert_eq!(of(json!({ "a": "x" }), "check"), expected);
    }

    fn handler(extra: Value) -> UsableHandler {
        let mut fields = json!({ "command": "echo a" });
        for (key, value) in extra.as_object().unwrap() {
            fields[key] = value.clone();
        }
        let handler: CommandHandler = serde_json::from_value(fields).unwrap();
        UsableHandler::of_command(&handler)
    }

    /// Recorded from a reference.
    #[test]
    fn hashes_of_the_reference_are_ours() {
        let hash =
            |extra, timeout| hash_of(HookEventName::PreToolUse, None, &handler(extra), timeout);
        for (extra, timeout, expected) in [
            (
                json!({}),
                600,
                "4940b41523e276db410f0fa9647a53d6f1701ab02d89a325290b200003683362",
            ),
            (
                json!({}),
                1,
                "a46680b61aa3c1e9d07910ec63c475484ba0a4deb82dfcfff0807caa1a0661da",
            ),
            (
                json!({ "async": true }),
                600,
                "dafaf3664cb47442ae4ba2655d8378efddc80d0433d10344b01f69ece9d065e5",
            ),
            (
                json!({ "statusMessage": "m" }),
                600,
                "732caa817acea460767acf341afd83690fdba2268fc6eaff6e57b3fab4f41a08",
            ),
            (
                json!({ "additionalContextLimit": 10 }),
                600,
                "486f08fd78d774e297af9acdecf103054e676be00c61a08b54b7cd9601324278",
            ),
        ] {
            assert_eq!(
                hash(extra.clone(), timeout),
                format!("sha256:{expected}"),
                "{extra}"
            );
        }
    }

    #[test]
    fn a_stricter_hook_has_another_hash() {
        let hash = |extra| hash_of(HookEventName::PreToolUse, Some("x"), &handler(extra), 600);
        assert_ne!(hash(json!({})), hash(json!({ "onError": "block" })));
        assert_eq!(hash(json!({})), hash(json!({ "onError": "ignore" })));
    }

    #[test]
    fn trust_is_in_a_hash() {
        let states = json!({
            "a": { "trusted_hash": "h", "enabled": false },
            "broken": { "trusted_hash": 1 },
        });
        let states = HookStates::parse(&states);
        let hash = |definition: &str| HookHash {
            definition: definition.to_owned(),
            files: None,
        };
        let trust = |source, key, definition| {
            let none = HookFiles::default();
            states.trust(source, key, &hash(definition), &none).0
        };
        let of_user = |key, definition| trust(HookSource::User, key, definition);
        assert_eq!(of_user("a", "h"), HookTrust::Trusted);
        assert_eq!(of_user("a", "other"), HookTrust::Modified);
        assert_eq!(of_user("b", "h"), HookTrust::Untrusted);
        assert_eq!(of_user("broken", "h"), HookTrust::Untrusted);
        assert_eq!(trust(HookSource::System, "b", "h"), HookTrust::Managed);
        let whole = HookHash {
            files: Some("f".to_owned()),
            ..hash("h")
        };
        let whole = whole.whole();
        let of_files = |stored: &str, writable: Option<&str>, problem: Option<&str>| {
            let states = HookStates::parse(&json!({ "k": { "trusted_hash": stored } }));
            let hash = HookHash {
                files: Some("f".to_owned()),
                ..hash("h")
            };
            let files = HookFiles {
                writable: writable.map(Into::into),
                problem: problem.map(str::to_owned),
                ..HookFiles::default()
            };
            states.trust(HookSource::User, "k", &hash, &files)
        };
        let by_content = FileCheck::Content(Some("f".to_owned()));
        for (stored, writable, problem, expected) in [
            (
                whole.as_str(),
                Some("/w"),
                None,
                (HookTrust::Trusted, by_content),
            ),
            (
                "h/g",
                None,
                None,
                (HookTrust::Modified, FileCheck::Unwritable),
            ),
            ("h", None, None, (HookTrust::Trusted, FileCheck::Unwritable)),
            (
                "h",
                Some("/w"),
                None,
                (HookTrust::Modified, FileCheck::Unwritable),
            ),
            (
                whole.as_str(),
                None,
                Some("?"),
                (HookTrust::Modified, FileCheck::Unwritable),
            ),
        ] {
            assert_eq!(of_files(stored, writable, problem), expected, "{stored}");
        }
        assert!(!states.enabled("a"));
        assert!(states.enabled("b"));
        assert_eq!(HookStates::parse(&json!([])), HookStates::default());
    }
}
