//! Several clients on one thread: who is asked, whose answer counts, and what becomes of a question
//! when a client leaves.

use codex_test_support::{HttpReply, ModelServer, WebSocket, sse};
use futures::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::listeners::{Listening, start_turn};
use crate::setup::scripted_home;

type WebSocketClient = WebSocket<TcpStream>;

const QUESTION: &str = "item/commandExecution/requestApproval";

/// A listener whose model asks for one command and then says that it is done.
struct ApprovalServer {
    server: Listening,
    _model: ModelServer,
    _home: TempDir,
}

impl ApprovalServer {
    async fn start() -> Self {
        let command = json!({ "command": "touch made" });
        let call = sse::function_call("call", "shell_command", &command);
        let replies = [sse::items(&[call]), sse::text("done")];
        let model = ModelServer::start(replies.map(|events| HttpReply::stream(&events)));
        let model = model.await.unwrap();
        let home = scripted_home(&model, "approval_policy = \"untrusted\"");
        let server = Listening::start(home.path(), &["--listen", "ws://127.0.0.1:0"]).await;
        Self {
            server,
            _model: model,
            _home: home,
        }
    }

    /// A client whose turn has just led to a question.
    async fn asked(&self) -> (WebSocketClient, Value, Value) {
        let mut client = self.server.connect().await;
        let reply = client.call("thread/start", json!({})).await.unwrap();
        let thread = reply["result"]["thread"]["id"].clone();
        let input = json!([{ "type": "text", "text": "make it" }]);
        let params = json!({ "threadId": thread, "input": input });
        client.call("turn/start", params).await.unwrap();
        let question = client.wait_for(QUESTION).await.unwrap();
        (client, thread, question)
    }

    /// Another client of the thread, who is asked the same.
    async fn joined(&self, thread: &Value, question: &Value) -> WebSocketClient {
        let mut client = self.server.connect().await;
        let params = json!({ "threadId": thread });
        let resumed = client.call("thread/resume", params).await.unwrap();
        let status = &resumed["result"]["thread"]["status"];
        let waiting = json!({ "type": "active", "activeFlags": ["waitingOnApproval"] });
        assert_eq!(*status, waiting);
        assert_eq!(client.wait_for(QUESTION).await.unwrap(), *question);
        client
    }
}

async fn answer(client: &mut WebSocketClient, question: &Value, answer: Value) {
    let mut message = answer;
    message["id"] = question["id"].clone();
    let is_wrong = message["result"] == "nonsense" || message["result"]["decision"] == "perhaps";
    let sent = if is_wrong {
        client.send_wrong_answer(&message).await
    } else {
        client.send(&message).await
    };
    sent.unwrap();
}

fn decision(decision: &str) -> Value {
    json!({ "result": { "decision": decision } })
}

/// What a client hears until the turn is over: that the question is settled, and how the command ended.
async fn wait_for_the_end(client: &mut WebSocketClient, question: &Value) -> Value {
    let resolved = client.wait_for("serverRequest/resolved").await.unwrap();
    assert_eq!(resolved["params"]["requestId"], question["id"]);
    let ended = client.wait_for("turn/completed").await.unwrap();
    let turn = &ended["params"]["turn"];
    assert_eq!(turn["status"], "completed");
    assert_eq!(turn["items"][1]["type"], "commandExecution");
    turn["items"][1]["status"].clone()
}

#[tokio::test]
async fn first_answer_wins_and_all_clients_are_notified() {
    let asking = ApprovalServer::start().await;
    let (mut owner, thread, question) = asking.asked().await;
    let mut quick = asking.joined(&thread, &question).await;
    let mut late = asking.joined(&thread, &question).await;
    answer(&mut quick, &question, decision("accept")).await;
    assert_eq!(wait_for_the_end(&mut quick, &question).await, "completed");
    answer(&mut late, &question, decision("decline")).await;
    answer(&mut owner, &question, json!({ "result": "nonsense" })).await;
    for client in [&mut owner, &mut late] {
        assert_eq!(wait_for_the_end(client, &question).await, "completed");
        let loaded = client.call("thread/loaded/list", json!({})).await.unwrap();
        assert_eq!(loaded["result"]["data"], json!([thread]));
    }
    for client in [owner, quick, late] {
        client.finish().await.unwrap();
    }
}

#[tokio::test]
async fn unreadable_answer_is_a_refusal_with_a_warning() {
    let asking = ApprovalServer::start().await;
    let (mut owner, thread, question) = asking.asked().await;
    let mut odd = asking.joined(&thread, &question).await;
    answer(&mut odd, &question, decision("perhaps")).await;
    for client in [&mut owner, &mut odd] {
        let resolved = client.wait_for("serverRequest/resolved").await.unwrap();
        assert_eq!(resolved["params"]["requestId"], question["id"]);
        let warning = client.wait_for("warning").await.unwrap();
        assert_eq!(warning["params"]["threadId"], thread);
        let ended = client.wait_for("turn/completed").await.unwrap();
        assert_eq!(ended["params"]["turn"]["items"][1]["status"], "declined");
        assert_eq!(ended["params"]["turn"]["status"], "completed");
    }
    for client in [owner, odd] {
        client.finish().await.unwrap();
    }
}

/// Ids of questions are easy to guess.
#[tokio::test]
async fn unasked_client_decides_nothing() {
    let asking = ApprovalServer::start().await;
    let (mut owner, thread, question) = asking.asked().await;
    let mut stranger = asking.server.connect().await;
    for given in [
        decision("accept"),
        decision("decline"),
        json!({ "result": "nonsense" }),
        json!({ "error": { "code": -1, "message": "no" } }),
    ] {
        answer(&mut stranger, &question, given).await;
    }
    // Its messages are handled in order, so the answers have been.
    let params = json!({ "threadId": thread });
    let read = stranger.call("thread/read", params.clone()).await.unwrap();
    let waiting = json!({ "type": "active", "activeFlags": ["waitingOnApproval"] });
    assert_eq!(read["result"]["thread"]["status"], waiting, "{read}");
    answer(&mut owner, &question, decision("accept")).await;
    assert_eq!(wait_for_the_end(&mut owner, &question).await, "completed");
    // It may answer once it is asked.
    let joined = stranger.call("thread/resume", params).await.unwrap();
    assert_eq!(joined["result"]["thread"]["status"]["type"], "idle");
    for client in [owner, stranger] {
        client.finish().await.unwrap();
    }
}

#[tokio::test]
async fn a_connection_without_a_handshake_answers_nothing() {
    let asking = ApprovalServer::start().await;
    let (mut owner, thread, question) = asking.asked().await;
    let mut mute = asking.server.connect_raw().await;
    answer(&mut mute, &question, decision("accept")).await;
    // The refusal of a request before the handshake shows that the answer was handled.
    let refused = mute.call("thread/loaded/list", json!({})).await.unwrap();
    assert!(refused.get("error").is_some(), "{refused}");
    let params = json!({ "threadId": thread });
    let read = owner.call("thread/read", params).await.unwrap();
    assert_eq!(
        read["result"]["thread"]["status"]["type"], "active",
        "{read}"
    );
    answer(&mut owner, &question, decision("decline")).await;
    assert_eq!(wait_for_the_end(&mut owner, &question).await, "declined");
}

#[tokio::test]
async fn an_error_for_an_answer_is_a_refusal() {
    let asking = ApprovalServer::start().await;
    let (mut owner, _, question) = asking.asked().await;
    let error = json!({ "error": { "code": -32601, "message": "never heard of it" } });
    answer(&mut owner, &question, error).await;
    let status = wait_for_the_end(&mut owner, &question).await;
    assert!(["declined", "failed"].contains(&status.as_str().unwrap()));
}

#[tokio::test]
async fn open_question_outlives_its_clients() {
    let asking = ApprovalServer::start().await;
    let (owner, thread, question) = asking.asked().await;
    let leaving = asking.joined(&thread, &question).await;
    drop(owner);
    let mut staying = asking.joined(&thread, &question).await;
    drop(leaving);
    answer(&mut staying, &question, decision("accept")).await;
    assert_eq!(wait_for_the_end(&mut staying, &question).await, "completed");
    staying.finish().await.unwrap();
}

#[tokio::test]
async fn open_question_waits_for_the_next_client() {
    let asking = ApprovalServer::start().await;
    let (mut owner, thread, question) = asking.asked().await;
    let params = json!({ "threadId": thread });
    let left = owner.call("thread/unsubscribe", params).await.unwrap();
    assert_eq!(left["result"]["status"], "unsubscribed");
    let mut client = asking.joined(&thread, &question).await;
    answer(&mut client, &question, decision("accept")).await;
    assert_eq!(wait_for_the_end(&mut client, &question).await, "completed");
    // The one who left hears of the thread, and nothing of its turns.
    let status = owner.wait_for("thread/status/changed").await.unwrap();
    assert_eq!(status["params"]["threadId"], thread);
}

#[tokio::test]
async fn simultaneous_resumes_share_thread() {
    let replies = [sse::text("before"), sse::text("after")];
    let model = ModelServer::start(replies.map(|events| HttpReply::stream(&events)));
    let model = model.await.unwrap();
    let home = scripted_home(&model, "");
    let arguments = ["--listen", "ws://127.0.0.1:0"];
    let thread = {
        let server = Listening::start(home.path(), &arguments).await;
        let mut client = server.connect().await;
        let (thread, _) = start_turn(&mut client, "hi").await;
        client.wait_for("turn/completed").await.unwrap();
        thread
    };
    let server = Listening::start(home.path(), &arguments).await;
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(server.connect().await);
    }
    let resume =
        |client| WebSocketClient::call(client, "thread/resume", json!({ "threadId": thread }));
    for resumed in join_all(clients.iter_mut().map(resume)).await {
        assert_eq!(resumed.unwrap()["result"]["thread"]["id"], thread);
    }
    let input = json!([{ "type": "text", "text": "go on" }]);
    let params = json!({ "threadId": thread, "input": input });
    clients[0].call("turn/start", params).await.unwrap();
    for mut client in clients {
        let ended = client.wait_for("turn/completed").await.unwrap();
        assert_eq!(ended["params"]["turn"]["status"], "completed", "{ended}");
        client.finish().await.unwrap();
    }
}
