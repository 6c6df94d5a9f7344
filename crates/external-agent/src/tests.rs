//! Against real folders.

use std::fs;

use tempfile::TempDir;

use super::*;

struct ImportFolders {
    folder: TempDir,
    homes: HomeFolders,
}

impl ImportFolders {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let homes = HomeFolders {
            user: Some(folder.path().join("user")),
            ours: folder.path().join("user/.codex"),
        };
        let folders = Self { folder, homes };
        fs::create_dir_all(&folders.homes.ours).unwrap();
        folders
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn detect(&self, folders: &[&str]) -> Vec<MigrationItem> {
        let folders: Vec<_> = folders
            .iter()
            .map(|name| self.folder.path().join(name))
            .collect();
        detect(&self.homes, true, &folders).unwrap()
    }

    fn import_all(&self, folders: &[&str]) {
        for item in self.detect(folders) {
            import(&self.homes, item.kind, item.repository.as_deref()).unwrap();
        }
        assert_eq!(self.detect(folders), []);
    }
}

const SETTINGS: &str = r#"{
    "env": { "A": "1", "N": 2, "B": true, "X": null, "L": [] },
    "sandbox": { "enabled": true }
}"#;

#[test]
fn imports_are_offered_and_applied_once() {
    let folders = ImportFolders::new();
    folders.write("user/.claude/settings.json", SETTINGS);
    folders.write("user/.claude/skills/one/SKILL.md", "Use Claude Code.");
    folders.write("user/.claude/skills/one/deep/data.txt", "Claude");
    folders.write("user/.claude/CLAUDE.md", "Hello Claude\n");
    folders.write("repo/.git/HEAD", "");
    folders.write("repo/CLAUDE.md", "  \n");
    folders.write("repo/.claude/CLAUDE.md", "See CLAUDE.md\n");
    folders.write("repo/src/x", "");
    let items = folders.detect(&["repo/src", "repo", "missing"]);
    let repo = folders.folder.path().join("repo");
    let found: Vec<_> = items
        .iter()
        .map(|item| (item.kind, item.repository.as_deref()))
        .collect();
    assert_eq!(
        found,
        [
            (MigrationKind::Settings, None),
            (MigrationKind::Skills, None),
            (MigrationKind::Instructions, None),
            (MigrationKind::Instructions, Some(repo.as_path())),
        ]
    );
    let home = folders.folder.path().join("user");
    let expected = format!(
        "Migrate {0}/.claude/settings.json into {0}/.codex/config.toml",
        home.display()
    );
    assert_eq!(items[0].description, expected);
    folders.import_all(&["repo/src"]);
    let settings: toml::Table = folders.read("user/.codex/config.toml").parse().unwrap();
    let expected: toml::Table = "sandbox_mode = 'workspace-write'\n[shell_environment_policy]\n\
         inherit = 'core'\nset = { A = '1', N = '2', B = 'true' }\n"
        .parse()
        .unwrap();
    assert_eq!(settings, expected);
    assert_eq!(
        folders.read("user/.agents/skills/one/SKILL.md"),
        "Use Codex."
    );
    assert_eq!(
        folders.read("user/.agents/skills/one/deep/data.txt"),
        "Claude"
    );
    assert_eq!(folders.read("user/.codex/AGENTS.md"), "Hello Codex\n");
    assert_eq!(folders.read("repo/AGENTS.md"), "See AGENTS.md\n");
}

#[test]
fn import_keeps_existing_settings_and_comments() {
    let folders = ImportFolders::new();
    folders.write("user/.claude/settings.json", SETTINGS);
    folders.write(
        "user/.codex/config.toml",
        "# mine\nsandbox_mode = \"read-only\" # careful\n[shell_environment_policy.set]\nA = \"own\"\n",
    );
    folders.write("user/.claude/skills/one/SKILL.md", "theirs");
    folders.write("user/.agents/skills/one/SKILL.md", "ours");
    folders.write("user/.claude/CLAUDE.md", "theirs");
    folders.write("user/.codex/AGENTS.md", "ours");
    let items = folders.detect(&[]);
    assert_eq!(items.len(), 1);
    folders.import_all(&[]);
    let text = folders.read("user/.codex/config.toml");
    assert!(
        text.starts_with("# mine\nsandbox_mode = \"read-only\" # careful\n"),
        "{text}"
    );
    let settings: toml::Table = text.parse().unwrap();
    let policy = &settings["shell_environment_policy"];
    assert_eq!(policy["set"]["A"].as_str(), Some("own"));
    assert_eq!(policy["set"]["N"].as_str(), Some("2"));
    assert_eq!(policy["inherit"].as_str(), Some("core"));
    assert_eq!(folders.read("user/.agents/skills/one/SKILL.md"), "ours");
}

#[test]
fn links_are_not_copied() {
    let folders = ImportFolders::new();
    folders.write("secret", "x");
    folders.write("user/.claude/skills/one/SKILL.md", "a");
    let skills = folders.folder.path().join("user/.claude/skills");
    std::os::unix::fs::symlink("../../../../secret", skills.join("one/link")).unwrap();
    std::os::unix::fs::symlink("one", skills.join("two")).unwrap();
    folders.import_all(&[]);
    let ours = folders.folder.path().join("user/.agents/skills");
    assert!(ours.join("one/link").symlink_metadata().is_err());
    assert!(ours.join("two").symlink_metadata().is_err());
}

#[test]
fn unreadable_import_settings_are_an_error() {
    let folders = ImportFolders::new();
    let error = || detect(&folders.homes, true, &[]).unwrap_err().to_string();
    folders.write("user/.claude/settings.json", "[]");
    assert_eq!(error(), "external agent settings root must be an object");
    folders.write("user/.claude/settings.json", "{");
    assert!(error().contains("EOF"), "{}", error());
    folders.write("user/.claude/settings.json", SETTINGS);
    folders.write("user/.codex/config.toml", "= broken");
    assert!(
        error().starts_with("invalid existing config.toml: "),
        "{}",
        error()
    );
    let taken = import(&folders.homes, MigrationKind::Settings, None);
    assert!(matches!(taken, Err(MigrationError::Ours(_))));
    assert_eq!(folders.read("user/.codex/config.toml"), "= broken");
    let nobody = HomeFolders {
        user: None,
        ours: folders.homes.ours.clone(),
    };
    assert!(matches!(
        detect(&nobody, true, &[]),
        Err(MigrationError::NoHome)
    ));
    assert!(detect(&nobody, false, &[]).unwrap().is_empty());
    let missing = folders.folder.path().join("missing");
    let nothing = import(&folders.homes, MigrationKind::Skills, Some(&missing));
    assert_eq!(nothing.unwrap(), []);
}
