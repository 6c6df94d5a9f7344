//! Edits of files on disk.

use std::fs;

use super::*;
use crate::source::LayerSource;

/// A home folder, and flags.
struct TestHome {
    folder: tempfile::TempDir,
    env: Environment,
    flags: Overrides,
}

impl TestHome {
    fn new(config: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut env = Environment::with_home(folder.path().join("home"));
        env.system_folder = Some(folder.path().join("etc"));
        fs::create_dir(folder.path().join("etc")).unwrap();
        if let Some(config) = config {
            fs::create_dir(&env.codex_home).unwrap();
            fs::write(env.user_config_file(), config).unwrap();
        }
        Self {
            folder,
            env,
            flags: Overrides::default(),
        }
    }

    fn system(self, name: &str, text: &str) -> Self {
        fs::write(self.folder.path().join("etc").join(name), text).unwrap();
        self
    }

    fn request<'a>(&'a self, edits: &'a [ConfigEdit]) -> EditRequest<'a> {
        static NONE: BTreeMap<Feature, bool> = BTreeMap::new();
        EditRequest {
            env: &self.env,
            flags: &self.flags,
            host_features: &NONE,
            file: None,
            expected_version: None,
            edits,
        }
    }

    fn edit(&self, path: &str, value: Json) -> Result<EditOutcome, EditError> {
        edit_user_config(self.request(&[replace(path, value)]))
    }

    fn invalid(&self, path: &str, value: Json) -> String {
        let before = self.text();
        let error = self.edit(path, value).unwrap_err();
        assert_eq!(error.kind(), EditErrorKind::Validation);
        assert_eq!(self.text(), before);
        error.to_string()
    }

    fn text(&self) -> String {
        fs::read_to_string(self.env.user_config_file()).unwrap_or_default()
    }
}

#[test]
fn the_home_folder_is_made_when_something_is_written() {
    let home = TestHome::new(None);
    let outcome = home.edit("model", json!("m")).unwrap();
    assert_eq!(home.text(), "model = \"m\"\n");
    assert_eq!(outcome.file, home.env.user_config_file());
    assert_eq!(outcome.overridden, None);
}

#[test]
fn a_version_that_is_not_current_is_a_conflict() {
    let home = TestHome::new(Some("model = 'a'\n"));
    let first = home.edit("model", json!("b")).unwrap();
    let edits = [replace("model", json!("c"))];
    let mut request = home.request(&edits);
    request.expected_version = Some("sha256:0");
    let error = edit_user_config(request).unwrap_err();
    assert_eq!(error.kind(), EditErrorKind::VersionConflict);
    request.expected_version = Some(&first.version);
    edit_user_config(request).unwrap();
    assert_eq!(home.text(), "model = \"c\"\n");
}

#[test]
fn a_file_changed_meanwhile_is_a_conflict() {
    let home = TestHome::new(Some("model = 'a'\n"));
    let target = store::LockedFile::lock(&home.env.user_config_file()).unwrap();
    let error = target
        .replace("model = 'older'\n", "model = 'new'\n")
        .unwrap_err();
    assert_eq!(error.kind(), EditErrorKind::VersionConflict);
    assert_eq!(home.text(), "model = 'a'\n");
    assert_eq!(fs::read_dir(&home.env.codex_home).unwrap().count(), 1);
}

#[test]
fn only_the_users_file_is_edited() {
    let home = TestHome::new(Some(""));
    let edits = [replace("model", json!("c"))];
    let mut request = home.request(&edits);
    let roundabout = home.env.codex_home.join("x/../config.toml");
    request.file = Some(&roundabout);
    edit_user_config(request).unwrap();
    let other = home.env.codex_home.join("other.toml");
    request.file = Some(&other);
    let error = edit_user_config(request).unwrap_err();
    assert_eq!(error.kind(), EditErrorKind::LayerReadonly);
    assert_eq!(
        error.to_string(),
        "Only writes to the user config are allowed"
    );
}

#[cfg(unix)]
#[test]
fn links_and_modes_stay() {
    use std::os::unix::fs::PermissionsExt;
    let home = TestHome::new(Some(""));
    let file = home.env.user_config_file();
    let real = home.folder.path().join("dotfiles.toml");
    fs::rename(&file, &real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("../dotfiles.toml", &file).unwrap();
    home.edit("model", json!("m")).unwrap();
    assert!(file.is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "model = \"m\"\n");
    assert_eq!(
        fs::metadata(&real).unwrap().permissions().mode() & 0o777,
        0o640
    );
    let fresh = TestHome::new(None);
    fresh.edit("model", json!("m")).unwrap();
    let mode = fs::metadata(fresh.env.user_config_file())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn wrong_settings_are_not_written() {
    let home = TestHome::new(Some("model = 'm'\n"));
    let table = [
        (
            "model",
            json!(3),
            "invalid type: integer `3`, expected a string\nin `model`",
        ),
        (
            "tool_suggest.discoverables",
            json!([{ "type": "plugin" }]),
            "missing field `id`\nin `tool_suggest.discoverables.0`",
        ),
        (
            "agents.max_threads",
            json!(0),
            "agents.max_threads must be at least 1",
        ),
        ("profile", json!("nope"), "config profile `nope` not found"),
        (
            "model_provider",
            json!("nope"),
            "Model provider `nope` not found",
        ),
        (
            "mcp_servers.x.enabled",
            json!(false),
            "invalid transport\nin `mcp_servers.x`",
        ),
    ];
    for (path, value, expected) in table {
        assert_eq!(
            home.invalid(path, value),
            format!("Invalid configuration: {expected}")
        );
    }
}

#[test]
fn existing_errors_do_not_block_other_edits() {
    let home = TestHome::new(Some("profile = 'gone'\nmodel = 3\n"));
    home.edit("review_model", json!("r")).unwrap();
    home.edit("model", json!("m")).unwrap();
    home.edit("profile", json!(null)).unwrap();
    assert_eq!(home.text(), "model = \"m\"\nreview_model = \"r\"\n");
    let broken = TestHome::new(Some("model = = 3"));
    let error = broken.edit("model", json!("m")).unwrap_err();
    assert_eq!(error.kind(), EditErrorKind::Internal);
    assert!(
        error
            .to_string()
            .starts_with("failed to load configuration: ")
    );
}

#[test]
fn a_table_may_be_completed_by_another_layer() {
    let home = TestHome::new(None).system("config.toml", "mcp_servers.x.command = 'c'");
    home.edit("mcp_servers.x.enabled", json!(false)).unwrap();
}

#[test]
fn pinned_features_cannot_be_switched() {
    let home = TestHome::new(None).system("requirements.toml", "features.multi_agent = false");
    let expected = "Invalid configuration: invalid value for `features`: `features.collab=true` is \
                    not in the allowed set [multi_agent=false] (set by";
    assert!(
        home.invalid("features.collab", json!(true))
            .starts_with(expected)
    );
    assert!(
        home.invalid("profiles.p.features.collab", json!(true))
            .starts_with(expected)
    );
    home.edit("features.multi_agent", json!(false)).unwrap();
}

#[test]
fn edit_reports_overridden_values() {
    let mut home = TestHome::new(None).system("config.toml", "[tools]\nview_image = true");
    home.flags.add_flag("model=flag").unwrap();
    let overridden = |path: &str, value: Json| home.edit(path, value).unwrap().overridden;
    let by_flags = overridden("model", json!("m")).unwrap();
    assert_eq!(by_flags.message, "Overridden by session flags");
    assert_eq!(by_flags.source, LayerSource::SessionFlags);
    assert_eq!(by_flags.effective, json!("flag"));
    assert_eq!(overridden("model", json!("flag")), None);
    assert_eq!(overridden("tools", json!({"web_search": true})), None);
    assert_eq!(overridden("tools.view_image", json!(false)), None);
    let removed = overridden("tools.view_image", json!(null)).unwrap();
    assert!(
        removed
            .message
            .starts_with("Overridden by managed config (system): ")
    );
    assert_eq!(removed.effective, json!(true));
}
