//! Converts questions to ACP forms, and their answers back. Pure.

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, ElicitationFormMode, ElicitationSchema, ElicitationSessionScope,
    EnumOption, SessionId, StringPropertySchema,
};
use codex_app_server_protocol::v2::{
    McpElicitationSchema, ToolRequestUserInputParams, ToolRequestUserInputQuestion,
};
use serde_json::{Map, Value, json};

/// The suffix of the field for a free-text answer.
const OTHER_FIELD: &str = "_other";

/// The form of an elicitation of an MCP server; both protocols have the same schema.
pub(crate) fn of_server(
    session: &SessionId,
    message: &str,
    schema: &McpElicitationSchema,
) -> Value {
    let mut schema = json!(schema);
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("$schema");
    }
    json!({ "mode": "form", "sessionId": session, "message": message, "requestedSchema": schema })
}

/// The elicitation of an MCP server that asks the user to open a page.
pub(crate) fn of_page(session: &SessionId, message: &str, url: &str, id: &str) -> Value {
    json!({ "mode": "url", "sessionId": session, "message": message, "url": url, "elicitationId": id })
}

/// The reply to the engine for the question of an MCP server.
pub(crate) fn server_answer(answer: Option<&Value>) -> Value {
    match answer.and_then(|answer| Some((answer["action"].as_str()?, &answer["content"]))) {
        Some(("accept", content)) => json!({ "action": "accept", "content": content }),
        Some(("cancel", _)) => json!({ "action": "cancel", "content": null }),
        _ => json!({ "action": "decline", "content": null }),
    }
}

/// The questions of the model as one form. None if a question asks for a secret: forms must not ask for secrets.
pub(crate) fn of_questions(
    session: &SessionId,
    params: &ToolRequestUserInputParams,
) -> Option<CreateElicitationRequest> {
    let mut schema = ElicitationSchema::new();
    let mut message = String::from("The agent has a question.");
    for (index, question) in askable(params).enumerate() {
        if index == 0 {
            message = format!("The model asks: {}", question.question);
        }
        schema = with_question(schema, question);
    }
    askable(params).next()?;
    let scope = ElicitationSessionScope::new(session.clone()).tool_call_id(
        agent_client_protocol_schema::v1::ToolCallId::new(params.item_id.clone()),
    );
    let mode = ElicitationFormMode::new(scope, schema);
    Some(CreateElicitationRequest::new(mode, message))
}

fn askable(
    params: &ToolRequestUserInputParams,
) -> impl Iterator<Item = &ToolRequestUserInputQuestion> {
    params
        .questions
        .iter()
        .filter(|question| !question.is_secret)
}

fn with_question(
    schema: ElicitationSchema,
    question: &ToolRequestUserInputQuestion,
) -> ElicitationSchema {
    let options = question.options.as_deref().unwrap_or_default();
    let choices = options.iter().map(|option| {
        EnumOption::new(option.label.clone(), option.label.clone())
            .description(option.description.clone())
    });
    let choices = Some(choices.collect::<Vec<_>>()).filter(|choices| !choices.is_empty());
    let has_other = question.is_other && choices.is_some();
    let property = StringPropertySchema::new()
        .title(question.header.clone())
        .description(question.question.clone())
        .one_of(choices);
    let schema = schema.property(question.id.clone(), property, !has_other);
    if has_other {
        let other = StringPropertySchema::new().title("Something else".to_owned());
        schema.property(format!("{}{OTHER_FIELD}", question.id), other, false)
    } else {
        schema
    }
}

/// The reply to the engine for the questions of the model.
pub(crate) fn question_answers(
    params: &ToolRequestUserInputParams,
    answer: Option<&Value>,
) -> Value {
    let accepted = answer.filter(|answer| answer["action"] == "accept");
    let mut answers = Map::new();
    for question in askable(params) {
        let Some(content) = accepted.map(|answer| &answer["content"]) else {
            continue;
        };
        let fields = [question.id.clone(), format!("{}{OTHER_FIELD}", question.id)];
        let texts = fields.iter().filter_map(|field| content[field].as_str());
        let texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
        if !texts.is_empty() {
            answers.insert(question.id.clone(), json!({ "answers": texts }));
        }
    }
    json!({ "answers": answers })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions() -> ToolRequestUserInputParams {
        let question = |id: &str, is_secret: bool| {
            json!({ "id": id, "header": "Colour", "question": "Which?", "isOther": true,
                    "isSecret": is_secret, "options": [{ "label": "red", "description": "warm" }] })
        };
        let params = json!({ "threadId": "t", "turnId": "u", "itemId": "i",
                             "questions": [question("q", false), question("s", true)] });
        serde_json::from_value(params).unwrap()
    }

    #[test]
    fn questions_are_fields_and_secrets_are_not_asked_for() {
        let form = json!(of_questions(&SessionId::new("t"), &questions()).unwrap());
        assert_eq!(form["mode"], "form");
        assert_eq!(form["sessionId"], "t");
        let properties = form["requestedSchema"]["properties"].as_object().unwrap();
        assert_eq!(properties.keys().collect::<Vec<_>>(), ["q", "q_other"]);
        let choice = json!([{ "const": "red", "title": "red", "description": "warm" }]);
        assert_eq!(properties["q"]["oneOf"], choice);
    }

    #[test]
    fn answers_go_back_by_question() {
        let answer = json!({ "action": "accept", "content": { "q": "red", "q_other": "dark" } });
        let expected = json!({ "answers": { "q": { "answers": ["red", "dark"] } } });
        assert_eq!(question_answers(&questions(), Some(&answer)), expected);
        let declined = json!({ "action": "decline" });
        let nothing = json!({ "answers": {} });
        assert_eq!(question_answers(&questions(), Some(&declined)), nothing);
        assert_eq!(question_answers(&questions(), None), nothing);
    }

    #[test]
    fn a_form_of_a_server_passes_through() {
        let schema = json!({ "type": "object", "properties": {
            "size": { "type": "string", "enum": ["s"] } } });
        let schema: McpElicitationSchema = serde_json::from_value(schema).unwrap();
        let form = of_server(&SessionId::new("t"), "Size?", &schema);
        let read: CreateElicitationRequest = serde_json::from_value(form.clone()).unwrap();
        assert_eq!(read.message, "Size?");
        assert_eq!(
            form["requestedSchema"]["properties"]["size"]["enum"],
            json!(["s"])
        );
        let accepted = json!({ "action": "accept", "content": { "size": "s" } });
        assert_eq!(server_answer(Some(&accepted)), accepted);
        assert_eq!(server_answer(None)["action"], "decline");
    }
}
