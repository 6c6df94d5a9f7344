//! Approvals as elicitations. Pure.
//!
//! The form has no fields. Members that begin with `codex_` describe the approval. Clients that know them reply with
//! `{"decision": …}` in the vocabulary of the engine's first protocol; a plain elicitation result is accepted as
//! well.

use codex_app_server_protocol::ServerRequest;
use codex_app_server_protocol::v2::{FileUpdateChange, PatchChangeKind};
use codex_client::question_texts;
use codex_json_rpc::JsonRpcId;
use codex_visible_text::{quoted, visible_line};
use serde_json::{Map, Value, json};

use crate::item_events::{engine_changes, parsed, words};

pub(crate) fn thread_of(question: &ServerRequest) -> Option<&str> {
    use ServerRequest as Q;
    match question {
        Q::CommandExecutionRequestApproval(it) => Some(&it.thread_id),
        Q::FileChangeRequestApproval(it) => Some(&it.thread_id),
        _ => None,
    }
}

/// The params of `elicitation/create`; none for other requests, and for a patch whose changes are not known.
///
/// `changes` are those of the item that a patch is asked about for.
pub(crate) fn form(
    request: &JsonRpcId,
    question: &ServerRequest,
    changes: &[FileUpdateChange],
) -> Option<Value> {
    use ServerRequest as Q;
    let schema = json!({ "type": "object", "properties": {} });
    match question {
        Q::CommandExecutionRequestApproval(it) => {
            let line = it.command.as_deref()?;
            let cwd = it.cwd.as_deref().unwrap_or_default();
            let notice = it.engine_notice.as_deref();
            let parsed: Vec<_> = it.command_actions.iter().flatten().map(parsed).collect();
            Some(json!({
                "message": with_texts(
                    &format!("Allow Codex to run `{}` in `{}`?", visible_line(line), visible_line(cwd)),
                    question_texts(notice, it.reason.as_deref(), it.justification.as_deref()),
                ),
                "requestedSchema": schema,
                "threadId": it.thread_id,
                "codex_elicitation": "exec-approval",
                "codex_mcp_tool_call_id": request.to_string(),
                "codex_event_id": it.turn_id,
                "codex_call_id": it.item_id,
                "codex_command": words(line),
                "codex_cwd": cwd,
                "codex_parsed_cmd": parsed,
            }))
        }
        Q::FileChangeRequestApproval(it) => Some(json!({
            "message": with_texts(
                &patch_question(changes)?,
                question_texts(it.engine_notice.as_deref(), it.reason.as_deref(), None),
            ),
            "requestedSchema": schema,
            "threadId": it.thread_id,
            "codex_elicitation": "patch-approval",
            "codex_mcp_tool_call_id": request.to_string(),
            "codex_event_id": it.turn_id,
            "codex_call_id": it.item_id,
            "codex_reason": it.reason,
            "codex_grant_root": it.grant_root,
            "codex_changes": engine_changes(changes),
        })),
        _ => None,
    }
}

/// Names all files of a patch, each on a line of its own. None if there are none: nobody can decide about that.
fn patch_question(changes: &[FileUpdateChange]) -> Option<String> {
    let line = |change: &FileUpdateChange| {
        let path = quoted(&change.path);
        match &change.kind {
            PatchChangeKind::Add => format!("add {path}"),
            PatchChangeKind::Delete => format!("delete {path}"),
            PatchChangeKind::Update { move_path: None } => format!("change {path}"),
            PatchChangeKind::Update {
                move_path: Some(to),
            } => format!("change {path} and move it to {}", quoted(to)),
        }
    };
    let question = match changes.len() {
        0 => return None,
        1 => "Allow Codex to change this file?".to_owned(),
        count => format!("Allow Codex to change these {count} files?"),
    };
    let lines = std::iter::once(question).chain(changes.iter().map(line));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

/// The question, and what is said about it, each on a line of its own.
fn with_texts(question: &str, texts: Vec<String>) -> String {
    let lines = std::iter::once(question.to_owned()).chain(texts);
    lines.collect::<Vec<_>>().join("\n")
}

/// The form without members that a strict client refuses; what describes the approval is in `_meta`.
pub(crate) fn plain_form(
    request: &JsonRpcId,
    question: &ServerRequest,
    changes: &[FileUpdateChange],
) -> Option<Value> {
    let mut form = form(request, question, changes)?;
    let members = std::mem::take(form.as_object_mut()?);
    let (plain, about): (Map<_, _>, Map<_, _>) = members
        .into_iter()
        .partition(|(name, _)| matches!(name.as_str(), "message" | "requestedSchema"));
    let mut form = Value::from(plain);
    form["mode"] = json!("form");
    form["_meta"] = Value::from(about);
    Some(form)
}

/// The reply to the engine; none for requests that this protocol does not support.
pub(crate) fn answer(question: &ServerRequest, decided: Option<&Value>) -> Option<Value> {
    use ServerRequest as Q;
    match question {
        Q::CommandExecutionRequestApproval(_) | Q::FileChangeRequestApproval(_) => {
            Some(json!({ "decision": decision(decided) }))
        }
        Q::PermissionsRequestApproval(_) => Some(json!({ "permissions": {}, "scope": "turn" })),
        Q::ToolRequestUserInput(_) => Some(json!({ "answers": {} })),
        Q::McpServerElicitationRequest(_) => Some(json!({ "action": "decline", "content": null })),
        _ => None,
    }
}

/// Any other value is a refusal.
fn decision(decided: Option<&Value>) -> Value {
    let Some(decided) = decided else {
        return json!("decline");
    };
    if let Some(amendment) = decided["decision"]["approved_execpolicy_amendment"].as_object() {
        let rule = &amendment["proposed_execpolicy_amendment"];
        return json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": rule } });
    }
    let word = decided["decision"].as_str().or(decided["action"].as_str());
    json!(match word {
        Some("approved" | "accept") => "accept",
        Some("approved_for_session") => "acceptForSession",
        Some("abort" | "cancel") => "cancel",
        _ => "decline",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> ServerRequest {
        let params = json!({ "threadId": "t", "turnId": "u", "itemId": "c", "cwd": "/w",
                             "command": "/bin/sh -c 'rm x'",
                             "commandActions": [{ "type": "unknown", "command": "rm x" }] });
        let params = serde_json::value::to_raw_value(&params).unwrap();
        ServerRequest::read("item/commandExecution/requestApproval", Some(&params)).unwrap()
    }

    #[test]
    fn command_question_has_the_command() {
        let form = form(&JsonRpcId::Number(7), &command(), &[]).unwrap();
        assert_eq!(form["codex_elicitation"], "exec-approval");
        assert_eq!(form["codex_mcp_tool_call_id"], "7");
        assert_eq!(form["codex_command"], json!(["/bin/sh", "-c", "rm x"]));
        assert_eq!(
            form["codex_parsed_cmd"],
            json!([{ "type": "unknown", "cmd": "rm x" }])
        );
    }

    #[test]
    fn patch_question_names_changed_files() {
        let change = |path: &str, kind: Value| -> FileUpdateChange {
            serde_json::from_value(json!({ "path": path, "kind": kind, "diff": "" })).unwrap()
        };
        let moved = json!({ "type": "update", "move_path": "/w/c" });
        let changes = [
            change("/w/a", json!({ "type": "add" })),
            change("/w/b\ndelete “/w/x”", moved),
        ];
        let expected = "Allow Codex to change these 2 files?\nadd “/w/a”\n\
                        change “/w/b\\u{a}delete \\u{201c}/w/x\\u{201d}” and move it to “/w/c”";
        assert_eq!(patch_question(&changes).unwrap(), expected);
        let paths: Vec<_> = (0..1000).map(|number| format!("/w/{number}")).collect();
        let many = paths.iter();
        let many = many.map(|path| change(path, json!({ "type": "delete" })));
        let question = patch_question(&Vec::from_iter(many)).unwrap();
        let named = question.lines().skip(1);
        let expected = paths.iter().map(|path| format!("delete “{path}”"));
        assert!(named.eq(expected), "{question}");
    }

    #[test]
    fn a_patch_without_known_changes_is_not_asked_about() {
        let params = json!({ "threadId": "t", "turnId": "u", "itemId": "c" });
        let params = serde_json::value::to_raw_value(&params).unwrap();
        let patch = ServerRequest::read("item/fileChange/requestApproval", Some(&params)).unwrap();
        assert_eq!(form(&JsonRpcId::Number(7), &patch, &[]), None);
        assert_eq!(answer(&patch, None).unwrap()["decision"], "decline");
    }

    #[test]
    fn plain_form_has_protocol_members_only() {
        let form = plain_form(&JsonRpcId::Number(7), &command(), &[]).unwrap();
        let names: Vec<_> = form.as_object().unwrap().keys().collect();
        assert_eq!(names, ["message", "requestedSchema", "mode", "_meta"]);
        assert_eq!(form["_meta"]["codex_elicitation"], "exec-approval");
    }

    #[test]
    fn decisions_are_understood_in_both_forms() {
        let decide =
            |decided: Value| answer(&command(), Some(&decided)).unwrap()["decision"].clone();
        assert_eq!(decide(json!({ "decision": "approved" })), "accept");
        assert_eq!(
            decide(json!({ "decision": "approved_for_session" })),
            "acceptForSession"
        );
        assert_eq!(decide(json!({ "decision": "abort" })), "cancel");
        assert_eq!(
            decide(json!({ "action": "accept", "content": {} })),
            "accept"
        );
        assert_eq!(decide(json!({ "odd": 1 })), "decline");
        assert_eq!(answer(&command(), None).unwrap()["decision"], "decline");
    }
}
