//! Builds the effective configuration.

use crate::config::AgentSettings;
use crate::config::Config;
use crate::config::Instructions;
use crate::config::LoadRequest;
use crate::config::ShellEnvironmentPolicy;
use crate::config::ToolSettings;
use crate::config::agents;
use crate::config::model;
use crate::config::policy;
use crate::config::provider;
use crate::config::services;
use crate::config::tools;
use crate::decode::DecodeError;
use crate::decode::decode;
use crate::decode::dotted;
use crate::error::ConfigError;
use crate::features::FeatureLevel;
use crate::features::FeatureSet;
use crate::features::deprecation_notices;
use crate::features::resolve;
use crate::locate;
use crate::project_docs::ProjectDocSettings;
use crate::schema::ConfigFile;
use crate::stack::LayerStack;
use crate::stack::MergedTables;
use crate::unknown_values::DecodedSettings;
use crate::unknown_values::decode_without_unknown;
use crate::warning;

pub(super) fn build(stack: &LayerStack, request: LoadRequest<'_>) -> Result<Config, ConfigError> {
    let tables = match stack.around_profile() {
        Ok(tables) => tables,
        Err(error) => {
            // An error in the type of a setting is more useful than errors that follow from it.
            decode_file(stack, &stack.merged())?;
            return Err(error);
        }
    };
    let merged = tables.merge();
    let DecodedSettings {
        file,
        unknown_keys,
        warnings: unknown_values,
    } = decode_file(stack, &merged)?;
    let features = features_of(stack, &tables, request)?;
    let mut warnings = Vec::from_iter(warning::disabled_projects(stack));
    warnings.extend(warning::unknown_keys(stack, &unknown_keys));
    warnings.extend(unknown_values);
    warnings.extend(warning::withheld_keys(stack));
    let policy = policy::resolve(stack, &tables, &file, request, features, &mut warnings)?;
    let providers = provider::providers(&file, request.env, &mut warnings)?;
    let model = model::resolve(&file, request, &providers, features)?;
    let roles = agents::roles(&file, &mut warnings);
    Ok(Config {
        home: request.env.codex_home.clone(),
        instructions: Instructions::resolve(&file, request.params)?,
        project_docs: ProjectDocSettings::from_file(&file),
        shell_environment: ShellEnvironmentPolicy::from_file(&file.shell_environment_policy),
        tools: ToolSettings::resolve(stack, &file, request.env),
        mcp: tools::mcp_settings(&file, stack.requirements()),
        agents: AgentSettings::resolve(&file, roles)?,
        realtime: services::realtime(&file),
        account: services::account(&file),
        storage: services::storage(&file, request),
        telemetry: services::telemetry(&file),
        profile: file.profile.clone(),
        trust: stack.trust(),
        trusted_folders: stack.trusted_folders().to_vec(),
        rule_folders: stack
            .active_folders()
            .map(|folder| folder.join("rules"))
            .collect(),
        requirements: stack.requirements().clone(),
        notify: file.notify.clone().filter(|command| !command.is_empty()),
        show_raw_reasoning: file.show_raw_agent_reasoning.unwrap_or(false),
        hide_reasoning: file.hide_agent_reasoning.unwrap_or(false),
        deprecations: deprecation_notices(&merged),
        model,
        providers,
        policy,
        features,
        warnings,
    })
}

/// The features that are enabled by the layers of a stack.
fn features_of(
    stack: &LayerStack,
    tables: &MergedTables,
    request: LoadRequest<'_>,
) -> Result<FeatureSet, ConfigError> {
    let levels = [
        FeatureLevel::settings(&tables.below_profile),
        FeatureLevel::profile(&tables.profile),
        FeatureLevel::settings(&tables.above_profile),
    ];
    resolve(request.host_features, &levels, stack.requirements())
        .map_err(|error| ConfigError::setting(error.to_string()))
}

/// Decodes merged settings, and lists the unknown keys.
pub(crate) fn decode_file(
    stack: &LayerStack,
    merged: &toml::Table,
) -> Result<DecodedSettings, ConfigError> {
    decode_without_unknown(stack, merged).map_err(|error| blame(stack, error))
}

/// Finds the layer that caused an error, and the position in its file.
fn blame(stack: &LayerStack, error: DecodeError) -> ConfigError {
    let mut first = None;
    for layer in stack.enabled() {
        let Err(own) = decode::<ConfigFile>(&layer.effective_table()) else {
            continue;
        };
        let range = layer.text().and_then(|text| locate::find(text, &own.path));
        let (Some(file), Some(range)) = (layer.source.file(), range) else {
            continue;
        };
        let own_path = dotted(&own.path);
        let same = own_path == dotted(&error.path);
        let found = ConfigError::in_file(file, range, own.message, own_path);
        if same {
            return found;
        }
        first.get_or_insert(found);
    }
    first.unwrap_or_else(|| ConfigError::in_table(error.message, dotted(&error.path)))
}
