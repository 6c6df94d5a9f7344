//! The second phase: an agent works the notes into the files of the memory folder.
//!
//! One process does it at a time, and only if the notes have changed since. The agent may run commands in a copy of the folder, without a
//! network, and starts nothing else. Its copy is published when it is done.

use std::fmt::Write;
use std::io;
use std::time::Duration;

use codex_core::MemoryAgent;
use codex_protocol::{ReadOnlyAccess, SandboxPolicy};
use thiserror::Error;

use crate::folder::{self, Staging};
use crate::hidden_thread::{HiddenThreadError, ask};
use crate::lease::Lease;
use crate::note::Note;
use crate::run::{MemoryRun, Stopped, blocking};
use crate::store::{MemoryStoreError, now};

const INSTRUCTIONS: &str = include_str!("../prompts/consolidation.md").trim_ascii_end();
/// Shorter than the lease.
const TIME_LIMIT: Duration = Duration::from_mins(45);
const WORK: &str = "consolidate";

#[derive(Debug, Error)]
pub(crate) enum ConsolidationError {
    #[error(transparent)]
    Memories(#[from] MemoryStoreError),
    #[error("the memory folder: {0}")]
    Folder(#[from] io::Error),
    #[error(transparent)]
    Agent(#[from] HiddenThreadError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl MemoryRun {
    /// Consolidates the notes, if they have changed and no other process does.
    pub(crate) async fn consolidate(&self) -> Result<(), ConsolidationError> {
        let since = now() - 86_400 * i64::from(self.settings.max_unused_days);
        let limit = self.settings.max_raw_memories_for_consolidation;
        let notes = self.store.best(limit, since)?;
        let digest = digest(&notes);
        let known = self.store.digest()?;
        if known.as_ref() == Some(&digest) || (known.is_none() && notes.is_empty()) {
            return Ok(());
        }
        let Some(lease) = Lease::take(&self.store, WORK)? else {
            return Ok(());
        };
        let outcome = self.work_into_files(&notes, &lease).await;
        match outcome {
            // Otherwise everything was forgotten meanwhile.
            Ok(()) if lease.is_held()? => {
                self.store.set_consolidated(&digest, &notes)?;
                Ok(lease.finish()?)
            }
            Ok(()) => Ok(()),
            Err(error) => {
                lease.fail()?;
                Err(error)
            }
        }
    }

    async fn work_into_files(
        &self,
        notes: &[Note],
        lease: &Lease,
    ) -> Result<(), ConsolidationError> {
        let (home, own) = (self.config.services.home.clone(), notes.to_vec());
        let staging = blocking(move || Staging::prepare(&home, &own)).await??;
        // Without notes there is nothing to put in order.
        if !notes.is_empty() {
            self.run_agent(&staging).await?;
        }
        if lease.is_held()? {
            let (home, empty) = (self.config.services.home.clone(), notes.is_empty());
            blocking(move || {
                if empty {
                    folder::clear(&home)
                } else {
                    staging.publish(&home)
                }
            })
            .await??;
        }
        Ok(())
    }

    async fn run_agent(&self, staging: &Staging) -> Result<(), HiddenThreadError> {
        let policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            read_only_access: ReadOnlyAccess::FullAccess,
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
            read_only_paths: Vec::new(),
        };
        let limits = &self.config.options.limits;
        let allowed = limits.check(codex_protocol::AskForApproval::Never, &policy);
        allowed.map_err(|error| HiddenThreadError::Failed(error.to_string()))?;
        let model = self.settings.consolidation_model.as_deref();
        let config = self.config.for_memories(MemoryAgent {
            instructions: INSTRUCTIONS,
            cwd: staging.path(),
            model,
            sandbox_policy: policy,
            has_environment: true,
        });
        let question = changes(staging);
        ask(&self.manager, config, question, None, TIME_LIMIT).await?;
        Ok(())
    }
}

/// What the agent is asked to do.
fn changes(staging: &Staging) -> String {
    let mut text = "Bring the memory files in the working folder up to date.\n".to_owned();
    for (title, files) in [("New", &staging.new), ("Removed", &staging.removed)] {
        if !files.is_empty() {
            let _ = write!(
                text,
                "\n{title} since the last time, in `rollout_summaries`:\n"
            );
            for file in files {
                let _ = writeln!(text, "- {file}");
            }
        }
    }
    text
}

/// What tells these notes from others.
fn digest(notes: &[Note]) -> String {
    let mut keys: Vec<String> = notes
        .iter()
        .map(|note| format!("{}@{}", note.thread, note.thread_updated_at))
        .collect();
    keys.sort();
    keys.join(" ")
}
