//! The permissions of commands, described for the model.

use std::fmt::Write;

use codex_protocol::{AskForApproval, GranularApproval, NetworkAccess, SandboxPolicy};

use crate::config::{closed_network, listed_hosts, within_limits};
use crate::turn_settings::TurnSettings;

/// The section on permissions.
pub(super) fn text(turn: &TurnSettings) -> String {
    let mut text = "<permissions instructions>\n".to_owned();
    let policy = within_limits(&turn.sandbox_policy, &turn.network_limits);
    text.push_str(&sandbox(&policy));
    if let Some(reason) = closed_network(&turn.sandbox_policy, &turn.network_limits) {
        let _ = write!(text, " {reason}");
    }
    let asks = turn.approval_policy != AskForApproval::Never;
    if let Some(hosts) = listed_hosts(&turn.sandbox_policy, &turn.network_limits, asks) {
        let _ = write!(text, " {hosts}");
    }
    text.push('\n');
    text.push_str(&approval(turn.approval_policy));
    let allowed = &turn.instructions.allowed_commands;
    if turn.approval_policy == AskForApproval::OnRequest && !allowed.is_empty() {
        let _ = write!(
            text,
            "\nCommands that begin with these words are allowed already:\n{allowed}"
        );
    }
    if let SandboxPolicy::WorkspaceWrite { writable_roots, .. } = &turn.sandbox_policy {
        let _ = write!(text, "\nWritable folders: `{}`", turn.shown_cwd());
        for root in writable_roots {
            let _ = write!(text, ", `{}`", root.0);
        }
        text.push('.');
    }
    text.push_str("\n</permissions instructions>");
    text
}

fn sandbox(policy: &SandboxPolicy) -> String {
    let (mode, meaning, network) = match policy {
        SandboxPolicy::DangerFullAccess => {
            ("danger-full-access", "commands run without a sandbox", true)
        }
        SandboxPolicy::ExternalSandbox { network_access } => (
            "danger-full-access",
            "commands run without a sandbox of their own",
            *network_access == NetworkAccess::Enabled,
        ),
        SandboxPolicy::ReadOnly { network_access, .. } => (
            "read-only",
            "commands can read files but write none",
            *network_access,
        ),
        SandboxPolicy::WorkspaceWrite { network_access, .. } => (
            "workspace-write",
            "commands can read files, and write in the working folder and the writable folders",
            *network_access,
        ),
    };
    let network = if network { "enabled" } else { "restricted" };
    format!("The sandbox mode is `{mode}`: {meaning}. Network access is {network}.")
}

fn approval(policy: AskForApproval) -> String {
    match policy {
        AskForApproval::Never => {
            "The approval policy is `never`: nobody can be asked, and asking for \
            more permissions is rejected. Work with what is allowed."
                .to_owned()
        }
        AskForApproval::OnFailure => {
            "The approval policy is `on-failure`: commands run in the sandbox; \
            when one fails because of it, the user is asked whether to run it without."
                .to_owned()
        }
        AskForApproval::UnlessTrusted => {
            "The approval policy is `untrusted`: the user is asked about \
            every command that is not known to only read."
                .to_owned()
        }
        AskForApproval::OnRequest => on_request().to_owned(),
        AskForApproval::Granular(granular) => self::granular(granular),
    }
}

fn on_request() -> &'static str {
    "The approval policy is `on-request`: commands run in the sandbox. If a command that matters \
     cannot work there (it writes elsewhere, needs the network, opens a window), call the tool with \
     `sandbox_permissions` set to `require_escalated` and a one-sentence question to the user in \
     `justification`; do not ask in a message first. If the same kind of command will be needed \
     again, propose the words that it begins with in `prefix_rule`, narrow enough to be harmless. Do \
     the same for commands that destroy something and were not asked for by the user."
}

fn granular(granular: GranularApproval) -> String {
    let kinds = [
        ("leaving the sandbox", granular.sandbox_approval),
        ("rules", granular.rules),
        ("skills", granular.skill_approval),
        ("requests for permissions", granular.request_permissions),
        ("questions of MCP servers", granular.mcp_elicitations),
    ];
    let list = |asked: bool| {
        let kinds = kinds
            .iter()
            .filter(|(_, may)| *may == asked)
            .map(|(kind, _)| *kind);
        kinds.collect::<Vec<_>>().join(", ")
    };
    format!(
        "The approval policy is granular. The user is asked about: {}. Rejected without asking: {}.",
        list(true),
        list(false)
    )
}
