//! Verdicts of the automatic reviewer: `thread/approveGuardianDeniedAction` overrules one, for the agent and for later
//! reviews. Reviews on request are not supported.

use codex_app_server_protocol::v2::{
    ThreadApproveGuardianDeniedActionParams, ThreadApproveGuardianDeniedActionResponse,
    ThreadGuardianReviewParams,
};
use codex_protocol::{
    ContentItem, GuardianAssessmentEvent, GuardianAssessmentStatus, ResponseItem,
};

use super::call::RequestContext;
use super::engine;
use crate::failure::Failure;

pub(super) async fn approve_denied(
    RequestContext { server, .. }: RequestContext,
    params: ThreadApproveGuardianDeniedActionParams,
) -> Result<ThreadApproveGuardianDeniedActionResponse, Failure> {
    let event: GuardianAssessmentEvent = serde_json::from_value(params.event)
        .map_err(|error| Failure::invalid(format!("invalid Guardian denial event: {error}")))?;
    if event.status != GuardianAssessmentStatus::Denied {
        return Err(Failure::invalid("the event is not a denial"));
    }
    let engine = engine(&server, &params.thread_id).await?;
    let action = event.action.unwrap_or_default();
    // The reviewer reads messages of the user, so the next review sees this too.
    let text = format!(
        "I approve this action, which the automatic review has denied. If it is still needed, do it exactly like this, \
         and nothing beyond it:\n{action:#}"
    );
    let item = ResponseItem::Message {
        id: None,
        role: "user".to_owned(),
        content: vec![ContentItem::InputText { text }],
        end_turn: None,
        phase: None,
    };
    let claimed = engine.claim();
    claimed.map_err(|error| Failure::invalid(error.to_string()))?;
    let added = engine.inject(vec![item]).await;
    added.map_err(|error| Failure::internal(error.to_string()))?;
    Ok(ThreadApproveGuardianDeniedActionResponse {})
}

pub(super) async fn review(_: RequestContext, _: ThreadGuardianReviewParams) -> Failure {
    Failure::invalid("the automatic reviewer reviews only what would be asked of the user")
}
