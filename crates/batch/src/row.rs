//! A row: a thread with one turn, then its checks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use codex_app_server_protocol::ServerNotification;
use codex_app_server_protocol::v2::{
    ThreadItem, Turn, TurnCompletedNotification, TurnError, TurnStatus,
};
use codex_client::{ClientError, ConnectionHandle};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};

use crate::folder::{BatchFolder, CheckResult, RowResult, RowStatus, RowThread, RowUsage};
use crate::routes::{Routes, ThreadRoute};
use crate::tasks::{BatchRow, RowLimits};
use crate::worker::BatchWorker;

/// How long a turn that is stopped may take to end.
const STOP_LIMIT: Duration = Duration::from_secs(20);
/// How long a resumed thread may take to say what it has used.
const USAGE_LIMIT: Duration = Duration::from_secs(1);
/// How long a check may run.
const CHECK_LIMIT: Duration = Duration::from_secs(1800);
/// How much of the output of a check is kept.
const CHECK_OUTPUT: usize = 4096;

/// Why a row stops before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The run is to end, and the row goes on later.
    Pause,
    /// The run has used what it may.
    Budget,
    /// Another worker has taken the row.
    Lost,
}

/// A row that is worked on.
pub(crate) struct RowRun {
    pub(crate) folder: Arc<BatchFolder>,
    pub(crate) worker: Arc<BatchWorker>,
    pub(crate) connection: ConnectionHandle,
    pub(crate) routes: Routes,
    pub(crate) index: usize,
    pub(crate) limits: RowLimits,
    pub(crate) used: Arc<Mutex<RowUsage>>,
    pub(crate) stop: watch::Receiver<Option<StopReason>>,
}

/// The end of a turn.
#[derive(Default)]
struct TurnEnd {
    is_completed: bool,
    message: Option<String>,
    error: Option<String>,
    is_over_limit: bool,
}

impl TurnEnd {
    fn from_turn(turn: &Turn) -> Self {
        let error = turn.error.as_ref();
        Self {
            is_completed: turn.status == TurnStatus::Completed,
            message: last_message(turn),
            error: error.map(|error| error.message.clone()),
            is_over_limit: error.is_some_and(is_over_limit),
        }
    }

    fn failed(message: String) -> Self {
        Self {
            error: Some(message),
            ..Self::default()
        }
    }
}

fn is_over_limit(error: &TurnError) -> bool {
    error.exceeded_limit.is_some()
}

fn last_message(turn: &Turn) -> Option<String> {
    turn.items.iter().rev().find_map(|item| match &item.item {
        ThreadItem::AgentMessage { text, .. } => Some(text.as_str().into_owned()),
        _ => None,
    })
}

/// What is left to do in a thread.
enum ThreadWork {
    /// It has no turn that counts: the prompt is sent.
    Ask,
    /// The turn with this id runs on.
    Follow(String),
    /// The turn had ended before its result was written.
    Ended(Box<TurnEnd>),
}

impl RowRun {
    fn reason(&self) -> Option<StopReason> {
        *self.stop.borrow()
    }

    fn row(&self) -> &BatchRow {
        &self.folder.rows[self.index]
    }

    /// Works on the row. None if it is to go on later.
    pub(crate) async fn run(mut self) -> Option<RowResult> {
        let begun = Instant::now();
        let mut thread = None;
        let end = match self.work(&mut thread).await {
            Ok(Some(end)) => end,
            Ok(None) => return None,
            // The server of this process has gone: others go on.
            Err(ClientError::Closed | ClientError::Finished) => return None,
            Err(error) => TurnEnd::failed(error.to_string()),
        };
        match self.reason() {
            Some(StopReason::Lost) => return None,
            Some(StopReason::Pause) if !end.is_completed => return None,
            _ => {}
        }
        let checks = if end.is_completed {
            self.checks().await?
        } else {
            Vec::new()
        };
        if let Some(thread) = &thread {
            let params = json!({ "threadId": thread.thread_id });
            let _ = self.connection.call("thread/unsubscribe", &params).await;
        }
        let has_failed_check = checks.iter().any(|check| check.exit_code != Some(0));
        let is_over = end.is_over_limit || self.reason() == Some(StopReason::Budget);
        let status = match () {
            () if end.is_completed && has_failed_check => RowStatus::CheckFailed,
            () if end.is_completed => RowStatus::Passed,
            () if is_over => RowStatus::OverLimit,
            () => RowStatus::Failed,
        };
        let parse = |text: &String| serde_json::from_str(text).ok();
        let has_schema = self.row().output_schema.is_some();
        Some(RowResult {
            index: self.index,
            id: self.row().id.clone(),
            status,
            output: end.message.as_ref().filter(|_| has_schema).and_then(parse),
            message: end.message,
            error: end.error,
            checks,
            usage: *self.used.lock(),
            seconds: begun.elapsed().as_secs_f64(),
            thread_id: thread.as_ref().map(|thread| thread.thread_id.clone()),
            rollout: thread.and_then(|thread| thread.rollout),
            worker: self.worker.id().to_owned(),
            host: self.worker.host().to_owned(),
        })
    }

    async fn work(
        &mut self,
        thread: &mut Option<RowThread>,
    ) -> Result<Option<TurnEnd>, ClientError> {
        let (opened, mut route, work) = self.open().await?;
        let id = opened.thread_id.clone();
        *thread = Some(opened);
        let turn = match work {
            ThreadWork::Ended(end) => return Ok(Some(*end)),
            ThreadWork::Follow(turn) => turn,
            ThreadWork::Ask => {
                let started = self.connection.call("turn/start", &self.ask(&id)).await?;
                text_of(&started["turn"]["id"])
            }
        };
        let mut stop = self.stop.clone();
        let mut stopped_by = None;
        loop {
            let limit = async {
                match stopped_by {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                event = route.next() => match event {
                    Some(ServerNotification::TurnCompleted(completed)) => {
                        self.count(&completed);
                        return Ok(Some(TurnEnd::from_turn(&completed.turn)));
                    }
                    Some(ServerNotification::ThreadTokenUsageUpdated(updated)) => {
                        self.count_tokens(&updated.token_usage.total);
                    }
                    Some(_) => {}
                    None => return Err(ClientError::Closed),
                },
                () = stopped(&mut stop), if stopped_by.is_none() => {
                    stopped_by = Some(tokio::time::Instant::now() + STOP_LIMIT);
                    // A pause leaves the turn as it is: the next worker continues it.
                    if self.reason() == Some(StopReason::Pause) {
                        return Ok(None);
                    }
                    let params = json!({ "threadId": id, "turnId": turn });
                    let _ = self.connection.call("turn/interrupt", &params).await;
                }
                () = limit => return Ok(Some(TurnEnd::failed("the turn did not stop".to_owned()))),
            }
        }
    }

    fn count_tokens(&self, total: &codex_app_server_protocol::v2::TokenUsageBreakdown) {
        let count = |tokens: i64| u64::try_from(tokens).unwrap_or_default();
        let mut used = self.used.lock();
        used.input_tokens = count(total.input_tokens);
        used.cached_input_tokens = count(total.cached_input_tokens);
        used.output_tokens = count(total.output_tokens);
    }

    /// A thread that is resumed says what it has used.
    async fn count_of_ended(&self, route: &mut ThreadRoute) {
        let said = tokio::time::timeout(USAGE_LIMIT, route.next()).await;
        if let Ok(Some(ServerNotification::ThreadTokenUsageUpdated(updated))) = said {
            self.count_tokens(&updated.token_usage.total);
        }
    }

    fn count(&self, completed: &TurnCompletedNotification) {
        if let Some(usage) = &completed.usage {
            self.count_tokens(&usage.tokens);
            let mut used = self.used.lock();
            used.requests = usage.requests;
            used.cost = usage.cost;
        }
    }

    /// Opens the thread of the row: the one that it has, otherwise a new one.
    async fn open(&self) -> Result<(RowThread, ThreadRoute, ThreadWork), ClientError> {
        let stored = self.folder.thread(self.index).ok().flatten();
        if let Some(stored) = stored.filter(|stored| {
            let path = stored.rollout.as_ref();
            path.is_some_and(|path| path.exists())
        }) {
            // A row that cannot go on has failed: what it has done is not done again unless somebody wants it.
            let (route, work) = self.resume(&stored).await?;
            return Ok((stored, route, work));
        }
        let mut params = self.place();
        if !self.limits.is_empty() {
            params.insert("limits".to_owned(), json!(self.limits));
        }
        let (started, route) = self.call_for_thread("thread/start", params).await?;
        let thread = RowThread {
            thread_id: thread_id(&started),
            rollout: started["thread"]["path"].as_str().map(Into::into),
        };
        // Before its turn begins: whoever finds the thread goes on with it.
        if let Err(error) = self.folder.write_thread(self.index, &thread) {
            tracing::warn!(%error, "the thread of a row is not written down");
        }
        Ok((thread, route, ThreadWork::Ask))
    }

    async fn resume(&self, stored: &RowThread) -> Result<(ThreadRoute, ThreadWork), ClientError> {
        let mut params = self.place();
        params.insert("threadId".to_owned(), json!(stored.thread_id));
        params.insert("path".to_owned(), json!(stored.rollout));
        params.insert("continueTurn".to_owned(), json!("always"));
        let (resumed, mut route) = self.call_for_thread("thread/resume", params).await?;
        let interrupted = &resumed["interruptedTurn"];
        if interrupted["isContinued"] == true {
            return Ok((route, ThreadWork::Follow(text_of(&interrupted["turnId"]))));
        }
        let turns = resumed["thread"]["turns"].as_array();
        let last = turns.and_then(|turns| turns.last()).cloned();
        let last = last.and_then(|last| serde_json::from_value::<Turn>(last).ok());
        let work = match last {
            Some(turn) if matches!(turn.status, TurnStatus::Completed | TurnStatus::Failed) => {
                self.count_of_ended(&mut route).await;
                ThreadWork::Ended(Box::new(TurnEnd::from_turn(&turn)))
            }
            _ => ThreadWork::Ask,
        };
        Ok((route, work))
    }

    /// Calls a method that replies with a thread, whose notifications are routed from the reply on.
    async fn call_for_thread(
        &self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<(Value, ThreadRoute), ClientError> {
        let (sender, opened) = oneshot::channel();
        let routes = self.routes.clone();
        let hook = move |reply: &Value| drop(sender.send(routes.open(&thread_id(reply))));
        let reply = (self.connection)
            .call_with_hook(method, &params, hook)
            .await?;
        let route = opened.await.map_err(|_| ClientError::Closed)?;
        Ok((reply, route))
    }

    /// Where the thread works, with whom, and with which rights.
    fn place(&self) -> Map<String, Value> {
        let row = self.row();
        let mut params = Map::new();
        params.insert("approvalPolicy".to_owned(), json!("never"));
        let named = [
            ("cwd", &row.cwd),
            ("model", &row.model),
            ("sandbox", &row.sandbox),
        ];
        for (name, value) in named {
            if let Some(value) = value {
                params.insert(name.to_owned(), json!(value));
            }
        }
        if let Some(environment) = &row.environment {
            let place = json!({ "environmentId": environment, "cwd": row.cwd });
            params.insert("environments".to_owned(), json!([place]));
        }
        params
    }

    fn ask(&self, thread: &str) -> Value {
        let row = self.row();
        let mut params = json!({
            "threadId": thread,
            "input": [{ "type": "text", "text": row.prompt }],
        });
        if let Some(effort) = &row.effort {
            params["effort"] = json!(effort);
        }
        if let Some(schema) = &row.output_schema {
            params["outputSchema"] = schema.clone();
        }
        params
    }

    /// Runs the checks. None if the server has gone, or the row is to go on later.
    async fn checks(&self) -> Option<Vec<CheckResult>> {
        let row = self.row();
        let mut results = Vec::new();
        for command in &row.checks {
            let mut params = json!({
                "command": ["/bin/sh", "-c", command],
                "timeoutMs": u64::try_from(CHECK_LIMIT.as_millis()).unwrap_or(u64::MAX),
            });
            if let Some(cwd) = &row.cwd {
                params["cwd"] = json!(cwd);
            }
            if let Some(policy) = row.sandbox.as_deref().and_then(policy) {
                params["sandboxPolicy"] = policy;
            }
            let mut stop = self.stop.clone();
            let ran = tokio::select! {
                ran = self.connection.call("command/exec", &params) => ran,
                () = left_for_others(&mut stop) => return None,
            };
            let (exit_code, output) = match ran {
                Ok(ran) => {
                    let text = |name: &str| ran[name].as_str().unwrap_or_default().to_owned();
                    (ran["exitCode"].as_i64(), text("stdout") + &text("stderr"))
                }
                Err(ClientError::Closed | ClientError::Finished) => return None,
                Err(error) => (None, error.to_string()),
            };
            results.push(CheckResult {
                command: command.clone(),
                exit_code,
                output: end_of(output),
            });
        }
        Some(results)
    }
}

/// Returns once the row is not this worker's to finish.
async fn left_for_others(stop: &mut watch::Receiver<Option<StopReason>>) {
    let is_left =
        |reason: &Option<StopReason>| matches!(reason, Some(StopReason::Pause | StopReason::Lost));
    if stop.wait_for(is_left).await.is_err() {
        std::future::pending().await
    }
}

/// Returns once there is a reason to stop.
async fn stopped(stop: &mut watch::Receiver<Option<StopReason>>) {
    let _ = stop.wait_for(Option::is_some).await;
}

fn thread_id(reply: &Value) -> String {
    text_of(&reply["thread"]["id"])
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The policy of a mode of the sandbox; none for a mode that is not known, which `thread/start` refuses.
fn policy(mode: &str) -> Option<Value> {
    let name = match mode {
        "read-only" => "readOnly",
        "workspace-write" => "workspaceWrite",
        "danger-full-access" => "dangerFullAccess",
        _ => return None,
    };
    Some(json!({ "type": name }))
}

fn end_of(text: String) -> String {
    let start = text.len().saturating_sub(CHECK_OUTPUT);
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at));
    match start {
        None | Some(0) => text,
        Some(start) => format!("…{}", &text[start..]),
    }
}
