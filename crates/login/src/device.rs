//! Login with a code that the user types in on another device.

use std::sync::Arc;
use std::time::Duration;

use codex_protocol::ForcedLoginMethod;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::account_state::PendingLogin;
use crate::accounts::{Accounts, LoginError};
use crate::browser::exchange;

/// The minimum interval between two polls.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// The default interval between two polls.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(5);

/// A code for the user, and the page for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceCode {
    pub verification_url: String,
    pub user_code: String,
    device_id: String,
    pause: Duration,
}

/// A login that waits until the user has typed in the code.
#[derive(Debug)]
pub struct DeviceLogin {
    pub id: String,
    pub code: DeviceCode,
    /// Receives the result of the login. It is closed if the login was cancelled.
    pub outcome: oneshot::Receiver<Result<(), LoginError>>,
}

impl Accounts {
    /// Starts a login. A pending login is cancelled.
    ///
    /// # Errors
    /// As for [`device_code`](Self::device_code).
    pub async fn start_device_login(self: &Arc<Self>) -> Result<DeviceLogin, LoginError> {
        let code = self.device_code().await?;
        if let Some(released) = self.cancel_pending() {
            let _ = released.await;
        }
        let (cancel, cancelled) = oneshot::channel();
        let (tell, outcome) = oneshot::channel();
        let (release, released) = oneshot::channel();
        let id = Uuid::new_v4().to_string();
        self.set_pending(Some(PendingLogin {
            id: id.clone(),
            cancel: Some(cancel),
            released,
        }));
        let (accounts, polled) = (Arc::clone(self), code.clone());
        tokio::spawn(async move {
            tokio::select! {
                ended = accounts.log_in_with_device(&polled) => drop(tell.send(ended)),
                _ = cancelled => {}
            }
            drop(release);
        });
        Ok(DeviceLogin { id, code, outcome })
    }

    /// Requests a code.
    ///
    /// # Errors
    /// The login is not allowed, or the server issues no code.
    pub async fn device_code(&self) -> Result<DeviceCode, LoginError> {
        self.refuse_without_restrictions()?;
        self.refuse_beside_external()?;
        if self.settings.forced_method == Some(ForcedLoginMethod::Api) {
            let text = "ChatGPT login is disabled. Use API key login instead.";
            return Err(LoginError::Refused(text.to_owned()));
        }
        self.request_device_code().await.map_err(LoginError::Failed)
    }

    async fn request_device_code(&self) -> Result<DeviceCode, String> {
        let issuer = &self.settings.issuer;
        let url = format!("{issuer}/api/accounts/deviceauth/usercode");
        let body = json!({ "client_id": self.settings.client_id });
        let answer = self.http.post_json(&url, &body).await?;
        match answer.status {
            200..300 => {}
            404 => {
                let text = "device code login is not enabled for this Codex server. Use the browser login \
                            or verify the server URL.";
                return Err(text.to_owned());
            }
            status => return Err(format!("device code request failed with status {status}")),
        }
        let reply = answer.json();
        let text = |name: &str| reply[name].as_str().map(str::to_owned);
        let user_code = text("user_code").or_else(|| text("usercode"));
        let missing = || "the reply to the device code request has no code".to_owned();
        Ok(DeviceCode {
            verification_url: format!("{issuer}/codex/device"),
            user_code: user_code.ok_or_else(missing)?,
            device_id: text("device_auth_id").ok_or_else(missing)?,
            pause: pause(&reply["interval"]),
        })
    }

    /// Polls until the user has typed in the code, then logs in.
    ///
    /// # Errors
    /// The user did not type in the code in time, or the login was refused.
    pub async fn log_in_with_device(&self, code: &DeviceCode) -> Result<(), LoginError> {
        let time = self.settings.device_time;
        let waiting = tokio::time::timeout(time, self.wait_for_device(code)).await;
        let minutes = time.as_secs() / 60;
        let timed_out = || Err(format!("device auth timed out after {minutes} minutes"));
        waiting
            .unwrap_or_else(|_| timed_out())
            .map_err(LoginError::Failed)
    }

    async fn wait_for_device(&self, code: &DeviceCode) -> Result<(), String> {
        let issuer = &self.settings.issuer;
        let url = format!("{issuer}/api/accounts/deviceauth/token");
        let body = json!({ "device_auth_id": code.device_id, "user_code": code.user_code });
        let reply = loop {
            let answer = self.http.post_json(&url, &body).await?;
            match answer.status {
                200..300 => break answer.json(),
                403 | 404 => self.clock.sleep(code.pause).await,
                status => return Err(format!("device auth failed with status {status}")),
            }
        };
        let text = |name: &str| {
            let text = reply[name].as_str();
            text.ok_or_else(|| format!("the reply of the device login has no `{name}`"))
        };
        let redirect_uri = format!("{issuer}/deviceauth/callback");
        let (code, verifier) = (text("authorization_code")?, text("code_verifier")?);
        let exchanged = exchange(self, code, &redirect_uri, verifier).await;
        exchanged.map_err(|error| error.message)
    }
}

/// Reads an interval in seconds, which servers send as text or as a number.
fn pause(interval: &Value) -> Duration {
    let seconds = interval
        .as_u64()
        .or_else(|| interval.as_str()?.trim().parse().ok());
    seconds.map_or(DEFAULT_INTERVAL, |seconds| {
        Duration::from_secs(seconds).max(MIN_INTERVAL)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_texts_or_numbers_and_never_none() {
        let check = |interval, seconds| assert_eq!(pause(&interval), Duration::from_secs(seconds));
        check(json!("3"), 3);
        check(json!(4), 4);
        check(json!("0"), 1);
        check(json!(null), 5);
    }
}
