//! The plugin of a marketplace that a request means, and the folder that it is installed from: one of the marketplace, or
//! a copy of the plugin's repository.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_git::PublishedRepository;
use codex_plugins::{
    Marketplace, MarketplacePlugin, PluginError, PluginId, PluginRepository, PluginSource,
    PluginStore, StagedCopy, StagedPlugin,
};

use super::blocking;
use super::marketplace_copies::copied;
use crate::failure::Failure;
use crate::host::Host;
use crate::server::AppServer;

/// How long the copy of a plugin may take. Its folder may be on a file system that does not answer.
const COPY_LIMIT: Duration = Duration::from_secs(120);

/// A plugin of a marketplace.
pub(super) struct ChosenPlugin {
    pub(super) id: PluginId,
    pub(super) listed: MarketplacePlugin,
    marketplace: Marketplace,
}

impl ChosenPlugin {
    pub(super) fn new(marketplace: Marketplace, listed: MarketplacePlugin, id: PluginId) -> Self {
        Self {
            id,
            listed,
            marketplace,
        }
    }

    /// Installs the plugin. Returns its folder then.
    pub(super) async fn install(self: &Arc<Self>, server: &AppServer) -> Result<PathBuf, Failure> {
        let copy = match &self.listed.source {
            PluginSource::Folder(_) => None,
            PluginSource::Repository(repository) => Some(copy_of(server.host(), repository).await?),
        };
        let store = PluginStore::of_home(&server.host().configuration().startup().home);
        let source = match (&self.listed.source, &copy) {
            (PluginSource::Folder(folder), _) => folder,
            (PluginSource::Repository(_), Some(copy)) => copy.path(),
            (PluginSource::Repository(_), None) => {
                return Err(Failure::internal("the repository was not copied"));
            }
        };
        let (own, from) = (Arc::clone(self), store.clone());
        let (reads, path) = (server.folder_reads(), source.to_owned());
        let copying = move || own.stage(&from, &path);
        let staged = reads.read_within(COPY_LIMIT, source, copying).await;
        let staged = staged.map_err(|error| not_installed(&error))??;
        blocking(move || store.publish(staged).map_err(|error| not_installed(&error))).await
    }

    /// Copies the plugin, which is in a folder of its marketplace or in the copy of a repository.
    fn stage(&self, store: &PluginStore, source: &Path) -> Result<StagedPlugin, Failure> {
        let folder = match &self.listed.source {
            PluginSource::Folder(folder) => folder.clone(),
            PluginSource::Repository(repository) => folder_in(source, repository)?,
        };
        // The folder is read before it is copied, because a link may lead out of the marketplace.
        if let Err(error @ PluginError::Elsewhere) = self.listed.read(&self.marketplace) {
            return Err(Failure::invalid(error.to_string()));
        }
        let entry = self.listed.manifest();
        let staged = store.stage(&folder, &self.id, entry.as_deref());
        staged.map_err(|error| {
            if error.is_about_plugin() {
                Failure::invalid(error.to_string())
            } else {
                not_installed(&error)
            }
        })
    }
}

fn not_installed(error: &dyn std::fmt::Display) -> Failure {
    Failure::internal(format!("failed to install plugin: {error}"))
}

/// Copies the repository of a plugin.
async fn copy_of(
    host: &Arc<dyn Host>,
    repository: &PluginRepository,
) -> Result<StagedCopy, Failure> {
    let wanted = PublishedRepository {
        url: repository.url.clone(),
        reference: repository
            .commit
            .clone()
            .or_else(|| repository.reference.clone()),
        sparse_paths: repository.path.iter().cloned().collect(),
    };
    let (copy, _) = copied(host, &wanted, "failed to copy plugin").await?;
    Ok(copy)
}

/// The folder of a plugin in the copy of its repository, which loses what belongs to git.
fn folder_in(copy: &Path, repository: &PluginRepository) -> Result<PathBuf, Failure> {
    let Some(path) = &repository.path else {
        let removed = codex_mounts::remove_dir_all(copy.join(".git"));
        let failed = |error| not_installed(&error);
        return removed.map(|()| copy.to_owned()).map_err(failed);
    };
    let folder = copy.join(path);
    if codex_mounts::is_dir(&folder) {
        return Ok(folder);
    }
    let url = &repository.url;
    Err(Failure::invalid(format!(
        "the repository {url} has no folder `{path}`"
    )))
}
