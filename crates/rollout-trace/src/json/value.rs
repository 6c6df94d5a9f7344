//! A JSON value that borrows from its text.

use std::borrow::Cow;
use std::collections::HashMap;

use super::string::JsonString;

/// Below this many members, duplicates are found by comparing keys pairwise.
const MAX_LINEAR_KEYS: usize = 16;

/// One value. A number is its source text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    String(JsonString<'a>),
    Array(Vec<Json<'a>>),
    Object(Object<'a>),
}

impl<'a> Json<'a> {
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_string(&self) -> Option<&JsonString<'a>> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Json<'a>]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    pub(crate) fn as_object(&self) -> Option<&Object<'a>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The value with the members of its objects in the order of their keys.
    pub(crate) fn sorted(&self) -> Json<'a> {
        match self {
            Self::Array(elements) => Self::Array(elements.iter().map(Self::sorted).collect()),
            Self::Object(Object(members)) => {
                let sorted =
                    |(key, value): &(Cow<'a, str>, Json<'a>)| (key.clone(), value.sorted());
                let mut members: Vec<_> = members.iter().map(sorted).collect();
                members.sort_by(|(one, _), (other, _)| one.cmp(other));
                Self::Object(Object(members))
            }
            other => other.clone(),
        }
    }

    /// An integer written as one: `1.0` and `1e3` are not.
    pub(crate) fn as_integer<T: std::str::FromStr>(&self) -> Option<T> {
        match self {
            Self::Number("-0") => "0".parse().ok(),
            Self::Number(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// A member of an object; none for any other value.
    pub(crate) fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.as_object()?.get(key)
    }

    /// A member that is a string.
    pub(crate) fn get_string(&self, key: &str) -> Option<&JsonString<'a>> {
        self.get(key)?.as_string()
    }

    /// The content of a member that is a string.
    pub(crate) fn get_str(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }
}

/// Members in the order of the source, each key once.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Object<'a>(Vec<(Cow<'a, str>, Json<'a>)>);

impl<'a> Object<'a> {
    pub(super) fn push(&mut self, key: Cow<'a, str>, value: Json<'a>) {
        self.0.push((key, value));
    }

    /// Gives each key once: the last value, at the position of the first.
    pub(super) fn folded(self) -> Self {
        let members = self.0;
        let distinct = if members.len() <= MAX_LINEAR_KEYS {
            let repeats = |(at, (key, _)): (usize, &(Cow<'_, str>, Json<'_>))| {
                members[..at].iter().any(|(earlier, _)| earlier == key)
            };
            !members.iter().enumerate().any(repeats)
        } else {
            false
        };
        if distinct {
            return Self(members);
        }
        let mut places = HashMap::with_capacity(members.len());
        let mut folded: Vec<(Cow<'a, str>, Json<'a>)> = Vec::with_capacity(members.len());
        for (key, value) in members {
            match places.get(&key) {
                Some(&place) => {
                    let slot: &mut (Cow<'a, str>, Json<'a>) = &mut folded[place];
                    slot.1 = value;
                }
                None => {
                    places.insert(key.clone(), folded.len());
                    folded.push((key, value));
                }
            }
        }
        Self(folded)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Json<'a>> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Json<'a>> {
        let member = self.0.iter_mut().find(|(name, _)| name == key);
        member.map(|(_, value)| value)
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.0.retain(|(name, _)| name != key);
    }

    /// Sets a member; a new one comes after another, or last.
    pub(crate) fn set_after(&mut self, before: &str, key: &str, value: Json<'a>) {
        if let Some(known) = self.get_mut(key) {
            *known = value;
            return;
        }
        let place = self.0.iter().position(|(name, _)| name == before);
        let place = place.map_or(self.0.len(), |place| place + 1);
        self.0.insert(place, (Cow::Owned(key.to_owned()), value));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Json<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value))
    }
}
