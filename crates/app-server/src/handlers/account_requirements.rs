//! Requirements of the account. No thread is opened before they are known.

use codex_login::AccountRequirementsError;
use serde_json::json;

use crate::failure::Failure;
use crate::server::AppServer;

/// Applies the requirements of the account to the configuration.
///
/// # Errors
/// The requirements could not be loaded.
pub(super) async fn load(server: &AppServer) -> Result<(), Failure> {
    let host = server.host();
    let text = host.accounts().requirements().await;
    let text = text.map_err(|error| failure(&error))?;
    host.configuration().set_account_requirements(text);
    Ok(())
}

fn failure(error: &AccountRequirementsError) -> Failure {
    let detail = error.to_string();
    let mut data = json!({ "reason": "cloudRequirements", "detail": detail });
    let (code, status) = match error {
        AccountRequirementsError::Auth { status, .. } => {
            data["action"] = "relogin".into();
            ("Auth", *status)
        }
        AccountRequirementsError::Timeout => ("Timeout", None),
        AccountRequirementsError::Parse => ("Parse", None),
        AccountRequirementsError::RequestFailed { status } => ("RequestFailed", *status),
    };
    data["errorCode"] = code.into();
    if let Some(status) = status {
        data["statusCode"] = status.into();
    }
    Failure::invalid(format!("failed to load configuration: {detail}")).with_data(data)
}
