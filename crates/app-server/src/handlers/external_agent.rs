//! `externalAgentConfig/*`: imports the configuration of another coding agent.

use std::path::{Path, PathBuf};

use codex_app_server_protocol::v2::{
    ExternalAgentConfigDetectParams, ExternalAgentConfigDetectResponse,
    ExternalAgentConfigImportParams, ExternalAgentConfigImportResponse,
    ExternalAgentConfigMigrationItem, ExternalAgentConfigMigrationItemType as ItemType,
};
use codex_external_agent::{MigrationError, MigrationItem, MigrationKind};

use super::blocking;
use super::call::RequestContext;
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
        })
    });
    detected.await
}

pub(super) async fn import(
    RequestContext { server, .. }: RequestContext,
    params: ExternalAgentConfigImportParams,
) -> Result<ExternalAgentConfigImportResponse, Failure> {
    let homes = server.host().homes();
    let imported = blocking(move || {
        for item in params.migration_items {
            let kind = match item.item_type {
                ItemType::Config => MigrationKind::Settings,
                ItemType::Skills => MigrationKind::Skills,
                ItemType::AgentsMd => MigrationKind::Instructions,
                // Never offered.
                ItemType::McpServerConfig => continue,
            };
            let folder = item.cwd.as_deref().map(Path::new);
            codex_external_agent::import(&homes, kind, folder).map_err(failure)?;
        }
        Ok(ExternalAgentConfigImportResponse {
            import_id: Some(uuid::Uuid::now_v7().to_string()),
        })
    });
    imported.await
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
