//! Converts a policy to paths.
//!
//! Reads the file system (existence, links, `.git` files) but changes nothing. All paths in [`FileRules`] are absolute,
//! with links resolved if they exist.

use std::cell::LazyCell;
use std::path::{Path, PathBuf};

use codex_project_markers::{PROTECTED_NAMES, is_shared_folder};

use crate::bindings::RootState;
use crate::engine_files::{EngineFiles, controls_engine};
use crate::file_rules::{FileRules, ProtectedPath, ReadScope, WhenAbsent};
use crate::git_pointers::git_folders;
use crate::network_mode::NetworkMode;
use crate::platform::PLATFORM_DEFAULTS;
use crate::policy::{ConfinementPolicy, PolicyContext, ReadAccess};
use crate::requested_roots::{
    RequestedRoot, effective_network, existing_paths, requested_reads, requested_roots,
};

impl FileRules {
    /// The rules of a policy, or `None` if it is not enforced here.
    #[must_use]
    pub fn from_policy(policy: &ConfinementPolicy, policy_context: &PolicyContext) -> Option<Self> {
        let (read, candidates) = requested_roots(policy, policy_context)?;
        let mut rules = Self {
            read: ReadScope::Everything,
            writable: Vec::new(),
            protected: Vec::new(),
            hidden: resolve_all(&policy_context.cwd, &policy_context.hidden),
            masked: Vec::new(),
            untrusted: Vec::new(),
        };
        let engine = &policy_context.engine;
        let home = engine.real_home();
        rules.add_roots(&candidates, engine, home.as_deref());
        rules.protect_enclosing_project(&policy_context.cwd);
        rules.except(policy, read, &policy_context.cwd);
        rules.protect_engine(engine, home);
        rules.protect_program_files(engine);
        rules.remove_redundant_protection();
        rules.read = rules.read_scope(read, policy_context);
        let open = effective_network(policy, policy_context, true) != NetworkMode::Restricted;
        rules.mask(engine, open, &policy_context.cwd);
        Some(rules)
    }

    /// Resolves the roots of a policy now, so that later commands cannot change them.
    pub fn resolve_roots(policy: &ConfinementPolicy, policy_context: &PolicyContext) {
        let Some((read, candidates)) = requested_roots(policy, policy_context) else {
            return;
        };
        let resolved_roots = &policy_context.engine.resolved_roots;
        let paths = LazyCell::new(|| existing_paths(&candidates));
        for candidate in &candidates {
            resolved_roots.resolve_once(&candidate.path, || &paths);
        }
        for path in requested_reads(read, policy_context) {
            resolved_roots.resolve_once(&path, || &paths);
        }
    }

    fn add_roots(
        &mut self,
        candidates: &[RequestedRoot],
        engine: &EngineFiles,
        home: Option<&Path>,
    ) {
        let paths = LazyCell::new(|| existing_paths(candidates));
        for candidate in candidates {
            match engine.resolved_roots.state(&candidate.path, || &paths) {
                RootState::Present(path)
                    if home.is_some_and(|home| controls_engine(home, &path)) => {}
                RootState::Present(path) if candidate.is_temporary => self.add_temporary(path),
                RootState::Present(path) => self.add_root(path, WhenAbsent::KeepAbsent),
                RootState::Absent => {}
                RootState::Untrusted => self.untrusted.push(candidate.path.clone()),
            }
        }
    }

    /// In a shared temporary folder commands may create missing markers: markers there are ignored, and other users would
    /// see placeholders.
    fn add_temporary(&mut self, path: PathBuf) {
        if codex_mounts::is_dir(&path) {
            let when_absent = if is_shared_folder(&path) {
                WhenAbsent::Ignore
            } else {
                WhenAbsent::KeepAbsent
            };
            self.add_root(path, when_absent);
        }
    }

    fn add_root(&mut self, path: PathBuf, when_absent: WhenAbsent) {
        if codex_mounts::is_dir(&path) {
            for name in PROTECTED_NAMES {
                self.protect(path.join(name), when_absent);
            }
        }
        if !self.writable.contains(&path) {
            self.writable.push(path);
        }
    }

    /// Protects the enclosing project, whose root may be above the working folder and still inside another root such as
    /// `/tmp`. Entries created there later take effect as much as existing ones.
    fn protect_enclosing_project(&mut self, cwd: &Path) {
        let Ok(cwd) = codex_mounts::canonicalize(cwd) else {
            return;
        };
        for folder in cwd.ancestors().skip(1) {
            if !self.writable.iter().any(|root| folder.starts_with(root)) {
                break;
            }
            for name in PROTECTED_NAMES {
                self.protect(folder.join(name), WhenAbsent::KeepAbsent);
            }
        }
    }

    /// Applies the exceptions that the policy makes itself. What does not exist may not be created.
    fn except(&mut self, policy: &ConfinementPolicy, read: &ReadAccess, cwd: &Path) {
        let read_only: &[PathBuf] = match policy {
            ConfinementPolicy::WorkspaceWrite(options) => &options.read_only,
            _ => &[],
        };
        let denied: &[PathBuf] = match read {
            ReadAccess::Restricted { denied, .. } => denied,
            ReadAccess::Full => &[],
        };
        for path in read_only.iter().chain(denied) {
            self.protect(with_real_folder(&cwd.join(path)), WhenAbsent::KeepAbsent);
        }
        for path in resolve_all(cwd, denied) {
            if !self.hidden.contains(&path) {
                self.hidden.push(path);
            }
        }
    }

    /// Protects the home folder and the settings of trusted projects, so that nothing written by a command affects the
    /// engine later.
    fn protect_engine(&mut self, engine: &EngineFiles, home: Option<PathBuf>) {
        if let Some(path) = home {
            self.protect(path, WhenAbsent::KeepAbsent);
        }
        for project in engine.trusted_projects.snapshot().iter() {
            if self.writable.iter().any(|root| project.starts_with(root))
                && codex_mounts::is_dir(project)
            {
                for name in PROTECTED_NAMES {
                    self.protect(project.join(name), WhenAbsent::KeepAbsent);
                }
            }
        }
    }

    /// Protects the files that the engine runs outside of the sandbox.
    fn protect_program_files(&mut self, engine: &EngineFiles) {
        for file in engine.program_files.snapshot() {
            if self.writable.iter().any(|root| file.starts_with(root)) && file.exists() {
                self.protect(with_real_folder(&file), WhenAbsent::Ignore);
            }
        }
    }

    /// Hides credentials, and with network access the sockets of services. Ancestors of roots and of the working folder
    /// stay visible.
    fn mask(&mut self, engine: &EngineFiles, open_network: bool, cwd: &Path) {
        let mut masked = engine.secrets();
        if open_network {
            masked.extend(resolve_all(cwd, &engine.service_sockets));
        }
        let cwd = codex_mounts::canonicalize(cwd).unwrap_or_default();
        masked.retain(|path| {
            let around = |inner: &Path| inner.starts_with(path);
            !around(&cwd) && !self.writable.iter().any(|root| around(root))
        });
        masked.sort();
        masked.dedup();
        for path in masked {
            if !self.hides(&path) {
                self.masked.push(path);
            }
        }
    }

    pub(crate) fn protect(&mut self, path: PathBuf, when_absent: WhenAbsent) {
        let mut targets = Vec::new();
        if let Ok(metadata) = codex_mounts::symlink_metadata(&path) {
            if metadata.is_symlink() {
                targets.extend(codex_mounts::canonicalize(&path));
            }
            targets.extend(git_folders(&path));
        }
        self.push_protected(path, when_absent);
        for target in targets {
            self.push_protected(target, WhenAbsent::KeepAbsent);
        }
    }

    fn push_protected(&mut self, path: PathBuf, when_absent: WhenAbsent) {
        match self.protected.iter_mut().find(|entry| entry.path == path) {
            Some(entry) if when_absent == WhenAbsent::KeepAbsent => {
                entry.when_absent = when_absent;
            }
            Some(_) => {}
            None => self.protected.push(ProtectedPath { path, when_absent }),
        }
    }

    /// Removes protected paths outside all roots, which are read-only anyway.
    pub(crate) fn remove_redundant_protection(&mut self) {
        let writable = &self.writable;
        self.protected.retain(|entry| {
            writable
                .iter()
                .any(|root| entry.path.starts_with(root) && entry.path != *root)
        });
    }

    fn read_scope(&self, read: &ReadAccess, policy_context: &PolicyContext) -> ReadScope {
        let ReadAccess::Restricted {
            platform_defaults, ..
        } = read
        else {
            return ReadScope::Everything;
        };
        let wanted = requested_reads(read, policy_context);
        let resolved_roots = wanted.iter().filter_map(|path| {
            match policy_context
                .engine
                .resolved_roots
                .state(path, || &self.writable)
            {
                RootState::Present(path) => Some(path),
                RootState::Absent | RootState::Untrusted => None,
            }
        });
        let mut readable: Vec<_> = resolved_roots.collect();
        readable.extend(self.writable.iter().cloned());
        if *platform_defaults {
            readable.extend(
                PLATFORM_DEFAULTS
                    .iter()
                    .filter_map(|path| codex_mounts::canonicalize(Path::new(path)).ok()),
            );
        }
        readable.sort();
        readable.dedup();
        ReadScope::Only(readable)
    }
}

/// The path with links resolved, except in what does not exist and in its last component.
fn with_real_folder(path: &Path) -> PathBuf {
    let folders = path.ancestors().skip(1);
    let real =
        folders.filter_map(|folder| Some((folder, codex_mounts::canonicalize(folder).ok()?)));
    let Some((folder, real)) = { real }.next() else {
        return path.to_path_buf();
    };
    path.strip_prefix(folder)
        .map_or(real.clone(), |rest| real.join(rest))
}

fn resolve_all(cwd: &Path, paths: &[PathBuf]) -> Vec<PathBuf> {
    paths
        .iter()
        .filter_map(|path| codex_mounts::canonicalize(cwd.join(path)).ok())
        .collect()
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
