//! `[features.multi_agent_v2]`: agents that are addressed by path.

use serde::Deserialize;
use toml::{Table, Value};

use crate::error::ConfigError;
use crate::features::{Feature, FeatureSet};
use crate::schema::ConfigFile;

/// The longest wait that can be configured, in milliseconds.
const LONGEST_WAIT: i64 = 3_600_000;

/// Settings of agents that are addressed by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamSettings {
    /// How many threads of a tree may be at work at once, the root included.
    pub max_concurrent_threads: u32,
    /// The shortest, longest and usual wait, in milliseconds.
    pub min_wait_ms: u32,
    pub max_wait_ms: u32,
    pub default_wait_ms: u32,
    /// Text added to the description of the tool that starts agents.
    pub usage_hint: Option<String>,
    /// What the root is told about agents, in place of the built-in text; empty for nothing.
    pub root_hint: Option<String>,
    /// What agents are told about agents, in place of the built-in text; empty for nothing.
    pub agent_hint: Option<String>,
    /// The namespace of the tools.
    pub tool_namespace: Option<String>,
    /// Whether role, model and effort of agents are kept from the model.
    pub hide_metadata: bool,
    /// Whether scripts of the model cannot call the tools.
    pub direct_only: bool,
}

/// The table as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct TeamTable {
    #[serde(rename = "enabled")]
    _enabled: Option<bool>,
    max_concurrent_threads_per_session: Option<i64>,
    min_wait_timeout_ms: Option<i64>,
    max_wait_timeout_ms: Option<i64>,
    default_wait_timeout_ms: Option<i64>,
    usage_hint_enabled: Option<bool>,
    usage_hint_text: Option<String>,
    root_agent_usage_hint_text: Option<String>,
    subagent_usage_hint_text: Option<String>,
    tool_namespace: Option<String>,
    hide_spawn_agent_metadata: Option<bool>,
    non_code_mode_only: Option<bool>,
}

impl TeamSettings {
    /// The settings in merged layers.
    pub(super) fn resolve(
        merged: &Table,
        file: &ConfigFile,
        features: FeatureSet,
    ) -> Result<Self, ConfigError> {
        let key = Feature::MultiAgentV2.key();
        let value = (merged.get("features")).and_then(|features| features.get(key));
        let table = match value {
            Some(table @ Value::Table(_)) => {
                let read = TeamTable::deserialize(table.clone());
                read.map_err(|error| refused(&format!(": {}", error.message())))?
            }
            _ => TeamTable::default(),
        };
        let threads = file.agents.as_ref().and_then(|agents| agents.max_threads);
        if features.enabled(Feature::MultiAgentV2) && threads.is_some() {
            return Err(ConfigError::setting(
                "agents.max_threads cannot be set when features.multi_agent_v2 is enabled"
                    .to_owned(),
            ));
        }
        Self::from_table(table)
    }

    fn from_table(table: TeamTable) -> Result<Self, ConfigError> {
        let wait = |name: &str, value: Option<i64>, usual: u32| match value {
            None => Ok(usual),
            Some(value) if (0..=LONGEST_WAIT).contains(&value) => {
                Ok(u32::try_from(value).unwrap_or(usual))
            }
            Some(_) => Err(refused(&format!(
                ".{name} must be between 0 and {LONGEST_WAIT}"
            ))),
        };
        let least = wait("min_wait_timeout_ms", table.min_wait_timeout_ms, 10_000)?;
        let most = wait("max_wait_timeout_ms", table.max_wait_timeout_ms, 3_600_000)?;
        let default = table.default_wait_timeout_ms;
        let usual = 30_000.clamp(least, most.max(least));
        let usual = wait("default_wait_timeout_ms", default, usual)?;
        if least > usual || usual > most {
            return Err(refused(
                ": the shortest wait must not exceed the default, nor that the longest",
            ));
        }
        let threads = table.max_concurrent_threads_per_session.unwrap_or(4);
        if threads < 1 {
            return Err(refused(
                ".max_concurrent_threads_per_session must be at least 1",
            ));
        }
        let is_name = |name: &String| {
            (1..=64).contains(&name.len())
                && (name.bytes()).all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        if table
            .tool_namespace
            .as_ref()
            .is_some_and(|name| !is_name(name))
        {
            return Err(refused(
                ".tool_namespace must be 1 to 64 letters, digits, `_` or `-`",
            ));
        }
        let is_hinted = table.usage_hint_enabled.unwrap_or(true);
        Ok(Self {
            max_concurrent_threads: u32::try_from(threads).unwrap_or(u32::MAX),
            min_wait_ms: least,
            max_wait_ms: most,
            default_wait_ms: usual,
            usage_hint: table.usage_hint_text.filter(|_| is_hinted),
            root_hint: table.root_agent_usage_hint_text,
            agent_hint: table.subagent_usage_hint_text,
            tool_namespace: table.tool_namespace,
            hide_metadata: table.hide_spawn_agent_metadata.unwrap_or(true),
            direct_only: table.non_code_mode_only.unwrap_or(true),
        })
    }
}

fn refused(reason: &str) -> ConfigError {
    ConfigError::setting(format!("features.multi_agent_v2{reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<TeamSettings, String> {
        let merged: Table = text.parse().unwrap();
        let file: ConfigFile = toml::from_str(text).unwrap();
        let mut features = FeatureSet::default();
        features.set(Feature::MultiAgentV2, true);
        TeamSettings::resolve(&merged, &file, features).map_err(|error| error.to_string())
    }

    #[test]
    fn team_table_overrides_only_named_settings() {
        assert_eq!(read("features.multi_agent_v2 = true"), read(""));
        let usual = read("").unwrap();
        assert_eq!(
            (usual.max_concurrent_threads, usual.hide_metadata),
            (4, true)
        );
        assert_eq!((usual.min_wait_ms, usual.default_wait_ms), (10_000, 30_000));
        let set = read(
            "[features.multi_agent_v2]\nenabled = true\nmax_concurrent_threads_per_session = 9\n\
             tool_namespace = 'team'\nusage_hint_enabled = false\nusage_hint_text = 'x'",
        );
        let set = set.unwrap();
        assert_eq!(set.max_concurrent_threads, 9);
        assert_eq!(set.tool_namespace.as_deref(), Some("team"));
        assert_eq!(set.usage_hint, None);
    }

    #[test]
    fn invalid_team_settings_are_refused() {
        let table = |line: &str| read(&format!("[features.multi_agent_v2]\n{line}")).unwrap_err();
        assert!(table("other = 1").contains("unknown field `other`"));
        for (line, reason) in [
            ("min_wait_timeout_ms = -1", "must be between 0 and 3600000"),
            (
                "max_wait_timeout_ms = 3600001",
                "must be between 0 and 3600000",
            ),
            ("default_wait_timeout_ms = 1", "must not exceed"),
            (
                "max_concurrent_threads_per_session = 0",
                "must be at least 1",
            ),
            ("tool_namespace = 'a b'", "must be 1 to 64"),
        ] {
            assert!(table(line).contains(reason), "{line}");
        }
        assert_eq!(
            read("agents.max_threads = 3").unwrap_err(),
            "agents.max_threads cannot be set when features.multi_agent_v2 is enabled",
        );
    }
}
