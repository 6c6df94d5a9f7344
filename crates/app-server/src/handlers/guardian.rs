//! Verdicts of the automatic reviewer: `thread/approveGuardianDeniedAction` overrules one, once.
//! Reviews on request are not supported.

use codex_app_server_protocol::v2::{
    ThreadApproveGuardianDeniedActionParams, ThreadApproveGuardianDeniedActionResponse,
    ThreadGuardianReviewParams,
};
use codex_core::AllowDenied;
use codex_protocol::{GuardianAssessmentEvent, GuardianAssessmentStatus};

use super::call::RequestContext;
use super::engine;
use crate::failure::Failure;

pub(super) async fn approve_denied(
    RequestContext { server, .. }: RequestContext,
    params: ThreadApproveGuardianDeniedActionParams,
) -> Result<ThreadApproveGuardianDeniedActionResponse, Failure> {
    let event: GuardianAssessmentEvent = serde_json::from_value(params.event)
        .map_err(|error| Failure::invalid(format!("invalid Guardian denial event: {error}")))?;
    let engine = engine(&server, &params.thread_id).await?;
    if event.status != GuardianAssessmentStatus::Denied {
        // There is nothing to allow.
        return Ok(ThreadApproveGuardianDeniedActionResponse {});
    }
    let claimed = engine.claim();
    claimed.map_err(|error| Failure::invalid(error.to_string()))?;
    engine.send(AllowDenied(event)).await?;
    Ok(ThreadApproveGuardianDeniedActionResponse {})
}

pub(super) async fn review(_: RequestContext, _: ThreadGuardianReviewParams) -> Failure {
    Failure::invalid("the automatic reviewer reviews only what would be asked of the user")
}
