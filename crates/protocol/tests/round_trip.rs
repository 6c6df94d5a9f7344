//! Any value of ours survives being written and read; what does not read says where.
//!
//! Values are made by editing lines of the corpus: scalars are replaced, fields removed, elements
//! repeated. An edit may make a line unreadable; then the error has to point at the edit.

#![expect(clippy::unwrap_used, reason = "the helpers of tests are tests")]

mod support;

use codex_protocol::{Event, ResponseItem, Submission};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;
use support::*;

/// A change to one place of a line.
#[derive(Clone, Debug)]
enum Edit {
    /// Puts the text where a text is.
    Text(String),
    /// Puts the number where a number is.
    Number(Value),
    /// Turns a flag over.
    Flip,
    /// Puts something in its place, of whatever type.
    Replace(Value),
    /// Removes a field or an element.
    Remove,
    /// Adds an element, equal to the last.
    Repeat,
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from), // Null where JSON has no such number.
        any::<String>().prop_map(Value::from),
    ]
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u8>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        any::<f32>()
            .prop_filter("finite", |number| number.is_finite())
            .prop_map(Value::from),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => any::<String>().prop_map(Edit::Text),
        4 => number().prop_map(Edit::Number),
        2 => Just(Edit::Flip),
        1 => scalar().prop_map(Edit::Replace),
        2 => Just(Edit::Remove),
        2 => Just(Edit::Repeat),
    ]
}

/// The JSON pointers of all places below the whole.
fn places(value: &Value) -> Vec<String> {
    fn walk(value: &Value, at: &str, found: &mut Vec<String>) {
        let below: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(k, v)| (k.clone(), v)).collect(),
            Value::Array(elements) => (0..).map(|i: i32| i.to_string()).zip(elements).collect(),
            _ => Vec::new(),
        };
        for (name, value) in below {
            let name = name.replace('~', "~0").replace('/', "~1");
            let at = format!("{at}/{name}");
            walk(value, &at, found);
            found.push(at);
        }
    }
    let mut found = Vec::new();
    walk(value, "", &mut found);
    found
}

/// Carries out an edit and tells the place, or nothing if the edit does not suit the place.
fn apply(whole: &mut Value, at: Index, edit: &Edit) -> Option<String> {
    let places = places(whole);
    if places.is_empty() {
        return None;
    }
    let place = at.get(&places).clone();
    if matches!(edit, Edit::Remove) {
        let (parent, name) = place.rsplit_once('/')?;
        match whole.pointer_mut(parent)? {
            Value::Object(fields) => {
                fields.shift_remove(&name.replace("~1", "/").replace("~0", "~"))?;
            }
            Value::Array(elements) => {
                elements.remove(name.parse().ok()?);
            }
            _ => return None,
        }
        return Some(parent.to_owned());
    }
    match (whole.pointer_mut(&place)?, edit) {
        (Value::String(text), Edit::Text(new)) => new.clone_into(text),
        (value @ Value::Number(_), Edit::Number(new)) => *value = new.clone(),
        (Value::Bool(flag), Edit::Flip) => *flag = !*flag,
        (Value::Array(elements), Edit::Repeat) => elements.push(elements.last()?.clone()),
        (value, Edit::Replace(new)) => *value = new.clone(),
        _ => return None,
    }
    Some(place)
}

fn pick(corpus: &str, line: Index) -> Value {
    let lines: Vec<&str> = corpus.lines().collect();
    serde_json::from_str(lines[line.index(lines.len())]).unwrap()
}

fn survives<T: Wire>(corpus: &str, line: Index, edits: &[(Index, Edit)]) {
    let mut value = pick(corpus, line);
    for (at, edit) in edits {
        apply(&mut value, *at, edit);
    }
    let Ok(read) = T::from_text(&value.to_string()) else {
        return;
    };
    let written = read.to_text();
    let again = T::from_text(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(again, read, "{written}");
    assert_eq!(again.to_text(), written);
}

/// One edit either leaves a line readable or is what the error points at.
fn error_names_the_place<T: Wire>(corpus: &str, line: Index, at: Index, edit: &Edit) {
    let mut value = pick(corpus, line);
    let Some(place) = apply(&mut value, at, edit) else {
        return;
    };
    if let Err(error) = T::from_text(&value.to_string()) {
        let place = parts(&place.replace('/', "."));
        let path = parts(&error.path().replace(['[', ']'], "."));
        assert!(
            place.starts_with(&path) && path.len() + 1 >= place.len(),
            "{error} is not at {place:?}: {value}"
        );
    }
}

fn parts(path: &str) -> Vec<String> {
    path.split('.')
        .filter(|part| !part.is_empty())
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect()
}

fn edits() -> impl Strategy<Value = Vec<(Index, Edit)>> {
    proptest::collection::vec((any::<Index>(), edit()), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn submissions_survive(line: Index, edits in edits()) {
        survives::<Submission>(SUBMISSIONS, line, &edits);
    }

    #[test]
    fn events_survive(line: Index, edits in edits()) {
        survives::<Event>(EVENTS, line, &edits);
    }

    #[test]
    fn response_items_survive(line: Index, edits in edits()) {
        survives::<ResponseItem>(RESPONSE_ITEMS, line, &edits);
    }

    #[test]
    fn rollout_lines_survive(line: Index, edits in edits()) {
        survives::<CorpusLine>(ROLLOUT, line, &edits);
    }

    #[test]
    fn an_error_points_at_its_cause(line: Index, at: Index, edit in edit()) {
        error_names_the_place::<Submission>(SUBMISSIONS, line, at, &edit);
        error_names_the_place::<Event>(EVENTS, line, at, &edit);
        error_names_the_place::<ResponseItem>(RESPONSE_ITEMS, line, at, &edit);
    }
}
