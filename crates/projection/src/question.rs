//! Converts questions of the engine to client requests, and the replies of clients to operations.
//!
//! An unreadable reply counts as a refusal, so no turn waits for ever.

use std::path::Path;

use codex_app_server_protocol::ServerRequest;
use codex_app_server_protocol::v2::*;
use codex_protocol as v1;
use codex_protocol::{EventMsg, LOCAL_ENVIRONMENT, Op};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::command_action::actions;
use super::item;

/// A question, with the ids that the engine needs together with the answer.
#[derive(Debug)]
pub enum ClientQuestion {
    /// Whether a command may run.
    Command { approval: String, turn: String },
    /// Whether a patch may be applied.
    Patch { call: String },
    /// Whether permissions are granted.
    Permissions {
        call: String,
        asked: v1::RequestPermissionProfile,
    },
    /// Questions of the model to the user.
    UserInput { turn: String },
    /// A call of a tool of the client.
    Tool { call: String },
    /// A question of an MCP server, or the approval of a call of its tool.
    Elicitation { server: String, id: v1::RequestId },
}

impl ClientQuestion {
    /// The flag of a thread that waits for this question, if it has one.
    pub fn waiting_for(&self) -> Option<ThreadActiveFlag> {
        match self {
            Self::Command { .. }
            | Self::Patch { .. }
            | Self::Permissions { .. }
            | Self::Elicitation { .. } => Some(ThreadActiveFlag::WaitingOnApproval),
            Self::UserInput { .. } => Some(ThreadActiveFlag::WaitingOnUserInput),
            Self::Tool { .. } => None,
        }
    }

    /// Whether it asks for the approval with this id.
    pub fn is_for(&self, id: &str) -> bool {
        matches!(self, Self::Command { approval, .. } if approval == id)
    }

    /// Whether clients are notified when the question is settled.
    pub fn is_announced(&self) -> bool {
        !matches!(self, Self::Tool { .. })
    }

    /// The operation for a reply; `None` stands for an error reply. Also returns why a reply is unreadable.
    pub fn answered(self, answer: Option<&str>) -> (Op, Option<serde_json::Error>) {
        let mut answer = AnswerReader {
            text: answer,
            problem: None,
        };
        let op = self.op(&mut answer);
        (op, answer.problem)
    }

    fn op(self, answer: &mut AnswerReader<'_>) -> Op {
        match self {
            Self::Command { approval, turn } => Op::ExecApproval {
                id: approval,
                turn_id: Some(turn),
                decision: answer
                    .read()
                    .map_or(v1::ReviewDecision::Denied, command_decision),
            },
            Self::Patch { call } => Op::PatchApproval {
                id: call,
                decision: answer
                    .read()
                    .map_or(v1::ReviewDecision::Denied, patch_decision),
            },
            Self::Permissions { call, asked } => Op::RequestPermissionsResponse {
                id: call,
                response: granted(answer.read(), &asked),
            },
            Self::UserInput { turn } => Op::UserInputAnswer {
                id: turn,
                response: user_input(answer.read()),
            },
            Self::Elicitation { server, id } => {
                Op::ResolveElicitation(resolution(server, id, answer.read()))
            }
            Self::Tool { call } => Op::DynamicToolResponse {
                id: call,
                response: tool_answer(answer),
            },
        }
    }
}

/// The reply of a client.
struct AnswerReader<'a> {
    text: Option<&'a str>,
    problem: Option<serde_json::Error>,
}

impl AnswerReader<'_> {
    fn read<T: DeserializeOwned>(&mut self) -> Option<T> {
        match serde_json::from_str(self.text?) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.problem = Some(error);
                None
            }
        }
    }
}

/// The thread and turn of a question, and the time.
#[derive(Clone, Copy, Debug)]
pub struct QuestionContext<'a> {
    pub thread: &'a str,
    pub cwd: &'a Path,
    /// In Unix milliseconds.
    pub now: i64,
}

fn command_decision(answer: CommandExecutionRequestApprovalResponse) -> v1::ReviewDecision {
    use CommandExecutionApprovalDecision as Decision;
    match answer.decision {
        Decision::Accept => v1::ReviewDecision::Approved,
        Decision::AcceptForSession => v1::ReviewDecision::ApprovedForSession,
        Decision::AcceptWithExecpolicyAmendment {
            execpolicy_amendment,
        } => v1::ReviewDecision::ApprovedExecpolicyAmendment {
            proposed_execpolicy_amendment: execpolicy_amendment,
        },
        Decision::ApplyNetworkPolicyAmendment {
            network_policy_amendment,
        } => v1::ReviewDecision::NetworkPolicyAmendment {
            network_policy_amendment,
        },
        Decision::Decline => v1::ReviewDecision::Denied,
        Decision::Cancel => v1::ReviewDecision::Abort,
    }
}

fn wire_decision(decision: &v1::ReviewDecision) -> CommandExecutionApprovalDecision {
    use CommandExecutionApprovalDecision as Decision;
    match decision.clone() {
        v1::ReviewDecision::Approved => Decision::Accept,
        v1::ReviewDecision::ApprovedForSession => Decision::AcceptForSession,
        v1::ReviewDecision::ApprovedExecpolicyAmendment {
            proposed_execpolicy_amendment,
        } => Decision::AcceptWithExecpolicyAmendment {
            execpolicy_amendment: proposed_execpolicy_amendment,
        },
        v1::ReviewDecision::NetworkPolicyAmendment {
            network_policy_amendment,
        } => Decision::ApplyNetworkPolicyAmendment {
            network_policy_amendment,
        },
        v1::ReviewDecision::Denied => Decision::Decline,
        v1::ReviewDecision::Abort => Decision::Cancel,
    }
}

fn patch_decision(answer: FileChangeRequestApprovalResponse) -> v1::ReviewDecision {
    match answer.decision {
        FileChangeApprovalDecision::Accept => v1::ReviewDecision::Approved,
        FileChangeApprovalDecision::AcceptForSession => v1::ReviewDecision::ApprovedForSession,
        FileChangeApprovalDecision::Decline => v1::ReviewDecision::Denied,
        FileChangeApprovalDecision::Cancel => v1::ReviewDecision::Abort,
    }
}

/// The granted permissions, limited to the requested ones.
fn granted(
    answer: Option<PermissionsRequestApprovalResponse>,
    asked: &v1::RequestPermissionProfile,
) -> v1::RequestPermissionsResponse {
    let Some(PermissionsRequestApprovalResponse { permissions, scope }) = answer else {
        return v1::RequestPermissionsResponse::default();
    };
    let network = permissions.network.and_then(|granted| {
        let wanted = asked.network.as_ref()?.enabled?;
        (wanted && granted.enabled?).then_some(v1::NetworkPermissions {
            enabled: Some(true),
        })
    });
    let common = |granted: Option<Vec<_>>, wanted: &Option<Vec<v1::AbsolutePathBuf>>| {
        let wanted = wanted.as_ref()?;
        let mut both = granted?;
        both.retain(|path| wanted.contains(path));
        (!both.is_empty()).then_some(both)
    };
    let file_system = permissions.file_system.and_then(|granted| {
        let wanted = asked.file_system.as_ref()?;
        let (read, write) = granted_paths(granted);
        Some(v1::FileSystemPermissions {
            read: common(read, &wanted.read),
            write: common(write, &wanted.write),
        })
    });
    v1::RequestPermissionsResponse {
        permissions: v1::RequestPermissionProfile {
            network,
            file_system,
        },
        scope,
    }
}

/// The paths to read and to write, those of the entries included.
fn granted_paths(
    granted: AdditionalFileSystemPermissions,
) -> (
    Option<Vec<v1::AbsolutePathBuf>>,
    Option<Vec<v1::AbsolutePathBuf>>,
) {
    let (mut read, mut write) = (granted.read, granted.write);
    for entry in granted.entries.into_iter().flatten() {
        let paths = match entry.access {
            FileSystemAccessMode::Deny => continue,
            FileSystemAccessMode::Read => &mut read,
            FileSystemAccessMode::Write => &mut write,
        };
        if let FileSystemPath::Path { path } = entry.path {
            let paths = paths.get_or_insert_default();
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    (read, write)
}

fn user_input(answer: Option<ToolRequestUserInputResponse>) -> v1::RequestUserInputResponse {
    let answers = answer.map(|answer| answer.answers).unwrap_or_default();
    let answer = |(id, answer): (String, ToolRequestUserInputAnswer)| {
        let answers = answer.answers;
        (id, v1::RequestUserInputAnswer { answers })
    };
    v1::RequestUserInputResponse {
        answers: answers.into_iter().map(answer).collect(),
    }
}

fn tool_answer(answer: &mut AnswerReader<'_>) -> v1::DynamicToolResponse {
    let failure = |text: &str| v1::DynamicToolResponse {
        content_items: vec![v1::DynamicToolContentItem::InputText {
            text: text.to_owned(),
        }],
        success: false,
    };
    if answer.text.is_none() {
        return failure("dynamic tool request failed");
    }
    let Some(DynamicToolCallResponse {
        content_items,
        success,
    }) = answer.read()
    else {
        return failure("dynamic tool response was invalid");
    };
    let item = |item| match item {
        DynamicToolCallOutputContentItem::InputText { text } => {
            v1::DynamicToolContentItem::InputText { text }
        }
        DynamicToolCallOutputContentItem::InputImage { image_url } => {
            v1::DynamicToolContentItem::InputImage { image_url }
        }
    };
    v1::DynamicToolResponse {
        content_items: content_items.into_iter().map(item).collect(),
        success,
    }
}

/// The user's answer to a question of an MCP server. An invalid answer declines it.
fn resolution(
    server_name: String,
    request_id: v1::RequestId,
    answer: Option<McpServerElicitationRequestResponse>,
) -> v1::ResolveElicitation {
    let answer = answer.unwrap_or(McpServerElicitationRequestResponse {
        action: McpServerElicitationAction::Decline,
        content: Value::Null,
        meta: Value::Null,
    });
    let given = |value: Value| Some(value).filter(|value| !value.is_null());
    let decision = match answer.action {
        McpServerElicitationAction::Accept => v1::ElicitationAction::Accept,
        McpServerElicitationAction::Decline => v1::ElicitationAction::Decline,
        McpServerElicitationAction::Cancel => v1::ElicitationAction::Cancel,
    };
    v1::ResolveElicitation {
        server_name,
        request_id,
        decision,
        content: given(answer.content),
        meta: given(answer.meta),
    }
}

/// The answer to a question that clients cannot be asked: an invalid form.
pub fn unaskable(event: &EventMsg) -> Option<Op> {
    let EventMsg::ElicitationRequest(event) = event else {
        return None;
    };
    form(&event.request).is_none().then(|| {
        Op::ResolveElicitation(v1::ResolveElicitation {
            server_name: event.server_name.clone(),
            request_id: event.id.clone(),
            decision: v1::ElicitationAction::Cancel,
            content: None,
            meta: None,
        })
    })
}

/// The form for clients; none if it cannot be shown.
fn form(request: &v1::ElicitationRequest) -> Option<McpServerElicitationRequest> {
    Some(match request.clone() {
        v1::ElicitationRequest::Form {
            meta,
            message,
            requested_schema,
        } => McpServerElicitationRequest::Form {
            meta: meta.unwrap_or_default(),
            message,
            requested_schema: serde_json::from_value(requested_schema).ok()?,
        },
        v1::ElicitationRequest::OpenaiForm {
            meta,
            message,
            requested_schema,
        } => McpServerElicitationRequest::OpenaiForm {
            meta: meta.unwrap_or_default(),
            message,
            requested_schema,
        },
        v1::ElicitationRequest::Url {
            meta,
            message,
            url,
            elicitation_id,
        } => McpServerElicitationRequest::Url {
            meta: meta.unwrap_or_default(),
            message,
            url,
            elicitation_id,
        },
    })
}

/// The client request for an event, if it asks a question.
pub fn question(
    asker: &QuestionContext<'_>,
    event: &EventMsg,
) -> Option<(ClientQuestion, ServerRequest)> {
    let thread_id = asker.thread.to_owned();
    let started_at_ms = Some(asker.now);
    Some(match event {
        EventMsg::ExecApprovalRequest(event) => {
            let approval = event
                .approval_id
                .clone()
                .unwrap_or_else(|| event.call_id.clone());
            let turn = event.turn_id.clone();
            let params = CommandExecutionRequestApprovalParams {
                started_at_ms,
                ..command_params(thread_id, event)
            };
            let request = ServerRequest::CommandExecutionRequestApproval(params);
            (ClientQuestion::Command { approval, turn }, request)
        }
        EventMsg::ApplyPatchApprovalRequest(event) => {
            let call = event.call_id.clone();
            let request =
                ServerRequest::FileChangeRequestApproval(FileChangeRequestApprovalParams {
                    thread_id,
                    turn_id: event.turn_id.clone(),
                    item_id: event.call_id.clone(),
                    started_at_ms,
                    reason: event.reason.clone(),
                    engine_notice: event.engine_notice.clone(),
                    grant_root: event.grant_root.clone(),
                });
            (ClientQuestion::Patch { call }, request)
        }
        EventMsg::RequestPermissions(event) => {
            let call = event.call_id.clone();
            let asked = event.permissions.clone();
            let request =
                ServerRequest::PermissionsRequestApproval(PermissionsRequestApprovalParams {
                    thread_id,
                    turn_id: event.turn_id.clone(),
                    item_id: event.call_id.clone(),
                    started_at_ms,
                    environment_id: Some(LOCAL_ENVIRONMENT.to_owned()),
                    cwd: Some(asker.cwd.display().to_string()),
                    reason: event.reason.clone(),
                    engine_notice: event.engine_notice.clone(),
                    justification: event.justification.clone(),
                    permissions: RequestPermissionProfile {
                        network: asked.network.as_ref().map(network),
                        file_system: asked.file_system.as_ref().map(file_system),
                    },
                });
            (ClientQuestion::Permissions { call, asked }, request)
        }
        EventMsg::RequestUserInput(event) => {
            let turn = event.turn_id.clone();
            let request = ServerRequest::ToolRequestUserInput(ToolRequestUserInputParams {
                thread_id,
                turn_id: event.turn_id.clone(),
                item_id: event.call_id.clone(),
                questions: event.questions.iter().map(user_question).collect(),
                is_blocking: Some(true),
            });
            (ClientQuestion::UserInput { turn }, request)
        }
        EventMsg::ElicitationRequest(event) => {
            let params = McpServerElicitationRequestParams {
                thread_id,
                turn_id: event.turn_id.clone(),
                server_name: event.server_name.clone(),
                environment_id: None,
                request: form(&event.request)?,
            };
            let (server, id) = (event.server_name.clone(), event.id.clone());
            let request = ServerRequest::McpServerElicitationRequest(params);
            (ClientQuestion::Elicitation { server, id }, request)
        }
        EventMsg::DynamicToolCallRequest(event) => {
            let call = event.call_id.clone();
            let request = ServerRequest::DynamicToolCall(DynamicToolCallParams {
                thread_id,
                turn_id: event.turn_id.clone(),
                call_id: event.call_id.clone(),
                namespace: event.namespace.clone(),
                tool: event.tool.clone(),
                arguments: event.arguments.clone(),
            });
            (ClientQuestion::Tool { call }, request)
        }
        _ => return None,
    })
}

fn command_params(
    thread_id: String,
    event: &v1::ExecApprovalRequestEvent,
) -> CommandExecutionRequestApprovalParams {
    let is_command = event.network_approval_context.is_none();
    let decisions = event.available_decisions.as_ref();
    let protocol = |protocol| match protocol {
        v1::NetworkApprovalProtocol::Http => NetworkApprovalProtocol::Http,
        v1::NetworkApprovalProtocol::Https => NetworkApprovalProtocol::Https,
        v1::NetworkApprovalProtocol::Socks5Tcp => NetworkApprovalProtocol::Socks5Tcp,
        v1::NetworkApprovalProtocol::Socks5Udp => NetworkApprovalProtocol::Socks5Udp,
    };
    let network_context = event.network_approval_context.as_ref();
    CommandExecutionRequestApprovalParams {
        thread_id,
        turn_id: event.turn_id.clone(),
        item_id: event.call_id.clone(),
        kind: Some(CommandExecutionApprovalKind::Command),
        environment_id: Some(match &event.environment {
            Some(machine) => machine.clone(),
            None => LOCAL_ENVIRONMENT.to_owned(),
        }),
        started_at_ms: None,
        approval_id: event.approval_id.clone(),
        reason: event.reason.clone(),
        engine_notice: event.engine_notice.clone(),
        justification: event.justification.clone(),
        network_approval_context: network_context.map(|context| NetworkApprovalContext {
            host: context.host.clone(),
            protocol: protocol(context.protocol),
        }),
        command: is_command.then(|| item::command_line(&event.command)),
        cwd: is_command.then(|| event.cwd.clone()),
        command_actions: is_command.then(|| actions(&event.parsed_cmd, &event.cwd)),
        additional_permissions: event.additional_permissions.as_ref().map(permissions),
        skill_metadata: event.skill_metadata.as_ref().map(|skill| {
            CommandExecutionRequestApprovalSkillMetadata {
                path_to_skills_md: skill.path_to_skills_md.clone(),
            }
        }),
        proposed_execpolicy_amendment: event.proposed_execpolicy_amendment.clone(),
        proposed_network_policy_amendments: event.proposed_network_policy_amendments.clone(),
        available_decisions: decisions.map(|all| all.iter().map(wire_decision).collect()),
    }
}

fn network(permissions: &v1::NetworkPermissions) -> AdditionalNetworkPermissions {
    AdditionalNetworkPermissions {
        enabled: permissions.enabled,
    }
}

fn file_system(permissions: &v1::FileSystemPermissions) -> AdditionalFileSystemPermissions {
    let of = |paths: &Option<Vec<v1::AbsolutePathBuf>>, access| {
        let paths = paths.clone().unwrap_or_default().into_iter();
        paths.map(move |path| FileSystemSandboxEntry {
            access,
            path: FileSystemPath::Path { path },
        })
    };
    let read = of(&permissions.read, FileSystemAccessMode::Read);
    let write = of(&permissions.write, FileSystemAccessMode::Write);
    AdditionalFileSystemPermissions {
        read: permissions.read.clone(),
        write: permissions.write.clone(),
        entries: Some(read.chain(write).collect()),
    }
}

fn permissions(profile: &v1::PermissionProfile) -> AdditionalPermissionProfile {
    let macos = profile.macos.clone();
    AdditionalPermissionProfile {
        network: profile.network.as_ref().map(network),
        file_system: profile.file_system.as_ref().map(file_system),
        macos: macos.map(|macos| AdditionalMacOsPermissions {
            preferences: macos.macos_preferences,
            automations: macos.macos_automation,
            launch_services: macos.macos_launch_services,
            accessibility: macos.macos_accessibility,
            calendar: macos.macos_calendar,
            reminders: macos.macos_reminders,
            contacts: macos.macos_contacts,
        }),
    }
}

fn user_question(question: &v1::RequestUserInputQuestion) -> ToolRequestUserInputQuestion {
    let option = |option: &v1::RequestUserInputOption| ToolRequestUserInputOption {
        label: option.label.clone(),
        description: option.description.clone(),
    };
    let options = question.options.as_ref();
    ToolRequestUserInputQuestion {
        id: question.id.clone(),
        header: question.header.clone(),
        question: question.question.clone(),
        is_other: question.is_other,
        is_secret: question.is_secret,
        options: options.map(|all| all.iter().map(option).collect()),
    }
}
