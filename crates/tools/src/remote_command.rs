//! Starts commands on other machines.

use std::collections::BTreeMap;
use std::path::Path;

use codex_environments::RemotePath;
use codex_environments::wire::Sandbox;
use codex_gate::{Confinement, Permit, TurnPolicy};
use codex_session_base::config::is_sandboxed;
use codex_session_base::machines::{self, RemotePlace, RemoteStart, has_outer_sandbox, sandbox_of};
use codex_session_base::ports::RunningProcess;
use codex_shell_command::shell_call_without_startup_files;

use super::command_variables::own_variables;
use super::places::remote_path;
use super::tool::ToolContext;

/// Why nothing is done for a thread that relies on a sandbox around this program.
const OUTER_SANDBOX: &str =
    "this thread relies on a sandbox around this program, which does not reach the other machine";

/// A command of a call.
#[derive(Debug)]
pub(crate) struct RemoteCall<'a> {
    /// The number that the model knows it by.
    pub number: i32,
    pub argv: &'a [String],
    pub cwd: &'a Path,
    pub has_terminal: bool,
    pub variables: &'a [(&'a str, &'a str)],
}

/// Starts a command there. The error is a sentence for the model.
pub(crate) async fn start_there(
    context: &ToolContext,
    place: &RemotePlace,
    permit: &Permit,
    call: RemoteCall<'_>,
) -> Result<RunningProcess, String> {
    let sandbox = sandbox_there(context, place, permit.confinement(), &[])?;
    let turn_policy = context.settings.turn_policy(&context.session.config);
    let call_id = ("CODEX_TOOL_CALL_ID", context.call.id.as_str());
    let is_offline = !has_network(&turn_policy);
    let network = is_offline.then_some(("CODEX_SANDBOX_NETWORK_DISABLED", "1"));
    let more = call.variables.iter().copied().chain(network);
    let variables: Vec<(&str, &str)> = more.chain([call_id]).collect();
    let variables = own_variables(context, &turn_policy, &variables);
    let text = |text: std::ffi::OsString| text.into_string().ok();
    let variables: BTreeMap<String, String> = (variables.into_iter())
        .filter_map(|(name, value)| Some((text(name)?, text(value)?)))
        .collect();
    let start = RemoteStart {
        number: call.number,
        argv: argv_there(context, place, call.argv, sandbox.is_some()),
        cwd: remote_path(call.cwd)?,
        variables,
        has_terminal: call.has_terminal,
        takes_input: false,
        sandbox,
    };
    let started = machines::start(place, start).await;
    started.map_err(|error| format!("execution error on `{}`: {error}", place.id()))
}

/// Whether a command in the sandbox has the network there. Another machine does not limit it to certain hosts.
fn has_network(turn_policy: &TurnPolicy) -> bool {
    !turn_policy.network_is_restricted() && turn_policy.network_problem().is_none()
}

/// How something is confined there, with more folders that may be written. The error says why it cannot be done.
pub(crate) fn sandbox_there(
    context: &ToolContext,
    place: &RemotePlace,
    confinement: &Confinement,
    also_writable: &[RemotePath],
) -> Result<Option<Sandbox<RemotePath>>, String> {
    let settings = &context.settings;
    if has_outer_sandbox(&settings.sandbox_policy) {
        return Err(OUTER_SANDBOX.to_owned());
    }
    let turn_policy = settings.turn_policy(&context.session.config);
    let sandbox = match confinement {
        Confinement::None | Confinement::OfPerson => None,
        Confinement::Policy(_) => sandbox_of(
            &settings.sandbox_policy,
            has_network(&turn_policy),
            place,
            &settings.cwd,
            also_writable,
        )
        .map_err(|limit| limit.to_string())?,
    };
    // Without a sandbox, nothing would enforce what limits the network.
    if sandbox.is_none()
        && let Some(problem) = turn_policy.network_problem_outside()
    {
        return Err(format!(
            "it was not done, because limits of the network cannot be enforced on another machine: {problem}"
        ));
    }
    Ok(sandbox)
}

/// A command outside of the sandbox does not read the startup files of a shell if commands in the sandbox may have written them.
fn argv_there(
    context: &ToolContext,
    place: &RemotePlace,
    argv: &[String],
    is_confined: bool,
) -> Vec<String> {
    if is_confined || !is_sandboxed(&context.settings.sandbox_policy) {
        return argv.to_vec();
    }
    let facts = place.machine.known_facts();
    let home = facts.and_then(|facts| facts.home.clone());
    let has_home = |root: &RemotePath| {
        let below = home.as_ref().and_then(|home| home.below(root));
        below.is_some()
    };
    match argv {
        [shell, flags, script] if flags == "-lc" && place.roots.iter().any(has_home) => {
            shell_call_without_startup_files(shell, script)
        }
        argv => argv.to_vec(),
    }
}
