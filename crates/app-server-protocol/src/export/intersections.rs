//! Schemas without intersections of objects, for JSON Schema: generators of code do not know how to make one type of
//! several. The members of all parts stand in one object instead, and in one for each combination if parts are unions.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::schema::REFERENCE;
use super::selection::Selection;

/// More combinations, or references within references, than any type has. What goes beyond stays as it is.
const MAX_INTERSECTIONS: usize = 64;

/// The keys that say something about values beside the parts of an intersection.
const OF_OBJECTS: [&str; 4] = ["type", "properties", "required", "additionalProperties"];

/// The types that have an intersection, without it.
pub(super) fn multiplied_out<'a>(selection: &'a Selection<'_>) -> BTreeMap<&'a str, Value> {
    let with_intersection = selection
        .names()
        .filter(|name| has_intersection(selection.schema(name)));
    with_intersection
        .map(|name| (name, multiply_out(selection.schema(name), selection)))
        .collect()
}

fn has_intersection(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => is_intersection(object) || object.values().any(has_intersection),
        Value::Array(values) => values.iter().any(has_intersection),
        _ => false,
    }
}

/// Whether several parts make up a schema. One reference with a description beside it is no intersection.
fn is_intersection(object: &Map<String, Value>) -> bool {
    let parts = object.get("allOf").and_then(Value::as_array);
    parts.is_some_and(|parts| {
        parts.len() > 1 || OF_OBJECTS.iter().any(|key| object.contains_key(*key))
    })
}

fn multiply_out(schema: &Value, selection: &Selection<'_>) -> Value {
    match schema {
        Value::Object(object) if is_intersection(object) => {
            let alternatives = alternatives(schema, selection, MAX_INTERSECTIONS);
            alternatives.map_or_else(|| schema.clone(), |all| union(object, all))
        }
        Value::Object(object) => {
            let members = object.iter();
            let members = members.map(|(key, value)| (key.clone(), multiply_out(value, selection)));
            members.collect::<Map<_, _>>().into()
        }
        Value::Array(values) => {
            let values = values.iter();
            values.map(|value| multiply_out(value, selection)).collect()
        }
        other => other.clone(),
    }
}

/// The alternatives with what the intersection says beside its parts, such as its title.
fn union(intersection: &Map<String, Value>, mut alternatives: Vec<Map<String, Value>>) -> Value {
    let beside = intersection
        .iter()
        .filter(|(key, _)| *key != "allOf" && !OF_OBJECTS.contains(&key.as_str()));
    let beside = beside.map(|(key, value)| (key.clone(), value.clone()));
    let mut union = match alternatives.len() {
        1 => alternatives.remove(0),
        _ => {
            // Several types of one name would get numbers.
            for alternative in &mut alternatives {
                alternative.remove("title");
            }
            Map::from_iter([("anyOf".to_owned(), Value::from(alternatives))])
        }
    };
    union.extend(beside);
    union.into()
}

/// The objects that a schema allows; none if it is about something else, or they are too many.
fn alternatives(
    schema: &Value,
    selection: &Selection<'_>,
    depth: usize,
) -> Option<Vec<Map<String, Value>>> {
    let depth = depth.checked_sub(1)?;
    let object = schema.as_object()?;
    if let Some(reference) = object.get("$ref") {
        let name = reference.as_str()?.strip_prefix(REFERENCE)?;
        return alternatives(selection.schema(name), selection, depth);
    }
    let own = object
        .iter()
        .filter(|(key, _)| OF_OBJECTS.contains(&key.as_str()) || *key == "title")
        .map(|(key, value)| (key.clone(), value.clone()));
    let mut found = vec![own.collect::<Map<_, _>>()];
    for part in parts(object, "allOf") {
        found = products(&found, &alternatives(part, selection, depth)?)?;
    }
    for key in ["anyOf", "oneOf"] {
        let mut branches = Vec::new();
        for branch in parts(object, key) {
            branches.extend(alternatives(branch, selection, depth)?);
        }
        if object.contains_key(key) {
            found = products(&found, &branches)?;
        }
    }
    let is_object = |one: &Map<String, Value>| one.get("type").is_some_and(|ty| ty == "object");
    found.iter().all(is_object).then_some(found)
}

fn parts<'a>(object: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> {
    let parts = object.get(key).and_then(Value::as_array);
    parts.into_iter().flatten()
}

/// Each of these objects with each of those, without repetition.
fn products(
    these: &[Map<String, Value>],
    those: &[Map<String, Value>],
) -> Option<Vec<Map<String, Value>>> {
    let mut found: Vec<Map<String, Value>> = Vec::new();
    for one in these {
        for other in those {
            let both = merged(one, other)?;
            let is_known = |known: &Map<String, Value>| {
                OF_OBJECTS
                    .iter()
                    .all(|key| known.get(*key) == both.get(*key))
            };
            if !found.iter().any(is_known) {
                found.push(both);
            }
        }
    }
    (found.len() <= MAX_INTERSECTIONS).then_some(found)
}

/// The members of both; none if they disagree about one.
fn merged(one: &Map<String, Value>, other: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut both = one.clone();
    for (key, value) in other {
        match both.get_mut(key) {
            None => {
                both.insert(key.clone(), value.clone());
            }
            Some(Value::Object(members)) if key == "properties" => {
                for (name, property) in value.as_object()? {
                    let known = members.entry(name).or_insert_with(|| property.clone());
                    if known != property {
                        return None;
                    }
                }
            }
            Some(Value::Array(required)) if key == "required" => {
                let names = value.as_array()?.iter();
                let names: Vec<_> = names
                    .filter(|name| !required.contains(name))
                    .cloned()
                    .collect();
                required.extend(names);
                required.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
            }
            Some(known) if key == "title" => *known = value.clone(),
            Some(known) if known == value => {}
            Some(_) => return None,
        }
    }
    Some(both)
}
