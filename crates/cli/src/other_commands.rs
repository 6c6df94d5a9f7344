//! Commands of other releases that this program does not have: they say what to use.

use std::ffi::OsString;

use anyhow::bail;
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum OtherCommand {
    #[command(hide = true)]
    Agents(AnyArguments),
    #[command(hide = true, visible_alias = "cloud-tasks")]
    Cloud(AnyArguments),
    #[command(hide = true, visible_alias = "a")]
    Apply(AnyArguments),
    #[command(hide = true)]
    RemoteControl(AnyArguments),
    #[command(hide = true)]
    Update(AnyArguments),
    #[command(hide = true)]
    MigrateRollouts(AnyArguments),
    #[command(hide = true)]
    MigrateNfsDb(AnyArguments),
}

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct AnyArguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _all: Vec<OsString>,
}

pub(crate) fn refuse(command: &OtherCommand) -> anyhow::Result<()> {
    match command {
        OtherCommand::Agents(_) => bail!(
            "there is no command center of agents here; `codex resume` lists the threads of this folder and goes on with one"
        ),
        OtherCommand::Cloud(_) => {
            bail!("tasks of the cloud are not supported; `codex exec` runs one on this machine")
        }
        OtherCommand::Apply(_) => bail!(
            "there are no tasks of the cloud to apply; changes of `codex exec` are in the working folder, and `git apply FILE` applies others"
        ),
        OtherCommand::RemoteControl(_) => bail!(
            "remote control over a service is not supported; `codex app-server daemon start` and `ssh HOST codex app-server proxy` reach this machine"
        ),
        OtherCommand::Update(_) => bail!(
            "this program does not update itself; install it again in the way it was installed"
        ),
        OtherCommand::MigrateRollouts(_) | OtherCommand::MigrateNfsDb(_) => {
            bail!("nothing has to be migrated: threads of older releases are read as they are")
        }
    }
}
