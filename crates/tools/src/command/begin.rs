//! The item of a command, before it begins.

use std::path::Path;

use codex_gate::command_summary;
use codex_protocol::{ExecCommandBeginEvent, ExecCommandSource};
use codex_sandbox::Grants;

use crate::command_item::CommandItem;
use crate::places::CallPlace;
use crate::tool::ToolContext;

/// The item of a command of this call, which has not begun.
pub(crate) fn command_item(
    context: &ToolContext,
    command: &[String],
    cwd: &Path,
    place: &CallPlace,
    source: ExecCommandSource,
    process_id: Option<String>,
) -> CommandItem {
    let turn_policy = context.settings.turn_policy(&context.session.config);
    let begin = ExecCommandBeginEvent {
        call_id: context.call.id.clone(),
        process_id,
        turn_id: context.emitter.turn_id().to_owned(),
        command: command.to_vec(),
        cwd: cwd.display().to_string(),
        parsed_cmd: command_summary(
            command,
            cwd,
            place.elsewhere().is_some(),
            &turn_policy,
            Grants::default(),
        ),
        source,
        interaction_input: None,
        environment: place.machine(),
    };
    CommandItem::new(
        context.emitter.clone(),
        context.session.clock.clone(),
        begin,
    )
}
