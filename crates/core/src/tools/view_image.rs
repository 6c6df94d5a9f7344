//! `view_image`: the model looks at an image file.

use codex_model_client::ToolSpec;
use codex_protocol::{
    EventMsg, FunctionCallOutputBody, FunctionCallOutputContentItem, ViewImageToolCallEvent,
};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::arguments::{arguments, function};
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult};
use crate::context::{ImageProblem, data_url};
use crate::gate::TurnPolicy;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ViewImageTool;

#[derive(Deserialize)]
struct ViewImageArguments {
    path: String,
    #[serde(default)]
    detail: Option<String>,
}

impl Tool for ViewImageTool {
    fn spec(&self) -> ToolSpec {
        function(
            "view_image",
            "Shows you an image file of this machine.",
            json!({ "path": { "type": "string", "description": "The path of the file." } }),
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
    let ViewImageArguments { path, detail } = arguments(context)?;
    if let Some(detail) = detail.filter(|detail| detail != "original") {
        return Err(failed(format!(
            "view_image.detail only supports `original`; omit `detail` for default resized \
             behavior, got `{detail}`"
        )));
    }
    let path = context.settings.resolve(&path);
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
    let turn_policy = TurnPolicy::of(&context.settings, &context.session.config);
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
