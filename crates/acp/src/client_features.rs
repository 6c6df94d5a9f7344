//! The optional features that a client declared in `initialize`. Features that are not listed here are never used.

use agent_client_protocol_schema::v1::ClientCapabilities;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClientFeatures {
    pub(crate) reads_files: bool,
    pub(crate) writes_files: bool,
    pub(crate) forms: bool,
    pub(crate) pages: bool,
    pub(crate) boolean_options: bool,
    pub(crate) notices: bool,
    pub(crate) compaction: bool,
    pub(crate) plans: bool,
    pub(crate) terminal_login: bool,
    /// It runs commands in terminals of its own.
    pub(crate) terminals: bool,
    /// It shows the conversations of agents that a session starts.
    pub(crate) subagents: bool,
    /// It shows the output of commands from `_meta`: a convention outside of the protocol.
    pub(crate) terminal_output: bool,
}

impl From<&ClientCapabilities> for ClientFeatures {
    fn from(client: &ClientCapabilities) -> Self {
        let session = client.session.as_ref();
        let elicitation = client.elicitation.as_ref();
        let options = session.and_then(|session| session.config_options.as_ref());
        let meta = client.meta.as_ref();
        Self {
            reads_files: client.fs.read_text_file,
            writes_files: client.fs.write_text_file,
            forms: elicitation.is_some_and(|offered| offered.form.is_some()),
            pages: elicitation.is_some_and(|offered| offered.url.is_some()),
            boolean_options: options.is_some_and(|offered| offered.boolean.is_some()),
            notices: session.is_some_and(|session| session.notices.is_some()),
            compaction: session.is_some_and(|session| session.compaction.is_some()),
            plans: client.plan.is_some(),
            terminal_login: client.auth.terminal,
            terminals: client.terminal,
            subagents: client.subagents.is_some(),
            terminal_output: meta
                .is_some_and(|meta| meta.get("terminal_output") == Some(&true.into())),
        }
    }
}
