//! Requests the directory of apps, page by page, with limits on time and size.

use std::collections::HashSet;
use std::time::Duration;

use codex_http::{HttpPool, SharedLogin};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value;

use crate::address::service_address;
use crate::app::App;

/// The time limit of a page.
const PAGE_TIME: Duration = Duration::from_secs(30);
/// The limit on pages.
const MAX_PAGES: usize = 100;
/// The limit on apps.
const MAX_APPS: usize = 20_000;

/// Whose directory is requested.
#[derive(Clone, Debug)]
pub struct DirectoryAccount {
    /// The address of the service.
    pub base: String,
    /// Authorises requests.
    pub login: SharedLogin,
    /// Whether the account belongs to a workspace, which has apps of its own.
    pub is_workspace: bool,
}

/// Why the directory is not known.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// A request failed. The text has no address, whose query may hold secrets.
    #[error("the directory cannot be requested: {0}")]
    Failed(String),
    /// The service refused a request.
    #[error("the directory was refused with status {0}")]
    Refused(u16),
    /// A reply cannot be read.
    #[error("the reply of the directory cannot be read: {0}")]
    Unreadable(String),
    /// There is no end to it.
    #[error("the directory is larger than {MAX_APPS} apps or {MAX_PAGES} pages")]
    TooLarge,
}

#[derive(Debug, Deserialize)]
struct Page {
    apps: Vec<Value>,
    #[serde(default, alias = "nextToken")]
    next_token: Option<String>,
}

/// Requests the whole directory. Hidden apps are left out, and entries that cannot be read are ignored.
///
/// # Errors
/// A request failed, or there is too much. The apps of a workspace are optional.
pub async fn request_directory(
    http: &HttpPool,
    account: &DirectoryAccount,
) -> Result<Vec<App>, DirectoryError> {
    let base = service_address(&account.base);
    let list = format!("{base}/connectors/directory/list?tier=categorized&external_logos=true");
    let mut apps = Vec::new();
    let mut seen = HashSet::new();
    let mut token: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let url = match &token {
            None => list.clone(),
            Some(token) => {
                let token = utf8_percent_encode(token, NON_ALPHANUMERIC);
                format!("{list}&token={token}")
            }
        };
        let page = request_page(http, account, &url).await?;
        apps.extend(readable(page.apps));
        if apps.len() > MAX_APPS {
            return Err(DirectoryError::TooLarge);
        }
        let next = page.next_token.filter(|token| !token.trim().is_empty());
        let Some(next) = next else {
            apps.extend(apps_of_workspace(http, account, &base).await);
            return Ok(apps);
        };
        if !seen.insert(next.clone()) {
            let message = "its pages form a circle";
            return Err(DirectoryError::Unreadable(message.to_owned()));
        }
        token = Some(next);
    }
    Err(DirectoryError::TooLarge)
}

/// The apps of the account's workspace. A failure counts as none.
async fn apps_of_workspace(http: &HttpPool, account: &DirectoryAccount, base: &str) -> Vec<App> {
    if !account.is_workspace {
        return Vec::new();
    }
    let url = format!("{base}/connectors/directory/list_workspace?external_logos=true");
    match request_page(http, account, &url).await {
        Ok(page) => readable(page.apps).take(MAX_APPS).collect(),
        Err(error) => {
            tracing::warn!("the apps of the workspace are not known: {error}");
            Vec::new()
        }
    }
}

async fn request_page(
    http: &HttpPool,
    account: &DirectoryAccount,
    url: &str,
) -> Result<Page, DirectoryError> {
    let failed = |error: String| DirectoryError::Failed(error);
    let client = http
        .client(url)
        .map_err(|error| failed(error.to_string()))?;
    let reply = account.login.fetch(|| client.get(url), PAGE_TIME).await;
    let reply = reply.map_err(|error| failed(error.to_string()))?;
    if !reply.is_success() {
        return Err(DirectoryError::Refused(reply.status));
    }
    serde_json::from_slice(&reply.body)
        .map_err(|error| DirectoryError::Unreadable(error.to_string()))
}

fn readable(entries: Vec<Value>) -> impl Iterator<Item = App> {
    let visible = |entry: &Value| {
        let visibility = entry["visibility"].as_str().unwrap_or_default();
        !visibility.eq_ignore_ascii_case("hidden")
    };
    let shown = entries.into_iter().filter(visible);
    shown.filter_map(|entry| serde_json::from_value(entry).ok())
}
