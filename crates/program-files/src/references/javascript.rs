//! What code of JavaScript and TypeScript imports by names that its package or its settings give.

use std::path::{Path, PathBuf};

use super::reader::ReferenceReader;
use super::text::text_of;
use crate::found_files::{MAX_FILES, ProgramFiles};
use crate::typescript_paths::{MAX_SETTINGS, bases, renamed_modules};

/// The word of the settings of a package, which is read for its imports only.
pub(super) const MANIFEST: &str = ">>package.json";

impl ReferenceReader<'_> {
    /// The settings of a package decide how its imports are resolved.
    pub(super) fn add_manifest(&self, folder: &Path, text: &str, found: &mut ProgramFiles) {
        let manifests = folder.ancestors().map(|folder| folder.join("package.json"));
        if let Some(manifest) = { manifests }.find(|manifest| codex_mounts::is_file(manifest)) {
            let targets = own_targets(&manifest, text);
            let base = manifest.parent().unwrap_or(folder).to_path_buf();
            self.finder.add_path(MANIFEST, manifest, found);
            for target in targets {
                match target.split_once('*') {
                    Some((folder, _)) => self.finder.add_folder(&base.join(folder), found),
                    None => drop(self.finder.add_path(
                        &format!(">{target}"),
                        base.join(&target),
                        found,
                    )),
                }
            }
        }
    }

    /// The settings of TypeScript say what other names modules have, and settings that they are based on do.
    pub(super) fn add_renamed(&mut self, folder: &Path, text: &str, found: &mut ProgramFiles) {
        let nearest = |name: &str| {
            let own = folder.ancestors();
            let mut own = own.take_while(|it| self.finder.is_of_work(it));
            own.find_map(|folder| {
                let path = folder.join(name);
                codex_mounts::is_file(&path).then_some(path)
            })
        };
        let own = ["tsconfig.json", "jsconfig.json"].map(nearest);
        let mut all: Vec<PathBuf> = own.into_iter().flatten().collect();
        let own_count = all.len();
        let mut index = 0;
        let mut has_names = false;
        while let Some(settings) = all.get(index).cloned() {
            let names = text_of(&settings).unwrap_or_default();
            let base = settings.parent().unwrap_or(folder);
            if !self.effort.reads(&names) {
                return;
            }
            for settings in bases(&names, base) {
                if all.contains(&settings) {
                    continue;
                }
                if all.len() >= MAX_SETTINGS {
                    let unknown = || format!("what `{}` is based on", all[0].display());
                    found.unknown.get_or_insert_with(unknown);
                    break;
                }
                all.push(settings);
            }
            let modules = renamed_modules(&names, text, |count| self.effort.compares(count));
            has_names |= !modules.is_empty();
            for module in modules {
                self.add_renamed_module(&base.join(module), found);
            }
            index += 1;
        }
        // What others are based on may come to rename what it does not rename yet.
        let is_based = all.len() > own_count;
        for settings in all.into_iter().filter(|_| has_names || is_based) {
            self.finder.add_path(MANIFEST, settings, found);
        }
    }

    fn add_renamed_module(&mut self, path: &Path, found: &mut ProgramFiles) {
        let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
            return;
        };
        if !self.effort.looks_for(1) {
            return;
        }
        let name = name.to_string_lossy();
        let stem = name.split_once('.').map(|(stem, _)| stem);
        for name in stem.into_iter().chain([&*name]) {
            self.name(name, folder, found);
        }
    }
}

/// What a package means by its own name and by names with `#`, if a text has such a name.
fn own_targets(manifest: &Path, text: &str) -> Vec<String> {
    let package = text_of(manifest).and_then(|text| serde_json::from_str(&text).ok());
    let package: serde_json::Value = package.unwrap_or_default();
    let names = |name: &str| {
        let mut quotes = ['"', '\'', '`'].iter();
        quotes.any(|quote| text.contains(&format!("{quote}{name}")))
    };
    let own_name = package["name"]
        .as_str()
        .filter(|name| !name.is_empty() && names(name));
    let exports = own_name.map(|_| &package["exports"]);
    let imports = names("#").then_some(&package["imports"]);
    let mut values: Vec<&serde_json::Value> = exports.into_iter().chain(imports).collect();
    let mut targets = Vec::new();
    while let Some(value) = values.pop() {
        match value {
            serde_json::Value::String(target) if targets.len() < MAX_FILES => {
                targets.push(target.clone())
            }
            serde_json::Value::Array(inner) => values.extend(inner),
            serde_json::Value::Object(inner) => values.extend(inner.values()),
            _ => {}
        }
    }
    targets
}

/// The lines of the scripts of a package.
pub(super) fn package_scripts(path: &Path, text: &str) -> Vec<String> {
    if path.file_name().is_none_or(|name| name != "package.json") {
        return Vec::new();
    }
    let package: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let scripts = package["scripts"].as_object().into_iter().flatten();
    let lines = scripts.filter_map(|(_, line)| line.as_str());
    lines.map(str::to_owned).take(MAX_FILES).collect()
}
