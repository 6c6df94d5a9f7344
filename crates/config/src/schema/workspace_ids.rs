//! `forced_chatgpt_workspace_id`: the workspaces that logins may belong to.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One workspace, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkspaceIds {
    One(String),
    AnyOf(Vec<String>),
}

impl WorkspaceIds {
    /// The workspaces that are named, without blanks.
    #[must_use]
    pub fn named(&self) -> Vec<String> {
        let ids = match self {
            Self::One(id) => std::slice::from_ref(id),
            Self::AnyOf(ids) => ids,
        };
        let ids = ids.iter().map(|id| id.trim());
        ids.filter(|id| !id.is_empty()).map(str::to_owned).collect()
    }
}

impl JsonSchema for WorkspaceIds {
    fn schema_name() -> Cow<'static, str> {
        "WorkspaceIds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string" },
            { "type": "array", "items": { "type": "string" } },
        ] })
    }
}

impl Serialize for WorkspaceIds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(id) => id.serialize(serializer),
            Self::AnyOf(ids) => ids.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for WorkspaceIds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WorkspaceIdsVisitor)
    }
}

struct WorkspaceIdsVisitor;

impl<'de> Visitor<'de> for WorkspaceIdsVisitor {
    type Value = WorkspaceIds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the id of a workspace, or a list of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<WorkspaceIds, E> {
        if text.contains(',') {
            return Err(E::custom(
                "several workspaces are a list, such as [\"a\", \"b\"], not a text with commas",
            ));
        }
        Ok(WorkspaceIds::One(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<WorkspaceIds, A::Error> {
        let mut ids = Vec::new();
        while let Some(id) = list.next_element()? {
            ids.push(id);
        }
        Ok(WorkspaceIds::AnyOf(ids))
    }
}
