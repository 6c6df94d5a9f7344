//! Feature switches and presets of collaboration modes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_app_server_protocol::v2;
use codex_config::{
    Config, Feature, FeatureSet, FeatureStage, LISTED_BETA_FEATURES, LISTED_FEATURES,
    RequestParams, is_without_effect,
};
use codex_projection::dialect::FeatureOrder;
use codex_protocol::{ModeKind, ReasoningEffort};

use super::call::RequestContext;
use super::paging::page;
use super::{app_lists, apps};
use super::{blocking, snapshot};
use crate::failure::Failure;
use crate::server::AppServer;

/// All feature switches, including removed ones: those of this program first, or in the order of the catalogue.
pub(super) async fn list(
    RequestContext { server, connection }: RequestContext,
    params: v2::ExperimentalFeatureListParams,
) -> Result<v2::ExperimentalFeatureListResponse, Failure> {
    let folder = match &params.thread_id {
        Some(id) => Some(PathBuf::from(snapshot(&server, id).await?.thread.cwd)),
        None => None,
    };
    let list = move || {
        let features = match folder {
            Some(folder) => of_project(&server, &folder)?.features,
            None => reloaded(&server)?.features,
        };
        let all = if connection.dialect().feature_order() == FeatureOrder::Catalogue {
            in_listed_order(features)
        } else {
            let own = Feature::ALL
                .iter()
                .map(|feature| wire_feature(*feature, features));
            let others = LISTED_FEATURES.iter().filter(|key| is_without_effect(key));
            own.chain(others.map(|key| without_effect(key))).collect()
        };
        let cursor = params.cursor.as_deref();
        let (data, next_cursor) = page(all, cursor, params.limit, "feature flags")?;
        Ok(v2::ExperimentalFeatureListResponse { data, next_cursor })
    };
    blocking(list).await
}

/// Switches features for this process. One invalid key refuses the whole request.
pub(super) async fn switch(
    RequestContext { server, connection }: RequestContext,
    params: v2::ExperimentalFeatureEnablementSetParams,
) -> Result<v2::ExperimentalFeatureEnablementSetResponse, Failure> {
    let on = Arc::clone(&server);
    let switch = move || {
        let server = on;
        let mut enablement = params.enablement;
        let skips_unknown = connection.dialect().skips_unknown_features();
        let mut features = BTreeMap::new();
        enablement.retain(|key, enabled| match Feature::for_host_with_memories(key) {
            Some(feature) if skips_unknown => features.insert(feature, *enabled).is_none(),
            _ => !skips_unknown,
        });
        for (key, enabled) in enablement.iter().filter(|_| !skips_unknown) {
            let feature = Feature::for_host(key);
            let feature = feature.map_err(|error| Failure::invalid(error.to_string()))?;
            features.insert(feature, *enabled);
        }
        let configuration = server.host().configuration();
        configuration.switch(&features);
        if !features.is_empty() {
            configuration.without_projects().map_err(|error| {
                let message = format!("failed to resolve feature override precedence: {error}");
                Failure::internal(message)
            })?;
        }
        let has_apps = features.get(&Feature::Apps) == Some(&true);
        let response = v2::ExperimentalFeatureEnablementSetResponse { enablement };
        Ok((response, has_apps))
    };
    let (response, has_apps) = blocking(switch).await?;
    if has_apps {
        tokio::spawn(show_apps(server));
    }
    Ok(response)
}

/// Fetches the apps, which were just switched on, and tells clients of them.
async fn show_apps(server: Arc<AppServer>) {
    let shown = async {
        match apps::access(&server, None).await? {
            Some(access) => app_lists::load(&server, &access, true).await.map(drop),
            None => Ok(()),
        }
    };
    if let Err(error) = shown.await {
        tracing::warn!(?error, "the apps that were switched on are not listed");
    }
}

/// The presets: plan mode uses medium effort unless configured otherwise, the default mode changes nothing.
pub(super) async fn collaboration_modes(
    call: RequestContext,
    _params: v2::CollaborationModeListParams,
) -> Result<v2::CollaborationModeListResponse, Failure> {
    let preset = |name: &str, mode, reasoning_effort| v2::CollaborationModeMask {
        name: name.to_owned(),
        mode: Some(mode),
        model: None,
        reasoning_effort,
    };
    let configured = call.server.host().configuration().startup();
    let planning = configured.model.plan_mode_reasoning_effort.clone();
    let planning = planning.unwrap_or(ReasoningEffort::Medium);
    Ok(v2::CollaborationModeListResponse {
        data: vec![
            preset("Plan", ModeKind::Plan, Some(planning)),
            preset("Default", ModeKind::Default, None),
        ],
    })
}

/// The configuration for the folder of a thread, with that of its project.
fn of_project(server: &AppServer, folder: &Path) -> Result<Config, Failure> {
    let params = RequestParams::default();
    let configuration = server.host().configuration();
    let loaded = configuration.load(folder, &serde_json::Map::new(), &params);
    let failed = |error| Failure::internal(format!("failed to reload config: {error}"));
    loaded.map(|(config, _)| config).map_err(failed)
}

fn reloaded(server: &AppServer) -> Result<Config, Failure> {
    let config = server.host().configuration().without_projects();
    config.map_err(|error| Failure::internal(format!("failed to reload config: {error}")))
}

/// The features in the order of [`LISTED_FEATURES`], with our own behind them. What is no longer offered for trying out
/// is stable.
fn in_listed_order(features: FeatureSet) -> Vec<v2::ExperimentalFeature> {
    let listed = LISTED_FEATURES.iter().map(|key| {
        let Some(feature) = Feature::from_key(key) else {
            return without_effect(key);
        };
        let mut listed = wire_feature(feature, features);
        if feature.stage() == FeatureStage::Beta && !LISTED_BETA_FEATURES.contains(key) {
            listed.stage = v2::ExperimentalFeatureStage::Stable;
            (listed.display_name, listed.description, listed.announcement) = (None, None, None);
        }
        listed
    });
    let own = Feature::ALL.iter();
    let own = own.filter(|feature| !LISTED_FEATURES.contains(&feature.key()));
    listed
        .chain(own.map(|feature| wire_feature(*feature, features)))
        .collect()
}

/// A feature of another release that this program does not have.
fn without_effect(key: &str) -> v2::ExperimentalFeature {
    v2::ExperimentalFeature {
        name: key.to_owned(),
        stage: v2::ExperimentalFeatureStage::Removed,
        display_name: None,
        description: None,
        announcement: None,
        enabled: false,
        default_enabled: false,
    }
}

fn wire_feature(feature: Feature, features: FeatureSet) -> v2::ExperimentalFeature {
    let texts = feature.beta_texts();
    v2::ExperimentalFeature {
        name: feature.key().to_owned(),
        stage: match feature.stage() {
            FeatureStage::UnderDevelopment => v2::ExperimentalFeatureStage::UnderDevelopment,
            FeatureStage::Beta => v2::ExperimentalFeatureStage::Beta,
            FeatureStage::Stable => v2::ExperimentalFeatureStage::Stable,
            FeatureStage::Deprecated => v2::ExperimentalFeatureStage::Deprecated,
            FeatureStage::Removed => v2::ExperimentalFeatureStage::Removed,
        },
        display_name: texts.map(|texts| texts.display_name.to_owned()),
        description: texts.map(|texts| texts.description.to_owned()),
        announcement: texts.map(|texts| texts.announcement.to_owned()),
        enabled: features.enabled(feature),
        default_enabled: feature.default_enabled(),
    }
}
