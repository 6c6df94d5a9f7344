//! Requests about vendor accounts and cloud logins beyond the login itself. None of this is supported: requests that
//! have a truthful reply are answered, the others are refused with what is missing.

use codex_app_server_protocol::{NoParams, v2};
use serde_json::json;

use super::blocking;
use super::call::RequestContext;
use crate::failure::Failure;

const USER_VERIFICATION: &str = "this server has no means to verify the presence of a user";

/// The request needs a vendor account, which this version cannot query.
fn needs_account(purpose: &str) -> Failure {
    Failure::invalid(format!("codex account authentication required {purpose}"))
}

pub(super) async fn usage(_: RequestContext, _: v2::GetAccountTokenUsageParams) -> Failure {
    needs_account("to read token usage")
}

pub(super) async fn workspace_messages(_: RequestContext, _: NoParams) -> Failure {
    needs_account("to read workspace messages")
}

pub(super) async fn consume_reset_credit(
    _: RequestContext,
    _: v2::ConsumeAccountRateLimitResetCreditParams,
) -> Failure {
    needs_account("for rate limit reset credits")
}

pub(super) async fn ask_for_credits(
    _: RequestContext,
    _: v2::SendAddCreditsNudgeEmailParams,
) -> Failure {
    needs_account("to notify workspace owner")
}

pub(super) async fn security_setup(
    _: RequestContext,
    _: NoParams,
) -> Result<v2::GetAccountSecuritySetupResponse, Failure> {
    Ok(v2::GetAccountSecuritySetupResponse { notice: None })
}

pub(super) async fn sessions(
    _: RequestContext,
    _: v2::AccountSessionsListParams,
) -> Result<v2::AccountSessionsListResponse, Failure> {
    Ok(v2::AccountSessionsListResponse {
        active_session_id: None,
        sessions: Vec::new(),
    })
}

pub(super) async fn switch_session(
    _: RequestContext,
    params: v2::AccountSessionsSwitchParams,
) -> Failure {
    let id = params.session_id;
    Failure::invalid(format!("account session not found: {id}"))
}

/// Refused: no provider is reached through a gateway login.
pub(super) async fn gateway(
    RequestContext { server, .. }: RequestContext,
    params: v2::GatewayOAuthReadParams,
) -> Result<v2::GatewayOAuthReadResponse, Failure> {
    blocking(move || {
        let config = server.host().configuration().without_projects();
        let config = config.map_err(|error| Failure::internal(error.to_string()))?;
        let selected = config.model.provider_id.clone();
        let provider_id = params.model_provider.unwrap_or(selected);
        let provider_name = if provider_id == config.model.provider_id {
            config.model.provider.name.clone()
        } else {
            provider_id.clone()
        };
        Ok(v2::GatewayOAuthReadResponse {
            provider_id,
            provider_name,
            required: false,
            supports_device_auth: false,
            status: None,
            error: None,
        })
    })
    .await
}

pub(super) async fn gateway_login(_: RequestContext, _: v2::GatewayOAuthLoginParams) -> Failure {
    Failure::invalid("The selected provider does not use gateway OAuth")
}

pub(super) async fn gateway_cancel(
    _: RequestContext,
    _: NoParams,
) -> Result<v2::GatewayOAuthCancelResponse, Failure> {
    Ok(v2::GatewayOAuthCancelResponse {})
}

pub(super) async fn bedrock_check(
    _: RequestContext,
    _: v2::BedrockCheckGovCloudRequirementsParams,
) -> Result<v2::BedrockCheckGovCloudRequirementsResponse, Failure> {
    Ok(v2::BedrockCheckGovCloudRequirementsResponse {
        is_gov_cloud: false,
        should_warn: false,
    })
}

pub(super) async fn bedrock_discover(
    _: RequestContext,
    _: v2::BedrockDiscoverParams,
) -> Result<v2::BedrockDiscoverResponse, Failure> {
    Ok(v2::BedrockDiscoverResponse {
        profiles: Vec::new(),
        environment_credentials: Vec::new(),
    })
}

pub(super) async fn bedrock_setup(_: RequestContext, _: v2::BedrockSetupParams) -> Failure {
    Failure::invalid("Amazon Bedrock is not a model provider of this version")
}

pub(super) async fn gcp_setup(_: RequestContext, _: v2::GcpSetupParams) -> Failure {
    Failure::invalid("Google Cloud is not a model provider of this version")
}

pub(super) async fn verification_status(
    _: RequestContext,
    _: v2::UserVerificationStatusParams,
) -> Result<v2::UserVerificationStatusResponse, Failure> {
    Ok(v2::UserVerificationStatusResponse {
        credential_id: None,
        unavailable_reason: Some(v2::UserVerificationUnavailableReason::ProviderUnavailable),
        unavailable_message: Some(USER_VERIFICATION.to_owned()),
    })
}

pub(super) async fn enroll_verification(
    _: RequestContext,
    _: v2::UserVerificationEnrollParams,
) -> Failure {
    no_verification()
}

pub(super) async fn verify(_: RequestContext, _: v2::UserVerificationVerifyParams) -> Failure {
    no_verification()
}

fn no_verification() -> Failure {
    let data = json!({ "type": "unavailable", "reason": "providerUnavailable" });
    Failure::internal(USER_VERIFICATION).with_data(data)
}

pub(super) async fn delete_verification(
    _: RequestContext,
    _: v2::UserVerificationDeleteParams,
) -> Failure {
    no_verification()
}

pub(super) async fn cancel_verification(
    _: RequestContext,
    _: v2::UserVerificationCancelParams,
) -> Result<v2::UserVerificationCancelResponse, Failure> {
    Ok(v2::UserVerificationCancelResponse {})
}
