//! `report_agent_job_result`: takes what the agent of an item has found.

use std::sync::Arc;

use codex_model_client::ToolSpec;
use codex_thread_state::AgentJobReport;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::run::blocking;
use crate::arguments::{arguments, function};
use crate::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

/// The longest result as JSON, in bytes.
const MAX_BYTES: usize = 1 << 20;
const STOPPED_REASON: &str = "cancelled by worker request";

#[derive(Clone, Copy, Debug)]
pub(crate) struct ReportAgentJobResultTool;

#[derive(Deserialize)]
struct ReportArguments {
    job_id: String,
    item_id: String,
    result: Value,
    #[serde(default)]
    stop: Option<bool>,
}

impl Tool for ReportAgentJobResultTool {
    fn spec(&self) -> ToolSpec {
        function(
            "report_agent_job_result",
            "Reports what you found about the item of a job that you were given. Call it once, when you are done.",
            json!({
                "job_id": { "type": "string", "description": "The ID of the job." },
                "item_id": { "type": "string", "description": "The ID of your item." },
                "result": { "type": "object", "properties": {} },
                "stop": {
                    "type": "boolean",
                    "description": "Whether the job ends without the items that nobody works on yet.",
                },
            }),
            &["job_id", "item_id", "result"],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { report(&context).await })
    }
}

async fn report(context: &ToolContext) -> ToolResult {
    let refuse = |text: &str| Err(ToolFailure::Model(text.to_owned()));
    let ReportArguments {
        job_id,
        item_id,
        result,
        stop,
    } = arguments(context)?;
    let session = &context.session;
    let Some(state) = &session.config.services.thread_state else {
        return refuse("jobs are not available");
    };
    if !result.is_object() {
        return refuse("result must be a JSON object");
    }
    let result = result.to_string();
    if result.len() > MAX_BYTES {
        return refuse("result is longer than 1 MiB: write it to a file and report the path");
    }
    let (state, worker) = (Arc::clone(state), session.emitter.thread().to_string());
    let accepted = blocking(move || {
        let report = AgentJobReport {
            job: &job_id,
            item: &item_id,
            worker: &worker,
            result: &result,
            stop: stop.unwrap_or_default().then_some(STOPPED_REASON),
        };
        let accepted = state.report_agent_job_item(&report);
        accepted.map_err(|error| error.to_string())
    });
    text(json!({ "accepted": accepted.await? }).to_string())
}
