//! Reads and edits the configuration, and reads the requirements.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_app_server_protocol::{NoParams, v2};
use codex_config::{
    ConfigEdit, ConfigView, EditError, EditErrorKind, EditOutcome, LayerMetadata, LayerSource,
    LayerView, MergeStrategy,
};
use codex_projection::wire_requirements;
use codex_protocol::AbsolutePathBuf;
use serde_json::{Value, json};

use super::blocking;
use super::call::RequestContext;
use crate::failure::Failure;
use crate::server::AppServer;

pub(super) async fn read(
    RequestContext { server, connection }: RequestContext,
    params: v2::ConfigReadParams,
) -> Result<v2::ConfigReadResponse, Failure> {
    let read = move || {
        let cwd = params.cwd.as_deref().map(Path::new);
        let view = server.host().configuration().view(cwd);
        let mut response = wire_view(view.map_err(failed)?, params.include_layers)?;
        let reviewer = &mut response.config.approvals_reviewer;
        *reviewer = reviewer.map(|reviewer| connection.reviewer_name(reviewer));
        if !connection.dialect().has_workspace_lists() {
            let workspaces = &mut response.config.forced_chatgpt_workspace_id;
            *workspaces = workspaces.take().map(as_one_text);
        }
        Ok(response)
    };
    blocking(read).await
}

/// The workspaces for clients that know only one.
fn as_one_text(workspaces: v2::ForcedChatgptWorkspaceIds) -> v2::ForcedChatgptWorkspaceIds {
    match workspaces {
        v2::ForcedChatgptWorkspaceIds::AnyOf(ids) => {
            v2::ForcedChatgptWorkspaceIds::One(ids.join(","))
        }
        one => one,
    }
}

pub(super) async fn write_value(
    RequestContext { server, .. }: RequestContext,
    params: v2::ConfigValueWriteParams,
) -> Result<v2::ConfigWriteResponse, Failure> {
    let edit = v2::ConfigEdit {
        key_path: params.key_path,
        value: params.value,
        merge_strategy: params.merge_strategy,
    };
    let edits = vec![edit];
    write(server, edits, params.file_path, params.expected_version).await
}

/// Makes several edits at once. Loaded threads read their skills again for each turn; their other settings do not
/// change, whether or not a reload is requested.
pub(super) async fn write_batch(
    RequestContext { server, .. }: RequestContext,
    params: v2::ConfigBatchWriteParams,
) -> Result<v2::ConfigWriteResponse, Failure> {
    write(
        server,
        params.edits,
        params.file_path,
        params.expected_version,
    )
    .await
}

async fn write(
    server: Arc<AppServer>,
    edits: Vec<v2::ConfigEdit>,
    file: Option<String>,
    expected_version: Option<String>,
) -> Result<v2::ConfigWriteResponse, Failure> {
    blocking(move || edit(&server, &edits, file, expected_version.as_deref())).await
}

/// Replaces values in the user's file.
pub(super) fn edit_user(
    server: &AppServer,
    values: Vec<(String, Value)>,
) -> Result<v2::ConfigWriteResponse, Failure> {
    let edit_of = |(key_path, value)| v2::ConfigEdit {
        key_path,
        value,
        merge_strategy: v2::MergeStrategy::Replace,
    };
    let edits: Vec<_> = values.into_iter().map(edit_of).collect();
    edit(server, &edits, None, None)
}

fn edit(
    server: &AppServer,
    edits: &[v2::ConfigEdit],
    file: Option<String>,
    expected_version: Option<&str>,
) -> Result<v2::ConfigWriteResponse, Failure> {
    let edits: Result<Vec<_>, _> = edits.iter().map(engine_edit).collect();
    let edits = edits.map_err(|error| refused(&error))?;
    let file = file.map(PathBuf::from);
    let configuration = server.host().configuration();
    let outcome = configuration.edit(file.as_deref(), expected_version, &edits);
    // The edit may switch skills and plugins.
    if let Err(error) = server.host().read_plugins() {
        tracing::warn!("the plugins are not read again: {error}");
        server.host().skills().forget();
    }
    outcome.map(wire_outcome).map_err(|error| refused(&error))
}

pub(super) async fn read_requirements(
    RequestContext { server, .. }: RequestContext,
    _params: NoParams,
) -> Result<v2::ConfigRequirementsReadResponse, Failure> {
    let read = move || {
        let read = server.host().configuration().requirements();
        let found = read.map_err(|error| {
            Failure::internal(format!("failed to read configuration layers: {error}"))
        })?;
        let requirements = (!found.is_empty()).then(|| wire_requirements(found));
        Ok(v2::ConfigRequirementsReadResponse {
            requirements,
            supports_independent_speed_modes: true,
        })
    };
    blocking(read).await
}

fn failed(error: impl ToString) -> Failure {
    Failure::internal(error.to_string())
}

fn engine_edit(edit: &v2::ConfigEdit) -> Result<ConfigEdit, EditError> {
    let strategy = match edit.merge_strategy {
        v2::MergeStrategy::Replace => MergeStrategy::Replace,
        v2::MergeStrategy::Upsert => MergeStrategy::Upsert,
    };
    ConfigEdit::from_json(&edit.key_path, &edit.value, strategy)
}

/// The error for edits that were not made. Errors that the client can resolve have a code.
fn refused(error: &EditError) -> Failure {
    let code = match error.kind() {
        EditErrorKind::LayerReadonly => "configLayerReadonly",
        EditErrorKind::VersionConflict => "configVersionConflict",
        EditErrorKind::Validation => "configValidationError",
        EditErrorKind::PathNotFound => "configPathNotFound",
        EditErrorKind::Internal => return Failure::internal(error.to_string()),
    };
    Failure::invalid(error.to_string()).with_data(json!({ "config_write_error_code": code }))
}

fn wire_outcome(outcome: EditOutcome) -> v2::ConfigWriteResponse {
    let status = match outcome.overridden {
        Some(_) => v2::WriteStatus::OkOverridden,
        None => v2::WriteStatus::Ok,
    };
    let overridden_metadata = outcome.overridden.map(|overridden| v2::OverriddenMetadata {
        message: overridden.message,
        overriding_layer: v2::ConfigLayerMetadata {
            name: wire_layer(overridden.source),
            version: overridden.version,
        },
        effective_value: overridden.effective,
    });
    v2::ConfigWriteResponse {
        status,
        version: outcome.version,
        file_path: absolute(&outcome.file),
        overridden_metadata,
    }
}

fn wire_view(view: ConfigView, layers: bool) -> Result<v2::ConfigReadResponse, Failure> {
    let config = serde_json::from_value(view.config)
        .map_err(|error| failed(format!("the settings cannot be shown: {error}")))?;
    let origins = view.origins.into_iter();
    let origins: BTreeMap<_, _> = origins
        .map(|(path, layer)| (path, wire_metadata(layer)))
        .collect();
    let layers = layers.then(|| view.layers.into_iter().map(wire_layer_view).collect());
    Ok(v2::ConfigReadResponse {
        config,
        origins,
        layers,
    })
}

fn wire_layer_view(layer: LayerView) -> v2::ConfigLayer {
    let metadata = wire_metadata(layer.metadata);
    v2::ConfigLayer {
        name: metadata.name,
        version: metadata.version,
        config: layer.config,
        disabled_reason: layer.disabled_reason,
    }
}

fn wire_metadata(layer: LayerMetadata) -> v2::ConfigLayerMetadata {
    v2::ConfigLayerMetadata {
        name: wire_layer(layer.source),
        version: layer.version,
    }
}

fn wire_layer(source: LayerSource) -> v2::ConfigLayerSource {
    use v2::ConfigLayerSource as Wire;
    match source {
        LayerSource::System { file } => Wire::System {
            file: absolute(&file),
        },
        LayerSource::User { file } => Wire::User {
            file: absolute(&file),
        },
        LayerSource::Project { folder } => Wire::Project {
            dot_codex_folder: absolute(&folder),
        },
        LayerSource::SessionFlags => Wire::SessionFlags,
        LayerSource::ManagedFile { file } => Wire::LegacyManagedConfigTomlFromFile {
            file: absolute(&file),
        },
        LayerSource::ManagedPreferences { .. } => Wire::LegacyManagedConfigTomlFromMdm,
    }
}

fn absolute(path: &Path) -> AbsolutePathBuf {
    AbsolutePathBuf(path.display().to_string())
}
