use super::*;

fn player(replies: &str) -> ScenarioPlayer {
    let text = format!("description = \"a test\"\n{replies}");
    ScenarioPlayer::new(Scenario::from_toml("test", &text).unwrap())
}

/// The reply to a request of a thread, as it is sent.
fn ask(player: &mut ScenarioPlayer, thread: &str, input: Value) -> String {
    let tools = json!([{"type": "function", "name": "shell_command"}]);
    let request = json!({"model": "m", "prompt_cache_key": thread, "input": input, "tools": tools});
    player
        .reply(None, request.to_string().as_bytes())
        .to_string()
}

const TWO_REPLIES: &str = "[[replies]]\nsteps = [{ message = \"one\" }]\n\
                   [[replies]]\nsteps = [{ command = \"two\" }]\n";

#[test]
fn each_thread_plays_the_script_from_its_beginning() {
    let mut player = player(TWO_REPLIES);
    for thread in ["a", "b"] {
        assert!(ask(&mut player, thread, json!([])).contains("\"delta\":\"one\""));
    }
    for thread in ["b", "a"] {
        let reply = ask(&mut player, thread, json!([]));
        assert!(reply.contains(r#""name":"shell_command""#), "{reply}");
    }
    let has_ended = ask(&mut player, "a", json!([]));
    assert!(has_ended.starts_with("HTTP/1.1 400"), "{has_ended}");
    assert!(has_ended.contains("no reply left"), "{has_ended}");
}

#[test]
fn a_script_that_restarts_has_no_end() {
    let mut player = player(&format!("restart = true\n{TWO_REPLIES}"));
    for expected in ["one", "two", "one", "two"] {
        assert!(ask(&mut player, "a", json!([])).contains(expected));
    }
}

#[test]
fn reply_can_wait_for_a_message() {
    let mut player = player(
        "[[replies]]\nwhen = { user = \"weather\" }\nrepeat = true\nsteps = [{ message = \"sunny\" }]\n\
         [[replies]]\nwhen = { output = \"denied\" }\nsteps = [{ message = \"a pity\" }]\n\
         [[replies]]\nsteps = [{ message = \"hello\" }]\n",
    );
    let says = |text: &str| {
        json!([{"type": "message", "role": "user",
                "content": [{"type": "input_text", "text": text}]}])
    };
    assert!(ask(&mut player, "a", says("hi")).contains("hello"));
    for _ in 0..2 {
        assert!(ask(&mut player, "a", says("the weather?")).contains("sunny"));
    }
    let output =
        json!([{"type": "function_call_output", "call_id": "c", "output": "it was denied"}]);
    assert!(ask(&mut player, "a", output).contains("a pity"));
}

#[test]
fn the_exit_code_is_found_in_all_forms() {
    for (output, expected) in [
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\n", Some(0)),
        (
            r#"{"output":"x","metadata":{"exit_code":127,"duration_seconds":0.1}}"#,
            Some(127),
        ),
        ("Process exited with code -1\n", Some(-1)),
        ("not run", None),
    ] {
        assert_eq!(exit_code_of(output), expected, "{output}");
    }
}

#[test]
fn text_comes_in_pieces_that_never_split_a_character() {
    let mut player =
        player("[pace]\ncharacters = 2\n[[replies]]\nsteps = [{ message = \"aéöz!\" }]\n");
    let reply = ask(&mut player, "a", json!([]));
    for piece in ["\"delta\":\"aé\"", "\"delta\":\"öz\"", "\"delta\":\"!\""] {
        assert!(reply.contains(piece), "{piece} is not in: {reply}");
    }
}

#[test]
fn a_refusal_has_its_status_and_headers() {
    let mut player = player("[[replies]]\nrefuse = { status = 429, retry_after = 3 }\n");
    let reply = ask(&mut player, "a", json!([]));
    assert!(reply.starts_with("HTTP/1.1 429"), "{reply}");
    assert!(reply.contains("retry-after: 3\r\n"), "{reply}");
}

#[test]
fn scripted_usage_is_sent() {
    let mut player =
        player("[[replies]]\nusage = { input = 7, output = 2 }\nsteps = [{ message = \"a\" }]\n");
    let reply = ask(&mut player, "a", json!([]));
    assert!(reply.contains(r#""input_tokens":7"#), "{reply}");
    assert!(reply.contains(r#""total_tokens":9"#), "{reply}");
}
