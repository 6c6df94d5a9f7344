//! Lists the settings that are paths, and makes those of a layer absolute.
//!
//! This happens before merging, because a relative path starts at the folder of its layer. Values of another type are
//! left for the decoder to reject.

use std::path::Path;

use toml::{Table, Value};

use crate::paths::PathBase;

/// Key patterns: `*` is any key, `[]` the elements of an array, `{}` the keys of a table.
const PATH_KEYS: &[&[&str]] = &[
    &["model_catalog_json"],
    &["model_instructions_file"],
    &["experimental_instructions_file"],
    &["experimental_compact_prompt_file"],
    &["sandbox_workspace_write", "writable_roots", "[]"],
    &["zsh_path"],
    &["js_repl_node_path"],
    &["js_repl_node_module_dirs", "[]"],
    &["sqlite_home"],
    &["log_dir"],
    &["agents", "*", "config_file"],
    &["skills", "config", "[]", "path"],
    &["otel", "*", "*", "tls", "ca-certificate"],
    &["otel", "*", "*", "tls", "client-certificate"],
    &["otel", "*", "*", "tls", "client-private-key"],
    &["profiles", "*", "model_catalog_json"],
    &["profiles", "*", "model_instructions_file"],
    &["profiles", "*", "experimental_instructions_file"],
    &["profiles", "*", "experimental_compact_prompt_file"],
    &["profiles", "*", "zsh_path"],
    &["profiles", "*", "js_repl_node_path"],
    &["profiles", "*", "js_repl_node_module_dirs", "[]"],
];

/// The folders of named permissions. Those of a project start at the folder of the project.
const WORKSPACE_ROOTS: &[&str] = &["permissions", "*", "workspace_roots", "{}"];

/// Makes all paths in the settings of a layer absolute. `workspace` is the folder of the project, for the layer of one.
pub(crate) fn resolve_paths(table: &mut Table, base: PathBase<'_>, workspace: Option<&Path>) {
    for pattern in PATH_KEYS {
        resolve_in_table(table, pattern, base);
    }
    let folder = workspace.unwrap_or(base.folder);
    resolve_in_table(table, WORKSPACE_ROOTS, PathBase { folder, ..base });
}

fn resolve_in_table(table: &mut Table, pattern: &[&str], base: PathBase<'_>) {
    match pattern {
        [] => {}
        ["{}"] => {
            let entries = std::mem::take(table).into_iter();
            let absolute = |key: String| {
                base.absolute(&key)
                    .into_os_string()
                    .into_string()
                    .unwrap_or(key)
            };
            table.extend(entries.map(|(key, value)| (absolute(key), value)));
        }
        ["*", rest @ ..] => {
            for (_, value) in table.iter_mut() {
                resolve_in_value(value, rest, base);
            }
        }
        [key, rest @ ..] => {
            if let Some(value) = table.get_mut(*key) {
                resolve_in_value(value, rest, base);
            }
        }
    }
}

fn resolve_in_value(value: &mut Value, pattern: &[&str], base: PathBase<'_>) {
    match (value, pattern) {
        (Value::String(text), []) => {
            if let Ok(absolute) = base.absolute(text).into_os_string().into_string() {
                *text = absolute;
            }
        }
        (Value::Array(items), ["[]", rest @ ..]) => {
            for item in items {
                resolve_in_value(item, rest, base);
            }
        }
        (Value::Table(table), pattern) => resolve_in_table(table, pattern, base),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_are_resolved() {
        let mut table: Table = r#"
            model = "x"
            log_dir = "log"
            zsh_path = 3
            [sandbox_workspace_write]
            writable_roots = ["a", "~/b", 1]
            [agents.r]
            config_file = "agents/r.toml"
            description = "d"
            [permissions.p.workspace_roots]
            "../x" = true
            "~/y" = false
            [profiles.p]
            zsh_path = "../z"
            [[skills.config]]
            path = "s"
        "#
        .parse()
        .unwrap();
        let base = PathBase {
            folder: Path::new("/c"),
            user_home: Some(Path::new("/h")),
        };
        resolve_paths(&mut table, base, None);
        let expected: Table = r#"
            model = "x"
            log_dir = "/c/log"
            zsh_path = 3
            [sandbox_workspace_write]
            writable_roots = ["/c/a", "/h/b", 1]
            [agents.r]
            config_file = "/c/agents/r.toml"
            description = "d"
            [permissions.p.workspace_roots]
            "/x" = true
            "/h/y" = false
            [profiles.p]
            zsh_path = "/z"
            [[skills.config]]
            path = "/c/s"
        "#
        .parse()
        .unwrap();
        assert_eq!(table, expected);
    }

    #[test]
    fn workspace_roots_of_a_project_start_at_its_folder() {
        let text = "sandbox_workspace_write.writable_roots = ['a']\n\
                    permissions.p.workspace_roots = { b = true, '../c' = true }";
        let mut table: Table = text.parse().unwrap();
        let base = PathBase {
            folder: Path::new("/p/.codex"),
            user_home: None,
        };
        resolve_paths(&mut table, base, Some(Path::new("/p")));
        let expected = "sandbox_workspace_write.writable_roots = ['/p/.codex/a']\n\
                        permissions.p.workspace_roots = { '/p/b' = true, '/c' = true }";
        assert_eq!(table, expected.parse().unwrap());
    }
}
