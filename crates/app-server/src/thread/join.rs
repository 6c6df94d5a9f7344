//! Subscribes clients that resume a loaded thread.

use std::path::Path;
use std::sync::Arc;

use codex_app_server_protocol::client_method as method;
use codex_app_server_protocol::v2::ThreadResumeParams;

use super::actor::Actor;
use super::facts::stored_thread;
use super::opened_usage::show_usage;
use super::stored::cursors::newest_cursors;
use super::stored::record::{add_metadata, add_stored_state};
use super::stored::turn_pages::first_page;
use crate::connection::Responder;
use crate::failure::Failure;

impl Actor {
    /// Subscribes a client that resumes the loaded thread.
    pub(crate) async fn join(
        &mut self,
        params: ThreadResumeParams,
        reply: Responder<method::ThreadResume>,
    ) {
        let id = self.thread.id();
        if self.is_closing {
            let message =
                format!("thread {id} is closing; retry thread/resume after the thread is closed");
            return reply.refuse(Failure::invalid(message));
        }
        if let Err(failure) = self.fits(&params) {
            return reply.refuse(failure);
        }
        match self
            .read_file(reply.connection().dialect().stored_form())
            .await
        {
            Ok((path, loaded)) => {
                let usage = loaded.usage;
                let (mut thread, turns) = stored_thread(&path, loaded, self.status());
                add_metadata(&self.server, &mut thread).await;
                if let Err(failure) = add_stored_state(&self.server, &mut thread).await {
                    return reply.refuse(failure);
                }
                let connection = Arc::clone(reply.connection());
                let dialect = self.subscribers.dialect_in_turn(&connection);
                let running = self.fold.running_turn();
                let running = running.map(|running| dialect.running_turn(id.as_str(), running));
                let mut resumed = self.facts.resumed(thread);
                resumed.approvals_reviewer = connection.reviewer_name(resumed.approvals_reviewer);
                resumed.sandbox = connection.shown_sandbox(resumed.sandbox);
                resumed.interrupted_turn = self.interrupted_turn(&params, &connection);
                if connection.dialect().keeps_settings() {
                    resumed.thread.cwd.clone_from(&resumed.cwd);
                }
                let interrupted = resumed.interrupted_turn.as_ref();
                let is_continued = interrupted.is_some_and(|turn| turn.is_continued);
                match newest_cursors(&self.server, path.clone()).await {
                    Ok((turns, items)) => {
                        resumed.turns_backwards_cursor = turns;
                        resumed.items_backwards_cursor = items;
                    }
                    Err(failure) => return reply.refuse(failure),
                }
                let asked = params.initial_turns_page.clone();
                match first_page(&self.server, path, running.clone(), asked).await {
                    Ok(page) => resumed.initial_turns_page = page,
                    Err(failure) => return reply.refuse(failure),
                }
                if params.exclude_turns {
                    reply.accept(&resumed);
                } else {
                    let ended = turns.newest_with_usage(running.as_ref().map(|turn| &*turn.id));
                    let turns = turns.with_running(running);
                    reply.accept_with(&resumed, &turns);
                    show_usage(&connection, &resumed.thread.id, ended.as_deref(), usage);
                }
                self.subscribe(&connection);
                self.show_goal(&connection);
                self.ask_again(&connection);
                self.share_agents(&connection).await;
                if is_continued {
                    self.continue_as_resumed().await;
                }
                self.start_next_turn().await;
            }
            Err(failure) => reply.refuse(failure),
        }
    }

    /// Whether a resume request refers to this thread.
    fn fits(&self, params: &ThreadResumeParams) -> Result<(), Failure> {
        let id = self.thread.id();
        if params.history.is_some() {
            let message =
                format!("cannot resume thread {id} with history while it is already running");
            return Err(Failure::invalid(message));
        }
        let (Some(asked), Some(own)) = (&params.path, &self.facts.path) else {
            return Ok(());
        };
        let folder = std::env::current_dir().unwrap_or_default();
        if is_same_file(&folder.join(asked), own) {
            return Ok(());
        }
        let own = own.display();
        Err(Failure::invalid(format!(
            "cannot resume running thread {id} with mismatched path: requested `{asked}`, active `{own}`"
        )))
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let canonical =
        |path: &Path| codex_mounts::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    one == other || canonical(one) == canonical(other)
}
