//! Queries the working tree of a repository.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::index_file::{ObjectId, TrackedFiles, parse_index};
use crate::private_git_dir::{InitialIndex, PrivateGitDir, Repository};
use crate::program::{GitError, GitProgram};

/// Larger indexes are not read.
const MAX_INDEX_BYTES: u64 = 512 * 1024 * 1024;

/// Attributes that make a file differ from its stored content.
const CONVERSIONS: [&str; 3] = ["filter", "ident", "working-tree-encoding"];

/// The working tree of a repository.
#[derive(Clone, Debug)]
pub struct WorkingTree {
    repository: Repository,
}

impl WorkingTree {
    /// The working tree that contains a folder.
    ///
    /// # Errors
    /// The folder is in no working tree, or git fails.
    pub async fn around(folder: &Path) -> Result<Self, GitError> {
        let repository = GitProgram::in_folder(folder).repository().await?;
        Ok(Self { repository })
    }

    /// The top of the working tree, with links resolved.
    #[must_use]
    pub fn top(&self) -> &Path {
        self.repository.top()
    }

    /// The path of the index.
    #[must_use]
    pub fn index(&self) -> PathBuf {
        self.repository.git_dir().join("index")
    }

    /// Whether object ids are SHA-1 hashes.
    #[must_use]
    pub fn names_by_sha1(&self) -> bool {
        self.repository.object_format() == "sha1"
    }

    /// The tracked files. `None` if the format of the index is not supported. Blocks.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn tracked_files(&self) -> io::Result<Option<TrackedFiles>> {
        let index = self.index();
        let metadata = match index.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(TrackedFiles::new()));
            }
            Err(error) => return Err(error),
        };
        if !metadata.is_file() || metadata.len() > MAX_INDEX_BYTES {
            return Ok(None);
        }
        let length = if self.names_by_sha1() { 20 } else { 32 };
        Ok(parse_index(&fs::read(index)?, length))
    }

    /// Which of these files, relative to the top, differ from their stored content because of an attribute.
    ///
    /// # Errors
    /// Git fails, or a temporary file cannot be written to `scratch`.
    pub async fn converted<'p>(
        &self,
        paths: impl Iterator<Item = &'p [u8]>,
        scratch: &Path,
    ) -> Result<Vec<Box<[u8]>>, GitError> {
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path);
            input.push(0);
        }
        let input = input_file(&input, scratch)?;
        let mut ask = vec!["check-attr", "-z", "--stdin"];
        ask.extend(CONVERSIONS);
        let answer = GitProgram::in_folder(self.top())
            .run_with(&ask, Some(input))
            .await?;
        let mut fields = answer.split(|byte| *byte == 0);
        let mut found: Vec<Box<[u8]>> = Vec::new();
        while let (Some(path), Some(_), Some(value)) = (fields.next(), fields.next(), fields.next())
        {
            let is_off = matches!(value, b"unspecified" | b"unset");
            if !is_off && found.last().is_none_or(|last| **last != *path) {
                found.push(path.into());
            }
        }
        Ok(found)
    }

    /// The contents of objects, in order; `None` for missing ones. Temporary files go to `scratch`, which sandboxed
    /// commands must not be able to write to.
    ///
    /// # Errors
    /// Git fails.
    pub async fn contents(
        &self,
        objects: &[ObjectId],
        scratch: &Path,
    ) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        let git_dir = PrivateGitDir::create(&self.repository, scratch, InitialIndex::Empty)?;
        let names: String = objects.iter().map(|object| format!("{object}\n")).collect();
        let input = input_file(names.as_bytes(), scratch)?;
        let git = GitProgram::private(&git_dir);
        let answer = git.run_with(&["cat-file", "--batch"], Some(input)).await?;
        let mut rest = answer.as_slice();
        let mut found = Vec::with_capacity(objects.len());
        while found.len() < objects.len() {
            found.push(one_object(&mut rest).ok_or(GitError::NoAnswer("objects are missing"))?);
        }
        Ok(found)
    }
}

/// Parses the reply about one object.
fn one_object(rest: &mut &[u8]) -> Option<Option<Vec<u8>>> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, after) = rest.split_at(end);
    *rest = &after[1..];
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split(' ').skip(1);
    let (kind, size) = (words.next()?, words.next());
    let Some(size) = size.and_then(|size| size.parse().ok()) else {
        return Some(None);
    };
    let (content, after) = rest.split_at_checked(size)?;
    *rest = after.get(1..)?;
    Some((kind == "blob").then(|| content.to_vec()))
}

/// An unnamed file with the input of a command.
fn input_file(bytes: &[u8], scratch: &Path) -> io::Result<File> {
    use std::io::Seek as _;
    let mut file = tempfile::tempfile_in(scratch)?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(all(test, unix))]
#[expect(
    clippy::unwrap_used,
    reason = "a failed expectation is the failed test"
)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command
            .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
            .args(arguments)
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(command.output().unwrap().status.success(), "{arguments:?}");
    }

    #[tokio::test]
    async fn tracked_files_and_their_contents_are_found() {
        for version in ["2", "3", "4"] {
            let folder = tempfile::tempdir().unwrap();
            let at = dunce::canonicalize(folder.path()).unwrap();
            git(&at, &["init", "-q", "-b", "main"]);
            fs::create_dir_all(at.join("src/deep")).unwrap();
            fs::write(at.join(".gitattributes"), "*.bin filter=lfs\n").unwrap();
            for (name, content) in [
                ("src/a", "one"),
                ("src/deep/b.bin", "two\n"),
                ("src/deep/bb", ""),
                ("z", "last"),
            ] {
                fs::write(at.join(name), content).unwrap();
            }
            git(&at, &["add", "."]);
            fs::write(at.join("later"), "x").unwrap();
            git(&at, &["add", "-N", "later"]);
            git(&at, &["update-index", "--index-version", version]);
            let tree = WorkingTree::around(&at.join("src")).await.unwrap();
            assert_eq!(tree.top(), at);
            let files = tree.tracked_files().unwrap().unwrap();
            assert_eq!(files.len(), 6, "{version}");
            let plain = files.values().filter(|file| file.is_plain).count();
            assert_eq!(plain, 5, "{version}");
            let object = |name: &str| files[name.as_bytes()].object;
            let objects = [object("src/a"), object("src/deep/bb"), object("z")];
            let found = tree.contents(&objects, &at).await.unwrap();
            let expected = ["one", "", "last"].map(|text| Some(text.as_bytes().to_vec()));
            assert_eq!(found, expected);
            let paths = files.keys().map(|path| &**path);
            let converted = tree.converted(paths, &at).await.unwrap();
            assert_eq!(converted, [Box::from(&b"src/deep/b.bin"[..])]);
            // An object that does not exist.
            let missing = ObjectIdForTest::missing();
            let found = tree.contents(&[missing, object("z")], &at).await.unwrap();
            assert_eq!(found, [None, Some(b"last".to_vec())]);
        }
    }

    struct ObjectIdForTest;

    impl ObjectIdForTest {
        fn missing() -> ObjectId {
            let mut index = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
            index.extend([0; 40]);
            index.extend([0xab; 20]);
            index.extend([0, 1, b'a', 0]);
            index.resize(12 + 64, 0);
            index.extend([0; 20]);
            parse_index(&index, 20).unwrap()[&b"a"[..]].object
        }
    }

    #[test]
    fn damaged_indexes_are_refused() {
        let mut index = b"DIRC\0\0\0\x02\0\0\0\x00".to_vec();
        index.extend([0; 20]);
        assert!(parse_index(&index, 20).unwrap().is_empty());
        for cut in 0..index.len() {
            assert!(parse_index(&index[..cut], 20).is_none());
        }
        let mut split = b"DIRC\0\0\0\x02\0\0\0\x00link\0\0\0\0".to_vec();
        split.extend([0; 20]);
        assert!(parse_index(&split, 20).is_none());
    }
}
