//! `feedback/upload` stores a report on this machine, and sends it only if a URL is configured. `feedback/save` stores
//! it too, and writes it as an archive to a path of the client.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_app_server_protocol::v2::{
    FeedbackSaveParams, FeedbackSaveResponse, FeedbackUploadParams, FeedbackUploadResponse,
};
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
    let id = id_of_report(params.thread_id.as_deref())?;
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

pub(super) async fn save(
    RequestContext { server, .. }: RequestContext,
    params: FeedbackSaveParams,
) -> Result<FeedbackSaveResponse, Failure> {
    let id = id_of_report(params.thread_id.as_deref())?;
    let path = params.save_path;
    if !Path::new(&path).is_absolute() {
        return Err(Failure::invalid("savePath must be an absolute path"));
    }
    let contents = FeedbackUploadParams {
        classification: params.classification,
        reason: params.reason,
        thread_id: params.thread_id,
        include_logs: params.include_logs,
        extra_log_files: params.extra_log_files,
        tags: params.tags,
    };
    let attachments = attachments(&server, &contents).await;
    let report = Report {
        tags: contents.tags.unwrap_or_default(),
        ..Report::new(&contents.classification, &id, contents.reason)
    };
    let folder = server.host().feedback().folder;
    let saved_path = blocking(move || {
        let mut cleaner = TextCleaner::new(variables());
        let mut clean = |text: &str| cleaner.clean(text);
        let stored = store(&folder, &report, &attachments, &mut clean);
        let saved = stored.and_then(|stored| stored.archive(Path::new(&path)));
        saved.map_err(|why| Failure::internal(format!("failed to save feedback: {why}")))?;
        Ok(path)
    });
    Ok(FeedbackSaveResponse {
        saved_path: saved_path.await?,
        thread_id: id,
        prompt_hash: None,
    })
}

/// The id of the thread that a report is about, or a new one.
fn id_of_report(thread: Option<&str>) -> Result<String, Failure> {
    match thread {
        Some(id) => Ok(thread_id(id)?.0),
        None => Ok(format!("no-active-thread-{}", Uuid::new_v4())),
    }
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
