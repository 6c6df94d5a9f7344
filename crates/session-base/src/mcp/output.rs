//! The output of an MCP call for the model.

use codex_protocol::{CallToolResult, FunctionCallOutputBody, FunctionCallOutputContentItem};
use serde_json::{Value, json};

const NO_IMAGES: &str = "<image content omitted because you do not support image input>";

/// Replaces each image by a note, for models that cannot see.
pub fn for_text_models(mut result: CallToolResult) -> CallToolResult {
    for block in &mut result.content {
        if is_image(block) {
            *block = json!({ "type": "text", "text": NO_IMAGES });
        }
    }
    result
}

/// Structured content if there is any; images as images; everything else as JSON.
pub fn output_of(result: &CallToolResult) -> FunctionCallOutputBody {
    if let Some(data) = result
        .structured_content
        .as_ref()
        .filter(|data| !data.is_null())
    {
        return FunctionCallOutputBody::Text(data.to_string().into());
    }
    if result.content.iter().any(is_image) {
        return FunctionCallOutputBody::Content(result.content.iter().map(part).collect());
    }
    let content = Value::Array(result.content.clone());
    FunctionCallOutputBody::Text(content.to_string().into())
}

/// The output of a failed call.
pub fn error_output(message: &str) -> FunctionCallOutputBody {
    let content = json!([{ "type": "text", "text": message }]);
    FunctionCallOutputBody::Text(content.to_string().into())
}

fn is_image(block: &Value) -> bool {
    block["type"] == "image" && block["data"].is_string()
}

fn part(block: &Value) -> FunctionCallOutputContentItem {
    if is_image(block) {
        let data = block["data"].as_str().unwrap_or_default();
        let kind = block["mimeType"].as_str();
        let kind = kind.unwrap_or("application/octet-stream");
        let image_url = if data.starts_with("data:") {
            data.to_owned()
        } else {
            format!("data:{kind};base64,{data}")
        };
        return FunctionCallOutputContentItem::InputImage {
            image_url,
            detail: None,
        };
    }
    let text = match (&block["type"], &block["text"]) {
        (Value::String(kind), Value::String(text)) if kind == "text" => text.clone(),
        _ => block.to_string(),
    };
    FunctionCallOutputContentItem::InputText { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(content: Value, data: Option<Value>) -> Value {
        let content = content.as_array().unwrap().clone();
        let result = CallToolResult {
            content,
            structured_content: data,
            ..CallToolResult::default()
        };
        serde_json::to_value(output_of(&result)).unwrap()
    }

    #[test]
    fn data_comes_before_blocks_and_images_stay_images() {
        let hi = json!({ "type": "text", "text": "hi" });
        let image = json!({ "type": "image", "data": "QQ==", "mimeType": "image/png" });
        assert_eq!(shown(json!([hi]), Some(json!({ "a": 1 }))), r#"{"a":1}"#);
        assert_eq!(
            shown(json!([hi]), Some(Value::Null)),
            r#"[{"type":"text","text":"hi"}]"#
        );
        assert_eq!(
            shown(json!([hi, image, { "type": "audio" }]), None),
            json!([
                { "type": "input_text", "text": "hi" },
                { "type": "input_image", "image_url": "data:image/png;base64,QQ==" },
                { "type": "input_text", "text": "{\"type\":\"audio\"}" },
            ])
        );
    }

    #[test]
    fn models_without_eyes_get_a_note() {
        let content = vec![json!({ "type": "image", "data": "QQ==" })];
        let result = for_text_models(CallToolResult {
            content,
            ..CallToolResult::default()
        });
        assert_eq!(result.content[0]["text"], NO_IMAGES);
    }
}
