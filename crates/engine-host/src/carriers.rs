//! The commands that reach other machines: the user's own `ssh`, `docker`, `podman` and `kubectl`.
//!
//! Host names, jump hosts, agents, keys, contexts and logins are those that these programs know.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use codex_config::schema::McpTransport;
use codex_config::{Config, ContainerEngine, EnvironmentSettings, MachineReach};
use codex_environments::{
    Carrier, CarrierCommand, ConfiguredEnvironment, Environments, ExecServer, RemotePath,
};

use crate::app_sources::TOKEN_VARIABLE;

/// Variables that no other program is for.
const LOGINS: [&str; 4] = [
    "CODEX_ACCESS_TOKEN",
    "CODEX_API_KEY",
    "OPENAI_API_KEY",
    TOKEN_VARIABLE,
];

/// The folder below the home folder of the other machine in which this version installs itself.
pub fn install_folder() -> String {
    format!(".local/share/codex/{}", env!("CARGO_PKG_VERSION"))
}

/// The words that a shell reads as this text.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The script that starts an exec server there.
fn server_script(program: Option<&str>) -> String {
    let candidates = match program {
        Some(program) => quoted(program),
        None => format!("\"$HOME/{}/codex\" codex", install_folder()),
    };
    format!(
        "for p in {candidates}; do command -v \"$p\" >/dev/null 2>&1 && exec \"$p\" exec-server --listen stdio; done; \
         echo 'codex is not installed there; `codex environment install` does it' >&2; exit 127"
    )
}

/// The command that runs a script of a POSIX shell there; none for machines that have no shell for us.
pub fn script_command(reach: &MachineReach, script: &str) -> Option<Vec<String>> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Some(match reach {
        MachineReach::Ssh(host) => {
            let remote = format!("exec sh -c {}", quoted(script));
            words(&["ssh", "-T", "-o", "BatchMode=yes", "--", host, &remote])
        }
        MachineReach::Container { engine, name } => {
            let engine = match engine {
                ContainerEngine::Docker => "docker",
                ContainerEngine::Podman => "podman",
            };
            words(&[engine, "exec", "-i", name, "sh", "-c", script])
        }
        MachineReach::Pod {
            pod,
            namespace,
            context,
            container,
        } => {
            let mut command: Vec<String> = words(&["kubectl"]);
            for (option, value) in [("--context", context), ("--namespace", namespace)] {
                command.extend(value.iter().map(|value| format!("{option}={value}")));
            }
            command.extend(words(&["exec", "-i", pod]));
            command.extend(container.iter().map(|name| format!("--container={name}")));
            command.extend(words(&["--", "sh", "-c", script]));
            command
        }
        MachineReach::Command(_) | MachineReach::Url { .. } => return None,
    })
}

/// The variables of a carrier: those of this program, without those that the settings name for a login or a header.
pub fn carrier_variables(config: &Config) -> BTreeMap<OsString, OsString> {
    let logins = login_variables(config);
    std::env::vars_os()
        .filter(|(name, _)| !logins.contains(&*name.to_string_lossy()))
        .collect()
}

/// The variables with logins and headers for models, MCP servers and exec servers.
fn login_variables(config: &Config) -> BTreeSet<&str> {
    let mut names = BTreeSet::from(LOGINS);
    for provider in config.providers.values().chain([&config.model.provider]) {
        names.extend(provider.env_key.as_deref());
        names.extend(provider.env_http_headers.values().map(String::as_str));
    }
    for server in config.mcp.servers.values() {
        if let McpTransport::Http {
            bearer_token_env_var,
            env_http_headers,
            ..
        } = &server.transport
        {
            names.extend(bearer_token_env_var.as_deref());
            names.extend(env_http_headers.values().map(String::as_str));
        }
    }
    for environment in config.environments.values() {
        if let MachineReach::Url { token_variable, .. } = &environment.reach {
            names.extend(token_variable.as_deref());
        }
    }
    names
}

/// How a machine of the settings is reached.
pub fn configured(
    settings: &EnvironmentSettings,
    variables: &Arc<BTreeMap<OsString, OsString>>,
    cwd: &Path,
) -> ConfiguredEnvironment {
    let command = |argv: Vec<String>| {
        Carrier::Command(CarrierCommand {
            argv,
            cwd: cwd.to_owned(),
            environment: Arc::clone(variables),
        })
    };
    let script = server_script(settings.program.as_deref());
    let carrier = match &settings.reach {
        MachineReach::Command(argv) => command(argv.clone()),
        MachineReach::Url {
            url,
            token_variable,
        } => {
            let token = token_variable
                .as_ref()
                .and_then(|name| std::env::var(name).ok());
            Carrier::WebSocket(ExecServer {
                url: url.clone(),
                bearer_token: token.filter(|token| !token.is_empty()),
                ..ExecServer::default()
            })
        }
        reach => command(script_command(reach, &script).unwrap_or_default()),
    };
    ConfiguredEnvironment {
        carrier,
        cwd: settings.cwd.as_deref().and_then(RemotePath::new),
        variables: settings.env.clone(),
    }
}

/// Registers the machines that the settings name. None is connected to.
pub(crate) fn register(environments: &Environments, config: &Config, home: &Path) {
    let variables = Arc::new(carrier_variables(config));
    for (name, settings) in &config.environments {
        let environment = configured(settings, &variables, home);
        if let Err(error) = environments.register(name, environment) {
            tracing::warn!(name, %error, "an environment cannot be registered");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carried_script_is_always_one_word() {
        let script = "echo 'it''s'; echo \"$HOME\"";
        let command = script_command(&MachineReach::Ssh("host".to_owned()), script).unwrap();
        let words = shlex::split(command.last().unwrap()).unwrap();
        assert_eq!(words, ["exec", "sh", "-c", script]);
    }

    #[test]
    fn pods_are_reached_with_their_context() {
        let reach = MachineReach::Pod {
            pod: "p".to_owned(),
            namespace: Some("n".to_owned()),
            context: Some("c".to_owned()),
            container: Some("d".to_owned()),
        };
        let command = script_command(&reach, "true").unwrap().join(" ");
        let expected = "kubectl --context=c --namespace=n exec -i p --container=d -- sh -c true";
        assert_eq!(command, expected);
    }
}
