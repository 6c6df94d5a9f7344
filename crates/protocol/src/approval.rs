//! The content of approval requests, and the decisions on them.

use codex_app_server_protocol_macros::{Experimental, Tagged};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mark_members;

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum FileChange {
    /// The file is created.
    Add {
        /// The text of the new file.
        content: String,
    },
    /// The file is removed.
    Delete {
        /// The text that the file had.
        content: String,
    },
    /// The file is edited, and possibly moved.
    Update {
        /// The edit as unified hunks, without file headers.
        unified_diff: String,
        /// Where the file is moved to, if it is.
        move_path: Option<String>,
    },
}

/// Which programs a command may control through macOS automation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MacOsAutomationPermission {
    /// None.
    None,
    /// Every program.
    All,
    /// The programs with these bundle identifiers.
    BundleIds(Vec<String>),
}

/// What a command may do with the contacts of a macOS user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MacOsContactsPermission {
    /// Nothing.
    None,
    /// Read them.
    ReadOnly,
    /// Read and change them.
    ReadWrite,
}

/// What a command may do with the preferences of a macOS user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MacOsPreferencesPermission {
    /// Nothing.
    None,
    /// Read them.
    ReadOnly,
    /// Read and change them.
    ReadWrite,
}

/// A rule about one host, to be added to the network rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyAmendment {
    /// The host that the rule is about.
    pub host: String,
    /// What the rule says of it.
    pub action: NetworkPolicyRuleAction,
}

/// What a network rule does with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum NetworkPolicyRuleAction {
    /// Lets it through.
    Allow,
    /// Refuses it.
    Deny,
}

/// The kind of one command of a script, derived from its text. For display only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ParsedCommand {
    /// It prints a file.
    Read {
        /// The text of this part.
        cmd: String,
        /// The short name of the file.
        name: String,
        /// The path of the file as the command names it.
        path: String,
    },
    /// It lists files.
    ListFiles {
        /// The text of this part.
        cmd: String,
        /// The folder that is listed, shortened; absent for the current one.
        path: Option<String>,
    },
    /// It searches for text or file names.
    Search {
        /// The text of this part.
        cmd: String,
        /// What is searched for.
        query: Option<String>,
        /// Where, shortened.
        path: Option<String>,
    },
    /// Something else.
    Unknown {
        /// The text of this part.
        cmd: String,
    },
}

/// A prefix of commands to allow from now on: the program, then its first arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ExecPolicyAmendment(pub Vec<String>);

/// The answer to an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Experimental)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = mark_members::<Self>)]
pub enum ReviewDecision {
    /// Do it this once.
    Approved,
    /// Do it, and allow every command that begins like this from now on.
    ApprovedExecpolicyAmendment {
        /// The words that such commands begin with.
        proposed_execpolicy_amendment: ExecPolicyAmendment,
    },
    /// Do it, and do not ask again for the same thing in this session.
    ApprovedForSession,
    /// Add a rule about a host, and act by it.
    NetworkPolicyAmendment {
        /// The rule to add.
        network_policy_amendment: NetworkPolicyAmendment,
    },
    /// Do not do it; the turn goes on.
    #[until("0.140")]
    Denied,
    /// Do not do it, and end the turn.
    Abort,
}
