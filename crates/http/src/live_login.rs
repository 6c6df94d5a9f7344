//! Logins whose tokens are renewed while they are in use, and requests that are sent with them.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use hyper::StatusCode;
use reqwest::RequestBuilder;

use crate::fetch::{BoundedReply, FetchError, fetch};

/// How often a login is renewed for one request.
const MAX_RENEWALS: u32 = 3;

/// A login whose token is renewed while it is in use.
pub trait LiveLogin: Debug + Send + Sync {
    /// The headers that authorise a request.
    fn headers(&self) -> BoxFuture<'_, BTreeMap<String, String>>;

    /// Renews the token after `refused` was refused, a header `Authorization`. If it was renewed meanwhile, nothing is left to
    /// do. `step` counts the attempts for one request. False if there is nothing left to try.
    fn renew<'a>(&'a self, refused: &'a str, step: u32) -> BoxFuture<'a, bool>;
}

/// A login that several parts of the program use. Equal only to itself.
#[derive(Clone, Debug)]
pub struct SharedLogin(pub Arc<dyn LiveLogin>);

impl PartialEq for SharedLogin {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedLogin {}

impl SharedLogin {
    /// Sends a request with this login and reads its reply. If the token is refused, it is renewed and the request repeated.
    ///
    /// # Errors
    /// A request failed or took too long.
    pub async fn fetch(
        &self,
        request: impl Fn() -> RequestBuilder,
        time: Duration,
    ) -> Result<BoundedReply, FetchError> {
        let mut step = 0;
        loop {
            let headers = self.0.headers().await;
            let request = headers.iter().fold(request(), |request, (name, value)| {
                request.header(name, value)
            });
            let reply = fetch(request, time).await?;
            let is_refused = reply.status == StatusCode::UNAUTHORIZED.as_u16();
            let sent = headers.get("Authorization").map_or("", String::as_str);
            if !is_refused || step == MAX_RENEWALS || !self.0.renew(sent, step).await {
                return Ok(reply);
            }
            step += 1;
        }
    }
}
