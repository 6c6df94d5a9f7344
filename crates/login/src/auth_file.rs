//! The content of `auth.json`. Unknown members are preserved.

use codex_model_client::Secret;
use codex_protocol::AuthMode;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AuthFile {
    /// The kind of login; missing in files of older versions.
    pub(crate) mode: Option<AuthMode>,
    pub(crate) api_key: Option<Secret>,
    pub(crate) tokens: Option<ChatGptTokens>,
    pub(crate) last_refresh: Option<Timestamp>,
    pub(crate) personal_token: Option<Secret>,
    /// Whether another release has stored keys for Amazon Bedrock, which have no use here.
    pub(crate) is_of_bedrock: bool,
    rest: UnknownFields,
}

/// The tokens of a ChatGPT login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChatGptTokens {
    pub(crate) id_token: Secret,
    pub(crate) access_token: Secret,
    pub(crate) refresh_token: Secret,
    pub(crate) account_id: Option<String>,
}

/// Unknown members. They may contain secrets, so `Debug` does not print them.
#[derive(Clone, Default, PartialEq, Eq)]
struct UnknownFields {
    file: Map<String, Value>,
    tokens: Map<String, Value>,
}

impl std::fmt::Debug for UnknownFields {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("UnknownFields(…)")
    }
}

const KEY: &str = "OPENAI_API_KEY";
const PERSONAL_TOKEN: &str = "personal_access_token";
/// The kinds of login for Amazon Bedrock.
const BEDROCK: [&str; 2] = ["bedrockApiKey", "bedrockAccessKeys"];

impl AuthFile {
    pub(crate) fn with_api_key(key: Secret) -> Self {
        Self {
            mode: Some(AuthMode::Apikey),
            api_key: Some(key),
            ..Self::default()
        }
    }

    pub(crate) fn with_tokens(tokens: ChatGptTokens, now: Timestamp) -> Self {
        Self {
            mode: Some(AuthMode::Chatgpt),
            tokens: Some(tokens),
            last_refresh: Some(now),
            ..Self::default()
        }
    }

    pub(crate) fn with_personal_token(token: Secret) -> Self {
        Self {
            personal_token: Some(token),
            ..Self::default()
        }
    }

    /// The kind of login, inferred if the file does not name it.
    pub(crate) fn kind(&self) -> AuthMode {
        self.mode
            .unwrap_or(match (&self.personal_token, &self.api_key) {
                (Some(_), _) => AuthMode::PersonalAccessToken,
                (None, Some(_)) => AuthMode::Apikey,
                (None, None) => AuthMode::Chatgpt,
            })
    }

    pub(crate) fn parse(text: &[u8]) -> Result<Self, String> {
        let value: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let Value::Object(mut file) = value else {
            return Err("not a JSON object".to_owned());
        };
        let mut rest = UnknownFields::default();
        let tokens = match file.remove("tokens").unwrap_or_default() {
            Value::Object(tokens) => Some(read_tokens(tokens, &mut rest.tokens)?),
            Value::Null => None,
            _ => return Err("`tokens` is no object".to_owned()),
        };
        let is_of_bedrock = matches!(file.get("auth_mode"), Some(Value::String(mode)) if BEDROCK.contains(&&**mode));
        let mode = match file.remove("auth_mode").unwrap_or_default() {
            Value::Null => None,
            mode if is_of_bedrock => {
                file.insert("auth_mode".to_owned(), mode);
                None
            }
            mode => Some(serde_json::from_value(mode).map_err(|error| error.to_string())?),
        };
        let last_refresh = match take_text(&mut file, "last_refresh")? {
            None => None,
            Some(text) => Some(text.parse().map_err(|_| "`last_refresh` is no time")?),
        };
        let api_key = take_text(&mut file, KEY)?.map(Secret::from);
        let personal_token = take_text(&mut file, PERSONAL_TOKEN)?.map(Secret::from);
        rest.file = file;
        Ok(Self {
            mode,
            api_key,
            tokens,
            last_refresh,
            personal_token,
            is_of_bedrock,
            rest,
        })
    }

    /// The text of the file.
    pub(crate) fn to_text(&self) -> String {
        format!("{:#}", self.to_json())
    }

    /// The text without blanks, for an entry of a keyring.
    pub(crate) fn to_compact_text(&self) -> String {
        self.to_json().to_string()
    }

    fn to_json(&self) -> Value {
        let mut file = Map::new();
        if let Some(mode) = self.mode {
            file.insert("auth_mode".to_owned(), json!(mode));
        }
        let key = self.api_key.as_ref().map(Secret::reveal);
        file.insert(KEY.to_owned(), json!(key));
        if let Some(tokens) = &self.tokens {
            let mut object = Map::new();
            object.insert("id_token".to_owned(), json!(tokens.id_token.reveal()));
            object.insert(
                "access_token".to_owned(),
                json!(tokens.access_token.reveal()),
            );
            object.insert(
                "refresh_token".to_owned(),
                json!(tokens.refresh_token.reveal()),
            );
            object.insert("account_id".to_owned(), json!(tokens.account_id));
            object.extend(self.rest.tokens.clone());
            file.insert("tokens".to_owned(), Value::Object(object));
        }
        if let Some(time) = self.last_refresh {
            file.insert("last_refresh".to_owned(), json!(time.to_string()));
        }
        if let Some(token) = &self.personal_token {
            file.insert(PERSONAL_TOKEN.to_owned(), json!(token.reveal()));
        }
        file.extend(self.rest.file.clone());
        Value::Object(file)
    }
}

fn read_tokens(
    mut tokens: Map<String, Value>,
    rest: &mut Map<String, Value>,
) -> Result<ChatGptTokens, String> {
    let mut needed = |name: &str| {
        let text = take_text(&mut tokens, name)?;
        text.map(Secret::from)
            .ok_or_else(|| format!("`tokens.{name}` is missing"))
    };
    let (id_token, access_token, refresh_token) = (
        needed("id_token")?,
        needed("access_token")?,
        needed("refresh_token")?,
    );
    let account_id = take_text(&mut tokens, "account_id")?;
    *rest = tokens;
    Ok(ChatGptTokens {
        id_token,
        access_token,
        refresh_token,
        account_id,
    })
}

fn take_text(object: &mut Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match object.remove(name).unwrap_or_default() {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        _ => Err(format!("`{name}` is no text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn login_file_keeps_unknown_members() {
        let text = r#"{"auth_mode":"chatgpt","OPENAI_API_KEY":null,"tokens":{"id_token":"i",
            "access_token":"a","refresh_token":"r","account_id":"w","later":1},
            "last_refresh":"2026-03-26T12:00:00.123456789Z","newer":{"x":[1]}}"#;
        let file = AuthFile::parse(text.as_bytes()).unwrap();
        assert_eq!(file.kind(), AuthMode::Chatgpt);
        let written: Value = serde_json::from_str(&file.to_text()).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(text).unwrap());
        assert!(!format!("{file:?}").contains("\"r\""));
    }

    #[test]
    fn older_login_files_have_no_kind() {
        let kind = |text: &str| AuthFile::parse(text.as_bytes()).unwrap().kind();
        assert_eq!(kind(r#"{"OPENAI_API_KEY":"k"}"#), AuthMode::Apikey);
        assert_eq!(kind(r#"{"OPENAI_API_KEY":null}"#), AuthMode::Chatgpt);
        assert_eq!(kind("{}"), AuthMode::Chatgpt);
        let personal = r#"{"OPENAI_API_KEY":null,"personal_access_token":"at-1"}"#;
        assert_eq!(kind(personal), AuthMode::PersonalAccessToken);
    }

    #[test]
    fn invalid_login_file_is_an_error() {
        for text in [
            "",
            "[]",
            r#"{"auth_mode":"other"}"#,
            r#"{"OPENAI_API_KEY":1}"#,
            r#"{"tokens":[]}"#,
            r#"{"tokens":{"id_token":"i"}}"#,
            r#"{"last_refresh":"soon"}"#,
        ] {
            assert!(AuthFile::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
