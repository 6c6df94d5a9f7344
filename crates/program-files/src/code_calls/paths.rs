//! Paths as code joins them, and those that names stand for.

use crate::line::UNKNOWN_CHAR;

/// Begins and ends a part of a text that a shell expands: a variable, or the folder of the file.
pub(super) const EXPANSION_MARK: char = '\u{3}';

/// The folder of the file, as a script for a shell finds it.
pub(crate) const OWN_FOLDER: &str = "\u{3}$(dirname \"$0\")\u{3}";

/// The value of a name that always has the same.
pub(super) fn constant(name: &str) -> Option<String> {
    Some(match name {
        "None" | "null" | "undefined" | "nil" | "undef" => String::new(),
        "__dirname" | "__dir__" | "__DIR__" => OWN_FOLDER.to_owned(),
        "__file__" | "__filename" | "__FILE__" | "0" | "PROGRAM_NAME" => own_file(),
        _ => return None,
    })
}

/// The value of a name with those before it.
pub(super) fn known_name(name: &str) -> Option<String> {
    if let Some(variable) = name.strip_prefix("process.env.") {
        return Some(variable_of(variable, None));
    }
    Some(match name {
        "Dir.pwd" => ".".to_owned(),
        "FindBin.Bin" | "FindBin.RealBin" | "import.meta.dirname" => OWN_FOLDER.to_owned(),
        "import.meta.url" | "import.meta.filename" => own_file(),
        "Dir.home" => variable_of("HOME", None),
        "os.pathsep" | "path.delimiter" | "File.PATH_SEPARATOR" => ":".to_owned(),
        "RbConfig.ruby" => "ruby".to_owned(),
        "process.execPath" => "node".to_owned(),
        "sys.executable" => "python3".to_owned(),
        _ => return None,
    })
}

pub(super) fn own_file() -> String {
    format!("{OWN_FOLDER}/own")
}

/// A variable of the environment. A line may set one that is not known here.
pub(super) fn variable_of(name: &str, default: Option<&str>) -> String {
    let is_plain = |text: &str, more: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || more.contains(c);
        text.chars().all(is_plain)
    };
    let unknown = UNKNOWN_CHAR.to_string();
    let default = default
        .filter(|default| is_plain(default, "./-"))
        .unwrap_or(&unknown);
    if name.is_empty() || !is_plain(name, "") {
        return unknown;
    }
    format!("{EXPANSION_MARK}${{{name}:-{default}}}{EXPANSION_MARK}")
}

/// The folder around a path.
pub(super) fn parent(path: &str) -> String {
    let (before, last) = path
        .trim_end_matches('/')
        .rsplit_once('/')
        .unwrap_or(("", path));
    let is_absolute = path.starts_with('/');
    match last {
        last if last.contains(UNKNOWN_CHAR) => UNKNOWN_CHAR.to_string(),
        "" | "." if !is_absolute => "..".to_owned(),
        last if last == ".." || last.contains(EXPANSION_MARK) => format!("{path}/.."),
        _ if before.is_empty() && is_absolute => "/".to_owned(),
        _ if before.is_empty() => ".".to_owned(),
        _ => before.to_owned(),
    }
}

/// Paths joined. `resets`: whether an absolute one replaces those before it.
pub(super) fn join(parts: &[String], resets: bool) -> String {
    let mut joined = String::new();
    for part in parts {
        let is_absolute = part.starts_with(['/', EXPANSION_MARK]);
        if joined.is_empty() || (is_absolute && resets) {
            joined = part.clone();
            continue;
        }
        for name in part.split('/') {
            match name {
                "" | "." => {}
                ".." => joined = parent(&joined),
                name => {
                    joined.push('/');
                    joined.push_str(name);
                }
            }
        }
    }
    joined
}

/// A word in quotes, except for what a shell expands.
pub(super) fn quoted(word: &str) -> String {
    let parts = word.split(EXPANSION_MARK).enumerate();
    let parts = parts.map(|(index, part)| match index % 2 {
        0 => format!("'{}'", part.replace('\'', "'\\''")),
        _ => format!("\"{part}\""),
    });
    parts.collect()
}
