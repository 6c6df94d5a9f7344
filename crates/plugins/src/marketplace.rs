//! Marketplaces: files that list plugins.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use crate::contained;
use crate::id::{InvalidPluginId, PluginId};
use crate::marketplace_file::{EntryForm, EntryTexts, MarketplaceForm, Product, SourceForm};
use crate::places::root_of;
use crate::plugin_source::{PluginRepository, PluginSource};

/// The limit on the size of a marketplace file.
const FILE_LIMIT: u64 = 16 * 1024 * 1024;
/// The limit on the plugins of a marketplace.
const MAX_PLUGINS: usize = 10_000;
/// The limit on the plugins that people are told of, because they cannot be used.
const MAX_REASONS: usize = 10;

/// Whether users may install a plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum InstallPolicy {
    /// It is only listed.
    NotAvailable,
    /// Users may install it.
    #[default]
    Available,
    /// Everybody should have it. Nothing is installed by itself.
    InstalledByDefault,
}

/// When users should connect the apps of a plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AuthPolicy {
    /// When it is installed.
    #[default]
    OnInstall,
    /// When an app is needed.
    OnUse,
}

/// A marketplace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marketplace {
    /// Its name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// The folder that paths of plugins are relative to.
    pub root: PathBuf,
    /// The name for people.
    pub display_name: Option<String>,
    /// Whether it has an interface at all.
    pub has_interface: bool,
    /// Its plugins for this product, in the order of the file.
    pub plugins: Vec<MarketplacePlugin>,
    /// The names of plugins for other products.
    hidden: Vec<String>,
    /// The names of plugins that cannot be used, and why.
    unusable: Vec<(String, String)>,
}

/// A plugin of a marketplace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarketplacePlugin {
    /// Its name.
    pub name: String,
    /// Where it is installed from.
    pub source: PluginSource,
    /// Whether users may install it.
    pub install_policy: InstallPolicy,
    /// When users should connect its apps.
    pub auth_policy: AuthPolicy,
    /// The category, in place of that of the manifest.
    pub category: Option<String>,
    /// The entry of the file, as text. It has the members of a manifest where the plugin has none.
    pub(crate) entry: Arc<str>,
}

/// Why a marketplace or a plugin of it cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MarketplaceError {
    /// There is no such file.
    #[error("marketplace file `{}` does not exist", .0.display())]
    Missing(PathBuf),
    /// The file does not describe a marketplace.
    #[error("invalid marketplace file `{}`: {reason}", .path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file cannot be read.
    #[error("failed to read marketplace file: {0}")]
    Read(io::Error),
    /// The marketplace has no such plugin.
    #[error("plugin `{plugin}` was not found in marketplace `{marketplace}`")]
    NotFound { plugin: String, marketplace: String },
    /// The plugin must not be installed here.
    #[error("plugin `{plugin}` is not available for install in marketplace `{marketplace}`")]
    NotAvailable { plugin: String, marketplace: String },
    /// The plugin cannot be used.
    #[error("plugin `{plugin}` of marketplace `{marketplace}` cannot be used: {reason}")]
    Unusable {
        plugin: String,
        marketplace: String,
        reason: String,
    },
    /// A name cannot be part of an id.
    #[error(transparent)]
    Id(#[from] InvalidPluginId),
}

impl MarketplaceError {
    /// Whether the request names something that cannot be used, rather than the system failing.
    #[must_use]
    pub fn is_about_request(&self) -> bool {
        !matches!(self, Self::Read(_))
    }
}

impl Marketplace {
    /// Reads a marketplace file.
    ///
    /// # Errors
    /// It cannot be read, does not describe a marketplace, or a path in it leaves its folder.
    pub fn read(path: &Path) -> Result<Self, MarketplaceError> {
        let text = codex_regular_file::read_text(path, FILE_LIMIT).map_err(|error| match error
            .kind()
        {
            io::ErrorKind::NotFound => MarketplaceError::Missing(path.to_path_buf()),
            io::ErrorKind::FileTooLarge | io::ErrorKind::InvalidData => {
                invalid(path, error.to_string())
            }
            _ => MarketplaceError::Read(error),
        })?;
        let root = root_of(path).ok_or_else(|| {
            invalid(
                path,
                "marketplace file must live under `<root>/.agents/plugins/`",
            )
        })?;
        let form: MarketplaceForm =
            serde_json::from_str(&text).map_err(|error| invalid(path, error.to_string()))?;
        if form.plugins.len() > MAX_PLUGINS {
            return Err(invalid(path, format!("more than {MAX_PLUGINS} plugins")));
        }
        let mut marketplace = Self {
            name: form.name,
            path: path.to_path_buf(),
            root,
            has_interface: form.interface.is_some(),
            display_name: form.interface.and_then(|interface| interface.display_name),
            plugins: Vec::new(),
            hidden: Vec::new(),
            unusable: Vec::new(),
        };
        let texts: EntryTexts<'_> =
            serde_json::from_str(&text).map_err(|error| invalid(path, error.to_string()))?;
        for (entry, text) in form.plugins.into_iter().zip(texts.plugins) {
            marketplace.add(entry, text.get())?;
        }
        Ok(marketplace)
    }

    fn add(&mut self, entry: EntryForm, text: &str) -> Result<(), MarketplaceError> {
        let source = match entry.source {
            SourceForm::Local(path) => Ok(PluginSource::Folder(self.folder(&entry.name, &path)?)),
            SourceForm::Repository(form) => PluginRepository::resolve(form, &self.root)
                .map(PluginSource::Repository)
                .map_err(|error| error.to_string()),
            SourceForm::Elsewhere(reason) => Err(reason),
        };
        let source = match source {
            Ok(source) => source,
            Err(reason) => {
                self.unusable.push((entry.name, reason));
                return Ok(());
            }
        };
        let products = entry.policy.products;
        if products.is_some_and(|products| !products.contains(&Product::Codex)) {
            self.hidden.push(entry.name);
            return Ok(());
        }
        self.plugins.push(MarketplacePlugin {
            name: entry.name,
            source,
            install_policy: entry.policy.installation,
            auth_policy: entry.policy.authentication,
            category: entry.category,
            entry: Arc::from(text),
        });
        Ok(())
    }

    /// Which plugins cannot be used, and why, as a text for people.
    #[must_use]
    pub fn unusable(&self) -> Option<String> {
        let reasons = self.unusable.iter().take(MAX_REASONS);
        let mut reasons: Vec<_> = reasons
            .map(|(name, reason)| format!("plugin `{name}` cannot be used: {reason}"))
            .collect();
        if self.unusable.len() > MAX_REASONS {
            reasons.push(format!("and {} more", self.unusable.len() - MAX_REASONS));
        }
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// The folder of a plugin in the marketplace.
    fn folder(&self, name: &str, path: &str) -> Result<PathBuf, MarketplaceError> {
        let usual = || format!("./plugins/{name}");
        let written = if path.is_empty() {
            usual()
        } else {
            path.to_owned()
        };
        let folder = contained::join(&self.root, &written, "marketplace");
        let wrong = |error| invalid(&self.path, format!("local plugin source path {error}"));
        folder.map_err(wrong)
    }

    /// The plugin with this name, if it may be shown.
    ///
    /// # Errors
    /// There is none, or a name cannot be part of an id.
    pub fn plugin(&self, name: &str) -> Result<(&MarketplacePlugin, PluginId), MarketplaceError> {
        let found = self.plugins.iter().find(|plugin| plugin.name == name);
        let found = found.ok_or_else(|| self.missing(name))?;
        Ok((found, PluginId::new(&found.name, &self.name)?))
    }

    fn missing(&self, name: &str) -> MarketplaceError {
        let (plugin, marketplace) = (name.to_owned(), self.name.clone());
        let mut unusable = self.unusable.iter();
        match unusable.find(|(unusable, _)| unusable == name) {
            Some((_, reason)) => MarketplaceError::Unusable {
                plugin,
                marketplace,
                reason: reason.clone(),
            },
            None => MarketplaceError::NotFound {
                plugin,
                marketplace,
            },
        }
    }

    /// The plugin with this name, if it may be installed.
    ///
    /// # Errors
    /// There is none, it may not be installed, or a name cannot be part of an id.
    pub fn installable(
        &self,
        name: &str,
    ) -> Result<(&MarketplacePlugin, PluginId), MarketplaceError> {
        let refused = || MarketplaceError::NotAvailable {
            plugin: name.to_owned(),
            marketplace: self.name.clone(),
        };
        if self.hidden.iter().any(|hidden| hidden == name)
            && !self.plugins.iter().any(|plugin| plugin.name == name)
        {
            return Err(refused());
        }
        let (plugin, id) = self.plugin(name)?;
        if plugin.install_policy == InstallPolicy::NotAvailable {
            return Err(refused());
        }
        Ok((plugin, id))
    }
}

fn invalid(path: &Path, reason: impl Into<String>) -> MarketplaceError {
    MarketplaceError::Invalid {
        path: path.to_path_buf(),
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(text: &str) -> Result<Marketplace, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".agents/plugins/marketplace.json");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        Marketplace::read(&file).map_err(|error| {
            let error = error.to_string();
            error.replace(&file.display().to_string(), "FILE")
        })
    }

    fn marketplace_with(plugins: Value) -> Result<Marketplace, String> {
        read(&json!({ "name": "team", "plugins": plugins }).to_string())
    }

    fn local(path: &str) -> Value {
        json!([{ "name": "x", "source": { "source": "local", "path": path } }])
    }

    #[test]
    fn defaults_and_policies() {
        let marketplace = marketplace_with(json!([
            { "name": "a", "source": { "source": "local", "path": "./plugins/a" } },
            { "name": "b", "source": "./b", "category": "C", "policy": {
                "installation": "INSTALLED_BY_DEFAULT", "authentication": "ON_USE",
                "products": ["chatgpt", "CODEX"] } },
            { "name": "c", "source": "./c", "policy": { "products": [] } },
            { "name": "d", "source": "./d", "policy": { "products": ["ATLAS"] } },
            { "name": "e", "source": { "source": "npm", "package": "e" } },
            { "name": "f", "source": "" },
            { "name": "g", "source": { "source": "git-subdir", "url": "o/r" } },
            { "name": "h", "source": { "source": "url", "url": "../h" } },
            { "name": "i", "source": { "source": "url", "url": "https://example.com/i" } },
        ]))
        .unwrap();
        let names = marketplace
            .plugins
            .iter()
            .map(|plugin| plugin.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["a", "b", "f", "i"]);
        let [a, b, f, i] = &marketplace.plugins[..] else {
            panic!()
        };
        let folder = |path| PluginSource::Folder(marketplace.root.join(path));
        assert_eq!(
            (&a.source, &f.source),
            (&folder("plugins/a"), &folder("plugins/f"))
        );
        assert!(matches!(&i.source, PluginSource::Repository(one) if one.url.ends_with("/i")));
        assert_eq!((a.install_policy, a.auth_policy), Default::default());
        assert_eq!(b.install_policy, InstallPolicy::InstalledByDefault);
        assert_eq!(b.auth_policy, AuthPolicy::OnUse);
        let error = |name: &str| marketplace.installable(name).unwrap_err().to_string();
        for name in ["c", "d"] {
            let expected =
                format!("plugin `{name}` is not available for install in marketplace `team`");
            assert_eq!(error(name), expected);
        }
        assert_eq!(error("z"), "plugin `z` was not found in marketplace `team`");
        let npm = "cannot be used: sources of the kind `npm` are not supported";
        assert_eq!(
            error("e"),
            format!("plugin `e` of marketplace `team` {npm}")
        );
        let told = marketplace.unusable().unwrap();
        assert!(told.starts_with(&format!("plugin `e` {npm}; plugin `g` cannot be used: ")));
    }

    #[test]
    fn one_bad_path_spoils_the_file() {
        let table = [
            ("../x", "must start with `./`"),
            ("/abs", "must start with `./`"),
            ("./", "must not be empty"),
            ("./a/../b", "must stay within the marketplace root"),
            ("./a\0b", "must stay within the marketplace root"),
        ];
        for (path, reason) in table {
            let expected =
                format!("invalid marketplace file `FILE`: local plugin source path {reason}");
            assert_eq!(marketplace_with(local(path)).unwrap_err(), expected);
        }
    }

    #[test]
    fn invalid_marketplace_is_an_error() {
        let policy = |policy: Value| json!([{ "name": "x", "source": "./x", "policy": policy }]);
        let broken = [
            "{".to_owned(),
            "[]".to_owned(),
            json!({ "plugins": [] }).to_string(),
            json!({ "name": "x" }).to_string(),
            json!({ "name": "x", "plugins": [{ "name": "y" }] }).to_string(),
            json!({ "name": "x", "plugins": policy(json!({ "installation": "LATER" })) })
                .to_string(),
            json!({ "name": "x", "plugins": policy(json!({ "products": ["other"] })) }).to_string(),
            "\0".repeat(100),
        ];
        for text in broken {
            let error = read(&text).unwrap_err();
            assert!(
                error.starts_with("invalid marketplace file `FILE`: "),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn too_many_plugins_are_refused() {
        let many: Vec<Value> = (0..100_000)
            .map(|at| json!({ "name": at.to_string(), "source": "./x" }))
            .collect();
        let error = marketplace_with(Value::Array(many)).unwrap_err();
        assert_eq!(
            error,
            "invalid marketplace file `FILE`: more than 10000 plugins"
        );
    }

    #[test]
    fn files_elsewhere_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("marketplace.json");
        let missing = Marketplace::read(&file).unwrap_err();
        assert!(
            missing
                .to_string()
                .ends_with("marketplace.json` does not exist")
        );
        std::fs::write(&file, "{}").unwrap();
        let error = Marketplace::read(&file).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("must live under `<root>/.agents/plugins/`")
        );
    }
}
