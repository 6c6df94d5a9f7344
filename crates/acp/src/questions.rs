//! Requests of the engine, such as approvals: asks the client and returns its answer. A request that needs a feature
//! which the client does not have is declined.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use codex_app_server_protocol::ServerRequest;
use codex_app_server_protocol::rpc::RequestId;
use codex_app_server_protocol::v2::{
    McpServerElicitationRequest, McpServerElicitationRequestParams, ToolRequestUserInputParams,
};
use codex_client::server_question;
use codex_visible_text::visible_line;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::ask::{permit, session_of};
use crate::call_content::text;
use crate::session::AcpSession;
use crate::{forms, permission, terminals};

/// Asks the client and returns the reply for the engine; none if no session or form fits.
pub(crate) async fn answer(
    agent: &Arc<Agent>,
    id: &RequestId,
    request: &ServerRequest,
) -> Option<Value> {
    use ServerRequest as Q;
    match request {
        Q::CommandExecutionRequestApproval(it) => {
            let call = permission::command_call(it);
            permit(agent, &it.thread_id, call, &permission::command_choices(it)).await
        }
        Q::FileChangeRequestApproval(it) => {
            let call = permission::patch_call(it);
            permit(agent, &it.thread_id, call, &permission::patch_choices(it)).await
        }
        Q::PermissionsRequestApproval(it) => {
            let call = permission::access_call(it);
            permit(agent, &it.thread_id, call, &permission::access_choices(it)).await
        }
        Q::McpServerElicitationRequest(it) => elicit(agent, id, it).await,
        Q::ToolRequestUserInput(it) => Some(ask_person(agent, it).await),
        Q::DynamicToolCall(it) if it.tool == terminals::TOOL => {
            Some(terminals::call(agent, it).await)
        }
        _ => None,
    }
}

/// A form of an MCP server, or the permission to call one of its tools.
async fn elicit(
    agent: &Agent,
    id: &RequestId,
    params: &McpServerElicitationRequestParams,
) -> Option<Value> {
    let client_features = agent.client_features();
    let session = session_of(agent, &params.thread_id)?;
    let server = &params.server_name;
    let form = match &params.request {
        McpServerElicitationRequest::Form {
            meta,
            message,
            requested_schema,
        } if requested_schema.properties.is_empty() => {
            let question = server_question(server, message, meta);
            let arguments = meta.get("tool_params");
            let shown =
                arguments.map(|arguments| text(visible_line(&format!("Arguments: {arguments}"))));
            let call = ToolCall::new(format!("question-{id}"), question.replace('\n', "\\u{a}"))
                .kind(ToolKind::Execute)
                .status(ToolCallStatus::Pending)
                .content(shown.into_iter().collect())
                .raw_input(arguments.cloned());
            let call_id = call.tool_call_id.clone();
            let choices = permission::tool_choices(meta);
            let answer = permit(agent, session.thread_id(), call, &choices).await;
            close(agent, &session, &call_id.0, answer.as_ref()).await;
            return answer;
        }
        McpServerElicitationRequest::Form {
            meta,
            message,
            requested_schema,
        } if client_features.forms => {
            let question = server_question(server, message, meta);
            forms::of_server(&session.id, &question, requested_schema)
        }
        McpServerElicitationRequest::Url {
            meta,
            message,
            url,
            elicitation_id,
        } if client_features.pages => {
            let question = server_question(server, message, meta);
            forms::of_page(&session.id, &question, url, elicitation_id)
        }
        McpServerElicitationRequest::Url { .. } => {
            let seat = &agent.seat;
            seat.until_no_other_can(&params.thread_id, |client| client.pages)
                .await;
            return Some(forms::server_answer(None));
        }
        _ => {
            let seat = &agent.seat;
            seat.until_no_other_can(&params.thread_id, |client| client.forms)
                .await;
            return Some(forms::server_answer(None));
        }
    };
    let answer = agent
        .peer
        .request::<Value>("elicitation/create", form)
        .await;
    Some(forms::server_answer(answer.ok().as_ref()))
}

/// Ends the tool call that represented a question.
async fn close(agent: &Agent, session: &AcpSession, id: &str, answer: Option<&Value>) {
    let status = if answer.is_some_and(|answer| answer["action"] == "accept") {
        ToolCallStatus::Completed
    } else {
        ToolCallStatus::Failed
    };
    let update: SessionUpdate = {
        let call = ToolCall::new(id.to_owned(), String::new()).status(status);
        match session.state().projection.tool_call_update(call) {
            SessionUpdate::ToolCallUpdate(update) => {
                let fields = ToolCallUpdateFields::new().status(status);
                SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(update.tool_call_id, fields))
            }
            // The end of the turn has ended the call already.
            _ => return,
        }
    };
    agent.update(&session.id, update).await;
}

/// Questions of the model. If the client has no forms, they are not answered.
async fn ask_person(agent: &Agent, params: &ToolRequestUserInputParams) -> Value {
    let session = session_of(agent, &params.thread_id);
    let form = session.and_then(|session| forms::of_questions(&session.id, params));
    let Some(form) = form.filter(|_| agent.client_features().forms) else {
        let seat = &agent.seat;
        seat.until_no_other_can(&params.thread_id, |client| client.forms)
            .await;
        return forms::question_answers(params, None);
    };
    let answer = agent
        .peer
        .request::<Value>("elicitation/create", json!(form))
        .await;
    forms::question_answers(params, answer.ok().as_ref())
}
