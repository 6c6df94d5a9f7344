//! `externalAgentConfig/*`: imports the configuration of another coding agent.

use std::path::{Path, PathBuf};

use codex_app_server_protocol::v2::{
    ExternalAgentConfigDetectParams, ExternalAgentConfigDetectResponse,
    ExternalAgentConfigImportCompletedNotification, ExternalAgentConfigImportItemTypeFailure,
    ExternalAgentConfigImportItemTypeSuccess, ExternalAgentConfigImportParams,
    ExternalAgentConfigImportProgressNotification, ExternalAgentConfigImportResponse,
    ExternalAgentConfigImportTypeResult, ExternalAgentConfigMigrationItem,
    ExternalAgentConfigMigrationItemType as ItemType,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_external_agent::{Imported, MigrationError, MigrationItem, MigrationKind};

use super::blocking;
use super::call::{EarlyReply, RequestContext};
use crate::background_notifier::NotificationSink;
use crate::connection::Connection;
use crate::failure::Failure;

pub(super) async fn detect(
    RequestContext { server, .. }: RequestContext,
    params: ExternalAgentConfigDetectParams,
) -> Result<ExternalAgentConfigDetectResponse, Failure> {
    let homes = server.host().homes();
    let detected = blocking(move || {
        let folders = params.cwds.unwrap_or_default();
        let folders: Vec<_> = folders.into_iter().map(PathBuf::from).collect();
        let items = codex_external_agent::detect(&homes, params.include_home, &folders);
        let items = items.map_err(failure)?.into_iter().map(wire_item);
        Ok(ExternalAgentConfigDetectResponse {
            items: items.collect(),
            connectors: Vec::new(),
        })
    });
    detected.await
}

pub(super) async fn import(
    RequestContext { server, connection }: RequestContext,
    params: ExternalAgentConfigImportParams,
) -> Result<EarlyReply<method::ExternalAgentConfigImport>, Failure> {
    let homes = server.host().homes();
    let tells_failures = connection.dialect().import_tells_failures();
    let imported = blocking(move || {
        let results = params.migration_items.into_iter().filter_map(|item| {
            let kind = match item.item_type {
                ItemType::Config => MigrationKind::Settings,
                ItemType::Skills => MigrationKind::Skills,
                ItemType::AgentsMd => MigrationKind::Instructions,
                // Never offered.
                ItemType::McpServerConfig => return None,
            };
            let folder = item.cwd.as_deref().map(Path::new);
            let imported = codex_external_agent::import(&homes, kind, folder);
            Some(match imported {
                Err(error) if !tells_failures => Err(failure(error)),
                imported => Ok(result_of(item.item_type, item.cwd, imported)),
            })
        });
        results.collect::<Result<Vec<_>, _>>()
    });
    let results = imported.await?;
    let import_id = uuid::Uuid::now_v7().to_string();
    let response = ExternalAgentConfigImportResponse {
        import_id: Some(import_id.clone()),
    };
    Ok(EarlyReply::then(response, move || {
        notify_of_import(&connection, import_id, results);
    }))
}

/// Tells the client of each kind, and of the end. An import of nothing has no end.
fn notify_of_import(
    connection: &Connection,
    import_id: String,
    results: Vec<ExternalAgentConfigImportTypeResult>,
) {
    for result in &results {
        connection.notify(&ServerNotification::ExternalAgentConfigImportProgress(
            ExternalAgentConfigImportProgressNotification {
                import_id: import_id.clone(),
                item_type_results: vec![result.clone()],
            },
        ));
    }
    if !results.is_empty() {
        connection.notify(&ServerNotification::ExternalAgentConfigImportCompleted(
            ExternalAgentConfigImportCompletedNotification {
                import_id,
                item_type_results: results,
            },
        ));
    }
}

fn result_of(
    item_type: ItemType,
    cwd: Option<String>,
    imported: Result<Vec<Imported>, MigrationError>,
) -> ExternalAgentConfigImportTypeResult {
    let (mut successes, mut failures) = (Vec::new(), Vec::new());
    match imported {
        Ok(imported) => successes.extend(imported.into_iter().map(|one| {
            ExternalAgentConfigImportItemTypeSuccess {
                cwd: cwd.clone(),
                item_type,
                source: Some(one.source),
                target: Some(one.target),
                title: None,
            }
        })),
        Err(error) => failures.push(ExternalAgentConfigImportItemTypeFailure {
            cwd,
            error_type: None,
            failure_stage: "import".to_owned(),
            item_type,
            message: error.to_string(),
            source: None,
            sub_error_type: None,
        }),
    }
    ExternalAgentConfigImportTypeResult {
        failures,
        item_type,
        successes,
    }
}

fn wire_item(item: MigrationItem) -> ExternalAgentConfigMigrationItem {
    ExternalAgentConfigMigrationItem {
        item_type: match item.kind {
            MigrationKind::Settings => ItemType::Config,
            MigrationKind::Skills => ItemType::Skills,
            MigrationKind::Instructions => ItemType::AgentsMd,
        },
        description: item.description,
        cwd: item.repository.map(|root| root.display().to_string()),
    }
}

fn failure(error: MigrationError) -> Failure {
    Failure::internal(error.to_string())
}
