//! Removes turns from the history of a loaded thread.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use codex_app_server_protocol::v2::{
    ThreadReadStateChangedNotification, ThreadRevertResponse, ThreadRevertedNotification,
};
use codex_app_server_protocol::{ServerNotification, client_method as method};
use codex_core::UpdateSettings;
use codex_projection::wire_read_state;
use codex_protocol::{
    EventMsg, Op, RolloutItem, ServiceTier, ThreadSettingsPatch, TokenUsageInfo, Update,
};
use codex_rollout::{RolloutChain, scan_segment};

use super::actor::Actor;
use super::facts::stored_thread;
use super::pending_rollback::{PendingRollback, RevertReply, RollbackCaller};
use super::stored::cursors::newest_cursors;
use super::stored::record::add_metadata;
use crate::blocking::blocking;
use crate::connection::Responder;
use crate::failure::Failure;

impl Actor {
    /// Removes a turn and all later ones from the history. Changed files are kept. A running turn is interrupted first.
    pub(crate) async fn revert(&mut self, before: &str, reply: Responder<method::ThreadRevert>) {
        if self.facts.has_legacy_history {
            let message = "thread/revert only supports paginated threads";
            return reply.refuse(Failure::invalid(message));
        }
        if self.is_reverting() || self.revert_after_turn.is_some() {
            let message = "the thread is being reverted already";
            return reply.refuse(Failure::invalid(message));
        }
        if let Some(running) = self.turn.clone() {
            if running != before
                && let Err(failure) = self.turns_from(before).await
            {
                return reply.refuse(failure);
            }
            self.fold.interrupted_by_client(&running);
            return match self.thread.submit(Op::Interrupt).await {
                Ok(_) => self.revert_after_turn = Some((before.to_owned(), reply)),
                Err(error) => reply.refuse(Failure::internal(error.to_string())),
            };
        }
        if let Err((reply, failure)) = self.begin_revert(before, RevertReply::Revert(reply)).await {
            self.refuse_revert(reply, failure).await;
        }
    }

    /// Continues a revert that has waited for the end of a turn.
    pub(super) async fn revert_now(&mut self) {
        if let Some((before, reply)) = self.revert_after_turn.take() {
            self.revert(&before, reply).await;
        }
    }

    /// Asks the engine to remove a turn and all later ones.
    pub(super) async fn begin_revert(
        &mut self,
        before: &str,
        reply: RevertReply,
    ) -> Result<(), (RevertReply, Failure)> {
        let (removed, token_usage) = match self.turns_from(before).await {
            Ok(found) => found,
            Err(failure) => return Err((reply, failure)),
        };
        let num_turns = u32::try_from(removed.len()).unwrap_or(u32::MAX);
        let first = Some(before.to_owned());
        let caller = RollbackCaller::Revert { removed, reply };
        self.begin_rollback(num_turns, first, token_usage, caller)
            .await;
        Ok(())
    }

    /// Whether the engine takes turns back for a revert.
    pub(super) fn is_reverting(&self) -> bool {
        let is_revert =
            |pending: &PendingRollback| matches!(pending.caller, RollbackCaller::Revert { .. });
        self.rollbacks.iter().any(is_revert)
    }

    /// Refuses a revert. Files that went back already are taken back.
    pub(super) async fn refuse_revert(&mut self, reply: RevertReply, failure: Failure) {
        match reply {
            RevertReply::Revert(reply) => reply.refuse(failure),
            RevertReply::Restore { reply, restored } => {
                let failure = self.take_files_back(&restored, failure).await;
                reply.refuse(failure);
            }
        }
    }

    /// The ids of a turn and all later ones, and what was used before them.
    async fn turns_from(
        &self,
        turn: &str,
    ) -> Result<(Vec<String>, Option<Box<TokenUsageInfo>>), Failure> {
        let missing = || Failure::invalid(format!("turn not found: {turn}"));
        let _ = self.thread.flush().await;
        let path = self.facts.path.clone().filter(|path| path.exists());
        let path = path.ok_or_else(missing)?;
        let (server, wanted) = (std::sync::Arc::clone(&self.server), turn.to_owned());
        let found = blocking(move || {
            let unreadable = |error: std::io::Error| Failure::internal(error.to_string());
            let outline = server.outlines().get(&path).map_err(unreadable)?;
            let ids: Vec<String> = outline.ids().map(str::to_owned).collect();
            let Some(at) = ids.iter().position(|id| *id == wanted) else {
                return Ok(None);
            };
            let begin = outline.beginning_of(at).unwrap_or_default();
            let usage = usage_before(&path, begin).map_err(unreadable)?;
            Ok(Some((ids[at..].to_vec(), usage)))
        });
        found.await?.ok_or_else(missing)
    }

    pub(super) async fn reverted(&mut self, removed: &[String], reply: RevertReply) {
        match reply {
            RevertReply::Revert(reply) => {
                self.keep_settings().await;
                self.answer_revert(reply).await;
            }
            RevertReply::Restore { reply, restored } => reply.accept(&restored),
        }
        let thread_id = self.thread.id().to_string();
        let state = self.server.state();
        match state.forget_unread_turns(&thread_id, removed) {
            Ok(None) => {}
            Ok(Some(state)) => self.notify(ServerNotification::ThreadReadStateChanged(
                ThreadReadStateChangedNotification {
                    thread_id: thread_id.clone(),
                    read_state: wire_read_state(state),
                },
            )),
            Err(error) => tracing::warn!(%error, "the read state of a thread is not kept"),
        }
        let reverted = ThreadRevertedNotification { thread_id };
        self.server
            .broadcast(&ServerNotification::ThreadReverted(reverted));
    }

    /// The settings are stored with a revert, and a tier that was never chosen becomes the default one.
    async fn keep_settings(&mut self) {
        let patch = ThreadSettingsPatch {
            service_tier: match self.thread.settings().service_tier {
                None => Update::Set(ServiceTier::Default),
                Some(_) => Update::Leave,
            },
            ..ThreadSettingsPatch::default()
        };
        match self.thread.call(UpdateSettings(patch)).await {
            Ok(settings) => self.store_settings(&settings).await,
            Err(error) => tracing::warn!(%error, "the settings of a reverted thread are not kept"),
        }
    }

    async fn answer_revert(&mut self, reply: Responder<method::ThreadRevert>) {
        let (path, loaded) = match self
            .read_file(reply.connection().dialect().stored_form())
            .await
        {
            Ok(read) => read,
            Err(failure) => return reply.refuse(failure),
        };
        let cursors = newest_cursors(&self.server, path.clone()).await;
        let (mut thread, _) = stored_thread(&path, loaded, self.status());
        add_metadata(&self.server, &mut thread).await;
        let (turns_backwards_cursor, items_backwards_cursor) = cursors.unwrap_or_default();
        reply.accept(&ThreadRevertResponse {
            thread: self.facts.with_live(thread),
            turns_backwards_cursor,
            items_backwards_cursor,
        });
    }
}

/// The token usage that was stored last before a position in a file.
fn usage_before(path: &Path, end: u64) -> io::Result<Option<Box<TokenUsageInfo>>> {
    let mut last = None;
    scan_segment(&RolloutChain::open(path)?, 0..end, |line| {
        let is_usage = line
            .kind()
            .is_some_and(|(_, payload)| payload.as_deref() == Some("token_count"));
        if is_usage
            && let Some(read) = line.read()
            && let RolloutItem::EventMsg(EventMsg::TokenCount(count)) = read.item
        {
            last = count.info.map(Box::new).or(last.take());
        }
        ControlFlow::Continue(())
    })?;
    Ok(last)
}
