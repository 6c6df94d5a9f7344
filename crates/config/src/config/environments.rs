//! The other machines that the settings name.

use std::collections::BTreeMap;

use crate::schema::{ConfigFile, ContainerEngine, EnvironmentFile, KubernetesFile};
use crate::warning::ConfigWarning;

/// Another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentSettings {
    pub reach: MachineReach,
    /// The program `codex` there, if it is not found by itself.
    pub program: Option<String>,
    /// The folder for threads that name none.
    pub cwd: Option<String>,
    /// Environment variables of commands.
    pub env: BTreeMap<String, String>,
}

/// How a machine is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineReach {
    /// A host of `ssh`.
    Ssh(String),
    Container {
        engine: ContainerEngine,
        name: String,
    },
    Pod {
        pod: String,
        namespace: Option<String>,
        context: Option<String>,
        container: Option<String>,
    },
    /// A command whose standard streams are an exec server.
    Command(Vec<String>),
    Url {
        url: String,
        /// The environment variable with the bearer token.
        token_variable: Option<String>,
    },
}

impl MachineReach {
    /// What it is called in lists.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Ssh(_) => "ssh",
            Self::Container { .. } => "container",
            Self::Pod { .. } => "kubernetes",
            Self::Command(_) => "command",
            Self::Url { .. } => "url",
        }
    }
}

/// The machines by name. What cannot be used is left out, with a warning.
pub(super) fn environments(
    file: &ConfigFile,
    warnings: &mut Vec<ConfigWarning>,
) -> BTreeMap<String, EnvironmentSettings> {
    let mut known = BTreeMap::new();
    for (name, environment) in &file.environments {
        match resolve(name, environment) {
            Ok(settings) => {
                known.insert(name.clone(), settings);
            }
            Err(problem) => warnings.push(ConfigWarning::new(format!(
                "The environment `{name}` cannot be used: {problem}."
            ))),
        }
    }
    known
}

fn resolve(name: &str, file: &EnvironmentFile) -> Result<EnvironmentSettings, String> {
    if name == codex_protocol::LOCAL_ENVIRONMENT {
        return Err("the name is that of this machine".to_owned());
    }
    if name.is_empty() || name.contains([':', '/']) || name.chars().any(char::is_control) {
        return Err("a name has no `:` and no `/`".to_owned());
    }
    if let Some(cwd) = &file.cwd
        && !cwd.starts_with('/')
    {
        return Err("`cwd` is no absolute path".to_owned());
    }
    let reaches = [
        file.ssh.clone().map(MachineReach::Ssh),
        file.container.clone().map(|name| MachineReach::Container {
            engine: file.engine.unwrap_or_default(),
            name,
        }),
        file.kubernetes.as_ref().map(pod).transpose()?,
        file.command.clone().map(MachineReach::Command),
        file.url.clone().map(|url| MachineReach::Url {
            url,
            token_variable: file.bearer_token_env_var.clone(),
        }),
    ];
    let mut given = reaches.into_iter().flatten();
    let (Some(reach), None) = (given.next(), given.next()) else {
        return Err(
            "one of `ssh`, `container`, `kubernetes`, `command` and `url` says how it is reached"
                .to_owned(),
        );
    };
    check(&reach)?;
    Ok(EnvironmentSettings {
        reach,
        program: file.program.clone(),
        cwd: file.cwd.clone(),
        env: file.env.clone(),
    })
}

fn pod(file: &KubernetesFile) -> Result<MachineReach, String> {
    Ok(MachineReach::Pod {
        pod: file.pod.clone().ok_or("`kubernetes` has no `pod`")?,
        namespace: file.namespace.clone(),
        context: file.context.clone(),
        container: file.container.clone(),
    })
}

/// Names that would be options of the program that gets them are refused.
fn check(reach: &MachineReach) -> Result<(), String> {
    let names: Vec<&String> = match reach {
        MachineReach::Ssh(host) => vec![host],
        MachineReach::Container { name, .. } => vec![name],
        MachineReach::Pod {
            pod,
            namespace,
            context,
            container,
        } => [
            Some(pod),
            namespace.as_ref(),
            context.as_ref(),
            container.as_ref(),
        ]
        .into_iter()
        .flatten()
        .collect(),
        MachineReach::Command(command) => {
            let is_empty = command.first().is_none_or(String::is_empty);
            return if is_empty {
                Err("`command` is empty".to_owned())
            } else {
                Ok(())
            };
        }
        MachineReach::Url { url, .. } => {
            let is_socket = url.starts_with("ws://") || url.starts_with("wss://");
            return if is_socket {
                Ok(())
            } else {
                Err("`url` begins with `ws://` or `wss://`".to_owned())
            };
        }
    };
    let is_odd = |name: &&String| {
        name.is_empty() || name.starts_with('-') || name.chars().any(char::is_control)
    };
    match names.into_iter().find(is_odd) {
        Some(name) => Err(format!("`{}` is no name", name.escape_debug())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str) -> (Option<EnvironmentSettings>, usize) {
        let file: ConfigFile = toml::from_str(text).unwrap();
        let mut warnings = Vec::new();
        let known = environments(&file, &mut warnings);
        (known.into_values().next(), warnings.len())
    }

    #[test]
    fn each_kind_of_machine_is_known() {
        for (text, kind) in [
            ("[environments.a]\nssh = 'build'\ncwd = '/work'", "ssh"),
            (
                "[environments.a]\ncontainer = 'dev'\nengine = 'podman'",
                "container",
            ),
            (
                "[environments.a]\nkubernetes = { pod = 'p', namespace = 'n' }",
                "kubernetes",
            ),
            ("[environments.a]\ncommand = ['run', 'it']", "command"),
            ("[environments.a]\nurl = 'ws://127.0.0.1:1'", "url"),
        ] {
            let (settings, warnings) = resolved(text);
            assert_eq!(
                settings.map(|known| known.reach.kind()),
                Some(kind),
                "{text}"
            );
            assert_eq!(warnings, 0, "{text}");
        }
    }

    #[test]
    fn invalid_environments_are_left_out_with_a_warning() {
        for text in [
            "[environments.a]\ncwd = '/work'",
            "[environments.a]\nssh = 'x'\nurl = 'ws://x'",
            "[environments.a]\nssh = '-oProxyCommand=touch x'",
            "[environments.a]\ncontainer = '--privileged'",
            "[environments.a]\nkubernetes = { namespace = 'n' }",
            "[environments.a]\nkubernetes = { pod = 'p', context = '--as=root' }",
            "[environments.a]\ncommand = []",
            "[environments.a]\nurl = 'http://x'",
            "[environments.a]\nssh = 'x'\ncwd = 'relative'",
            "[environments.local]\nssh = 'x'",
            "[environments.'a:b']\nssh = 'x'",
        ] {
            assert_eq!(resolved(text), (None, 1), "{text}");
        }
    }
}
