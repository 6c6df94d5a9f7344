//! The files that a word in a text may name.

use std::path::Path;

use super::reader::{Listing, ReferenceReader};
use super::text::begins_script;
use crate::found_files::{MAX_FILES, ProgramFiles};
use crate::known_programs::{has_code_ending, is_data};
use crate::program_file::may_be_run;

/// The first files of a folder that is imported.
const FIRST_FILES: [&str; 8] = [
    "__init__.py",
    "__main__.py",
    "index.cjs",
    "index.js",
    "index.mjs",
    "index.ts",
    "init.lua",
    "package.json",
];

/// Names of code without an ending of code.
const CODE_NAMES: [&str; 3] = [".env", "gradlew", "configure"];

impl ReferenceReader<'_> {
    pub(super) fn word(&mut self, word: &str, folder: &Path, found: &mut ProgramFiles) {
        let dots = word.len() - word.trim_start_matches('.').len();
        let word = word.trim_end_matches(['.', '/']);
        if word.contains('/') {
            return self.path(word, folder, found);
        }
        // `.module` and `..package.module` of Python.
        let mut base = folder;
        for _ in 1..dots.max(1) {
            base = base.parent().unwrap_or(base);
        }
        let name = word.trim_start_matches('.');
        self.name(name, base, found);
        if dots > 0 {
            self.name(word, folder, found);
        }
        if let Some((first, _)) = name.split_once('.') {
            // `package.module`, and `module.name`.
            self.name(first, base, found);
            self.path(&name.replace('.', "/"), base, found);
        }
        let path = self.finder.place.cwd.join(word);
        if codex_mounts::is_file(&path) {
            self.code_at(word, &path, found);
        }
        for folder in self.search_path.clone() {
            let path = folder.join(word);
            let runs = |path: &Path| {
                let about = codex_mounts::metadata(path);
                about.is_ok_and(|about| about.is_file() && may_be_run(&about))
            };
            if runs(&path) {
                self.finder.add_path(&format!(">{word}"), path, found);
            }
        }
    }

    /// A path, relative to the folder of the file, the working folder or the home folder.
    fn path(&mut self, word: &str, folder: &Path, found: &mut ProgramFiles) {
        let home = self.finder.home();
        let relative = word.trim_start_matches("~/").trim_start_matches('/');
        let cwd = self.finder.place.cwd;
        let mut paths = vec![folder.join(word), folder.join(relative), cwd.join(relative)];
        paths.extend(home.map(|home| home.join(relative)));
        for path in paths {
            self.code_at(word, &path, found);
            if let (Some(name), Some(folder)) = (path.file_name(), path.parent()) {
                let name = name.to_string_lossy().into_owned();
                self.name(&name, folder, found);
            }
        }
    }

    /// A name in a folder, with or without its ending.
    pub(super) fn name(&mut self, name: &str, folder: &Path, found: &mut ProgramFiles) {
        if name.is_empty() {
            return;
        }
        let paths = self.listing(folder).get(name).cloned();
        for path in paths.into_iter().flatten() {
            self.code_at(name, &path, found);
        }
    }

    /// Adds a path if it is code, or a folder with code.
    pub(super) fn code_at(&self, word: &str, path: &Path, found: &mut ProgramFiles) {
        let Ok(about) = codex_mounts::metadata(path) else {
            return;
        };
        if about.is_dir() {
            for first in FIRST_FILES {
                let path = path.join(first);
                self.finder
                    .add_path(&format!(">{word}/{first}"), path, found);
            }
        } else if about.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_code = has_code_ending(&name)
                || CODE_NAMES.contains(&&*name)
                || may_be_run(&about)
                || begins_script(path)
                || (self.runs_text && !is_data(&name));
            if is_code {
                self.finder
                    .add_path(&format!(">{word}"), path.to_path_buf(), found);
            }
        }
    }

    pub(super) fn listing(&mut self, folder: &Path) -> &Listing {
        self.listings
            .entry(folder.to_path_buf())
            .or_insert_with(|| {
                let mut listing = Listing::new();
                let entries = codex_mounts::read_dir(folder)
                    .into_iter()
                    .flatten()
                    .flatten();
                for entry in entries.take(20 * MAX_FILES) {
                    let name = entry.file_name().to_string_lossy().into_owned();
                    let stem = name.split_once('.').map(|(stem, _)| stem.to_owned());
                    if let Some(stem) = stem.filter(|stem| !stem.is_empty()) {
                        listing.entry(stem).or_default().push(entry.path());
                    }
                    listing.entry(name).or_default().push(entry.path());
                }
                listing
            })
    }
}
