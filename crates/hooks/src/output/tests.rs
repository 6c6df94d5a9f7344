use codex_protocol::HookOutputEntryKind as Kind;
use serde_json::json;

use super::*;

fn ran(end: RunEnd, stdout: &str, stderr: &str) -> RunResult {
    RunResult {
        end,
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
    }
}

fn outcome(event: HookEventName, stdout: &str, code: i32, stderr: &str) -> HookOutcome {
    interpret(
        event,
        OnError::Ignore,
        &ran(RunEnd::Exited(code), stdout, stderr),
    )
}

/// What people see of an outcome: the status and the entries.
fn shown(outcome: &HookOutcome) -> String {
    let entries = outcome.entries.iter().map(|entry| {
        let kind = serde_json::to_value(entry.kind).unwrap_or_default();
        format!(" {}:{}", kind.as_str().unwrap_or_default(), entry.text)
    });
    let status = serde_json::to_value(outcome.status).unwrap_or_default();
    let status = status.as_str().unwrap_or_default().to_owned();
    std::iter::once(status).chain(entries).collect()
}

fn check(event: HookEventName, stdout: &str, code: i32, stderr: &str, expected: &str) {
    let outcome = outcome(event, stdout, code, stderr);
    assert_eq!(
        shown(&outcome),
        expected,
        "{event:?} {stdout} {code} {stderr}"
    );
}

fn specific(event: HookEventName, fields: &Value) -> String {
    let mut specific = json!({ "hookEventName": event.pascal_case() });
    for (key, value) in fields.as_object().into_iter().flatten() {
        specific[key] = value.clone();
    }
    json!({ "hookSpecificOutput": specific }).to_string()
}

/// An objection without a reason, which releases 0.117 and 0.169 take for a failed run.
const NO_REASON: &str = "blocked feedback:the hook gave no reason";

/// Texts and statuses are those of releases 0.117 and 0.169.
#[test]
fn before_a_tool_is_used() {
    use HookEventName::PreToolUse as E;
    let s = |fields: Value| specific(E, &fields);
    for (stdout, expected) in [
        (String::new(), "completed"),
        (" \n ".to_owned(), "completed"),
        ("plain text".to_owned(), "completed"),
        ("null".to_owned(), "completed"),
        ("\"text\"".to_owned(), "completed"),
        (
            s(json!({ "permissionDecision": "deny", "permissionDecisionReason": "no!" })),
            "blocked feedback:no!",
        ),
        (
            s(json!({ "permissionDecision": "deny", "permissionDecisionReason": " " })),
            NO_REASON,
        ),
        (s(json!({ "permissionDecision": "deny" })), NO_REASON),
        (r#"{"decision":"block","reason":" "}"#.to_owned(), NO_REASON),
        (
            r#"{"decision":"block","continue":false,"suppressOutput":true}"#.to_owned(),
            NO_REASON,
        ),
        (
            s(json!({ "permissionDecision": "deny", "updatedInput": {} })),
            NO_REASON,
        ),
        (
            s(json!({ "permissionDecision": "ask" })).replacen('{', r#"{"decision":"block","#, 1),
            NO_REASON,
        ),
        (
            s(json!({ "permissionDecisionReason": "no!" })),
            "failed error:PreToolUse hook returned permissionDecisionReason without \
             permissionDecision",
        ),
        (
            s(json!({ "permissionDecision": "allow" })),
            "failed error:PreToolUse hook returned unsupported permissionDecision:allow",
        ),
        (
            s(json!({ "permissionDecision": "ask" })),
            "failed error:PreToolUse hook returned unsupported permissionDecision:ask",
        ),
        (
            s(json!({ "updatedInput": {} })),
            "failed error:PreToolUse hook returned updatedInput without permissionDecision:allow",
        ),
        (
            s(json!({ "permissionDecision": "allow", "updatedInput": {} })),
            "completed",
        ),
        (
            s(json!({ "additionalContext": "ctx" })),
            "completed context:ctx",
        ),
        (
            s(json!({
                "permissionDecision": "deny",
                "permissionDecisionReason": "d",
                "additionalContext": "c",
            })),
            "blocked context:c feedback:d",
        ),
        (
            r#"{"decision":"block","reason":"r"}"#.to_owned(),
            "blocked feedback:r",
        ),
        (r#"{"decision":"block"}"#.to_owned(), NO_REASON),
        (
            r#"{"decision":"approve"}"#.to_owned(),
            "failed error:PreToolUse hook returned unsupported decision:approve",
        ),
        (
            r#"{"reason":"x"}"#.to_owned(),
            "failed error:PreToolUse hook returned reason without decision",
        ),
        (
            r#"{"continue":false,"stopReason":"sr"}"#.to_owned(),
            "failed error:PreToolUse hook returned unsupported continue:false",
        ),
        (
            r#"{"stopReason":"x"}"#.to_owned(),
            "failed error:PreToolUse hook returned unsupported stopReason",
        ),
        (
            r#"{"suppressOutput":true}"#.to_owned(),
            "failed error:PreToolUse hook returned unsupported suppressOutput",
        ),
        (
            r#"{"systemMessage":"sm"}"#.to_owned(),
            "completed warning:sm",
        ),
    ] {
        check(E, &stdout, 0, "", expected);
    }
    for invalid in [
        "{bad",
        "[1]",
        r#"{"unknown":1}"#,
        r#"{"hookSpecificOutput":{"permissionDecision":"ask"}}"#,
        r#"{"hookSpecificOutput":{"hookEventName":"Nope"}}"#,
    ] {
        check(
            E,
            invalid,
            0,
            "",
            "failed error:hook returned invalid pre-tool-use JSON output",
        );
    }
    check(E, "", 2, "  why \n", "blocked feedback:why");
    check(E, "", 2, "", NO_REASON);
    check(E, "a text", 2, " \n", NO_REASON);
    let code = "failed error:hook exited with code 3";
    check(E, r#"{"decision":"block","reason":"r"}"#, 3, "e", code);
}

#[test]
fn the_arguments_of_a_tool_are_replaced() {
    let fields = json!({ "permissionDecision": "allow", "updatedInput": { "command": "ls" } });
    let stdout = specific(HookEventName::PreToolUse, &fields);
    let outcome = outcome(HookEventName::PreToolUse, &stdout, 0, "");
    assert_eq!(
        outcome.effects.updated_input,
        Some(json!({ "command": "ls" }))
    );
}

#[test]
fn after_a_tool_was_used() {
    use HookEventName::PostToolUse as E;
    let failed = "failed error:PostToolUse hook returned";
    for (stdout, expected) in [
        ("plain".to_owned(), "completed".to_owned()),
        (
            r#"{"decision":"block","reason":"r"}"#.to_owned(),
            "blocked feedback:r".to_owned(),
        ),
        (r#"{"decision":"block"}"#.to_owned(), NO_REASON.to_owned()),
        (
            r#"{"suppressOutput":true}"#.to_owned(),
            format!("{failed} unsupported suppressOutput"),
        ),
        (
            r#"{"systemMessage":"sm","reason":"only"}"#.to_owned(),
            "failed warning:sm error:PostToolUse hook returned reason without decision".to_owned(),
        ),
        (
            specific(E, &json!({ "updatedMCPToolOutput": "x" })),
            format!("{failed} unsupported updatedMCPToolOutput"),
        ),
        (
            specific(E, &json!({ "additionalContext": "c" })),
            "completed context:c".to_owned(),
        ),
        (
            r#"{"decision":"approve"}"#.to_owned(),
            "failed error:hook returned invalid post-tool-use JSON output".to_owned(),
        ),
    ] {
        check(E, &stdout, 0, "", &expected);
    }
    check(E, "", 2, "err", "blocked feedback:err");
    check(E, "", 2, "", NO_REASON);
    for (stdout, expected, replacement) in [
        (
            r#"{"continue":false}"#,
            "stopped stop:PostToolUse hook stopped execution",
            "PostToolUse hook stopped execution",
        ),
        (
            r#"{"continue":false,"stopReason":"sr"}"#,
            "stopped stop:sr",
            "sr",
        ),
        (
            r#"{"continue":false,"stopReason":"sr","reason":"rr"}"#,
            "stopped stop:sr",
            "rr",
        ),
        (
            r#"{"continue":false,"stopReason":" ","reason":" "}"#,
            "stopped stop: ",
            " ",
        ),
    ] {
        check(E, stdout, 0, "", expected);
        let effects = outcome(E, stdout, 0, "").effects;
        assert_eq!(effects.objection.as_deref(), Some(replacement));
        assert!(!effects.stops);
    }
}

#[test]
fn user_prompt_hook_outputs() {
    use HookEventName::UserPromptSubmit as E;
    for (stdout, expected) in [
        ("  padded \n\n", "completed context:padded"),
        ("\"str\"", "completed context:\"str\""),
        ("null", "completed context:null"),
        (r#"{"decision":"block","reason":"r"}"#, "blocked feedback:r"),
        (r#"{"decision":"block"}"#, NO_REASON),
        (r#"{"continue":false}"#, "stopped"),
        (r#"{"continue":false,"stopReason":"sr"}"#, "stopped stop:sr"),
        (r#"{"continue":false,"reason":"rr"}"#, "stopped"),
        (r#"{"suppressOutput":true}"#, "completed"),
        (r#"{"systemMessage":"sm"}"#, "completed warning:sm"),
        (r#"{"reason":"x"}"#, "completed"),
        (
            "{bad",
            "failed error:hook returned invalid user prompt submit JSON output",
        ),
        (
            "[1",
            "failed error:hook returned invalid user prompt submit JSON output",
        ),
    ] {
        check(E, stdout, 0, "", expected);
    }
    check(E, "ignored", 2, " err ", "blocked feedback:err");
    check(E, "", 2, "", NO_REASON);
    let both = r#"{"decision":"block","reason":"r","hookSpecificOutput":
        {"hookEventName":"UserPromptSubmit","additionalContext":"ctx"}}"#;
    check(E, both, 0, "", "blocked context:ctx feedback:r");
    assert_eq!(
        outcome(E, both, 0, "").effects.context.as_deref(),
        Some("ctx")
    );
    assert!(outcome(E, r#"{"continue":false}"#, 0, "").effects.stops);
}

#[test]
fn session_start_hook_outputs() {
    use HookEventName::SessionStart as E;
    check(E, "plain", 0, "", "completed context:plain");
    check(
        E,
        r#"{"continue":false,"stopReason":"sr"}"#,
        0,
        "",
        "stopped stop:sr",
    );
    check(E, "", 2, "err", "failed error:hook exited with code 2");
    let invalid = "failed error:hook returned invalid session start JSON output";
    check(E, "{bad", 0, "", invalid);
    check(E, r#"{"decision":"block","reason":"r"}"#, 0, "", invalid);
    let context = specific(E, &json!({ "additionalContext": "ctx" }));
    check(E, &context, 0, "", "completed context:ctx");
}

#[test]
fn stop_hook_outputs() {
    use HookEventName::Stop as E;
    let invalid = "failed error:hook returned invalid stop hook JSON output";
    for stdout in [
        "plain",
        "{bad",
        &specific(E, &json!({ "additionalContext": "c" })),
    ] {
        check(E, stdout, 0, "", invalid);
    }
    for (stdout, expected) in [
        (r#"{"decision":"block","reason":"r"}"#, "blocked feedback:r"),
        (
            r#"{"decision":"block","reason":"x","systemMessage":"sm"}"#,
            "blocked warning:sm feedback:x",
        ),
        (r#"{"decision":"block"}"#, NO_REASON),
        (r#"{"continue":false}"#, "stopped"),
        (
            r#"{"decision":"block","reason":"r","continue":false}"#,
            "stopped",
        ),
        (r#"{"reason":"x"}"#, "completed"),
        (r#"{"suppressOutput":true}"#, "completed"),
    ] {
        check(E, stdout, 0, "", expected);
    }
    check(E, "", 2, "go on", "blocked feedback:go on");
    check(E, "", 2, "", NO_REASON);
    check(E, "", 1, "", "failed error:hook exited with code 1");
}

#[test]
fn permission_request_hook_outputs() {
    use HookEventName::PermissionRequest as E;
    let decision = |decision: Value| specific(E, &json!({ "decision": decision }));
    let unsupported = "failed error:PermissionRequest hook returned unsupported";
    for (stdout, expected) in [
        (
            decision(json!({ "behavior": "allow" })),
            "completed".to_owned(),
        ),
        (
            decision(json!({ "behavior": "deny", "message": "nope" })),
            "blocked feedback:nope".to_owned(),
        ),
        (
            decision(json!({ "behavior": "deny" })),
            "blocked feedback:PermissionRequest hook denied approval".to_owned(),
        ),
        (
            decision(json!({ "behavior": "allow", "updatedInput": {} })),
            format!("{unsupported} updatedInput"),
        ),
        (
            decision(json!({ "behavior": "deny", "interrupt": true })),
            format!("{unsupported} interrupt:true"),
        ),
        (
            "{x".to_owned(),
            "failed error:hook returned invalid permission-request JSON output".to_owned(),
        ),
    ] {
        check(E, &stdout, 0, "", &expected);
    }
    check(E, "", 2, "bad", "blocked feedback:bad");
    check(E, "", 2, "", NO_REASON);
    let verdict = |stdout: &str| outcome(E, stdout, 0, "").effects.permission;
    let allow = decision(json!({ "behavior": "allow" }));
    assert_eq!(verdict(&allow), Some(PermissionVerdict::Allow));
    let deny = decision(json!({ "behavior": "deny", "message": "nope" }));
    assert_eq!(
        verdict(&deny),
        Some(PermissionVerdict::Deny("nope".to_owned()))
    );
    assert_eq!(verdict(""), None);
}

#[test]
fn around_requests_and_compactions() {
    use HookEventName::{PostCompact, PostModelRequest, PreCompact, PreModelRequest};
    for event in [PreModelRequest, PostModelRequest] {
        check(event, r#"{"continue":false}"#, 0, "", "completed");
        check(event, "{bad", 0, "", "completed");
        check(event, "", 2, "e\n", "failed error:e");
        check(event, "", 3, "", "failed");
        check(event, "", 0, "noted", "completed error:noted");
    }
    for event in [PreCompact, PostCompact] {
        let name = event.pascal_case();
        check(event, "text", 0, "", "completed");
        check(
            event,
            r#"{"continue":false,"stopReason":"sr"}"#,
            0,
            "",
            "stopped stop:sr",
        );
        let invalid = format!("failed error:hook returned invalid {name} hook JSON output");
        check(
            event,
            r#"{"decision":"block","reason":"r"}"#,
            0,
            "",
            &invalid,
        );
        check(event, "", 2, "e", "failed error:e");
        check(event, "", 2, "", "failed error:hook exited with code 2");
        let stopped = format!("stopped stop:{name} hook stopped execution");
        check(event, r#"{"continue":false}"#, 0, "", &stopped);
    }
}

#[test]
fn interrupt_and_session_end_hook_outputs() {
    use HookEventName::{Interrupt, SessionEnd};
    let invalid = "failed error:hook returned invalid interrupt hook JSON output";
    for (stdout, expected) in [
        ("{}", "completed"),
        (r#"{"systemMessage":"m"}"#, "completed warning:m"),
        (r#"{"continue":false}"#, invalid),
        ("{x", invalid),
        ("[1]", invalid),
        (
            "text",
            "failed error:Interrupt hook returned non-JSON stdout",
        ),
    ] {
        check(Interrupt, stdout, 0, "", expected);
    }
    check(SessionEnd, "{x", 0, "", "completed");
    check(SessionEnd, "", 2, "e", "failed error:e");
    check(
        SessionEnd,
        "",
        3,
        "",
        "failed error:hook exited with code 3",
    );
}

#[test]
fn a_run_that_ends_badly_has_failed() {
    use HookEventName::PreToolUse as E;
    for (end, expected) in [
        (RunEnd::Signalled, "hook exited without a status code"),
        (RunEnd::TimedOut(1), "hook timed out after 1s"),
        (RunEnd::TooMuchOutput, "hook wrote more than 1048576 bytes"),
        (RunEnd::NotRun("gone".to_owned()), "gone"),
    ] {
        let outcome = interpret(E, OnError::Ignore, &ran(end, "{}", ""));
        assert_eq!(shown(&outcome), format!("failed error:{expected}"));
        assert_eq!(outcome.effects, HookEffects::default());
    }
    for (event, expected) in [
        (HookEventName::PreModelRequest, "failed"),
        (
            HookEventName::SessionEnd,
            "failed error:hook process terminated without an exit code",
        ),
        (
            HookEventName::PreCompact,
            "failed error:hook process terminated without an exit code",
        ),
    ] {
        let outcome = interpret(event, OnError::Ignore, &ran(RunEnd::Signalled, "", ""));
        assert_eq!(shown(&outcome), expected);
    }
}

#[test]
fn a_required_hook_that_fails_objects() {
    let late = ran(RunEnd::TimedOut(1), "", "");
    let fails = |event| interpret(event, OnError::Block, &late);
    let reason = Some("a required hook failed: hook timed out after 1s".to_owned());
    for event in [
        HookEventName::PreToolUse,
        HookEventName::PostToolUse,
        HookEventName::UserPromptSubmit,
        HookEventName::Stop,
    ] {
        let outcome = fails(event);
        assert_eq!(shown(&outcome), "blocked error:hook timed out after 1s");
        assert_eq!(outcome.effects.objection, reason);
    }
    let denied = fails(HookEventName::PermissionRequest).effects.permission;
    assert_eq!(denied, reason.map(PermissionVerdict::Deny));
    for event in [HookEventName::SessionStart, HookEventName::PreCompact] {
        assert!(fails(event).effects.stops);
    }
    for event in [HookEventName::Interrupt, HookEventName::PostModelRequest] {
        let outcome = fails(event);
        assert_eq!(outcome.status, HookRunStatus::Failed);
        assert_eq!(outcome.effects, HookEffects::default());
        assert_eq!(outcome.entries[0].kind, Kind::Error);
    }
    let unreadable = ran(RunEnd::Exited(0), "{bad", "");
    let outcome = interpret(HookEventName::PreToolUse, OnError::Block, &unreadable);
    assert_eq!(outcome.status, HookRunStatus::Blocked);
}

#[test]
fn objection_applies_despite_other_output_errors() {
    let block = r#"{"decision":"block","reason":"no"}"#;
    for stdout in [
        r#"{"decision":"block","reason":7}"#.to_owned(),
        r#"{"decision":"block","reason":"no","other":1}"#.to_owned(),
        r#"{"decision":"BLOCK"}"#.to_owned(),
        r#"{"decision":"deny"}"#.to_owned(),
        r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#.to_owned(),
        format!("\u{feff}{block}"),
        format!("checking\n{block}"),
        format!("{block}\n{{}}"),
        format!("{block}\0"),
    ] {
        let objection = outcome(HookEventName::PreToolUse, &stdout, 0, "")
            .effects
            .objection;
        assert!(objection.is_some(), "{stdout}");
    }
    for stdout in [
        "I would not {\"decision\":\"block\"}",
        r#"{"decision":"approve","other":"deny"}"#,
        r#"{"reason":"deny","other":1}"#,
    ] {
        let objection = outcome(HookEventName::PreToolUse, stdout, 0, "")
            .effects
            .objection;
        assert_eq!(objection, None, "{stdout}");
    }
}
