//! The roots and the network access that a policy requests.

use std::path::PathBuf;

use codex_host_policy::HostPolicy;

use crate::network_mode::NetworkMode;
use crate::platform::SHARED_TEMPORARY_FOLDER;
use crate::policy::{ConfinementPolicy, PolicyContext, ReadAccess};

/// A writable root that a policy requests.
pub(crate) struct RequestedRoot {
    pub(crate) path: PathBuf,
    pub(crate) is_temporary: bool,
}

impl RequestedRoot {
    fn named(path: PathBuf) -> Self {
        Self {
            path,
            is_temporary: false,
        }
    }

    fn temporary(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            is_temporary: true,
        }
    }
}

/// The readable and writable roots that a policy requests. `None` if it is not enforced here.
pub(crate) fn requested_roots<'p>(
    policy: &'p ConfinementPolicy,
    policy_context: &PolicyContext,
) -> Option<(&'p ReadAccess, Vec<RequestedRoot>)> {
    let (read, mut candidates) = match policy {
        ConfinementPolicy::DangerFullAccess | ConfinementPolicy::External { .. } => return None,
        ConfinementPolicy::ReadOnly { read, .. } => (read, Vec::new()),
        ConfinementPolicy::WorkspaceWrite(options) => {
            let mut candidates = vec![RequestedRoot::named(policy_context.cwd.clone())];
            for root in &options.writable_roots {
                candidates.push(RequestedRoot::named(policy_context.cwd.join(root)));
            }
            if let Some(shared) = SHARED_TEMPORARY_FOLDER.filter(|_| options.slash_tmp) {
                candidates.push(RequestedRoot::temporary(shared));
            }
            let tmpdir = policy_context.tmpdir.as_ref().filter(|_| options.tmpdir);
            if let Some(tmpdir) = tmpdir.filter(|path| path.is_absolute()) {
                candidates.push(RequestedRoot::temporary(tmpdir));
            }
            (&options.read, candidates)
        }
    };
    for path in &policy_context.grants.write {
        candidates.push(RequestedRoot::named(policy_context.cwd.join(path)));
    }
    Some((read, candidates))
}

/// The folders of restricted reading. They are resolved like writable roots: a link created by a command must not make
/// other paths readable.
pub(crate) fn requested_reads(read: &ReadAccess, policy_context: &PolicyContext) -> Vec<PathBuf> {
    let ReadAccess::Restricted { roots, .. } = read else {
        return Vec::new();
    };
    let named = roots.iter().chain(&policy_context.grants.read);
    let named = named.map(|root| policy_context.cwd.join(root));
    named.chain([policy_context.cwd.clone()]).collect()
}

/// The existing roots, with links resolved.
pub(crate) fn existing_paths(roots: &[RequestedRoot]) -> Vec<PathBuf> {
    let paths = roots
        .iter()
        .map(|root| codex_mounts::canonicalize(&root.path));
    paths.filter_map(Result::ok).collect()
}

/// The network of a command: that of its policy and its additional permissions, within the limits to hosts. `by_host` says
/// whether this system can enforce those.
#[must_use]
pub fn effective_network(
    policy: &ConfinementPolicy,
    policy_context: &PolicyContext,
    by_host: bool,
) -> NetworkMode {
    let wanted = if policy_context.grants.network {
        NetworkMode::Enabled
    } else {
        policy.network()
    };
    let limits = &policy_context.network_limits;
    let commands = policy.limited_commands();
    let stays_closed = matches!(policy, ConfinementPolicy::ReadOnly { .. })
        && wanted == NetworkMode::Restricted
        && !limits.open_by_permissions(commands);
    if stays_closed {
        // An administrator opens it for commands that may write only.
        return NetworkMode::Restricted;
    }
    limits.network(wanted, commands, by_host)
}

/// Which hosts a command may reach; none if its network is not limited to hosts, or if it has none.
#[must_use]
pub fn host_policy(
    policy: &ConfinementPolicy,
    policy_context: &PolicyContext,
    by_host: bool,
) -> Option<HostPolicy> {
    let network = effective_network(policy, policy_context, by_host);
    let hosts = || {
        policy_context
            .network_limits
            .hosts(policy.limited_commands())
    };
    (network == NetworkMode::ByHost).then(hosts)
}
