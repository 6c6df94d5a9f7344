//! Converts a policy to paths.
//!
//! Reads the file system (existence, links, `.git` files) but changes nothing. All paths in [`FileRules`] are absolute,
//! with links resolved if they exist.

use std::cell::LazyCell;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use crate::bindings::RootState;
use crate::engine_files::{EngineFiles, controls_engine};
use crate::markers::{PROTECTED_NAMES, is_shared_folder};
use crate::policy::{ConfinementPolicy, NetworkMode, PolicyContext, ReadAccess};

/// The folders of programs and libraries.
const PLATFORM_DEFAULTS: [&str; 8] = [
    "/bin",
    "/sbin",
    "/usr",
    "/etc",
    "/lib",
    "/lib64",
    "/nix/store",
    "/run/current-system/sw",
];

/// `.git` and `commondir` files contain one line; larger files are ignored.
const POINTER_FILE_LIMIT: u64 = 8 * 1024;

/// What commands may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadScope {
    /// Everything.
    Everything,
    /// Only paths inside these folders.
    Only(Vec<PathBuf>),
}

/// What to do about a protected path that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenAbsent {
    /// Commands may create it. For shared folders such as `/tmp`.
    Ignore,
    /// Commands may not create it. An empty folder is placed there meanwhile, which other programs see too.
    KeepAbsent,
}

/// A path inside a writable root that commands may not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedPath {
    /// The path; its last component may be a link.
    pub path: PathBuf,
    /// What to do if it does not exist.
    pub when_absent: WhenAbsent,
}

/// An enforced policy as paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRules {
    pub read: ReadScope,
    /// Writable folders and files.
    pub writable: Vec<PathBuf>,
    /// Exceptions from `writable`.
    pub protected: Vec<ProtectedPath>,
    /// Paths that may be neither read nor written.
    pub hidden: Vec<PathBuf>,
    /// Like `hidden`, but only if mounts are available; otherwise the rest of the policy is enforced without them.
    pub masked: Vec<PathBuf>,
    /// Requested roots, as written, that are not writable because a command may have created a link on their path.
    pub untrusted: Vec<PathBuf>,
}

impl FileRules {
    /// The rules of a policy, or `None` if it is not enforced here.
    #[must_use]
    pub fn of(policy: &ConfinementPolicy, policy_context: &PolicyContext) -> Option<Self> {
        let (read, candidates) = wanted_roots(policy, policy_context)?;
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
        rules.protect_engine(engine, home);
        rules.remove_redundant_protection();
        rules.read = rules.read_scope(read, policy_context);
        let open = effective_network(policy, policy_context) == NetworkMode::Enabled;
        rules.mask(engine, open, &policy_context.cwd);
        Some(rules)
    }

    /// Resolves the roots of a policy now, so that later commands cannot change them.
    pub fn resolve_roots(policy: &ConfinementPolicy, policy_context: &PolicyContext) {
        let Some((read, candidates)) = wanted_roots(policy, policy_context) else {
            return;
        };
        let resolved_roots = &policy_context.engine.resolved_roots;
        let paths = LazyCell::new(|| existing_paths(&candidates));
        for candidate in &candidates {
            resolved_roots.resolve_once(&candidate.path, || &paths);
        }
        for path in wanted_reads(read, policy_context) {
            resolved_roots.resolve_once(&path, || &paths);
        }
    }

    /// Paths that may be neither read nor written, if mounts are available.
    pub(crate) fn invisible(&self) -> impl Iterator<Item = &Path> {
        let paths = self.hidden.iter().chain(&self.masked);
        paths.map(PathBuf::as_path)
    }

    /// Whether a path is hidden.
    #[must_use]
    pub fn hides(&self, path: &Path) -> bool {
        self.invisible().any(|hidden| path.starts_with(hidden))
    }

    /// Whether a write to `path` is allowed. `path` must be absolute with links resolved (for a new file: those of its
    /// folder). The most specific entry applies.
    #[must_use]
    pub fn may_write(&self, path: &Path) -> bool {
        let depth = |entry: &Path| entry.components().count();
        let deepest = |entries: &mut dyn Iterator<Item = &Path>| {
            entries
                .filter(|entry| path.starts_with(entry))
                .map(depth)
                .max()
        };
        let root = deepest(&mut self.writable.iter().map(PathBuf::as_path));
        let refused = deepest(
            &mut (self.protected.iter().map(|entry| entry.path.as_path())).chain(self.invisible()),
        );
        root.is_some() && root >= refused
    }

    fn add_roots(
        &mut self,
        candidates: &[CandidateRoot],
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
        if path.is_dir() {
            let when_absent = if is_shared_folder(&path) {
                WhenAbsent::Ignore
            } else {
                WhenAbsent::KeepAbsent
            };
            self.add_root(path, when_absent);
        }
    }

    fn add_root(&mut self, path: PathBuf, when_absent: WhenAbsent) {
        if path.is_dir() {
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
        let Ok(cwd) = cwd.canonicalize() else {
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

    /// Protects the home folder and the settings of trusted projects, so that nothing written by a command affects the
    /// engine later.
    fn protect_engine(&mut self, engine: &EngineFiles, home: Option<PathBuf>) {
        if let Some(path) = home {
            self.protect(path, WhenAbsent::KeepAbsent);
        }
        for project in engine.trusted_projects.snapshot().iter() {
            if self.writable.iter().any(|root| project.starts_with(root)) && project.is_dir() {
                for name in PROTECTED_NAMES {
                    self.protect(project.join(name), WhenAbsent::KeepAbsent);
                }
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
        let cwd = cwd.canonicalize().unwrap_or_default();
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

    fn protect(&mut self, path: PathBuf, when_absent: WhenAbsent) {
        let mut targets = Vec::new();
        if let Ok(metadata) = path.symlink_metadata() {
            if metadata.is_symlink() {
                targets.extend(path.canonicalize());
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
    fn remove_redundant_protection(&mut self) {
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
        let wanted = wanted_reads(read, policy_context);
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
                    .filter_map(|path| Path::new(path).canonicalize().ok()),
            );
        }
        readable.sort();
        readable.dedup();
        ReadScope::Only(readable)
    }
}

/// A writable root that a policy requests.
struct CandidateRoot {
    path: PathBuf,
    is_temporary: bool,
}

impl CandidateRoot {
    fn named(path: PathBuf) -> Self {
        Self {
            path,
            is_temporary: false,
        }
    }

    fn temporary(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            is_temporary: true,
        }
    }
}

/// The readable and writable roots that a policy requests. `None` if it is not enforced here.
fn wanted_roots<'p>(
    policy: &'p ConfinementPolicy,
    policy_context: &PolicyContext,
) -> Option<(&'p ReadAccess, Vec<CandidateRoot>)> {
    let (read, mut candidates) = match policy {
        ConfinementPolicy::DangerFullAccess | ConfinementPolicy::External { .. } => return None,
        ConfinementPolicy::ReadOnly { read, .. } => (read, Vec::new()),
        ConfinementPolicy::WorkspaceWrite(options) => {
            let mut candidates = vec![CandidateRoot::named(policy_context.cwd.clone())];
            for root in &options.writable_roots {
                candidates.push(CandidateRoot::named(policy_context.cwd.join(root)));
            }
            if options.slash_tmp {
                candidates.push(CandidateRoot::temporary("/tmp"));
            }
            let tmpdir = policy_context.tmpdir.as_ref().filter(|_| options.tmpdir);
            if let Some(tmpdir) = tmpdir.filter(|path| path.is_absolute()) {
                candidates.push(CandidateRoot::temporary(tmpdir));
            }
            (&options.read, candidates)
        }
    };
    for path in &policy_context.grants.write {
        candidates.push(CandidateRoot::named(policy_context.cwd.join(path)));
    }
    Some((read, candidates))
}

/// The folders of restricted reading. They are resolved like writable roots: a link created by a command must not make
/// other paths readable.
fn wanted_reads(read: &ReadAccess, policy_context: &PolicyContext) -> Vec<PathBuf> {
    let ReadAccess::Restricted { roots, .. } = read else {
        return Vec::new();
    };
    let named = roots.iter().chain(&policy_context.grants.read);
    let named = named.map(|root| policy_context.cwd.join(root));
    named.chain([policy_context.cwd.clone()]).collect()
}

/// The existing roots, with links resolved.
fn existing_paths(roots: &[CandidateRoot]) -> Vec<PathBuf> {
    let paths = roots.iter().map(|root| root.path.canonicalize());
    paths.filter_map(Result::ok).collect()
}

/// The network access of a policy with its additional permissions.
pub(crate) fn effective_network(
    policy: &ConfinementPolicy,
    policy_context: &PolicyContext,
) -> NetworkMode {
    if policy_context.grants.network {
        NetworkMode::Enabled
    } else {
        policy.network()
    }
}

fn resolve_all(cwd: &Path, paths: &[PathBuf]) -> Vec<PathBuf> {
    paths
        .iter()
        .filter_map(|path| cwd.join(path).canonicalize().ok())
        .collect()
}

/// The targets of a `.git` file: the worktree's git folder and the common git folder with the hooks.
fn git_folders(dot_git: &Path) -> Vec<PathBuf> {
    let Some(line) = first_line(dot_git) else {
        return Vec::new();
    };
    let Some(target) = line.strip_prefix("gitdir:") else {
        return Vec::new();
    };
    let base = dot_git.parent().unwrap_or(Path::new("/"));
    let git_dir = resolve_or_normalise(&base.join(target.trim()));
    let common = first_line(&git_dir.join("commondir"))
        .map(|line| resolve_or_normalise(&git_dir.join(line.trim())));
    std::iter::once(git_dir).chain(common).collect()
}

fn first_line(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let file = std::fs::File::open(path).ok()?;
    let mut text = String::new();
    file.take(POINTER_FILE_LIMIT)
        .read_to_string(&mut text)
        .ok()?;
    text.lines().next().map(str::to_owned)
}

fn resolve_or_normalise(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| normalise(path))
}

/// Resolves `.` and `..` lexically.
fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::policy::{Grants, WorkspaceWrite};

    fn workspace() -> (tempfile::TempDir, PathBuf) {
        // Not below `/tmp`, which some tests make writable: links there are not followed then.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    fn no_temp() -> ConfinementPolicy {
        ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
            slash_tmp: false,
            tmpdir: false,
            ..WorkspaceWrite::default()
        })
    }

    fn rules(policy: &ConfinementPolicy, policy_context: &PolicyContext) -> FileRules {
        FileRules::of(policy, policy_context).unwrap()
    }

    #[test]
    fn open_policies_have_no_rules() {
        let here = PolicyContext::of("/");
        assert_eq!(
            FileRules::of(&ConfinementPolicy::DangerFullAccess, &here),
            None
        );
        let network = NetworkMode::Restricted;
        assert_eq!(
            FileRules::of(&ConfinementPolicy::External { network }, &here),
            None
        );
    }

    #[test]
    fn the_working_folder_is_writable_but_not_its_metadata() {
        let (_guard, root) = workspace();
        let rules = rules(&no_temp(), &PolicyContext::of(&root));
        assert!(rules.may_write(&root.join("src/a")));
        for name in PROTECTED_NAMES {
            assert!(!rules.may_write(&root.join(name)));
            assert!(!rules.may_write(&root.join(name).join("hooks/x")));
        }
        assert!(rules.may_write(&root.join("sub/.git/config")));
        assert!(!rules.may_write(root.parent().unwrap()));
        assert!(!rules.may_write(Path::new("/etc/passwd")));
    }

    #[test]
    fn a_project_that_begins_above_the_working_folder_is_protected_too() {
        let (_guard, root) = workspace();
        let cwd = root.join("project/a/b");
        fs::create_dir_all(&cwd).unwrap();
        fs::create_dir_all(root.join("project/.git")).unwrap();
        let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
            writable_roots: vec![root.clone()],
            slash_tmp: false,
            ..WorkspaceWrite::default()
        });
        let rules = rules(&policy, &PolicyContext::of(cwd));
        assert!(!rules.may_write(&root.join("project/.git/config")));
        assert!(rules.may_write(&root.join("project/x")));
        for absent in [".codex", "project/.codex", "project/a/.agents", ".git"] {
            let path = root.join(absent);
            let entry = rules.protected.iter().find(|entry| entry.path == path);
            assert_eq!(entry.unwrap().when_absent, WhenAbsent::KeepAbsent);
        }
    }

    fn with_engine(cwd: &Path, engine: EngineFiles) -> PolicyContext {
        PolicyContext {
            engine: std::sync::Arc::new(engine),
            ..PolicyContext::of(cwd)
        }
    }

    #[test]
    fn the_engines_home_is_protected_as_a_whole() {
        let (_guard, root) = workspace();
        let home = root.join("home");
        for folder in ["memories", "rules", "worktrees/1"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        fs::write(home.join("auth.json"), "secret").unwrap();
        let of = |cwd: &Path, more: &[&str]| {
            let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
                writable_roots: more.iter().map(PathBuf::from).collect(),
                slash_tmp: false,
                ..WorkspaceWrite::default()
            });
            rules(&policy, &with_engine(cwd, EngineFiles::of_home(&home)))
        };
        let around = of(&root, &["home/memories", "home/rules"]);
        assert!(around.may_write(&root.join("x")));
        assert!(around.may_write(&home.join("memories/x")));
        for file in ["config.toml", "rules/default.rules", "auth.json", "new"] {
            assert!(!around.may_write(&home.join(file)), "{file}");
        }
        assert!(around.hides(&home.join("auth.json")));
        assert!(!of(&home, &[]).may_write(&home.join("config.toml")));
        assert!(!of(&home.join("rules"), &[]).may_write(&home.join("rules/x")));
        let worktree = home.join("worktrees/1");
        assert!(of(&worktree, &[]).may_write(&worktree.join("x")));
        assert!(!of(&worktree, &[]).may_write(&home.join("config.toml")));
    }

    #[test]
    fn trusted_projects_are_protected_wherever_they_are_writable() {
        let (_guard, root) = workspace();
        let project = root.join("a/project");
        fs::create_dir_all(&project).unwrap();
        let engine = EngineFiles {
            trusted_projects: [project.clone(), root.join("gone")].into_iter().collect(),
            ..EngineFiles::default()
        };
        let policy_context = with_engine(&root, engine);
        let before = rules(&no_temp(), &policy_context);
        assert!(!before.may_write(&project.join(".codex/config.toml")));
        assert!(before.may_write(&project.join("src/x")));
        let other = root.join("a/other");
        assert!(before.may_write(&other.join(".codex/config.toml")));
        // A session that starts later trusts another one.
        fs::create_dir(&other).unwrap();
        let later = policy_context.engine.for_another_session();
        later.trusted_projects.add(&[other.clone(), project]);
        let after = rules(&no_temp(), &policy_context);
        assert!(!after.may_write(&other.join(".codex/config.toml")));
    }

    #[test]
    fn sockets_of_services_are_hidden_with_the_network_on() {
        let (_guard, root) = workspace();
        for folder in ["run/bus", "run/work"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let service_sockets = [root.join("run"), root.join("run/bus"), root.join("none")];
        let masked = |cwd: &Path, network| {
            let engine = EngineFiles {
                service_sockets: service_sockets.clone().into(),
                ..EngineFiles::default()
            };
            let policy = ConfinementPolicy::ReadOnly {
                read: ReadAccess::Full,
                network,
            };
            rules(&policy, &with_engine(cwd, engine)).masked
        };
        assert_eq!(
            masked(Path::new("/"), NetworkMode::Enabled),
            [root.join("run")]
        );
        let inside = masked(&root.join("run/work"), NetworkMode::Enabled);
        assert_eq!(inside, [root.join("run/bus")]);
        assert!(masked(Path::new("/"), NetworkMode::Restricted).is_empty());
    }

    #[test]
    fn a_root_that_a_command_links_elsewhere_is_not_writable() {
        let (_guard, root) = workspace();
        for folder in ["work", "other"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
            writable_roots: vec!["later".into()],
            slash_tmp: false,
            ..WorkspaceWrite::default()
        });
        let policy_context = PolicyContext::of(root.join("work"));
        assert_eq!(
            rules(&policy, &policy_context).writable,
            [root.join("work")]
        );
        std::os::unix::fs::symlink("../other", root.join("work/later")).unwrap();
        let fresh = PolicyContext::of(root.join("work"));
        for policy_context in [policy_context, fresh] {
            let rules = rules(&policy, &policy_context);
            assert_eq!(rules.writable, [root.join("work")]);
            assert_eq!(rules.untrusted, [root.join("work/later")]);
        }
    }

    #[test]
    fn roots_are_joined_resolved_and_skipped_if_missing() {
        let (_guard, root) = workspace();
        fs::create_dir_all(root.join("work")).unwrap();
        fs::create_dir_all(root.join("target")).unwrap();
        std::os::unix::fs::symlink(root.join("target"), root.join("link")).unwrap();
        let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
            writable_roots: vec!["../link".into(), "../none".into()],
            slash_tmp: false,
            ..WorkspaceWrite::default()
        });
        let rules = rules(&policy, &PolicyContext::of(root.join("work")));
        assert_eq!(rules.writable, [root.join("work"), root.join("target")]);
    }

    #[test]
    fn temporary_folders_follow_the_flags_and_may_get_a_repository() {
        let (_guard, root) = workspace();
        let tmp = root.join("tmp");
        fs::create_dir(&tmp).unwrap();
        fs::set_permissions(&tmp, std::os::unix::fs::PermissionsExt::from_mode(0o1777)).unwrap();
        let policy_context = PolicyContext {
            tmpdir: Some(tmp.clone()),
            ..PolicyContext::of("/usr")
        };
        let with = rules(
            &ConfinementPolicy::WorkspaceWrite(WorkspaceWrite::default()),
            &policy_context,
        );
        assert!(with.may_write(Path::new("/tmp/x")) && with.may_write(&tmp.join("x")));
        let git = with
            .protected
            .iter()
            .find(|entry| entry.path == tmp.join(".git"));
        assert_eq!(git.unwrap().when_absent, WhenAbsent::Ignore);
        let without = rules(&no_temp(), &policy_context);
        assert!(!without.may_write(&tmp.join("x")));
    }

    #[test]
    fn a_git_file_protects_where_it_leads() {
        let (_guard, root) = workspace();
        let tree = root.join("tree");
        let git_dir = root.join("main/.git/worktrees/tree");
        fs::create_dir_all(&tree).unwrap();
        fs::create_dir_all(&git_dir).unwrap();
        fs::write(tree.join(".git"), "gitdir: ../main/.git/worktrees/tree\n").unwrap();
        fs::write(git_dir.join("commondir"), "../..\n").unwrap();
        let policy = ConfinementPolicy::WorkspaceWrite(WorkspaceWrite {
            writable_roots: vec![root.clone()],
            slash_tmp: false,
            ..WorkspaceWrite::default()
        });
        let rules = rules(&policy, &PolicyContext::of(&tree));
        assert!(!rules.may_write(&git_dir.join("HEAD")));
        assert!(!rules.may_write(&root.join("main/.git/hooks/pre-commit")));
        assert!(rules.may_write(&root.join("main/src")));
    }

    #[test]
    fn a_link_protects_its_target_too() {
        let (_guard, root) = workspace();
        fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.join(".git")).unwrap();
        let rules = rules(&no_temp(), &PolicyContext::of(&root));
        assert!(!rules.may_write(&root.join("real/config")));
        assert!(!rules.may_write(&root.join(".git")));
    }

    #[test]
    fn grants_widen_by_exactly_their_paths() {
        let (_guard, root) = workspace();
        let extra = root.join("extra");
        fs::create_dir(&extra).unwrap();
        let policy_context = PolicyContext {
            grants: Grants {
                write: vec![extra.clone()],
                network: true,
                ..Grants::default()
            },
            ..PolicyContext::of(&root)
        };
        let rules = rules(&ConfinementPolicy::read_only(), &policy_context);
        assert!(rules.may_write(&extra.join("a")));
        assert!(!rules.may_write(&root.join("a")));
        let network = effective_network(&ConfinementPolicy::read_only(), &policy_context);
        assert_eq!(network, NetworkMode::Enabled);
    }

    #[test]
    fn restricted_reading_names_what_is_readable() {
        let (_guard, root) = workspace();
        let policy = ConfinementPolicy::ReadOnly {
            read: ReadAccess::Restricted {
                platform_defaults: true,
                roots: vec![],
            },
            network: NetworkMode::Restricted,
        };
        let ReadScope::Only(readable) = rules(&policy, &PolicyContext::of(&root)).read else {
            panic!("reading is not restricted");
        };
        assert!(readable.contains(&root));
        assert!(readable.contains(&PathBuf::from("/usr")));
        assert!(!readable.contains(&PathBuf::from("/root")));
    }
}
