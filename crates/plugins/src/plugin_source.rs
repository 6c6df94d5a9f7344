//! Where a plugin of a marketplace is installed from: a folder of the marketplace, or a repository of its own.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::contained;
use crate::source::{MarketplaceSource, is_reference};

/// Where a plugin is installed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginSource {
    /// A folder of the marketplace, as written in its file.
    Folder(PathBuf),
    /// A repository.
    Repository(PluginRepository),
}

/// The repository of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginRepository {
    /// Its address, or a folder of the marketplace.
    pub url: String,
    /// The folder of the plugin in it; by default the whole repository.
    pub path: Option<String>,
    /// The branch or tag.
    pub reference: Option<String>,
    /// The commit, which counts in place of the reference.
    pub commit: Option<String>,
}

/// A repository, as written.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct RepositoryForm {
    #[serde(alias = "repo")]
    pub(crate) url: String,
    /// The folder of the plugin in it.
    #[serde(default)]
    pub(crate) path: Option<String>,
    #[serde(default, rename = "ref")]
    pub(crate) reference: Option<String>,
    #[serde(default)]
    pub(crate) sha: Option<String>,
}

/// Why a repository cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidRepository {
    #[error("its address is not that of a repository: {0}")]
    Address(String),
    #[error("its path {0}")]
    Path(contained::InvalidPath),
    #[error("{0} is not the name of a branch, tag or commit")]
    Reference(String),
}

impl PluginRepository {
    /// Checks what the file of the marketplace in `root` says.
    pub(crate) fn resolve(form: RepositoryForm, root: &Path) -> Result<Self, InvalidRepository> {
        let (url, named) = address(&form.url, root)?;
        let reference = form.reference.or(named);
        let names = [&reference, &form.sha];
        if let Some(name) = names.into_iter().flatten().find(|name| !is_reference(name)) {
            return Err(InvalidRepository::Reference(name.clone()));
        }
        let path = form.path.map(|path| below(&path)).transpose();
        Ok(Self {
            url,
            path: path.map_err(InvalidRepository::Path)?,
            reference,
            commit: form.sha,
        })
    }
}

/// The address, and the reference in it. A path must lie in the folder of the marketplace.
fn address(written: &str, root: &Path) -> Result<(String, Option<String>), InvalidRepository> {
    let wrong = || InvalidRepository::Address(written.to_owned());
    match MarketplaceSource::parse(written) {
        Ok(MarketplaceSource::Repository { url, reference }) => Ok((url, reference)),
        Ok(MarketplaceSource::Folder(path)) => {
            let folder = contained::join(root, &path, "marketplace").map_err(|_| wrong())?;
            Ok((folder.display().to_string(), None))
        }
        Err(_) => Err(wrong()),
    }
}

/// A path in a repository, without `./` in front.
fn below(written: &str) -> Result<String, contained::InvalidPath> {
    let relative = written.strip_prefix("./").unwrap_or(written);
    let path = contained::join(Path::new(""), &format!("./{relative}"), "repository")?;
    Ok(path.to_string_lossy().replace('\\', "/"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn resolved(form: Value) -> Result<PluginRepository, String> {
        let form: RepositoryForm = serde_json::from_value(form).unwrap();
        let repository = PluginRepository::resolve(form, Path::new("/team"));
        repository.map_err(|error| error.to_string())
    }

    #[test]
    fn addresses_have_the_forms_of_those_of_marketplaces() {
        for (written, url) in [
            ("https://h/x.git", "https://h/x.git"),
            ("git@h:o/r.git", "git@h:o/r.git"),
            ("o/r", "https://github.com/o/r.git"),
            ("./r", "/team/r"),
        ] {
            assert_eq!(resolved(json!({ "url": written })).unwrap().url, url);
        }
        assert_eq!(resolved(json!({ "repo": "o/r" })).unwrap().path, None);
        let named = resolved(json!({ "url": "https://h/x#v1" })).unwrap();
        assert_eq!(named.reference.as_deref(), Some("v1"));
        for written in ["", "../r", "/abs", "~/r", "ext::sh -c x", "--upload-pack=x"] {
            let error = resolved(json!({ "url": written })).unwrap_err();
            assert!(
                error.starts_with("its address is not that of a repository: "),
                "{error}"
            );
        }
    }

    #[test]
    fn paths_stay_in_the_repository() {
        let path = |path: &str| resolved(json!({ "url": "o/r", "path": path }));
        for (written, expected) in [("a/b", "a/b"), ("./a", "a"), ("a//b/.", "a/b")] {
            assert_eq!(path(written).unwrap().path.unwrap(), expected);
        }
        for written in ["", ".", "./", "../a", "a/../b", "/a", "a\0"] {
            let error = path(written).unwrap_err();
            assert!(error.starts_with("its path must "), "{written}: {error}");
        }
    }

    #[test]
    fn names_of_commits_are_no_options() {
        let of = |member: &str, name: &str| resolved(json!({ "url": "o/r", member: name }));
        assert_eq!(of("ref", "v1").unwrap().reference.unwrap(), "v1");
        assert_eq!(of("sha", "0123").unwrap().commit.unwrap(), "0123");
        for name in ["--upload-pack=x", "a:b", "a b", ""] {
            for member in ["ref", "sha"] {
                assert!(of(member, name).unwrap_err().ends_with("tag or commit"));
            }
        }
    }
}
