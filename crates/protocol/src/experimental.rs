//! Descriptors of experimental fields and variants, which a client must opt into, and the releases that have a member.
//!
//! The `Experimental` derive generates the implementations. The server checks what a request uses, and the exporters
//! check what to leave out.

use std::collections::BTreeMap;

use schemars::Schema;
use serde_json::{Map, Value};

use crate::{PartPlace, ReleasedPart, Releases};

/// A type that may have experimental members.
pub trait Experimental {
    /// The experimental members of this type, not of its fields' types.
    const MEMBERS: &'static [ExperimentalMember] = &[];

    /// The members and variants of this type that not every release has.
    const RELEASED: &'static [ReleasedPart] = &[];

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

/// The key of the first release that has a part, in a schema.
pub const SINCE_KEY: &str = "x-since";

/// The key of the last release that has a part, in a schema.
pub const UNTIL_KEY: &str = "x-until";

/// Marks the experimental members of `T` in its schema, and those that not every release has.
///
/// Types with such members name it in `#[schemars(transform = …)]`.
pub fn mark_members<T: Experimental>(schema: &mut Schema) {
    let schema = schema.ensure_object();
    for member in T::MEMBERS {
        let mark = |part: &mut Map<String, Value>| {
            part.insert(EXPERIMENTAL_KEY.to_owned(), member.descriptor.into());
        };
        let mut found = mark_property(schema, member.name, mark);
        for branch in branches(schema) {
            if is_variant(branch, member.name) {
                mark(branch);
                found = true;
            } else {
                found |= mark_property(branch, member.name, mark);
            }
        }
        debug_assert!(found, "{} is not in the schema", member.descriptor);
    }
    for part in T::RELEASED {
        let found = mark_place(schema, part);
        debug_assert!(found, "{:?} is not in the schema", part.place);
    }
}

/// Says in a part of a schema which releases have it.
pub fn mark_releases(part: &mut Map<String, Value>, releases: Releases) {
    if releases.since != Releases::ALL.since {
        part.insert(SINCE_KEY.to_owned(), releases.since.to_string().into());
    }
    if let Some(until) = releases.until {
        part.insert(UNTIL_KEY.to_owned(), until.to_string().into());
    }
}

fn mark_place(schema: &mut Map<String, Value>, part: &ReleasedPart) -> bool {
    let mark = |found: &mut Map<String, Value>| mark_releases(found, part.releases);
    let marked = match part.place {
        PartPlace::Unread(_) => Some(()),
        // What is only read is not in the schema of what is written.
        PartPlace::Member(name) => {
            mark_property(schema, name, mark);
            Some(())
        }
        PartPlace::VariantMember(variant, name) => {
            let mut branches = branches(schema);
            let branch = branches.find(|branch| is_variant(branch, variant));
            branch.map(|branch| {
                mark_property(branch, name, mark);
            })
        }
        PartPlace::Variant(name) => {
            let mut branches = branches(schema);
            branches.find(|branch| is_variant(branch, name)).map(mark)
        }
        PartPlace::Branch(index) => branches(schema).nth(index).map(mark),
    };
    marked.is_some()
}

/// The object schemas among the variants of a union.
fn branches(schema: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let unions = schema
        .iter_mut()
        .filter(|(key, _)| ["oneOf", "anyOf"].contains(&key.as_str()));
    let branches = unions.filter_map(|(_, union)| union.as_array_mut());
    branches.flatten().filter_map(Value::as_object_mut)
}

fn mark_property(
    schema: &mut Map<String, Value>,
    name: &str,
    mark: impl Fn(&mut Map<String, Value>),
) -> bool {
    let Some(property) = schema
        .get_mut("properties")
        .and_then(|all| all.get_mut(name))
    else {
        return false;
    };
    if property == &Value::Bool(true) {
        *property = Value::Object(Map::new());
    }
    if let Some(property) = property.as_object_mut() {
        mark(property);
    }
    true
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
