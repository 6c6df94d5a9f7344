//! The settings, and what they name.

use std::collections::BTreeSet;

use codex_config::Config;
use codex_engine_host::carriers::script_command;
use codex_engine_host::mcp_servers;

use crate::finding::{Finding, FindingState};

pub(crate) fn read(config: &anyhow::Result<Config>) -> Finding {
    match config {
        Ok(config) => {
            let provider = &config.model.provider_id;
            let message = format!("it can be read; the model provider is `{provider}`");
            let warnings: Vec<String> = (config.warnings.iter())
                .map(|warning| warning.summary.clone())
                .collect();
            if warnings.is_empty() {
                return Finding::new("configuration", FindingState::Ok, message);
            }
            let message =
                format!("it can be read, with warnings; the model provider is `{provider}`");
            Finding::new("configuration", FindingState::Warning, message)
                .advise("Correct config.toml where it does not say what was meant.")
                .with_details(warnings)
        }
        Err(error) => Finding::new("configuration", FindingState::Error, format!("{error:#}"))
            .advise("Correct the file and the line that are named."),
    }
}

/// Whether the MCP servers can be started, as far as this can be checked without starting them.
pub(crate) fn mcp(config: Option<&Config>) -> Finding {
    let servers = config.map(mcp_servers::enabled).unwrap_or_default();
    let problems: Vec<_> = servers.iter().filter_map(mcp_servers::problem).collect();
    let message = match (servers.len(), problems.len()) {
        (0, _) => "no server is configured".to_owned(),
        (all, 0) => format!("{all} servers are configured"),
        (all, some) => format!("{some} of {all} configured servers cannot start"),
    };
    if problems.is_empty() {
        Finding::new("mcp", FindingState::Ok, message)
    } else {
        Finding::new("mcp", FindingState::Warning, message)
            .advise("Correct `mcp_servers` in config.toml, or turn the servers off there.")
            .with_details(problems)
    }
}

/// The other machines of the settings, and whether the programs are there that reach them. None if there are no such machines.
pub(crate) fn environments(config: &Config) -> Option<Finding> {
    let machines = &config.environments;
    if machines.is_empty() {
        return None;
    }
    let names: Vec<String> = (machines.iter())
        .map(|(name, settings)| format!("{name} ({})", settings.reach.kind()))
        .collect();
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let missing: BTreeSet<String> = (machines.values())
        .filter_map(|settings| script_command(&settings.reach, "true")?.into_iter().next())
        .filter(|program| !codex_exec::has_program(program, &search_path))
        .map(|program| format!("`{program}` is not on the search path"))
        .collect();
    let message = format!("other machines: {}", names.join(", "));
    Some(if missing.is_empty() {
        Finding::new("environments", FindingState::Ok, message)
    } else {
        Finding::new("environments", FindingState::Warning, message)
            .advise("Install the program, or correct `environments` in config.toml.")
            .with_details(missing)
    })
}
