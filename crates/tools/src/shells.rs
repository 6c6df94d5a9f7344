//! Which shell a model is offered. Calls of the others are accepted, as models try what they were trained with.

use codex_model_client::{ShellType, ToolSpec};

use super::command::AskablePermissions;
use super::offer::{ToolSetBuilder, ToolSituation};
use super::shell::ShellTool;
use super::shell_command::ShellCommandTool;
use super::unified_exec::{ExecCommandTool, WriteStdinTool};

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
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
        builder.offer(ExecCommandTool {
            askable,
            login: options.allow_login_shell,
            environments: environments.clone(),
        });
        builder.offer(WriteStdinTool);
    } else {
        match kind {
            ShellType::Disabled => {}
            ShellType::Default => builder.offer(argv.clone()),
            ShellType::ShellCommand | ShellType::UnifiedExec => builder.offer(script.clone()),
            ShellType::Local => builder.specs.push(ToolSpec::LocalShell),
        }
    }
    for name in ["shell", "container.exec", "local_shell"] {
        builder.accept(name, argv.clone());
    }
    builder.accept("shell_command", script);
}
