//! `feedback/upload`: stores a report on this machine, and sends it only if a URL is configured.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use codex_app_server_protocol::v2::{FeedbackUploadParams, FeedbackUploadResponse};
use codex_feedback::{Report, ReportAttachment, store};
use codex_trace_view::TextCleaner;
use uuid::Uuid;

use super::call::RequestContext;
use super::{blocking, thread_id};
use crate::failure::Failure;
use crate::server::AppServer;

/// The time limit for sending. The stored report is kept in any case.
const DELIVERY: Duration = Duration::from_secs(10);

pub(super) async fn upload(
    RequestContext { server, .. }: RequestContext,
    params: FeedbackUploadParams,
) -> Result<FeedbackUploadResponse, Failure> {
    let settings = server.host().feedback();
    if !settings.enabled {
        let message = "sending feedback is disabled by configuration";
        return Err(Failure::invalid(message));
    }
    let id = match &params.thread_id {
        Some(id) => thread_id(id)?.0,
        None => format!("no-active-thread-{}", Uuid::new_v4()),
    };
    let attachments = attachments(&server, &params).await;
    let report = Report {
        tags: params.tags.unwrap_or_default(),
        ..Report::new(&params.classification, &id, params.reason)
    };
    let endpoint = settings.endpoint;
    let is_sent = endpoint.is_some();
    let kept = blocking(move || {
        let mut cleaner = TextCleaner::new(variables());
        let mut clean = |text: &str| cleaner.clean(text);
        let stored = store(&settings.folder, &report, &attachments, &mut clean).map_err(failed)?;
        is_sent.then(|| stored.body()).transpose().map_err(failed)
    });
    if let (Some(body), Some(endpoint)) = (kept.await?, endpoint) {
        let sending = server.host().send_feedback(endpoint, body);
        if let Ok(Err(why)) = tokio::time::timeout(DELIVERY, sending).await {
            return Err(failed(why));
        }
    }
    Ok(FeedbackUploadResponse { thread_id: id })
}

async fn attachments(server: &AppServer, params: &FeedbackUploadParams) -> Vec<ReportAttachment> {
    let mut attachments = Vec::new();
    if params.include_logs {
        let log = server.host().log_tail();
        attachments.push(ReportAttachment::Text("codex-logs.log", log));
        attachments.extend(codex_feedback::connectivity(|name| {
            std::env::var(name).ok()
        }));
        let thread = params.thread_id.as_ref();
        if let Some(thread) = thread.and_then(|id| server.thread(id))
            && let Some(snapshot) = thread.describe().await
        {
            let path = snapshot.thread.path.map(PathBuf::from);
            attachments.extend(path.map(ReportAttachment::File));
        }
    }
    let more = params.extra_log_files.iter().flatten();
    attachments.extend(more.map(|path| ReportAttachment::File(path.into())));
    attachments
}

/// The environment variables that are valid text.
fn variables() -> impl Iterator<Item = (String, String)> {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text)
}

fn failed(why: impl std::fmt::Display) -> Failure {
    Failure::internal(format!("failed to upload feedback: {why}"))
}
