//! Holds values against JSON Schemas that use a few keywords only.
//!
//! A keyword that is not known here is a mistake, not a blank: generated schemas keep to what every code
//! generator reads, and a test that passes says that nothing was skipped.

use serde_json::{Map, Value};

/// Keywords that say nothing about whether a value fits.
const REMARKS: [&str; 7] = [
    "$schema",
    "default",
    "description",
    "format",
    "title",
    "writeOnly",
    "x-experimental",
];

/// A schema whose references lead to its own definitions.
#[derive(Debug)]
pub struct JsonSchema {
    root: Value,
}

impl JsonSchema {
    /// Takes a schema, all of which is to be readable.
    ///
    /// # Errors
    /// Where it is not, with what is wrong.
    pub fn new(root: Value) -> Result<Self, String> {
        let schema = Self { root };
        schema.check(&schema.root, "")?;
        Ok(schema)
    }

    /// Whether a value fits.
    ///
    /// # Errors
    /// Where it does not, with the reason.
    pub fn validate(&self, value: &Value) -> Result<(), String> {
        self.fits(&self.root, value, "")
    }

    /// Goes through a schema without a value.
    fn check(&self, schema: &Value, at: &str) -> Result<(), String> {
        let Value::Object(keywords) = schema else {
            return schema
                .is_boolean()
                .then_some(())
                .ok_or(format!("{at}: no schema"));
        };
        for (keyword, content) in keywords {
            let at = format!("{at}/{keyword}");
            match (keyword.as_str(), content) {
                ("definitions" | "$defs", _) => self.check_definitions(content, &at)?,
                ("properties", Value::Object(parts)) => {
                    for (name, part) in parts {
                        self.check(part, &format!("{at}/{name}"))?;
                    }
                }
                ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) if !parts.is_empty() => {
                    for part in parts {
                        self.check(part, &at)?;
                    }
                }
                ("items" | "additionalProperties", part) => self.check(part, &at)?,
                ("$ref", Value::String(pointer)) => drop(self.target(pointer)?),
                ("type", Value::String(name)) => drop(is_of(name, &Value::Null)?),
                ("type", Value::Array(names)) if !names.is_empty() => {
                    for name in names {
                        is_of(name.as_str().ok_or(at.clone())?, &Value::Null)?;
                    }
                }
                ("required", Value::Array(names)) if names.iter().all(Value::is_string) => {}
                ("enum", Value::Array(_)) | ("const", _) => {}
                ("minimum" | "maximum", Value::Number(_)) => {}
                (remark, _) if REMARKS.contains(&remark) => {}
                _ => return Err(format!("{at}: not understood: {content}")),
            }
        }
        Ok(())
    }

    /// Definitions may be in groups.
    fn check_definitions(&self, parts: &Value, at: &str) -> Result<(), String> {
        for (name, part) in parts.as_object().into_iter().flatten() {
            let at = format!("{at}/{name}");
            let is_group = part
                .as_object()
                .is_some_and(|part| !part.is_empty() && part.values().all(Value::is_object));
            if is_group {
                self.check_definitions(part, &at)?;
            } else {
                self.check(part, &at)?;
            }
        }
        Ok(())
    }

    fn target(&self, pointer: &str) -> Result<&Value, String> {
        let inner = pointer.strip_prefix('#');
        let target = inner.and_then(|inner| self.root.pointer(inner));
        target.ok_or_else(|| format!("`{pointer}` leads nowhere"))
    }

    fn fits(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let keywords = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Object(keywords) => keywords,
            _ => return Err(format!("{at}: nothing is allowed here")),
        };
        let wrong = |why: String| Err(format!("{at}: {why}"));
        for (keyword, content) in keywords {
            match keyword.as_str() {
                "$ref" => {
                    let pointer = content.as_str().unwrap_or_default();
                    self.fits(self.target(pointer)?, value, at)?;
                }
                "type" if !is_of_any(content, value)? => {
                    return wrong(format!("{value} is not of type {content}"));
                }
                "const" if content != value => return wrong(format!("not {content}")),
                "enum" if !list(content).contains(value) => {
                    return wrong(format!("{value} is none of {content}"));
                }
                "minimum" if is_below(value, content) => {
                    return wrong(format!("{value} is below {content}"));
                }
                "maximum" if is_below(content, value) => {
                    return wrong(format!("{value} is above {content}"));
                }
                "allOf" => {
                    for part in list(content) {
                        self.fits(part, value, at)?;
                    }
                }
                "anyOf" => self.count(content, value, at, |fitting| fitting > 0)?,
                "oneOf" => self.count(content, value, at, |fitting| fitting == 1)?,
                "items" => {
                    for (index, entry) in list(value).iter().enumerate() {
                        self.fits(content, entry, &format!("{at}/{index}"))?;
                    }
                }
                _ => {}
            }
        }
        match value {
            Value::Object(members) => self.members_fit(keywords, members, at),
            _ => Ok(()),
        }
    }

    fn members_fit(
        &self,
        keywords: &Map<String, Value>,
        members: &Map<String, Value>,
        at: &str,
    ) -> Result<(), String> {
        for name in keywords.get("required").map(list).unwrap_or_default() {
            if !name.as_str().is_some_and(|name| members.contains_key(name)) {
                return Err(format!("{at}: {name} is missing"));
            }
        }
        let known = keywords.get("properties").and_then(Value::as_object);
        for (name, member) in members {
            let own = known.and_then(|known| known.get(name));
            if let Some(schema) = own.or(keywords.get("additionalProperties")) {
                self.fits(schema, member, &format!("{at}/{name}"))?;
            }
        }
        Ok(())
    }

    fn count(
        &self,
        parts: &Value,
        value: &Value,
        at: &str,
        is_right: impl Fn(usize) -> bool,
    ) -> Result<(), String> {
        let attempts = list(parts).iter().map(|part| self.fits(part, value, at));
        let (fitting, failing): (Vec<_>, Vec<_>) = attempts.partition(Result::is_ok);
        if is_right(fitting.len()) {
            return Ok(());
        }
        let reasons: Vec<_> = failing.into_iter().filter_map(Result::err).collect();
        let fitting = fitting.len();
        Err(format!(
            "{at}: fits {fitting} of the variants: {}",
            reasons.join("; ")
        ))
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What is no number is below nothing.
fn is_below(value: &Value, limit: &Value) -> bool {
    let pair = value.as_f64().zip(limit.as_f64());
    pair.is_some_and(|(value, limit)| value < limit)
}

fn is_of_any(types: &Value, value: &Value) -> Result<bool, String> {
    let names = match types {
        Value::Array(names) => names.as_slice(),
        name => std::slice::from_ref(name),
    };
    for name in names {
        if is_of(name.as_str().unwrap_or_default(), value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_of(name: &str, value: &Value) -> Result<bool, String> {
    Ok(match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        _ => return Err(format!("there is no type `{name}`")),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(schema: Value, fits: &[Value], fails: &[Value]) {
        let schema = JsonSchema::new(schema).unwrap();
        for value in fits {
            schema.validate(value).unwrap();
        }
        for value in fails {
            assert!(schema.validate(value).is_err(), "{value} fits");
        }
    }

    #[test]
    fn values_fit_or_do_not() {
        check(
            json!({ "type": ["integer", "null"], "minimum": 0 }),
            &[json!(3), json!(null)],
            &[json!(-1), json!(1.5)],
        );
        check(json!({ "const": "a" }), &[json!("a")], &[json!("b")]);
        check(json!({ "enum": ["a", 1] }), &[json!(1)], &[json!(2)]);
        check(
            json!({ "items": { "type": "string" } }),
            &[json!(["a"])],
            &[json!([1])],
        );
        check(
            json!({ "oneOf": [{ "type": "integer" }, { "maximum": 5 }] }),
            &[json!(9), json!(2.5)],
            &[json!(3), json!(7.5)],
        );
        check(
            json!({
                "properties": { "next": { "$ref": "#" }, "kind": { "type": "string" } },
                "required": ["kind"],
                "additionalProperties": false,
            }),
            &[json!({ "kind": "a", "next": { "kind": "b" } })],
            &[
                json!({}),
                json!({ "kind": "a", "more": 1 }),
                json!({ "kind": "a", "next": {} }),
            ],
        );
    }

    #[test]
    fn a_schema_that_is_not_understood_is_refused() {
        for schema in [
            json!({ "pattern": "a" }),
            json!({ "type": "text" }),
            json!({ "$ref": "#/definitions/Gone" }),
            json!({ "anyOf": [] }),
            json!({ "items": 5 }),
        ] {
            assert!(JsonSchema::new(schema.clone()).is_err(), "{schema}");
        }
    }
}
