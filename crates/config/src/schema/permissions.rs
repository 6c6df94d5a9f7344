//! `[permissions.<name>]`: named permissions of commands.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One permission profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PermissionsFile {
    /// What they are for.
    pub description: Option<String>,
    /// The name of the permissions that these add to.
    pub extends: Option<String>,
    /// Folders that are treated like the workspace, unless they say false.
    pub workspace_roots: Option<BTreeMap<PathBuf, bool>>,
    /// Rules for files, by path.
    pub filesystem: Option<BTreeMap<String, FileRule>>,
    /// Rules for the network.
    pub network: Option<NetworkFile>,
    /// Whether a key is not known, which may be a restriction.
    #[serde(skip)]
    pub has_unknown: bool,
}

/// Access to files.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FileAccessLevel {
    /// Read only.
    Read,
    /// Read and write.
    Write,
    /// No access.
    #[serde(alias = "deny")]
    None,
}

/// The rule for a path: for it and everything below, or for single paths below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileRule {
    /// For the path and everything below.
    Path(FileAccessLevel),
    /// For paths relative to it; `.` is the path itself.
    Below(BTreeMap<String, FileAccessLevel>),
    /// No rule, but a number about patterns.
    Number(i64),
}

/// Rules for the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkFile {
    /// Whether commands have network access.
    pub enabled: Option<bool>,
    /// The address of the reference's proxy; there is none here.
    pub proxy_url: Option<String>,
    /// About the reference's proxy; there is none here.
    pub enable_socks5: Option<bool>,
    /// About the reference's proxy; there is none here.
    pub socks_url: Option<String>,
    /// About the reference's proxy; there is none here.
    pub enable_socks5_udp: Option<bool>,
    /// Whether connections to allowed hosts go through the proxy that `HTTP_PROXY`, `HTTPS_PROXY` or `ALL_PROXY` name.
    /// Default: `false`.
    pub allow_upstream_proxy: Option<bool>,
    /// About the reference's proxy; there is none here.
    pub transparent_tcp: Option<bool>,
    /// About the reference's proxy; there is none here.
    pub dangerously_allow_non_loopback_proxy: Option<bool>,
    /// Whether commands may connect to every unix socket.
    pub dangerously_allow_all_unix_sockets: Option<bool>,
    /// `limited` allows only requests that read; it cannot be enforced here, so the network is closed then. Default:
    /// `full`.
    pub mode: Option<NetworkMode>,
    /// What to do about hosts, by pattern.
    pub domains: Option<BTreeMap<String, HostDecision>>,
    /// An older form of `domains`.
    pub allowed_domains: Option<Vec<String>>,
    /// An older form of `domains`.
    pub denied_domains: Option<Vec<String>>,
    /// Which unix sockets commands may connect to, by path.
    #[schemars(with = "Option<BTreeMap<String, serde_json::Value>>")]
    pub unix_sockets: Option<BTreeMap<String, toml::Value>>,
    /// An older form of `unix_sockets`.
    pub allow_unix_sockets: Option<Vec<String>>,
    /// Whether commands may listen on this machine.
    pub allow_local_binding: Option<bool>,
    /// Rules for single requests.
    #[schemars(with = "Option<serde_json::Value>")]
    pub mitm: Option<toml::Value>,
    /// A key that is not known, which may be a limit.
    #[serde(skip)]
    pub unknown: Option<String>,
}

/// What to do about a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostDecision {
    Allow,
    Deny,
}

impl NetworkFile {
    /// The keys that limit the network to certain hosts or requests. An empty list of allowed hosts allows none.
    pub(crate) fn limiting_keys(&self) -> Vec<&str> {
        let keys = [
            ("domains", self.domains.is_some()),
            ("allowed_domains", self.allowed_domains.is_some()),
            ("denied_domains", self.denied_domains.is_some()),
            ("mode", self.mode == Some(NetworkMode::Limited)),
            ("mitm", self.mitm.is_some()),
        ];
        let limiting = keys.into_iter().filter(|(_, limits)| *limits);
        let known = limiting.map(|(key, _)| key);
        known.chain(self.unknown.as_deref()).collect()
    }
}

/// What the network proxy allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkMode {
    /// Only requests that read.
    Limited,
    /// All requests.
    #[default]
    Full,
}

impl JsonSchema for FileRule {
    fn schema_name() -> Cow<'static, str> {
        "FileRule".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let access = generator.subschema_for::<FileAccessLevel>();
        json_schema!({ "anyOf": [
            access,
            { "type": "object", "additionalProperties": access },
            { "type": "integer" },
        ] })
    }
}

impl Serialize for FileRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Path(access) => access.serialize(serializer),
            Self::Below(rules) => rules.serialize(serializer),
            Self::Number(number) => serializer.serialize_i64(*number),
        }
    }
}

impl<'de> Deserialize<'de> for FileRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FileRuleVisitor)
    }
}

struct FileRuleVisitor;

impl<'de> Visitor<'de> for FileRuleVisitor {
    type Value = FileRule;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`read`, `write`, `deny`, or a table of paths with these")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<FileRule, E> {
        FileAccessLevel::deserialize(StrDeserializer::new(text)).map(FileRule::Path)
    }

    fn visit_i64<E>(self, number: i64) -> Result<FileRule, E> {
        Ok(FileRule::Number(number))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FileRule, A::Error> {
        BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(FileRule::Below)
    }
}
