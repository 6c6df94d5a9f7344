//! What a patch that is still being written changes so far.
//!
//! Only complete lines count. Nothing is compared with files, and nothing is an error: what is not understood is left
//! out, because the whole patch is parsed when it is complete.

use std::collections::BTreeMap;

use crate::parse::{
    ADD_FILE, BEGIN_MARKER, DELETE_FILE, END_MARKER, END_OF_FILE, MOVE_TO, UPDATE_FILE,
};

/// The change of one file, as far as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenChange {
    /// With the lines of the file so far.
    Add(String),
    Delete,
    Update {
        /// The lines below the header, as written.
        lines: String,
        move_to: Option<String>,
    },
}

/// The changes by path, as the patch spells it.
#[must_use]
pub fn written_changes(text: &str) -> BTreeMap<String, WrittenChange> {
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = complete
        .lines()
        .skip_while(|line| line.trim() != BEGIN_MARKER);
    lines.next();
    let mut changes = BTreeMap::new();
    let mut current = String::new();
    for line in lines.take_while(|line| line.trim() != END_MARKER) {
        let header = line.trim();
        let (path, change) = if let Some(path) = header.strip_prefix(ADD_FILE) {
            (path, WrittenChange::Add(String::new()))
        } else if let Some(path) = header.strip_prefix(DELETE_FILE) {
            (path, WrittenChange::Delete)
        } else if let Some(path) = header.strip_prefix(UPDATE_FILE) {
            let (lines, move_to) = (String::new(), None);
            (path, WrittenChange::Update { lines, move_to })
        } else {
            if let Some(change) = changes.get_mut(&current) {
                add_line(change, line);
            }
            continue;
        };
        path.trim().clone_into(&mut current);
        changes.insert(current.clone(), change);
    }
    changes
}

fn add_line(change: &mut WrittenChange, line: &str) {
    match change {
        WrittenChange::Add(content) => {
            if let Some(line) = line.strip_prefix('+') {
                content.push_str(line);
                content.push('\n');
            }
        }
        WrittenChange::Delete => {}
        WrittenChange::Update { lines, move_to } => {
            if let Some(to) = line.strip_prefix(MOVE_TO).filter(|_| lines.is_empty()) {
                *move_to = Some(to.trim().to_owned());
            } else if line != END_OF_FILE {
                lines.push_str(line);
                lines.push('\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Update File: b\n*** Move to: c\n@@ x\n-old\n+new\n*** End of File\n\
                         *** Add File: a\n+one\n+two\n*** Delete File: d\n*** End Patch\n";

    fn check(end: &str, expected: &[(&str, WrittenChange)]) {
        let at = PATCH.find(end).unwrap() + end.len();
        let expected = expected
            .iter()
            .map(|(path, change)| ((*path).to_owned(), change.clone()));
        assert_eq!(written_changes(&PATCH[..at]), expected.collect(), "{end}");
    }

    #[test]
    fn changes_grow_with_each_complete_line() {
        let update = |lines: &str, move_to: Option<&str>| WrittenChange::Update {
            lines: lines.to_owned(),
            move_to: move_to.map(str::to_owned),
        };
        let add = |content: &str| WrittenChange::Add(content.to_owned());
        check("Patch", &[]);
        check("File: b", &[]);
        check("File: b\n", &[("b", update("", None))]);
        check("to: c\n", &[("b", update("", Some("c")))]);
        check("-old\n+ne", &[("b", update("@@ x\n-old\n", Some("c")))]);
        let whole = || ("b", update("@@ x\n-old\n+new\n", Some("c")));
        check("File: a\n+one\n", &[("a", add("one\n")), whole()]);
        check(
            "End Patch\n",
            &[
                ("a", add("one\ntwo\n")),
                whole(),
                ("d", WrittenChange::Delete),
            ],
        );
    }

    #[test]
    fn invalid_patch_changes_no_files() {
        for text in [
            "",
            "\n",
            "*** Add File: a\n+x\n",
            "*** Begin Patch\nodd\n+x\n",
        ] {
            assert!(written_changes(text).is_empty(), "{text:?}");
        }
    }
}
