//! Tools, MCP servers and skills as they were recorded.

use std::collections::HashMap;
use std::sync::Arc;

use codex_core::{FinishedHook, RecordedAnswer, RecordedFailure, ReplaySource, TakenInput};
use codex_model_client::ToolSpec;
use codex_protocol::{FunctionCallOutputBody, HookEventName, ResponseItem, ThreadId};
use codex_skills::SkillSet;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use crate::cells::output_in;
use crate::instructions::{folder_instructions_of, instructions_of};
use crate::live;
use crate::mcp_tools::mcp_tools_of;
use crate::skills::{skills_of, text_of_skill};
use crate::state::{EarlyEnd, ReplayState};

#[derive(Debug)]
pub(crate) struct RecordedTools {
    state: Arc<ReplayState>,
    has_mcp_servers: bool,
    /// The tools of MCP servers, by thread.
    mcp: Mutex<HashMap<ThreadId, Vec<ToolSpec>>>,
    /// The skills, by thread.
    skills: Mutex<HashMap<ThreadId, Arc<SkillSet>>>,
}

impl RecordedTools {
    pub(crate) fn new(state: Arc<ReplayState>, has_mcp_servers: bool) -> Self {
        Self {
            state,
            has_mcp_servers,
            mcp: Mutex::default(),
            skills: Mutex::default(),
        }
    }
}

impl RecordedTools {
    /// The request that the thread sends next.
    fn next_request(&self, thread: &ThreadId) -> Value {
        next_request(&self.state, thread.as_str())
    }
}

fn next_request(state: &ReplayState, thread: &str) -> Value {
    let request = state.peek_request(thread);
    let request = request.and_then(|request| state.recording.json(&request).ok());
    request.unwrap_or_default()
}

/// The output of a call, as the next request has it.
fn output_in_next(state: &ReplayState, thread: &str, call: &str) -> FunctionCallOutputBody {
    let output = output_in(&next_request(state, thread), call);
    output.unwrap_or_else(|| FunctionCallOutputBody::Text(String::new().into()))
}

/// The payload of the end of a call.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum RecordedResult {
    DirectResponse { response_item: Value },
    Error { error: String },
}

impl ReplaySource for RecordedTools {
    fn answer(&self, thread: &ThreadId, call: &str) -> BoxFuture<'static, RecordedAnswer> {
        let state = Arc::clone(&self.state);
        if state.continued.model().is_some() {
            let failure = RecordedFailure("this replay runs no tools".to_owned());
            return Box::pin(std::future::ready(Err(failure)));
        }
        let recorded = state.answer(thread.as_str(), call);
        let (thread, call) = (thread.as_str().to_owned(), call.to_owned());
        Box::pin(async move {
            let Some(recorded) = recorded else {
                if state.is_unrecorded(&thread, &call) {
                    return Ok(output_in_next(&state, &thread, &call));
                }
                return std::future::pending().await;
            };
            state.wait(recorded.at).await;
            let result = recorded.result.as_ref();
            let Some(result) = result.and_then(|result| state.bytes(result)) else {
                return Ok(output_in_next(&state, &thread, &call));
            };
            match answer_of(&result) {
                Ok(answer) => answer,
                Err(error) => {
                    state.finish(EarlyEnd::Unreadable(error.to_string()));
                    std::future::pending().await
                }
            }
        })
    }

    fn runs_tool(&self, name: &str) -> bool {
        self.state.folder.is_some() && live::runs(name)
    }

    fn taken_inputs(&self, thread: &ThreadId) -> Option<Vec<TakenInput>> {
        self.state.taken_inputs(thread.as_str())
    }

    fn takes_notice(&self, thread: &ThreadId, in_turn: bool) -> bool {
        self.state.takes_notice(thread.as_str(), in_turn)
    }

    fn before_turn_end(&self, thread: &ThreadId) -> BoxFuture<'static, ()> {
        let (state, thread) = (Arc::clone(&self.state), thread.clone());
        Box::pin(async move { state.before_turn_end(thread.as_str()).await })
    }

    fn before_interrupt(&self, thread: &ThreadId) -> BoxFuture<'static, ()> {
        let (state, thread) = (Arc::clone(&self.state), thread.clone());
        Box::pin(async move { state.before_interrupt(thread.as_str()).await })
    }

    fn before_call(&self, thread: &ThreadId, call: &str) -> BoxFuture<'static, ()> {
        let (state, thread, call) = (Arc::clone(&self.state), thread.clone(), call.to_owned());
        Box::pin(async move { state.before_call(thread.as_str(), &call).await })
    }

    fn has_hooks(&self, event: HookEventName) -> bool {
        self.state.has_hooks(event)
    }

    fn hooks(
        &self,
        thread: &ThreadId,
        event: HookEventName,
        call: Option<&str>,
    ) -> Vec<FinishedHook> {
        let occasion = (event, call.map(str::to_owned));
        self.state.hooks(thread.as_str(), &occasion)
    }

    fn user_shell(&self, thread: &ThreadId) -> BoxFuture<'static, ResponseItem> {
        let state = Arc::clone(&self.state);
        let recorded = state.shell_output(thread.as_str());
        Box::pin(async move {
            match recorded {
                Some((at, record)) => {
                    state.wait(at).await;
                    record
                }
                None => std::future::pending().await,
            }
        })
    }

    fn mcp_tools(&self, thread: &ThreadId) -> Option<Vec<ToolSpec>> {
        if !self.has_mcp_servers {
            return None;
        }
        let mut known = self.mcp.lock();
        if let Some(tools) = known.get(thread) {
            return Some(tools.clone());
        }
        let tools = mcp_tools_of(&self.next_request(thread));
        known.insert(thread.clone(), tools.clone());
        Some(tools)
    }

    fn skills(&self, thread: &ThreadId) -> Arc<SkillSet> {
        let mut known = self.skills.lock();
        let skills = known.entry(thread.clone());
        Arc::clone(skills.or_insert_with(|| Arc::new(skills_of(&self.next_request(thread)))))
    }

    fn skill_text(&self, thread: &ThreadId, path: &str) -> Option<String> {
        text_of_skill(&self.next_request(thread), path)
    }

    fn instructions(&self, thread: &ThreadId) -> Option<String> {
        instructions_of(&self.next_request(thread))
    }

    fn folder_instructions(&self, thread: &ThreadId) -> Vec<(String, String)> {
        folder_instructions_of(&self.next_request(thread))
    }
}

fn answer_of(result: &[u8]) -> serde_json::Result<RecordedAnswer> {
    let item = match serde_json::from_slice(result)? {
        RecordedResult::Error { error } => return Ok(Err(RecordedFailure(error))),
        RecordedResult::DirectResponse { response_item } => response_item,
    };
    // Text of a tool is kept as raw JSON, which needs a parser of its own.
    Ok(Ok(match serde_json::from_str(&item.to_string())? {
        ResponseItem::FunctionCallOutput { output, .. }
        | ResponseItem::CustomToolCallOutput { output, .. } => output,
        ResponseItem::ToolSearchOutput { tools, .. } => {
            FunctionCallOutputBody::Text(Value::from(tools).to_string().into())
        }
        _ => FunctionCallOutputBody::Text(String::new().into()),
    }))
}
