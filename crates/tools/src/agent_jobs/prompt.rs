//! What the agent of an item is told.

use codex_task_table::{TaskRow, fill};
use serde_json::{Map, Value};

/// Of a job and one of its items.
pub(super) fn prompt(
    job: &str,
    item: &TaskRow,
    headers: &[String],
    instruction: &str,
    output_schema: Option<&Value>,
) -> String {
    let task = fill(instruction, |name| {
        let column = headers.iter().position(|header| header == name)?;
        item.row.get(column).map(String::as_str)
    });
    let row: Map<String, Value> = (headers.iter().cloned())
        .zip(item.row.iter().cloned().map(Value::String))
        .collect();
    let id = &item.id;
    let schema = match output_schema {
        Some(schema) => format!("The result must match this JSON schema:\n{schema:#}"),
        None => "The result may have any members.".to_owned(),
    };
    format!(
        "You work on one item of a job; other agents work on the others.\nJob ID: {job}\nItem ID: {id}\n\nYour task:\n{task}\n\n\
         The row of the item:\n{row:#}\n\nWhen you are done, call `report_agent_job_result` once, with `job_id` \"{job}\", \
         `item_id` \"{id}\" and, as `result`, a JSON object with what you found. {schema}\n\nAn item without this report has \
         failed. If what you found makes the other items pointless, set `stop` to true in the report. End after the report.",
        row = Value::Object(row),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_has_the_row_and_the_ids() {
        let item = TaskRow {
            id: "b".to_owned(),
            source_id: None,
            row: vec!["x\"y".to_owned()],
        };
        let schema = serde_json::json!({ "type": "object" });
        let text = prompt("j", &item, &["a".to_owned()], "do {a}", Some(&schema));
        assert!(text.contains("\ndo x\"y\n"));
        assert!(text.contains(r#""a": "x\"y""#));
        assert!(text.contains("Job ID: j\nItem ID: b\n"));
        assert!(text.contains(r#""type": "object""#));
    }
}
