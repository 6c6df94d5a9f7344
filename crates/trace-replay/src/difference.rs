//! Where a replay differs from the recording.

use std::fmt;

use codex_text_diff::unified_diff;
use serde_json::Value;

/// This many differences of a request are shown.
const MAX_SHOWN_DIFFERENCES: usize = 10;
/// This many characters of a value are shown.
const LENGTH: usize = 2000;

/// The first difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The path of the agent.
    pub agent: String,
    /// The number of the turn in its thread, from 1.
    pub turn: usize,
    /// The number of the request in its thread, from 1.
    pub request: usize,
    pub kind: DifferenceKind,
}

/// The kind of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The contents of the request differ.
    Contents(Vec<FieldDifference>),
    /// The recording has no such request.
    Additional,
    /// The turn ended without the request.
    Missing,
}

/// A difference in one member of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDifference {
    /// The way to the member, for example `input[3].content[0].text`.
    pub path: String,
    /// The difference as lines that begin with `-` (recorded), `+` (replayed) or a space.
    pub diff: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            agent,
            turn,
            request,
            kind,
        } = self;
        write!(f, "{agent}, turn {turn}, request {request}: ")?;
        match kind {
            DifferenceKind::Additional => f.write_str("the recording has no such request"),
            DifferenceKind::Missing => f.write_str("the turn ended without this request"),
            DifferenceKind::Contents(fields) => {
                f.write_str("not as recorded (- recorded, + now)")?;
                for field in fields {
                    write!(f, "\n{}\n{}", field.path, field.diff.trim_end())?;
                }
                Ok(())
            }
        }
    }
}

/// How two requests differ; empty if they are equal.
pub(crate) fn compare(recorded: &Value, replayed: &Value) -> Vec<FieldDifference> {
    let mut fields = Vec::new();
    walk("", recorded, replayed, &mut fields);
    fields.truncate(MAX_SHOWN_DIFFERENCES);
    fields
}

fn walk(path: &str, recorded: &Value, replayed: &Value, fields: &mut Vec<FieldDifference>) {
    if recorded == replayed || fields.len() >= MAX_SHOWN_DIFFERENCES {
        return;
    }
    match (recorded, replayed) {
        (Value::Object(before), Value::Object(after)) => {
            let added = after.keys().filter(|key| !before.contains_key(*key));
            for key in before.keys().chain(added) {
                let path = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                match (before.get(key), after.get(key)) {
                    (Some(before), Some(after)) => walk(&path, before, after, fields),
                    (before, after) => fields.push(FieldDifference {
                        path,
                        diff: one_sided(before, after),
                    }),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => elements(path, before, after, fields),
        (Value::String(before), Value::String(after)) => fields.push(FieldDifference {
            path: path.to_owned(),
            diff: text_diff(before, after),
        }),
        (before, after) => fields.push(FieldDifference {
            path: path.to_owned(),
            diff: one_sided([before], [after]),
        }),
    }
}

/// Elements that stand at the same place from the front or from the end belong together.
fn elements(path: &str, before: &[Value], after: &[Value], fields: &mut Vec<FieldDifference>) {
    if before.len() == after.len() {
        for (index, (before, after)) in before.iter().zip(after).enumerate() {
            walk(&format!("{path}[{index}]"), before, after, fields);
        }
        return;
    }
    let same = |(before, after): &(&Value, &Value)| before == after;
    let head = before.iter().zip(after).take_while(same).count();
    let (before, after) = (&before[head..], &after[head..]);
    let tail = before.iter().rev().zip(after.iter().rev());
    let tail = tail.take_while(same).count();
    let (before, after) = (&before[..before.len() - tail], &after[..after.len() - tail]);
    fields.push(FieldDifference {
        path: format!("{path}[{head}]"),
        diff: one_sided(before, after),
    });
}

fn one_sided<'v>(
    removed: impl IntoIterator<Item = &'v Value>,
    added: impl IntoIterator<Item = &'v Value>,
) -> String {
    let line = |sign: char, value: &Value| format!("{sign}{}\n", shortened(&value.to_string()));
    let removed = removed.into_iter().map(|value| line('-', value));
    let added = added.into_iter().map(|value| line('+', value));
    removed.collect::<String>() + &added.collect::<String>()
}

fn text_diff(recorded: &str, replayed: &str) -> String {
    let [recorded, replayed] =
        [recorded, replayed].map(|text| format!("{}\n", text.trim_end_matches('\n')));
    if recorded == replayed {
        return "-(line ends at the end differ)\n".to_owned();
    }
    shortened(&unified_diff(&recorded, &replayed, 1))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_changed_sentence_is_shown_with_its_place() {
        let request =
            |text: &str| json!({ "instructions": text, "input": [{ "type": "message" }] });
        let fields = compare(&request("one\ntwo\nthree"), &request("one\n2\nthree"));
        assert_eq!(fields.len(), 1);
        assert_eq!(fields[0].path, "instructions");
        assert!(fields[0].diff.contains("-two\n+2\n"), "{}", fields[0].diff);
    }

    #[test]
    fn added_item_does_not_change_later_ones() {
        let request = |items: &[u32]| json!({ "input": items });
        let fields = compare(&request(&[1, 2, 3]), &request(&[1, 9, 2, 3]));
        assert_eq!(fields[0].path, "input[1]");
        assert_eq!(fields[0].diff, "+9\n");
    }
}
