//! The limits that come with the account: no thread opens before they are known.

use codex_login::AccountRequirementsError;
use serde_json::json;

use crate::failure::Failure;
use crate::server::Server;

/// Has the configuration hold the limits of the account.
///
/// # Errors
/// The account has some, and they are not known.
pub(super) async fn load(server: &Server) -> Result<(), Failure> {
    let host = server.host();
    let text = host.accounts().requirements().await;
    let text = text.map_err(|error| failure(&error))?;
    host.configuration().set_account_requirements(text);
    Ok(())
}

fn failure(error: &AccountRequirementsError) -> Failure {
    let detail = error.to_string();
    let mut data = json!({ "reason": "cloudRequirements", "detail": detail });
    data["errorCode"] = match error {
        AccountRequirementsError::Auth(_) => {
            data["action"] = "relogin".into();
            "Auth"
        }
        AccountRequirementsError::Timeout => "Timeout",
        AccountRequirementsError::Parse => "Parse",
        AccountRequirementsError::RequestFailed { status } => {
            if let Some(status) = status {
                data["statusCode"] = (*status).into();
            }
            "RequestFailed"
        }
    }
    .into();
    Failure::invalid(format!("failed to load configuration: {detail}")).with_data(data)
}
