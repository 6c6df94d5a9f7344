//! Attachments of reports.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// Of a longer file, only the end is attached.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportAttachment {
    /// A file, under its own name.
    File(PathBuf),
    /// A text under a file name.
    Text(&'static str, String),
}

impl ReportAttachment {
    pub(crate) fn name(&self) -> Option<String> {
        match self {
            Self::File(path) => Some(path.file_name()?.to_string_lossy().into_owned()),
            Self::Text(name, _) => Some((*name).to_owned()),
        }
    }

    /// Writes the attachment to a new file; `clean` removes secrets from each line.
    pub(crate) fn write(&self, to: &Path, clean: &mut dyn FnMut(&str) -> String) -> io::Result<()> {
        match self {
            Self::File(path) => copy(&mut BufReader::new(end_of(path)?), to, clean),
            Self::Text(_, text) => copy(&mut text.as_bytes(), to, clean),
        }
    }
}

fn copy(
    from: &mut dyn BufRead,
    to: &Path,
    clean: &mut dyn FnMut(&str) -> String,
) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let to = codex_private_files::open(to, options.write(true).create_new(true))?;
    let mut to = BufWriter::new(to);
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        to.write_all(clean(&String::from_utf8_lossy(&line)).as_bytes())?;
        line.clear();
    }
    to.flush()
}

/// Opens a file at most `MAX_BYTES` before its end.
fn end_of(from: &Path) -> io::Result<io::Take<File>> {
    let mut file = codex_regular_file::open(from)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_BYTES)))?;
    Ok(file.take(MAX_BYTES))
}

/// The proxy variables of the environment, without passwords. `None` if none is set.
#[must_use]
pub fn connectivity(variable: impl Fn(&str) -> Option<String>) -> Option<ReportAttachment> {
    let names = [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "OPENAI_BASE_URL",
    ];
    let names = names.into_iter().map(str::to_owned);
    let names = names.flat_map(|name| [name.to_ascii_lowercase(), name]);
    let lines = names.filter_map(|name| {
        let value = variable(&name)?;
        (!value.is_empty()).then(|| format!("{name} = {}\n", without_password(&value)))
    });
    let text: String = lines.collect();
    let name = "codex-connectivity-diagnostics.txt";
    (!text.is_empty()).then_some(ReportAttachment::Text(name, text))
}

/// Removes the user information and the query, as both may contain secrets.
fn without_password(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}<redacted>@{host}"),
        None => format!("{scheme}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_urls_are_left_out() {
        for (url, expected) in [
            (
                "http://me:secret@host:1/p?key=x",
                "http://<redacted>@host:1/p",
            ),
            ("me:secret@host", "<redacted>@host"),
            ("localhost,.example", "localhost,.example"),
        ] {
            assert_eq!(without_password(url), expected);
        }
    }

    #[test]
    fn no_proxy_gives_no_attachment() {
        assert_eq!(connectivity(|_| None), None);
        let set = |name: &str| (name == "https_proxy").then(|| "http://a:b@c".to_owned());
        let expected = "https_proxy = http://<redacted>@c\n".to_owned();
        let name = "codex-connectivity-diagnostics.txt";
        assert_eq!(
            connectivity(set),
            Some(ReportAttachment::Text(name, expected))
        );
    }
}
