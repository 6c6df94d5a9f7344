//! Where the commands of a thread run, as clients name it: its working folder, its environments, its workspace folders.

use std::collections::HashSet;
use std::hash::Hash;
use std::path::{Path, PathBuf};

use codex_app_server_protocol::v2::{TurnEnvironmentParams, TurnStartParams};
use codex_protocol::{EnvironmentChoice, LOCAL_ENVIRONMENT, normalize_path};

use super::request_paths::{check_absolute, check_environments};
use crate::failure::Failure;
use crate::server::AppServer;

/// What a request says about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestedPlace {
    pub(crate) cwd: Option<String>,
    pub(crate) roots: Option<Vec<String>>,
    pub(crate) environments: Option<Vec<TurnEnvironmentParams>>,
}

impl RequestedPlace {
    pub(crate) fn of_turn(params: &TurnStartParams) -> Self {
        Self {
            cwd: params.cwd.clone(),
            roots: params.runtime_workspace_roots.clone(),
            environments: params.environments.clone(),
        }
    }

    /// Refuses environments that cannot be used, and relative workspace folders.
    pub(crate) fn check(&self, server: &AppServer) -> Result<(), Failure> {
        let environments = self.environments.as_deref().unwrap_or_default();
        check_environments(server.host().environments(), environments)?;
        let mut roots = self.roots.iter().flatten();
        roots.try_for_each(|root| check_absolute(root))
    }

    /// The folder of this machine as an environment.
    pub(crate) fn environment_folder(&self) -> Option<&str> {
        let mut environments = self.environments.as_ref()?.iter();
        let local = environments.find(|one| one.environment_id == LOCAL_ENVIRONMENT)?;
        Some(&local.cwd)
    }

    /// The environments of the thread, if others than this machine are among them; none if the request says nothing about them. A
    /// working folder alone says nothing: a thread on other machines stays there.
    pub(crate) fn choices(&self) -> Option<Vec<EnvironmentChoice>> {
        let given = self.environments.as_ref()?;
        let is_elsewhere = given
            .iter()
            .any(|one| one.environment_id != LOCAL_ENVIRONMENT);
        let choices = given.iter().map(|one| EnvironmentChoice {
            id: one.environment_id.clone(),
            cwd: one.cwd.clone(),
            roots: each_once(one.runtime_workspace_roots.clone().unwrap_or_default()),
            shell: None,
        });
        Some(if is_elsewhere {
            choices.collect()
        } else {
            Vec::new()
        })
    }

    /// The folder of this machine: that of the environment, if it is one.
    pub(super) fn folder(&self) -> Option<&str> {
        self.environment_folder().or(self.cwd.as_deref())
    }

    /// Whether commands are to run at all. A new working folder is one of this machine.
    pub(crate) fn has_environment(&self) -> Option<bool> {
        let of_cwd = self.cwd.is_some().then_some(true);
        let given = self.environments.as_ref();
        given.map(|given| !given.is_empty()).or(of_cwd)
    }

    /// Whether it names anything.
    pub(super) fn is_given(&self) -> bool {
        self.cwd.is_some() || self.roots.is_some() || self.environments.is_some()
    }

    /// Its names for the working folder `at`.
    pub(crate) fn named(self, at: &Path) -> NamedPlace {
        let environment = self.environments.into_iter().flatten().next();
        let of_environment = environment.map(|environment| environment.runtime_workspace_roots);
        let roots = self.roots.or(of_environment.clone().flatten());
        NamedPlace {
            at: at.to_owned(),
            cwd: self.cwd.filter(|_| of_environment.is_some()),
            roots: roots.map(folders),
        }
    }
}

/// The folders by their shortest names, each once.
fn folders(names: Vec<String>) -> Vec<String> {
    let shortest = |name: String| normalize_path(Path::new(&name)).display().to_string();
    each_once(names.into_iter().map(shortest).collect())
}

/// A list without what is in it before.
pub(super) fn each_once<T: Clone + Eq + Hash>(mut list: Vec<T>) -> Vec<T> {
    let mut known = HashSet::new();
    list.retain(|one| known.insert(one.clone()));
    list
}

/// The names that clients have given. They hold as long as the working folder stays the same.
#[derive(Clone, Debug)]
pub(crate) struct NamedPlace {
    at: PathBuf,
    /// The working folder of the thread, if its environment has one of its own.
    cwd: Option<String>,
    /// The workspace folders, if they differ from the working folder.
    roots: Option<Vec<String>>,
}

impl NamedPlace {
    pub(super) fn cwd(&self, at: &Path) -> Option<&str> {
        self.cwd.as_deref().filter(|_| self.at == at)
    }

    pub(super) fn roots(&self, at: &Path) -> Option<&Vec<String>> {
        self.roots.as_ref().filter(|_| self.at == at)
    }
}
