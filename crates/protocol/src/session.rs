//! Where a thread comes from, and what is known about the place it works in.

use codex_app_server_protocol_macros::sparse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::SubAgentSource;

/// What started a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ConversationSource")]
#[non_exhaustive]
pub enum SessionSource {
    /// The terminal interface.
    Cli,
    /// An editor, or another client of the app server.
    #[default]
    VSCode,
    /// The command for scripts.
    Exec,
    /// The engine served as an MCP server.
    Mcp,
    /// A program that names itself.
    Custom(String),
    /// The engine itself.
    SubAgent(SubAgentSource),
    /// Something that this version does not know.
    #[serde(other)]
    Unknown,
}

/// The state of the repository that a thread was started in.
#[sparse]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitInfo {
    /// The commit that was checked out.
    pub commit_hash: Option<String>,
    /// The branch that was checked out.
    pub branch: Option<String>,
    /// Where the repository was cloned from.
    pub repository_url: Option<String>,
}

/// The id of a request, as JSON-RPC and MCP have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum RequestId {
    /// A number.
    Integer(i64),
    /// A string.
    String(String),
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IdVisitor;

        impl serde::de::Visitor<'_> for IdVisitor {
            type Value = RequestId;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a string or an integer")
            }

            fn visit_i64<E>(self, id: i64) -> Result<RequestId, E> {
                Ok(RequestId::Integer(id))
            }

            fn visit_u64<E: serde::de::Error>(self, id: u64) -> Result<RequestId, E> {
                i64::try_from(id)
                    .map(RequestId::Integer)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(id), &self))
            }

            fn visit_str<E>(self, id: &str) -> Result<RequestId, E> {
                Ok(RequestId::String(id.to_owned()))
            }
        }

        deserializer.deserialize_any(IdVisitor)
    }
}
