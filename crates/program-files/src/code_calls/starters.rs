//! Modules that start programs, and the names that code gives to them and to what they have.

use super::places::is_part_of_name;
use crate::interpreters::Language;

/// Modules that start programs.
pub(super) const STARTERS: [&str; 22] = [
    "Open3",
    "PTY",
    "child_process",
    "cluster",
    "cross-spawn",
    "execa",
    "fabric",
    "foreground-child",
    "invoke",
    "nano-spawn",
    "node-pty",
    "nypm",
    "open3",
    "pexpect",
    "plumbum",
    "sh",
    "shelljs",
    "subprocess",
    "tinyexec",
    "tinyspawn",
    "worker_threads",
    "zx",
];

/// Modules whose members are programs, by whatever name.
pub(super) const UNREAD_STARTERS: [&str; 3] = ["fabric", "plumbum", "sh"];

/// Limit on the names.
const MAX_NAMES: usize = 32;
/// A statement that imports is read up to here.
const MAX_STATEMENT: usize = 600;

/// The names under which code has such modules and what is in them, and the modules.
pub(super) fn imported(text: &str, language: Language) -> Vec<(&str, &str)> {
    let found = match language {
        Language::Python => text.lines().flat_map(of_python).collect(),
        Language::JavaScript => of_javascript(text),
        _ => Vec::new(),
    };
    found.into_iter().take(MAX_NAMES).collect()
}

fn module(name: &str) -> Option<&'static str> {
    let name = name.trim();
    let name = name.strip_prefix("node:").unwrap_or(name);
    let first = name.split(['.', '/']).next().unwrap_or_default();
    STARTERS.iter().find(|module| **module == first).copied()
}

/// `import module as name`, `from module import name as other`.
fn of_python(line: &str) -> Vec<(&str, &str)> {
    let line = line.trim();
    let (module_name, names) = match line.strip_prefix("from ") {
        Some(rest) => rest.split_once(" import ").unwrap_or_default(),
        None => ("", line.strip_prefix("import ").unwrap_or_default()),
    };
    let names = names
        .split(',')
        .map(|name| name.trim_matches(['(', ')', ' ', '\\']));
    let names = names.filter_map(|name| {
        let (own, new) = name.split_once(" as ").unwrap_or((name, name));
        let from = if module_name.is_empty() {
            own
        } else {
            module_name
        };
        // The functions of this one are known by their names.
        let module = module(from).filter(|module| *module != "subprocess")?;
        Some((new.split('.').next().unwrap_or_default().trim(), module))
    });
    names.collect()
}

/// What stands before `from "module"` and before `= require("module")`.
fn of_javascript(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for mark in ["from ", "require(", "import("] {
        for (at, _) in text.match_indices(mark) {
            let rest = text[at + mark.len()..].trim_start();
            let quote = rest.chars().next().filter(|c| "\"'`".contains(*c));
            let name = quote.and_then(|quote| rest[1..].split(quote).next());
            let Some(module) = name.and_then(module) else {
                continue;
            };
            let from = text.floor_char_boundary(at.saturating_sub(MAX_STATEMENT));
            let before = &text[from..at];
            let begin = ["import ", "const ", "let ", "var "]
                .iter()
                .filter_map(|word| before.rfind(word).map(|at| at + word.len()));
            let Some(begin) = begin.max() else { continue };
            let names = before[begin..].split([',', '{', '}', '=']);
            let names = names.map(|name| {
                let name = name.trim().trim_start_matches("* as ");
                let new = name.split_once(" as ").or_else(|| name.split_once(':'));
                new.map_or(name, |(_, new)| new).trim()
            });
            let is_name = |name: &&str| {
                !name.is_empty()
                    && *name != "await"
                    && name.chars().all(|c| is_part_of_name(c) || c == '$')
            };
            found.extend(names.filter(is_name).map(|name| (name, module)));
        }
    }
    found
}
