//! Where the MCP server of apps is, by the address of the service.

/// The address of the service.
pub const DEFAULT_BASE: &str = "https://chatgpt.com/backend-api";
const HOSTS: [&str; 2] = ["https://chatgpt.com", "https://chat.openai.com"];

/// The address of the service without a slash at the end, and with the path that the known hosts need.
#[must_use]
pub fn service_address(base: &str) -> String {
    let base = base.trim_end_matches('/');
    let is_known = HOSTS.iter().any(|host| base.starts_with(host));
    if is_known && !base.contains("/backend-api") {
        format!("{base}/backend-api")
    } else {
        base.to_owned()
    }
}

/// The address of the MCP server of apps.
#[must_use]
pub fn server_address(base: &str) -> String {
    let base = service_address(base);
    if base.contains("/backend-api") {
        format!("{base}/wham/apps")
    } else if base.contains("/api/codex") {
        format!("{base}/apps")
    } else {
        format!("{base}/api/codex/apps")
    }
}

/// Where other services have that server.
#[must_use]
pub fn other_server_address(base: &str) -> String {
    let base = service_address(base);
    if base.contains("/backend-api") || base.contains("/api/codex") {
        format!("{base}/ps/mcp")
    } else {
        format!("{base}/api/codex/ps/mcp")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_depends_on_the_host() {
        for (base, expected) in [
            (
                "https://chatgpt.com/backend-api/",
                "https://chatgpt.com/backend-api/wham/apps",
            ),
            (
                "https://chat.openai.com",
                "https://chat.openai.com/backend-api/wham/apps",
            ),
            (
                "http://127.0.0.1:1/api/codex",
                "http://127.0.0.1:1/api/codex/apps",
            ),
            ("http://127.0.0.1:1//", "http://127.0.0.1:1/api/codex/apps"),
        ] {
            assert_eq!(server_address(base), expected);
        }
    }
}
