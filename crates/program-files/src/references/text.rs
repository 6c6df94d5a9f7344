//! What the text of a file shows without its being parsed.

use std::io::Read as _;
use std::path::Path;

use crate::code_calls::CodeCall;
use crate::interpreters::is_interpreter;
use crate::known_programs::base_name;

/// Longer texts are not read; their hashes count all the same.
const MAX_TEXT: u64 = 8 * 1024 * 1024;

/// Longer words name no file.
const MAX_WORD: usize = 256;

/// Whether a call runs text that may come from any file.
pub(super) fn runs_text(call: &CodeCall) -> bool {
    const NAMES: [&str; 6] = [
        "class_eval",
        "compile",
        "eval",
        "exec",
        "instance_eval",
        "runIn",
    ];
    NAMES.iter().any(|name| call.shown.starts_with(name))
}

/// Whether a text names a program that runs files, except for its own one.
pub(super) fn names_interpreter(text: &str) -> bool {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let text = if first.starts_with("#!") { rest } else { text };
    let mut names = words(text).map(base_name);
    names.any(|name| name != "source" && is_interpreter(name))
}

/// Whether a line of code may import other code.
pub(super) fn may_import(line: &str) -> bool {
    let line = line.trim_start();
    let begins = ["from ", "import ", "include", "load ", "require", "use "];
    begins.iter().any(|word| line.starts_with(word))
        || ["import(", "require(", " from "]
            .iter()
            .any(|word| line.contains(word))
}

/// The text of a file, if it is one.
pub(super) fn text_of(path: &Path) -> Option<String> {
    codex_mounts::check(path).ok()?;
    let file = codex_regular_file::open(path).ok()?;
    let about = file.metadata().ok()?;
    if !about.is_file() || about.len() > MAX_TEXT {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_TEXT).read_to_end(&mut bytes).ok()?;
    let is_binary = bytes.iter().take(8192).any(|byte| *byte == 0);
    (!is_binary).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn begins_script(path: &Path) -> bool {
    let mut start = [0; 2];
    if !codex_mounts::answers(path) {
        return false;
    }
    let read = codex_regular_file::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"#!"
}

/// The words of a text that may name files.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "_./@~+-".contains(c);
    let words = text.split(move |c: char| !is_part(c));
    words.filter(|word| !word.is_empty() && word.len() <= MAX_WORD && *word != ".")
}
