//! `thread/sample` asks the model besides the turns of a thread; `thread/prepareApprovedPlan` adds to what
//! the model sees.

use std::path::PathBuf;
use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::{
    ThreadPrepareApprovedPlanParams, ThreadPrepareApprovedPlanResponse, ThreadSampleCancelParams,
    ThreadSampleCancelResponse, ThreadSampleParams, ThreadSampleResponse,
};
use codex_core::{InjectItems, Sample, SampleRequest};
use codex_protocol::{ContentItem, ResponseItem};

use super::call::{EarlyReply, RequestContext};
use super::{blocking, engine, flush, loaded_thread};
use crate::failure::Failure;
use crate::server::AppServer;

/// Limit on the prompt of a sample, in bytes.
const PROMPT_LIMIT: usize = 4000;

pub(super) async fn sample(
    RequestContext { server, connection }: RequestContext,
    params: ThreadSampleParams,
) -> Result<EarlyReply<method::ThreadSample>, Failure> {
    let is_empty = params.prompt.trim().is_empty() || params.expected_turn_id.is_empty();
    if is_empty || params.prompt.len() > PROMPT_LIMIT {
        let message = format!(
            "thread/sample requires expectedTurnId and a prompt of at most {PROMPT_LIMIT} bytes"
        );
        return Err(Failure::invalid(message));
    }
    let missing = || Failure::invalid("thread/sample requires a loaded source");
    let thread = loaded_thread(&server, &params.thread_id).map_err(|_| missing())?;
    let snapshot = thread.describe().await.ok_or_else(missing)?;
    let newest = match snapshot.running {
        Some(_) if !params.allow_in_progress_turn => {
            return Err(Failure::invalid("sample source must be idle"));
        }
        Some(running) => Some(running.turn.id),
        None => newest_turn(&server, snapshot.thread.path).await?,
    };
    if newest.is_none_or(|newest| newest != params.expected_turn_id) {
        let message = "sample source turn must be the latest finished turn";
        return Err(Failure::invalid(message));
    }
    let engine = thread.engine().await.map_err(|_| missing())?;
    Ok(EarlyReply::sent_by(move |reply| async move {
        let cancel = reply.id().map(|id| connection.samples().register(id));
        let asked = engine.ask(|reply| SampleRequest {
            prompt: params.prompt,
            effort: params.effort,
            reply,
        });
        let answer = match &cancel {
            Some(cancel) => cancel.token().run_until_cancelled(asked).await,
            None => Some(asked.await),
        };
        reply.reply(match answer {
            Some(Ok(answer)) => Ok(response(answer, params.expected_turn_id)),
            Some(Err(error)) => Err(Failure::internal(error.to_string())),
            None => Err(Failure::internal("sample canceled")),
        });
    }))
}

/// The id of the newest turn that is stored.
pub(super) async fn newest_turn(
    server: &Arc<AppServer>,
    path: Option<String>,
) -> Result<Option<String>, Failure> {
    let Some(path) = path
        .map(PathBuf::from)
        .filter(|path| codex_mounts::exists(path))
    else {
        return Ok(None);
    };
    let server = Arc::clone(server);
    blocking(move || {
        let outline = server.outlines().get(&path);
        let outline = outline.map_err(|error| Failure::internal(error.to_string()))?;
        Ok(outline.ids().last().map(str::to_owned))
    })
    .await
}

fn response(answer: Sample, source_turn_id: String) -> ThreadSampleResponse {
    let usage = answer.usage.as_ref();
    ThreadSampleResponse {
        cached_input_tokens: usage.map(|usage| usage.cached_input_tokens),
        input_tokens: usage.map(|usage| usage.input_tokens),
        output_tokens: usage.map(|usage| usage.output_tokens),
        response_id: answer.response_id,
        source_turn_id,
        text: answer.text,
    }
}

pub(super) async fn cancel(
    RequestContext { connection, .. }: RequestContext,
    params: ThreadSampleCancelParams,
) -> Result<ThreadSampleCancelResponse, Failure> {
    connection.samples().cancel(&params.request_id);
    Ok(ThreadSampleCancelResponse {})
}

pub(super) async fn prepare_plan(
    RequestContext { server, .. }: RequestContext,
    params: ThreadPrepareApprovedPlanParams,
) -> Result<ThreadPrepareApprovedPlanResponse, Failure> {
    let engine = engine(&server, &params.thread_id).await?;
    let plan = params.markdown.trim();
    if plan.is_empty() {
        return Err(Failure::invalid("The approved plan is empty."));
    }
    let file = params.attachment_path.map_or_else(String::new, |path| {
        format!("The plan is also stored in the file {path}.\n")
    });
    let text = format!(
        "The user has approved this plan.\n{file}<approved_plan>\n{plan}\n</approved_plan>"
    );
    let item = ResponseItem::Message {
        id: None,
        role: "developer".to_owned(),
        content: vec![ContentItem::InputText { text }],
        end_turn: None,
        phase: None,
    };
    let claimed = engine.claim();
    claimed.map_err(|error| Failure::invalid(error.to_string()))?;
    engine.call(InjectItems(vec![item])).await?;
    flush(&engine).await;
    Ok(ThreadPrepareApprovedPlanResponse {
        prompt: "Implement the plan.".to_owned(),
    })
}
