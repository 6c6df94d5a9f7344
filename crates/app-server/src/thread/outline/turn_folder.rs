//! The turns of large files as JSON, in the home folder, so that a thread that is shown again is not folded again.
//!
//! All turns but the last one are stored, with what they were made from: the program, the bytes of the file, and which
//! of these make which turn. If any of it differs, they are ignored. So they may be deleted at any time.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bytes::Bytes;
use codex_projection::dialect::StoredForm;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::Outline;
use super::folder::encode_ranges;
use super::version::FileVersion;

const FOLDER: &str = "turns";
/// The most bytes of one file.
const MAX_FILE: u64 = 64 * 1024 * 1024;
/// The most bytes of JSON, which leaves room for the first line.
const MAX_JSON: usize = 63 * 1024 * 1024;
/// The most bytes of all files. The oldest ones are removed for a new one.
const MAX_FOLDER: u64 = 4 * MAX_FILE;
/// The most lines that may have been added to a rollout, in bytes.
const MAX_ADDED: u64 = MAX_FILE;
/// The type of the lines that remove turns.
const ROLLED_BACK: &[u8] = b"thread_rolled_back";

/// The first line.
#[derive(Serialize, Deserialize)]
struct TurnsHead {
    /// The program that made the turns; another one may make them in another way.
    program: FileVersion,
    file: PathBuf,
    version: FileVersion,
    /// A hash of the bytes of the file.
    content: u64,
    form: StoredForm,
    turns: usize,
    /// A hash of the ranges of these turns.
    ranges: u64,
    /// A hash of the JSON.
    json: u64,
}

/// The first turns of a file.
#[derive(Debug)]
pub(super) struct StoredJson {
    pub(super) turns: usize,
    pub(super) json: Bytes,
    /// The length of the file when they were stored.
    pub(super) length: u64,
}

#[derive(Clone, Debug)]
pub(super) struct TurnFolder(PathBuf);

impl TurnFolder {
    pub(super) fn of_home(home: &Path) -> Self {
        Self(home.join(FOLDER))
    }

    pub(super) fn has(&self, file: &Path) -> bool {
        self.path_of(file).is_some_and(|path| path.exists())
    }

    /// The stored turns of a file; none if there are none that can be used.
    pub(super) fn read(&self, outline: &Outline, form: StoredForm) -> Option<StoredJson> {
        let (head, mut stored) = open(&self.path_of(&outline.file)?)?;
        let is_same = head.program == program()?
            && head.file == outline.file
            && head.form == form
            && head.turns < outline.ranges.count()
            && head.ranges == hash_of_ranges(outline, head.turns).ok()?
            && head.is_of(outline).ok()?;
        if !is_same {
            return None;
        }
        let mut json = Vec::with_capacity(usize::try_from(stored.get_ref().limit()).ok()?);
        stored.read_to_end(&mut json).ok()?;
        (xxh3_64(&json) == head.json).then(|| StoredJson {
            turns: head.turns,
            json: json.into(),
            length: head.version.length,
        })
    }

    /// Stores all turns but the last one. Does nothing if the file has changed since the outline was made.
    pub(super) fn write(
        &self,
        outline: &Outline,
        form: StoredForm,
        json: &[Bytes],
    ) -> io::Result<()> {
        let (Some(path), Some(program)) = (self.path_of(&outline.file), program()) else {
            return Ok(());
        };
        let length: usize = json.iter().map(Bytes::len).sum();
        if length > MAX_JSON {
            return Ok(());
        }
        let file = codex_regular_file::open(&outline.file)?;
        let content = hash_of_file(&file, outline.version.length)?;
        if FileVersion::read(&file)? != outline.version {
            return Ok(());
        }
        let turns = outline.ranges.count().saturating_sub(1);
        let mut hash = Xxh3::new();
        json.iter().for_each(|part| hash.update(part));
        let head = TurnsHead {
            program,
            file: outline.file.clone(),
            version: outline.version,
            content,
            form,
            turns,
            ranges: hash_of_ranges(outline, turns)?,
            json: hash.digest(),
        };
        codex_private_files::create_dir_all(&self.0)?;
        let new = path.with_extension(format!("{}.tmp", uuid::Uuid::now_v7()));
        let mut options = File::options();
        options.write(true).create_new(true);
        let mut writer = BufWriter::new(codex_private_files::open(&new, &mut options)?);
        serde_json::to_writer(&mut writer, &head)?;
        writer.write_all(b"\n")?;
        json.iter().try_for_each(|part| writer.write_all(part))?;
        writer.flush()?;
        // Replacing a file would wait for the disk.
        self.remove(&outline.file);
        fs::rename(&new, &path)?;
        self.make_room()
    }

    pub(super) fn remove(&self, file: &Path) {
        if let Some(path) = self.path_of(file) {
            // There may be none.
            let _ = fs::remove_file(path);
        }
    }

    fn path_of(&self, file: &Path) -> Option<PathBuf> {
        Some(self.0.join(file.file_stem()?).with_extension("turns"))
    }

    /// Removes what has no rollout any more, and the oldest files if there are too many bytes.
    fn make_room(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in codex_mounts::read_dir(&self.0)? {
            let entry = entry?;
            let found = entry.metadata()?;
            files.push((found.modified()?, found.len(), entry.path()));
        }
        files.sort_unstable();
        let mut bytes = 0;
        for (_, length, path) in files.into_iter().rev() {
            let is_used = open(&path).is_some_and(|(head, _)| head.file.exists());
            bytes += length;
            if !is_used || bytes > MAX_FOLDER {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

impl TurnsHead {
    /// Whether the file of the outline is still the same, or has only been added to. If turns were removed since, items
    /// may have other numbers.
    fn is_of(&self, outline: &Outline) -> io::Result<bool> {
        if self.version == outline.version {
            return Ok(true);
        }
        let file = codex_regular_file::open(&outline.file)?;
        let added = outline.version.length.saturating_sub(self.version.length);
        if added > MAX_ADDED
            || !self.version.is_continued_by(&outline.version, &file)?
            || hash_of_file(&file, self.version.length)? != self.content
        {
            return Ok(false);
        }
        // The file is at the end of what was hashed.
        let mut lines = Vec::new();
        file.take(added).read_to_end(&mut lines)?;
        Ok(memchr::memmem::find(&lines, ROLLED_BACK).is_none())
    }
}

/// Opens stored turns behind their first line.
fn open(path: &Path) -> Option<(TurnsHead, BufReader<io::Take<File>>)> {
    let stored = codex_regular_file::open(path).ok()?;
    let length = stored.metadata().ok()?.len();
    let mut stored = BufReader::new(stored.take(length.min(MAX_FILE)));
    let mut head = Vec::new();
    stored.read_until(b'\n', &mut head).ok()?;
    Some((serde_json::from_slice(&head).ok()?, stored))
}

/// The file of this program.
fn program() -> Option<FileVersion> {
    static PROGRAM: OnceLock<Option<FileVersion>> = OnceLock::new();
    *PROGRAM.get_or_init(|| {
        let file = File::open(std::env::current_exe().ok()?).ok()?;
        FileVersion::read(&file).ok()
    })
}

fn hash_of_ranges(outline: &Outline, turns: usize) -> io::Result<u64> {
    let late = outline.ranges.stored_late().into_iter();
    let late: Vec<_> = late.filter(|(turn, _)| *turn < turns).collect();
    let mut bytes = serde_json::to_vec(&late)?;
    encode_ranges(&mut bytes, outline.ranges.stored().take(turns))?;
    Ok(xxh3_64(&bytes))
}

/// A hash of the first bytes of a file.
fn hash_of_file(mut file: &File, length: u64) -> io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let mut hash = Xxh3::new();
    let mut bytes = BufReader::with_capacity(256 * 1024, file.take(length));
    loop {
        let read = bytes.fill_buf()?;
        if read.is_empty() {
            return Ok(hash.digest());
        }
        hash.update(read);
        let count = read.len();
        bytes.consume(count);
    }
}
