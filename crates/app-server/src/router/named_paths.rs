//! The paths in the params of a request that lead to file systems which may not answer. They are tried before the handler runs,
//! so that no handler waits for a dead one.
//!
//! Params are searched as JSON, not by their types: a member that is added later is searched as well. What only looks like a
//! path is tried in vain; it is refused only if it leads to a dead file system.

use std::path::{Path, PathBuf};

use serde_json::Value;
use serde_json::value::RawValue;

/// Text and data, and what only the engine's own files are changed to.
const NO_PATHS: [&str; 8] = [
    "text",
    "query",
    "dataBase64",
    "deltaBase64",
    "data",
    "value",
    "edits",
    "items",
];

/// The ends of the names of members whose values may be relative paths.
const PATH_NAMES: [&str; 12] = [
    "cwd",
    "cwds",
    "path",
    "paths",
    "root",
    "roots",
    "source",
    "folder",
    "folders",
    "dir",
    "directory",
    "file",
];

/// These report such a folder in their answer, with all others.
const REPORTING_METHODS: [&str; 2] = ["plugin/list", "plugin/installed"];

/// More paths in a request are not tried. The limit of the file systems that can be dead is lower.
const PATH_LIMIT: usize = 10_000;

/// The paths of a request that have to be tried.
pub(super) fn doubtful_paths(method: &str, params: Option<&RawValue>) -> Vec<PathBuf> {
    let Some(params) =
        params.filter(|_| codex_mounts::may_wait() && !REPORTING_METHODS.contains(&method))
    else {
        return Vec::new();
    };
    let params = serde_json::from_str(params.get()).unwrap_or_default();
    let mut found = Vec::new();
    collect(&params, "", &mut found);
    found.retain(|path| codex_mounts::is_doubtful(path));
    found
}

/// Adds the paths in a value of the member `name`.
fn collect(value: &Value, name: &str, found: &mut Vec<PathBuf>) {
    match value {
        Value::String(text) if found.len() < PATH_LIMIT => {
            let path = text.strip_prefix("file://").unwrap_or(text);
            if !path.contains('\0') && (path.starts_with('/') || is_path_name(name)) {
                found.push(path.into());
            }
        }
        // The arguments of a command are its own concern.
        Value::Array(words) if name == "command" => {
            if let Some(program) = words.first() {
                collect(program, name, found);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, name, found)),
        Value::Object(members) => {
            let members = members
                .iter()
                .filter(|(name, _)| !NO_PATHS.contains(&name.as_str()));
            for (name, value) in members {
                // Tables by path.
                if Path::new(name).is_absolute() && found.len() < PATH_LIMIT {
                    found.push(name.into());
                }
                collect(value, name, found);
            }
        }
        _ => {}
    }
}

fn is_path_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    PATH_NAMES.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(params: Value) -> Vec<String> {
        let mut found = Vec::new();
        collect(&params, "", &mut found);
        let shown = found.iter().map(|path| path.display().to_string());
        shown.collect()
    }

    #[test]
    fn paths_are_found_wherever_they_are() {
        let params = json!({
            "cwd": "relative",
            "sandboxPolicy": { "type": "workspaceWrite", "writableRoots": ["/a", "b"] },
            "input": [{ "type": "localImage", "path": "/c" }, { "type": "text", "text": "/d" }],
            "config": { "projects": { "/e": { "trust_level": "trusted" } }, "model_instructions_file": "f" },
            "uri": "file:///g",
        });
        assert_eq!(
            paths(params),
            ["relative", "/a", "b", "/c", "/e", "f", "/g"]
        );
    }

    #[test]
    fn only_the_program_of_a_command_is_tried() {
        assert_eq!(
            paths(json!({ "command": ["/bin/umount", "/dead"] })),
            ["/bin/umount"]
        );
        assert!(paths(json!({ "command": ["umount", "/dead"], "query": "/x" })).is_empty());
    }
}
