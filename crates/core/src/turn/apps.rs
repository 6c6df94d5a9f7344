//! Apps in a turn: which offer tools, and which the user mentions. The tools of mentioned apps are offered for the rest of
//! the thread, however many tools there are.

use std::collections::BTreeSet;
use std::sync::Arc;

use codex_apps::{ToolApp, app_slug};
use codex_protocol::{AskForApproval, ResponseItem, UserInput};
use codex_session_base::agents::is_agent;
use codex_session_base::config::{SuggestionKind, ToolSuggestion};
use codex_session_base::history::texts;
use codex_session_base::mcp::OfferedTool;
use codex_skills::{TextMention, text_mentions};

use super::recording::RunningTurn;
use super::scope::TurnScope;

/// What the addresses of apps begin with.
const SCHEME: &str = "app://";

impl RunningTurn<'_> {
    /// Finds the apps that offer tools, where there is a server of apps and it matters before the first request.
    pub(super) async fn find_apps(&self, input: &[UserInput]) {
        let servers = self.scope.tool_services.mcp.current();
        let is_known = self.conversation.reference.is_some();
        let is_found = self.scope.settings.apps.get().is_some();
        if is_found || !servers.serves_apps() || (is_known && !input.iter().any(may_mention)) {
            return;
        }
        tokio::select! {
            biased;
            () = self.scope.stop.stopped() => {}
            found = servers.apps() => {
                let _ = self.scope.settings.apps.set(found);
            }
        }
    }

    /// What the model may suggest: nothing where nobody may be asked, and no apps that have tools already.
    pub(super) async fn suggestions(&self, tools: &[OfferedTool]) -> Vec<ToolSuggestion> {
        let TurnScope {
            session, settings, ..
        } = self.scope;
        let may_ask =
            settings.approval_policy != AskForApproval::Never && !is_agent(&session.config);
        let known = session.config.services.suggestions.as_ref();
        let known = known.filter(|_| may_ask && settings.model.supports_search_tool);
        let mut candidates = match known {
            Some(known) => known.candidates().await,
            None => Vec::new(),
        };
        candidates.retain(|candidate| {
            let has_tools = |tool: &OfferedTool| {
                let app = tool.app.as_ref();
                app.is_some_and(|app| app.id == candidate.id)
            };
            candidate.kind != SuggestionKind::Connector || !tools.iter().any(has_tools)
        });
        candidates
    }

    /// The names of apps in mentions. A skill with the same name is not meant by it alone.
    pub(super) fn app_names(&self) -> Vec<String> {
        let apps = self.scope.settings.apps.get();
        let apps = apps.into_iter().flatten();
        apps.map(|app| app_slug(&app.name)).collect()
    }

    /// Selects the apps that an input mentions, and the texts of skills that are added to it. Returns whether more are
    /// selected than before.
    pub(super) fn select_apps(&self, input: &[UserInput], skills: &[ResponseItem]) -> bool {
        let Some(apps) = self.scope.settings.apps.get() else {
            return false;
        };
        let mut ids = BTreeSet::new();
        for item in input {
            match item {
                UserInput::Mention { path, .. } => {
                    ids.extend(path.strip_prefix(SCHEME).map(str::to_owned));
                }
                UserInput::Text { text, .. } => ids.extend(self.mentioned_in(text, apps)),
                _ => {}
            }
        }
        for skill in skills {
            if let ResponseItem::Message { content, .. } = skill {
                ids.extend(texts(content).flat_map(|text| self.mentioned_in(text, apps)));
            }
        }
        ids.retain(|id| apps.iter().any(|app| app.id == *id));
        let mut selected = self.scope.tool_services.selected_apps.lock();
        let before = selected.len();
        selected.extend(ids);
        selected.len() > before
    }

    /// The ids in links, and those of apps whose name only they have.
    fn mentioned_in(&self, text: &str, apps: &[Arc<ToolApp>]) -> Vec<String> {
        let skills = self.scope.settings.skills.get();
        let is_skill = |name: &str| {
            let mut enabled = skills.into_iter().flat_map(|skills| skills.enabled());
            enabled.any(|skill| skill.metadata.name == name)
        };
        let id_of = |mention| match mention {
            TextMention::Link(target) => target.strip_prefix(SCHEME).map(str::to_owned),
            TextMention::Name(name) => {
                let mut named = apps.iter().filter(|app| app_slug(&app.name) == name);
                let app = named.next()?;
                (named.next().is_none() && !is_skill(name)).then(|| app.id.clone())
            }
        };
        text_mentions(text).into_iter().filter_map(id_of).collect()
    }
}

/// Whether an input may mention an app, by itself or through a skill.
fn may_mention(item: &UserInput) -> bool {
    match item {
        UserInput::Text { text, .. } => text.contains('$'),
        UserInput::Mention { .. } | UserInput::Skill { .. } => true,
        _ => false,
    }
}
