//! Merges the tables of the layers, and finds the layer that supplied a value.
//!
//! Tables are merged key by key. All other values, also arrays, are replaced, and so is a table by another kind of value
//! and vice versa. `origins` inspects the layers separately, so that the merge itself stays simple.

use std::collections::BTreeMap;

use toml::{Table, Value};

/// Merges `over` into `base`; values in `over` take precedence.
pub(crate) fn merge(base: &mut Table, over: &Table) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(table)) => merge(inner, table),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Maps each leaf of the merged tables to the index of the table that supplied it. Keys are dotted paths, with array
/// elements by index. `tables` are ordered lowest precedence first.
pub(crate) fn origins(tables: &[&Table]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let highest_first = tables.iter().copied().enumerate().rev().collect::<Vec<_>>();
    collect_table(&highest_first, &mut String::new(), &mut found);
    found
}

type Contributions<'a> = [(usize, &'a Table)];

fn collect_table(
    tables: &Contributions<'_>,
    path: &mut String,
    found: &mut BTreeMap<String, usize>,
) {
    for (at, (_, table)) in tables.iter().enumerate() {
        for key in table.keys() {
            let named_higher = tables.iter().take(at).any(|(_, t)| t.contains_key(key));
            if !named_higher {
                with_segment(path, key, |path| collect_key(tables, key, path, found));
            }
        }
    }
}

/// Handles one key of several tables. The highest value wins; lower ones contribute only if all values above them are
/// tables too.
fn collect_key(
    tables: &Contributions<'_>,
    key: &str,
    path: &mut String,
    found: &mut BTreeMap<String, usize>,
) {
    let mut inner = Vec::new();
    for (layer, table) in tables {
        match table.get(key) {
            None => {}
            Some(Value::Table(table)) => inner.push((*layer, table)),
            Some(value) => {
                if inner.is_empty() {
                    collect_leaf(value, *layer, path, found);
                }
                break;
            }
        }
    }
    collect_table(&inner, path, found);
}

fn collect_leaf(
    value: &Value,
    layer: usize,
    path: &mut String,
    found: &mut BTreeMap<String, usize>,
) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                with_segment(path, key, |path| collect_leaf(value, layer, path, found));
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                with_segment(path, &at.to_string(), |path| {
                    collect_leaf(value, layer, path, found);
                });
            }
        }
        _ => {
            found.insert(path.clone(), layer);
        }
    }
}

fn with_segment(path: &mut String, segment: &str, then: impl FnOnce(&mut String)) {
    let length = path.len();
    if length > 0 {
        path.push('.');
    }
    path.push_str(segment);
    then(path);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(texts: &[&str]) -> Vec<Table> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[track_caller]
    fn check(texts: &[&str], merged: &str, expected: &[(&str, usize)]) {
        let tables = tables(texts);
        let mut result = Table::new();
        for table in &tables {
            merge(&mut result, table);
        }
        assert_eq!(result, merged.parse().unwrap());
        let found = origins(&tables.iter().collect::<Vec<_>>());
        let found: Vec<(&str, usize)> = found.iter().map(|(k, v)| (k.as_str(), *v)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn tables_merge_key_by_key() {
        check(
            &["a = 1\n[t]\nx = 1\ny = 1", "b = 2\n[t]\ny = 2"],
            "a = 1\nb = 2\n[t]\nx = 1\ny = 2",
            &[("a", 0), ("b", 1), ("t.x", 0), ("t.y", 1)],
        );
    }

    #[test]
    fn arrays_are_replaced() {
        check(&["a = [1, 2, 3]", "a = [4]"], "a = [4]", &[("a.0", 1)]);
        check(
            &["s = [{p = 1}, {p = 2, q = [3]}]"],
            "s = [{p = 1}, {p = 2, q = [3]}]",
            &[("s.0.p", 0), ("s.1.p", 0), ("s.1.q.0", 0)],
        );
    }

    #[test]
    fn a_table_and_something_else_replace_each_other() {
        check(&["[a]\nx = 1", "a = 2"], "a = 2", &[("a", 1)]);
        check(&["a = 2", "[a]\nx = 1"], "a = {x = 1}", &[("a.x", 1)]);
        check(
            &["[a]\nx = 1", "a = 2", "[a]\ny = 3"],
            "a = {y = 3}",
            &[("a.y", 2)],
        );
    }

    #[test]
    fn keys_with_dots_are_joined_as_they_are() {
        check(
            &["[projects.'/a.b']\ntrust_level = 'trusted'"],
            "[projects.'/a.b']\ntrust_level = 'trusted'",
            &[("projects./a.b.trust_level", 0)],
        );
    }
}
