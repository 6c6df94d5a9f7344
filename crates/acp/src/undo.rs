//! `/undo`: takes back the last turn, with the files that it changed.

use agent_client_protocol_schema::v1::Error;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::errors;
use crate::session::AcpSession;

/// Takes back the last turn and returns what became of it. If somebody else has changed a file since, nothing changes.
pub(crate) async fn last_turn(agent: &Agent, session: &AcpSession) -> Result<String, Error> {
    let newest = json!({ "threadId": session.thread_id(), "limit": 1, "sortDirection": "desc" });
    let turns = agent.call("thread/turns/list", &newest).await?;
    let Some(turn) = turns["data"][0]["id"].as_str() else {
        return Ok("There is no turn to take back.".to_owned());
    };
    let checkpoints = agent.call("thread/checkpoint/list", &newest).await?;
    let checkpoint = &checkpoints["data"][0];
    if checkpoint["turnId"] == turn {
        return restore(agent, session, &checkpoint["id"]).await;
    }
    let params = json!({ "threadId": session.thread_id(), "numTurns": 1 });
    agent.call("thread/rollback", &params).await?;
    Ok("The last turn is out of the conversation. It changed no files.".to_owned())
}

async fn restore(agent: &Agent, session: &AcpSession, checkpoint: &Value) -> Result<String, Error> {
    let params =
        json!({ "threadId": session.thread_id(), "checkpointId": checkpoint, "restore": "both" });
    let restored = agent.call("thread/checkpoint/restore", &params).await?;
    let conflicts = paths(&restored["conflicts"]);
    if !conflicts.is_empty() {
        let message =
            format!("nothing is taken back, because these files were changed since: {conflicts}");
        return Err(errors::not_now(&message));
    }
    let mut text = format!(
        "The last turn is out of the conversation, and these files are as they were before: {}",
        paths(&restored["changed"])
    );
    let lost = paths(&restored["notKept"]);
    if !lost.is_empty() {
        text.push_str(&format!("\n\nNot brought back: {lost}"));
    }
    Ok(text)
}

fn paths(files: &Value) -> String {
    let files = files.as_array().into_iter().flatten();
    let paths: Vec<_> = files.filter_map(|file| file["path"].as_str()).collect();
    paths.join(", ")
}
