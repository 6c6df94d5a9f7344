use codex_json_rpc::{LineQueue, Peer};

use super::*;

/// A run, and the connection that its prompts come from.
struct Played {
    run: PromptRun<&'static str>,
    peer: Peer,
    _lines: LineQueue,
}

impl Played {
    fn new() -> Self {
        let (peer, lines) = Peer::new("cancel");
        Self {
            run: PromptRun::default(),
            peer,
            _lines: lines,
        }
    }

    fn prompt(&mut self, id: i64, input: &'static str) -> PromptAction<&'static str> {
        let responder = self.peer.responder(JsonRpcId::Number(id)).unwrap();
        self.run.prompt(responder, input)
    }
}

fn steering(turn: &str, id: i64, input: &'static str) -> SteeringPrompt<&'static str> {
    SteeringPrompt {
        turn: turn.to_owned(),
        id: JsonRpcId::Number(id),
        input,
    }
}

fn answered(end: &PromptRunEnd<&'static str>) -> (Vec<i64>, bool) {
    let responders = end.answered.responders.iter();
    let ids = responders.map(|responder| match responder.id() {
        JsonRpcId::Number(id) => *id,
        other => panic!("{other}"),
    });
    (ids.collect(), end.answered.is_cancelled)
}

#[tokio::test]
async fn turn_end_answers_all_accepted_prompts() {
    let mut played = Played::new();
    assert_eq!(played.prompt(1, "a"), PromptAction::Start("a"));
    assert_eq!(played.prompt(2, "b"), PromptAction::Wait);
    let actions = played.run.begin("u");
    assert_eq!(actions.steering, [steering("u", 2, "b")]);
    assert_eq!(
        played.prompt(3, "c"),
        PromptAction::Steer(steering("u", 3, "c"))
    );
    for id in [2, 3] {
        played.run.accepted("u", &JsonRpcId::Number(id));
    }
    assert!(played.run.has(&JsonRpcId::Number(3)));
    let end = played.run.end().unwrap();
    assert_eq!(answered(&end), (vec![1, 2, 3], false));
    assert_eq!(end.next, None);
    assert_eq!(played.prompt(4, "d"), PromptAction::Start("d"));
}

#[tokio::test]
async fn unaccepted_prompt_gets_its_own_turn() {
    let mut played = Played::new();
    played.prompt(1, "a");
    played.run.begin("u");
    played.prompt(2, "b");
    played.prompt(3, "c");
    // A late reply about an earlier turn.
    played.run.accepted("t", &JsonRpcId::Number(2));
    let end = played.run.end().unwrap();
    assert_eq!((answered(&end), end.next), ((vec![1], false), Some("b")));
    // It cannot be started, and the third one is next.
    let end = played.run.refuse().unwrap();
    assert_eq!((answered(&end), end.next), ((vec![2], false), Some("c")));
}

#[tokio::test]
async fn a_cancel_is_for_the_prompts_before_it() {
    let mut played = Played::new();
    assert!(!played.run.cancel());
    played.prompt(1, "a");
    played.prompt(2, "b");
    assert!(!played.run.cancel());
    assert_eq!(played.prompt(3, "c"), PromptAction::Wait);
    let actions = played.run.begin("u");
    assert!(actions.interrupt && actions.steering.is_empty());
    assert!(played.run.cancel());
    assert_eq!(played.prompt(4, "d"), PromptAction::Wait);
    let end = played.run.end().unwrap();
    assert_eq!(
        (answered(&end), end.next),
        ((vec![1, 2, 3], true), Some("d"))
    );
}

#[tokio::test]
async fn a_turn_that_no_prompt_began_accepts_prompts() {
    let mut played = Played::new();
    played.run.begin("u");
    assert_eq!(
        played.prompt(1, "a"),
        PromptAction::Steer(steering("u", 1, "a"))
    );
    played.run.accepted("u", &JsonRpcId::Number(1));
    assert_eq!(answered(&played.run.end().unwrap()), (vec![1], false));
    played.prompt(2, "b");
    // The end of an earlier turn.
    assert!(played.run.end().is_none());
    assert_eq!(answered(&played.run.refuse().unwrap()), (vec![2], false));
}

#[tokio::test]
async fn a_session_that_closes_leaves_no_prompt_behind() {
    let mut played = Played::new();
    played.prompt(1, "a");
    played.prompt(2, "b");
    assert_eq!(played.run.close().len(), 2);
    assert_eq!(played.prompt(3, "c"), PromptAction::Start("c"));
}
