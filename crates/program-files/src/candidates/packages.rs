//! Packages: those that are built, those that package runners find in the folder, and modules.

use super::{Candidates, FileCandidate};
use crate::builders::is_builder;
use crate::line::UNKNOWNS;

impl Candidates {
    /// The folders of packages that are built and run.
    pub(super) fn built_folders(&mut self, arguments: &[String]) {
        const OPTIONS: [&str; 8] = [
            "--editable",
            "--from",
            "--package",
            "--spec",
            "--with",
            "--with-editable",
            "-e",
            "-p",
        ];
        const COMMANDS: [&str; 5] = ["add", "install", "pip", "run", "tool"];
        // Their values are where the package runs.
        const PLACES: [&str; 5] = [
            "--cache-dir",
            "--directory",
            "--prefix",
            "--project",
            "--python",
        ];
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let value = word.split_once('=');
            let value = value.filter(|(option, _)| OPTIONS.contains(option));
            let folder = match value {
                Some((_, value)) => Some(value),
                None if OPTIONS.contains(&word.as_str()) => words.next().map(String::as_str),
                None if PLACES.contains(&word.as_str()) => {
                    words.next();
                    None
                }
                None => (!word.starts_with('-')).then_some(word.as_str()),
            };
            let is_path = |folder: &&str| folder.contains('/') || folder.starts_with('.');
            let folder = folder.filter(is_path);
            self.all
                .extend(folder.map(|folder| FileCandidate::Folder(folder.to_owned())));
            // What follows is for the package.
            if !word.starts_with('-') && !COMMANDS.contains(&word.as_str()) {
                return;
            }
        }
    }

    /// A package of the folder that a package runner prefers to one that it would download.
    pub(super) fn package(&mut self, word: &str) {
        let version = word.get(1..).and_then(|rest| rest.find('@'));
        let package = version.map_or(word, |at| &word[..=at]);
        let name = package.rsplit('/').next().unwrap_or(package);
        self.all
            .push(FileCandidate::Path(format!("node_modules/.bin/{name}")));
        let manifest = format!("node_modules/{package}/package.json");
        self.all.push(FileCandidate::Path(manifest));
    }

    /// Programs of installed packages, which scripts of a package find by their names.
    pub(crate) fn add_installed(&mut self) {
        let programs = self.all.iter().filter_map(|candidate| match candidate {
            FileCandidate::Program(name) => Some(format!("node_modules/.bin/{name}")),
            _ => None,
        });
        // What runs the script is looked for there, too.
        let shells = ["bash", "env", "node", "sh"].map(|name| format!("node_modules/.bin/{name}"));
        let paths: Vec<FileCandidate> = programs.chain(shells).map(FileCandidate::Path).collect();
        self.all.extend(paths);
    }

    /// A module of the working folder that an interpreter prefers to one that is installed.
    pub(super) fn module(&mut self, module: &str) {
        if module.contains(UNKNOWNS) {
            return self.unknown(module);
        }
        if is_builder(module, &[]) {
            return self.builds(module, &[]);
        }
        // Modules have names that no tool has.
        let tool = module.split('.').next().unwrap_or_default();
        self.settings(&tool.replace('_', "-"));
        let path = module.replace('.', "/");
        let packages = path.match_indices('/').map(|(at, _)| &path[..at]);
        let packages = packages.map(|package| format!("{package}/__init__.py"));
        let files = [".py", ".pyc", "/__main__.py", "/__init__.py"];
        let files = files.iter().map(|file| format!("{path}{file}"));
        self.all
            .extend(packages.chain(files).map(FileCandidate::Path));
    }
}
