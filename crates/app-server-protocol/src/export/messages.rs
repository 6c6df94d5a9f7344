//! The schemas of single messages, for those who check messages rather than generate code.

use std::collections::BTreeMap;

use serde_json::Value;

use super::catalogue::Catalogue;
use super::json_schema::clean;
use super::request::Request;
use super::selection::Selection;
use crate::method_table::Direction;

/// The schemas of the messages of one surface and release.
#[derive(Debug)]
pub struct MessageSchemas {
    methods: BTreeMap<(Direction, String), MethodTypes>,
    definitions: Value,
}

/// The names of the types of a method; none where it takes or answers nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodTypes {
    /// The type of `params`.
    pub params: Option<String>,
    /// The type of `result`.
    pub result: Option<String>,
}

impl MessageSchemas {
    /// Those that a request is about.
    pub fn new(catalogue: &Catalogue, request: &Request<'_>) -> Self {
        let selection = Selection::new(catalogue, request);
        let types_of = |method: &&super::catalogue::MethodRow| {
            let types = MethodTypes {
                params: method.params_of(request.release).map(str::to_owned),
                result: method.response.clone(),
            };
            ((method.direction, method.name.clone()), types)
        };
        let schemas = selection.names();
        Self {
            methods: selection.methods.iter().map(types_of).collect(),
            definitions: schemas
                .map(|name| (name.to_owned(), clean(selection.schema(name))))
                .collect(),
        }
    }

    /// The types of a method; none if this surface or release lacks it.
    pub fn method(&self, direction: Direction, name: &str) -> Option<&MethodTypes> {
        self.methods.get(&(direction, name.to_owned()))
    }

    /// The schema of a type without those that it refers to; none if there is no such type.
    pub fn definition(&self, name: &str) -> Option<&Value> {
        self.definitions.get(name)
    }

    /// The schemas of all types by name, as references between them name them.
    pub fn definitions(&self) -> &Value {
        &self.definitions
    }
}
