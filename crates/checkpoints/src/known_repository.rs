//! A repository as a source of old contents: git has those of tracked files that were not changed since they were added.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use codex_git::{ObjectId, TrackedFile, TrackedFiles, WorkingTree};
use tokio::runtime::Handle;

use crate::anchored_path::facts;
use crate::fs_node::FileFacts;

/// How much git is asked for at once.
const MAX_ANSWER_BYTES: u64 = 32 * 1024 * 1024;
const MAX_ANSWER_OBJECTS: usize = 2_000;

/// Larger attribute files are not read.
const MAX_ATTRIBUTES_BYTES: u64 = 1024 * 1024;

/// A repository whose index was read.
#[derive(Debug)]
pub(crate) struct KnownRepository {
    working_tree: WorkingTree,
    tracked: TrackedFiles,
    /// The index as it was read.
    index: Option<FileFacts>,
    /// Files that differ from what is stored of them.
    converted: HashSet<Box<[u8]>>,
}

impl KnownRepository {
    /// The repository around a folder. None if there is none, or its index cannot be read.
    pub(crate) fn around(folder: &Path, attributes: &[PathBuf], scratch: &Path) -> Option<Self> {
        let found = Handle::current().block_on(WorkingTree::around(folder));
        let working_tree = found
            .inspect_err(|error| tracing::debug!(%error, "no repository to take contents from"))
            .ok()?;
        let mut repository = Self {
            working_tree,
            tracked: TrackedFiles::new(),
            index: None,
            converted: HashSet::new(),
        };
        repository.read(attributes, scratch)?;
        Some(repository)
    }

    pub(crate) fn top(&self) -> &Path {
        self.working_tree.top()
    }

    /// Whether the index is as it was when it was read.
    pub(crate) fn is_current(&self) -> bool {
        facts(&self.working_tree.index()).ok() == self.index
    }

    /// Reads the index again if it has changed.
    pub(crate) fn refresh(&mut self, attributes: &[PathBuf], scratch: &Path) {
        if !self.is_current() && self.read(attributes, scratch).is_none() {
            self.tracked = TrackedFiles::new();
        }
    }

    fn read(&mut self, attributes: &[PathBuf], scratch: &Path) -> Option<()> {
        self.index = facts(&self.working_tree.index()).ok();
        self.tracked = self.working_tree.tracked_files().ok()??;
        self.converted.clear();
        if self.may_convert(attributes) {
            let paths = self.tracked.keys().map(|path| &**path);
            let converted = self.working_tree.converted(paths, scratch);
            let converted = Handle::current().block_on(converted).ok()?;
            self.converted.extend(converted);
        }
        Some(())
    }

    /// Whether an attribute may make files differ from what is stored of them.
    fn may_convert(&self, attributes: &[PathBuf]) -> bool {
        let index = self.working_tree.index();
        let git_dir = index.parent().unwrap_or(&index);
        let home = std::env::home_dir();
        let of_user = home.map(|home| home.join(".config/git/attributes"));
        let more = [git_dir.join("info/attributes")];
        let own = attributes
            .iter()
            .filter(|path| path.starts_with(self.top()));
        own.chain(&more).chain(&of_user).any(|path| {
            let is_small = path
                .metadata()
                .is_ok_and(|found| found.is_file() && found.len() <= MAX_ATTRIBUTES_BYTES);
            let bytes = is_small.then(|| std::fs::read(path).unwrap_or_default());
            let bytes = bytes.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            ["filter", "ident", "encoding"]
                .iter()
                .any(|name| text.contains(name))
        })
    }

    fn tracked(&self, path: &Path) -> Option<&TrackedFile> {
        let name = path
            .strip_prefix(self.top())
            .ok()?
            .as_os_str()
            .as_encoded_bytes();
        let file = self.tracked.get(name)?;
        let is_file = file.mode & 0o170_000 == 0o100_000;
        (is_file && file.is_plain && !self.converted.contains(name)).then_some(file)
    }

    /// The object that has the content of a file with these facts, if the index is certain about it.
    pub(crate) fn certain(&self, path: &Path, facts: &FileFacts) -> Option<ObjectId> {
        let file = self.tracked(path)?;
        let index = self.index?;
        let is_same = file.size == cut(facts.size)
            && file.inode == cut(facts.stamp.inode)
            && is_time(facts.stamp.modified, file.modified)
            && is_time(facts.stamp.changed, file.changed);
        // A file that was changed in the moment in which the index was written may look the same.
        let has_nanoseconds = file.modified.1 != 0 || facts.stamp.modified % 1_000_000_000 == 0;
        let moment = if has_nanoseconds {
            index.stamp.modified
        } else {
            index.stamp.modified / 1_000_000_000 * 1_000_000_000
        };
        (is_same && facts.stamp.modified < moment).then_some(file.object)
    }

    /// The object that would have the content of a file of this size, if it was not changed.
    pub(crate) fn likely(&self, path: &Path, size: u64) -> Option<ObjectId> {
        let file = self.tracked(path)?;
        let is_named_by_sha1 = self.working_tree.names_by_sha1();
        (is_named_by_sha1 && file.size == cut(size)).then_some(file.object)
    }

    /// Calls `take` with the content of each object, in their order, or with None if git cannot give the content of
    /// a file of that size.
    pub(crate) fn contents(
        &self,
        objects: &[(ObjectId, u64)],
        scratch: &Path,
        mut take: impl FnMut(usize, Option<Vec<u8>>),
    ) {
        let mut begin = 0;
        while begin < objects.len() {
            let mut end = begin;
            let mut bytes = 0;
            while end < objects.len()
                && end - begin < MAX_ANSWER_OBJECTS
                && (end == begin || bytes + objects[end].1 <= MAX_ANSWER_BYTES)
            {
                bytes += objects[end].1;
                end += 1;
            }
            let names: Vec<ObjectId> = objects[begin..end].iter().map(|(name, _)| *name).collect();
            let contents = self.working_tree.contents(&names, scratch);
            let found = Handle::current()
                .block_on(contents)
                .unwrap_or_else(|error| {
                    tracing::warn!(%error, "git does not give contents");
                    vec![None; names.len()]
                });
            for (at, content) in found.into_iter().enumerate() {
                let size = objects[begin + at].1;
                take(
                    begin + at,
                    content.and_then(|content| as_in_tree(content, size)),
                );
            }
            begin = end;
        }
    }
}

/// Whether git would store this content under that object id.
pub(crate) fn is_object(content: &[u8], object: ObjectId) -> bool {
    let mut hash = sha1_smol::Sha1::new();
    hash.update(format!("blob {}\0", content.len()).as_bytes());
    hash.update(content);
    hash.digest().bytes() == object.as_bytes()
}

/// A stored content as a file of this size: as it is, or with the other ends of lines.
fn as_in_tree(content: Vec<u8>, size: u64) -> Option<Vec<u8>> {
    if content.len() as u64 == size {
        return Some(content);
    }
    let mut converted = Vec::with_capacity(content.len() + content.len() / 16);
    let mut last = 0;
    for byte in content {
        if byte == b'\n' && last != b'\r' {
            converted.push(b'\r');
        }
        converted.push(byte);
        last = byte;
    }
    (converted.len() as u64 == size).then_some(converted)
}

fn cut(number: u64) -> u32 {
    let [_, _, _, _, a, b, c, d] = number.to_be_bytes();
    u32::from_be_bytes([a, b, c, d])
}

/// Whether a time is that of the index, which may have no nanoseconds.
fn is_time(nanoseconds: i64, (seconds, rest): (u32, u32)) -> bool {
    let whole = nanoseconds.div_euclid(1_000_000_000);
    let part = nanoseconds.rem_euclid(1_000_000_000);
    cut(whole.cast_unsigned()) == seconds && (rest == 0 || i64::from(rest) == part)
}
/// The number of the innermost repository around a folder.
pub(crate) fn innermost(repositories: &[KnownRepository], folder: &Path) -> Option<usize> {
    let known = repositories.iter().enumerate();
    let around = known.filter(|(_, known)| folder.starts_with(known.top()));
    let innermost = around.max_by_key(|(_, known)| known.top().as_os_str().len());
    innermost.map(|(at, _)| at)
}
