//! Names are plain: no picture words, no bare prepositions, no type name in many modules, no errors that are mere strings.
//!
//! Sources are read as text, line by line, so each failure names a file and a line.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::repository;

/// Words that are pictures. They are not part of the names of files, types, functions, tests and constants.
const BANNED_WORDS: [&str; 30] = [
    "bond",
    "brought",
    "door",
    "guise",
    "hear",
    "heard",
    "hears",
    "holds",
    "leash",
    "manners",
    "office",
    "offers",
    "parting",
    "patience",
    "posture",
    "said",
    "say",
    "says",
    "stretch",
    "surroundings",
    "telling",
    "tell",
    "tells",
    "told",
    "veil",
    "voice",
    "voices",
    "whisper",
    "whom",
    "world",
];

/// Names with such a word, and why.
const ALLOWED_NAMES: [(&str, &str); 9] = [
    ("DEFAULT_VOICE", "the realtime models have voices"),
    ("voice_name", "the realtime models have voices"),
    ("voices", "the realtime models have voices"),
    ("RealtimeVoice", "a name of the protocol"),
    ("RealtimeVoicesList", "a name of the protocol"),
    ("ThreadRealtimeListVoicesParams", "a name of the protocol"),
    ("ThreadRealtimeListVoicesResponse", "a name of the protocol"),
    ("ThreadRealtimeVoiceTranscript", "a name of the protocol"),
    (
        "WindowsWorldWritableWarningNotification",
        "a name of the protocol",
    ),
];

/// Words that do not name a function alone: it says what is made from what.
const PREPOSITIONS: [&str; 9] = ["at", "by", "for", "from", "in", "into", "of", "to", "with"];

/// Type names that more than two modules define, and why.
const REPEATED_TYPES: [(&str, &str); 3] = [
    ("Thread", "in the protocol, in the engine and in traces"),
    ("ToolCall", "in the engine, in traces and in scenarios"),
    ("Turn", "in the protocol and in traces"),
];

/// Public functions whose errors are strings.
const UNTYPED_FUNCTIONS: [&str; 0] = [];

/// Each has a row in the glossary.
const SUBJECTS: [&str; 17] = [
    "thread",
    "turn",
    "item",
    "event",
    "notification",
    "subscriber",
    "connection",
    "session",
    "submission",
    "approval",
    "decision",
    "policy",
    "sandbox",
    "tool call",
    "rollout",
    "bundle",
    "adapter",
];

/// A line of a source file that defines something.
struct Definition {
    place: String,
    kind: &'static str,
    name: String,
    is_public: bool,
    /// Whether a trait prescribes the name.
    is_of_trait: bool,
    /// The code from this line to the body or the end of the item.
    signature: String,
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![repository().join("crates"), repository().join("tests/e2e")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn definitions(file: &Path) -> Vec<Definition> {
    let text = fs::read_to_string(file).unwrap();
    let shown = file.strip_prefix(repository()).unwrap().display();
    let mut found = Vec::new();
    let mut start = 0;
    let mut in_public_trait = false;
    let mut in_trait_impl = false;
    for (index, line) in text.lines().enumerate() {
        let rest = &text[start..];
        start += line.len() + 1;
        let code = line.trim_start();
        let (is_public, code) = match code.strip_prefix("pub ") {
            Some(code) => (true, code),
            None => (
                false,
                code.split_once("pub(").map_or(code, |(_, code)| {
                    code.split_once(") ").map_or(code, |(_, code)| code)
                }),
            ),
        };
        if code.starts_with("impl ") || code.starts_with("impl<") {
            let header = rest.split('{').next().unwrap_or_default();
            in_trait_impl = header.split_whitespace().any(|word| word == "for");
        }
        let is_constant = |word: &str| {
            let mut letters = word.chars().filter(|c| c.is_alphabetic()).peekable();
            letters.peek().is_some() && letters.all(char::is_uppercase)
        };
        let code = match code.strip_prefix("const ") {
            Some(rest) if !rest.split(':').next().is_some_and(is_constant) => rest,
            _ => code,
        };
        let code = code
            .trim_start_matches("async ")
            .trim_start_matches("unsafe ");
        let kinds = [
            "struct", "enum", "union", "trait", "type", "fn", "const", "static",
        ];
        let defined = kinds.iter().find_map(|kind| {
            let name = code.strip_prefix(kind)?.strip_prefix(' ')?;
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
            Some((*kind, name[..end.unwrap_or(name.len())].to_owned()))
        });
        if !line.starts_with([' ', '\t', '}']) && !line.is_empty() {
            in_public_trait = false;
        }
        let Some((kind, name)) = defined else {
            continue;
        };
        let is_associated_type = kind == "type" && line.starts_with(' ');
        if name.is_empty() || is_associated_type {
            continue;
        }
        if kind == "trait" {
            in_public_trait = is_public;
        }
        let is_public = is_public || (in_public_trait && kind == "fn");
        let end = rest.find(['{', ';']).unwrap_or(rest.len());
        found.push(Definition {
            place: format!("{shown}:{}", index + 1),
            kind,
            name,
            is_public,
            is_of_trait: in_trait_impl && kind == "fn",
            signature: rest[..end].split_whitespace().collect::<Vec<_>>().join(" "),
        });
    }
    found
}

/// The words of a name in any case style, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for character in name.chars() {
        let starts_word = character.is_uppercase() && after_lower;
        if starts_word || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if character.is_alphanumeric() {
            let last = words.last_mut().unwrap();
            last.extend(character.to_lowercase());
        }
        after_lower = character.is_lowercase();
    }
    words
}

fn banned_word(name: &str) -> Option<String> {
    let is_allowed = ALLOWED_NAMES.iter().any(|(allowed, _)| *allowed == name);
    let mut words = words(name).into_iter();
    let banned = words.find(|word| BANNED_WORDS.contains(&word.as_str()));
    banned.filter(|_| !is_allowed)
}

fn assert_none(problems: &BTreeSet<String>, advice: &str) {
    let list: Vec<_> = problems.iter().map(String::as_str).collect();
    assert!(list.is_empty(), "{advice}:\n{}", list.join("\n"));
}

#[test]
fn names_have_no_picture_words() {
    let mut problems = BTreeSet::new();
    for file in sources() {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        if let Some(word) = banned_word(&stem) {
            let shown = file.strip_prefix(repository()).unwrap().display();
            problems.insert(format!("{shown}: `{word}`"));
        }
        for found in definitions(&file) {
            if let Some(word) = banned_word(&found.name) {
                let Definition { place, name, .. } = found;
                problems.insert(format!("{place}: `{word}` in `{name}`"));
            }
        }
    }
    assert_none(
        &problems,
        "use the terms of docs/glossary.md and of the field",
    );
}

#[test]
fn functions_are_not_named_by_a_preposition_alone() {
    let mut problems = BTreeSet::new();
    for found in sources().iter().flat_map(|file| definitions(file)) {
        let is_preposition = PREPOSITIONS.contains(&found.name.as_str());
        if found.kind == "fn" && !found.is_of_trait && is_preposition {
            problems.insert(format!("{}: `{}`", found.place, found.name));
        }
    }
    assert_none(
        &problems,
        "say what is made from what, as in `from_settings`",
    );
}

/// Where releases of clients are decided or described: the dialects, the marks of the vocabularies, the settings, the
/// words of the command line.
const OF_RELEASES: [&str; 8] = [
    "crates/app-server-protocol",
    "crates/cli/src/app_server.rs",
    "crates/cli/src/generate.rs",
    "crates/config/src/schema",
    "crates/projection/src/dialect/",
    "crates/protocol/src/release.rs",
    "crates/test-support/",
    "crates/trace-commands/src/convert.rs",
];

#[test]
fn releases_of_clients_are_named_where_they_are_decided() {
    let mut problems = BTreeSet::new();
    for file in sources() {
        let shown = file.strip_prefix(repository()).unwrap().to_str().unwrap();
        let is_test = |part: &str| shown.contains(part);
        if OF_RELEASES.iter().any(|place| shown.starts_with(place))
            || ["tests", "simulator"].into_iter().any(is_test)
        {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let code = text.lines().take_while(|line| *line != "mod tests {");
        for (index, line) in code.enumerate() {
            let is_mark = line.contains("since(") || line.contains("until(");
            let releases = ["0.117", "0.140", "0.169", "0.170", "0.171"];
            if !is_mark && releases.iter().any(|release| line.contains(release)) {
                problems.insert(format!("{shown}:{}: {}", index + 1, line.trim()));
            }
        }
    }
    let advice = "ask the dialect of a connection for a behaviour, and say what something is";
    assert_none(&problems, advice);
}

#[test]
fn a_type_name_has_at_most_two_definitions() {
    let mut places = BTreeMap::<String, Vec<String>>::new();
    for found in sources().iter().flat_map(|file| definitions(file)) {
        if !["fn", "const", "static"].contains(&found.kind) {
            places.entry(found.name).or_default().push(found.place);
        }
    }
    for (name, _) in REPEATED_TYPES {
        places.remove(name);
    }
    let repeated = places.into_iter().filter(|(_, places)| places.len() > 2);
    let problems = repeated.map(|(name, places)| format!("`{name}`: {}", places.join(", ")));
    let advice = "name a type so that it is understood without its module";
    assert_none(&problems.collect(), advice);
}

#[test]
fn public_errors_are_typed() {
    let mut problems = BTreeSet::new();
    for found in sources().iter().flat_map(|file| definitions(file)) {
        let is_item = found.kind == "fn" || found.kind == "type";
        let has_text = found.signature.contains(", String>") && found.signature.contains("Result<");
        let is_exception = UNTYPED_FUNCTIONS.contains(&found.name.as_str());
        if found.is_public && is_item && has_text && !is_exception && string_error(&found.signature)
        {
            problems.insert(format!("{}: `{}`", found.place, found.name));
        }
    }
    assert_none(&problems, "define an error type with `thiserror`");
}

/// Whether the last argument of a `Result` in this code is `String`.
fn string_error(code: &str) -> bool {
    code.match_indices("Result<").any(|(at, start)| {
        let mut depth = 1;
        let arguments = code[at + start.len()..].char_indices();
        let mut error = "";
        for (index, character) in arguments {
            match character {
                '<' | '(' | '[' => depth += 1,
                '>' | ')' | ']' => depth -= 1,
                ',' if depth == 1 => error = &code[at + start.len() + index + 1..],
                _ => {}
            }
            if depth == 0 {
                let end = at + start.len() + index;
                let length = error.len() - (code.len() - end).min(error.len());
                return error[..length].trim() == "String";
            }
        }
        false
    })
}

#[test]
fn the_glossary_defines_the_subjects() {
    let glossary = fs::read_to_string(repository().join("docs/glossary.md")).unwrap();
    for subject in SUBJECTS {
        let is_defined = glossary.contains(&format!("| **{subject}** |"));
        assert!(is_defined, "docs/glossary.md does not define `{subject}`");
    }
}
