//! `[agents]`: limits and roles of sub-agents.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Limits of sub-agents; every other key is a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentsFile {
    /// Maximum number of running agents.
    pub max_threads: Option<i64>,
    /// Maximum depth of agents that start agents.
    pub max_depth: Option<i64>,
    /// Maximum run time of a job.
    pub job_max_runtime_seconds: Option<i64>,
    /// The roles by name.
    pub roles: BTreeMap<String, AgentRoleFile>,
}

/// `[agents.<role>]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AgentRoleFile {
    /// The purpose of the role.
    pub description: Option<String>,
    /// The file with the settings of the role.
    pub config_file: Option<PathBuf>,
    /// Display names for agents of the role.
    pub nickname_candidates: Option<Vec<String>>,
}

impl JsonSchema for AgentsFile {
    fn schema_name() -> Cow<'static, str> {
        "AgentsFile".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = |text: &str| json_schema!({ "type": "integer", "description": text });
        json_schema!({
            "type": "object",
            "properties": {
                "max_threads": number("How many agents run at once. Default: 6."),
                "max_depth": number("How deep agents start agents. Default: 1."),
                "job_max_runtime_seconds": number("How long a job runs. Default: 1800."),
            },
            "additionalProperties": generator.subschema_for::<AgentRoleFile>(),
        })
    }
}

impl Serialize for AgentsFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("max_threads", &self.max_threads)?;
        map.serialize_entry("max_depth", &self.max_depth)?;
        map.serialize_entry("job_max_runtime_seconds", &self.job_max_runtime_seconds)?;
        for (name, role) in &self.roles {
            map.serialize_entry(name, role)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for AgentsFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AgentsVisitor)
    }
}

struct AgentsVisitor;

impl<'de> Visitor<'de> for AgentsVisitor {
    type Value = AgentsFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of agent limits and roles")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AgentsFile, A::Error> {
        let mut agents = AgentsFile::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "max_threads" => agents.max_threads = Some(map.next_value()?),
                "max_depth" => agents.max_depth = Some(map.next_value()?),
                "job_max_runtime_seconds" => {
                    agents.job_max_runtime_seconds = Some(map.next_value()?);
                }
                _ => {
                    agents.roles.insert(key, map.next_value()?);
                }
            }
        }
        Ok(agents)
    }
}
