//! The settings for clients: merged, with the source of each value.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::config::{Config, LoadRequest, decode_file};
use crate::error::ConfigError;
use crate::features::HOST_FEATURES;
use crate::layer::Layer;
use crate::source::LayerSource;
use crate::stack::LayerStack;
use crate::value::table_to_json;

/// The settings of all layers.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigView {
    /// The merged settings without a profile. All known keys are included, unset ones as null.
    pub config: Json,
    /// The source of each value, by dotted path.
    pub origins: BTreeMap<String, LayerMetadata>,
    /// The layers, highest precedence first, including disabled ones.
    pub layers: Vec<LayerView>,
}

/// The identity of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerMetadata {
    pub source: LayerSource,
    /// A hash of its settings.
    pub version: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LayerView {
    pub metadata: LayerMetadata,
    /// Its settings, including unknown keys.
    pub config: Json,
    /// Why the layer is disabled.
    pub disabled_reason: Option<String>,
}

/// Why the settings cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// A layer cannot be read.
    #[error("failed to read configuration layers: {0}")]
    Layers(#[source] ConfigError),
    /// A value has the wrong type.
    #[error("invalid configuration: {0}")]
    Invalid(#[source] ConfigError),
    /// The settings contradict each other.
    #[error("failed to resolve feature override precedence: {0}")]
    Unusable(#[source] ConfigError),
}

impl ConfigView {
    /// Reads the settings. Project layers are included only if the request has a working folder.
    pub fn read(request: LoadRequest<'_>) -> Result<Self, ViewError> {
        let stack =
            LayerStack::load(request.env, request.cwd, request.flags).map_err(ViewError::Layers)?;
        let file = decode_file(&stack, &stack.merged())
            .map_err(ViewError::Invalid)?
            .file;
        let features = Config::from_stack(&stack, request)
            .map_err(ViewError::Unusable)?
            .features;
        let mut config = serde_json::to_value(&file)
            .map_err(|error| ViewError::Invalid(ConfigError::setting(error.to_string())))?;
        // Features that the host application may switch are shown with their current state.
        if let Some(shown) = config.get_mut("features") {
            let mut map = shown.as_object().cloned().unwrap_or_default();
            for feature in HOST_FEATURES {
                map.insert(
                    feature.key().to_owned(),
                    Json::Bool(features.enabled(*feature)),
                );
            }
            *shown = Json::Object(map);
        }
        let origins = stack.origins().into_iter();
        Ok(Self {
            config,
            origins: origins
                .map(|(path, layer)| (path, metadata(layer)))
                .collect(),
            layers: stack.layers().iter().rev().map(layer_view).collect(),
        })
    }
}

fn metadata(layer: &Layer) -> LayerMetadata {
    LayerMetadata {
        source: layer.source.clone(),
        version: layer.version.clone(),
    }
}

fn layer_view(layer: &Layer) -> LayerView {
    LayerView {
        metadata: metadata(layer),
        config: table_to_json(&layer.table),
        disabled_reason: layer.disabled_reason.clone(),
    }
}
