//! Apps for threads and lists: the account, the settings and the server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use codex_apps::{
    APPS_SERVER, AccountKey, AppDefaults, AppRule, AppRules, AppToolRule, DirectoryAccount,
    ToolApprovalRule, ToolCacheFile, other_server_address, server_address,
};
use codex_config::schema::{AppFile, ToolApprovalMode};
use codex_config::{Config, Feature};
use codex_core::{AppsServer, McpServer, ToolApproval};
use codex_http::{LiveLogin, SharedLogin};
use codex_login::{Accounts, Login};
use codex_mcp_client::{McpServerConfig, McpServerTransport, ProgramGuard};
use codex_model_client::{Credential, CredentialSource, Recovery};
use codex_protocol::PlanType;
use futures::future::BoxFuture;

use crate::wiring::non_blank;

/// A token in place of that of the account.
pub(crate) const TOKEN_VARIABLE: &str = "CODEX_CONNECTORS_TOKEN";
const STARTUP: Duration = Duration::from_secs(30);
const REQUEST: Duration = Duration::from_secs(120);

/// The account whose apps are used.
pub(crate) struct AppsAccount {
    pub(crate) key: AccountKey,
    pub(crate) directory: DirectoryAccount,
}

/// The login of an account, whose token is renewed while servers of apps run.
#[derive(Debug)]
struct AppsLogin {
    accounts: Arc<Accounts>,
    /// The account and its user. Headers of others are never sent.
    account_id: Option<String>,
    user_id: Option<String>,
    /// Held while the token is renewed: several requests may be refused at the same time.
    renewal: tokio::sync::Mutex<()>,
}

impl LiveLogin for AppsLogin {
    fn headers(&self) -> BoxFuture<'_, BTreeMap<String, String>> {
        Box::pin(async move {
            let credential = self.accounts.current().await;
            let own = credential.and_then(|credential| authorization(&credential));
            let user = self.accounts.login().and_then(|login| user_of(&login));
            let is_own =
                |own: &Authorization| own.account_id == self.account_id && user == self.user_id;
            let own = own.filter(is_own);
            let headers = own.into_iter().flat_map(|own| own.headers);
            headers
                .map(|(name, value)| (name.to_owned(), value))
                .collect()
        })
    }

    fn renew<'a>(&'a self, refused: &'a str, step: u32) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let _alone = self.renewal.lock().await;
            let headers = self.headers().await;
            match headers.get("Authorization") {
                // The login is that of somebody else now.
                None => return false,
                Some(current) if current != refused => return true,
                Some(_) => {}
            }
            match self.accounts.recover(step).await {
                Ok(recovery) => recovery == Recovery::Retry,
                Err(error) => {
                    tracing::warn!(%error, "the token for apps is not renewed");
                    false
                }
            }
        })
    }
}

/// The account of a ChatGPT login, and the headers of its requests.
struct Authorization {
    account_id: Option<String>,
    headers: Vec<(&'static str, String)>,
}

fn authorization(credential: &Credential) -> Option<Authorization> {
    let Credential::ChatGpt {
        access_token,
        account_id,
        ..
    } = credential
    else {
        return None;
    };
    let token = non_blank(TOKEN_VARIABLE).unwrap_or_else(|| access_token.reveal().to_owned());
    let mut headers = vec![("Authorization", format!("Bearer {token}"))];
    let account_headers = credential.account_headers().into_iter();
    headers.extend(account_headers.map(|(name, value)| (name, value.to_owned())));
    Some(Authorization {
        account_id: account_id.clone(),
        headers,
    })
}

/// The account; none without a ChatGPT login, or while the feature is off.
pub(crate) fn account(config: &Config, accounts: &Arc<Accounts>) -> Option<AppsAccount> {
    if !config.features.enabled(Feature::Apps) {
        return None;
    }
    let login = accounts.login()?;
    let Authorization { account_id, .. } = authorization(&login.credential())?;
    let (user_id, is_workspace) = (user_of(&login), is_workspace(&login));
    Some(AppsAccount {
        directory: DirectoryAccount {
            base: config.account.chatgpt_base_url.clone(),
            login: SharedLogin(Arc::new(AppsLogin {
                accounts: Arc::clone(accounts),
                account_id: account_id.clone(),
                user_id: user_id.clone(),
                renewal: tokio::sync::Mutex::default(),
            })),
            is_workspace,
        },
        key: AccountKey {
            account_id,
            user_id,
            is_workspace,
        },
    })
}

fn user_of(login: &Login) -> Option<String> {
    login.user_id().map(str::to_owned)
}

fn is_workspace(login: &Login) -> bool {
    matches!(
        login.plan(),
        Some(PlanType::Team | PlanType::Business | PlanType::Enterprise)
    )
}

/// The server of apps for a thread.
pub(crate) fn server(config: &Config, account: &AppsAccount) -> McpServer {
    let transport = McpServerTransport::Http {
        client: None,
        url: server_address(&account.directory.base),
        other_url: Some(other_server_address(&account.directory.base)),
        bearer_token_variable: None,
        headers: BTreeMap::new(),
        headers_from_variables: BTreeMap::new(),
        scopes: None,
        resource: None,
        login: Some(account.directory.login.clone()),
    };
    McpServer {
        server: McpServerConfig {
            name: APPS_SERVER.to_owned(),
            transport,
            startup_timeout: STARTUP,
            request_timeout: REQUEST,
            enabled_tools: None,
            disabled_tools: Vec::new(),
            guard: ProgramGuard::default(),
        },
        required: false,
        approval: BTreeMap::new(),
        default_approval: ToolApproval::default(),
        plugins: Vec::new(),
        plugin_id: None,
        apps: Some(Arc::new(AppsServer {
            rules: rules(config),
            cache: ToolCacheFile::of_account(&config.home, &account.key),
        })),
    }
}

fn rules(config: &Config) -> AppRules {
    let default = config.apps.default.unwrap_or_default();
    let apps = config.apps.apps.iter();
    AppRules {
        default: AppDefaults {
            enabled: default.enabled,
            destructive_enabled: default.destructive_enabled,
            open_world_enabled: default.open_world_enabled,
        },
        apps: apps.map(|(id, app)| (id.clone(), rule(app))).collect(),
        forbidden: config.requirements.disabled_apps.keys().cloned().collect(),
    }
}

fn rule(app: &AppFile) -> AppRule {
    let tools = app.tools.iter().flatten().map(|(name, tool)| {
        let rule = AppToolRule {
            enabled: tool.enabled,
            approval: tool.approval_mode.map(approval),
        };
        (name.clone(), rule)
    });
    AppRule {
        enabled: app.enabled,
        destructive_enabled: app.destructive_enabled,
        open_world_enabled: app.open_world_enabled,
        default_approval: app.default_tools_approval_mode.map(approval),
        default_enabled: app.default_tools_enabled,
        tools: tools.collect(),
    }
}

fn approval(mode: ToolApprovalMode) -> ToolApprovalRule {
    match mode {
        ToolApprovalMode::Auto => ToolApprovalRule::Auto,
        ToolApprovalMode::Prompt => ToolApprovalRule::Prompt,
        ToolApprovalMode::Approve => ToolApprovalRule::Approve,
    }
}
