//! Layer: capability. Who the user is to the model service: logging in, keeping the login, renewing it.
//!
//! [`Accounts`] holds the login of a process and is what requests to models take their credential from.
//! It owns `auth.json` in the home folder, which is replaced as a whole and readable by its owner only,
//! and the flows that lead to it: an API key, a browser, a code for another device, tokens that a host
//! application brings along.
//!
//! It reads no environment and no configuration: addresses, times and limits come in with
//! [`LoginSettings`]. Tokens are in no log and in no error.

mod account_state;
mod accounts;
mod auth_file;
mod backend;
mod browser;
mod device;
mod jwt;
mod login;
mod refresh;
mod refused;
mod requirements;
mod revocation;
mod service_client;
mod settings;
mod store;

pub use account_state::LoggedOut;
pub use accounts::{Accounts, ExternalTokens, LoginError, TokenRefresher};
pub use backend::{RateLimits, RateLimitsError};
pub use browser::BrowserLogin;
pub use device::DeviceCode;
pub use login::Login;
pub use requirements::AccountRequirementsError;
pub use settings::{LoginSettings, StoreKind};
