//! Converts patches to ACP diffs, which have the whole text before and after.
//!
//! The wire has unified diffs, so one of the two texts is computed from the file on disk, whether or not the patch is
//! applied already. If the patch applies in neither direction, as in an old conversation, the diff has only the lines
//! of the patch.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{Diff, ToolCallContent};
use codex_app_server_protocol::v2::{FileUpdateChange, PatchChangeKind, ThreadItem};
use diffy::{Line, Patch};
use serde_json::{Map, json};

/// Larger files have no diff.
const LIMIT: u64 = 1024 * 1024;

/// The diffs of an item, if it is a patch.
pub(crate) async fn of_item(item: &ThreadItem) -> Vec<ToolCallContent> {
    match item {
        ThreadItem::FileChange { changes, .. } => contents(changes.clone()).await,
        _ => Vec::new(),
    }
}

/// The diffs of changes to files below `cwd`. Reads the files, away from the runtime's thread.
async fn contents(changes: Vec<FileUpdateChange>) -> Vec<ToolCallContent> {
    let made = tokio::task::spawn_blocking(move || {
        let shown = changes
            .iter()
            .filter_map(|change| content(change, read_text));
        shown.collect()
    });
    made.await.unwrap_or_default()
}

fn read_text(path: &Path) -> Option<String> {
    codex_regular_file::read_text(path, LIMIT).ok()
}

/// The diff of one change; `read` gives the text of a file.
fn content(
    change: &FileUpdateChange,
    read: impl Fn(&Path) -> Option<String>,
) -> Option<ToolCallContent> {
    if change.diff.len() as u64 > LIMIT {
        return None;
    }
    let diff = match &change.kind {
        PatchChangeKind::Add => Diff::new(&change.path, change.diff.clone()),
        PatchChangeKind::Delete => Diff::new(&change.path, "")
            .old_text(change.diff.clone())
            .meta(Map::from_iter([("kind".to_owned(), json!("delete"))])),
        PatchChangeKind::Update { move_path } => {
            let (old, new) = edited(change, move_path.as_deref(), read)?;
            Diff::new(target(&change.path, move_path.as_deref()), new).old_text(old)
        }
    };
    Some(ToolCallContent::Diff(diff))
}

fn target(path: &str, move_path: Option<&str>) -> PathBuf {
    PathBuf::from(move_path.unwrap_or(path))
}

/// The texts before and after an edit.
fn edited(
    change: &FileUpdateChange,
    move_path: Option<&str>,
    read: impl Fn(&Path) -> Option<String>,
) -> Option<(String, String)> {
    let patch = Patch::from_str(hunks(change)).ok()?;
    if patch.hunks().is_empty() {
        let text =
            read(&target(&change.path, move_path)).or_else(|| read(Path::new(&change.path)))?;
        return Some((text.clone(), text));
    }
    whole(change, move_path, &patch, read).or_else(|| Some(excerpt(&patch)))
}

/// The whole texts before and after a patch, which may be applied already.
fn whole(
    change: &FileUpdateChange,
    move_path: Option<&str>,
    patch: &Patch<'_, str>,
    read: impl Fn(&Path) -> Option<String>,
) -> Option<(String, String)> {
    read(Path::new(&change.path))
        .and_then(|old| applied(&old, patch).map(|new| (old, new)))
        .or_else(|| {
            let new = read(&target(&change.path, move_path))?;
            applied(&new, &patch.reverse()).map(|old| (old, new))
        })
}

/// The edits among changes that were made: path, and the whole texts before and after.
pub(crate) async fn edits(changes: Vec<FileUpdateChange>) -> Vec<(PathBuf, String, String)> {
    let edit = |change: &FileUpdateChange| {
        let PatchChangeKind::Update { move_path } = &change.kind else {
            return None;
        };
        let move_path = move_path.as_deref();
        let path = target(&change.path, move_path);
        let patch = Patch::from_str(hunks(change)).ok()?;
        let (old, new) = whole(change, move_path, &patch, read_text)?;
        Some((path, old, new))
    };
    let made = tokio::task::spawn_blocking(move || changes.iter().filter_map(edit).collect());
    made.await.unwrap_or_default()
}

/// The diff without the line that says where the file went.
fn hunks(change: &FileUpdateChange) -> &str {
    let diff = change.diff.split("\n\nMoved to: ").next();
    diff.unwrap_or_default()
}

/// The text with the patch applied, if every hunk stands exactly where it says.
fn applied(text: &str, patch: &Patch<'_, str>) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let stands = patch.hunks().iter().all(|hunk| {
        let start = hunk.old_range().start().saturating_sub(1);
        let old = hunk.lines().iter().filter_map(|line| match line {
            Line::Context(line) | Line::Delete(line) => Some(*line),
            Line::Insert(_) => None,
        });
        let at = lines.get(start..).unwrap_or_default();
        let mut at = at.iter().copied();
        old.into_iter().all(|line| at.next() == Some(line))
    });
    stands.then(|| diffy::apply(text, patch).ok()).flatten()
}

/// The lines of the patch before and after it.
fn excerpt(patch: &Patch<'_, str>) -> (String, String) {
    let (mut old, mut new) = (String::new(), String::new());
    for line in patch.hunks().iter().flat_map(|hunk| hunk.lines()) {
        match line {
            Line::Context(line) => {
                old.push_str(line);
                new.push_str(line);
            }
            Line::Delete(line) => old.push_str(line),
            Line::Insert(line) => new.push_str(line),
        }
    }
    (old, new)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDIT: &str = "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n";

    fn change(kind: PatchChangeKind, diff: &str) -> FileUpdateChange {
        FileUpdateChange {
            path: "/w/f".to_owned(),
            kind,
            diff: diff.to_owned(),
        }
    }

    fn texts(change: &FileUpdateChange, file: Option<&str>) -> (PathBuf, Option<String>, String) {
        let read = |_: &Path| file.map(str::to_owned);
        let Some(ToolCallContent::Diff(diff)) = content(change, read) else {
            panic!("no diff");
        };
        (diff.path, diff.old_text, diff.new_text)
    }

    #[test]
    fn edit_has_both_texts_at_all_stages() {
        let edit = change(PatchChangeKind::Update { move_path: None }, EDIT);
        let expected = (
            "/w/f".into(),
            Some("a\nb\nc\nd\n".into()),
            "a\nB\nc\nd\n".into(),
        );
        assert_eq!(texts(&edit, Some("a\nb\nc\nd\n")), expected);
        assert_eq!(texts(&edit, Some("a\nB\nc\nd\n")), expected);
    }

    #[test]
    fn unmatched_patch_shows_its_own_lines() {
        let edit = change(PatchChangeKind::Update { move_path: None }, EDIT);
        let expected = ("/w/f".into(), Some("a\nb\nc\n".into()), "a\nB\nc\n".into());
        assert_eq!(texts(&edit, Some("something else\n")), expected);
        assert_eq!(texts(&edit, None), expected);
    }

    #[test]
    fn a_move_is_shown_at_its_new_path() {
        let kind = PatchChangeKind::Update {
            move_path: Some("/w/g".into()),
        };
        let edit = change(kind, &format!("{EDIT}\n\nMoved to: /w/g"));
        assert_eq!(texts(&edit, Some("a\nb\nc\n")).0, PathBuf::from("/w/g"));
    }

    #[test]
    fn new_and_deleted_files_need_no_file() {
        let added = texts(&change(PatchChangeKind::Add, "x\n"), None);
        assert_eq!(added, ("/w/f".into(), None, "x\n".into()));
        let deleted = texts(&change(PatchChangeKind::Delete, "x\n"), None);
        assert_eq!(deleted, ("/w/f".into(), Some("x\n".into()), String::new()));
    }
}
