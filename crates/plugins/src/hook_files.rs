//! The hooks of a plugin: their files, and a hash of the whole plugin, so that trust in a hook ends when a script of it changes.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::contained;
use crate::manifest::{self, ManifestHooks};
use crate::plugin::Plugin;

/// The file with hooks of a plugin that names none.
const DEFAULT: &str = "hooks/hooks.json";
/// The limits on a plugin with hooks, whose files are read each time.
const MAX_ENTRIES: usize = 5000;
const MAX_BYTES: u64 = 32 * 1024 * 1024;
const MAX_DEPTH: usize = 32;

/// The hooks of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginHookFiles {
    /// The folder of the plugin.
    pub root: PathBuf,
    /// The files with hooks, relative to the folder.
    pub files: Vec<String>,
    /// The hooks in the manifest itself, of the form of such files.
    pub tables: Vec<Value>,
    /// The manifest, relative to the folder.
    pub manifest: &'static str,
    /// A hash of all files of the plugin.
    pub content_hash: String,
}

impl Plugin {
    /// The hooks, if the plugin has files with hooks. Reads all files of such a plugin.
    ///
    /// # Errors
    /// A file cannot be read, or the plugin is too large to have hooks.
    pub fn hook_files(&self) -> io::Result<Option<PluginHookFiles>> {
        let named = self
            .manifest
            .hooks
            .clone()
            .unwrap_or_else(|| ManifestHooks {
                files: vec![self.root.join(DEFAULT)],
                tables: Vec::new(),
            });
        let mut files = Vec::new();
        for path in named.files {
            let is_inside =
                codex_mounts::is_file(&path) && contained::check(&self.root, &path).is_ok();
            if is_inside && let Ok(file) = path.strip_prefix(&self.root) {
                let file = file.display().to_string();
                if !files.contains(&file) {
                    files.push(file);
                }
            }
        }
        if files.is_empty() && named.tables.is_empty() {
            return Ok(None);
        }
        Ok(Some(PluginHookFiles {
            root: self.root.clone(),
            files,
            tables: named.tables,
            manifest: manifest::file_of(&self.root).unwrap_or_default(),
            content_hash: content_hash(&self.root)?,
        }))
    }
}

/// A hash of the names, contents and rights of the files in a folder.
fn content_hash(root: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    collect(root, 0, &mut files)?;
    files.sort();
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    for path in files {
        let file = codex_regular_file::open(&path)?;
        let metadata = file.metadata()?;
        let name = path.strip_prefix(root).unwrap_or(&path);
        let name = name.as_os_str().as_encoded_bytes();
        bytes += metadata.len();
        if bytes > MAX_BYTES {
            return Err(too_large());
        }
        let mut content = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut content)?;
        for part in [name, &content] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.update([u8::from(codex_system::file::is_executable(&metadata))]);
    }
    let hash = hash.finalize();
    let digits = hash.iter().map(|byte| format!("{byte:02x}"));
    Ok(format!("sha256:{}", digits.collect::<String>()))
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in codex_mounts::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if depth == MAX_DEPTH {
                return Err(too_large());
            }
            collect(&entry.path(), depth + 1, files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
        if files.len() > MAX_ENTRIES {
            return Err(too_large());
        }
    }
    Ok(())
}

fn too_large() -> io::Error {
    let message = format!(
        "a plugin with hooks has at most {MAX_ENTRIES} files and {} MiB",
        MAX_BYTES / 1024 / 1024
    );
    io::Error::other(message)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn hooks(manifest: &str, files: &[(&str, &str)]) -> Option<PluginHookFiles> {
        let folder = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(folder.path()).unwrap();
        let manifest = (".codex-plugin/plugin.json", manifest);
        for (path, text) in files.iter().chain([&manifest]) {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Plugin::read(&root).unwrap().hook_files().unwrap()
    }

    #[test]
    fn named_files_take_the_place_of_the_usual_one() {
        let files = [(DEFAULT, "{}"), ("a.json", "{}"), ("b.json", "{}")];
        let of = |manifest| hooks(manifest, &files).map(|hooks| hooks.files);
        assert_eq!(of("{}").unwrap(), [DEFAULT]);
        assert_eq!(of(r#"{"hooks": "./a.json"}"#).unwrap(), ["a.json"]);
        let both = r#"{"hooks": ["./b.json", "./a.json", "../x", "./none.json", 3]}"#;
        assert_eq!(of(both).unwrap(), ["b.json", "a.json"]);
        assert_eq!(of(r#"{"hooks": []}"#), None);
        let tables = r#"{"hooks": [{"hooks": {"Stop": []}}, "./a.json", {"Stop": []}]}"#;
        let found = hooks(tables, &files).unwrap();
        assert_eq!((found.files.len(), found.tables.len()), (1, 1));
        assert_eq!(found.manifest, ".codex-plugin/plugin.json");
        assert_eq!(
            hooks(r#"{"hooks": {"hooks": {}}}"#, &files)
                .unwrap()
                .files
                .len(),
            0
        );
        assert_eq!(
            of(r#"{"hooks": {"Stop": []}}"#).unwrap(),
            [DEFAULT],
            "another form"
        );
        assert_eq!(hooks("{}", &[("x", "")]), None);
    }

    #[test]
    fn any_change_of_a_plugin_changes_the_hash() {
        let hash = |files: &[(&str, &str)]| hooks("{}", files).unwrap().content_hash;
        let first = hash(&[(DEFAULT, "{}"), ("a", "bc")]);
        assert_eq!(first, hash(&[("a", "bc"), (DEFAULT, "{}")]));
        assert_ne!(first, hash(&[(DEFAULT, "{}"), ("a", "bd")]));
        assert_ne!(first, hash(&[(DEFAULT, "{}"), ("ab", "c")]));
    }
}
