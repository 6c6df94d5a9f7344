//! Which paths a policy stands for.
//!
//! Looks at the file system (what exists, where links and `.git` files lead) but changes nothing.
//! Every path in a [`FileRules`] is absolute; those that exist have their links resolved.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use crate::policy::{Network, Policy, ReadAccess, Surroundings};

/// Names directly below a writable root that stay read-only: what they hold decides what later
/// runs outside the sandbox.
const PROTECTED_NAMES: [&str; 3] = [".git", ".agents", ".codex"];

/// Where programs and libraries live.
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

/// A `.git` file or `commondir` file is one line; more than this is none.
const POINTER_FILE_LIMIT: u64 = 8 * 1024;

/// What commands may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadScope {
    /// Everything.
    Everything,
    /// What lies in one of these.
    Only(Vec<PathBuf>),
}

/// What happens to a protected path that does not exist when a command starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenAbsent {
    /// Commands may create it: shared folders such as `/tmp`.
    Ignore,
    /// Commands may not create it. For that an empty folder stands in its place meanwhile, which
    /// others see too.
    KeepAbsent,
}

/// A path inside a writable root that commands may not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedPath {
    /// The path; its last component may be a link.
    pub path: PathBuf,
    /// What if it is not there.
    pub when_absent: WhenAbsent,
}

/// An enforced policy as paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRules {
    /// What may be read.
    pub read: ReadScope,
    /// Folders (or files) that may be written.
    pub writable: Vec<PathBuf>,
    /// What may not be written after all.
    pub protected: Vec<ProtectedPath>,
    /// What may be neither read nor written.
    pub hidden: Vec<PathBuf>,
}

impl FileRules {
    /// The rules of a policy, or `None` if it is not enforced here.
    #[must_use]
    pub fn of(policy: &Policy, surroundings: &Surroundings) -> Option<Self> {
        let (read, mut candidates) = match policy {
            Policy::DangerFullAccess | Policy::External { .. } => return None,
            Policy::ReadOnly { read, .. } => (read, Vec::new()),
            Policy::WorkspaceWrite(options) => {
                let mut candidates = vec![(surroundings.cwd.clone(), WhenAbsent::KeepAbsent)];
                for root in &options.writable_roots {
                    candidates.push((surroundings.cwd.join(root), WhenAbsent::KeepAbsent));
                }
                if options.slash_tmp && Path::new("/tmp").is_dir() {
                    candidates.push((PathBuf::from("/tmp"), WhenAbsent::Ignore));
                }
                let tmpdir = surroundings.tmpdir.as_ref().filter(|_| options.tmpdir);
                if let Some(tmpdir) = tmpdir.filter(|path| path.is_absolute()) {
                    candidates.push((tmpdir.clone(), WhenAbsent::Ignore));
                }
                (&options.read, candidates)
            }
        };
        for path in &surroundings.grants.write {
            candidates.push((surroundings.cwd.join(path), WhenAbsent::KeepAbsent));
        }
        let mut rules = Self {
            read: ReadScope::Everything,
            writable: Vec::new(),
            protected: Vec::new(),
            hidden: resolve_all(&surroundings.cwd, &surroundings.hidden),
        };
        for (path, when_absent) in candidates {
            rules.add_root(&path, when_absent);
        }
        rules.protect_enclosing_project(&surroundings.cwd);
        rules.keep_protection_where_it_matters();
        rules.read = rules.read_scope(read, surroundings);
        Some(rules)
    }

    /// Whether a write to `path` is allowed. `path` must be absolute with its links resolved (for
    /// a file that does not exist: those of its folder). The most specific entry decides.
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
            &mut (self.protected.iter().map(|entry| entry.path.as_path()))
                .chain(self.hidden.iter().map(PathBuf::as_path)),
        );
        root.is_some() && root >= refused
    }

    fn add_root(&mut self, path: &Path, when_absent: WhenAbsent) {
        let Ok(path) = path.canonicalize() else {
            return;
        };
        if path.is_dir() {
            for name in PROTECTED_NAMES {
                self.protect(path.join(name), when_absent);
            }
        }
        if !self.writable.contains(&path) {
            self.writable.push(path);
        }
    }

    /// The project may begin above the working folder and still lie in another root: in `/tmp`.
    fn protect_enclosing_project(&mut self, cwd: &Path) {
        let Ok(cwd) = cwd.canonicalize() else {
            return;
        };
        for folder in cwd.ancestors().skip(1) {
            for name in PROTECTED_NAMES {
                self.protect(folder.join(name), WhenAbsent::Ignore);
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

    /// What lies outside of every root is read-only anyway.
    fn keep_protection_where_it_matters(&mut self) {
        let writable = &self.writable;
        self.protected.retain(|entry| {
            writable
                .iter()
                .any(|root| entry.path.starts_with(root) && entry.path != *root)
        });
    }

    fn read_scope(&self, read: &ReadAccess, surroundings: &Surroundings) -> ReadScope {
        let ReadAccess::Restricted {
            platform_defaults,
            roots,
        } = read
        else {
            return ReadScope::Everything;
        };
        let mut readable = resolve_all(&surroundings.cwd, roots);
        readable.extend(resolve_all(&surroundings.cwd, &surroundings.grants.read));
        readable.extend(surroundings.cwd.canonicalize());
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

/// The network access of a policy and its grants.
pub(crate) fn effective_network(policy: &Policy, surroundings: &Surroundings) -> Network {
    if surroundings.grants.network {
        Network::Enabled
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

/// Where a `.git` file leads: the folder of the work tree and the folder shared by all of them,
/// which holds the hooks.
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

/// Removes `.` and `..` by text.
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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        (folder, path)
    }

    fn no_temp() -> Policy {
        Policy::WorkspaceWrite(WorkspaceWrite {
            slash_tmp: false,
            tmpdir: false,
            ..WorkspaceWrite::default()
        })
    }

    fn rules(policy: &Policy, surroundings: &Surroundings) -> FileRules {
        FileRules::of(policy, surroundings).unwrap()
    }

    #[test]
    fn open_policies_have_no_rules() {
        let here = Surroundings::of("/");
        assert_eq!(FileRules::of(&Policy::DangerFullAccess, &here), None);
        let network = Network::Restricted;
        assert_eq!(FileRules::of(&Policy::External { network }, &here), None);
    }

    #[test]
    fn the_working_folder_is_writable_but_not_its_metadata() {
        let (_guard, root) = workspace();
        let rules = rules(&no_temp(), &Surroundings::of(&root));
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
        let policy = Policy::WorkspaceWrite(WorkspaceWrite {
            writable_roots: vec![root.clone()],
            slash_tmp: false,
            ..WorkspaceWrite::default()
        });
        let rules = rules(&policy, &Surroundings::of(cwd));
        assert!(!rules.may_write(&root.join("project/.git/config")));
        assert!(rules.may_write(&root.join("project/x")));
    }

    #[test]
    fn roots_are_joined_resolved_and_skipped_if_missing() {
        let (_guard, root) = workspace();
        fs::create_dir_all(root.join("work")).unwrap();
        fs::create_dir_all(root.join("target")).unwrap();
        std::os::unix::fs::symlink(root.join("target"), root.join("link")).unwrap();
        let policy = Policy::WorkspaceWrite(WorkspaceWrite {
            writable_roots: vec!["../link".into(), "../none".into()],
            slash_tmp: false,
            ..WorkspaceWrite::default()
        });
        let rules = rules(&policy, &Surroundings::of(root.join("work")));
        assert_eq!(rules.writable, [root.join("work"), root.join("target")]);
    }

    #[test]
    fn temporary_folders_follow_the_flags_and_may_get_a_repository() {
        let (_guard, root) = workspace();
        let tmp = root.join("tmp");
        fs::create_dir(&tmp).unwrap();
        let surroundings = Surroundings {
            tmpdir: Some(tmp.clone()),
            ..Surroundings::of("/usr")
        };
        let with = rules(
            &Policy::WorkspaceWrite(WorkspaceWrite::default()),
            &surroundings,
        );
        assert!(with.may_write(Path::new("/tmp/x")) && with.may_write(&tmp.join("x")));
        let git = with
            .protected
            .iter()
            .find(|entry| entry.path == tmp.join(".git"));
        assert_eq!(git.unwrap().when_absent, WhenAbsent::Ignore);
        let without = rules(&no_temp(), &surroundings);
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
        let policy = Policy::WorkspaceWrite(WorkspaceWrite {
            writable_roots: vec![root.clone()],
            slash_tmp: false,
            ..WorkspaceWrite::default()
        });
        let rules = rules(&policy, &Surroundings::of(&tree));
        assert!(!rules.may_write(&git_dir.join("HEAD")));
        assert!(!rules.may_write(&root.join("main/.git/hooks/pre-commit")));
        assert!(rules.may_write(&root.join("main/src")));
    }

    #[test]
    fn a_link_protects_its_target_too() {
        let (_guard, root) = workspace();
        fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.join(".git")).unwrap();
        let rules = rules(&no_temp(), &Surroundings::of(&root));
        assert!(!rules.may_write(&root.join("real/config")));
        assert!(!rules.may_write(&root.join(".git")));
    }

    #[test]
    fn grants_widen_by_exactly_their_paths() {
        let (_guard, root) = workspace();
        let extra = root.join("extra");
        fs::create_dir(&extra).unwrap();
        let surroundings = Surroundings {
            grants: Grants {
                write: vec![extra.clone()],
                network: true,
                ..Grants::default()
            },
            ..Surroundings::of(&root)
        };
        let rules = rules(&Policy::read_only(), &surroundings);
        assert!(rules.may_write(&extra.join("a")));
        assert!(!rules.may_write(&root.join("a")));
        let network = effective_network(&Policy::read_only(), &surroundings);
        assert_eq!(network, Network::Enabled);
    }

    #[test]
    fn restricted_reading_names_what_is_readable() {
        let (_guard, root) = workspace();
        let policy = Policy::ReadOnly {
            read: ReadAccess::Restricted {
                platform_defaults: true,
                roots: vec![],
            },
            network: Network::Restricted,
        };
        let ReadScope::Only(readable) = rules(&policy, &Surroundings::of(&root)).read else {
            panic!("reading is not restricted");
        };
        assert!(readable.contains(&root));
        assert!(readable.contains(&PathBuf::from("/usr")));
        assert!(!readable.contains(&PathBuf::from("/root")));
    }
}
