//! The models of a session, and the form in which the protocol had them before there were options. Pure.

use serde::Serialize;
use serde_json::Value;

/// A model that the user can choose.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelChoice {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) efforts: Vec<(String, String)>,
    pub(crate) default_effort: Option<String>,
}

impl ModelChoice {
    /// Reads an entry of `model/list`.
    pub(crate) fn read(entry: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let efforts = entry["supportedReasoningEfforts"].as_array()?.iter();
        let effort = |entry: &Value| {
            let description = text(&entry["description"]).unwrap_or_default();
            Some((text(&entry["reasoningEffort"])?, description))
        };
        Some(Self {
            id: text(&entry["model"])?,
            name: text(&entry["displayName"])?,
            description: text(&entry["description"]).unwrap_or_default(),
            efforts: efforts.filter_map(effort).collect(),
            default_effort: text(&entry["defaultReasoningEffort"]),
        })
    }

    pub(crate) fn has_effort(&self, effort: &str) -> bool {
        self.efforts.iter().any(|(known, _)| known == effort)
    }
}

/// A model that is not listed, and the effort that it had last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OwnModel {
    pub(crate) id: String,
    pub(crate) effort: Option<String>,
}

/// The models of a session, as the protocol had them before there were options.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelState {
    pub(crate) current_model_id: String,
    pub(crate) available_models: Vec<ModelInfo>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ModelInfo {
    pub(crate) model_id: String,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
}

/// The name of a model with an effort.
pub(crate) fn model_id(model: &str, effort: Option<&str>) -> String {
    match effort {
        Some(effort) => format!("{model}[{effort}]"),
        None => model.to_owned(),
    }
}
