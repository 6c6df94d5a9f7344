//! Paths that differ in case alone. Disks of macOS and Windows find a file by each of them.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::fs_node::FsNode;
use crate::observe::node_at;

/// The paths of a restore, by their lower case.
pub(crate) struct CaseVariants<'a> {
    spellings: HashMap<String, Vec<&'a Path>>,
    /// The names in a folder. None if it cannot be listed.
    names: HashMap<PathBuf, Option<HashSet<OsString>>>,
}

impl<'a> CaseVariants<'a> {
    pub(crate) fn from_paths(paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        let mut spellings: HashMap<String, Vec<&Path>> = HashMap::new();
        for path in paths {
            spellings.entry(lower_case(path)).or_default().push(path);
        }
        spellings.retain(|_, paths| paths.len() > 1);
        let names = HashMap::new();
        Self { spellings, names }
    }

    /// What is at a path, in this spelling.
    pub(crate) fn node_at(&mut self, path: &Path) -> io::Result<FsNode> {
        if self.is_spelled_otherwise(path) {
            return Ok(FsNode::Missing);
        }
        node_at(path)
    }

    /// Whether the disk has one of the other spellings, or nothing.
    fn is_spelled_otherwise(&mut self, path: &Path) -> bool {
        let Some(spellings) = self.spellings.get(&lower_case(path)) else {
            return false;
        };
        let others = spellings.iter().filter(|other| **other != path);
        let Some(common) = others.map(|other| common_components(path, other)).min() else {
            return false;
        };
        let mut folder: PathBuf = path.components().take(common).collect();
        path.components().skip(common).any(|name| {
            let is_there = self.has_name(&folder, name);
            folder.push(name);
            !is_there
        })
    }

    fn has_name(&mut self, folder: &Path, name: Component<'_>) -> bool {
        if !self.names.contains_key(folder) {
            let names = codex_mounts::read_dir(folder).and_then(|entries| {
                let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
                names.collect()
            });
            self.names.insert(folder.to_owned(), names.ok());
        }
        let names = self.names.get(folder).and_then(Option::as_ref);
        names.is_none_or(|names| names.contains(name.as_os_str()))
    }
}

fn lower_case(path: &Path) -> String {
    path.to_string_lossy().to_lowercase()
}

fn common_components(one: &Path, other: &Path) -> usize {
    let both = one.components().zip(other.components());
    both.take_while(|(one, other)| one == other).count()
}
