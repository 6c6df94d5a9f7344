//! Validates the tools that a client registers with a thread.

use std::collections::HashSet;

use codex_app_server_protocol::v2::DynamicToolSpec;
use codex_protocol::DynamicToolFunction;

use crate::failure::Failure;

/// `is_strict` also checks the characters of names in the older form, and that deferred tools have a namespace.
pub(super) fn check(tools: &[DynamicToolSpec], is_strict: bool) -> Result<(), Failure> {
    let tagged = tools.iter().filter(|tool| tool.is_tagged()).count();
    if tagged != 0 && tagged != tools.len() {
        return Err(Failure::invalid(
            "Invalid request: dynamic tools must use either canonical or legacy format consistently",
        ));
    }
    let mut namespaces = HashSet::new();
    let mut names = HashSet::new();
    for tool in tools {
        if let DynamicToolSpec::Namespace(namespace) = tool {
            let name = namespace.name.as_str();
            check_name(name, true)?;
            if namespace.tools.is_empty() {
                let complaint =
                    format!("dynamic tool namespace must contain at least one tool: {name}");
                return Err(refused(complaint));
            }
            if !namespaces.insert(name) {
                return Err(refused(format!("duplicate dynamic tool name: {name}")));
            }
        }
        for (namespace, function) in tool.functions() {
            let name = function.name.as_str();
            check_name(name, is_strict || tool.is_tagged())?;
            if let DynamicToolSpec::Function(_) = tool {
                check_flat(function, is_strict)?;
            }
            if !names.insert((namespace, name)) {
                let place = namespace.map_or_else(String::new, |it| format!(" in namespace {it}"));
                return Err(refused(format!(
                    "duplicate dynamic tool name{place}: {name}"
                )));
            }
            if !function.input_schema.is_object() {
                return Err(refused(format!(
                    "dynamic tool input schema is not supported for {name}: not an object"
                )));
            }
        }
    }
    Ok(())
}

/// Checks the namespace of a tool that is not listed in one.
fn check_flat(tool: &DynamicToolFunction, is_strict: bool) -> Result<(), Failure> {
    let Some(namespace) = tool.namespace.as_deref() else {
        return if is_strict && tool.defer_loading {
            let name = &tool.name;
            let complaint = format!("deferred dynamic tool must include a namespace: {name}");
            Err(refused(complaint))
        } else {
            Ok(())
        };
    };
    let complaint = if namespace.trim().is_empty() {
        "dynamic tool namespace must not be empty".to_owned()
    } else if namespace.trim() != namespace {
        format!("dynamic tool namespace has leading or trailing whitespace: {namespace}")
    } else if is_reserved(namespace) {
        format!("dynamic tool namespace is reserved: {namespace}")
    } else if !is_plain(namespace) {
        format!(
            "dynamic tool namespace must match ^[a-zA-Z0-9_-]+$ to match Responses API: {namespace}"
        )
    } else {
        return Ok(());
    };
    Err(refused(complaint))
}

fn is_reserved(name: &str) -> bool {
    name == "mcp" || name.starts_with("mcp__")
}

fn is_plain(name: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    name.bytes().all(is_sign)
}

fn check_name(name: &str, is_strict: bool) -> Result<(), Failure> {
    let complaint = if name.trim().is_empty() {
        "dynamic tool name must not be empty".to_owned()
    } else if name.trim() != name {
        format!("dynamic tool name has leading or trailing whitespace: {name}")
    } else if is_reserved(name) {
        format!("dynamic tool name is reserved: {name}")
    } else if is_strict && !is_plain(name) {
        format!("dynamic tool name must match ^[a-zA-Z0-9_-]+$ to match Responses API: {name}")
    } else {
        return Ok(());
    };
    Err(refused(complaint))
}

fn refused(complaint: String) -> Failure {
    Failure::invalid(complaint)
}
