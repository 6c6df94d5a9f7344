//! Threads and turns.

use std::collections::hash_map::Entry;

use super::fault::Fault;
use super::position::LineContext;
use super::reducer::Reducer;
use crate::format::{ExecutionStatus, PayloadRef, RolloutStatus};
use crate::ids::{EdgeId, ThreadId, TurnId};
use crate::json::Json;
use crate::model::{Thread, ThreadOrigin, Turn};

/// The metadata payload of a thread.
#[derive(Default)]
struct ThreadMetadata {
    agent_path: Option<String>,
    task_name: Option<String>,
    nickname: Option<String>,
    agent_role: Option<String>,
    model: Option<String>,
    spawn: Option<SpawnMetadata>,
}

struct SpawnMetadata {
    parent: ThreadId,
    agent_path: Option<String>,
    task_name: Option<String>,
    agent_role: Option<String>,
}

impl ThreadMetadata {
    /// None when a field is neither a string nor null.
    fn read(value: &Json<'_>) -> Option<Self> {
        let object = value.as_object()?;
        let field = |key| match object.get(key) {
            None | Some(Json::Null) => Some(None),
            Some(value) => value.as_str().map(|text| Some(text.to_owned())),
        };
        let spawn = value
            .get("session_source")
            .and_then(|source| source.get("subagent")?.get("thread_spawn"))
            .and_then(|spawn| {
                let text = |key| spawn.get_str(key).map(str::to_owned);
                Some(SpawnMetadata {
                    parent: spawn.get_str("parent_thread_id")?.into(),
                    agent_path: text("agent_path"),
                    task_name: text("task_name"),
                    agent_role: text("agent_role"),
                })
            });
        Some(Self {
            agent_path: field("agent_path")?,
            task_name: field("task_name")?,
            nickname: field("nickname")?,
            agent_role: field("agent_role")?,
            model: field("model")?,
            spawn,
        })
    }
}

/// The id of the edge that a spawn makes.
pub(super) fn spawn_edge_id(parent: impl std::fmt::Display, child: &ThreadId) -> EdgeId {
    format!("edge:spawn:{parent}:{child}").into()
}

impl Reducer {
    pub(super) fn thread_started(
        &mut self,
        thread_id: ThreadId,
        event_path: String,
        metadata_payload: Option<PayloadRef>,
    ) -> Result<(), Fault> {
        if self.trace.threads.contains_key(&thread_id)
            && !self.placeholders.threads.remove(&thread_id)
        {
            return Err(Fault::DuplicateThread(thread_id));
        }
        let metadata = match metadata_payload {
            None => None,
            Some(payload) => {
                let read = self.with_json(&payload, |_, value| {
                    let wrong = || Fault::Metadata(payload.raw_payload_id.clone());
                    ThreadMetadata::read(value).ok_or_else(wrong)
                });
                self.tolerated(read)?
            }
        };
        let thread = self.thread(thread_id.clone(), event_path, metadata.unwrap_or_default());
        self.trace.threads.insert(thread_id, thread);
        Ok(())
    }

    fn thread(&self, thread_id: ThreadId, event_path: String, metadata: ThreadMetadata) -> Thread {
        let own_path = metadata.agent_path.unwrap_or(event_path);
        let (agent_path, origin) = match metadata.spawn {
            None => (own_path, ThreadOrigin::Root),
            Some(spawn) => {
                let agent_path = spawn.agent_path.unwrap_or(own_path);
                let last_segment = agent_path.rsplit('/').find(|segment| !segment.is_empty());
                let task_name = spawn
                    .task_name
                    .or(metadata.task_name)
                    .unwrap_or_else(|| last_segment.unwrap_or(&agent_path).to_owned());
                let origin = ThreadOrigin::Spawned {
                    spawn_edge_id: spawn_edge_id(&spawn.parent, &thread_id),
                    parent_thread_id: spawn.parent,
                    task_name,
                    agent_role: spawn.agent_role.or(metadata.agent_role).unwrap_or_default(),
                };
                (agent_path, origin)
            }
        };
        Thread {
            thread_id,
            agent_path,
            nickname: metadata.nickname,
            origin,
            execution: self.now.open(),
            default_model: metadata.model,
            conversation_item_ids: Vec::new(),
        }
    }

    pub(super) fn thread_ended(
        &mut self,
        thread_id: ThreadId,
        status: RolloutStatus,
    ) -> Result<(), Fault> {
        match self.trace.threads.get_mut(&thread_id) {
            Some(thread) => {
                self.now.close(&mut thread.execution, status.into());
                Ok(())
            }
            None => Err(Fault::UnknownThread(thread_id)),
        }
    }

    /// An agent that had ended goes on.
    pub(super) fn thread_resumed(&mut self, thread_id: ThreadId) -> Result<(), Fault> {
        let Some(thread) = self.trace.threads.get_mut(&thread_id) else {
            let fault = Fault::ResumedUnknown(thread_id.clone());
            self.tolerate(fault)?;
            // It was started in an earlier trace; what it does now is worth keeping.
            return self.stand_in(&thread_id);
        };
        if thread.execution.ended_at_unix_ms.is_none() {
            return Err(Fault::ResumedRunning(thread_id));
        }
        thread.execution.ended_at_unix_ms = None;
        thread.execution.ended_seq = None;
        thread.execution.status = ExecutionStatus::Running;
        // The process is another one, and counts its cells and commands anew.
        self.cells.forget(&thread_id);
        self.tools.processes.forget(&thread_id);
        Ok(())
    }

    pub(super) fn turn_started(&mut self, turn: TurnId, thread: ThreadId) -> Result<(), Fault> {
        if self.trace.codex_turns.contains_key(&turn) && !self.placeholders.turns.remove(&turn) {
            return Err(Fault::DuplicateTurn(turn));
        }
        self.require_thread(&thread)?;
        self.insert_turn(turn, thread);
        Ok(())
    }

    fn insert_turn(&mut self, turn: TurnId, thread: ThreadId) {
        let turn = Turn {
            codex_turn_id: turn,
            thread_id: thread,
            execution: self.now.open(),
            input_item_ids: Vec::new(),
        };
        self.trace
            .codex_turns
            .insert(turn.codex_turn_id.clone(), turn);
    }

    /// Fails on an unknown thread, or creates an empty one: a lost start must not cost the rest.
    pub(super) fn require_thread(&mut self, thread: &ThreadId) -> Result<(), Fault> {
        if self.trace.threads.contains_key(thread) {
            return Ok(());
        }
        self.tolerate(Fault::UnknownThread(thread.clone()))?;
        self.stand_in(thread)
    }

    fn stand_in(&mut self, thread: &ThreadId) -> Result<(), Fault> {
        let path = if *thread == self.trace.root_thread_id {
            "/root"
        } else {
            ""
        };
        let stand_in = self.thread(thread.clone(), path.into(), ThreadMetadata::default());
        self.trace.threads.insert(thread.clone(), stand_in);
        self.placeholders.threads.insert(thread.clone());
        Ok(())
    }

    /// Makes sure that a turn is known and belongs to a thread; gives the thread that it belongs to.
    pub(super) fn require_turn(
        &mut self,
        what: impl Fn() -> String,
        turn: &TurnId,
        used: &ThreadId,
    ) -> Result<ThreadId, Fault> {
        let Some(known) = self.trace.codex_turns.get(turn) else {
            self.tolerate(Fault::UnknownTurn {
                what: what(),
                turn: turn.clone(),
            })?;
            self.require_thread(used)?;
            self.insert_turn(turn.clone(), used.clone());
            self.placeholders.turns.insert(turn.clone());
            return Ok(used.clone());
        };
        let owner = known.thread_id.clone();
        if owner != *used {
            self.tolerate(Fault::TurnThread {
                what: what(),
                used: used.clone(),
                owner: owner.clone(),
            })?;
        }
        Ok(owner)
    }

    pub(super) fn turn_ended(
        &mut self,
        context: LineContext,
        turn_id: TurnId,
        status: ExecutionStatus,
    ) -> Result<(), Fault> {
        let Some(turn) = self.trace.codex_turns.get_mut(&turn_id) else {
            return Err(Fault::UnknownTurnEnd(turn_id));
        };
        if let Some(used) = context.thread
            && used != turn.thread_id
        {
            return Err(Fault::TurnThread {
                what: format!("codex turn end for {turn_id}"),
                used,
                owner: turn.thread_id.clone(),
            });
        }
        self.now.close(&mut turn.execution, status);
        self.end_what_is_open(&turn_id, status);
        Ok(())
    }

    /// A turn takes what still runs in it along, but for its tools.
    fn end_what_is_open(&mut self, turn: &TurnId, status: ExecutionStatus) {
        let Entry::Occupied(mut open) = self.open_in_turn.entry(turn.clone()) else {
            return;
        };
        let (cell_end, inference_end) = match status {
            ExecutionStatus::Running => return,
            ExecutionStatus::Completed => (None, ExecutionStatus::Cancelled),
            ExecutionStatus::Failed => (Some(super::cells::FAILED_STATUS), ExecutionStatus::Failed),
            ExecutionStatus::Cancelled | ExecutionStatus::Aborted => {
                (Some(super::cells::TERMINATED_STATUS), status)
            }
        };
        let inferences = std::mem::take(&mut open.get_mut().inferences);
        let cells = match cell_end {
            Some(_) => std::mem::take(&mut open.get_mut().cells),
            None => Vec::new(),
        };
        for inference in inferences {
            if let Some(call) = self.trace.inference_calls.get_mut(&inference)
                && call.execution.status == ExecutionStatus::Running
            {
                self.now.close(&mut call.execution, inference_end);
            }
        }
        if let Some(end) = cell_end {
            for cell in cells {
                self.end_running_cell(&cell, end);
            }
        }
    }
}
