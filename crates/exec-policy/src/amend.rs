//! Appends a rule to a rules file.
//!
//! The file is locked while it is read and written, the line is appended with one write, and a failed write is undone.
//! Another process therefore sees the file either without the line or with the whole line.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::decision::Decision;
use crate::network::NetworkRule;
use crate::prefix::quote_string;

/// The result of appending a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendOutcome {
    Added,
    /// The file already has an identical line.
    AlreadyPresent,
}

#[derive(Debug, Error)]
pub enum AmendError {
    #[error("the prefix is empty")]
    EmptyPrefix,
    #[error("failed to update {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Appends a rule about a prefix. Creates the file and its folder if needed.
pub fn append_prefix_rule<S: AsRef<str>>(
    file: &Path,
    prefix: &[S],
    decision: Decision,
    justification: Option<&str>,
) -> Result<AppendOutcome, AmendError> {
    if prefix.is_empty() {
        return Err(AmendError::EmptyPrefix);
    }
    let words: Vec<String> = prefix
        .iter()
        .map(|word| quote_string(word.as_ref()))
        .collect();
    let mut line = format!(
        "prefix_rule(pattern=[{}], decision=\"{}\"",
        words.join(","),
        decision.as_str()
    );
    if let Some(justification) = justification {
        line.push_str(", justification=");
        line.push_str(&quote_string(justification));
    }
    line.push(')');
    append(file, &line)
}

/// Appends a rule about a host. Creates the file and its folder if needed.
pub fn append_network_rule(file: &Path, rule: &NetworkRule) -> Result<AppendOutcome, AmendError> {
    append(file, &network_rule_line(rule))
}

/// A rule about a host as a line of a rules file.
#[must_use]
pub fn network_rule_line(rule: &NetworkRule) -> String {
    let host = match rule.port() {
        Some(port) if rule.host().contains(':') => format!("[{}]:{port}", rule.host()),
        Some(port) => format!("{}:{port}", rule.host()),
        None => rule.host().to_owned(),
    };
    let mut line = format!(
        "network_rule(host={}, protocol=\"{}\", decision=\"{}\"",
        quote_string(&host),
        rule.protocol().as_str(),
        rule.decision().as_str()
    );
    if let Some(justification) = rule.justification() {
        line.push_str(", justification=");
        line.push_str(&quote_string(justification));
    }
    line.push(')');
    line
}

fn append(path: &Path, line: &str) -> Result<AppendOutcome, AmendError> {
    append_locked(path, line).map_err(|source| AmendError::Io {
        path: path.to_owned(),
        source,
    })
}

fn append_locked(path: &Path, line: &str) -> io::Result<AppendOutcome> {
    if let Some(folder) = path.parent() {
        codex_private_files::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    let mut file = codex_private_files::open(path, &mut options)?;
    // The lock is released when the file is closed.
    file.lock()?;
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    if content
        .split(|byte| *byte == b'\n')
        .any(|known| known.trim_ascii() == line.as_bytes())
    {
        return Ok(AppendOutcome::AlreadyPresent);
    }
    let separator = if content.is_empty() || content.ends_with(b"\n") {
        ""
    } else {
        "\n"
    };
    let addition = format!("{separator}{line}\n");
    if let Err(error) = write(&mut file, addition.as_bytes()) {
        // An incomplete line would make the whole file invalid.
        file.set_len(content.len() as u64)?;
        return Err(error);
    }
    Ok(AppendOutcome::Added)
}

fn write(file: &mut File, addition: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::End(0))?;
    file.write_all(addition)?;
    file.sync_data()
}
