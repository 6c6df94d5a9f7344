//! Sends requests to the identity server and to the backend.

use std::sync::Arc;
use std::time::Duration;

use codex_http::HttpPool;
use codex_http::{BoundedReply, fetch, form};
use codex_model_client::ClientIdentity;
use reqwest::RequestBuilder;
use serde_json::Value;

/// The time limit of a request.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Sends requests to the service.
#[derive(Clone, Debug)]
pub(crate) struct ServiceClient {
    pub(crate) http: Arc<HttpPool>,
    pub(crate) identity: ClientIdentity,
}

impl ServiceClient {
    pub(crate) async fn post_form(
        &self,
        url: &str,
        fields: &[(&str, &str)],
    ) -> Result<BoundedReply, String> {
        let client = self.client(url)?;
        let request = client
            .post(url)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form(fields));
        self.send(request).await
    }

    pub(crate) async fn post_json(&self, url: &str, body: &Value) -> Result<BoundedReply, String> {
        let client = self.client(url)?;
        let request = client
            .post(url)
            .header("content-type", "application/json")
            .body(body.to_string());
        self.send(request).await
    }

    pub(crate) async fn get(
        &self,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<BoundedReply, String> {
        let mut request = self.client(url)?.get(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request).await
    }

    fn client(&self, url: &str) -> Result<&reqwest::Client, String> {
        self.http.client(url).map_err(|error| error.to_string())
    }

    async fn send(&self, request: RequestBuilder) -> Result<BoundedReply, String> {
        let request = request
            .header("user-agent", &self.identity.user_agent)
            .header("originator", &self.identity.originator);
        fetch(request, TIME_LIMIT)
            .await
            .map_err(|error| error.to_string())
    }
}
