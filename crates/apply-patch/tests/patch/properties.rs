//! Properties: a patch made from an edit produces the edited file, and a patch that fails changes no file.

use proptest::prelude::*;

use crate::support::{Folder, patch};

/// Few distinct lines, so that blocks repeat and wrong matches are possible.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ab]",
        2 => "[a-c]{2} ?",
        1 => Just(String::new()),
        1 => Just("*** x".to_owned()),
        1 => Just("@@ x".to_owned()),
        1 => Just("-\u{2014} \u{201C}q\u{201D}".to_owned()),
    ]
}

/// The edit of each line of a file: whether it is kept, and the lines to insert before it.
fn edits() -> impl Strategy<Value = Vec<(String, bool, Vec<String>)>> {
    let added = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(line(), 1..3)];
    prop::collection::vec((line(), prop::bool::weighted(0.8), added), 1..20)
}

fn text(lines: impl IntoIterator<Item = String>, ending: &str) -> String {
    lines.into_iter().map(|line| line + ending).collect()
}

/// The whole file as one chunk, so that its position is unambiguous.
fn one_chunk(edits: &[(String, bool, Vec<String>)], tail: &[String]) -> String {
    let mut body = "*** Update File: f\n@@".to_owned();
    for (line, kept, added) in edits {
        added
            .iter()
            .for_each(|line| body.push_str(&format!("\n+{line}")));
        body.push_str(&format!("\n{}{line}", if *kept { ' ' } else { '-' }));
    }
    tail.iter()
        .for_each(|line| body.push_str(&format!("\n+{line}")));
    body
}

fn before(edits: &[(String, bool, Vec<String>)]) -> Vec<String> {
    edits.iter().map(|(line, ..)| line.clone()).collect()
}

fn after(edits: &[(String, bool, Vec<String>)], tail: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    for (line, kept, added) in edits {
        lines.extend(added.iter().cloned());
        lines.extend(kept.then(|| line.clone()));
    }
    lines.extend(tail.iter().cloned());
    lines
}

/// Distinct lines, edited line by line with one line of context on each side: many chunks, each with one possible position.
fn many_chunks(count: usize, changed: &[bool]) -> (String, String, String) {
    let mut body = "*** Update File: f".to_owned();
    let (mut old, mut new) = (String::new(), String::new());
    for index in 0..count {
        let line = format!("line {index}");
        old.push_str(&format!("{line}\n"));
        if changed.get(index).copied().unwrap_or(false) && index % 3 == 1 {
            body.push_str(&format!(
                "\n@@ line {}\n-{line}\n+changed {index}",
                index - 1
            ));
            new.push_str(&format!("changed {index}\n"));
        } else {
            new.push_str(&format!("{line}\n"));
        }
    }
    (old, body, new)
}

fn content(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.tree()[name].clone().unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn patch_of_edit_reproduces_edited_file(
        edits in edits(),
        tail in prop::collection::vec(line(), 0..2),
        crlf in any::<bool>(),
    ) {
        let ending = if crlf { "\r\n" } else { "\n" };
        let folder = Folder::with_files(&[("f", &text(before(&edits), ending))]);
        let output = folder.program(&one_chunk(&edits, &tail));
        prop_assert_eq!(output.exit_code, 0, "{}", output.stderr);
        prop_assert_eq!(content(&folder, "f"), text(after(&edits, &tail), ending));
    }

    #[test]
    fn chunks_find_their_own_places(changed in prop::collection::vec(any::<bool>(), 40)) {
        let (old, body, new) = many_chunks(40, &changed);
        prop_assume!(old != new);
        let folder = Folder::with_files(&[("f", &old)]);
        let output = folder.program(&body);
        prop_assert_eq!(output.exit_code, 0, "{}", output.stderr);
        prop_assert_eq!(content(&folder, "f"), new);
    }

    /// Random hunks for a few files: most patches fail, and then nothing may have changed.
    /// The program makes the changes that the tool verified.
    #[test]
    fn a_failing_patch_changes_nothing(hunks in prop::collection::vec(hunk(), 1..7)) {
        let folder = Folder::with_files(&[("a", "x\ny\n"), ("b", "x\n"), ("d/c", "y\n"), ("e/f/g", "")]);
        let untouched = folder.tree();
        let body = hunks.join("\n");
        let verified = folder.verify(&body).map(|plan| plan.success_text());
        prop_assert_eq!(folder.tree(), untouched.clone(), "verifying only looks");
        let output = folder.program(&body);
        if output.exit_code == 0 {
            prop_assert_eq!(verified.ok(), Some(output.stdout));
            let left_over = folder.tree().keys().any(|name| name.contains(".apply-patch-"));
            prop_assert!(!left_over, "nothing is left behind");
        } else {
            prop_assert_eq!(folder.tree(), untouched);
        }
    }

    #[test]
    fn any_text_is_read_without_panic(text in "(\\PC|\n){0,200}", body in "([@ +*-][@ a]?|\n|\\*\\*\\* (Add|Delete|Update) File: a|\\*\\*\\* (Move to: b|End of File)|\n){0,40}") {
        let folder = Folder::with_files(&[("a", "a\n a\n")]);
        for text in [text, patch(&body)] {
            let untouched = folder.tree();
            if folder.program_raw(&text).exit_code != 0 {
                prop_assert_eq!(folder.tree(), untouched);
            }
        }
    }
}

fn hunk() -> impl Strategy<Value = String> {
    let path = prop::sample::select(vec![
        "a", "b", "n", "d/c", "d/n", "a/n", "e", "e/f/g/h", "d/../b", "m/n/o",
    ]);
    let change = prop::sample::select(vec!["-x\n+y", "-y\n+x", "@@\n+z", "@@ x\n+w", " x"]);
    (path.clone(), path, change, 0..5).prop_map(|(path, other, change, kind)| match kind {
        0 => format!("*** Add File: {path}\n+x\n+y"),
        1 => format!("*** Delete File: {path}"),
        2 => format!("*** Update File: {path}\n*** Move to: {other}\n{change}"),
        _ => format!("*** Update File: {path}\n{change}"),
    })
}
