//! `[environments.<name>]`: another machine that threads can work on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Another machine, and how to reach it. One of `ssh`, `container`, `kubernetes`, `command` and `url` says how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EnvironmentFile {
    /// A host of `ssh`, by any name that it knows.
    pub ssh: Option<String>,
    /// A running container.
    pub container: Option<String>,
    /// The program for containers. Default: `docker`.
    pub engine: Option<ContainerEngine>,
    /// A running pod.
    pub kubernetes: Option<KubernetesFile>,
    /// A command of this machine whose standard streams are an exec server.
    pub command: Option<Vec<String>>,
    /// The `ws://` or `wss://` address of an exec server.
    pub url: Option<String>,
    /// With `url`: the environment variable with the bearer token.
    pub bearer_token_env_var: Option<String>,
    /// The program `codex` there. Default: the one that `codex environment install` has put there, else that of the search path.
    pub program: Option<String>,
    /// The folder there, for threads that name none.
    pub cwd: Option<String>,
    /// Environment variables of commands there.
    pub env: BTreeMap<String, String>,
}

/// `[environments.<name>.kubernetes]`: a running pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KubernetesFile {
    /// Its name.
    pub pod: Option<String>,
    /// Its namespace. Default: that of the context.
    pub namespace: Option<String>,
    /// The context of `kubectl`. Default: the current one.
    pub context: Option<String>,
    /// The container in the pod. Default: the first one.
    pub container: Option<String>,
}

/// What runs containers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContainerEngine {
    #[default]
    Docker,
    Podman,
}
