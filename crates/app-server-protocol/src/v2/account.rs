//! Who the user is to the model service: logging in and out, the account in use, its rate limits,
//! and the renewal of tokens that the host application keeps. Credentials travel here only towards
//! the server, except in the two refresh answers and the older `getAuthStatus`.

use std::collections::BTreeMap;

use codex_app_server_protocol_macros::{Experimental, Tagged, sparse};
use codex_protocol::{AuthMode, PlanType, mark_members};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Asks the client for new tokens after a login with `chatgptAuthTokens`; first answer in 10 s
/// wins.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct ChatgptAuthTokensRefreshParams {
    /// Why the tokens in use no longer do.
    pub reason: ChatgptAuthTokensRefreshReason,
    /// Workspace account of the rejected tokens, for hosts with several; null when not known.
    pub previous_account_id: Option<String>,
}

/// What made the server ask for new tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ChatgptAuthTokensRefreshReason {
    /// A backend answered a request with HTTP status 401.
    Unauthorized,
}

/// New tokens from the host; they replace the ones in memory and are never written to disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatgptAuthTokensRefreshResponse {
    /// JWT sent as bearer token from now on; the email is read from its claims.
    pub access_token: String,
    /// Workspace account the token is for; must equal a forced workspace, if one is configured.
    pub chatgpt_account_id: String,
    /// Raw plan name; null takes the token's own claim, and without one the plan is `unknown`.
    pub chatgpt_plan_type: Option<String>,
}

/// How to log in; an earlier browser login that still waits is cancelled.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema, Experimental)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[schemars(transform = mark_members::<Self>)]
pub enum LoginAccountParams {
    /// Store an API key and use it from now on; refused when ChatGPT login is enforced.
    ApiKey {
        /// The key as it is; neither trimmed nor tried out against the service.
        api_key: String,
    },
    /// Browser login whose callback this server receives; it gives up after 10 minutes.
    Chatgpt,
    /// Login with a code that the user types in on a page, on any device.
    #[since("0.140")]
    ChatgptDeviceCode,
    /// Tokens that the host application obtained and renews itself; kept in memory only.
    ChatgptAuthTokens {
        /// JWT sent as bearer token; refused when it cannot be parsed.
        access_token: String,
        /// Workspace account the token is for; must equal a forced workspace, if one is configured.
        chatgpt_account_id: String,
        /// Raw plan name; null takes the token's own claim, and without one the plan is `unknown`.
        chatgpt_plan_type: Option<String>,
    },
}

/// Gives up a browser login that has not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct CancelLoginAccountParams {
    /// UUID from the reply that started the login.
    pub login_id: String,
}

/// Asks for the account in use, from the credential this process has cached.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct GetAccountParams {
    /// Renew managed ChatGPT tokens first, due or not; a failure is ignored. No effect for other
    /// logins.
    #[serde(default)]
    pub refresh_token: bool,
}

/// The login that was begun, or for all but `chatgpt` already done.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema, Experimental)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[schemars(transform = mark_members::<Self>)]
pub enum LoginAccountResponse {
    /// The key is stored; `account/login/completed` follows.
    ApiKey,
    /// A browser has to finish it; `account/login/completed` tells how it ended.
    Chatgpt {
        /// UUID for cancelling and for recognising the completion.
        login_id: String,
        /// Address the client has to open in a browser; the server opens none.
        auth_url: String,
    },
    /// The user has to type in a code; `account/login/completed` tells how it ended.
    #[since("0.140")]
    ChatgptDeviceCode {
        /// UUID for cancelling and for recognising the completion.
        login_id: String,
        /// The code.
        user_code: String,
        /// Address of the page for the code.
        verification_url: String,
    },
    /// The tokens are in use; `account/login/completed` follows.
    ChatgptAuthTokens,
}

/// What became of the wish to cancel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CancelLoginAccountStatus {
    /// The login was running and ends; its completion with `success: false` follows.
    Canceled,
    /// No running login has that id: it ended earlier or never was.
    NotFound,
}

/// Answer to a cancellation; an id that was not found is no error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelLoginAccountResponse {
    /// Whether there was something to cancel.
    pub status: CancelLoginAccountStatus,
}

/// The credential is gone from memory and store; the same when nobody was logged in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogoutAccountResponse {}

/// Prepaid credits that count once the plan's own limits are used up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreditsSnapshot {
    /// Whether any credits can be spent now.
    pub has_credits: bool,
    /// Whether spending is not metered at all.
    pub unlimited: bool,
    /// What is left, as text worded by the backend; null when it tells none.
    pub balance: Option<String>,
}

/// State of one family of limits; null members are simply not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitSnapshot {
    /// Key of the family, such as `codex`.
    pub limit_id: Option<String>,
    /// Name to show for the family; null for the main one.
    pub limit_name: Option<String>,
    /// The shorter of the two windows, usually hours.
    pub primary: Option<RateLimitWindow>,
    /// The longer of the two windows, usually a week.
    pub secondary: Option<RateLimitWindow>,
    /// Credits of the account; reported with the main family only.
    pub credits: Option<CreditsSnapshot>,
    /// Plan the limits belong to.
    pub plan_type: Option<PlanType>,
}

/// Usage within one stretch of time after which counting starts anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitWindow {
    /// Share of the quota used so far, 0 to 100.
    pub used_percent: i32,
    /// Length of the window in minutes, rounded up; null when not reported.
    pub window_duration_mins: Option<i64>,
    /// When counting starts anew, in Unix seconds; null when not reported.
    pub resets_at: Option<i64>,
}

/// Limits fetched from the backend just now; needs a ChatGPT login.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetAccountRateLimitsResponse {
    /// The `codex` family, or the first one when there is no such family.
    pub rate_limits: RateLimitSnapshot,
    /// Every family by its `limitId`; null when the backend tells only one.
    pub rate_limits_by_limit_id: Option<BTreeMap<String, RateLimitSnapshot>>,
}

/// The login in use.
#[derive(Clone, Debug, PartialEq, Serialize, Tagged, JsonSchema, Experimental)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[schemars(transform = mark_members::<Self>)]
pub enum Account {
    /// An API key; nothing about its owner is known.
    ApiKey,
    /// A ChatGPT account, whether its tokens are managed here or by the host.
    Chatgpt {
        /// Address claimed by the token.
        email: String,
        /// Plan claimed by the token, or given with it; `unknown` for names not in the list.
        plan_type: PlanType,
    },
    /// Amazon Bedrock, which takes credentials of its own.
    #[since("0.140")]
    AmazonBedrock {
        /// Whether they are stored beside the logins; otherwise they are those of the machine.
        #[since("0.169")]
        uses_codex_managed_credentials: bool,
    },
}

/// The account in use and whether one is needed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetAccountResponse {
    /// Null when nobody is logged in, or the provider in use takes no OpenAI login.
    pub account: Option<Account>,
    /// Whether the provider in use needs a login; with `false` the client need not offer one.
    pub requires_openai_auth: bool,
}

/// Sent to every connection after a successful login and after a logout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountUpdatedNotification {
    /// Kind of login now in use; null after a logout.
    pub auth_mode: Option<AuthMode>,
    /// Plan of a ChatGPT login; null for API keys and after a logout.
    pub plan_type: Option<PlanType>,
}

/// Sent when a model response told new limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountRateLimitsUpdatedNotification {
    /// That one family; others stay as last reported.
    pub rate_limits: RateLimitSnapshot,
}

/// A login ended, well or not; sent to every connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccountLoginCompletedNotification {
    /// The browser login that ended; null for logins that need no browser.
    pub login_id: Option<String>,
    /// Whether the new credential is in use.
    pub success: bool,
    /// Why it failed, as text for the user; null on success.
    pub error: Option<String>,
}

/// Asks how requests are authorised; an older method than `account/read`.
#[sparse]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "camelCase")]
pub struct GetAuthStatusParams {
    /// Whether to return the credential itself; null means false.
    pub include_token: Option<bool>,
    /// Renew managed ChatGPT tokens first, due or not; null means only when they have expired.
    pub refresh_token: Option<bool>,
}

/// How requests are authorised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetAuthStatusResponse {
    /// Kind of login in use; null when there is none or the provider needs none.
    pub auth_method: Option<AuthMode>,
    /// API key or access token; null unless asked for, and when renewing it failed for good.
    pub auth_token: Option<String>,
    /// Whether the provider in use needs a login.
    pub requires_openai_auth: Option<bool>,
}
