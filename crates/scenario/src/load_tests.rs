use super::*;

#[track_caller]
fn check_error(text: &str, expected: &[&str]) {
    let error = Scenario::from_toml("file.toml", text).unwrap_err();
    let error = error.to_string();
    for part in ["file.toml: "].iter().chain(expected) {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

/// A scenario with one reply that has these members.
fn with_reply(members: &str) -> String {
    format!("description = \"a test\"\n[[replies]]\n{members}\n")
}

#[test]
fn member_type_error_names_its_line() {
    check_error(
        "description = \"a test\"\nreplies = 7\n",
        &["line 2", "column 11", "replies = 7"],
    );
}

#[test]
fn a_member_that_is_not_known_is_an_error() {
    let text = with_reply("stepps = []");
    check_error(&text, &["line 3", "unknown field `stepps`", "`steps`"]);
}

#[test]
fn unknown_step_error_lists_the_known_steps() {
    let text = with_reply("steps = [\n  { message = \"a\" },\n  { mesage = \"b\" },\n]");
    check_error(&text, &["line 5", "`mesage`", "`message`"]);
}

#[test]
fn json_scenario_errors_have_a_path() {
    let scenario = r#"{"description": "d", "replies": [{"steps": [{"message": "hi"}, "cut"]}]}"#;
    assert!(Scenario::from_json("file.json", scenario).is_ok());
    let wrong = scenario.replace("\"hi\"", "7");
    let error = Scenario::from_json("file.json", &wrong).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("replies[0].steps[0]"), "{error}");
    assert!(error.contains("line 1"), "{error}");
}

#[test]
fn scenario_steps_without_effect_are_errors() {
    check_error("description = \"d\"\nreplies = []", &["replies: "]);
    check_error(&with_reply(""), &["replies[0]: ", "`steps` or `refuse`"]);
    let text = with_reply("steps = [\"cut\", { message = \"a\" }]");
    check_error(&text, &["replies[0].steps[0]: nothing can follow"]);
    let text = with_reply("steps = [{ unfinished = \"a\" }]");
    check_error(&text, &["replies[0].steps[0]: needs"]);
    let text = with_reply("steps = [\"cut\"]\nrefuse = { status = 500 }");
    check_error(&text, &["replies[0]: ", "not both"]);
    check_error(
        &with_reply("refuse = { status = 200 }"),
        &["replies[0].refuse.status: "],
    );
    let text = with_reply("when = {}\nsteps = [\"cut\"]");
    check_error(&text, &["replies[0].when: "]);
}

#[test]
fn files_stay_in_their_folder() {
    for path in ["../out", "/etc/motd", ""] {
        let session = format!("[session.files]\n\"{path}\" = \"\"\n");
        let text = with_reply("steps = [\"cut\"]") + &session;
        check_error(&text, &["session.files", "inside the folder"]);
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Scenario::load(Path::new("no/such.toml")).unwrap_err();
    assert!(error.to_string().contains("no/such.toml"));
}
