//! Which shell a model is offered. Calls of the others are accepted, as models try what they were trained with.

use codex_model_client::{ShellType, ToolSpec};

use super::command::AskablePermissions;
use super::offer::{ToolOffers, ToolSituation};
use super::shell::ShellTool;
use super::shell_command::ShellCommandTool;
use super::unified_exec::{ExecCommandTool, WriteStdinTool};

pub(super) fn offer(situation: &ToolSituation<'_>, offers: &mut ToolOffers) {
    let (options, environments) = (situation.options(), &situation.environments);
    let kind = situation.model.shell_type;
    if !environments.has_any || !options.features.shell_tool || kind == ShellType::Disabled {
        return;
    }
    let askable = AskablePermissions::in_session(situation.config);
    let argv = ShellTool {
        askable,
        environments: environments.clone(),
    };
    let script = ShellCommandTool {
        askable,
        login: options.allow_login_shell,
        environments: environments.clone(),
    };
    if options.features.unified_exec {
        offers.offer(ExecCommandTool {
            askable,
            login: options.allow_login_shell,
            environments: environments.clone(),
        });
        offers.offer(WriteStdinTool);
    } else {
        match kind {
            ShellType::Disabled => {}
            ShellType::Default => offers.offer(argv.clone()),
            ShellType::ShellCommand | ShellType::UnifiedExec => offers.offer(script.clone()),
            ShellType::Local => offers.specs.push(ToolSpec::LocalShell),
        }
    }
    for name in ["shell", "container.exec", "local_shell"] {
        offers.accept(name, argv.clone());
    }
    offers.accept("shell_command", script);
}
