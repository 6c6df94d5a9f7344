//! Task files: JSON lines or CSV, whose rows become the rows of a batch.

use std::path::Path;

use codex_task_table::{TableProblem, TaskIds, TaskTable, fill};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The most rows of a batch.
const MAX_ROWS: usize = 1_000_000;

/// A task: one thread with one turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchRow {
    /// Differs from those of the other rows.
    pub id: String,
    /// What the model is asked.
    pub prompt: String,
    /// The working folder; the one of the worker if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The environment in which commands run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The effort of its reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The mode of the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    #[serde(default, skip_serializing_if = "RowLimits::is_empty")]
    pub limits: RowLimits,
    /// The JSON schema of the last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Commands that must succeed in the working folder after the turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
}

/// What a row may use. An absent member limits nothing, and one that is misspelt is refused: it would be no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RowLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost: Option<f64>,
}

impl RowLimits {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These, and those where these limit nothing.
    fn or(self, other: Self) -> Self {
        Self {
            max_tokens: self.max_tokens.or(other.max_tokens),
            max_requests: self.max_requests.or(other.max_requests),
            max_seconds: self.max_seconds.or(other.max_seconds),
            max_cost: self.max_cost.or(other.max_cost),
        }
    }
}

/// What rows have that say nothing else. The prompt and the folder are templates with the values of the row.
#[derive(Clone, Debug, Default)]
pub struct TaskDefaults {
    pub prompt: Option<String>,
    pub cwd: Option<String>,
    pub environment: Option<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    pub sandbox: Option<String>,
    pub limits: RowLimits,
    pub output_schema: Option<Value>,
    pub checks: Vec<String>,
    /// The column or member with the id of a row.
    pub id_column: Option<String>,
}

/// What is wrong with a task file.
#[derive(Debug, thiserror::Error)]
pub enum TaskFileProblem {
    #[error("line {line} is not a JSON object: {reason}")]
    Json { line: usize, reason: String },
    #[error("row {row}: {reason}")]
    Row { row: usize, reason: String },
    #[error(
        "row {0} has no prompt; set `prompt` in the row, or a template for all rows with --prompt"
    )]
    NoPrompt(usize),
    #[error(
        "row {0}: checks run on the machine of the worker, so a row with an environment has none"
    )]
    ChecksElsewhere(usize),
    #[error(transparent)]
    Table(#[from] TableProblem),
    #[error("the file has no rows")]
    Empty,
    #[error("the file has more than {MAX_ROWS} rows; split it")]
    TooMany,
}

/// Reads the rows of a task file: CSV if its name ends with that, otherwise a JSON object in each line.
///
/// # Errors
/// The file is no such list, or a row has no prompt.
pub fn read_tasks(
    path: &Path,
    text: &str,
    defaults: &TaskDefaults,
) -> Result<Vec<BatchRow>, TaskFileProblem> {
    let is_csv = path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    let objects = if is_csv {
        csv_rows(text)?
    } else {
        json_rows(text)?
    };
    if objects.is_empty() {
        return Err(TaskFileProblem::Empty);
    }
    if objects.len() > MAX_ROWS {
        return Err(TaskFileProblem::TooMany);
    }
    let mut ids = TaskIds::default();
    let rows = objects.into_iter().enumerate();
    rows.map(|(index, values)| row(index + 1, values, defaults, &mut ids))
        .collect()
}

fn csv_rows(text: &str) -> Result<Vec<Map<String, Value>>, TaskFileProblem> {
    let table = TaskTable::parse(text, None, MAX_ROWS)?;
    let headers = table.headers;
    let rows = table.items.into_iter().map(|item| {
        let values = headers.iter().cloned().zip(item.row);
        values
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name, Value::String(value)))
            .collect()
    });
    Ok(rows.collect())
}

fn json_rows(text: &str) -> Result<Vec<Map<String, Value>>, TaskFileProblem> {
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| TaskFileProblem::Json {
                line: at + 1,
                reason: error.to_string(),
            })
        })
        .collect()
}

/// The members of a row that are not only values for the templates.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RowMembers {
    prompt: Option<String>,
    cwd: Option<String>,
    environment: Option<String>,
    model: Option<String>,
    effort: Option<String>,
    sandbox: Option<String>,
    limits: RowLimits,
    output_schema: Option<Value>,
    checks: Option<Vec<String>>,
}

fn row(
    number: usize,
    mut values: Map<String, Value>,
    defaults: &TaskDefaults,
    ids: &mut TaskIds,
) -> Result<BatchRow, TaskFileProblem> {
    let problem = |reason: String| TaskFileProblem::Row {
        row: number,
        reason,
    };
    // In CSV everything is text.
    for name in ["limits", "outputSchema", "checks"] {
        if let Some(Value::String(text)) = values.get(name) {
            let parsed = serde_json::from_str(text);
            let parsed = parsed.map_err(|error| problem(format!("`{name}`: {error}")))?;
            values.insert(name.to_owned(), parsed);
        }
    }
    let members = serde_json::from_value::<RowMembers>(Value::Object(values.clone()));
    let members = members.map_err(|error| problem(error.to_string()))?;
    let texts: Map<String, Value> = (values.iter())
        .map(|(name, value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            (name.clone(), Value::String(text))
        })
        .collect();
    let filled = |template: &String| fill(template, |name| texts.get(name)?.as_str());
    let prompt = match &defaults.prompt {
        Some(template) => Some(filled(template)),
        None => members.prompt,
    };
    let prompt = prompt.filter(|prompt| !prompt.trim().is_empty());
    let id_column = defaults.id_column.as_deref().unwrap_or("id");
    let id = texts.get(id_column).and_then(Value::as_str);
    let id = id.map_or_else(|| format!("row-{number}"), str::to_owned);
    let row = BatchRow {
        id: ids.take(id),
        prompt: prompt.ok_or(TaskFileProblem::NoPrompt(number))?,
        cwd: members.cwd.or_else(|| defaults.cwd.as_ref().map(filled)),
        environment: members.environment.or_else(|| defaults.environment.clone()),
        model: members.model.or_else(|| defaults.model.clone()),
        effort: members.effort.or_else(|| defaults.effort.clone()),
        sandbox: members.sandbox.or_else(|| defaults.sandbox.clone()),
        limits: members.limits.or(defaults.limits),
        output_schema: members
            .output_schema
            .or_else(|| defaults.output_schema.clone()),
        checks: members.checks.unwrap_or_else(|| defaults.checks.clone()),
    };
    if row.environment.is_some() && !row.checks.is_empty() {
        return Err(TaskFileProblem::ChecksElsewhere(number));
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str, defaults: &TaskDefaults) -> Result<Vec<BatchRow>, String> {
        read_tasks(Path::new(name), text, defaults).map_err(|problem| problem.to_string())
    }

    #[test]
    fn columns_fill_the_templates() {
        let defaults = TaskDefaults {
            prompt: Some("Fix {file} ({{why}}: {why})".to_owned()),
            cwd: Some("/src/{file}".to_owned()),
            ..TaskDefaults::default()
        };
        let rows = read("t.csv", "file,why,model\na,\"x, y\",m\nb,,\n", &defaults).unwrap();
        assert_eq!(rows[0].prompt, "Fix a ({why}: x, y)");
        assert_eq!(rows[0].cwd.as_deref(), Some("/src/a"));
        assert_eq!(rows[0].model.as_deref(), Some("m"));
        assert_eq!(rows[1].prompt, "Fix b ({why}: {why})");
        assert_eq!([&*rows[0].id, &*rows[1].id], ["row-1", "row-2"]);
    }

    #[test]
    fn json_rows_have_their_own_settings() {
        let text = r#"{"id":"a","prompt":"p","limits":{"maxTokens":5},"checks":["true"],"outputSchema":{"type":"object"}}

{"id":"a","prompt":"q","n":3}"#;
        let defaults = TaskDefaults {
            limits: RowLimits {
                max_tokens: Some(9),
                max_seconds: Some(7),
                ..RowLimits::default()
            },
            checks: vec!["false".to_owned()],
            ..TaskDefaults::default()
        };
        let rows = read("t.jsonl", text, &defaults).unwrap();
        assert_eq!(rows[0].limits.max_tokens, Some(5));
        assert_eq!(rows[0].limits.max_seconds, Some(7));
        assert_eq!(rows[0].checks, ["true"]);
        assert_eq!(rows[1].checks, ["false"]);
        assert_eq!([&*rows[0].id, &*rows[1].id], ["a", "a-2"]);
    }

    #[test]
    fn task_file_errors_name_the_row() {
        let none = TaskDefaults::default();
        for (name, text, problem) in [
            ("t.jsonl", "", "no rows"),
            ("t.jsonl", "{}\n", "row 1 has no prompt"),
            ("t.jsonl", "{\"prompt\":\"a\"}\n[]\n", "line 2"),
            (
                "t.jsonl",
                r#"{"prompt":"a","limits":{"tokens":1}}"#,
                "row 1",
            ),
            ("t.csv", "prompt,checks\na,[\n", "row 1: `checks`"),
            (
                "t.jsonl",
                r#"{"prompt":"a","environment":"box","checks":["true"]}"#,
                "row 1: checks run on",
            ),
        ] {
            let said = read(name, text, &none).unwrap_err();
            assert!(said.contains(problem), "{said}");
        }
    }
}
