//! The entries that a policy needs in the access lists of files and folders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::list::AccessEntry;
use super::sid::Sid;
use crate::file_rules::{FileRules, WhenAbsent};

/// What has to be in access lists, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccessPlan {
    /// The identifiers of the writable roots.
    pub(crate) sids: Vec<Sid>,
    /// The entries of each path for these identifiers.
    pub(crate) entries: BTreeMap<PathBuf, Vec<AccessEntry>>,
    /// Paths that do not exist and that commands must not create, with the entries of what is placed there.
    pub(crate) placeholders: BTreeMap<PathBuf, Vec<AccessEntry>>,
}

/// A writable root and its identifier.
struct Root<'a> {
    path: &'a Path,
    sid: Sid,
}

impl AccessPlan {
    /// `is_folder` says what is at a path; none if there is nothing.
    pub(crate) fn from_rules(rules: &FileRules, is_folder: impl Fn(&Path) -> Option<bool>) -> Self {
        let roots: Vec<_> = (rules.writable.iter())
            .map(|path| Root {
                path,
                sid: Sid::of_root(path),
            })
            .collect();
        let mut plan = Self {
            sids: roots.iter().map(|root| root.sid.clone()).collect(),
            entries: BTreeMap::new(),
            placeholders: BTreeMap::new(),
        };
        for root in &roots {
            let entries = AccessEntry::of_root(&root.sid, is_folder(root.path).unwrap_or(true));
            plan.add(root.path, entries);
            for outer in roots_containing(&roots, root.path) {
                plan.keep_in_place(outer, root.path);
                plan.add(root.path, [AccessEntry::preventing_moves(&outer.sid)]);
            }
        }
        let is_root = |path: &PathBuf| rules.writable.contains(path);
        for protected in rules.protected.iter().filter(|it| !is_root(&it.path)) {
            let path = &protected.path;
            let kind = is_folder(path);
            if kind.is_none() && protected.when_absent == WhenAbsent::Ignore {
                continue;
            }
            for root in roots_containing(&roots, path) {
                plan.keep_in_place(root, path);
                let entry = AccessEntry::protecting(&root.sid, kind.unwrap_or(true));
                match kind {
                    Some(_) => plan.add(path, [entry]),
                    None => {
                        let placed = plan.placeholders.entry(path.clone());
                        placed.or_default().push(entry);
                    }
                }
            }
        }
        plan
    }

    /// Forbids to move the folders between a root and a path in it: another path would be at its place.
    fn keep_in_place(&mut self, root: &Root<'_>, path: &Path) {
        let folders = path.ancestors().skip(1);
        for folder in folders.take_while(|folder| *folder != root.path) {
            self.add(folder, [AccessEntry::preventing_moves(&root.sid)]);
        }
    }

    /// Adds entries without those whose denials another entry includes.
    fn add(&mut self, path: &Path, entries: impl IntoIterator<Item = AccessEntry>) {
        let known = self.entries.entry(path.to_path_buf()).or_default();
        for entry in entries {
            if !known.iter().any(|other| other.denies_all_of(&entry)) {
                known.retain(|other| !entry.denies_all_of(other));
                known.push(entry);
            }
        }
    }
}

/// The roots that a path is in.
fn roots_containing<'r, 'a>(
    roots: &'r [Root<'a>],
    path: &'r Path,
) -> impl Iterator<Item = &'r Root<'a>> {
    let inside = move |root: &&Root<'_>| path.starts_with(root.path) && path != root.path;
    roots.iter().filter(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_rules::{ProtectedPath, ReadScope};

    fn plan(writable: &[&str], protected: &[&str], absent: &[&str]) -> AccessPlan {
        let protected = protected.iter().chain(absent).map(|path| ProtectedPath {
            path: path.into(),
            when_absent: WhenAbsent::KeepAbsent,
        });
        let rules = FileRules {
            read: ReadScope::Everything,
            writable: writable.iter().map(PathBuf::from).collect(),
            protected: protected.collect(),
            hidden: Vec::new(),
            masked: Vec::new(),
            untrusted: Vec::new(),
        };
        AccessPlan::from_rules(&rules, |path| {
            let is_absent = absent.iter().any(|absent| path == Path::new(absent));
            (!is_absent).then_some(true)
        })
    }

    fn sid(root: &str) -> Sid {
        Sid::of_root(Path::new(root))
    }

    fn entries(plan: &AccessPlan, path: &str) -> Vec<AccessEntry> {
        plan.entries
            .get(Path::new(path))
            .cloned()
            .unwrap_or_default()
    }

    #[test]
    fn roots_are_writable_except_protected_paths() {
        let plan = plan(&["/w", "/t"], &["/w/.git"], &["/w/.codex"]);
        assert_eq!(plan.sids, [sid("/w"), sid("/t")]);
        for root in ["/w", "/t"] {
            let expected = AccessEntry::of_root(&sid(root), true);
            assert_eq!(entries(&plan, root), expected);
        }
        let protecting = [AccessEntry::protecting(&sid("/w"), true)];
        assert_eq!(entries(&plan, "/w/.git"), protecting);
        assert_eq!(plan.placeholders[Path::new("/w/.codex")], protecting);
        assert_eq!(plan.entries.len(), 3);
    }

    #[test]
    fn without_roots_there_is_nothing_to_write() {
        let plan = plan(&[], &[], &[]);
        assert_eq!((plan.sids.len(), plan.entries.len()), (0, 0));
    }

    #[test]
    fn parent_folders_of_protected_paths_cannot_be_moved() {
        let plan = plan(
            &["/w"],
            &["/w/a/.git", "/w/a/.git/hooks"],
            &["/w/b/c/.codex"],
        );
        let fixing = [AccessEntry::preventing_moves(&sid("/w"))];
        for folder in ["/w/a", "/w/b", "/w/b/c"] {
            assert_eq!(entries(&plan, folder), fixing, "{folder}");
        }
        let protecting = [AccessEntry::protecting(&sid("/w"), true)];
        assert_eq!(entries(&plan, "/w/a/.git"), protecting);
        assert_eq!(entries(&plan, "/w"), AccessEntry::of_root(&sid("/w"), true));
    }

    #[test]
    fn roots_in_roots_stay_and_protect_for_both() {
        let plan = plan(&["/t", "/t/a/w"], &["/t/a/w/.git", "/t/a/w"], &[]);
        let (outer, inner) = (sid("/t"), sid("/t/a/w"));
        assert_eq!(
            entries(&plan, "/t/a"),
            [AccessEntry::preventing_moves(&outer)]
        );
        let mut root = AccessEntry::of_root(&inner, true);
        root.push(AccessEntry::preventing_moves(&outer));
        assert_eq!(entries(&plan, "/t/a/w"), root);
        let both = [outer, inner].map(|sid| AccessEntry::protecting(&sid, true));
        assert_eq!(entries(&plan, "/t/a/w/.git"), both);
    }

    #[test]
    fn missing_paths_can_be_created_in_a_shared_folder() {
        let rules = FileRules {
            read: ReadScope::Everything,
            writable: vec!["/t".into()],
            protected: vec![ProtectedPath {
                path: "/t/a/.git".into(),
                when_absent: WhenAbsent::Ignore,
            }],
            hidden: Vec::new(),
            masked: Vec::new(),
            untrusted: Vec::new(),
        };
        let plan = AccessPlan::from_rules(&rules, |path| (path == Path::new("/t")).then_some(true));
        assert!(plan.placeholders.is_empty());
        assert_eq!(plan.entries.len(), 1);
    }
}
