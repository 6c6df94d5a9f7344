//! The models that a user can choose from.

use codex_app_server_protocol::v2;
use codex_model_client::{
    AvailableModels, ModelInfo, ModelUpgrade, OfferedTier, ReasoningLevel, Visibility,
};
use codex_protocol::ReasoningEffort;
use serde_json::json;

use super::call::RequestContext;
use super::paging::page;
use crate::failure::Failure;
use crate::server::AppServer;

pub(super) async fn list(
    RequestContext {
        server, connection, ..
    }: RequestContext,
    params: v2::ModelListParams,
) -> Result<v2::ModelListResponse, Failure> {
    if let Some(provider) = params.model_provider.clone() {
        let server = std::sync::Arc::clone(&server);
        super::blocking(move || check_provider(&server, &provider)).await?;
    }
    let models = server.host().models().available().await;
    let mut list = list_of(&models, &params)?;
    if !connection.dialect().has_all_efforts() {
        leave_out_other_efforts(&mut list.data);
    }
    Ok(list)
}

/// Leaves out the efforts that have no name of their own, which not every client can read.
fn leave_out_other_efforts(models: &mut [v2::Model]) {
    let is_other = |effort: &ReasoningEffort| matches!(effort, ReasoningEffort::Other(_));
    for model in models {
        model
            .supported_reasoning_efforts
            .retain(|option| !is_other(&option.reasoning_effort));
        if is_other(&model.default_reasoning_effort) {
            let highest = model.supported_reasoning_efforts.last();
            model.default_reasoning_effort = highest.map_or(ReasoningEffort::None, |option| {
                option.reasoning_effort.clone()
            });
        }
    }
}

/// Refuses a provider that is not configured.
fn check_provider(server: &AppServer, provider: &str) -> Result<(), Failure> {
    let config = server.host().configuration().without_projects();
    let config = config.map_err(|error| Failure::internal(error.to_string()))?;
    if config.providers.contains_key(provider) {
        return Ok(());
    }
    let message = format!("the model provider `{provider}` is not configured");
    let data = json!({ "type": "modelProviderNotConfigured", "modelProvider": provider });
    Err(Failure::invalid(message).with_data(data))
}

fn list_of(
    models: &AvailableModels,
    params: &v2::ModelListParams,
) -> Result<v2::ModelListResponse, Failure> {
    let AvailableModels { catalog, chatgpt } = models;
    let default = catalog.default_model(*chatgpt);
    let default = default.map(|model| model.slug.as_str());
    let hidden_too = params.include_hidden == Some(true);
    let all = catalog.presets(*chatgpt).into_iter();
    let all = all
        .filter(|model| hidden_too || model.visibility == Visibility::List)
        .map(|model| wire_model(model, default == Some(&model.slug)))
        .collect();
    let (data, next_cursor) = page(all, params.cursor.as_deref(), params.limit, "models")?;
    Ok(v2::ModelListResponse { data, next_cursor })
}

fn wire_model(model: &ModelInfo, is_default: bool) -> v2::Model {
    let upgrade = model.upgrade.as_ref();
    let nux = model.availability_nux.as_ref();
    let efforts = model.supported_reasoning_levels.iter();
    v2::Model {
        id: model.slug.clone(),
        model: model.slug.clone(),
        upgrade: upgrade.map(|upgrade| upgrade.model.clone()),
        upgrade_info: upgrade.map(wire_upgrade),
        availability_nux: nux.map(|nux| v2::ModelAvailabilityNux {
            message: nux.message.clone(),
        }),
        display_name: model.display_name.clone(),
        description: model.description.clone().unwrap_or_default(),
        hidden: model.visibility != Visibility::List,
        supported_reasoning_efforts: efforts.map(wire_effort).collect(),
        default_reasoning_effort: model
            .default_reasoning_level
            .clone()
            .unwrap_or(ReasoningEffort::None),
        input_modalities: model.input_modalities.clone(),
        supports_personality: model.takes_personality(),
        is_default,
        additional_speed_tiers: model.additional_speed_tiers.clone(),
        service_tiers: model.service_tiers.iter().map(wire_tier).collect(),
        default_service_tier: model.default_service_tier.clone(),
    }
}

fn wire_upgrade(upgrade: &ModelUpgrade) -> v2::ModelUpgradeInfo {
    v2::ModelUpgradeInfo {
        model: upgrade.model.clone(),
        upgrade_copy: None,
        model_link: None,
        migration_markdown: Some(upgrade.migration_markdown.clone()),
    }
}

fn wire_tier(tier: &OfferedTier) -> v2::ModelServiceTier {
    v2::ModelServiceTier {
        id: tier.id.clone(),
        name: tier.name.clone(),
        description: tier.description.clone(),
    }
}

fn wire_effort(level: &ReasoningLevel) -> v2::ReasoningEffortOption {
    v2::ReasoningEffortOption {
        reasoning_effort: level.effort.clone(),
        description: level.description.clone(),
    }
}

#[cfg(test)]
mod tests {
    use codex_model_client::ModelCatalog;

    use super::*;

    fn list(hidden: bool, cursor: Option<&str>, limit: Option<u32>) -> v2::ModelListResponse {
        let models = AvailableModels {
            catalog: ModelCatalog::bundled(),
            chatgpt: false,
        };
        let params = v2::ModelListParams {
            model_provider: None,
            cursor: cursor.map(str::to_owned),
            limit,
            include_hidden: Some(hidden),
        };
        list_of(&models, &params).unwrap()
    }

    #[test]
    fn pages_go_on_where_the_one_before_ended() {
        let first = list(false, None, Some(2));
        let rest = list(false, first.next_cursor.as_deref(), None);
        let slugs: Vec<_> = first
            .data
            .iter()
            .chain(&rest.data)
            .map(|model| &model.id)
            .collect();
        let all = list(false, None, None);
        assert_eq!(
            slugs,
            all.data.iter().map(|model| &model.id).collect::<Vec<_>>()
        );
        assert_eq!(rest.next_cursor, None);
    }

    #[test]
    fn older_clients_see_the_efforts_of_their_release() {
        let mut all = list(false, None, None).data;
        let efforts = |models: &[v2::Model]| {
            let efforts = models[0].supported_reasoning_efforts.iter();
            let names = efforts.map(|option| option.reasoning_effort.as_str().to_owned());
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(efforts(&all), "low medium high xhigh max ultra");
        leave_out_other_efforts(&mut all);
        assert_eq!(efforts(&all), "low medium high xhigh");
    }

    #[test]
    fn model_list_hides_models_and_names_a_default() {
        assert!(
            list(false, None, None)
                .data
                .iter()
                .all(|model| !model.hidden)
        );
        let all = list(true, None, None).data;
        assert!(all.iter().any(|model| model.hidden));
        let defaults: Vec<_> = all.iter().filter(|model| model.is_default).collect();
        assert_eq!(defaults.len(), 1);
        assert!(!defaults[0].hidden);
    }
}
