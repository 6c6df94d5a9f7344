//! Descriptors of experimental fields and variants, which a client must opt into.
//!
//! The `Experimental` derive generates the implementations. The server checks what a request uses, and the exporters
//! check what to leave out.

use std::collections::BTreeMap;

use schemars::Schema;
use serde_json::{Map, Value};

/// A type that may have experimental members.
pub trait Experimental {
    /// The experimental members of this type, not of its fields' types.
    const MEMBERS: &'static [ExperimentalMember] = &[];

    /// The descriptor of the first experimental member that this value uses, for example
    /// `thread/start.dynamicTools`.
    fn experimental_use(&self) -> Option<&'static str> {
        None
    }

    /// Clears the experimental fields, for a receiver who has not opted in.
    fn clear_experimental(&mut self) {}
}

impl<T: Experimental> Experimental for Option<T> {
    fn experimental_use(&self) -> Option<&'static str> {
        self.as_ref().and_then(T::experimental_use)
    }

    fn clear_experimental(&mut self) {
        self.iter_mut().for_each(T::clear_experimental);
    }
}

impl<T: Experimental> Experimental for Vec<T> {
    fn experimental_use(&self) -> Option<&'static str> {
        self.iter().find_map(T::experimental_use)
    }

    fn clear_experimental(&mut self) {
        self.iter_mut().for_each(T::clear_experimental);
    }
}

impl<T: Experimental> Experimental for BTreeMap<String, T> {
    fn experimental_use(&self) -> Option<&'static str> {
        self.values().find_map(T::experimental_use)
    }

    fn clear_experimental(&mut self) {
        self.values_mut().for_each(T::clear_experimental);
    }
}

/// An experimental field or variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExperimentalMember {
    /// The name on the wire.
    pub name: &'static str,
    /// The name that a client must opt into.
    pub descriptor: &'static str,
}

/// The key of the descriptor of an experimental member in a schema.
pub const EXPERIMENTAL_KEY: &str = "x-experimental";

/// Marks the experimental members of `T` in its schema: properties by name, variants by tag.
///
/// Types with such members name it in `#[schemars(transform = …)]`.
pub fn mark_experimental<T: Experimental>(schema: &mut Schema) {
    let schema = schema.ensure_object();
    for member in T::MEMBERS {
        let mut found = mark_property(schema, member);
        for union in ["oneOf", "anyOf"] {
            let branches = schema.get_mut(union).and_then(Value::as_array_mut);
            for branch in branches
                .into_iter()
                .flatten()
                .filter_map(Value::as_object_mut)
            {
                if is_variant(branch, member.name) {
                    insert_mark(branch, member);
                    found = true;
                } else {
                    found |= mark_property(branch, member);
                }
            }
        }
        debug_assert!(found, "{} is not in the schema", member.descriptor);
    }
}

fn mark_property(schema: &mut Map<String, Value>, member: &ExperimentalMember) -> bool {
    let Some(property) = schema
        .get_mut("properties")
        .and_then(|all| all.get_mut(member.name))
    else {
        return false;
    };
    if property == &Value::Bool(true) {
        *property = Value::Object(Map::new());
    }
    if let Some(property) = property.as_object_mut() {
        insert_mark(property, member);
    }
    true
}

fn insert_mark(schema: &mut Map<String, Value>, member: &ExperimentalMember) {
    schema.insert(EXPERIMENTAL_KEY.to_owned(), member.descriptor.into());
}

/// Whether a branch of a union is the variant with this name: by tag, as the only key, or as a string.
fn is_variant(branch: &Map<String, Value>, name: &str) -> bool {
    let is_name = |value: &Value| value.as_str() == Some(name);
    let properties = branch.get("properties").and_then(Value::as_object);
    branch.get("const").is_some_and(is_name)
        || properties.is_some_and(|all| {
            all.values()
                .any(|property| property.get("const").is_some_and(is_name))
                || (all.len() == 1 && all.contains_key(name))
        })
}
