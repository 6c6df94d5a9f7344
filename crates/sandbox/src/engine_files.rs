//! Files that the engine relies on and that sandboxed commands must not change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_hidden_files::HiddenFiles;
use parking_lot::RwLock;

use crate::bindings::ResolvedRoots;

/// What in the home folder contains credentials, or copies of files that may be hidden.
const SECRETS: [&str; 3] = ["auth.json", ".credentials.json", "checkpoints"];

/// Folders in the home folder that contain settings, rules, history or what models are told. They are never writable, even if a root names them
/// or something inside them.
const PROTECTED_HOME_FOLDERS: [&str; 7] = [
    "agents",
    "archived_sessions",
    "hooks",
    "memories",
    "plugins",
    "rules",
    "sessions",
];

/// The files that sandboxed commands of a session must not change or read. Sessions of one engine share all fields except
/// the resolved roots.
#[derive(Debug, Default)]
pub struct EngineFiles {
    /// The engine's home folder. It is read-only whatever a root says, except for subfolders that a root names.
    pub home: Option<Arc<Path>>,
    /// Projects whose settings take effect. Their settings are protected wherever the project is inside a writable root.
    pub trusted_projects: TrustedProjects,
    /// Files that the engine runs outside of the sandbox. They are protected wherever they are inside a writable root.
    pub program_files: ProgramFileList,
    /// The folders that commands could write.
    pub granted_roots: GrantedRoots,
    /// Sockets, and folders of sockets, of services that would bypass the sandbox. Hidden if commands may use the network
    /// and mounts are available.
    pub service_sockets: Arc<[PathBuf]>,
    /// Which files are hidden from models and their commands.
    pub hidden_files: Arc<HiddenFiles>,
    /// The resolved writable roots of the session.
    pub resolved_roots: ResolvedRoots,
}

impl EngineFiles {
    /// For an engine with this home folder.
    #[must_use]
    pub fn of_home(home: impl Into<PathBuf>) -> Self {
        Self {
            home: Some(home.into().into()),
            ..Self::default()
        }
    }

    /// For another session, which resolves its own roots.
    #[must_use]
    pub fn for_another_session(&self) -> Self {
        Self {
            home: self.home.clone(),
            trusted_projects: self.trusted_projects.clone(),
            program_files: self.program_files.clone(),
            granted_roots: self.granted_roots.clone(),
            service_sockets: Arc::clone(&self.service_sockets),
            hidden_files: Arc::clone(&self.hidden_files),
            resolved_roots: ResolvedRoots::default(),
        }
    }

    /// The same for another session, without the files of programs: what may be written but for them.
    #[must_use]
    pub fn without_program_files(&self) -> Self {
        Self {
            program_files: ProgramFileList::default(),
            ..self.for_another_session()
        }
    }

    /// The home folder with links resolved.
    pub(crate) fn real_home(&self) -> Option<PathBuf> {
        codex_mounts::canonicalize(self.home.as_ref()?).ok()
    }

    /// What exists of these.
    pub(crate) fn secrets(&self) -> Vec<PathBuf> {
        let home = self.home.iter();
        home.flat_map(|home| SECRETS.map(|name| home.join(name)))
            .filter_map(|path| codex_mounts::canonicalize(&path).ok())
            .collect()
    }
}

/// The files that hooks and other programs run. Clones share one list: what a program of a new session runs is also
/// protected from the commands of sessions that are already running.
#[derive(Clone, Debug, Default)]
pub struct ProgramFileList(Arc<RwLock<BTreeSet<PathBuf>>>);

impl ProgramFileList {
    /// Adds files. None is ever removed, because a running session may run it.
    pub fn add(&self, files: impl IntoIterator<Item = PathBuf>) {
        let files: Vec<PathBuf> = files.into_iter().collect();
        if files.iter().any(|file| !self.0.read().contains(file)) {
            self.0.write().extend(files);
        }
    }

    pub(crate) fn snapshot(&self) -> BTreeSet<PathBuf> {
        self.0.read().clone()
    }
}

/// The writable roots of the commands that were started. Clones share one list, so that what a turn was allowed to write
/// counts as writable afterwards.
#[derive(Clone, Debug, Default)]
pub struct GrantedRoots(Arc<RwLock<BTreeSet<PathBuf>>>);

impl GrantedRoots {
    pub fn add(&self, roots: &[PathBuf]) {
        if roots.iter().any(|root| !self.0.read().contains(root)) {
            self.0.write().extend(roots.iter().cloned());
        }
    }

    #[must_use]
    pub fn all(&self) -> Vec<PathBuf> {
        self.0.read().iter().cloned().collect()
    }
}

/// The trusted projects. Clones share one list: a project that a new session trusts is also protected
/// from the commands of sessions that are already running.
#[derive(Clone, Debug, Default)]
pub struct TrustedProjects(Arc<RwLock<Arc<[PathBuf]>>>);

impl TrustedProjects {
    /// Adds projects. No project is ever removed, because a running session may use its settings.
    pub fn add(&self, projects: &[PathBuf]) {
        let is_new = |known: &[PathBuf], project: &PathBuf| !known.contains(project);
        let known = self.snapshot();
        if !projects.iter().any(|project| is_new(&known, project)) {
            return;
        }
        let mut shared = self.0.write();
        let added = projects.iter().filter(|project| is_new(&shared, project));
        *shared = shared.iter().chain(added).cloned().collect();
    }

    pub(crate) fn snapshot(&self) -> Arc<[PathBuf]> {
        Arc::clone(&self.0.read())
    }
}

impl FromIterator<PathBuf> for TrustedProjects {
    fn from_iter<I: IntoIterator<Item = PathBuf>>(projects: I) -> Self {
        Self(Arc::new(RwLock::new(projects.into_iter().collect())))
    }
}

/// Whether a root at `path` would give access to files that control the engine.
pub(crate) fn controls_engine(home: &Path, path: &Path) -> bool {
    path == home
        || PROTECTED_HOME_FOLDERS
            .iter()
            .any(|name| path.starts_with(home.join(name)))
}
