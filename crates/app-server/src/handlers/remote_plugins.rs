//! The plugins of a ChatGPT account: which it has, what is changed there, and which are featured.
//!
//! Everything goes to the configured address of the service, with limits on time and size, and only on request.

use std::time::Duration;

use codex_apps::service_address;
use codex_http::BoundedReply;
use codex_plugins::PluginId;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use crate::host::AppsAccess;

/// The marketplace that the plugins of an account are of.
pub(super) const CURATED_MARKETPLACE: &str = "openai-curated";
/// The time limit of a request.
const TIME: Duration = Duration::from_secs(30);
const FEATURED_TIME: Duration = Duration::from_secs(10);
/// What paths of the remote catalogue begin with.
const CATALOGUE: &str = "ps/";
/// The limit on plugins of an account.
const MAX_PLUGINS: usize = 10_000;

/// Why the service did not do something.
#[derive(Debug, thiserror::Error)]
pub(super) enum RemoteError {
    #[error("chatgpt authentication required {0}")]
    NoAccount(&'static str),
    #[error("remote plugin request failed: {0}")]
    Failed(String),
    #[error("remote plugin request was refused with status {0}")]
    Refused(u16),
    #[error("the reply about remote plugins cannot be read: {0}")]
    Unreadable(String),
    #[error(
        "remote plugin mutation returned unexpected {what}: expected `{expected}`, got `{found}`"
    )]
    Unexpected {
        what: &'static str,
        expected: String,
        found: String,
    },
    #[error(
        "remote plugin skill response returned unexpected {what}: expected `{expected}`, got `{found}`"
    )]
    OtherSkill {
        what: &'static str,
        expected: String,
        found: String,
    },
}

/// A plugin of an account.
#[derive(Debug, Deserialize)]
pub(super) struct RemotePlugin {
    pub(super) name: String,
    #[serde(default)]
    marketplace_name: Option<String>,
    pub(super) enabled: bool,
}

impl RemotePlugin {
    pub(super) fn is_curated(&self) -> bool {
        (self.marketplace_name.as_deref()).is_none_or(|name| name == CURATED_MARKETPLACE)
    }
}

/// What a plugin is to be for an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemoteChange {
    Enable,
    Uninstall,
}

/// The plugins of the account.
pub(super) async fn plugins(access: &AppsAccess) -> Result<Vec<RemotePlugin>, RemoteError> {
    let reply = request(access, "plugins/list", false, TIME).await?;
    let plugins: Vec<RemotePlugin> = read(&reply)?;
    if plugins.len() > MAX_PLUGINS {
        return Err(RemoteError::Unreadable(format!(
            "more than {MAX_PLUGINS} plugins"
        )));
    }
    Ok(plugins)
}

/// Changes a plugin of the account.
pub(super) async fn change(
    access: Option<&AppsAccess>,
    id: &PluginId,
    change: RemoteChange,
) -> Result<(), RemoteError> {
    #[derive(Deserialize)]
    struct Changed {
        id: String,
        enabled: bool,
    }
    let access = access.ok_or(RemoteError::NoAccount("for remote plugin mutation"))?;
    let word = match change {
        RemoteChange::Enable => "enable",
        RemoteChange::Uninstall => "uninstall",
    };
    let reply = request(access, &format!("plugins/{id}/{word}"), true, TIME).await?;
    let changed: Changed = read(&reply)?;
    let unexpected = |what, expected: String, found: String| {
        Err(RemoteError::Unexpected {
            what,
            expected,
            found,
        })
    };
    let enabled = change == RemoteChange::Enable;
    if changed.id != id.to_string() {
        return unexpected("plugin id", id.to_string(), changed.id);
    }
    if changed.enabled != enabled {
        let found = changed.enabled.to_string();
        return unexpected("enabled state", enabled.to_string(), found);
    }
    Ok(())
}

/// The text of a skill of a plugin in the remote catalogue, if the service has it.
pub(super) async fn skill(
    access: &AppsAccess,
    plugin: &str,
    name: &str,
) -> Result<Option<String>, RemoteError> {
    #[derive(Deserialize)]
    struct Skill {
        plugin_id: String,
        name: String,
        #[serde(default)]
        skill_md_contents: Option<String>,
    }
    let encoded = utf8_percent_encode(name, NON_ALPHANUMERIC);
    let path = format!("ps/plugins/{plugin}/skills/{encoded}");
    let found: Skill = read(&request(access, &path, false, TIME).await?)?;
    for (what, expected, found) in [
        ("plugin id", plugin, found.plugin_id),
        ("skill name", name, found.name),
    ] {
        if found != expected {
            let expected = expected.to_owned();
            return Err(RemoteError::OtherSkill {
                what,
                expected,
                found,
            });
        }
    }
    Ok(found.skill_md_contents)
}

/// The ids of featured plugins. Kept for some hours; none if the service does not answer.
pub(super) async fn featured(access: Option<&AppsAccess>) -> Vec<String> {
    let Some(access) = access else {
        return Vec::new();
    };
    if let Some(known) = access.catalog.featured(&access.key) {
        return known;
    }
    let path = "plugins/featured?platform=codex";
    let found = match request(access, path, false, FEATURED_TIME).await {
        Ok(reply) => read::<Vec<String>>(&reply),
        Err(error) => Err(error),
    };
    match found {
        Ok(mut ids) => {
            ids.truncate(MAX_PLUGINS);
            access.catalog.keep_featured(&access.key, ids.clone());
            ids
        }
        Err(error) => {
            tracing::warn!(%error, "featured plugins are not known");
            Vec::new()
        }
    }
}

async fn request(
    access: &AppsAccess,
    path: &str,
    is_change: bool,
    time: Duration,
) -> Result<BoundedReply, RemoteError> {
    let url = format!("{}/{path}", service_address(&access.directory.base));
    let client = access.http.client(&url);
    let client = client.map_err(|error| RemoteError::Failed(error.to_string()))?;
    let request = || {
        let request = if is_change {
            client.post(&url)
        } else {
            client.get(&url)
        };
        if path.starts_with(CATALOGUE) {
            request.header("OAI-Product-Sku", "codex")
        } else {
            request
        }
    };
    let reply = access.directory.login.fetch(request, time).await;
    let reply = reply.map_err(|error| RemoteError::Failed(error.to_string()))?;
    if reply.is_success() {
        Ok(reply)
    } else {
        Err(RemoteError::Refused(reply.status))
    }
}

fn read<T: for<'de> Deserialize<'de>>(reply: &BoundedReply) -> Result<T, RemoteError> {
    serde_json::from_slice(&reply.body).map_err(|error| RemoteError::Unreadable(error.to_string()))
}
