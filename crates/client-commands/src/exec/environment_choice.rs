//! The other machine of a thread, as `NAME[:DIR]` names it.

use anyhow::{Context, bail};
use serde_json::{Value, json};

/// The environments of `NAME[:DIR]`, for `thread/start`. `config` are the settings of the server.
pub(super) fn environments(asked: &str, config: &Value) -> anyhow::Result<Value> {
    let (name, folder) = match asked.split_once(':') {
        Some((name, folder)) => (name, Some(folder)),
        None => (asked, None),
    };
    let folder = folder.or_else(|| config["environments"][name]["cwd"].as_str());
    let folder = folder.with_context(|| {
        format!(
            "the settings name no folder for the environment `{name}`: give one as `{name}:/folder`"
        )
    })?;
    if !folder.starts_with('/') {
        bail!("`{folder}` is no absolute path of the environment `{name}`");
    }
    Ok(json!([{ "environmentId": name, "cwd": folder }]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_folder_overrides_settings() {
        let config = json!({ "environments": { "box": { "cwd": "/srv" }, "bare": {} } });
        let folder = |asked: &str| {
            let chosen = environments(asked, &config);
            chosen.map(|chosen| chosen[0]["cwd"].as_str().unwrap().to_owned())
        };
        assert_eq!(folder("box").unwrap(), "/srv");
        assert_eq!(folder("box:/tmp").unwrap(), "/tmp");
        assert!(folder("bare").is_err());
        assert!(folder("box:sub").is_err());
    }
}
