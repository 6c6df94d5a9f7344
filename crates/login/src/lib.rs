//! Layer: capability. The user's login to the model service: logging in, storing and renewing the login.
//!
//! [`Accounts`] holds the login of a process and is the source of credentials for model requests. It owns
//! `auth.json` in the home folder, which is replaced as a whole and readable for its owner only, and the login
//! flows: API key, browser, device code, tokens of a host application.
//!
//! It reads neither environment nor configuration: addresses, time limits and restrictions come in as
//! [`LoginSettings`]. Tokens appear in no log and no error.

mod account_state;
mod accounts;
mod auth_file;
mod backend;
mod browser;
mod device;
mod jwt;
mod keyring;
mod login;
mod personal_token;
mod refresh;
mod refused;
mod requirements;
mod revocation;
mod service_client;
mod settings;
mod store;
mod system_keyring;
mod token_owner;

pub use account_state::LoggedOut;
pub use accounts::{Accounts, ExternalTokens, LoginError, TokenRefreshError, TokenRefresher};
pub use backend::{RateLimits, RateLimitsError};
pub use browser::BrowserLogin;
pub use browser::BrowserLoginError;
pub use device::{DeviceCode, DeviceLogin};
pub use login::Login;
pub use requirements::AccountRequirementsError;
pub use settings::{LoginSettings, StoreKind};
