//! What the model writes: JavaScript, with an optional first line that sets how to run it.

use serde_json::Value;

/// What the first line begins with, without the spaces before it.
const PRAGMA: &str = "// @exec:";
const FIELDS: &str = "`yield_time_ms` and `max_output_tokens`";
/// The largest integer that a JavaScript number represents exactly, with all below it.
const MAX_SAFE: u64 = (1 << 53) - 1;

/// A script, and how to run it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellSource {
    /// The JavaScript.
    pub code: String,
    /// After how many milliseconds the model goes on, if the script has not ended.
    pub yield_time_ms: Option<u64>,
    /// The limit of the output.
    pub max_output_tokens: Option<u64>,
}

/// Why no script runs, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SourceProblem(String);

impl CellSource {
    /// Reads the input of the tool.
    ///
    /// # Errors
    /// There is no script, or the first line is not as it should be.
    pub fn parse(input: &str) -> Result<Self, SourceProblem> {
        let problem = |text: String| Err(SourceProblem(text));
        if input.trim().is_empty() {
            return problem(
                "exec expects raw JavaScript source text (non-empty). Write the script itself, without quotes, \
                 JSON or a code fence around it."
                    .to_owned(),
            );
        }
        let (first, rest) = input.split_once('\n').unwrap_or((input, ""));
        let Some(options) = first.trim_start().strip_prefix(PRAGMA) else {
            return Ok(Self {
                code: input.to_owned(),
                yield_time_ms: None,
                max_output_tokens: None,
            });
        };
        if rest.trim().is_empty() {
            return problem(
                "exec pragma must be followed by JavaScript source on subsequent lines".to_owned(),
            );
        }
        let object = format!("exec pragma must be a JSON object with supported fields {FIELDS}");
        if options.trim().is_empty() {
            return problem(object);
        }
        let options: Value = match serde_json::from_str(options.trim()) {
            Ok(options) => options,
            Err(error) => {
                return problem(format!(
                    "exec pragma must be valid JSON with supported fields {FIELDS}: {error}"
                ));
            }
        };
        let Value::Object(options) = options else {
            return problem(object);
        };
        let mut source = Self {
            code: rest.to_owned(),
            yield_time_ms: None,
            max_output_tokens: None,
        };
        for (key, value) in &options {
            let field = match key.as_str() {
                "yield_time_ms" => &mut source.yield_time_ms,
                "max_output_tokens" => &mut source.max_output_tokens,
                other => {
                    return problem(format!("exec pragma only supports {FIELDS}; got `{other}`"));
                }
            };
            *field = Some(number(key, value)?);
        }
        Ok(source)
    }
}

/// What a console is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleSource {
    /// The JavaScript.
    pub code: String,
    /// After how many milliseconds the console is reset, if the script has not ended.
    pub timeout_ms: Option<u64>,
}

/// What the first line of a script for a console begins with.
const CONSOLE_PRAGMA: &str = "// codex-js-repl:";

impl ConsoleSource {
    /// Reads the input of the tool.
    ///
    /// # Errors
    /// There is no script, or the first line is not as it should be.
    pub fn parse(input: &str) -> Result<Self, SourceProblem> {
        let problem = |text: &str| Err(SourceProblem(text.to_owned()));
        if input.trim().is_empty() {
            return problem(
                "js_repl expects raw JavaScript tool input (non-empty), optionally behind a first line \
                 `// codex-js-repl: timeout_ms=15000`.",
            );
        }
        let (first, rest) = input.split_once('\n').unwrap_or((input, ""));
        let options = first.trim_start().strip_prefix(CONSOLE_PRAGMA);
        let code = if options.is_some() { rest } else { input };
        if code.trim().is_empty() {
            return problem(
                "js_repl pragma must be followed by JavaScript source on subsequent lines",
            );
        }
        let code_start = code.trim_start();
        if code_start.starts_with("```") {
            return problem(
                "js_repl expects raw JavaScript source, not markdown code fences. Send the script itself.",
            );
        }
        if let Ok(Value::Object(_) | Value::String(_)) = serde_json::from_str(code.trim()) {
            return problem(
                "js_repl is a freeform tool and expects raw JavaScript source. Send the script itself, not as JSON and \
                 without quotes.",
            );
        }
        let mut timeout_ms = None;
        for option in options.unwrap_or_default().split_whitespace() {
            let Some(("timeout_ms", value)) = option.split_once('=') else {
                let key = option.split('=').next().unwrap_or(option);
                return Err(SourceProblem(format!(
                    "js_repl pragma only supports timeout_ms; got `{key}`"
                )));
            };
            timeout_ms = Some(value.parse().map_err(|_| {
                SourceProblem(format!(
                    "js_repl pragma timeout_ms must be an integer; got `{value}`"
                ))
            })?);
        }
        let code = code.to_owned();
        Ok(Self { code, timeout_ms })
    }
}

fn number(key: &str, value: &Value) -> Result<u64, SourceProblem> {
    match value.as_u64() {
        Some(number) if number <= MAX_SAFE => Ok(number),
        Some(_) => Err(SourceProblem(format!(
            "exec pragma field `{key}` must be a non-negative safe integer"
        ))),
        None => Err(SourceProblem(format!(
            "exec pragma fields {FIELDS} must be non-negative safe integers: `{key}` is {value}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: Result<(&str, Option<u64>, Option<u64>), &str>) {
        match (CellSource::parse(input), expected) {
            (Ok(source), Ok((code, wait, tokens))) => {
                assert_eq!(source.code, code);
                assert_eq!(source.yield_time_ms, wait);
                assert_eq!(source.max_output_tokens, tokens);
            }
            (Err(problem), Err(start)) => {
                assert!(problem.to_string().starts_with(start), "{problem}");
            }
            (got, _) => panic!("{input}: {got:?}"),
        }
    }

    #[test]
    fn the_first_line_may_set_how_to_run() {
        check("text(1)", Ok(("text(1)", None, None)));
        check("// other\ntext(1)", Ok(("// other\ntext(1)", None, None)));
        check(
            "// @exec: {\"yield_time_ms\": 10, \"max_output_tokens\": 0}\na\nb",
            Ok(("a\nb", Some(10), Some(0))),
        );
        check(
            " \n",
            Err("exec expects raw JavaScript source text (non-empty)."),
        );
        check("// @exec: {}", Err("exec pragma must be followed"));
        check("// @exec: {}\n \n", Err("exec pragma must be followed"));
        check("// @exec:\na", Err("exec pragma must be a JSON object"));
        check("// @exec: 1\na", Err("exec pragma must be a JSON object"));
        check("// @exec: {\na", Err("exec pragma must be valid JSON"));
        check("// @exec: {\"foo\":1}\na", Err("exec pragma only supports"));
        for value in ["-1", "1.5", "\"1\"", "null"] {
            check(
                &format!("// @exec: {{\"yield_time_ms\":{value}}}\na"),
                Err("exec pragma fields"),
            );
        }
        check(
            "// @exec: {\"yield_time_ms\":9007199254740992}\na",
            Err("exec pragma field `yield_time_ms` must be"),
        );
    }

    #[test]
    fn a_console_takes_scripts_alone() {
        let start = |input: &str| match ConsoleSource::parse(input) {
            Ok(source) => format!("{:?} {}", source.timeout_ms, source.code),
            Err(problem) => problem.to_string(),
        };
        for (input, expected) in [
            ("let a = {}", "None let a = {}"),
            ("// codex-js-repl: timeout_ms=15\n1", "Some(15) 1"),
            ("// codex-js-repl:\n1", "None 1"),
            (" ", "js_repl expects raw JavaScript tool input"),
            (
                "// codex-js-repl: timeout_ms=5",
                "js_repl pragma must be followed",
            ),
            (
                "// codex-js-repl: a=5\n1",
                "js_repl pragma only supports timeout_ms; got `a`",
            ),
            (
                "// codex-js-repl: timeout_ms=x\n1",
                "js_repl pragma timeout_ms must be an integer; got `x`",
            ),
            (
                "```js\n1\n```",
                "js_repl expects raw JavaScript source, not markdown",
            ),
            ("{\"code\": \"1\"}", "js_repl is a freeform tool"),
        ] {
            assert!(
                start(input).starts_with(expected),
                "{input}: {}",
                start(input)
            );
        }
    }
}
