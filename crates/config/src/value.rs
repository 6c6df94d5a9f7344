//! Converts between TOML and JSON values, and accesses settings by path.

use serde_json::{Map, Value as Json};
use toml::{Table, Value};

use crate::nesting::MAX_DEPTH;

/// A table as JSON with sorted keys.
pub(crate) fn table_to_json(table: &Table) -> Json {
    let map: Map<String, Json> = table
        .iter()
        .map(|(key, value)| (key.clone(), to_json(value)))
        .collect();
    Json::Object(map)
}

/// A value as JSON. Dates become strings, and numbers that JSON lacks become null.
pub(crate) fn to_json(value: &Value) -> Json {
    match value {
        Value::String(text) => Json::String(text.clone()),
        Value::Integer(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::Boolean(flag) => Json::Bool(*flag),
        Value::Datetime(date) => Json::String(date.to_string()),
        Value::Array(items) => Json::Array(items.iter().map(to_json).collect()),
        Value::Table(table) => table_to_json(table),
    }
}

/// How to handle nulls inside JSON values, which TOML lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NullHandling {
    /// Omit the entry.
    Skip,
    /// Return an error.
    Refuse,
}

/// Why a JSON value cannot be written as TOML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// It contains null.
    #[error("invalid type: null, expected any valid TOML value")]
    Null,
    /// It contains an integer outside the range of `i64`.
    #[error("number `{0}` is out of range")]
    OutOfRange(String),
    /// It is nested too deeply.
    #[error("nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
}

/// Converts a JSON value to TOML. `None` for null if nulls are skipped.
pub(crate) fn from_json(value: &Json, nulls: NullHandling) -> Result<Option<Value>, ValueError> {
    from_json_within(value, nulls, MAX_DEPTH)
}

/// The same with a limit on the remaining levels.
fn from_json_within(
    value: &Json,
    nulls: NullHandling,
    levels: usize,
) -> Result<Option<Value>, ValueError> {
    let inner = || levels.checked_sub(1).ok_or(ValueError::TooDeep);
    Ok(Some(match value {
        Json::Null if nulls == NullHandling::Skip => return Ok(None),
        Json::Null => return Err(ValueError::Null),
        Json::Bool(flag) => Value::Boolean(*flag),
        Json::Number(number) => from_number(number)?,
        Json::String(text) => Value::String(text.clone()),
        Json::Array(items) => {
            let (mut array, levels) = (Vec::with_capacity(items.len()), inner()?);
            for item in items {
                array.extend(from_json_within(item, nulls, levels)?);
            }
            Value::Array(array)
        }
        Json::Object(map) => {
            let (mut table, levels) = (Table::new(), inner()?);
            for (key, item) in map {
                if let Some(item) = from_json_within(item, nulls, levels)? {
                    table.insert(key.clone(), item);
                }
            }
            Value::Table(table)
        }
    }))
}

fn from_number(number: &serde_json::Number) -> Result<Value, ValueError> {
    if let Some(integer) = number.as_i64() {
        return Ok(Value::Integer(integer));
    }
    match number.as_f64() {
        Some(float) if number.is_f64() => Ok(Value::Float(float)),
        _ => Err(ValueError::OutOfRange(number.to_string())),
    }
}

/// The value at a path.
pub(crate) fn get<'a>(table: &'a Table, path: &[String]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    let value = table.get(first)?;
    if rest.is_empty() {
        return Some(value);
    }
    get(value.as_table()?, rest)
}

/// Sets the value at a path. Creates tables on the path, which replace other values.
pub(crate) fn set(table: &mut Table, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        table.insert(first.clone(), value);
        return;
    }
    let slot = table
        .entry(first.clone())
        .or_insert_with(|| Value::Table(Table::new()));
    if !slot.is_table() {
        *slot = Value::Table(Table::new());
    }
    if let Value::Table(inner) = slot {
        set(inner, rest, value);
    }
}

/// The result of removing a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemovalOutcome {
    /// The parent table exists; it does not contain the value now.
    Done,
    /// The parent table does not exist.
    NoParent,
}

/// Removes the value at a path.
pub(crate) fn remove(table: &mut Table, path: &[String]) -> RemovalOutcome {
    match path {
        [] => RemovalOutcome::NoParent,
        [key] => {
            table.remove(key);
            RemovalOutcome::Done
        }
        [first, rest @ ..] => match table.get_mut(first) {
            Some(Value::Table(inner)) => remove(inner, rest),
            _ => RemovalOutcome::NoParent,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_and_toml_agree() {
        let json = json!({"a": [1, 2.5, true, "x"], "b": {"c": -1}});
        let value = from_json(&json, NullHandling::Refuse).unwrap().unwrap();
        assert_eq!(to_json(&value), json);
    }

    #[test]
    fn nulls_are_skipped_or_refused() {
        let json = json!({"a": null, "b": [null, 1]});
        assert_eq!(
            from_json(&json, NullHandling::Refuse),
            Err(ValueError::Null)
        );
        let value = from_json(&json, NullHandling::Skip).unwrap().unwrap();
        assert_eq!(to_json(&value), json!({"b": [1]}));
        assert_eq!(from_json(&Json::Null, NullHandling::Skip), Ok(None));
    }

    #[test]
    fn integers_beyond_64_bits_are_refused() {
        let error = from_json(&json!(u64::MAX), NullHandling::Refuse).unwrap_err();
        assert_eq!(error, ValueError::OutOfRange(u64::MAX.to_string()));
    }

    #[test]
    fn a_value_that_is_nested_too_deeply_is_refused() {
        let nested = |levels| (0..levels).fold(json!(1), |value, _| json!({ "a": [value] }));
        assert!(from_json(&nested(MAX_DEPTH / 2), NullHandling::Skip).is_ok());
        let deeper = from_json(&nested(MAX_DEPTH / 2 + 1), NullHandling::Skip);
        assert_eq!(deeper, Err(ValueError::TooDeep));
    }

    #[test]
    fn setting_and_removing_at_a_path() {
        let path = |text: &str| -> Vec<String> { text.split('.').map(str::to_owned).collect() };
        let mut table: Table = "a = 1".parse().unwrap();
        set(&mut table, &path("a.b.c"), Value::Integer(2));
        assert_eq!(get(&table, &path("a.b.c")), Some(&Value::Integer(2)));
        assert_eq!(remove(&mut table, &path("x.y")), RemovalOutcome::NoParent);
        assert_eq!(
            remove(&mut table, &path("a.b.nothing")),
            RemovalOutcome::Done
        );
        assert_eq!(remove(&mut table, &path("a.b")), RemovalOutcome::Done);
        assert_eq!(table, "[a]".parse().unwrap());
    }
}
