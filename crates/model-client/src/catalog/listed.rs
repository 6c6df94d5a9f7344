//! Models that a server of the user lists: names, and the little that such servers say about them.

use serde::Deserialize;

use super::{ModelCatalog, ModelInfo, Visibility};

/// Behind all built-in models.
const PRIORITY: i32 = 10_000;

/// An entry of the list as OpenAI's form has it, with what llama.cpp, vLLM, LM Studio and others add.
#[derive(Debug, Deserialize)]
pub(crate) struct ListedModel {
    id: String,
    #[serde(default)]
    max_model_len: Option<i64>,
    #[serde(default)]
    context_length: Option<i64>,
    #[serde(default)]
    loaded_context_length: Option<i64>,
    #[serde(default)]
    meta: Option<ListedMeta>,
}

#[derive(Debug, Deserialize)]
struct ListedMeta {
    #[serde(default)]
    n_ctx: Option<i64>,
    #[serde(default)]
    n_ctx_train: Option<i64>,
}

impl ListedModel {
    /// The facts of its family or the usual ones, with the window that the server says. None without a name.
    pub(crate) fn into_info(self) -> Option<ModelInfo> {
        if self.id.trim().is_empty() {
            return None;
        }
        let meta = self.meta.map(|meta| meta.n_ctx.or(meta.n_ctx_train));
        let window = (self.loaded_context_length)
            .or(self.max_model_len)
            .or(self.context_length)
            .or(meta.flatten());
        let known = ModelCatalog::bundled().resolve(&self.id).info;
        Some(ModelInfo {
            display_name: self.id.clone(),
            description: Some("A model of the configured provider.".to_owned()),
            visibility: Visibility::List,
            supported_in_api: true,
            priority: PRIORITY,
            upgrade: None,
            context_window: window.filter(|window| *window > 0).or(known.context_window),
            ..ModelInfo::clone(&known)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn window(entry: Value) -> Option<i64> {
        let listed: ListedModel = serde_json::from_value(entry).unwrap();
        listed.into_info().unwrap().context_window
    }

    #[test]
    fn listed_window_is_used() {
        assert_eq!(
            window(json!({"id": "q", "max_model_len": 4096})),
            Some(4096)
        );
        assert_eq!(
            window(json!({"id": "q", "meta": {"n_ctx_train": 2048}})),
            Some(2048)
        );
        let both = json!({"id": "q", "context_length": 8192, "loaded_context_length": 1024});
        assert_eq!(window(both), Some(1024));
        let usual = window(json!({"id": "q"}));
        assert!(usual.is_some());
        assert_eq!(window(json!({"id": "q", "max_model_len": -1})), usual);
    }

    #[test]
    fn entry_without_a_name_is_none() {
        let listed: ListedModel = serde_json::from_value(json!({"id": " "})).unwrap();
        assert!(listed.into_info().is_none());
    }
}
