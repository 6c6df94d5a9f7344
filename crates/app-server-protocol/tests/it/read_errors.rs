//! Reading is strict about types, names the field that is wrong, and lets unknown fields pass.

use codex_app_server_protocol::{ClientRequest, MessageReadError};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

fn read(method: &str, params: &Value) -> Result<ClientRequest, MessageReadError> {
    ClientRequest::read(method, Some(&to_raw_value(params).unwrap()))
}

/// The error that these params give.
#[track_caller]
fn check(method: &str, params: Value, expected: &str) {
    let error = read(method, &params).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_wrong_type_is_named_by_its_path() {
    check(
        "thread/start",
        json!({ "cwd": 7 }),
        "cwd: invalid type: integer `7`, expected a string",
    );
    check(
        "turn/start",
        json!({ "threadId": "t", "input": [{ "type": "text", "text": 5 }] }),
        "input[0].text: invalid type: integer `5`, expected a string",
    );
    check(
        "turn/start",
        json!({
            "threadId": "t",
            "input": [{
                "type": "text",
                "text": "",
                "text_elements": [{ "byteRange": { "start": 0, "end": "x" } }],
            }],
        }),
        "input[0].text_elements[0].byteRange.end: invalid type: string \"x\", expected u64",
    );
}

#[test]
fn the_path_survives_a_tag_that_comes_late() {
    check(
        "turn/start",
        json!({ "threadId": "t", "input": [{ "text": 5, "type": "text" }] }),
        "input[0]: text: invalid type: integer `5`, expected a string",
    );
}

#[test]
fn read_errors_name_the_missing_or_unknown_field() {
    check("thread/read", json!({}), "missing field `threadId`");
    check(
        "turn/start",
        json!({ "threadId": "t", "input": [{}] }),
        "input[0]: missing field `type`",
    );
    check(
        "turn/start",
        json!({ "threadId": "t", "input": [{ "type": "smell" }] }),
        "input[0]: unknown variant `smell`, expected one of `text`, `image`, `localImage`, `audio`, `localAudio`, `skill`, `mention`",
    );
    check("thread/smell", json!({}), "unknown method `thread/smell`");
    check(
        "thread/start",
        json!(7),
        "invalid type: integer `7`, expected struct ThreadStartParams",
    );
}

#[test]
fn unknown_fields_pass() {
    let plain = read("thread/start", &json!({ "model": "m" })).unwrap();
    let with_more = read("thread/start", &json!({ "model": "m", "colour": ["red"] })).unwrap();
    assert_eq!(plain, with_more);
}

#[test]
fn optional_fields_may_be_absent_or_null() {
    let absent = read("thread/start", &json!({})).unwrap();
    let null = read("thread/start", &json!({ "model": null, "cwd": null })).unwrap();
    assert_eq!(absent, null);
}

#[test]
fn optional_params_may_be_absent() {
    assert_eq!(
        ClientRequest::read("thread/start", None).unwrap(),
        read("thread/start", &json!({})).unwrap()
    );
    let absent = ClientRequest::read("turn/start", None).unwrap_err();
    assert_eq!(absent.to_string(), "missing field `params`");
    let list = read("thread/start", &json!([])).unwrap_err();
    assert!(list.to_string().starts_with("invalid type: sequence"));
}

#[test]
fn a_method_without_params_takes_anything() {
    for params in [json!(null), json!({}), json!({ "more": 1 }), json!([1])] {
        assert!(matches!(
            read("account/logout", &params),
            Ok(ClientRequest::LogoutAccount(_))
        ));
    }
    assert!(ClientRequest::read("account/logout", None).is_ok());
}
