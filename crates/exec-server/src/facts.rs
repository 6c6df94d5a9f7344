//! What this machine is, as clients are told.

use std::path::{Path, PathBuf};

use ring::digest;
use serde_json::{Value, json};

use crate::file_uri::uri;

/// The `environmentInfo` of this machine.
pub(crate) fn environment_info() -> Value {
    let folder = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let home = std::env::home_dir().unwrap_or_else(|| folder.clone());
    let shell = shell();
    json!({
        "shell": {
            "name": shell.file_stem().map(|name| name.to_string_lossy()),
            "path": shell,
        },
        "executorVersion": env!("CARGO_PKG_VERSION"),
        "providerId": provider_id(&home),
        "cwd": uri(&folder),
        "userHomeDir": uri(&home),
        "platformOs": std::env::consts::OS,
        "prependPathDirs": [],
        "temporaryDirectories": [],
        "tempDir": uri(&std::env::temp_dir()),
        "capabilities": {
            "networkProxyLaunch": false,
            "networkProxyReviewDomains": false,
            "networkProxyTransparentTcp": false,
            "credentialMasking": false,
            "credentialMaskingCustomProviders": false,
            "capabilityDiscoverySandbox": false,
            "fsWatchMissing": true,
            "capabilityDiscoveryV2": false,
            "environmentConfigRead": false,
            "httpHeaderEnvVars": false,
            "sandboxedFileStreaming": true,
            "fileWriteStreaming": true,
            "shellSnapshotV2": false,
            "windowsMxc": false,
            "linuxRootWritePreservesDevices": true,
            "linuxApprovedRootWritePreservesRestrictions": false,
        },
    })
}

/// The shell of the user, or one that is always there.
fn shell() -> PathBuf {
    let named = std::env::var_os("SHELL").map(PathBuf::from);
    let usual = ["/bin/bash", "/bin/sh"].map(PathBuf::from);
    let mut shells = named.into_iter().chain(usual);
    let found = shells.find(|path| path.is_absolute() && codex_mounts::is_file(path));
    found.unwrap_or_else(|| "/bin/sh".into())
}

/// Tells one machine and user from others, without naming them.
fn provider_id(home: &Path) -> String {
    let machine = codex_regular_file::read_text(Path::new("/etc/machine-id"), 1024);
    let mut hash = digest::Context::new(&digest::SHA256);
    hash.update(machine.unwrap_or_default().as_bytes());
    hash.update(home.as_os_str().as_encoded_bytes());
    let digits = hash
        .finish()
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    format!("sha256:{digits}")
}
