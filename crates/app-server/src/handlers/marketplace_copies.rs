//! Marketplaces that are published as repositories: copies of them are added and brought up to date.

use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server_protocol::v2;
use codex_config::schema::MarketplaceFile;
use codex_git::{GitError, PublishedRepository};
use codex_plugins::{CopyOrigin, MarketplaceCopies, MarketplaceSource, StagedCopy, is_reference};
use serde_json::json;

use super::blocking;
use super::call::RequestContext;
use super::marketplaces::{add_folder, added, key_of, name_of, other_source};
use super::plugin_settings::edit_config;
use crate::failure::Failure;
use crate::host::Host;

/// The source type of the settings.
const GIT: &str = "git";
/// What fails if a marketplace cannot be copied.
const COPY_ERROR: &str = "failed to copy marketplace";
/// The limit on folders of a sparse copy.
const MAX_SPARSE_PATHS: usize = 1000;

/// Adds a folder, or a copy of a repository.
pub(super) async fn add(
    RequestContext { server, .. }: RequestContext,
    params: v2::MarketplaceAddParams,
) -> Result<v2::MarketplaceAddResponse, Failure> {
    let host = Arc::clone(server.host());
    let source = MarketplaceSource::parse(&params.source);
    match source.map_err(|error| Failure::invalid(error.to_string()))? {
        MarketplaceSource::Folder(path) => {
            blocking(move || add_folder(&*host, &path, &params)).await
        }
        MarketplaceSource::Repository { url, reference } => {
            add_repository(host, wanted_repository(url, reference, params)?).await
        }
    }
}

/// The repository that a request means.
fn wanted_repository(
    url: String,
    reference: Option<String>,
    params: v2::MarketplaceAddParams,
) -> Result<PublishedRepository, Failure> {
    let named = params.ref_name.filter(|name| !name.trim().is_empty());
    let reference = named.or(reference);
    if reference.as_deref().is_some_and(|name| !is_reference(name)) {
        return Err(Failure::invalid(
            "the ref is not the name of a branch, tag or commit",
        ));
    }
    let sparse_paths = params.sparse_paths.unwrap_or_default();
    let is_bad = |path: &String| path.is_empty() || path.contains(['\0', '\n']);
    if sparse_paths.len() > MAX_SPARSE_PATHS || sparse_paths.iter().any(is_bad) {
        return Err(Failure::invalid(
            "the sparse paths are not names of folders, or too many",
        ));
    }
    Ok(PublishedRepository {
        url,
        reference,
        sparse_paths,
    })
}

fn copies(host: &dyn Host) -> MarketplaceCopies {
    MarketplaceCopies::of_home(&host.configuration().startup().home)
}

async fn add_repository(
    host: Arc<dyn Host>,
    wanted: PublishedRepository,
) -> Result<v2::MarketplaceAddResponse, Failure> {
    let (own, repository) = (Arc::clone(&host), wanted.clone());
    if let Some(known) = blocking(move || already_added(&*own, &repository)).await? {
        return Ok(known);
    }
    let (staged, revision) = copied(&host, &wanted, COPY_ERROR).await?;
    blocking(move || {
        let name = name_of(staged.path())?;
        if added(&*host)?
            .get(&name)
            .is_some_and(|known| !is_of(known, &wanted))
        {
            return Err(other_source(&name));
        }
        let root = publish(&*host, staged, &name, &wanted, revision)?;
        let entry = entry_of(&wanted);
        edit_config(&*host, &key_of(&name), &entry, "failed to add marketplace")?;
        Ok(v2::MarketplaceAddResponse {
            already_added: false,
            installed_root: root.display().to_string(),
            marketplace_name: name,
        })
    })
    .await
}

/// The marketplace of this repository, if it is configured and there is a copy.
fn already_added(
    host: &dyn Host,
    wanted: &PublishedRepository,
) -> Result<Option<v2::MarketplaceAddResponse>, Failure> {
    let copies = copies(host);
    let mut added = added(host)?.into_iter();
    let known = added.find(|(name, known)| is_of(known, wanted) && copies.origin(name).is_some());
    Ok(known.map(|(name, _)| v2::MarketplaceAddResponse {
        already_added: true,
        installed_root: copies.root(&name).display().to_string(),
        marketplace_name: name,
    }))
}

fn is_of(known: &MarketplaceFile, wanted: &PublishedRepository) -> bool {
    repository_of(known).is_some_and(|known| known == *wanted)
}

/// The repository of a configured marketplace, if it has one.
pub(super) fn repository_of(known: &MarketplaceFile) -> Option<PublishedRepository> {
    (known.source_type == GIT).then(|| PublishedRepository {
        url: known.source.clone(),
        reference: known.reference.clone(),
        sparse_paths: known.sparse_paths.clone().unwrap_or_default(),
    })
}

fn entry_of(wanted: &PublishedRepository) -> serde_json::Value {
    let mut entry = json!({ "source_type": GIT, "source": wanted.url });
    if let Some(reference) = &wanted.reference {
        entry["ref"] = json!(reference);
    }
    if !wanted.sparse_paths.is_empty() {
        entry["sparse_paths"] = json!(wanted.sparse_paths);
    }
    entry
}

/// Makes a copy that is not published yet, and returns its commit. `doing` is what fails otherwise.
pub(super) async fn copied(
    host: &Arc<dyn Host>,
    wanted: &PublishedRepository,
    doing: &'static str,
) -> Result<(StagedCopy, String), Failure> {
    let copies = copies(&**host);
    let failed = move |error: String| Failure::internal(format!("{doing}: {error}"));
    let staged =
        blocking(move || copies.stage().map_err(|error| failed(error.to_string()))).await?;
    let revision = wanted.copy_to(staged.path()).await;
    Ok((
        staged,
        revision.map_err(|error: GitError| failed(error.to_string()))?,
    ))
}

fn publish(
    host: &dyn Host,
    staged: StagedCopy,
    name: &str,
    wanted: &PublishedRepository,
    revision: String,
) -> Result<PathBuf, Failure> {
    let origin = CopyOrigin {
        source_type: GIT.to_owned(),
        source: wanted.url.clone(),
        ref_name: wanted.reference.clone(),
        sparse_paths: wanted.sparse_paths.clone(),
        revision,
    };
    let published = copies(host).publish(staged, name, &origin);
    published.map_err(|error| Failure::internal(format!("failed to store marketplace: {error}")))
}

/// Brings copies up to date: all, or that of one marketplace. Installed plugins stay as they are.
pub(super) async fn upgrade(
    RequestContext { server, .. }: RequestContext,
    params: v2::MarketplaceUpgradeParams,
) -> Result<v2::MarketplaceUpgradeResponse, Failure> {
    let host = Arc::clone(server.host());
    let own = Arc::clone(&host);
    let mut selected = blocking(move || added(&*own)).await?;
    selected.retain(|_, known| known.source_type == GIT);
    if let Some(name) = params.marketplace_name {
        selected.retain(|known, _| *known == name);
        if selected.is_empty() {
            let message = format!("marketplace `{name}` is not configured as a Git marketplace");
            return Err(Failure::invalid(message));
        }
    }
    let mut response = v2::MarketplaceUpgradeResponse {
        selected_marketplaces: selected.keys().cloned().collect(),
        upgraded_roots: Vec::new(),
        errors: Vec::new(),
    };
    for (name, known) in selected {
        let Some(wanted) = repository_of(&known) else {
            continue;
        };
        match upgrade_one(&host, &name, wanted).await {
            Ok(None) => {}
            Ok(Some(root)) => response.upgraded_roots.push(root.display().to_string()),
            Err(error) => response.errors.push(v2::MarketplaceUpgradeErrorInfo {
                marketplace_name: name,
                message: error.message().to_owned(),
            }),
        }
    }
    Ok(response)
}

/// Replaces a copy if a later version is published. Returns its folder then.
pub(super) async fn upgrade_one(
    host: &Arc<dyn Host>,
    name: &str,
    wanted: PublishedRepository,
) -> Result<Option<PathBuf>, Failure> {
    let unreachable = |error: GitError| Failure::internal(error.to_string());
    let revision = wanted.revision().await.map_err(unreachable)?;
    let (copies, own) = (copies(&**host), name.to_owned());
    let origin = blocking(move || Ok(copies.origin(&own))).await?;
    if origin.is_some_and(|origin| origin.revision == revision) {
        return Ok(None);
    }
    let (staged, revision) = copied(host, &wanted, COPY_ERROR).await?;
    let (host, name) = (Arc::clone(host), name.to_owned());
    blocking(move || {
        let found = name_of(staged.path())?;
        if found != name {
            let message = format!("the repository now has the marketplace `{found}`");
            return Err(Failure::invalid(message));
        }
        publish(&*host, staged, &name, &wanted, revision).map(Some)
    })
    .await
}
