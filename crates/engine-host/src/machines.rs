//! Other machines that threads may work on.

use std::sync::Arc;

use codex_config::{Config, EnvironmentInherit, VariablesElsewhere};
use codex_core::OtherMachines;
use codex_environments::Environments;
use codex_environments::wire::{InheritedVariables, VariablePolicy};

/// The machines of the process, with what a configuration says about all of them.
pub(crate) fn of_config(config: &Config, environments: &Arc<Environments>) -> OtherMachines {
    OtherMachines {
        environments: Arc::clone(environments),
        variables: variable_policy(config.shell_environment.elsewhere()),
        instruction_names: config.project_docs.names(),
        max_instruction_bytes: config.project_docs.max_bytes,
    }
}

fn variable_policy(policy: VariablesElsewhere) -> VariablePolicy {
    VariablePolicy {
        inherit: match policy.inherit {
            EnvironmentInherit::All => InheritedVariables::All,
            EnvironmentInherit::Core => InheritedVariables::Core,
            EnvironmentInherit::None => InheritedVariables::None,
        },
        ignore_default_excludes: !policy.drop_secrets,
        exclude: policy.exclude,
        set: policy.set,
        include_only: policy.include_only,
    }
}
