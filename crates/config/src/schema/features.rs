//! `[features]`: one switch per feature, as a boolean, or as a table with `enabled` and settings of the feature.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, json};
use toml::{Table, Value};

use super::NetworkFile;
use crate::decode::decode_reporting_unknown;
use crate::features::{Feature, FeatureStage};

/// The table of features.
const FEATURES: &str = "features";

/// The state that a value sets; none for a table without `enabled`.
pub(crate) fn switch(value: &Value) -> Option<bool> {
    match value {
        Value::Table(table) => table.get("enabled")?.as_bool(),
        value => value.as_bool(),
    }
}

/// Reads the switches; tables without a switch are ignored.
pub(super) fn switches<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, bool>>, D::Error> {
    let all = Option::<BTreeMap<String, FeatureSwitch>>::deserialize(deserializer)?;
    let said = |(key, FeatureSwitch(enabled))| Some((key, enabled?));
    Ok(all.map(|all| all.into_iter().filter_map(said).collect()))
}

/// What may be written for `features`.
pub(super) struct FeatureSwitches;

impl JsonSchema for FeatureSwitches {
    fn schema_name() -> Cow<'static, str> {
        "FeatureSwitches".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let switch = json!({ "anyOf": [
            { "type": "boolean" },
            {
                "type": "object",
                "properties": { "enabled": { "type": "boolean" } },
                "additionalProperties": true,
            },
        ] });
        let known = Feature::ALL.iter().map(|feature| {
            let mut schema = switch.clone();
            schema["description"] = describe(*feature).into();
            (feature.key().to_owned(), schema)
        });
        json_schema!({
            "type": "object",
            "properties": known.collect::<Map<_, _>>(),
            "additionalProperties": switch,
        })
    }
}

/// How far a feature is, and its default.
fn describe(feature: Feature) -> String {
    let stage = match feature.stage() {
        FeatureStage::UnderDevelopment => "Under development",
        FeatureStage::Beta => "Can be tried",
        FeatureStage::Stable => "Finished",
        FeatureStage::Deprecated => "Will be removed",
        FeatureStage::Removed => "Has no effect",
    };
    let what =
        (feature.beta_texts()).map_or_else(String::new, |texts| format!("{} ", texts.description));
    format!("{what}{stage}. Default: {}.", feature.default_enabled())
}

/// Whether the key at this place is a setting of a feature that is read elsewhere.
pub(crate) fn is_of_feature(merged: &Table, names: &[String]) -> bool {
    let (features, names) = match names {
        [features, rest @ ..] if features == FEATURES => (merged.get(FEATURES), rest),
        [profiles, profile, features, rest @ ..]
            if profiles == "profiles" && features == FEATURES =>
        {
            let profile = merged.get("profiles").and_then(|all| all.get(profile));
            (profile.and_then(|one| one.get(FEATURES)), rest)
        }
        _ => return false,
    };
    let [feature, key, ..] = names else {
        return false;
    };
    match Feature::parse(feature) {
        // Its own reader refuses what it does not know.
        Some(Feature::MultiAgentV2) => true,
        Some(Feature::NetworkProxy) => {
            let table = features
                .and_then(|all| all.get(feature))
                .and_then(Value::as_table);
            let read = table.map(decode_reporting_unknown::<NetworkFile>);
            matches!(read, Some(Ok((_, unknown))) if !unknown.iter().any(|names| names.first() == Some(key)))
        }
        _ => false,
    }
}

struct FeatureSwitch(Option<bool>);

/// A switch as a table. Settings of the feature are not read here.
#[derive(Deserialize)]
struct FeatureSwitchTable {
    enabled: Option<bool>,
}

impl<'de> Deserialize<'de> for FeatureSwitch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FeatureSwitchVisitor)
    }
}

struct FeatureSwitchVisitor;

impl<'de> Visitor<'de> for FeatureSwitchVisitor {
    type Value = FeatureSwitch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a boolean")
    }

    fn visit_bool<E>(self, enabled: bool) -> Result<FeatureSwitch, E> {
        Ok(FeatureSwitch(Some(enabled)))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FeatureSwitch, A::Error> {
        FeatureSwitchTable::deserialize(MapAccessDeserializer::new(map))
            .map(|table| FeatureSwitch(table.enabled))
    }
}
