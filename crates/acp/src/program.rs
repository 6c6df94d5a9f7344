//! The program that contains the agent.

/// What differs between programs.
#[derive(Clone, Debug)]
pub struct Program {
    /// Sent in `agentInfo`.
    pub name: &'static str,
    /// Sent in `agentInfo`.
    pub version: &'static str,
    /// The API key from the environment, used for the login.
    pub api_key: Option<String>,
    /// Opens a page in the browser of this machine; none if that is not wanted.
    pub open_page: Option<fn(&str)>,
    /// Whether clients come and go, and several may have a session open.
    pub is_shared: bool,
}
