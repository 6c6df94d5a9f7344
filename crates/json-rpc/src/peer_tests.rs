use serde_json::Value;
use tokio::io::AsyncWriteExt;

use super::*;
use crate::LINE_LIMIT;

async fn next(queue: &mut LineQueue) -> Value {
    serde_json::from_str(&queue.next().await.unwrap()).unwrap()
}

/// Reads these lines to the end, with a limit, and returns what is left to handle.
async fn read(peer: &Peer, limit: usize, lines: &str) -> Vec<Incoming> {
    let mut handled = Vec::new();
    let input = lines.as_bytes();
    peer.read(input, limit, |incoming| handled.push(incoming))
        .await
        .unwrap();
    handled
}

fn responder(incoming: Incoming) -> Responder {
    match incoming {
        Incoming::Request { responder, .. } => responder,
        Incoming::Notification { method, .. } => panic!("{method} is a notification"),
    }
}

const REQUEST: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n";

#[tokio::test]
async fn responder_always_replies_once() {
    let (peer, mut queue) = Peer::new("cancel");
    responder(read(&peer, LINE_LIMIT, REQUEST).await.remove(0))
        .respond(Ok::<_, Error>(2))
        .await;
    // The id is free again.
    drop(read(&peer, LINE_LIMIT, REQUEST).await);
    drop(peer);
    assert_eq!(next(&mut queue).await["result"], 2);
    assert_eq!(next(&mut queue).await["error"]["code"], -32603);
    assert!(queue.next().await.is_none());
}

#[tokio::test]
async fn oversized_line_is_refused_and_the_next_one_read() {
    let (peer, mut queue) = Peer::new("cancel");
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{}\"}}\n",
        "m".repeat(100)
    );
    let handled = read(&peer, 64, &(long + REQUEST)).await;
    assert_eq!(handled.len(), 1);
    let refused = next(&mut queue).await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&Value::Null, &json!(-32600))
    );
    assert!(
        refused["error"]["data"]
            .as_str()
            .unwrap()
            .contains("64 bytes")
    );
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused() {
    let (peer, mut queue) = Peer::new("cancel");
    let handled = read(&peer, LINE_LIMIT, &REQUEST.repeat(2)).await;
    assert_eq!(handled.len(), 1);
    assert_eq!(next(&mut queue).await["error"]["code"], -32600);
}

#[tokio::test]
async fn a_cancelled_request_is_marked_and_others_are_not() {
    let (peer, _queue) = Peer::new("cancel");
    let responder = responder(read(&peer, LINE_LIMIT, REQUEST).await.remove(0));
    peer.cancel(&JsonRpcId::Number(2));
    assert!(!responder.is_cancelled());
    peer.cancel(&JsonRpcId::Number(1));
    assert!(responder.is_cancelled());
    responder.cancellation().requested().await;
}

#[tokio::test]
async fn dropping_a_request_cancels_it() {
    let (peer, mut queue) = Peer::new("cancel");
    let sender = peer.clone();
    let request = tokio::spawn(async move { sender.request::<Value>("q", json!({})).await });
    assert_eq!(next(&mut queue).await["method"], "q");
    request.abort();
    let _ = request.await;
    let cancelled = next(&mut queue).await;
    assert_eq!(cancelled["method"], "cancel");
    assert_eq!(cancelled["params"], json!({ "requestId": 0 }));
}

#[tokio::test]
async fn a_reply_reaches_its_request_and_others_are_ignored() {
    let (peer, mut queue) = Peer::new("cancel");
    let sender = peer.clone();
    let request = tokio::spawn(async move { sender.request::<u32>("q", json!({})).await });
    next(&mut queue).await;
    let replies = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":4}\n\
                   {\"jsonrpc\":\"2.0\",\"id\":\"0\",\"result\":4}\n\
                   {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":5}\n\
                   {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":6}\n";
    assert!(read(&peer, LINE_LIMIT, replies).await.is_empty());
    assert_eq!(request.await.unwrap().unwrap(), 5);
}

#[tokio::test]
async fn an_invalid_reply_fails_its_request() {
    let (peer, mut queue) = Peer::new("cancel");
    let sender = peer.clone();
    let request = tokio::spawn(async move { sender.request::<u32>("q", json!({})).await });
    next(&mut queue).await;
    read(
        &peer,
        LINE_LIMIT,
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":\"no\"}\n",
    )
    .await;
    let error = request.await.unwrap().unwrap_err();
    assert!(
        error.message.contains("the reply is invalid"),
        "{}",
        error.message
    );
}

// Time stands still, so the time-out ends the wait as soon as nothing else can run.
#[tokio::test(start_paused = true)]
async fn input_pauses_while_the_peer_does_not_read() {
    let (peer, queue) = Peer::new("cancel");
    let (mut theirs, ours) = tokio::io::duplex(1024);
    let (input, output) = tokio::io::split(ours);
    let writer = tokio::spawn(queue.write_to(output));
    let reader = tokio::spawn({
        let peer = peer.clone();
        async move {
            let handle = |incoming| {
                tokio::spawn(responder(incoming).respond(Ok::<_, Error>("x".repeat(100))));
            };
            peer.read(input, LINE_LIMIT, handle).await
        }
    });
    // Every stage is bounded: the pipes, the queue, and the tasks that wait for room in it.
    let mut sent = 0;
    while tokio::time::timeout(
        std::time::Duration::from_millis(100),
        theirs.write_all(
            REQUEST
                .replace("\"id\":1", &format!("\"id\":{sent}"))
                .as_bytes(),
        ),
    )
    .await
    .is_ok()
    {
        sent += 1;
        assert!(sent < 10_000, "requests are read although no reply is");
    }
    drop(theirs);
    reader.abort();
    writer.abort();
}
