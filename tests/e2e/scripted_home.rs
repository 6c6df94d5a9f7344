//! A home folder whose model follows a script.

use std::fs;

use codex_test_support::ModelServer;
use tempfile::TempDir;

/// A home whose model is `model`, with commands that run without a sandbox and these settings besides.
pub(crate) fn scripted_home(model: &ModelServer, settings: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let config = format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\n\
         sandbox_mode = \"danger-full-access\"\n{settings}\n\
         [model_providers.scripted]\nname = \"Scripted\"\nbase_url = \"{}\"\n\
         wire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n",
        model.base_url()
    );
    fs::write(home.path().join("config.toml"), config).unwrap();
    home
}
