//! An MCP server behind HTTP that wants a login, and is its own authorisation server.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came: its method and path, its headers in lower case, its body.
#[derive(Clone, Debug)]
pub(crate) struct OauthRequest {
    pub(crate) target: String,
    pub(crate) headers: String,
    pub(crate) body: String,
}

/// The server. Its tokens are `access-1`, `refresh-1` and so on, one pair for each time it gives some out.
#[derive(Clone, Default)]
pub(crate) struct OauthServer(Arc<Mutex<OauthServerState>>);

#[derive(Default)]
struct OauthServerState {
    url: String,
    heard: Vec<OauthRequest>,
    /// What is answered at some paths in place of the usual.
    instead: BTreeMap<&'static str, (&'static str, String)>,
    given: u32,
    /// The tokens that are good.
    good: Vec<String>,
}

impl OauthServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self::default();
        server.0.lock().url = format!("http://{}", listener.local_addr().unwrap());
        let own = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = own.clone();
                tokio::spawn(async move { server.serve(stream).await });
            }
        });
        server
    }

    /// The address of the MCP server.
    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.0.lock().url)
    }

    /// From now on, answers this at a path.
    pub(crate) fn answer(&self, path: &'static str, status: &'static str, body: &str) {
        let body = body.replace("URL", &self.0.lock().url.clone());
        self.0.lock().instead.insert(path, (status, body));
    }

    /// From now on, takes no token that was given out so far, and this one.
    pub(crate) fn takes_only(&self, token: &str) {
        self.0.lock().good = vec![token.to_owned()];
    }

    /// The requests at a path.
    pub(crate) fn requests_at(&self, path: &str) -> Vec<OauthRequest> {
        let mut heard = self.0.lock().heard.clone();
        heard.retain(|heard| heard.target.split([' ', '?']).nth(1) == Some(path));
        heard
    }

    /// One request for each connection.
    async fn serve(&self, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let (line, headers) = head.split_once("\r\n").unwrap();
        let headers = headers.to_lowercase();
        let length = headers
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.trim().parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        let heard = OauthRequest {
            target: line.to_owned(),
            headers,
            body: String::from_utf8(body).unwrap(),
        };
        let reply = self.reply(&heard);
        self.0.lock().heard.push(heard);
        let _ = stream.write_all(reply.as_bytes()).await;
    }

    fn reply(&self, heard: &OauthRequest) -> String {
        let path = heard.target.split([' ', '?']).nth(1).unwrap_or_default();
        let instead = self.0.lock().instead.get(path).cloned();
        if let Some((status, body)) = instead {
            return reply(status, &body);
        }
        let url = self.0.lock().url.clone();
        match path {
            "/.well-known/oauth-authorization-server" => {
                let description = json!({
                    "issuer": url,
                    "authorization_endpoint": format!("{url}/authorize"),
                    "token_endpoint": format!("{url}/token"),
                    "registration_endpoint": format!("{url}/register"),
                    "scopes_supported": ["read", "write"],
                });
                reply("200 OK", &description.to_string())
            }
            "/register" => reply("201 Created", r#"{"client_id":"client"}"#),
            "/token" => {
                let mut state = self.0.lock();
                state.given += 1;
                let number = state.given;
                state.good.push(format!("access-{number}"));
                let tokens = json!({
                    "access_token": format!("access-{number}"), "token_type": "Bearer",
                    "refresh_token": format!("refresh-{number}"), "expires_in": 3600,
                });
                reply("200 OK", &tokens.to_string())
            }
            "/mcp" => self.speak(heard),
            _ => reply("404 Not Found", ""),
        }
    }

    fn speak(&self, heard: &OauthRequest) -> String {
        let authorization = |line: &str| {
            let token = line.strip_prefix("authorization: bearer ")?;
            Some(self.0.lock().good.iter().any(|good| good == token))
        };
        if !heard
            .headers
            .lines()
            .any(|line| authorization(line) == Some(true))
        {
            return reply("401 Unauthorized\r\nwww-authenticate: Bearer", "");
        }
        let message: Value = serde_json::from_str(&heard.body).unwrap_or_default();
        let answer = |result: Value| {
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            reply("200 OK", &answer.to_string())
        };
        match message["method"].as_str() {
            Some("initialize") => {
                answer(json!({ "protocolVersion": "2025-06-18", "capabilities": {} }))
            }
            Some("tools/list") => {
                let tool = json!({ "name": "echo", "inputSchema": { "type": "object" } });
                answer(json!({ "tools": [tool] }))
            }
            None => reply("405 Method Not Allowed", ""),
            _ => reply("202 Accepted", ""),
        }
    }
}

fn reply(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
}

/// What a browser finds at an address on this machine: the first line and the body.
pub(crate) async fn browse(url: &str) -> (String, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, target) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).await.unwrap();
    let request = format!("GET /{target} HTTP/1.1\r\nhost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

/// A parameter of an address, decoded as far as these tests need it.
pub(crate) fn parameter(url: &str, name: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(known, _)| *known == name)?;
    Some(
        value
            .replace("%3A", ":")
            .replace("%2F", "/")
            .replace('+', " "),
    )
}
