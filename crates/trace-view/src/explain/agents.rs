//! Files that an agent read before another one wrote them.

use super::facts::{CommandFacts, SessionFacts};
use super::finding::{Finding, FindingKind};
use super::words::short;

/// Commands that print files.
const READERS: [&str; 12] = [
    "cat", "head", "tail", "less", "sed", "awk", "grep", "rg", "wc", "sort", "jq", "cut",
];

pub(super) fn find(facts: &SessionFacts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for read in &facts.commands {
        for file in files_read(&read.text) {
            let Some((writer, at)) = written_later(facts, read, &file) else {
                continue;
            };
            // Reading it again makes up for it.
            let mut again = facts.commands.iter().filter(|other| other.at > at);
            if again.any(|other| other.thread == read.thread && other.text.contains(&file)) {
                continue;
            }
            findings.push(Finding {
                kind: FindingKind::StaleRead,
                agent: facts.agent(&read.thread),
                at_unix_ms: read.at,
                object: read.call.clone(),
                what: format!("$ {}", short(&read.text, 120)),
                why: format!(
                    "{writer} wrote {file} {} ms later, and {} did not read it again",
                    at - read.at,
                    facts.agent(&read.thread)
                ),
            });
        }
    }
    findings
}

/// Files that a command prints.
pub(super) fn files_read(text: &str) -> Vec<String> {
    let mut files = Vec::new();
    for part in text.split(['|', ';', '&', '\n']) {
        let mut words = part.split_whitespace();
        let program = words.next().unwrap_or_default();
        if !READERS.contains(&program) || part.contains('>') || part.contains(" -i") {
            continue;
        }
        files.extend(words.filter_map(file_name));
    }
    files
}

/// A word that looks like the name of a file: the last part of its path.
fn file_name(word: &str) -> Option<String> {
    let word = word.trim_matches(|char: char| !(char.is_alphanumeric() || "._-/".contains(char)));
    let name = word.rsplit('/').next()?;
    let (stem, end) = name.rsplit_once('.')?;
    let is_end = (1..=8).contains(&end.len()) && end.chars().all(char::is_alphanumeric);
    (is_end && !stem.is_empty() && !word.starts_with('-')).then(|| name.to_owned())
}

/// Who wrote a file after it was read by another agent, and when.
fn written_later(
    facts: &SessionFacts<'_>,
    read: &CommandFacts,
    file: &str,
) -> Option<(String, i64)> {
    let patches = facts
        .patches
        .iter()
        .filter(|patch| patch.thread != read.thread && patch.at > read.at && patch.is_about(file));
    let patched = patches
        .map(|patch| (facts.agent(&patch.thread), patch.at))
        .next();
    let commands = facts.commands.iter().filter(|other| {
        // A command writes until it ends.
        other.thread != read.thread && other.ended > read.at && writes(other, file)
    });
    let written = commands
        .map(|other| {
            (
                facts.agent(&other.thread),
                other.ended.min(other.at.max(read.at) + 1),
            )
        })
        .next();
    patched.or(written)
}

/// Whether a command writes a file, as its words or its output say.
pub(super) fn writes(command: &CommandFacts, file: &str) -> bool {
    let text = &command.text;
    let by_words = text.match_indices(file).any(|(at, _)| {
        let before = text[..at].trim_end_matches(|char: char| !char.is_whitespace() && char != '>');
        let before = before.trim_end();
        let program = text.split_whitespace().next().unwrap_or_default();
        before.ends_with('>')
            || before.ends_with("tee")
            || before.ends_with("-o")
            || (["cp", "mv", "install"].contains(&program) && text.trim_end().ends_with(file))
            || text.contains("sed -i")
    });
    const WRITING_WORDS: [&str; 6] = [
        "wrote",
        "written",
        "imported",
        "updated",
        "saved",
        "generated",
    ];
    let by_output = command.output.lines().any(|line| {
        let low = line.to_lowercase();
        line.contains(file) && WRITING_WORDS.iter().any(|word| low.contains(word))
    });
    by_words || by_output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_commands_print_are_found() {
        assert_eq!(files_read("cat data/totals.csv | head -5"), ["totals.csv"]);
        assert_eq!(files_read("cat a.txt > b.txt"), Vec::<String>::new());
        assert_eq!(files_read("echo a.txt; grep -n x 'src/b.rs'"), ["b.rs"]);
    }
}
