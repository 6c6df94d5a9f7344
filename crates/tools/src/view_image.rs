//! `view_image`: the model looks at an image file.

use codex_gate::Confinement;
use codex_model_client::ToolSpec;
use codex_protocol::{
    EventMsg, FunctionCallOutputBody, FunctionCallOutputContentItem, ViewImageToolCallEvent,
};
use codex_session_base::context::{IMAGE_LIMIT, ImageProblem, data_url, data_url_of};
use codex_session_base::machines::RemotePlace;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::arguments::{arguments, function};
use super::offer::{ToolSetBuilder, ToolSituation};
use super::places::ToolEnvironments;
use super::remote_command::sandbox_there;
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult};

#[derive(Clone, Debug)]
pub(crate) struct ViewImageTool(pub ToolEnvironments);

#[derive(Deserialize)]
struct ViewImageArguments {
    path: String,
    #[serde(default)]
    environment_id: Option<String>,
    #[serde(default)]
    detail: Option<String>,
}

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    if situation.environments.has_any {
        builder.offer(ViewImageTool(situation.environments.clone()));
    }
}

impl Tool for ViewImageTool {
    fn spec(&self) -> ToolSpec {
        let path = json!({ "type": "string", "description": "The path of the file." });
        let mut properties = json!({ "path": path });
        self.0.add_property(&mut properties);
        function(
            "view_image",
            "Shows you an image file of this machine.",
            properties,
            &["path"],
        )
    }

    fn is_parallel(&self) -> bool {
        true
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { view(&context).await })
    }
}

async fn view(context: &ToolContext) -> ToolResult {
    let failed = |text: String| ToolFailure::Model(text);
    if !context.settings.model.takes_images() {
        let refusal = "view_image is not allowed because you do not support image inputs";
        return Err(failed(refusal.to_owned()));
    }
    let ViewImageArguments {
        path,
        environment_id,
        detail,
    } = arguments(context)?;
    if let Some(detail) = detail.filter(|detail| detail != "original") {
        return Err(failed(format!(
            "view_image.detail only supports `original`; omit `detail` for default resized \
             behavior, got `{detail}`"
        )));
    }
    let place = context.place(environment_id.as_deref())?;
    let (shown, image_url) = match place.elsewhere() {
        Some(place) => view_there(context, place, &path).await?,
        None => view_here(context, &path).await?,
    };
    let call_id = context.call.id.clone();
    context
        .emitter
        .emit(EventMsg::ViewImageToolCall(ViewImageToolCallEvent {
            call_id,
            path: shown,
        }));
    context.set_value(|| json!({ "image_url": image_url, "detail": null }));
    let image = FunctionCallOutputContentItem::InputImage {
        image_url,
        detail: None,
    };
    Ok(FunctionCallOutputBody::Content(vec![image]))
}

/// Reads an image of another machine, confined as a command of the turn. Returns its path and its URL.
async fn view_there(
    context: &ToolContext,
    place: &RemotePlace,
    path: &str,
) -> Result<(String, String), ToolFailure> {
    let path = place.cwd.join(path);
    let failed = |step: &str, problem: &dyn std::fmt::Display| {
        ToolFailure::Model(format!("unable to {step} image at `{path}`: {problem}"))
    };
    let policy = Confinement::Policy(codex_sandbox::Grants::default());
    let sandbox = sandbox_there(context, place, &policy, &[]);
    let sandbox = sandbox.map_err(|problem| failed("read", &problem))?;
    let found = place.machine.metadata(&path).await;
    let facts = found
        .map_err(|error| failed("locate", &error))?
        .ok_or_else(|| failed("locate", &"there is no such file"))?;
    if !facts.is_file {
        return Err(ToolFailure::Model(format!(
            "image path `{path}` is not a file"
        )));
    }
    let read = (place.machine).read_file(&path, facts.size, IMAGE_LIMIT, sandbox.as_ref());
    let bytes = read.await.map_err(|error| failed("read", &error))?;
    let url = data_url_of(bytes, path.as_str()).await;
    let url = url.map_err(|problem| failed("process", &problem))?;
    Ok((path.to_string(), url))
}

/// Reads an image of this machine. Returns its path and its URL.
async fn view_here(context: &ToolContext, path: &str) -> Result<(String, String), ToolFailure> {
    let failed = |text: String| ToolFailure::Model(text);
    let path = context.settings.resolve(path);
    let shown = path.display().to_string();
    let answers = codex_mounts::check_async(&path).await;
    answers.map_err(|error| failed(format!("unable to locate image: {error}")))?;
    let real = tokio::fs::canonicalize(&path)
        .await
        .map(|real| dunce::simplified(&real).to_owned())
        .map_err(|error| failed(format!("unable to locate image at `{shown}`: {error}")))?;
    if !codex_mounts::is_file(&real) {
        return Err(failed(format!("image path `{shown}` is not a file")));
    }
    let turn_policy = context.settings.turn_policy(&context.session.config);
    let hidden = (turn_policy.hidden_problem(&path)).or_else(|| turn_policy.hidden_problem(&real));
    if let Some(problem) = hidden {
        return Err(failed(format!("unable to read image: {problem}")));
    }
    if !turn_policy.may_read(&real, codex_sandbox::Grants::default()) {
        return Err(failed(format!(
            "unable to read image at `{shown}`: not readable in the sandbox"
        )));
    }
    let image_url = data_url(&real).await.map_err(|problem| {
        let step = match problem {
            ImageProblem::Unreadable(_) => "read",
            _ => "process",
        };
        failed(format!("unable to {step} image at `{shown}`: {problem}"))
    })?;
    Ok((shown, image_url))
}
