//! Installed plugins: `plugins/cache/<marketplace>/<plugin>/<version>` in the home folder.
//!
//! A process that ends at any moment leaves the former version or the new one. A plugin is copied to a folder of its own
//! first. The former version is then renamed to another version, which counts until the copy has taken its name. Processes
//! that change plugins take turns by a lock, which is not held while a plugin is copied: its folder may not answer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::copy::{CopyError, copy};
use crate::id::PluginId;
use crate::manifest::{self, ManifestError};
use crate::mended::mend;
use crate::places::curated_version;
use crate::staging::{Staging, lock, remove};

/// The version of plugins that come from a folder.
const LOCAL: &str = "local";
/// The version that is replaced, until it is removed.
const REPLACED_FOLDER: &str = "replaced";

/// The installed plugins of a home folder.
#[derive(Clone, Debug)]
pub struct PluginStore {
    home: PathBuf,
    folder: PathBuf,
}

/// A copy of a plugin that is not installed yet. It is removed unless it is installed.
#[derive(Debug)]
pub struct StagedPlugin {
    id: PluginId,
    staging: Staging,
}

/// Why a plugin was not installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is nothing to install.
    #[error("plugin source path is not a directory: {}", .0.display())]
    NoFolder(PathBuf),
    /// There is no usable manifest.
    #[error("{0}")]
    Manifest(String),
    /// The manifest is of another plugin.
    #[error("plugin manifest name `{found}` does not match marketplace plugin name `{expected}`")]
    OtherName { found: String, expected: String },
    /// The plugin is larger than plugins may be.
    #[error("the plugin cannot be installed: it has {0}")]
    TooLarge(String),
    /// The system failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl StoreError {
    /// Whether the plugin is at fault, rather than the system.
    #[must_use]
    pub fn is_about_plugin(&self) -> bool {
        !matches!(self, Self::Io(_))
    }
}

impl From<ManifestError> for StoreError {
    fn from(error: ManifestError) -> Self {
        Self::Manifest(error.to_string())
    }
}

impl PluginStore {
    /// The plugins of this home folder.
    #[must_use]
    pub fn of_home(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            folder: home.join("plugins"),
        }
    }

    /// The folder with all versions of a plugin.
    fn versions(&self, id: &PluginId) -> PathBuf {
        let cache = self.folder.join("cache");
        cache.join(id.marketplace()).join(id.plugin())
    }

    /// The folder of the installed version of a plugin: the local one, otherwise the greatest.
    #[must_use]
    pub fn active(&self, id: &PluginId) -> Option<PathBuf> {
        let versions = self.versions(id);
        mend(&self.home, &versions);
        let local = versions.join(LOCAL);
        if codex_mounts::is_dir(&local) {
            return Some(local);
        }
        let entries = codex_mounts::read_dir(versions).ok()?.flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let named = folders.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
        let newest = named.max_by_key(fs::DirEntry::file_name)?;
        Some(newest.path())
    }

    /// Copies the plugin in `source`, which is not installed by that. Where it has no manifest, it gets that of the `entry`.
    ///
    /// # Errors
    /// The folder is not this plugin, it is too large, or files cannot be written.
    pub fn stage(
        &self,
        source: &Path,
        id: &PluginId,
        entry: Option<&str>,
    ) -> Result<StagedPlugin, StoreError> {
        if !codex_mounts::is_dir(source) {
            return Err(StoreError::NoFolder(source.to_path_buf()));
        }
        let manifest = manifest::read_or(source, entry)?;
        if manifest.name != id.plugin() {
            return Err(StoreError::OtherName {
                found: manifest.name,
                expected: id.plugin().to_owned(),
            });
        }
        let staging = Staging::new(&self.folder)?;
        copy(source, &staging.path()).map_err(|error| match error {
            CopyError::TooLarge(reason) => StoreError::TooLarge(reason),
            CopyError::Io(error) => StoreError::Io(error),
        })?;
        if let Some(entry) = entry
            && manifest::file_of(source).is_none()
        {
            manifest::write(&staging.path(), entry)?;
        }
        Ok(StagedPlugin {
            id: id.clone(),
            staging,
        })
    }

    /// Installs a copy, in place of all versions of the plugin. Returns its folder then.
    ///
    /// # Errors
    /// Files cannot be written. The former version is kept.
    pub fn publish(&self, plugin: StagedPlugin) -> Result<PathBuf, StoreError> {
        let versions = self.versions(&plugin.id);
        let version = curated_version(&self.home, &plugin.id);
        let version = version.as_deref().unwrap_or(LOCAL);
        let _alone = lock(&self.folder)?;
        codex_private_files::create_dir_all(&versions)?;
        let active = replace(&plugin.staging.path(), &versions, version)?;
        remove_others(&versions, version);
        Ok(active)
    }

    /// Removes all versions of a plugin. Does nothing if it is not installed.
    ///
    /// # Errors
    /// Files cannot be removed.
    pub fn uninstall(&self, id: &PluginId) -> Result<(), StoreError> {
        let versions = self.versions(id);
        if versions.symlink_metadata().is_err() {
            return Ok(());
        }
        let staging = Staging::new(&self.folder)?;
        let _alone = lock(&self.folder)?;
        // Renamed first, so that half a plugin is never installed.
        match fs::rename(&versions, staging.path()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// Moves a folder to a version. There is a usable version at every moment.
fn replace(new: &Path, versions: &Path, version: &str) -> io::Result<PathBuf> {
    let (target, replaced) = (versions.join(version), versions.join(REPLACED_FOLDER));
    let is_there = target.symlink_metadata().is_ok();
    if is_there {
        remove(&replaced)?;
        fs::rename(&target, &replaced)?;
    }
    if let Err(error) = fs::rename(new, &target) {
        if is_there {
            fs::rename(&replaced, &target)?;
        }
        return Err(error);
    }
    Ok(target)
}

/// Removes all other versions.
fn remove_others(versions: &Path, version: &str) {
    for entry in codex_mounts::read_dir(versions)
        .into_iter()
        .flatten()
        .flatten()
    {
        if entry.file_name() != version
            && let Err(error) = remove(&entry.path())
        {
            tracing::warn!("{} is left: {error}", entry.path().display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine {
        folder: tempfile::TempDir,
        store: PluginStore,
        id: PluginId,
    }

    impl Machine {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Self {
                store: PluginStore::of_home(&folder.path().join("home")),
                id: PluginId::parse("demo@team").unwrap(),
                folder,
            }
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn source(&self, manifest: &str) -> PathBuf {
            self.write("source/.codex-plugin/plugin.json", manifest);
            self.folder.path().join("source")
        }

        fn install(&self) -> Result<PathBuf, StoreError> {
            self.install_from(&self.source(r#"{"name": "demo"}"#))
        }

        fn install_from(&self, source: &Path) -> Result<PathBuf, StoreError> {
            self.store
                .publish(self.store.stage(source, &self.id, None)?)
        }

        fn staged(&self) -> usize {
            let staging = self.folder.path().join("home/plugins/.staging");
            fs::read_dir(staging).unwrap().count()
        }

        fn text(&self) -> String {
            let active = self.store.active(&self.id).unwrap();
            fs::read_to_string(active.join("text")).unwrap()
        }
    }

    #[test]
    fn a_plugin_is_installed_replaced_and_removed() {
        let machine = Machine::new();
        assert_eq!(machine.store.active(&machine.id), None);
        machine.store.uninstall(&machine.id).unwrap();
        machine.write("source/text", "one");
        machine.write("home/plugins/cache/team/demo/zzz/text", "other version");
        let active = machine.install().unwrap();
        assert!(active.ends_with("home/plugins/cache/team/demo/local"));
        assert_eq!(machine.text(), "one");
        machine.write("source/text", "two");
        machine.install().unwrap();
        assert_eq!(machine.text(), "two");
        assert_eq!(fs::read_dir(active.parent().unwrap()).unwrap().count(), 1);
        machine.store.uninstall(&machine.id).unwrap();
        assert_eq!(machine.store.active(&machine.id), None);
        let left = fs::read_dir(machine.folder.path().join("home/plugins/cache/team"));
        assert_eq!(left.unwrap().count(), 0);
    }

    #[test]
    fn interrupted_install_leaves_a_usable_version() {
        let machine = Machine::new();
        machine.write("source/text", "new");
        machine.write("home/plugins/.staging/new/half", "x");
        machine.write("home/plugins/.staging/file", "x");
        machine.write("home/plugins/.staging/ended/.owner", "");
        machine.write("home/plugins/cache/team/demo/replaced/text", "old");
        assert_eq!(machine.text(), "old");
        machine.install().unwrap();
        assert_eq!(machine.text(), "new");
        machine.write("home/plugins/cache/team/demo/replaced/text", "old");
        assert_eq!(machine.text(), "new");
        assert_eq!(machine.staged(), 0);
    }

    #[test]
    fn a_copy_that_is_not_finished_delays_nobody() {
        let machine = Machine::new();
        machine.write("source/text", "slow");
        let source = machine.source(r#"{"name": "demo"}"#);
        let slow = machine.store.stage(&source, &machine.id, None).unwrap();
        machine.write("source/text", "fast");
        machine.install().unwrap();
        assert_eq!((machine.text().as_str(), machine.staged()), ("fast", 1));
        machine.store.uninstall(&machine.id).unwrap();
        assert_eq!(machine.staged(), 1);
        machine.store.publish(slow).unwrap();
        assert_eq!((machine.text().as_str(), machine.staged()), ("slow", 0));
    }

    #[test]
    fn curated_plugins_have_the_version_of_their_catalogue() {
        let mut machine = Machine::new();
        machine.id = PluginId::parse("demo@openai-curated").unwrap();
        machine.write("source/text", "local");
        assert!(machine.install().unwrap().ends_with(LOCAL));
        for (version, written) in [("0b", "0b\n"), ("0a", "0a"), ("local", "../x")] {
            machine.write("home/.tmp/plugins.sha", written);
            machine.write("source/text", version);
            let active = machine.install().unwrap();
            assert!(active.ends_with(version), "{version}");
            assert_eq!(machine.text(), version);
            assert_eq!(fs::read_dir(active.parent().unwrap()).unwrap().count(), 1);
        }
    }

    #[test]
    fn the_greatest_version_counts_without_a_local_one() {
        let machine = Machine::new();
        for version in ["0a", "0b", ".hidden"] {
            let path = format!("home/plugins/cache/team/demo/{version}/text");
            machine.write(&path, version);
        }
        machine.write("home/plugins/cache/team/demo/file", "x");
        assert_eq!(machine.text(), "0b");
    }

    #[test]
    fn failed_installation_keeps_former_plugin() {
        let machine = Machine::new();
        machine.write("source/text", "one");
        machine.install().unwrap();
        let error = |manifest: &str| {
            let source = machine.source(manifest);
            let error = machine.install_from(&source).unwrap_err();
            assert!(error.is_about_plugin());
            error.to_string()
        };
        assert_eq!(
            error(r#"{"name": "other"}"#),
            "plugin manifest name `other` does not match marketplace plugin name `demo`"
        );
        assert!(error("{").starts_with("missing or invalid plugin manifest: "));
        let none = machine.folder.path().join("none");
        let missing = machine.install_from(&none).unwrap_err();
        assert!(
            missing
                .to_string()
                .starts_with("plugin source path is not a directory: ")
        );
        fs::create_dir(&none).unwrap();
        let empty = machine.install_from(&none).unwrap_err();
        assert!(empty.to_string().starts_with("missing plugin manifest: "));
        machine.source(r#"{"name": "demo"}"#);
        fs::create_dir_all(machine.folder.path().join("source").join("d/".repeat(40))).unwrap();
        let error = machine.install().unwrap_err().to_string();
        assert!(error.starts_with("the plugin cannot be installed: it has more than"));
        assert_eq!(machine.text(), "one");
    }
}
