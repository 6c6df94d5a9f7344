//! What a request uses of the experimental surface, and what a client that did not opt in is sent.

use codex_app_server_protocol::{ClientRequest, ServerRequest};
use codex_protocol::Experimental;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

#[track_caller]
fn check(method: &str, params: Value, expected: Option<&str>) {
    let request = ClientRequest::read(method, Some(&to_raw_value(&params).unwrap())).unwrap();
    assert_eq!(request.experimental_use(), expected, "{method} {params}");
}

#[test]
fn methods() {
    check(
        "mock/experimentalMethod",
        json!({}),
        Some("mock/experimentalMethod"),
    );
    check(
        "collaborationMode/list",
        json!({}),
        Some("collaborationMode/list"),
    );
    check("thread/list", json!({}), None);
}

#[test]
fn fields() {
    let tool = json!({ "name": "n", "description": "d", "inputSchema": {} });
    check(
        "thread/start",
        json!({ "dynamicTools": [tool] }),
        Some("thread/start.dynamicTools"),
    );
    check(
        "thread/start",
        json!({ "mockExperimentalField": "x" }),
        Some("thread/start.mockExperimentalField"),
    );
    check(
        "thread/start",
        json!({ "persistExtendedHistory": true }),
        Some("thread/start.persistFullHistory"),
    );
    check(
        "thread/resume",
        json!({ "threadId": "t", "path": "/p" }),
        Some("thread/resume.path"),
    );
    check(
        "turn/start",
        json!({
            "threadId": "t",
            "input": [],
            "collaborationMode": { "mode": "plan", "settings": { "model": "m" } },
        }),
        Some("turn/start.collaborationMode"),
    );
}

#[test]
fn empty_experimental_members_count_as_unused() {
    check("thread/start", json!({ "dynamicTools": [] }), None);
    check("thread/start", json!({ "dynamicTools": null }), None);
    check(
        "thread/start",
        json!({ "persistExtendedHistory": false }),
        None,
    );
    check(
        "thread/resume",
        json!({ "threadId": "t", "history": [] }),
        None,
    );
}

#[test]
fn variants_below_stable_fields() {
    let granular = json!({
        "granular": { "mcp_elicitations": true, "rules": true, "sandbox_approval": true },
    });
    let expected = Some("askForApproval.granular");
    check(
        "thread/start",
        json!({ "approvalPolicy": granular }),
        expected,
    );
    check(
        "thread/fork",
        json!({ "threadId": "t", "approvalPolicy": granular }),
        expected,
    );
    check(
        "turn/start",
        json!({ "threadId": "t", "input": [], "approvalPolicy": granular }),
        expected,
    );
    check("thread/start", json!({ "approvalPolicy": "never" }), None);
}

#[test]
fn a_receiver_who_did_not_opt_in_is_spared() {
    let params = json!({
        "threadId": "t",
        "turnId": "u",
        "itemId": "i",
        "command": "ls",
        "additionalPermissions": {},
        "availableDecisions": ["accept"],
    });
    let method = "item/commandExecution/requestApproval";
    let mut request = ServerRequest::read(method, Some(&to_raw_value(&params).unwrap())).unwrap();
    request.clear_experimental();
    assert_eq!(
        serde_json::to_value(&request).unwrap(),
        json!({
            "method": method,
            "params": { "threadId": "t", "turnId": "u", "itemId": "i", "command": "ls" },
        })
    );
}
