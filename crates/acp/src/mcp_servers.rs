//! MCP servers in a request of the client, as settings of a thread. Pure.

use agent_client_protocol_schema::v1::{Error, HttpHeader, McpServer};
use serde_json::{Map, Value, json};

use crate::errors;

/// The servers that the client defines, and the names of those that the configuration defines already.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ClientServers {
    pub(crate) servers: Map<String, Value>,
    pub(crate) ignored: Vec<String>,
}

pub(crate) fn settings(
    servers: &[McpServer],
    is_configured: impl Fn(&str) -> bool,
) -> Result<ClientServers, Error> {
    let mut client_servers = ClientServers::default();
    for server in servers {
        let (name, settings) = setting(server)?;
        if is_configured(name) {
            client_servers.ignored.push(name.to_owned())
        } else {
            client_servers.servers.insert(name.to_owned(), settings);
        }
    }
    Ok(client_servers)
}

fn setting(server: &McpServer) -> Result<(&str, Value), Error> {
    match server {
        McpServer::Stdio(server) => {
            let env = server.env.iter();
            let env: Map<_, _> = env
                .map(|variable| (variable.name.clone(), json!(variable.value)))
                .collect();
            let settings = json!({ "command": server.command, "args": server.args, "env": env });
            Ok((&server.name, settings))
        }
        McpServer::Http(server) => {
            let headers = headers(&server.headers);
            let settings = json!({ "url": server.url, "http_headers": headers });
            Ok((&server.name, settings))
        }
        McpServer::Sse(server) => Err(errors::invalid(format!(
            "MCP server `{}` speaks over sse, which is not supported; use http or stdio",
            server.name
        ))),
        _ => Err(errors::invalid(
            "an MCP server of this kind is not supported",
        )),
    }
}

fn headers(headers: &[HttpHeader]) -> Map<String, Value> {
    let pairs = headers.iter();
    pairs
        .map(|header| (header.name.clone(), json!(header.value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client_servers(servers: Value) -> Result<ClientServers, Error> {
        let servers: Vec<McpServer> = serde_json::from_value(servers).unwrap();
        settings(&servers, |name| name == "mine")
    }

    #[test]
    fn programs_and_addresses_become_settings() {
        let servers = json!([
            { "name": "a", "command": "/bin/a", "args": ["x"], "env": [{ "name": "K", "value": "V" }] },
            { "type": "http", "name": "b", "url": "https://b.example",
              "headers": [{ "name": "H", "value": "v" }] },
            { "name": "mine", "command": "/bin/other", "args": [], "env": [] },
        ]);
        let expected = json!({
            "a": { "command": "/bin/a", "args": ["x"], "env": { "K": "V" } },
            "b": { "url": "https://b.example", "http_headers": { "H": "v" } },
        });
        let client_servers = client_servers(servers).unwrap();
        assert_eq!(Value::from(client_servers.servers), expected);
        assert_eq!(client_servers.ignored, ["mine"]);
    }

    #[test]
    fn sse_is_refused() {
        let server =
            json!([{ "type": "sse", "name": "c", "url": "https://c.example", "headers": [] }]);
        assert_eq!(i32::from(client_servers(server).unwrap_err().code), -32602);
    }
}
