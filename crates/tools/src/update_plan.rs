//! `update_plan`: the model keeps a checklist that clients see.

use codex_model_client::ToolSpec;
use codex_protocol::{EventMsg, ModeKind, PlanStep, StepStatus, UpdatePlan};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::arguments::{arguments, function};
use super::offer::{ToolSetBuilder, ToolSituation};
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

#[derive(Debug)]
pub(crate) struct UpdatePlanTool;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UpdatePlanArguments {
    #[serde(default)]
    explanation: Option<String>,
    plan: Vec<PlanEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanEntry {
    step: String,
    status: StepStatus,
}

pub(super) fn offer(_situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    builder.offer(UpdatePlanTool);
}

impl Tool for UpdatePlanTool {
    fn spec(&self) -> ToolSpec {
        let step = json!({
            "type": "object",
            "properties": {
                "step": { "type": "string" },
                "status": { "type": "string", "description": "pending, in_progress or completed" },
            },
            "required": ["step", "status"],
            "additionalProperties": false,
        });
        function(
            "update_plan",
            "Shows the user the plan for a task of several steps and how far you are: the whole plan each \
             time, at most one step in progress.",
            json!({
                "explanation": { "type": "string", "description": "Why it changed." },
                "plan": { "type": "array", "items": step },
            }),
            &["plan"],
        )
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move { update(&context) })
    }
}

fn update(context: &ToolContext) -> ToolResult {
    if context.settings.mode.mode == ModeKind::Plan {
        let refusal = "update_plan is a TODO/checklist tool and is not allowed in Plan mode";
        return Err(ToolFailure::Model(refusal.to_owned()));
    }
    let UpdatePlanArguments { explanation, plan } = arguments(context)?;
    let plan = plan
        .into_iter()
        .map(|PlanEntry { step, status }| PlanStep { step, status })
        .collect();
    context
        .emitter
        .emit(EventMsg::PlanUpdate(UpdatePlan { explanation, plan }));
    context.set_value(|| json!({}));
    text("Plan updated")
}
