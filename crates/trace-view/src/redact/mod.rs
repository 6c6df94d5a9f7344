//! A copy of a bundle that can be shown: without secrets, and if asked without text.
//!
//! Strings are replaced where they stand in the JSON and everything else is copied byte by byte, so a damaged line
//! stays as damaged as it was and numbers keep their digits. Equal strings become equal strings, so that the copy
//! reduces to a graph of the same shape. Only the manifest, the log and the payload files are copied.

mod json;
mod people;
mod random;
mod rules;
mod secrets;
mod text;

use std::borrow::Cow;
use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use codex_regular_file::{FolderEntry, FolderEntryKind, LinkFreeFolder, NewFile};
use codex_rollout_trace::format::Schema;
use codex_rollout_trace::{
    ConvertError, PayloadSums, ReplayError, copy_with_payloads, read_manifest,
};
use codex_system::file;
use regex::Regex;
use thiserror::Error;

pub use people::Person;
use secrets::Secrets;
use text::Markers;

/// Whether free text stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Text {
    #[default]
    Keep,
    /// Replace it by markers of the same length.
    Mark,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Redaction {
    pub files: usize,
    /// Different secrets, however often they occurred.
    pub secrets: usize,
    /// Payload files that are not as they were written. They are left out, because the copy has no checksums.
    pub changed: usize,
}

/// Why there is no copy, or only a part of one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RedactError {
    #[error(transparent)]
    Bundle(#[from] ReplayError),
    #[error(transparent)]
    Copy(#[from] ConvertError),
    #[error("{0} already exists and is not an empty folder")]
    Occupied(PathBuf),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
}

const LOG: &str = "trace.jsonl";
const MANIFEST: &str = "manifest.json";
const PAYLOADS: &str = "payloads";

/// Writes a copy of a bundle into a new or empty folder.
pub fn redact_bundle(
    bundle: &Path,
    copy: &Path,
    text: Text,
    person: &Person,
) -> Result<Redaction, RedactError> {
    let manifest = read_manifest(bundle)?;
    if Schema::numbered(manifest.schema_version) != Some(Schema::Three) {
        return redact_files(bundle, copy, text, person);
    }
    // What is in shards, or put together from parts, is cleaned as files.
    let temporary = tempfile::tempdir().map_err(|source| RedactError::File {
        path: copy.to_owned(),
        source,
    })?;
    let [plain, clean] = ["plain", "clean"].map(|name| temporary.path().join(name));
    copy_with_payloads(bundle, &plain, false)?;
    let redaction = redact_files(&plain, &clean, text, person)?;
    make_folder(copy)?;
    copy_with_payloads(&clean, copy, true)?;
    Ok(redaction)
}

fn redact_files(
    bundle: &Path,
    copy: &Path,
    text: Text,
    person: &Person,
) -> Result<Redaction, RedactError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| RedactError::File { path, source }
    };
    let folder = LinkFreeFolder::open(bundle).map_err(failed(bundle))?;
    let (files, changed) = files(&folder).map_err(failed(bundle))?;
    make_folder(copy)?;
    let copied = LinkFreeFolder::open(copy).map_err(failed(copy))?;
    copied
        .make_folder(Path::new(PAYLOADS), NewFile::Private)
        .map_err(failed(copy))?;
    let mut secrets = Secrets::new(person);
    for file in &files {
        each_line(&folder, file, |line| {
            secrets.learn_names(line);
            Ok(())
        })
        .map_err(failed(&bundle.join(file)))?;
    }
    for file in &files {
        let whole = whole(&folder, file).map_err(failed(&bundle.join(file)))?;
        json::map_strings(&String::from_utf8_lossy(&whole), &mut |key, string| {
            secrets.learn(key, string);
            String::new()
        });
    }
    secrets.learned();
    let mut redactor = Redactor {
        secrets,
        markers: (text == Text::Mark).then(Markers::default),
    };
    for file in &files {
        redactor
            .copy(&folder, &copied, file)
            .map_err(failed(&bundle.join(file)))?;
    }
    Ok(Redaction {
        files: files.len(),
        secrets: redactor.secrets.found(),
        changed,
    })
}

/// Takes secrets out of texts that are no bundles, and leaves the names of people.
pub struct TextCleaner {
    secrets: Secrets,
    known: Vec<String>,
}

impl std::fmt::Debug for TextCleaner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("TextCleaner")
            .finish_non_exhaustive()
    }
}

impl TextCleaner {
    /// `variables` are those of the environment: the values of such as have telling names are secrets
    /// wherever they occur.
    #[must_use]
    pub fn new(variables: impl Iterator<Item = (String, String)>) -> Self {
        let known = variables.filter(|(name, value)| secrets::is_secret_variable(name, value));
        let mut known: Vec<String> = known.map(|(_, value)| value).collect();
        // One may be a part of another.
        known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self {
            secrets: Secrets::new(&Person::default()),
            known,
        }
    }

    /// The text without secrets: of JSON, or of a line that is JSON, the strings; of any other all of it.
    pub fn clean(&mut self, text: &str) -> String {
        let Self { secrets, known } = self;
        let known = |text: String| {
            known.iter().fold(text, |text, secret| {
                text.replace(secret.as_str(), "[secret]")
            })
        };
        if text.trim_start().starts_with('{') {
            json::map_strings(text, &mut |key, string| {
                known(secrets.clean_secrets(key, string))
            })
        } else {
            known(secrets.clean_secrets(
                json::Key::Of {
                    key: "",
                    outer: &[],
                },
                text,
            ))
        }
    }
}

struct Redactor {
    secrets: Secrets,
    markers: Option<Markers>,
}

impl Redactor {
    fn copy(&mut self, from: &LinkFreeFolder, to: &LinkFreeFolder, file: &Path) -> io::Result<()> {
        let mut out = BufWriter::new(to.create_new(file)?);
        if file == Path::new(LOG) {
            each_line(from, file, |line| {
                let line = without_checksums(line);
                out.write_all(self.redact(&line, text::Place::Log).as_bytes())
            })?;
        } else {
            let place = if file == Path::new(MANIFEST) {
                text::Place::Log
            } else {
                text::Place::Payload
            };
            let whole = whole(from, file)?;
            let whole = String::from_utf8_lossy(&whole);
            out.write_all(self.redact(&whole, place).as_bytes())?;
        }
        out.flush()
    }

    fn redact(&mut self, json: &str, place: text::Place) -> String {
        let Self { secrets, markers } = self;
        json::map_strings(json, &mut |key, string| {
            let clean = secrets.clean(key, string);
            match (markers.as_mut(), key) {
                (Some(markers), json::Key::Of { key, outer })
                    if place.is_text(key, outer, string) =>
                {
                    markers.mark(&clean)
                }
                (Some(markers), json::Key::Itself { outer })
                    if place.is_text_key(string, outer) =>
                {
                    markers.mark_key(&clean)
                }
                _ => clean,
            }
        })
    }
}

/// A line of the log without the checksums of itself and its payloads, which are those of other files than the copy's.
fn without_checksums(line: &str) -> Cow<'_, str> {
    static CHECKSUMS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#","xxh3":"[0-9a-f]{16}""#).ok());
    match &*CHECKSUMS {
        Some(checksums) => checksums.replace_all(line, ""),
        None => line.into(),
    }
}

/// The files of a bundle that are its own, in an order that does not depend on the folder's, and the number of those that
/// are not as they were written.
fn files(bundle: &LinkFreeFolder) -> io::Result<(Vec<PathBuf>, usize)> {
    let mut files = vec![PathBuf::from(MANIFEST), PathBuf::from(LOG)];
    let sums = PayloadSums::of_log(BufReader::new(bundle.read(Path::new(LOG))?))?;
    let entries = match bundle.entries(Path::new(PAYLOADS)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        entries => entries?,
    };
    // No links: what they lead to is not the bundle's.
    let is_own = |entry: &FolderEntry| {
        entry.kind == FolderEntryKind::File
            && Path::new(&entry.name)
                .extension()
                .is_some_and(|end| end == "json")
    };
    let mut names: Vec<PathBuf> = (entries.iter().filter(|entry| is_own(entry)))
        .map(|entry| PathBuf::from(&entry.name))
        .collect();
    names.sort_by_key(|name| (name.as_os_str().len(), name.clone()));
    let mut changed = 0;
    for name in names {
        let file = Path::new(PAYLOADS).join(&name);
        let path = format!("{PAYLOADS}/{}", name.display());
        if sums.agree_with(&path, &whole(bundle, &file)?) {
            files.push(file);
        } else {
            changed += 1;
        }
    }
    Ok((files, changed))
}

fn whole(bundle: &LinkFreeFolder, file: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bundle.read(file)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file line by line, the line end included. What is not UTF-8 is replaced.
fn each_line(
    bundle: &LinkFreeFolder,
    file: &Path,
    mut act: impl FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    const MAX_FILE_BYTES: u64 = 1 << 30;
    let mut file = BufReader::new(bundle.read(file)?);
    let mut line = Vec::new();
    while file
        .by_ref()
        .take(MAX_FILE_BYTES)
        .read_until(b'\n', &mut line)?
        > 0
    {
        act(&String::from_utf8_lossy(&line))?;
        line.clear();
    }
    Ok(())
}

fn make_folder(path: &Path) -> Result<(), RedactError> {
    if let Ok(mut entries) = fs::read_dir(path) {
        return match entries.next() {
            None => Ok(()),
            Some(_) => Err(RedactError::Occupied(path.to_owned())),
        };
    }
    let made = file::private_folder(&mut DirBuilder::new()).create(path);
    made.map_err(|source| RedactError::File {
        path: path.to_owned(),
        source,
    })
}
