//! `hooks/list`: lists files that configure hooks. No hook is run.

use std::path::{Path, PathBuf};

use codex_app_server_protocol::v2::{HooksListEntry, HooksListParams, HooksListResponse};

use super::blocking;
use super::call::RequestContext;
use crate::failure::Failure;

/// The hook file in the home folder and in the `.codex` folder of a project.
const HOOKS: &str = "hooks.json";

pub(super) async fn list(
    RequestContext { server, .. }: RequestContext,
    params: HooksListParams,
) -> Result<HooksListResponse, Failure> {
    let list = move || {
        let home = server.host().homes().ours;
        let own = || std::env::current_dir().unwrap_or_default();
        let mut cwds: Vec<PathBuf> = params.cwds.iter().map(PathBuf::from).collect();
        if cwds.is_empty() {
            cwds.push(own());
        }
        let entry = |cwd: PathBuf| HooksListEntry {
            warnings: unused_hooks(&home, &cwd),
            cwd: cwd.display().to_string(),
            hooks: Vec::new(),
            errors: Vec::new(),
        };
        Ok(HooksListResponse {
            data: cwds.into_iter().map(entry).collect(),
        })
    };
    blocking(list).await
}

fn unused_hooks(home: &Path, cwd: &Path) -> Vec<String> {
    let projects = cwd.ancestors().map(|folder| folder.join(".codex"));
    let mut files: Vec<PathBuf> = projects.map(|folder| folder.join(HOOKS)).collect();
    files.push(home.join(HOOKS));
    files.sort();
    files.dedup();
    let files = files.into_iter().filter(|file| file.is_file());
    files
        .map(|file| format!("hooks are not run by this version: {}", file.display()))
        .collect()
}
