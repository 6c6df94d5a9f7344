//! Questions about MCP servers: elicitations of a server, and approvals of calls of its tools. Both are
//! elicitations for the client, whose texts have escapes for what would not show.

use codex_gate::ToolApproval;
use codex_gate::{ApprovalKey, McpEffect};
use codex_mcp_client::ElicitationReply;
use codex_protocol::{
    AskForApproval, ElicitationAction, ElicitationRequest, ElicitationRequestEvent, EventMsg,
    RequestId, ResolveElicitation,
};
use codex_session_base::gate::Denied;
use codex_session_base::mcp::Elicitation;
use codex_session_base::questions::{QuestionAnswer, QuestionKey};
use codex_visible_text::{visible_line, visible_lines};
use serde_json::{Map, Value, json};

use super::actor::SessionActor;
use super::call::ThreadCall;
use super::elicitation_texts::{visible_question, visible_value};

impl ThreadCall for Elicitation {
    type Reply = ();

    async fn run(self, session: &mut SessionActor) {
        session.elicit(self);
    }
}

impl SessionActor {
    /// Asks the user for a server, unless the policy forbids it.
    fn elicit(&mut self, question: Elicitation) {
        let Elicitation {
            server,
            id,
            request,
            reply,
        } = question;
        let policy = match self.running() {
            Some(running) => running.scope.settings.approval_policy,
            None => self.settings().approval_policy,
        };
        let may_ask = match policy {
            AskForApproval::Never => false,
            AskForApproval::Granular(granular) => granular.mcp_elicitations,
            _ => true,
        };
        if !may_ask {
            let declined = ElicitationReply {
                action: ElicitationAction::Decline,
                content: None,
                meta: None,
            };
            let _ = reply.send(QuestionAnswer::Elicitation(declined));
            return;
        }
        let turn_id = self
            .running()
            .map(|running| running.scope.settings.id.to_string());
        let key = QuestionKey::Elicitation(server.clone(), id.clone());
        self.questions.wait_for_answer(key, reply);
        let turn = turn_id.clone().unwrap_or_default();
        let event = EventMsg::ElicitationRequest(ElicitationRequestEvent {
            turn_id,
            server_name: server,
            id,
            request: visible_question(*request),
        });
        self.context.emitter.emit(&turn, event);
    }

    /// The answer of the client to an elicitation.
    pub(super) async fn resolved(&mut self, resolved: ResolveElicitation) {
        let ResolveElicitation {
            server_name,
            request_id,
            decision,
            content,
            meta,
        } = resolved;
        let key = QuestionKey::Elicitation(server_name, request_id);
        let Some(pending) = self.questions.take_approval(&key) else {
            let content = content.filter(|content| !content.is_null());
            let reply = ElicitationReply {
                action: decision,
                content,
                meta,
            };
            return self.answer(&key, QuestionAnswer::Elicitation(reply));
        };
        let persist = meta.as_ref().and_then(|meta| meta["persist"].as_str());
        let remembers = matches!(persist, Some("session" | "always"));
        if decision == ElicitationAction::Accept && remembers {
            if persist == Some("always") {
                self.keep_approvals(&pending.request.keys).await;
            }
            self.approvals.approve(pending.request.keys.clone());
        }
        let verdict = match decision {
            ElicitationAction::Accept => Ok(pending.request.approved()),
            ElicitationAction::Decline => Err(Denied::Declined),
            ElicitationAction::Cancel => Err(Denied::Cancelled),
        };
        let _ = pending.reply.send(verdict);
    }

    /// Stores approvals for later threads. If that fails, they hold for this one.
    async fn keep_approvals(&self, keys: &[ApprovalKey]) {
        let Some(approvals) = self.context.config.services.mcp_approvals.clone() else {
            return;
        };
        for key in keys {
            let ApprovalKey::McpTool { server, app, tool } = key.clone() else {
                continue;
            };
            let approvals = approvals.clone();
            let kept = tokio::task::spawn_blocking(move || match app {
                Some(app) => approvals.approve_app(&app, &tool),
                None => approvals.approve(&server, &tool),
            });
            if let Ok(Err(error)) = kept.await {
                tracing::warn!(
                    %error,
                    "leave to call an MCP tool is kept for this thread only"
                );
            }
        }
    }
}

/// The event that asks for approval of a call.
pub(super) fn approval_request(call: &McpEffect, turn: &str, call_id: &str) -> EventMsg {
    let (server, tool) = (&call.server, &call.tool);
    let asker = match &call.app {
        Some(app) => app.name.clone(),
        None => format!("the {server} MCP server"),
    };
    EventMsg::ElicitationRequest(ElicitationRequestEvent {
        turn_id: Some(turn.to_owned()),
        server_name: server.clone(),
        id: approval_id(call_id),
        request: ElicitationRequest::Form {
            meta: Some(about(call)),
            message: visible_line(&format!("Allow {asker} to run tool \"{tool}\"?")),
            requested_schema: json!({ "type": "object", "properties": {} }),
        },
    })
}

/// The key of the answer to that.
pub(super) fn approval_key(call: &McpEffect, call_id: &str) -> QuestionKey {
    QuestionKey::Elicitation(call.server.clone(), approval_id(call_id))
}

fn approval_id(call_id: &str) -> RequestId {
    RequestId::String(format!("mcp_tool_call_approval_{call_id}"))
}

fn about(call: &McpEffect) -> Value {
    let mut about = Map::new();
    about.insert("codex_approval_kind".to_owned(), "mcp_tool_call".into());
    about.insert("tool_name".to_owned(), call.tool.as_str().into());
    if call.approval == ToolApproval::Auto {
        about.insert("persist".to_owned(), json!(["session", "always"]));
    }
    let texts = [
        ("tool_title", &call.title),
        ("tool_description", &call.description),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            about.insert(name.to_owned(), visible_lines(text).into());
        }
    }
    if let Some(arguments) = &call.arguments {
        about.insert("tool_params".to_owned(), arguments.clone());
        if let Value::Object(arguments) = arguments {
            let mut shown: Vec<_> = arguments.iter().collect();
            shown.sort_by_key(|(name, _)| *name);
            let show = |(name, value): (&String, &Value)| json!({ "name": name, "value": visible_value(value), "display_name": visible_line(name) });
            let shown: Vec<Value> = shown.into_iter().map(show).collect();
            about.insert("tool_params_display".to_owned(), shown.into());
        }
    }
    if let Some(app) = &call.app {
        about.insert("source".to_owned(), "connector".into());
        about.insert("connector_id".to_owned(), app.id.as_str().into());
        about.insert("connector_name".to_owned(), visible_line(&app.name).into());
        if let Some(description) = &app.description {
            about.insert(
                "connector_description".to_owned(),
                visible_lines(description).into(),
            );
        }
    }
    about.into()
}
