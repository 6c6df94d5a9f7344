//! The hooks of all layers of the settings.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use codex_protocol::{HookEventName, HookSource};
use serde::Deserialize as _;
use serde_json::Value;

use crate::file::{Handler, HookGroups, HooksFile};
use crate::hook::{Hook, HookAction, HookPlugin, HookTrust, timeouts};
use crate::hook_files::{HookFiles, HookPlace};
use crate::matcher::Matcher;
use crate::trust::{HookHash, HookStates, hash_of};
use crate::usable_handler::UsableHandler;

/// The file with hooks beside a settings file.
pub const HOOKS_FILE: &str = "hooks.json";
/// The size limit of that file.
const FILE_LIMIT: u64 = 4 * 1024 * 1024;

/// A layer of the settings that may configure hooks.
#[derive(Clone, Debug)]
pub struct HookLayer {
    /// The kind of layer.
    pub source: HookSource,
    /// The folder whose `hooks.json` is read, if the layer has one.
    pub folder: Option<PathBuf>,
    /// The settings file, for the keys of hooks in its table.
    pub settings_file: PathBuf,
    /// The table `hooks` of the settings, if there is one.
    pub table: Option<Value>,
}

/// The hooks of a plugin.
#[derive(Clone, Debug)]
pub struct PluginHooks {
    /// The plugin.
    pub plugin: HookPlugin,
    /// The files with hooks, relative to its folder.
    pub files: Vec<String>,
    /// Hooks in the manifest of the plugin, of the form of such files.
    pub tables: Vec<Value>,
    /// The manifest, relative to the folder of the plugin.
    pub manifest: &'static str,
    /// A hash of the whole plugin, which is part of the hash of each hook.
    pub content_hash: String,
}

/// The hooks of one file.
struct HookGroupsFile {
    source: HookSource,
    groups: HookGroups,
    path: PathBuf,
    /// What the keys of its hooks begin with.
    key: String,
    plugin: Option<(Arc<HookPlugin>, String)>,
}

/// All configured hooks, including those that may not run.
#[derive(Clone, Debug, Default)]
pub struct HookCatalog {
    /// The hooks, in the order in which they are listed.
    pub hooks: Vec<Hook>,
    /// What is wrong with the files, in sentences for the user.
    pub warnings: Vec<String>,
}

/// Reads the hooks of the layers, lowest precedence first, and of plugins. All of them count. Blocks on the file system.
#[must_use]
pub fn load(
    layers: &[HookLayer],
    plugins: Vec<PluginHooks>,
    states: &HookStates,
    place: &HookPlace<'_>,
) -> HookCatalog {
    let mut catalog = HookCatalog::default();
    let mut files = Vec::new();
    for layer in layers {
        let in_file = layer.folder.as_deref().and_then(|folder| {
            let path = folder.join(HOOKS_FILE);
            Some((read_file(&path, &mut catalog.warnings)?, path))
        });
        let in_table = layer.table.as_ref().and_then(|table| {
            let path = layer.settings_file.clone();
            Some((read_table(table, &path, &mut catalog.warnings)?, path))
        });
        if let (Some((_, file)), Some((_, settings))) = (&in_file, &in_table) {
            catalog.warnings.push(format!(
                "loading hooks from both {} and {}; prefer a single representation for this layer",
                file.display(),
                settings.display(),
            ));
        }
        let found = in_file.into_iter().chain(in_table);
        files.extend(found.map(|(groups, path)| HookGroupsFile {
            source: layer.source,
            groups,
            key: path.display().to_string(),
            path,
            plugin: None,
        }));
    }
    for hooks in plugins {
        let plugin = Arc::new(hooks.plugin);
        let of_files = hooks.files.iter().filter_map(|file| {
            let path = plugin.root.join(file);
            Some((read_file(&path, &mut catalog.warnings)?, file.clone(), path))
        });
        let mut found: Vec<_> = of_files.collect();
        let path = plugin.root.join(hooks.manifest);
        for (at, table) in hooks.tables.iter().enumerate() {
            let key = format!("plugin.json#hooks[{at}]");
            match HooksFile::deserialize(table) {
                Ok(file) => found.push((file.hooks, key, path.clone())),
                Err(error) => catalog.warnings.push(unparsable(&path, &error)),
            }
        }
        files.extend(found.into_iter().map(|(groups, key, path)| HookGroupsFile {
            source: HookSource::Plugin,
            groups,
            key: format!("{}:{key}", plugin.id),
            path,
            plugin: Some((Arc::clone(&plugin), hooks.content_hash.clone())),
        }));
    }
    for event in HookEventName::ALL {
        for file in &files {
            catalog.add(*event, file, states, place);
        }
    }
    catalog
}

impl HookGroupsFile {
    /// The action, with the folders of the plugin filled in.
    fn action(&self, action: HookAction) -> HookAction {
        match (action, &self.plugin) {
            (HookAction::Command { line, is_async }, Some((plugin, _))) => HookAction::Command {
                line: plugin.fill(&line),
                is_async,
            },
            (action, _) => action,
        }
    }
}

impl HookCatalog {
    /// What the user's hooks are, whatever their keys and files.
    #[must_use]
    pub fn user_definitions(&self) -> BTreeSet<String> {
        let of_user = self
            .hooks
            .iter()
            .filter(|hook| hook.source == HookSource::User);
        of_user.map(|hook| hook.definition.clone()).collect()
    }

    fn add(
        &mut self,
        event: HookEventName,
        file: &HookGroupsFile,
        states: &HookStates,
        place: &HookPlace<'_>,
    ) {
        let path = file.path.as_path();
        let shown = path.display();
        for (at, group) in file.groups.for_event(event).iter().enumerate() {
            let matcher = match Matcher::parse(event, group.matcher.as_deref()) {
                Ok(matcher) => matcher,
                Err(error) => {
                    let text = group.matcher.as_deref().unwrap_or_default();
                    let warning = format!("invalid matcher {text:?} in {shown}: {error}");
                    self.warnings.push(warning);
                    continue;
                }
            };
            for (number, handler) in group.hooks.iter().enumerate() {
                let handler = match handler {
                    Handler::Command(handler) if handler.command.trim().is_empty() => {
                        let warning = format!("skipping empty hook command in {shown}");
                        self.warnings.push(warning);
                        continue;
                    }
                    Handler::Command(handler) => UsableHandler::of_command(handler),
                    Handler::McpTool(handler) => UsableHandler::of_tool(handler),
                    Handler::Prompt {} => {
                        self.unsupported("prompt", path);
                        continue;
                    }
                    Handler::Agent {} => {
                        self.unsupported("agent", path);
                        continue;
                    }
                };
                let timeout = self.timeout(event, handler.timeout, path);
                let key = format!("{}:{}:{at}:{number}", file.key, event.snake_case());
                let mut definition = hash_of(event, matcher.text(), &handler, timeout);
                if let Some((_, content)) = &file.plugin {
                    definition = format!("{definition}/{content}");
                }
                let action = file.action(handler.action);
                let plugin = file.plugin.as_ref().map(|(plugin, _)| Arc::clone(plugin));
                let files = match &action {
                    HookAction::Command { line, .. } => {
                        HookFiles::of_line(line, plugin.as_deref(), place)
                    }
                    HookAction::McpTool { .. } => HookFiles::default(),
                };
                let hash = HookHash {
                    definition,
                    files: files.content.clone(),
                };
                let (trust, check) = states.trust(file.source, &key, &hash, &files);
                if let (HookTrust::Modified, Some(problem)) = (trust, &files.problem) {
                    let warning = format!("the hook {key} does not run: {problem}");
                    self.warnings.push(warning);
                }
                self.hooks.push(Hook {
                    event,
                    action,
                    matcher: matcher.clone(),
                    timeout: Duration::from_secs(timeout),
                    status_message: handler.status_message,
                    context_limit: handler.context_limit,
                    on_error: handler.on_error,
                    source: file.source,
                    source_path: path.to_path_buf(),
                    plugin,
                    display_order: i64::try_from(self.hooks.len()).unwrap_or(i64::MAX),
                    enabled: states.enabled(&key),
                    trust,
                    check,
                    hash: hash.whole(),
                    definition: hash.definition,
                    files,
                    key,
                });
            }
        }
    }

    fn unsupported(&mut self, kind: &str, path: &Path) {
        self.warnings.push(format!(
            "skipping {kind} hook in {}: {kind} hooks are not supported yet",
            path.display()
        ));
    }

    /// The timeout of a hook, in seconds.
    fn timeout(&mut self, event: HookEventName, asked: Option<u64>, path: &Path) -> u64 {
        let (default, longest) = timeouts(event);
        let asked = asked.unwrap_or(default).max(1);
        match longest {
            Some(longest) if asked > longest => {
                self.warnings.push(format!(
                    "clamping {} hook timeout to {longest}s in {}",
                    event.pascal_case(),
                    path.display()
                ));
                longest
            }
            _ => asked,
        }
    }
}

/// The groups in a file; none if the file does not exist or cannot be read.
fn read_file(path: &Path, warnings: &mut Vec<String>) -> Option<HookGroups> {
    let text = match read_bounded(path) {
        Ok(text) => text?,
        Err(error) => {
            let warning = format!("failed to read hooks config {}: {error}", path.display());
            warnings.push(warning);
            return None;
        }
    };
    match serde_json::from_slice::<HooksFile>(&text) {
        Ok(file) => Some(file.hooks),
        Err(error) => {
            warnings.push(unparsable(path, &error));
            None
        }
    }
}

fn unparsable(path: &Path, error: &serde_json::Error) -> String {
    format!("failed to parse hooks config {}: {error}", path.display())
}

/// The groups in a table of settings; none if there are only decisions of the user in it.
fn read_table(table: &Value, path: &Path, warnings: &mut Vec<String>) -> Option<HookGroups> {
    let has_groups = |name: &HookEventName| table.get(name.pascal_case()).is_some();
    if !HookEventName::ALL.iter().any(has_groups) {
        return None;
    }
    match HookGroups::deserialize(table) {
        Ok(groups) => Some(groups),
        Err(error) => {
            warnings.push(unparsable(path, &error));
            None
        }
    }
}

fn read_bounded(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // A pipe would block until somebody writes to it.
    match codex_mounts::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(io::Error::other("not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut text = Vec::new();
    let mut file = File::open(path)?.take(FILE_LIMIT + 1);
    file.read_to_end(&mut text)?;
    if text.len() as u64 > FILE_LIMIT {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::hook::{HookTrust, OnError};

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn with_hooks(text: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(HOOKS_FILE), text).unwrap();
            Self(folder)
        }

        fn layer(&self) -> HookLayer {
            HookLayer {
                source: HookSource::User,
                folder: Some(self.0.path().to_path_buf()),
                settings_file: self.0.path().join("config.toml"),
                table: None,
            }
        }

        fn load(&self) -> HookCatalog {
            self.load_with(&HookStates::default())
        }

        fn load_with(&self, states: &HookStates) -> HookCatalog {
            load_layers(&[self.layer()], states)
        }
    }

    fn load_layers(layers: &[HookLayer], states: &HookStates) -> HookCatalog {
        let place = HookPlace {
            cwd: Path::new("/"),
            environment: &BTreeMap::new(),
            may_write: &|_| false,
            record: None,
        };
        load(layers, Vec::new(), states, &place)
    }

    fn command(fields: Value) -> String {
        let mut handler = json!({ "type": "command", "command": "echo a" });
        for (key, value) in fields.as_object().unwrap() {
            handler[key] = value.clone();
        }
        json!({ "hooks": { "PreToolUse": [{ "hooks": [handler] }] } }).to_string()
    }

    fn only(fields: Value) -> Hook {
        let catalog = Folder::with_hooks(&command(fields)).load();
        assert_eq!(catalog.warnings, Vec::<String>::new());
        assert_eq!(catalog.hooks.len(), 1);
        catalog.hooks[0].clone()
    }

    #[test]
    fn a_hook_has_defaults() {
        let hook = only(json!({ "futureField": 1 }));
        assert_eq!(hook.timeout, Duration::from_secs(600));
        assert_eq!(hook.on_error, OnError::Ignore);
        let line = "echo a".to_owned();
        let is_async = false;
        assert_eq!(hook.action, HookAction::Command { line, is_async });
        assert!(hook.enabled);
        assert_eq!(hook.trust, HookTrust::Untrusted);
        assert!(hook.key.ends_with("/hooks.json:pre_tool_use:0:0"));
    }

    #[test]
    fn hook_has_its_configured_values() {
        assert_eq!(
            only(json!({ "timeout": 0 })).timeout,
            Duration::from_secs(1)
        );
        assert_eq!(
            only(json!({ "timeoutSec": 5 })).timeout,
            Duration::from_secs(5)
        );
        assert_eq!(only(json!({ "onError": "block" })).on_error, OnError::Block);
        assert_eq!(
            only(json!({ "additionalContextLimit": 9 })).context_limit,
            Some(9)
        );
        let action = only(json!({ "async": true })).action;
        assert!(matches!(action, HookAction::Command { is_async: true, .. }));
    }

    #[test]
    fn a_hook_can_be_a_tool_of_a_server() {
        let fields =
            json!({ "type": "mcp_tool", "server": "s", "tool": "t", "input": { "a": "x" } });
        let Value::Object(input) = json!({ "a": "x" }) else {
            panic!()
        };
        let (server, tool) = ("s".to_owned(), "t".to_owned());
        let hook = only(fields);
        assert_eq!(
            hook.action,
            HookAction::McpTool {
                server,
                tool,
                input
            }
        );
        assert_eq!(hook.timeout, Duration::from_secs(600));
    }

    #[test]
    fn hooks_are_listed_by_event_and_layer() {
        let hooks = |event: &str| json!([{ "hooks": [{ "type": "command", "command": event }] }]);
        let first =
            json!({ "hooks": { "Stop": hooks("s"), "PreToolUse": hooks("p"), "Later": 1 } });
        let (first, second) = (
            Folder::with_hooks(&first.to_string()),
            Folder::with_hooks(&json!({ "hooks": { "PreToolUse": hooks("q") } }).to_string()),
        );
        let inline = HookLayer {
            source: HookSource::SessionFlags,
            folder: None,
            settings_file: "/<session-flags>/config.toml".into(),
            table: Some(json!({ "Interrupt": hooks("i"), "state": {} })),
        };
        let layers = [first.layer(), second.layer(), inline];
        let catalog = load_layers(&layers, &HookStates::default());
        let listed: Vec<_> = catalog
            .hooks
            .iter()
            .map(|hook| match &hook.action {
                HookAction::Command { line, .. } => line.as_str(),
                HookAction::McpTool { tool, .. } => tool.as_str(),
            })
            .collect();
        assert_eq!(listed, ["p", "q", "s", "i"]);
        let orders = catalog.hooks.iter().map(|hook| hook.display_order);
        assert!(orders.eq(0..4));
        assert_eq!(
            catalog.hooks[3].key,
            "/<session-flags>/config.toml:interrupt:0:0"
        );
        assert_eq!(
            catalog.hooks[3].run_id(Some("c")),
            "interrupt:3:/<session-flags>/config.toml:c"
        );
    }

    fn warns(text: &str, hooks: usize, expected: &str) {
        let folder = Folder::with_hooks(text);
        let catalog = folder.load();
        let warnings = catalog.warnings.join("\n");
        assert!(warnings.starts_with(expected), "{text}: {warnings}");
        assert_eq!(
            warnings.is_empty(),
            expected.is_empty(),
            "{text}: {warnings}"
        );
        assert_eq!(catalog.hooks.len(), hooks, "{text}");
    }

    #[test]
    fn invalid_hook_files_give_warnings() {
        for nothing in ["{}", r#"{"hooks":{}}"#, r#"{"hooks":{"Stop":[{}]}}"#] {
            warns(nothing, 0, "");
        }
        for broken in [
            "",
            "{",
            r#"{"other":1}"#,
            r#"{"hooks":{"Stop":"x"}}"#,
            r#"{"hooks":{"Stop":[{"hooks":[{"type":"weird"}]}]}}"#,
        ] {
            warns(broken, 0, "failed to parse hooks config ");
        }
        warns(
            &command(json!({ "timeout": -1 })),
            0,
            "failed to parse hooks config ",
        );
        warns(
            &command(json!({ "onError": "explode" })),
            0,
            "failed to parse hooks config ",
        );
        warns(
            &command(json!({ "command": " \t" })),
            0,
            "skipping empty hook command in ",
        );
        warns(
            &command(json!({ "type": "mcp_tool", "tool": "t" })),
            0,
            "failed to parse hooks config ",
        );
        for kind in ["prompt", "agent"] {
            let expected = format!("skipping {kind} hook in ");
            warns(&command(json!({ "type": kind })), 0, &expected);
        }
        let matcher = r#"{"hooks":{"PreToolUse":[{"matcher":"(","hooks":[]}]}}"#;
        warns(matcher, 0, "invalid matcher \"(\" in ");
        let long = json!({ "type": "command", "command": "x", "timeout": 9 });
        let long = json!({ "hooks": { "Interrupt": [{ "hooks": [long] }] } }).to_string();
        warns(&long, 1, "clamping Interrupt hook timeout to 3s in ");
    }

    #[test]
    fn missing_hook_file_is_empty_and_a_folder_warns() {
        let folder = Folder(tempfile::tempdir().unwrap());
        let catalog = folder.load();
        assert!(catalog.hooks.is_empty() && catalog.warnings.is_empty());
        std::fs::create_dir(folder.0.path().join(HOOKS_FILE)).unwrap();
        assert_eq!(folder.load().warnings.len(), 1);
    }

    #[test]
    fn a_trusted_hook_that_changes_is_not_trusted() {
        let folder = Folder::with_hooks(&command(json!({})));
        let before = folder.load().hooks[0].clone();
        let states = json!({ before.key.clone(): { "trusted_hash": before.hash } });
        let states = HookStates::parse(&states);
        let trust = || folder.load_with(&states).hooks[0].trust;
        assert_eq!(trust(), HookTrust::Trusted);
        std::fs::write(
            folder.0.path().join(HOOKS_FILE),
            command(json!({ "command": "echo b" })),
        )
        .unwrap();
        assert_eq!(trust(), HookTrust::Modified);
        let changed = folder.load_with(&states).hooks[0].clone();
        assert!(!changed.may_run(true));
        assert!(before.may_run(true) && !before.may_run(false));
    }

    /// A hook that runs a script of the working folder, and the layer that configures it.
    struct ScriptHook {
        settings: Folder,
        work: tempfile::TempDir,
        record: codex_program_files::ProgramRecord,
        _home: tempfile::TempDir,
    }

    impl ScriptHook {
        fn new(line: &str) -> Self {
            let work = tempfile::tempdir().unwrap();
            std::fs::write(work.path().join("check.sh"), "one").unwrap();
            let home = tempfile::tempdir().unwrap();
            Self {
                settings: Folder::with_hooks(&command(json!({ "command": line }))),
                work,
                record: codex_program_files::ProgramRecord::of_home(home.path()),
                _home: home,
            }
        }

        fn with_place<T>(&self, writable: bool, then: impl FnOnce(&HookPlace<'_>) -> T) -> T {
            let work = self.work.path().canonicalize().unwrap();
            then(&HookPlace {
                cwd: &work,
                environment: &BTreeMap::new(),
                may_write: &|path| writable && path.starts_with(&work),
                record: Some(&self.record),
            })
        }

        fn hook(&self, trusted: Option<&str>, writable: bool) -> Hook {
            let hook = |states: &HookStates| {
                self.with_place(writable, |place| {
                    load(&[self.settings.layer()], Vec::new(), states, place).hooks[0].clone()
                })
            };
            let untrusted = hook(&HookStates::default());
            let Some(trusted) = trusted else {
                return untrusted;
            };
            let states = json!({ untrusted.key: { "trusted_hash": trusted } });
            hook(&HookStates::parse(&states))
        }

        fn write(&self, text: &str) {
            std::fs::write(self.work.path().join("check.sh"), text).unwrap();
        }

        fn check(&self, hook: &Hook) -> Result<(), crate::FileProblem> {
            self.with_place(true, |place| {
                hook.check_files(place, Path::new("/")).map(drop)
            })
        }
    }

    #[test]
    fn hook_hash_has_files_of_its_command_line() {
        let test = ScriptHook::new("bash check.sh");
        let hash = test.hook(None, true).hash;
        let empty = ScriptHook::new("bash check.sh");
        std::fs::remove_file(empty.work.path().join("check.sh")).unwrap();
        let definition = empty.hook(None, true).hash;
        let trusted = test.hook(Some(&hash), true);
        assert_eq!(trusted.trust, HookTrust::Trusted);
        assert!(test.check(&trusted).is_ok());
        // It changes while the session goes on.
        test.write("two");
        let changed = test.check(&trusted);
        assert!(matches!(changed, Err(crate::FileProblem::Changed)));
        assert_eq!(test.hook(Some(&hash), true).trust, HookTrust::Modified);
        test.write("one");
        assert!(test.check(&trusted).is_ok());
        // Trust of another release counts where nobody else can have written the file.
        let of_other = |writable| test.hook(Some(&definition), writable);
        assert_eq!(of_other(true).trust, HookTrust::Modified);
        assert_eq!(of_other(false).trust, HookTrust::Trusted);
        assert!(matches!(
            test.check(&of_other(false)),
            Err(crate::FileProblem::Writable(_))
        ));
    }

    #[test]
    fn hook_with_an_unknown_program_is_never_trusted() {
        let test = ScriptHook::new("bash \"$(cat name)\"");
        let hook = test.hook(None, true);
        let trusted = test.hook(Some(&hook.hash), true);
        assert_eq!(trusted.trust, HookTrust::Modified);
        assert!(matches!(
            test.check(&trusted),
            Err(crate::FileProblem::Unknown(_))
        ));
    }

    #[test]
    fn undecided_hook_runs_its_first_content() {
        let test = ScriptHook::new("./check.sh");
        let hook = test.hook(None, true);
        assert!(test.check(&hook).is_ok());
        test.write("two");
        let changed = test.check(&hook);
        assert!(matches!(changed, Err(crate::FileProblem::NotAsRecorded(_))));
    }
}
