//! The end of a turn: recorded, saved, emitted.

use std::time::Duration;

use codex_hooks::EventInput;
use codex_protocol::{CheckpointCreatedEvent, EventMsg, TurnAbortReason, WarningEvent};
use codex_session_base::context;
use codex_session_base::events::HeldEvents;
use codex_session_base::history::{Conversation, Recorder};
use codex_session_base::input::{Input, LateInput};

use super::guard::TurnGuard;
use super::outcome::{CompletedTurn, TurnError};
use super::recording::RunningTurn;
use super::scope::TurnScope;

/// How long an abort waits for the disk.
const ABORT_FLUSH: Duration = Duration::from_millis(100);

/// How long an abort waits for the last look at the files.
const ABORT_CHECKPOINT: Duration = Duration::from_millis(500);

/// Ends a turn. Its end is emitted once it is on disk, so a turn that a client saw complete is complete after a
/// crash. By then other processes may write the thread, so a client of another one can go on at once.
pub(crate) async fn finish(
    scope: &TurnScope,
    conversation: &mut Conversation,
    guard: TurnGuard,
    ended: Result<CompletedTurn, TurnError>,
) {
    if let Some(replay) = &scope.session.config.services.replay {
        // A replay ends turns in the recorded order.
        replay.before_turn_end(scope.session.emitter.thread()).await;
    }
    match ended {
        Ok(completed) => {
            emit_checkpoint(scope).await;
            let held = scope.session.emitter.hold_events();
            guard.complete(completed);
            scope.session.emitter.give_back();
            saved(scope, held).await;
        }
        Err(TurnError::Stopped) => {
            let left = scope.take_last_input().await;
            let reason = scope.stop.reason();
            if reason == TurnAbortReason::Interrupted {
                scope.occasion().run_hooks(&EventInput::Interrupt).await;
                let recorder = Recorder {
                    raw_items: false,
                    ..scope.recorder()
                };
                conversation.record(
                    context::turn_aborted_marker(scope.tool_services.seat.is_some()),
                    &recorder,
                );
            }
            for input in left {
                // Items of the engine are kept.
                if !input.is_of_user() || scope.stop.late_input() == LateInput::Recorded {
                    record_late(scope, conversation, input).await;
                }
            }
            tokio::select! {
                () = emit_checkpoint(scope) => {}
                () = scope.session.clock.sleep(ABORT_CHECKPOINT) => {}
            }
            let held = scope.session.emitter.hold_events();
            guard.abort(reason);
            // A replaced turn makes room for another one of this process.
            if reason != TurnAbortReason::Replaced {
                scope.session.emitter.give_back();
            }
            tokio::select! {
                () = saved(scope, held) => {}
                () = scope.session.clock.sleep(ABORT_FLUSH) => {}
            }
        }
        Err(failure) => {
            if let Some(error) = failure.event() {
                scope.emitter().emit(EventMsg::Error(error));
            }
            finish_failed(scope, conversation, guard).await;
        }
    }
}

/// Ends a turn whose failure was emitted.
pub(crate) async fn finish_failed(
    scope: &TurnScope,
    conversation: &mut Conversation,
    guard: TurnGuard,
) {
    record_leftovers(scope, conversation).await;
    emit_checkpoint(scope).await;
    let held = scope.session.emitter.hold_events();
    guard.complete(CompletedTurn::default());
    scope.session.emitter.give_back();
    saved(scope, held).await;
}

/// Ends the checkpoint of the turn, and emits it if files were changed.
async fn emit_checkpoint(scope: &TurnScope) {
    let Some(checkpoint) = scope.checkpoint.end().await else {
        return;
    };
    let created = CheckpointCreatedEvent {
        turn_id: scope.settings.id.to_string(),
        checkpoint_id: checkpoint.id,
    };
    scope.emitter().emit(EventMsg::CheckpointCreated(created));
}

/// Records input that came too late for the model.
async fn record_leftovers(scope: &TurnScope, conversation: &mut Conversation) {
    for input in scope.take_last_input().await {
        record_late(scope, conversation, input).await;
    }
}

async fn record_late(scope: &TurnScope, conversation: &mut Conversation, input: Input) {
    let emitter = &scope.emitter();
    let mut turn = RunningTurn {
        scope,
        emitter,
        conversation,
    };
    turn.record_input(input, Vec::new()).await;
}

/// Releases the held events once they are on disk, or with a warning that they are not.
async fn saved(scope: &TurnScope, held: HeldEvents) {
    if let Err(error) = scope.session.emitter.flush().await {
        let message = format!("The conversation could not be saved: {error}");
        let warning = EventMsg::Warning(WarningEvent { message });
        held.emit_first(scope.emitter().turn_id(), warning);
    }
}
