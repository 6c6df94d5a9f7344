//! What a turn without a UI is run with, and the checks before anything is started.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use codex_engine_host::environment::named_path;
use codex_regular_file::OutputFile;
use serde_json::{Value, json};

use crate::interactive_user::Screen;
use crate::server::RunningServer;

/// What a turn without a UI is run with.
#[derive(Debug)]
pub struct ExecOptions {
    /// None for a server in this process.
    pub running: Option<RunningServer>,
    /// The file of a scripted model.
    pub scenario: Option<PathBuf>,
    pub model: Option<String>,
    pub sandbox_mode: Option<&'static str>,
    /// Whether a reviewer decides about approvals. Otherwise nothing is asked.
    pub has_reviewer: bool,
    pub cwd: Option<PathBuf>,
    /// Whether the folder need not be inside a Git repository.
    pub allows_any_folder: bool,
    /// Another machine to work on: `NAME[:DIR]`.
    pub environment: Option<String>,
    /// More folders that are writable.
    pub writable_folders: Vec<PathBuf>,
    pub images: Vec<PathBuf>,
    pub is_ephemeral: bool,
    /// The purpose of the thread.
    pub thread_source: Option<String>,
    /// The file with the JSON Schema of the last message.
    pub output_schema: Option<PathBuf>,
    /// The file for the last message.
    pub last_message_file: Option<PathBuf>,
    /// Print events in place of the last message.
    pub prints_events: bool,
    /// Also print what fills the context of the model.
    pub prints_context: bool,
    /// Whether the reader of the progress sees the last message there.
    pub progress_shows_message: bool,
    /// How progress is shown.
    pub screen: Screen,
}

impl ExecOptions {
    /// Whether the server has the files of this machine.
    pub fn is_here(&self) -> bool {
        let running = self.running.as_ref();
        running.is_none_or(RunningServer::is_on_this_machine)
    }

    /// Refuses what the server cannot do, and files that cannot be read.
    ///
    /// # Errors
    /// The reason for people.
    pub fn check(&self) -> anyhow::Result<()> {
        self.check_server()?;
        self.check_that_files_answer()?;
        for image in &self.images {
            codex_regular_file::open(image)
                .with_context(|| format!("cannot read {}", image.display()))?;
            named_path(image)?;
        }
        Ok(())
    }

    /// What a running server cannot do is refused rather than ignored.
    fn check_server(&self) -> anyhow::Result<()> {
        if self.running.is_some() && self.scenario.is_some() {
            bail!("--scenario is for a server in this process; start the other one with it");
        }
        if !self.is_here() && !self.images.is_empty() {
            bail!("--image names files of this machine, which a server on another one cannot read");
        }
        if !self.is_here() && !self.writable_folders.is_empty() {
            bail!(
                "--add-dir names folders of this machine, which a server on another one does not have"
            );
        }
        Ok(())
    }

    /// Fails where a file is on a file system that does not answer: nothing could end the wait for it.
    fn check_that_files_answer(&self) -> anyhow::Result<()> {
        let single = [&self.last_message_file, &self.output_schema, &self.scenario];
        let mut files = (single.into_iter().flatten())
            .chain(&self.images)
            .chain(&self.writable_folders);
        Ok(files.try_for_each(|path| codex_mounts::check(path))?)
    }

    /// The working folder. Outside a git repository changes cannot be undone, so this must be allowed explicitly. That of
    /// another machine is not known here, and may be missing.
    ///
    /// # Errors
    /// Nothing can work there.
    pub fn working_folder(&self) -> anyhow::Result<Option<PathBuf>> {
        if !self.is_here() {
            return Ok(self.cwd.clone());
        }
        let cwd = match &self.cwd {
            Some(cwd) => codex_mounts::canonicalize(cwd)
                .with_context(|| format!("cannot work in {}", cwd.display()))?,
            None => env::current_dir().context("cannot determine the working folder")?,
        };
        named_path(&cwd)?;
        let in_repository = codex_project_markers::marked_folder(&cwd, ".git").is_some();
        // On another machine the folder here is not worked on.
        let is_allowed = self.allows_any_folder || self.environment.is_some();
        if !in_repository && !is_allowed {
            bail!(
                "{} is not inside a Git repository, where changes could be taken back; \
                 --skip-git-repo-check goes on all the same",
                cwd.display()
            );
        }
        Ok(Some(cwd))
    }

    /// The input of a turn.
    pub(super) fn input(&self, prompt: &str) -> Value {
        let images = self.images.iter().map(|path| {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            json!({ "type": "localImage", "path": path })
        });
        images
            .chain([json!({ "type": "text", "text": prompt })])
            .collect()
    }

    /// The params of a turn beside its input.
    pub(super) fn turn_params(&self) -> anyhow::Result<Value> {
        let schema = self.output_schema.as_deref().map(read_schema).transpose()?;
        Ok(schema.map_or_else(|| json!({}), |schema| json!({ "outputSchema": schema })))
    }

    pub(super) fn last_message_file(&self) -> Option<OutputFile> {
        self.last_message_file.clone().map(OutputFile::named)
    }
}

fn read_schema(path: &Path) -> anyhow::Result<Value> {
    let text = codex_mounts::check(path)
        .map_err(io::Error::from)
        .and_then(|()| std::fs::read_to_string(path))
        .with_context(|| format!("cannot read the output schema {}", path.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("the output schema {} is not JSON", path.display()))
}

#[cfg(test)]
pub(super) mod tests {
    use codex_client::Style;

    use super::*;

    pub(in crate::exec) fn options() -> ExecOptions {
        ExecOptions {
            running: None,
            scenario: None,
            model: None,
            sandbox_mode: None,
            has_reviewer: false,
            cwd: None,
            allows_any_folder: false,
            environment: None,
            writable_folders: Vec::new(),
            images: Vec::new(),
            is_ephemeral: false,
            thread_source: None,
            output_schema: None,
            last_message_file: None,
            prints_events: false,
            prints_context: false,
            progress_shows_message: false,
            screen: Screen {
                style: Style::Plain,
                width: 80,
            },
        }
    }

    #[test]
    fn local_files_are_refused_for_a_remote_server() {
        let elsewhere = RunningServer::at_address("wss://example.test", None).unwrap();
        let elsewhere = || Some(elsewhere.clone());
        let image = vec![PathBuf::from("/nowhere.png")];
        let refused = |options: ExecOptions| options.check().unwrap_err().to_string();
        let error = refused(ExecOptions {
            running: elsewhere(),
            images: image.clone(),
            ..options()
        });
        assert!(error.starts_with("--image names files"), "{error}");
        let error = refused(ExecOptions {
            running: elsewhere(),
            scenario: Some("hello.toml".into()),
            ..options()
        });
        assert!(error.starts_with("--scenario is for"), "{error}");
        let error = refused(ExecOptions {
            images: image,
            ..options()
        });
        assert_eq!(error, "cannot read /nowhere.png");
    }

    #[test]
    fn folder_outside_of_a_repository_has_to_be_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let inside = |allows_any_folder| {
            let options = ExecOptions {
                cwd: Some(folder.path().to_owned()),
                allows_any_folder,
                ..options()
            };
            options.working_folder()
        };
        let error = inside(false).unwrap_err().to_string();
        assert!(error.contains("not inside a Git repository"), "{error}");
        assert!(inside(true).unwrap().is_some());
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        std::fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert!(inside(false).unwrap().is_some());
    }
}
