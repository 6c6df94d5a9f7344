//! Searches the log and the payloads of bundles for a text.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use codex_regular_file::LinkFreeFolder;
use codex_rollout_trace::PayloadSums;
use regex::bytes::{Regex, RegexBuilder};

use crate::TraceFolderError;
use crate::archive::{UnpackLimit, entries_of};
use crate::entry::{BundleEntry, LOG, files_of};

/// Larger files are searched up to here.
const MAX_FILE: u64 = 1 << 30;
/// The text before and after a match that is shown.
const CONTEXT: usize = 60;

/// What to search for.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// A text, found in JSON strings too, where it may be escaped.
    ///
    /// # Errors
    /// The text is too long for a pattern.
    pub fn text(text: &str, case_sensitive: bool) -> Result<Self, TraceFolderError> {
        let json = serde_json::Value::from(text).to_string();
        let inside = &json[1..json.len() - 1];
        Self::compile(&regex::escape(inside), case_sensitive)
    }

    /// A regular expression, matched with the JSON text of the files.
    ///
    /// # Errors
    /// The expression is invalid.
    pub fn regex(expression: &str, case_sensitive: bool) -> Result<Self, TraceFolderError> {
        Self::compile(expression, case_sensitive)
    }

    fn compile(expression: &str, case_sensitive: bool) -> Result<Self, TraceFolderError> {
        let mut builder = RegexBuilder::new(expression);
        Ok(Self(builder.case_insensitive(!case_sensitive).build()?))
    }
}

/// A match in a file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The file inside the bundle.
    pub file: PathBuf,
    /// The text around the match, without line breaks.
    pub excerpt: String,
}

/// The first match in each file of a bundle, up to a number of files. Payload files that are not as they were written are
/// left out.
///
/// # Errors
/// A file cannot be read, or the packed bundle is damaged.
pub fn search(
    entry: &BundleEntry,
    pattern: &Pattern,
    limit: usize,
    limit_of_archive: UnpackLimit,
) -> Result<Vec<Match>, TraceFolderError> {
    let mut matches = Vec::new();
    let mut bytes = Vec::new();
    let mut sums = PayloadSums::default();
    // The log comes before the payloads.
    let mut look = |path: &Path, source: &mut dyn Read| -> io::Result<bool> {
        bytes.clear();
        source.take(MAX_FILE).read_to_end(&mut bytes)?;
        if path == Path::new(LOG) {
            sums = PayloadSums::of_log(bytes.as_slice())?;
        }
        let is_as_written = path
            .to_str()
            .is_some_and(|path| sums.agree_with(path, &bytes));
        if is_as_written && let Some(found) = pattern.0.find(&bytes) {
            matches.push(Match {
                file: path.to_owned(),
                excerpt: excerpt(&bytes, found.range()),
            });
        }
        Ok(matches.len() < limit)
    };
    if entry.is_packed {
        entries_of(&entry.path, limit_of_archive, |path, source| {
            look(path, source).map_err(|error| TraceFolderError::unpack(&entry.path, error))
        })?;
        return Ok(matches);
    }
    let folder = LinkFreeFolder::open(&entry.path).map_err(TraceFolderError::file(&entry.path))?;
    let files = files_of(&folder).map_err(TraceFolderError::file(&entry.path))?;
    for file in files {
        let path = entry.path.join(&file);
        let looked = (folder.read(&file)).and_then(|mut source| look(&file, &mut source));
        if !looked.map_err(TraceFolderError::file(&path))? {
            break;
        }
    }
    Ok(matches)
}

fn excerpt(bytes: &[u8], found: std::ops::Range<usize>) -> String {
    let start = found.start.saturating_sub(CONTEXT);
    let end = found.end.min(found.start + CONTEXT) + CONTEXT;
    let text = String::from_utf8_lossy(&bytes[start..end.min(bytes.len())]);
    let text = text.trim_matches('\u{fffd}');
    text.replace(char::is_control, " ")
}
