//! Instruction files of folders below the working folder: the model is told of them once it has entered their folder.

use std::collections::BTreeSet;
use std::iter;
use std::path::{Path, PathBuf};

use codex_protocol::{LocalShellAction, ResponseItem};
use codex_session_base::context;
use serde_json::Value;

use super::recording::RunningTurn;

/// The number of paths in the calls of a step that are looked at.
const MAX_PATHS: usize = 128;

impl RunningTurn<'_> {
    /// Tells the model what the folders say that its calls since a position of the history have named.
    pub(super) async fn record_entered_folders(&mut self, since: usize) {
        let session = &self.scope.session;
        if let Some(replay) = &session.config.services.replay {
            let recorded = replay.folder_instructions(session.emitter.thread());
            return self.record_folder_instructions(recorded);
        }
        let settings = &self.scope.settings;
        let files = session.config.services.instruction_files.clone();
        let Some(files) = files.filter(|files| files.are_followed()) else {
            return;
        };
        if !settings.has_environment || settings.first_elsewhere().is_some() {
            return;
        }
        let cwd = settings.cwd.clone();
        let mut paths = BTreeSet::new();
        for item in self.conversation.history.calls_from(since) {
            add_named_paths(&item, &cwd, &mut paths);
        }
        if paths.is_empty() {
            return;
        }
        let paths: Vec<PathBuf> = paths.into_iter().collect();
        let reading = tokio::task::spawn_blocking(move || files.below(&cwd, &paths));
        let found = reading.await.unwrap_or_default();
        let found = found.into_iter();
        let found = found.map(|(folder, text)| (folder.display().to_string(), text));
        self.record_folder_instructions(found.collect());
    }

    /// Tells the model what the instruction files of these folders say, unless it was told so last.
    fn record_folder_instructions(&mut self, found: Vec<(String, String)>) {
        if found.is_empty() {
            return;
        }
        let told = self.conversation.history.folder_instructions();
        for (folder, text) in found {
            if !folder.contains('\n') && told.get(&folder) != Some(&text) {
                self.record(context::folder_instructions(&folder, &text));
            }
        }
    }
}

/// Adds the paths inside the working folder that a call may mean.
fn add_named_paths(item: &ResponseItem, cwd: &Path, paths: &mut BTreeSet<PathBuf>) {
    let (folder, names) = match item {
        ResponseItem::FunctionCall { arguments, .. } => {
            let Ok(arguments) = serde_json::from_str::<Value>(arguments) else {
                return;
            };
            let folder = arguments["workdir"].as_str().map(str::to_owned);
            let mut names = Vec::new();
            add_words(&arguments, &mut names);
            (folder, names)
        }
        ResponseItem::CustomToolCall { input, .. } => {
            let headers = input.lines().filter_map(|line| line.strip_prefix("*** "));
            let files = headers.filter_map(|header| header.split_once(": "));
            (None, files.map(|(_, file)| file.to_owned()).collect())
        }
        ResponseItem::LocalShellCall {
            action: LocalShellAction::Exec(action),
            ..
        } => {
            let names = action.command.iter().flat_map(|text| words(text));
            let names = names.map(str::to_owned).collect();
            (action.working_directory.clone(), names)
        }
        _ => return,
    };
    let folder = folder.map_or_else(|| cwd.to_owned(), |folder| cwd.join(folder));
    let named = names.iter().map(|name| folder.join(name));
    for path in iter::once(folder.clone()).chain(named) {
        if paths.len() >= MAX_PATHS {
            return;
        }
        if path.starts_with(cwd) && path != cwd {
            paths.insert(path);
        }
    }
}

/// Adds the words of all texts in the arguments of a call.
fn add_words(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.extend(words(text).map(str::to_owned)),
        Value::Array(values) => values.iter().for_each(|value| add_words(value, found)),
        Value::Object(members) => members.values().for_each(|value| add_words(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The words of a command that may be paths.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let ends = |at: char| at.is_whitespace() || "'\"`;&|()<>=,:".contains(at);
    let words = text.split(ends);
    words.filter(|word| !word.is_empty() && !word.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(item: Value, expected: &[&str]) {
        let item = serde_json::from_value(item).unwrap();
        let mut paths = BTreeSet::new();
        add_named_paths(&item, Path::new("/w"), &mut paths);
        let expected = expected.iter().map(PathBuf::from).collect();
        assert_eq!(paths, expected);
    }

    fn command(arguments: &Value) -> Value {
        json!({ "type": "function_call", "name": "exec_command", "call_id": "c", "arguments": arguments.to_string() })
    }

    #[test]
    fn calls_name_paths_in_words_and_working_folders() {
        let cat = json!({ "cmd": "cd c && cat a/x.rs '/w/b/y' </etc/passwd", "workdir": null });
        let expected = ["/w/a/x.rs", "/w/b/y", "/w/c", "/w/cat", "/w/cd"];
        check(command(&cat), &expected);
        let inside = json!({ "cmd": "ls", "workdir": "a/b" });
        check(command(&inside), &["/w/a/b", "/w/a/b/ls", "/w/a/b/a/b"]);
        let patch = "*** Begin Patch\n*** Update File: a/x y.rs\n-see b/y\n*** End Patch";
        let patch = json!({ "type": "custom_tool_call", "name": "apply_patch", "call_id": "c", "input": patch });
        check(patch, &["/w/a/x y.rs"]);
        let torn = json!({ "type": "function_call", "name": "exec_command", "call_id": "c", "arguments": "{" });
        check(torn, &[]);
    }

    #[test]
    fn number_of_paths_is_limited() {
        let many: Vec<String> = (0..1000).map(|n| format!("a/{n}")).collect();
        let item = serde_json::from_value(command(&json!({ "cmd": many.join(" ") }))).unwrap();
        let mut paths = BTreeSet::new();
        add_named_paths(&item, Path::new("/w"), &mut paths);
        assert_eq!(paths.len(), MAX_PATHS);
    }
}
