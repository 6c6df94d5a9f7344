//! What code of Python imports.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::reader::ReferenceReader;
use crate::found_files::ProgramFiles;
use crate::python_imports::{ModuleName, changes_module_folders, imported_modules};

impl ReferenceReader<'_> {
    /// Keeps what code of Python imports, and from where it may.
    pub(super) fn python_imports(
        &mut self,
        text: &str,
        path: &Path,
        words: &BTreeSet<&str>,
        named: &[PathBuf],
    ) {
        let Some(folder) = path.parent() else { return };
        self.modules.add_roots([folder.to_path_buf()]);
        if changes_module_folders(text) {
            let around: Vec<PathBuf> = folder
                .ancestors()
                .take_while(|folder| self.finder.is_of_work(folder))
                .chain([self.finder.place.cwd])
                .map(Path::to_path_buf)
                .collect();
            for folder in around {
                if !self.effort.compares(words.len()) {
                    return;
                }
                let listing = self.listing(&folder);
                let inner = words.iter().filter(|word| listing.contains_key(**word));
                let inner: Vec<PathBuf> = inner
                    .map(|word| folder.join(word))
                    .filter(|inner| codex_mounts::is_dir(inner))
                    .collect();
                self.modules.add_roots(inner.into_iter().chain([folder]));
            }
            self.modules.add_roots(named.iter().cloned());
        }
        if self.modules.files.insert(path.to_path_buf()) {
            let modules = imported_modules(text).into_iter();
            let modules = modules.map(|module| (path.to_path_buf(), module));
            self.modules.all.extend(modules);
        }
    }

    /// Adds the modules that code of Python imports, and the packages on the way to them.
    pub(super) fn modules(&mut self, found: &mut ProgramFiles) {
        self.modules.add_roots(found.import_roots.iter().cloned());
        let mut modules = std::mem::take(&mut self.modules);
        self.runs_text = false;
        for (index, (source, module)) in modules.all.iter().enumerate() {
            let is_new = index >= modules.done.0;
            let relative = source.ancestors().nth(module.level).unwrap_or(source);
            let relative = (module.level > 0 && is_new).then_some(relative);
            let from = if is_new { 0 } else { modules.done.1 };
            let roots = modules.roots.iter().skip(from).map(PathBuf::as_path);
            let roots = roots.filter(|_| module.level == 0);
            for root in relative.into_iter().chain(roots) {
                if !self.effort.compares(1) {
                    break;
                }
                self.module(source, module, root, found);
            }
        }
        modules.done = (modules.all.len(), modules.roots.len());
        self.modules = modules;
    }

    fn module(
        &mut self,
        source: &Path,
        module: &ModuleName,
        root: &Path,
        found: &mut ProgramFiles,
    ) {
        let mut folder = root.to_path_buf();
        for part in &module.parts {
            let Some(paths) = self.listing(&folder).get(part).cloned() else {
                return;
            };
            if !self.effort.looks_for(paths.len()) {
                return;
            }
            for path in paths {
                self.code_at(part, &path, found);
                let first = path.join("__init__.py");
                let files = [path, first].into_iter();
                for file in files.filter(|file| file != source && self.finder.is_of_work(file)) {
                    let real = codex_mounts::canonicalize(&file).ok();
                    let both = real.into_iter().chain([file]);
                    self.run_by
                        .extend(both.map(|file| (source.to_path_buf(), file)));
                }
            }
            folder.push(part);
            if !codex_mounts::is_dir(&folder) {
                return;
            }
        }
    }
}
