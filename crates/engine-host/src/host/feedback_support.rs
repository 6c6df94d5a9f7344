//! What reports to the developers need.

use std::sync::Arc;

use codex_app_server::{FeedbackSettings, FeedbackSupport, HostError};
use futures::future::BoxFuture;

use super::EngineHost;
use crate::log;

impl FeedbackSupport for EngineHost {
    fn feedback(&self) -> FeedbackSettings {
        let config = self.configuration.startup();
        FeedbackSettings {
            enabled: config.telemetry.feedback,
            folder: config.home.join("feedback"),
            endpoint: config.telemetry.feedback_endpoint.clone(),
        }
    }

    fn send_feedback(
        &self,
        url: String,
        body: Vec<u8>,
    ) -> BoxFuture<'static, Result<(), HostError>> {
        let connections = Arc::clone(self.resources.connections());
        Box::pin(async move { Ok(connections.post_json(&url, body).await?) })
    }

    fn log_tail(&self) -> String {
        log::tail().text()
    }
}
