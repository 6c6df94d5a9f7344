//! Approval policy, sandbox and web search.

use std::path::{Path, PathBuf};
use std::time::Duration;

use codex_protocol::{
    ActivePermissions, ApprovalsReviewer, AskForApproval, ReadOnlyAccess, SandboxPolicy,
    WebSearchMode, WebSearchToolConfig,
};
use codex_sandbox::NetworkLimits;
use codex_system::facts::CONFINES_BY_DEFAULT;

use crate::config::LoadRequest;
use crate::config::network::network_limits;
use crate::config::permission_policy::absolute;
use crate::config::permissions::{
    ConfiguredPermissions, configured_permissions, limits_of_permissions, named_permissions,
};
use crate::error::ConfigError;
use crate::features::{Feature, FeatureSet};
use crate::requirements::RequirementViolation;
use crate::schema::{ConfigFile, SandboxMode, WindowsSandbox, WorkspaceWriteFile};
use crate::stack::{LayerStack, MergedTables};
use crate::trust::TrustLevel;
use crate::warning::ConfigWarning;

const MAX_POLL_MS: u64 = 300_000;
const LEAST_MAX_POLL_MS: u64 = 5_000;

/// Approval policy, sandbox and web search.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySettings {
    pub approval_policy: AskForApproval,
    /// Who reviews approvals.
    pub approvals_reviewer: ApprovalsReviewer,
    /// The sandbox policy. With named permissions it allows no more than they do.
    pub sandbox_policy: SandboxPolicy,
    /// The name of the permissions that `sandbox_policy` was made of, if they were chosen by name.
    pub permissions: Option<ActivePermissions>,
    /// The settings that limit the network of `permissions` to certain hosts.
    pub host_limits: Vec<String>,
    /// What limits the network of commands to certain hosts, besides permissions and rules.
    pub network_limits: NetworkLimits,
    /// The permissions that the configuration defines.
    pub configured_permissions: Vec<ConfiguredPermissions>,
    /// Whether tools may run a login shell.
    pub allow_login_shell: bool,
    /// The longest wait for a background terminal.
    pub background_terminal_max_timeout: Duration,
    /// Whether the model may search the web. If requirements allow it, cached results become live ones for turns with
    /// full access to everything else.
    pub web_search: WebSearchMode,
    /// The sandbox on Windows; none if commands run without one.
    pub windows_sandbox: Option<WindowsSandbox>,
    /// How web searches are narrowed.
    pub web_search_options: Option<WebSearchToolConfig>,
}

impl PolicySettings {
    /// Takes from named permissions all but what they let commands read. Other settings, which cannot be used, may have
    /// allowed less.
    pub(super) fn keep_only_reading_of_permissions(&mut self) {
        if self.permissions.take().is_some() {
            self.sandbox_policy = self.sandbox_policy.only_reading();
            self.host_limits.clear();
        }
    }
}

/// A value, and whether it was set explicitly.
struct ExplicitChoice<T> {
    value: T,
    explicit: bool,
}

impl<T> ExplicitChoice<T> {
    fn new(explicit: Option<T>, default: impl FnOnce() -> T) -> Self {
        match explicit {
            Some(value) => Self {
                value,
                explicit: true,
            },
            None => Self {
                value: default(),
                explicit: false,
            },
        }
    }
}

pub(super) fn resolve(
    stack: &LayerStack,
    tables: &MergedTables,
    file: &ConfigFile,
    request: LoadRequest<'_>,
    features: FeatureSet,
    warnings: &mut Vec<ConfigWarning>,
) -> Result<PolicySettings, ConfigError> {
    let limits = stack.requirements();
    let params = request.params;
    let approval = params.approval_policy.or(file.approval_policy);
    let approval = ExplicitChoice::new(approval, || default_approval(stack.trust()));
    let permissions = chosen_permissions(stack, tables, file, request)?;
    let of_mode = |mode| match mode {
        SandboxMode::ReadOnly => read_only(),
        SandboxMode::WorkspaceWrite => {
            let home = request.env.codex_home.as_path();
            workspace_write(file, Some(home).filter(|_| !params.protects_memories))
        }
        SandboxMode::DangerFullAccess => SandboxPolicy::DangerFullAccess,
    };
    let sandbox = match &permissions {
        Some(name) => Some(match SandboxMode::of_permissions(name) {
            Some(mode) => of_mode(mode),
            None => {
                let named = named_permissions(file, name, request.env, warnings)?;
                warnings.extend(named.network_problem().map(ConfigWarning::new));
                named.as_sandbox_policy(name)?
            }
        }),
        None => params.sandbox_mode.or(file.sandbox_mode).map(of_mode),
    };
    let windows_sandbox = file.windows.and_then(|windows| windows.sandbox);
    let confines = CONFINES_BY_DEFAULT || windows_sandbox == Some(WindowsSandbox::Unelevated);
    let sandbox = ExplicitChoice::new(sandbox, || of_mode(default_mode(stack.trust(), confines)));
    let sandbox_checked = limits.check_sandbox_policy(&sandbox.value);
    // Permissions that are not allowed are not in force.
    let permissions = permissions.filter(|_| sandbox_checked.is_ok());
    let configured_permissions = configured_permissions(file, request.env);
    let own = (configured_permissions.iter()).find(|own| permissions.as_ref() == Some(&own.id));
    let host_limits = own.map(|own| own.host_limits.clone()).unwrap_or_default();
    let extends = own.and_then(|own| own.extends.clone());
    let permissions = permissions.map(|id| ActivePermissions { id, extends });
    let mut all_limits = network_limits(&tables.merge(), features, limits);
    for limit in limits_of_permissions(file, request.env) {
        all_limits.add_of_permissions(limit);
    }
    let search = ExplicitChoice::new(explicit_search(file, features), || WebSearchMode::Cached);
    let search_checked = limits.check_web_search(search.value);
    let approval_checked = limits.check_approval_policy(approval.value);
    Ok(PolicySettings {
        approval_policy: enforce(
            approval,
            approval_checked,
            || limits.approval_fallback(),
            warnings,
        ),
        approvals_reviewer: params
            .approvals_reviewer
            .or(file.approvals_reviewer)
            .unwrap_or_default(),
        windows_sandbox,
        sandbox_policy: enforce(sandbox, sandbox_checked, read_only, warnings),
        permissions,
        host_limits,
        network_limits: all_limits,
        configured_permissions,
        allow_login_shell: file.allow_login_shell.unwrap_or(true),
        background_terminal_max_timeout: Duration::from_millis(
            file.background_terminal_max_timeout
                .unwrap_or(MAX_POLL_MS)
                .max(LEAST_MAX_POLL_MS),
        ),
        web_search: enforce(
            search,
            search_checked,
            || limits.web_search_fallback(),
            warnings,
        ),
        web_search_options: file
            .tools
            .as_ref()
            .and_then(|tools| tools.web_search.clone()),
    })
}

/// Returns the value if it is allowed, else the fallback. Adds a warning only for explicit values.
fn enforce<T: std::fmt::Debug>(
    choice: ExplicitChoice<T>,
    checked: Result<(), RequirementViolation>,
    fallback: impl FnOnce() -> T,
    warnings: &mut Vec<ConfigWarning>,
) -> T {
    let Err(violation) = checked else {
        return choice.value;
    };
    let fallback = fallback();
    if choice.explicit {
        warnings.push(ConfigWarning::new(format!(
            "Configured value for `{}` is disallowed by requirements; falling back to required value \
             {fallback:?}. Details: {violation}",
            violation.field,
        )));
    }
    fallback
}

fn default_approval(trust: Option<TrustLevel>) -> AskForApproval {
    match trust {
        Some(TrustLevel::Untrusted) => AskForApproval::UnlessTrusted,
        Some(TrustLevel::Trusted) | None => AskForApproval::OnRequest,
    }
}

/// `confines` says whether commands have a sandbox.
fn default_mode(trust: Option<TrustLevel>, confines: bool) -> SandboxMode {
    match trust {
        Some(_) if confines => SandboxMode::WorkspaceWrite,
        _ => SandboxMode::ReadOnly,
    }
}

pub(super) fn read_only() -> SandboxPolicy {
    SandboxPolicy::ReadOnly {
        access: ReadOnlyAccess::FullAccess,
        network_access: false,
    }
}

/// With a home folder, the memories in it may be written too.
fn workspace_write(file: &ConfigFile, home: Option<&Path>) -> SandboxPolicy {
    let default = WorkspaceWriteFile::default();
    let settings = file.sandbox_workspace_write.as_ref().unwrap_or(&default);
    let mut roots: Vec<PathBuf> = Vec::new();
    for root in &settings.writable_roots {
        if !roots.contains(root) {
            roots.push(root.clone());
        }
    }
    // Sent to clients whether the feature is enabled or not.
    roots.extend(home.map(|home| home.join("memories")));
    SandboxPolicy::WorkspaceWrite {
        writable_roots: roots.iter().filter_map(|path| absolute(path)).collect(),
        read_only_access: ReadOnlyAccess::FullAccess,
        network_access: settings.network_access,
        exclude_tmpdir_env_var: settings.exclude_tmpdir_env_var,
        exclude_slash_tmp: settings.exclude_slash_tmp,
        read_only_paths: Vec::new(),
    }
}

/// The web search mode from the settings, in its current or older form.
fn explicit_search(file: &ConfigFile, features: FeatureSet) -> Option<WebSearchMode> {
    let older = [
        (Feature::WebSearchCached, WebSearchMode::Cached),
        (Feature::WebSearchRequest, WebSearchMode::Live),
    ];
    let older = older
        .into_iter()
        .find(|(feature, _)| features.enabled(*feature));
    file.web_search.or(older.map(|(_, mode)| mode))
}

/// The name of the permissions that choose the sandbox, unless a mode does. What the request says takes precedence, then
/// a mode in the profile. Otherwise the highest layer decides; within one layer a name takes precedence over a mode.
fn chosen_permissions(
    stack: &LayerStack,
    tables: &MergedTables,
    file: &ConfigFile,
    request: LoadRequest<'_>,
) -> Result<Option<String>, ConfigError> {
    if let Some(name) = &request.params.permissions {
        return Ok(Some(name.clone()));
    }
    if request.params.sandbox_mode.is_some() || tables.profile.contains_key("sandbox_mode") {
        return Ok(None);
    }
    for layer in stack.enabled().rev() {
        let table = layer.effective_table();
        if table.contains_key("default_permissions") {
            return Ok(Some(file.default_permissions.clone().unwrap_or_default()));
        }
        if table.contains_key("sandbox_mode") {
            return Ok(None);
        }
    }
    if file.permissions.as_ref().is_some_and(|all| !all.is_empty()) {
        return Err(ConfigError::setting(
            "config defines `[permissions]` profiles but does not set `default_permissions`",
        ));
    }
    Ok(None)
}
