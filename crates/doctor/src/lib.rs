//! Layer: surface. Checks of the home folder, the settings, the model service and this machine, and what to do about problems.
//!
//! Nothing is changed, a login is not renewed. The model service is asked for its list of models, unless its key or login is
//! missing or has expired.
//!
//! Code map: `home` (the folder and what is stored in it), `settings` (the file, MCP servers, other machines), `model` (login,
//! service and model), `machine` (sandbox, git, connections).

mod finding;
mod home;
mod machine;
mod model;
mod settings;

use codex_config::Config;
use codex_thread_store::inspect;

pub use finding::{Finding, FindingState};

/// Examines what requests to the model service need. `config` are the settings of the working folder.
pub async fn examine_network(config: &anyhow::Result<Config>) -> Vec<Finding> {
    let mut findings = vec![settings::read(config)];
    if let Ok(config) = config {
        findings.extend(model::check(config).await);
    }
    findings.push(machine::connections());
    findings
}

/// Examines everything. `config` are the settings of the working folder.
pub async fn examine(config: &anyhow::Result<Config>) -> Vec<Finding> {
    let sandbox = machine::sandbox(codex_sandbox::probe());
    let home = match codex_engine_host::environment::home() {
        Ok(home) => home,
        Err(error) => {
            let finding = Finding::new("home", FindingState::Error, format!("{error:#}"));
            let advice = "Set CODEX_HOME to a folder that exists, or unset it.";
            return vec![finding.advise(advice), sandbox];
        }
    };
    let config_read = config.as_ref().ok();
    let index =
        config_read.map_or_else(|| home.clone(), |config| config.storage.sqlite_home.clone());
    let found = inspect(&home, &index);
    let mut findings = vec![home::writable(&home), settings::read(config)];
    if let Some(config) = config_read {
        findings.extend(model::check(config).await);
    }
    findings.extend([
        machine::connections(),
        settings::mcp(config_read),
        sandbox,
        machine::git(),
        home::size(&home),
        home::rollouts(&found),
        home::torn(&found),
        home::index(&index, &found.index),
        home::locks(&home, &found),
    ]);
    findings.extend(config_read.and_then(settings::environments));
    findings
}
