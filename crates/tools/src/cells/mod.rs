//! The tools that run cells, and what cells can call.

mod descriptions;
mod exec;
mod nested;
mod output;
mod wait;

pub use nested::NestedTool;
pub(crate) use nested::NestedTools;

use codex_model_client::{ToolMode, ToolSpec};

use super::offer::{ToolSetBuilder, ToolSituation};
use descriptions::{exec_description, with_declaration};
use exec::ExecTool;
use nested::{NestedScope, is_direct_only};
use wait::WaitTool;

/// Offers scripts, beside the tools that they call or in place of them.
pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    let Some(code_mode) = &situation.options().code_mode else {
        return;
    };
    let replaces_tools = match situation.script_mode() {
        ToolMode::Direct => return,
        ToolMode::CodeMode => false,
        ToolMode::CodeModeOnly => true,
    };
    let scope = NestedScope {
        excluded: &code_mode.excluded_namespaces,
        recorded: &builder.recorded,
    };
    let nested = NestedTools::new(&builder.specs, &builder.deferred, scope);
    let description = exec_description(&nested, replaces_tools);
    let mut others = std::mem::take(&mut builder.specs);
    builder.offer(ExecTool {
        description: description.into(),
    });
    builder.offer(WaitTool);
    if replaces_tools {
        others.retain(|spec| match spec {
            ToolSpec::Function { name, .. } => is_direct_only(name),
            ToolSpec::Custom { .. } | ToolSpec::Namespace { .. } | ToolSpec::LocalShell => false,
            _ => true,
        });
    } else {
        for spec in &mut others {
            with_declaration(spec, &nested);
        }
    }
    builder.specs.extend(others);
    builder.nested = Some(nested);
}
