//! Finds the project of a folder: its root, the folders between, and the repository.

use std::path::{Path, PathBuf};

use crate::read::read_bounded;

/// What marks a checkout of a repository.
const REPOSITORY: &str = ".git";

/// The project of a working folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFolders {
    pub cwd: PathBuf,
    /// The nearest ancestor with a root marker, else the working folder.
    pub root: PathBuf,
    /// The root of the git repository. For a worktree: that of the main checkout.
    pub repository: Option<PathBuf>,
}

impl ProjectFolders {
    /// Finds the project of a folder.
    pub fn discover(cwd: &Path, root_markers: &[String]) -> Self {
        let root = marked_root(cwd, root_markers);
        // Mostly there is no other marker, and one look at the folders tells both.
        let checkout = match root_markers {
            [marker] if marker == REPOSITORY => root,
            _ => codex_project_markers::marked_folder(cwd, REPOSITORY),
        };
        Self {
            cwd: cwd.to_path_buf(),
            root: root.unwrap_or(cwd).to_path_buf(),
            repository: checkout.map(repository_of),
        }
    }

    /// The folders from the root down to the working folder.
    pub fn folders(&self) -> Vec<&Path> {
        let mut folders: Vec<&Path> = self
            .cwd
            .ancestors()
            .take_while(|folder| folder.starts_with(&self.root))
            .collect();
        folders.reverse();
        folders
    }

    /// The worktrees of a repository that can be found.
    pub(crate) fn worktrees(repository: &Path) -> Vec<PathBuf> {
        let entries = codex_mounts::read_dir(repository.join(".git/worktrees"));
        let links = entries.into_iter().flatten().filter_map(|entry| {
            let entry = entry.ok()?.path();
            let link = read_bounded(&entry.join("gitdir")).ok()??;
            codex_mounts::canonicalize(entry.join(link.trim())).ok()
        });
        let folders = links.filter_map(|link| Some(link.parent()?.to_path_buf()));
        folders
            .filter(|folder| worktree_of(folder, repository))
            .collect()
    }

    /// The folder under which the trust decision is stored.
    pub fn trust_key(&self) -> &Path {
        self.repository.as_deref().unwrap_or(&self.root)
    }
}

/// The nearest ancestor that contains one of the markers, else the folder itself.
pub(crate) fn find_root(cwd: &Path, markers: &[String]) -> PathBuf {
    marked_root(cwd, markers).unwrap_or(cwd).to_path_buf()
}

fn marked_root<'a>(cwd: &'a Path, markers: &[String]) -> Option<&'a Path> {
    cwd.ancestors().find(|folder| is_root(folder, markers))
}

/// Whether a folder has one of the markers.
pub(crate) fn is_root(folder: &Path, markers: &[String]) -> bool {
    let has = |marker: &String| codex_project_markers::has_marker(folder, marker);
    markers
        .iter()
        .any(|marker| !marker.is_empty() && has(marker))
}

/// The repository of a checkout.
fn repository_of(checkout: &Path) -> PathBuf {
    main_checkout(checkout).unwrap_or_else(|| checkout.to_path_buf())
}

/// Whether a folder is the root of a worktree of a repository.
pub(crate) fn worktree_of(folder: &Path, repository: &Path) -> bool {
    let same = |main: PathBuf| {
        main == repository || codex_mounts::canonicalize(&main).ok().as_deref() == Some(repository)
    };
    main_checkout(folder).is_some_and(same)
}

/// The main checkout of a worktree. The worktree's `.git` file names a folder of the main repository. That folder must
/// name the worktree in turn; otherwise any folder could claim to belong to a trusted repository.
fn main_checkout(worktree: &Path) -> Option<PathBuf> {
    let link = worktree.join(".git");
    let git_dir = read_bounded(&link).ok()??;
    let git_dir = worktree.join(git_dir.strip_prefix("gitdir:")?.trim());
    let back = read_bounded(&git_dir.join("gitdir")).ok()??;
    let back = codex_mounts::canonicalize(git_dir.join(back.trim())).ok()?;
    if back != codex_mounts::canonicalize(&link).ok()? {
        return None;
    }
    let worktrees = git_dir.parent()?;
    let repository = worktrees.parent()?;
    let well_formed = worktrees.file_name()? == "worktrees" && repository.file_name()? == ".git";
    well_formed.then(|| repository.parent().map(Path::to_path_buf))?
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn markers() -> Vec<String> {
        vec![".git".to_owned()]
    }

    fn home() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = dunce::canonicalize(folder.path()).unwrap();
        (folder, path)
    }

    #[test]
    fn the_nearest_marker_is_the_root() {
        let (_guard, top) = home();
        let deep = top.join("repo/a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir(top.join("repo/.git")).unwrap();
        let project = ProjectFolders::discover(&deep, &markers());
        assert_eq!(project.root, top.join("repo"));
        assert_eq!(project.repository, Some(top.join("repo")));
        assert_eq!(
            project.folders(),
            [top.join("repo"), top.join("repo/a"), deep.clone()],
        );
        let other = ProjectFolders::discover(&deep, &["package.json".to_owned()]);
        assert_eq!(other.root, deep);
        assert_eq!(other.folders(), [deep.as_path()]);
        assert_eq!(other.trust_key(), top.join("repo"));
        assert_eq!(ProjectFolders::discover(&deep, &[]).root, deep);
    }

    /// A worktree `tree` of `main`; `back` is what the main repository says of it.
    fn worktree(top: &Path, back: &Path) -> PathBuf {
        let tree = top.join("tree");
        let git_dir = top.join("main/.git/worktrees/tree");
        fs::create_dir_all(&git_dir).unwrap();
        fs::create_dir(&tree).unwrap();
        fs::write(
            tree.join(".git"),
            format!("gitdir: {}\n", git_dir.display()),
        )
        .unwrap();
        fs::write(git_dir.join("gitdir"), format!("{}\n", back.display())).unwrap();
        tree
    }

    #[test]
    fn a_worktree_belongs_to_its_main_checkout() {
        let (_guard, top) = home();
        let tree = worktree(&top, &top.join("tree/.git"));
        let project = ProjectFolders::discover(&tree, &markers());
        assert_eq!(project.root, tree);
        assert_eq!(project.repository, Some(top.join("main")));
        assert_eq!(ProjectFolders::worktrees(&top.join("main")), [tree]);
    }

    #[cfg(unix)]
    #[test]
    fn project_marker_in_a_shared_folder_is_ignored() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_guard, top) = home();
        let shared = top.join("shared");
        fs::create_dir_all(shared.join("deep")).unwrap();
        fs::create_dir(shared.join(".git")).unwrap();
        assert_eq!(find_root(&shared.join("deep"), &markers()), shared);
        fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!(
            find_root(&shared.join("deep"), &markers()),
            shared.join("deep")
        );
        let repository = |folder: &Path| ProjectFolders::discover(folder, &markers()).repository;
        assert_eq!(repository(&shared.join("deep")), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_placeholder_of_the_sandbox_is_no_root() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_guard, top) = home();
        let sub = top.join("repo/sub");
        fs::create_dir_all(sub.join(".git")).unwrap();
        fs::create_dir(top.join("repo/.git")).unwrap();
        assert_eq!(find_root(&sub, &markers()), sub);
        fs::set_permissions(sub.join(".git"), fs::Permissions::from_mode(0o1755)).unwrap();
        assert_eq!(find_root(&sub, &markers()), top.join("repo"));
        let repository = ProjectFolders::discover(&sub, &[]).repository;
        assert_eq!(repository, Some(top.join("repo")));
        fs::write(sub.join(".git/HEAD"), "").unwrap();
        assert_eq!(find_root(&sub, &markers()), sub);
    }

    #[test]
    fn a_folder_cannot_claim_to_be_a_worktree() {
        let (_guard, top) = home();
        fs::write(top.join("other"), "").unwrap();
        let tree = worktree(&top, &top.join("other"));
        let project = ProjectFolders::discover(&tree, &markers());
        assert_eq!(project.repository, Some(tree));
    }
}
