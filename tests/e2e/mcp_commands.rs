//! `codex mcp`: edits of the user's settings, what is shown of servers, logins from a terminal.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::oauth_server::{OauthServer, browse, parameter};

const SETTINGS: &str = "# mine
model = \"x\" # why

[mcp_servers.old]
command = \"cat\" # this one
args = [\"a b\", \"c\"]
";

fn home(config: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("config.toml"), config).unwrap();
    home
}

fn config(home: &TempDir) -> String {
    fs::read_to_string(home.path().join("config.toml")).unwrap()
}

fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_codex"));
    command
        .arg("mcp")
        .args(arguments)
        .current_dir(home)
        .env("CODEX_HOME", home)
        .env("HOME", home)
        .env("RUST_LOG", "debug")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Runs to the end: the status, what was answered and what was said beside it.
async fn run(home: &TempDir, arguments: &[&str]) -> (i32, String, String) {
    let output = command(home.path(), arguments).output().await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

async fn answer(home: &TempDir, arguments: &[&str]) -> String {
    let (status, answer, said) = run(home, arguments).await;
    assert_eq!(status, 0, "{arguments:?}: {answer}{said}");
    answer
}

async fn listed(home: &TempDir) -> Value {
    serde_json::from_str(&answer(home, &["list", "--json"]).await).unwrap()
}

#[tokio::test]
async fn servers_come_and_go_and_comments_stay() {
    let home = home(SETTINGS);
    let add = [
        "add", "one", "--env", "A=1", "--env", "B=2=3", "--", "prog", "--flag", "x y",
    ];
    answer(&home, &add).await;
    let token = ["--bearer-token-env-var", "TOKEN"];
    let add = ["add", "two", "--url", "http://127.0.0.1:1/mcp"];
    answer(&home, &[&add[..], &token[..]].concat()).await;
    let text = config(&home);
    assert!(text.starts_with(SETTINGS), "{text}");
    let added: toml::Table = text.parse().unwrap();
    let one = toml::toml! {
        command = "prog"
        args = ["--flag", "x y"]
        [env]
        A = "1"
        B = "2=3"
    };
    assert_eq!(added["mcp_servers"]["one"], one.into());
    answer(&home, &["add", "one", "--", "other"]).await;
    answer(&home, &["remove", "two"]).await;
    let text = config(&home);
    assert!(text.starts_with(SETTINGS), "{text}");
    let left: toml::Table = text.parse().unwrap();
    assert_eq!(
        left["mcp_servers"]["one"],
        toml::toml! { command = "other" }.into()
    );
    assert!(left["mcp_servers"].get("two").is_none());
    answer(&home, &["remove", "one"]).await;
    assert_eq!(config(&home), SETTINGS);
    let answer = answer(&home, &["remove", "one"]).await;
    assert!(
        answer.starts_with("No MCP server named 'one' found"),
        "{answer}"
    );
}

#[tokio::test]
async fn invalid_mcp_server_is_refused_and_not_written() {
    let home = home(SETTINGS);
    let table: [(&[&str], i32, &str); 8] = [
        (&["add", "bad name", "--", "x"], 1, "cannot be the name"),
        (&["add", "nothing"], 2, "COMMAND"),
        (
            &["add", "both", "--url", "http://x", "--", "x"],
            2,
            "cannot be used with",
        ),
        (
            &["add", "x", "--env", "A=1", "--url", "http://x"],
            2,
            "cannot be used with",
        ),
        (
            &["add", "x", "--bearer-token-env-var", "X", "--", "x"],
            2,
            "cannot be used with",
        ),
        (&["add", "x", "--env", "A", "--", "x"], 2, "KEY=VALUE"),
        (&["get", "nobody"], 1, "No MCP server named 'nobody' found."),
        (&["login", "old"], 1, "only supported for streamable HTTP"),
    ];
    for (arguments, expected, reason) in table {
        let (status, _, said) = run(&home, arguments).await;
        assert_eq!(status, expected, "{arguments:?}: {said}");
        assert!(said.contains(reason), "{arguments:?}: {said}");
    }
    assert_eq!(config(&home), SETTINGS);
}

#[tokio::test]
async fn values_that_may_be_secrets_are_shown_to_nobody() {
    let home = home(
        "[mcp_servers.off]\nenabled = false\ncommand = \"cat\"\nenv_vars = [\"Q\"]\n\
         cwd = \"/tmp\"\nenv = { KEY = \"secret\" }\nstartup_timeout_sec = 2.5\n\
         tool_timeout_sec = 7\nenabled_tools = [\"a\", \"b\"]\ndisabled_tools = []\n\
         [mcp_servers.web]\nurl = \"http://127.0.0.1:1/x\"\nbearer_token_env_var = \"TOKEN\"\n\
         http_headers = { B = \"secret\" }\n",
    );
    let program = json!({ "type": "stdio", "command": "cat", "args": [], "env": { "KEY": "*****" },
        "env_vars": ["Q"], "cwd": "/tmp" });
    let address = json!({ "type": "streamable_http", "url": "http://127.0.0.1:1/x",
        "bearer_token_env_var": "TOKEN", "http_headers": { "B": "*****" }, "env_http_headers": null });
    let expected = json!([
        { "name": "off", "enabled": false, "disabled_reason": null, "transport": program,
          "startup_timeout_sec": 2.5, "tool_timeout_sec": 7.0, "auth_status": "unsupported" },
        { "name": "web", "enabled": true, "disabled_reason": null, "transport": address,
          "startup_timeout_sec": null, "tool_timeout_sec": null, "auth_status": "bearer_token" },
    ]);
    assert_eq!(listed(&home).await, expected);
    let expected = json!({ "name": "off", "enabled": false, "disabled_reason": null,
        "transport": program, "enabled_tools": ["a", "b"], "disabled_tools": [],
        "startup_timeout_sec": 2.5, "tool_timeout_sec": 7.0 });
    let got = answer(&home, &["get", "off", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&got).unwrap(), expected);
    let tables = answer(&home, &["list"]).await;
    let expected = "\
Name  Command  Args  Env                 Cwd   Status    Auth
off   cat      -     KEY=*****, Q=*****  /tmp  disabled  Unsupported

Name  Url                   Bearer Token Env Var  Status   Auth
web   http://127.0.0.1:1/x  TOKEN                 enabled  Bearer token
";
    assert_eq!(tables, expected);
    let facts = answer(&home, &["get", "web"]).await;
    assert!(
        facts.contains("  http_headers: B=*****\n") && !facts.contains("secret"),
        "{facts}"
    );
    assert_eq!(answer(&home, &["get", "off"]).await, "off (disabled)\n");
    assert_eq!(listed(&self::home("")).await, json!([]));
}

/// A login in a terminal.
struct LoginProcess {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    shown: String,
}

impl LoginProcess {
    fn start(home: &TempDir, arguments: &[&str]) -> Self {
        let mut child = command(home.path(), arguments)
            .arg("--no-browser")
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            lines,
            shown: String::new(),
        }
    }

    /// The next address that a person is asked to open.
    async fn address(&mut self) -> String {
        loop {
            let line = self.lines.next_line().await.unwrap().unwrap();
            self.shown += &line;
            if line.starts_with("http://") {
                return line;
            }
        }
    }

    /// Comes back with this, and the state that belongs to the address.
    async fn come_back(&mut self, with: &str) -> String {
        let url = self.address().await;
        let state = parameter(&url, "state").unwrap();
        let back = parameter(&url, "redirect_uri").unwrap();
        browse(&format!("{back}?{with}&state={state}")).await;
        url
    }

    /// The status, and everything that was shown and logged.
    async fn end(mut self) -> (i32, String) {
        while let Some(line) = self.lines.next_line().await.unwrap() {
            self.shown += &line;
        }
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut self.shown).await.unwrap();
        let status = self.child.wait().await.unwrap();
        (status.code().unwrap(), self.shown)
    }
}

#[tokio::test]
async fn adding_a_server_with_login_starts_the_login() {
    let web = OauthServer::start().await;
    let home = home(SETTINGS);
    let mut login = LoginProcess::start(&home, &["add", "web", "--url", &web.url()]);
    login.come_back("code=the-code").await;
    let (status, shown) = login.end().await;
    assert_eq!(status, 0, "{shown}");
    for secret in ["access-1", "refresh-1", "the-code"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(config(&home).starts_with(SETTINGS));
    assert_eq!(listed(&home).await[1]["auth_status"], "o_auth");
    let output = answer(&home, &["logout", "web"]).await;
    assert!(output.starts_with("Forgot"), "{output}");
    assert!(!home.path().join(".credentials.json").exists());
    assert_eq!(listed(&home).await[1]["auth_status"], "not_logged_in");
    let output = answer(&home, &["logout", "web"]).await;
    assert!(output.starts_with("There is no login"), "{output}");
}

#[tokio::test]
async fn refused_default_scopes_are_left_out() {
    let web = OauthServer::start().await;
    let home = home(&format!("[mcp_servers.web]\nurl = \"{}\"\n", web.url()));
    let mut login = LoginProcess::start(&home, &["login", "web"]);
    let first = login.come_back("error=invalid_scope").await;
    assert_eq!(parameter(&first, "scope").as_deref(), Some("read write"));
    let second = login.come_back("code=c").await;
    assert_eq!(parameter(&second, "scope"), None);
    assert_eq!(login.end().await.0, 0);
    let mut login = LoginProcess::start(&home, &["login", "web", "--scopes", "a,b"]);
    let asked = login.come_back("error=invalid_scope").await;
    assert_eq!(parameter(&asked, "scope").as_deref(), Some("a b"));
    let (status, shown) = login.end().await;
    assert_eq!(status, 1);
    assert!(
        shown.contains("OAuth provider returned `invalid_scope`"),
        "{shown}"
    );
}

/// A client that was registered by hand: its id and secret are used, its callback comes back at its path, and this
/// program does not register itself.
#[tokio::test]
async fn registered_client_logs_in_with_secret() {
    let web = OauthServer::start().await;
    let home = home(SETTINGS);
    let url = web.url();
    let arguments = [
        "add",
        "web",
        "--url",
        &url,
        "--oauth-client-id",
        "by-hand",
        "--oauth-client-secret",
        "hush",
        "--oauth-resource",
        "https://r/x",
    ];
    let mut login = LoginProcess::start(&home, &arguments);
    let asked = login.come_back("code=the-code").await;
    assert_eq!(parameter(&asked, "client_id").unwrap(), "by-hand");
    assert_eq!(parameter(&asked, "resource").unwrap(), "https://r/x");
    let back = parameter(&asked, "redirect_uri").unwrap();
    let (_, path) = back
        .strip_prefix("http://127.0.0.1:")
        .unwrap()
        .split_once('/')
        .unwrap();
    let (status, shown) = login.end().await;
    assert_eq!(status, 0, "{shown}");
    assert!(!shown.contains("hush"), "{shown}");
    assert!(
        shown.contains(&format!("http://127.0.0.1/{path}")),
        "{shown}"
    );
    assert!(web.requests_at("/register").await.is_empty());
    let written = config(&home);
    assert!(written.contains("client_id = \"by-hand\""), "{written}");
    assert!(written.contains(&format!("callback_url = \"http://127.0.0.1/{path}\"")));
    assert_eq!(listed(&home).await[1]["auth_status"], "o_auth");
}

#[tokio::test]
async fn unavailable_client_credentials_are_refused_before_writing() {
    let home = home(SETTINGS);
    let arguments = [
        "add",
        "web",
        "--url",
        "http://127.0.0.1:9/",
        "--oauth-client-registration",
        "cimd",
    ];
    let (status, _, errors) = run(&home, &arguments).await;
    assert_eq!(status, 1);
    assert!(errors.contains("dcr"), "{errors}");
    assert_eq!(config(&home), SETTINGS);
}
