//! Errors of the protocol.

use agent_client_protocol_schema::v1::{Error, ErrorCode};
use codex_app_server_protocol::rpc::error_code;
use codex_app_server_protocol::v2::{CodexErrorInfo, TurnError};
use codex_client::ClientError;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Reads the params of a method.
pub(crate) fn read<T: for<'de> Deserialize<'de>>(params: &RawValue) -> Result<T, Error> {
    codex_json_rpc::params(params).map_err(from_client)
}

/// An error reply of the client, or a closed connection.
pub(crate) fn from_client(error: codex_json_rpc::Error) -> Error {
    let code = i32::try_from(error.code).unwrap_or(ErrorCode::InternalError.into());
    Error::new(code, error.message).data(error.data)
}

/// An error reply of the engine, or a closed connection.
pub(crate) fn from_engine(error: ClientError) -> Error {
    match error {
        ClientError::Refused { error, .. } => {
            let kind = match error.code {
                error_code::INVALID_REQUEST | error_code::INVALID_PARAMS => Error::invalid_params(),
                _ => Error::internal_error(),
            };
            with_message(kind, error.message)
        }
        error => with_message(Error::internal_error(), error.to_string()),
    }
}

/// The params are well-formed but invalid.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    with_message(Error::invalid_params(), message.into())
}

/// The request is not allowed in the current state.
pub(crate) fn not_now(message: &str) -> Error {
    with_message(Error::invalid_request(), message.to_owned())
}

/// The request was valid and failed.
pub(crate) fn failed(message: String) -> Error {
    with_message(Error::internal_error(), message)
}

/// A failed turn. It is an error, so that clients do not show it as an answer.
pub(crate) fn from_turn(error: Option<&TurnError>) -> Error {
    let Some(error) = error else {
        return with_message(Error::internal_error(), "the turn failed".to_owned());
    };
    let kind = match error.codex_error_info {
        Some(CodexErrorInfo::Unauthorized) => ErrorCode::AuthRequired,
        _ => ErrorCode::InternalError,
    };
    let data = json!({ "message": error.message, "codexErrorInfo": error.codex_error_info });
    with_message(kind.into(), error.message.clone()).data(data)
}

/// The code of `kind` with a more specific message.
fn with_message(kind: Error, message: String) -> Error {
    let data = Value::from(message.clone());
    Error::new(kind.code.into(), message).data(data)
}
