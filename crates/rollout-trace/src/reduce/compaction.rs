//! Compactions: attempts, and the history that one installs.

use super::fault::Fault;
use super::items::{CheckpointBody, ListReader};
use super::matching::Matching;
use super::normalise::Normalised;
use super::placement::Placement;
use super::position::LineContext;
use super::reducer::Reducer;
use crate::format::{Event, ExecutionStatus, PayloadRef};
use crate::ids::{CompactionId, CompactionRequestId, ItemId, PayloadId};
use crate::model::{Body, Channel, Compaction, CompactionRequest, ItemKind, Producer, Role};
use crate::payload_files::PayloadBytes;

impl Reducer {
    pub(super) fn apply_compaction(
        &mut self,
        context: LineContext,
        event: Event,
    ) -> Result<(), Fault> {
        match event {
            Event::CompactionRequestCompleted {
                compaction_id,
                compaction_request_id,
                response_payload,
            } => {
                self.expect_file(&response_payload);
                let payload = Some(response_payload.raw_payload_id);
                let status = ExecutionStatus::Completed;
                self.compaction_request_ended(compaction_id, compaction_request_id, status, payload)
                    .map(|_| ())
            }
            Event::CompactionRequestFailed {
                compaction_id,
                compaction_request_id,
                error,
            } => {
                let status = ExecutionStatus::Failed;
                let request = self.compaction_request_ended(
                    compaction_id,
                    compaction_request_id,
                    status,
                    None,
                )?;
                request.error = Some(error);
                Ok(())
            }
            Event::CompactionInstalled {
                compaction_id,
                checkpoint_payload,
            } => self.compaction_installed(context, compaction_id, checkpoint_payload),
            started => self.compaction_request_started(started),
        }
    }

    fn compaction_request_started(&mut self, event: Event) -> Result<(), Fault> {
        let Event::CompactionRequestStarted {
            compaction_id,
            compaction_request_id: request,
            thread_id,
            codex_turn_id,
            model,
            provider_name,
            request_payload,
        } = event
        else {
            return Ok(());
        };
        self.expect_file(&request_payload);
        if self.trace.compaction_requests.contains_key(&request) {
            return Err(Fault::DuplicateCompactionRequest(request));
        }
        self.require_thread(&thread_id)?;
        let what = || format!("compaction request start {request}");
        let thread_id = self.require_turn(what, &codex_turn_id, &thread_id)?;
        let attempt = CompactionRequest {
            compaction_request_id: request.clone(),
            compaction_id,
            thread_id,
            codex_turn_id,
            execution: self.now.open(),
            model,
            provider_name,
            raw_request_payload_id: request_payload.raw_payload_id,
            raw_response_payload_id: None,
            error: None,
        };
        self.trace.compaction_requests.insert(request, attempt);
        Ok(())
    }

    fn compaction_request_ended(
        &mut self,
        compaction: CompactionId,
        id: CompactionRequestId,
        status: ExecutionStatus,
        payload: Option<PayloadId>,
    ) -> Result<&mut CompactionRequest, Fault> {
        let Some(request) = self.trace.compaction_requests.get_mut(&id) else {
            return Err(Fault::UnknownCompactionRequest(id));
        };
        if request.compaction_id != compaction {
            return Err(Fault::OtherCompaction {
                request: id,
                used: compaction,
                started: request.compaction_id.clone(),
            });
        }
        self.now.close(&mut request.execution, status);
        request.raw_response_payload_id = payload;
        Ok(request)
    }

    fn compaction_installed(
        &mut self,
        context: LineContext,
        compaction: CompactionId,
        checkpoint: PayloadRef,
    ) -> Result<(), Fault> {
        let missing = |missing| Fault::NoCompactionContext {
            compaction: compaction.clone(),
            missing,
        };
        let used = context.thread.ok_or_else(|| missing("thread id"))?;
        let turn = context.turn.ok_or_else(|| missing("codex turn id"))?;
        if self.trace.compactions.contains_key(&compaction) {
            return Err(Fault::DuplicateCompaction(compaction));
        }
        self.require_thread(&used)?;
        let what = || format!("compaction installed event {compaction}");
        let thread_id = self.require_turn(what, &turn, &used)?;
        let placement = Placement {
            thread: self.thread_number(&thread_id),
            thread_id,
            turn,
            payload: checkpoint.raw_payload_id.clone(),
            producer: None,
        };
        let installed = self.with_payload(&checkpoint, |reducer, content| {
            reducer.install(&compaction, &checkpoint, content, placement)
        });
        self.tolerated(installed)?;
        Ok(())
    }

    fn install(
        &mut self,
        compaction: &CompactionId,
        checkpoint: &PayloadRef,
        content: &PayloadBytes<'_>,
        placement: Placement,
    ) -> Result<(), Fault> {
        let thread = placement.thread;
        let snapshot = self.conversation.view(thread).snapshot.clone();
        let reader = ListReader {
            conversation: &self.conversation,
            id: &checkpoint.raw_payload_id,
            schema: self.schema,
        };
        let CheckpointBody { input, replacement } = reader
            .checkpoint(content, &snapshot)
            .map_err(|error| Fault::unreadable(checkpoint, error))?;
        let no_history = |key| Fault::NoHistory {
            payload: checkpoint.raw_payload_id.clone(),
            key,
        };
        let input = input.items().ok_or_else(|| no_history("input_history"))?;
        let replacement = replacement
            .items()
            .ok_or_else(|| no_history("replacement_history"))?;

        let input_item_ids = self.place(input, Matching::Detached(&snapshot), &placement)?;
        let input_item_ids = input_item_ids.items;
        let placement = Placement {
            producer: Some(Producer::Compaction {
                compaction_id: compaction.clone(),
            }),
            ..placement
        };
        let marker_item_id = self.create_marker(&placement);
        let replacement_item_ids = self.place(replacement, Matching::Detached(&[]), &placement)?;
        let replacement_item_ids = replacement_item_ids.items;
        self.conversation.list(thread, &input_item_ids);
        self.conversation.list(thread, &[marker_item_id]);
        self.conversation.list(thread, &replacement_item_ids);
        self.conversation.view(thread).replacement = Some(replacement_item_ids.clone());

        let of_this = |request: &&CompactionRequest| request.compaction_id == *compaction;
        let request_ids = self.trace.compaction_requests.values().filter(of_this);
        let installed = Compaction {
            compaction_id: compaction.clone(),
            thread_id: placement.thread_id,
            codex_turn_id: placement.turn,
            installed_at_unix_ms: self.now.at,
            marker_item_id,
            request_ids: request_ids
                .map(|request| request.compaction_request_id.clone())
                .collect(),
            input_item_ids,
            replacement_item_ids,
        };
        self.trace.compactions.insert(compaction.clone(), installed);
        Ok(())
    }

    fn create_marker(&mut self, placement: &Placement) -> ItemId {
        let marker = Normalised {
            role: Role::Assistant,
            channel: None::<Channel>,
            kind: ItemKind::CompactionMarker,
            agent_message: None,
            body: Body { parts: Vec::new() },
            call_id: None,
            response_item_id: None,
        };
        let id = self.create_item(marker, placement);
        if let Some(producer) = &placement.producer {
            self.conversation.add_producer(id, producer);
        }
        id
    }
}
