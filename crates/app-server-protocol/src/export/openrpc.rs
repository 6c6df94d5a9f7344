//! Writes an OpenRPC 1.3 document: every method with its params, result, errors and stability.
//!
//! OpenRPC knows one direction only. Methods of the server are listed all the same, and
//! `x-direction` tells who sends them. A method without `result` is a notification.

use serde_json::{Value, json};

use super::catalogue::MethodRow;
use super::json_schema::{clean, to_text};
use super::request::GeneratedFile;
use super::schema::REFERENCE;
use super::selection::Selection;
use crate::method_table::Direction;
use crate::rpc::error_code;

const SCHEMAS: &str = "#/components/schemas/";

pub(super) fn file(selection: &Selection<'_>) -> GeneratedFile {
    let methods: Vec<Value> = selection
        .methods
        .iter()
        .map(|method| describe(selection, method))
        .collect();
    let schemas: serde_json::Map<String, Value> = selection
        .names()
        .map(|name| {
            (
                name.to_owned(),
                refer_to_components(clean(selection.schema(name))),
            )
        })
        .collect();
    let errors: serde_json::Map<String, Value> = error_code::ALL
        .iter()
        .map(|(code, message)| {
            (
                error_name(*code),
                json!({ "code": code, "message": message }),
            )
        })
        .collect();
    let document = json!({
        "openrpc": "1.3.2",
        "info": {
            "title": "codex app-server",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "JSON-RPC without the `jsonrpc` member, over stdio, websocket or a Unix socket.",
        },
        "methods": methods,
        "components": { "schemas": schemas, "errors": errors },
    });
    GeneratedFile {
        path: "openrpc.json".into(),
        text: to_text(&document),
    }
}

fn describe(selection: &Selection<'_>, method: &MethodRow) -> Value {
    let mut described = json!({
        "name": method.name,
        "summary": method.description,
        "tags": [{ "name": family(&method.name) }],
        "paramStructure": "by-name",
        "params": method.params.as_deref().map_or_else(Vec::new, |params| parameters(selection, params)),
        "x-direction": match method.direction {
            Direction::ClientRequest => "clientRequest",
            Direction::ServerRequest => "serverRequest",
            Direction::ServerNotification => "serverNotification",
            Direction::ClientNotification => "clientNotification",
        },
        "x-stability": if method.experimental { "experimental" } else { "stable" },
    });
    if let Some(params) = &method.params {
        described["x-params"] = reference(params);
    }
    if let Some(response) = &method.response {
        described["result"] = json!({ "name": response, "schema": reference(response) });
        let codes = error_code::ALL.iter().map(|(code, _)| error_name(*code));
        described["errors"] = codes
            .map(|name| json!({ "$ref": format!("#/components/errors/{name}") }))
            .collect();
    }
    described
}

/// The members of the params. Where the params are a union, its members are those of all variants;
/// `x-params` names the union itself.
fn parameters(selection: &Selection<'_>, params: &str) -> Vec<Value> {
    let schema = selection.schema(params);
    let union = ["oneOf", "anyOf"]
        .iter()
        .filter_map(|key| schema.get(*key)?.as_array())
        .flatten();
    let mut parameters: Vec<Value> = Vec::new();
    let own_required = required(schema);
    for (part, is_variant) in std::iter::once((schema, false)).chain(union.map(|v| (v, true))) {
        let properties = part
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        for (name, property) in properties {
            if parameters
                .iter()
                .any(|known| known["name"] == name.as_str())
            {
                continue;
            }
            let mut parameter = json!({
                "name": name,
                "required": !is_variant && own_required.contains(&name.as_str()),
                "schema": refer_to_components(clean(property)),
            });
            if let Some(description) = property.get("description") {
                parameter["summary"] = description.clone();
            }
            parameters.push(parameter);
        }
    }
    // Required ones first, as the specification demands of params that may come by position.
    parameters.sort_by_key(|parameter| parameter["required"] != true);
    parameters
}

fn required(schema: &Value) -> Vec<&str> {
    let names = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    names.filter_map(Value::as_str).collect()
}

fn reference(ty: &str) -> Value {
    json!({ "$ref": format!("{SCHEMAS}{ty}") })
}

/// The part of a method's name that it shares with its relatives.
fn family(name: &str) -> &str {
    name.split_once('/').map_or("general", |(family, _)| family)
}

fn error_name(code: i64) -> String {
    format!("error{}", code.abs())
}

fn refer_to_components(mut schema: Value) -> Value {
    fn visit(schema: &mut Value) {
        match schema {
            Value::Object(object) => {
                if let Some(Value::String(reference)) = object.get_mut("$ref")
                    && let Some(name) = reference.strip_prefix(REFERENCE)
                {
                    *reference = format!("{SCHEMAS}{name}");
                }
                object.values_mut().for_each(visit);
            }
            Value::Array(values) => values.iter_mut().for_each(visit),
            _ => {}
        }
    }
    visit(&mut schema);
    schema
}
