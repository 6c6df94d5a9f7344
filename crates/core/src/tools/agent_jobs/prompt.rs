//! What the agent of an item is told.

use serde_json::{Map, Value};

use super::input::JobItem;

/// Of a job and one of its items.
pub(super) fn prompt(
    job: &str,
    item: &JobItem,
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

/// Puts values in place of `{name}`. `{{` and `}}` stand for braces; a name without a value stays as it is.
fn fill<'v>(template: &str, value: impl Fn(&str) -> Option<&'v str>) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let brace = &rest[..1];
        if rest[1..].starts_with(brace) {
            filled.push_str(brace);
            rest = &rest[2..];
            continue;
        }
        let name = rest[1..].split_once('}').map(|(name, _)| name);
        match name
            .filter(|_| brace == "{")
            .and_then(|name| Some((name, value(name)?)))
        {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len() + 2..];
            }
            None => {
                filled.push_str(brace);
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled() {
        let value = |name: &str| match name {
            "a" => Some("1"),
            "a b" => Some("{a}"),
            "" => Some("nothing"),
            _ => None,
        };
        for (template, filled) in [
            ("plain", "plain"),
            ("{a}{a}", "11"),
            ("{a b} {none} {", "{a} {none} {"),
            ("{{a}} {{{a}}} }", "{a} {1} }"),
            ("{none{a}", "{none1"),
            ("{}é{a}é", "nothingé1é"),
            ("fn() { {a} }", "fn() { 1 }"),
        ] {
            assert_eq!(fill(template, value), filled);
        }
    }

    #[test]
    fn the_prompt_has_the_row_and_the_ids() {
        let item = JobItem {
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
