//! What this machine has: a sandbox, git, and how it reaches others.

use std::process::{Command, Stdio};

use codex_engine_host::environment::variable;
use codex_engine_host::resources::http_pool;
use codex_http::{ProxySettings, without_secrets};
use codex_sandbox::{EnforcementLevels, Namespaces, NetworkMode};
use serde_json::json;

use crate::finding::{Finding, FindingState};

/// The variables that name a file of certificates, the first one first.
const CERTIFICATES: [&str; 2] = ["CODEX_CA_CERTIFICATE", "SSL_CERT_FILE"];

pub(crate) fn sandbox(levels: EnforcementLevels) -> Finding {
    let message = means(levels);
    let finding = of_levels(levels, message);
    finding
        .fact("landlock", levels.landlock)
        .fact("seccomp", levels.seccomp)
        .fact("namespaces", levels.namespaces != Namespaces::Unavailable)
        .fact("limits_hosts", levels.limits_hosts())
        .fact("seatbelt", levels.seatbelt)
        .fact("restricted_token", levels.restricted_token)
}

fn of_levels(levels: EnforcementLevels, message: String) -> Finding {
    if levels.can_confine(NetworkMode::Restricted) {
        Finding::new("sandbox", FindingState::Ok, message)
    } else {
        Finding::new("sandbox", FindingState::Warning, message).advise(
            "Commands cannot be confined here: you are asked to let them run without a sandbox, or \
             they are refused. On Linux, use a kernel with Landlock, or allow user namespaces. On Windows, a \
             policy that allows the network can be enforced if `windows.sandbox` is `unelevated`.",
        )
    }
}

/// What a sandbox can be made of here, in words.
fn means(levels: EnforcementLevels) -> String {
    let landlock = match levels.landlock {
        0 => None,
        version => Some(format!("Landlock version {version}")),
    };
    let namespaces = match levels.namespaces {
        Namespaces::Unavailable => None,
        Namespaces::Mounts => Some("mount namespaces"),
        Namespaces::MountsAndProcesses => Some("mount and process namespaces"),
    };
    let others = [
        levels.seccomp.then_some("system call filters"),
        namespaces,
        levels.limits_hosts().then_some("networks limited to hosts"),
        levels.seatbelt.then_some("Seatbelt"),
        levels.restricted_token.then_some("restricted tokens"),
    ];
    let others = others.into_iter().flatten().map(str::to_owned);
    let available: Vec<String> = landlock.into_iter().chain(others).collect();
    if available.is_empty() {
        "no means of confining commands is available".to_owned()
    } else {
        format!("available: {}", available.join(", "))
    }
}

/// Whether git is there, which diffs, checkpoints and facts about repositories need.
pub(crate) fn git() -> Finding {
    let asked = Command::new("git")
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let version = asked.ok().filter(|output| output.status.success());
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok());
    match version {
        Some(version) => {
            let version = version.trim().trim_start_matches("git version ").to_owned();
            Finding::new("git", FindingState::Ok, format!("version {version}"))
                .fact("version", version)
        }
        None => Finding::new("git", FindingState::Warning, "it is not on the search path")
            .advise("Install git: without it there are no diffs and no facts about repositories."),
    }
}

/// The proxies and certificates of connections.
pub(crate) fn connections() -> Finding {
    let proxies = ProxySettings::from_environment(&variable);
    let named = [("http", &proxies.http), ("https", &proxies.https)];
    let named = named
        .into_iter()
        .filter_map(|(kind, proxy)| Some((kind, without_secrets(proxy.as_deref()?))));
    let named: Vec<(&str, String)> = named.collect();
    let certificates = CERTIFICATES
        .into_iter()
        .find_map(|name| Some((name, variable(name)?)));
    let proxy = match named.as_slice() {
        [] => "no proxy".to_owned(),
        all => {
            let all: Vec<String> = all
                .iter()
                .map(|(kind, proxy)| format!("{kind} by {proxy}"))
                .collect();
            all.join(", ")
        }
    };
    let roots = certificates.as_ref().map_or_else(
        || "certificates of the system".to_owned(),
        |(name, file)| format!("certificates of the system and of {file} ({name})"),
    );
    let finding = match http_pool().client("https://localhost/") {
        Ok(_) => Finding::new("connections", FindingState::Ok, format!("{proxy}; {roots}")),
        Err(error) => Finding::new("connections", FindingState::Error, error.to_string())
            .advise("Correct the variable that names the file or the proxy, or unset it.")
            .with_details([proxy, roots]),
    };
    finding
        .fact(
            "proxies",
            named
                .into_iter()
                .map(|(kind, proxy)| (kind.to_owned(), json!(proxy)))
                .collect::<serde_json::Map<_, _>>(),
        )
        .fact("certificates", certificates.map(|(_, file)| file))
}
