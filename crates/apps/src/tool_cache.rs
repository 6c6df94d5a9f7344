//! The tools of apps from the last time, per account: `cache/codex_apps_tools/<key>.json` in the home folder.

use std::io;
use std::path::{Path, PathBuf};

use codex_protocol::Tool;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::accessible::connector_of;
use crate::catalog::AccountKey;
use crate::merge::is_hidden;

/// The version of the file. Others count as absent.
const VERSION: u32 = 1;
/// The limit on the size of the file.
const FILE_LIMIT: u64 = 64 * 1024 * 1024;

/// The file with the tools of an account.
#[derive(Clone, Debug)]
pub struct ToolCacheFile(PathBuf);

#[derive(Deserialize, Serialize)]
struct Content {
    schema_version: u32,
    tools: Vec<Tool>,
}

impl ToolCacheFile {
    /// The file of an account.
    #[must_use]
    pub fn of_account(home: &Path, account: &AccountKey) -> Self {
        let key = json!({
            "account_id": account.account_id, "chatgpt_user_id": account.user_id,
            "is_workspace_account": account.is_workspace,
        });
        let mut hash = sha1_smol::Sha1::new();
        hash.update(key.to_string().as_bytes());
        let name = format!("{}.json", hash.digest());
        Self(home.join("cache/codex_apps_tools").join(name))
    }

    /// The tools, if the file has some that can be used.
    #[must_use]
    pub fn load(&self) -> Option<Vec<Tool>> {
        let text = codex_regular_file::read(&self.0, FILE_LIMIT).ok()?;
        let content: Content = serde_json::from_slice(&text).ok()?;
        (content.schema_version == VERSION)
            .then(|| content.tools.into_iter().filter(may_be_kept).collect())
    }

    /// Replaces the file. An error is only logged.
    pub fn store(&self, tools: &[Tool]) {
        let content = Content {
            schema_version: VERSION,
            tools: tools
                .iter()
                .filter(|tool| may_be_kept(tool))
                .cloned()
                .collect(),
        };
        if let Err(error) = self.write(&content) {
            tracing::warn!("{} is not written: {error}", self.0.display());
        }
    }

    fn write(&self, content: &Content) -> io::Result<()> {
        let folder = self.0.parent().unwrap_or(&self.0);
        codex_private_files::create_dir_all(folder)?;
        // Renamed into place, so that no reader sees half of it.
        let new = self.0.with_extension(format!("{}.new", std::process::id()));
        codex_private_files::write(&new, &serde_json::to_vec(content)?)?;
        std::fs::rename(&new, &self.0)
    }
}

fn may_be_kept(tool: &Tool) -> bool {
    connector_of(tool).is_none_or(|(id, _)| !is_hidden(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_kept_per_account_and_version() {
        let home = tempfile::tempdir().unwrap();
        let key = |account: &str| AccountKey {
            account_id: Some(account.to_owned()),
            user_id: None,
            is_workspace: false,
        };
        let file = ToolCacheFile::of_account(home.path(), &key("a"));
        assert!(file.load().is_none());
        let tool = |id: &str| -> Tool {
            let meta = json!({ "connector_id": id });
            serde_json::from_value(json!({ "name": id, "inputSchema": {}, "_meta": meta })).unwrap()
        };
        file.store(&[tool("one"), tool("connector_openai_two")]);
        let names: Vec<_> = file
            .load()
            .unwrap()
            .into_iter()
            .map(|tool| tool.name)
            .collect();
        assert_eq!(names, ["one"]);
        assert!(
            ToolCacheFile::of_account(home.path(), &key("b"))
                .load()
                .is_none()
        );
        for text in ["{", r#"{"schema_version": 2, "tools": []}"#] {
            std::fs::write(&file.0, text).unwrap();
            assert!(file.load().is_none());
        }
    }
}
