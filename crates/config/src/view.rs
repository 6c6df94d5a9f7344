//! The settings as clients see them: merged, with the layer that each value came from.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::config::Config;
use crate::config::LoadRequest;
use crate::config::decode_file;
use crate::error::ConfigError;
use crate::features::HOST_FEATURES;
use crate::layer::Layer;
use crate::source::LayerSource;
use crate::stack::LayerStack;
use crate::value::table_to_json;

/// The settings of all layers.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigView {
    /// The merged settings: every known key, unset ones null. No profile is applied.
    pub config: Json,
    /// The layer that each value came from, by dotted path.
    pub origins: BTreeMap<String, LayerMetadata>,
    /// The layers, highest precedence first, ignored ones included.
    pub layers: Vec<LayerView>,
}

/// A layer and the content it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerMetadata {
    /// Where it comes from.
    pub source: LayerSource,
    /// Hash of its settings.
    pub version: String,
}

/// A layer with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerView {
    /// Which it is.
    pub metadata: LayerMetadata,
    /// Its settings, unknown keys included.
    pub config: Json,
    /// Why it is ignored.
    pub disabled_reason: Option<String>,
}

/// Why settings cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// A layer cannot be read.
    #[error("failed to read configuration layers: {0}")]
    Layers(#[source] ConfigError),
    /// A value has the wrong type.
    #[error("invalid configuration: {0}")]
    Invalid(#[source] ConfigError),
    /// The settings do not fit together.
    #[error("failed to resolve feature override precedence: {0}")]
    Unusable(#[source] ConfigError),
}

impl ConfigView {
    /// Reads the settings; those of projects are among them only if the request has a working folder.
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
        // What the host application may switch is shown as it is in force.
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
