//! The answer of a reviewer: parsed leniently, and formatted as text.

use codex_protocol::{
    ReviewCodeLocation, ReviewFinding, ReviewLineRange, ReviewOutput, ReviewRequest,
};
use serde_json::Value;

/// The text of a review without a result.
const NO_RESPONSE: &str = "Reviewer failed to output a response.";

/// Parses an answer. An answer without the requested JSON is taken as the explanation.
pub(super) fn parse(answer: &str) -> ReviewOutput {
    let inner = answer
        .find('{')
        .zip(answer.rfind('}'))
        .and_then(|(start, end)| answer.get(start..=end));
    let object = [Some(answer), inner]
        .into_iter()
        .flatten()
        .find_map(|text| serde_json::from_str::<Value>(text).ok())
        .filter(is_review);
    match object {
        Some(object) => output(&object),
        None => ReviewOutput {
            overall_explanation: answer.to_owned(),
            ..ReviewOutput::default()
        },
    }
}

/// Any other object is part of a plain answer.
fn is_review(value: &Value) -> bool {
    value["findings"].is_array() || value["overall_explanation"].is_string()
}

fn output(object: &Value) -> ReviewOutput {
    let findings = object["findings"].as_array();
    ReviewOutput {
        findings: findings.into_iter().flatten().filter_map(finding).collect(),
        overall_correctness: string(&object["overall_correctness"]),
        overall_explanation: string(&object["overall_explanation"]),
        overall_confidence_score: score(&object["overall_confidence_score"]),
    }
}

fn finding(value: &Value) -> Option<ReviewFinding> {
    let (title, body) = (string(&value["title"]), string(&value["body"]));
    if title.is_empty() && body.is_empty() {
        return None;
    }
    let location = &value["code_location"];
    let line = |end: &str| {
        let line = location["line_range"][end].as_u64()?;
        u32::try_from(line).ok()
    };
    let start = line("start").or(line("end")).unwrap_or(0);
    Some(ReviewFinding {
        title,
        body,
        confidence_score: score(&value["confidence_score"]),
        priority: value["priority"]
            .as_i64()
            .and_then(|n| i32::try_from(n).ok()),
        code_location: ReviewCodeLocation {
            absolute_file_path: string(&location["absolute_file_path"]),
            line_range: ReviewLineRange {
                start,
                end: line("end").unwrap_or(start),
            },
        },
    })
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[expect(clippy::cast_possible_truncation, reason = "a score from 0 to 1")]
fn score(value: &Value) -> f32 {
    value.as_f64().unwrap_or_default() as f32
}

/// Formats a review: the explanation, then the findings.
#[must_use]
pub fn review_text(output: Option<&ReviewOutput>) -> String {
    let Some(output) = output else {
        return NO_RESPONSE.to_owned();
    };
    let parts = [
        output.overall_explanation.trim().to_owned(),
        findings_text(&output.findings),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        NO_RESPONSE.to_owned()
    } else {
        parts.join("\n\n")
    }
}

fn findings_text(findings: &[ReviewFinding]) -> String {
    let mut text = match findings.len() {
        0 => return String::new(),
        1 => "Review comment:",
        _ => "Full review comments:",
    }
    .to_owned();
    for finding in findings {
        let location = &finding.code_location;
        let ReviewLineRange { start, end } = location.line_range;
        let path = &location.absolute_file_path;
        text.push_str(&format!("\n\n- {} — {path}:{start}-{end}", finding.title));
        for line in finding.body.lines() {
            text.push_str("\n  ");
            text.push_str(line);
        }
    }
    text
}

/// The title of a review.
#[must_use]
pub fn review_hint(request: &ReviewRequest) -> String {
    let own = || super::target::hint(&request.target);
    request.user_facing_hint.clone().unwrap_or_else(own)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(answer: &str, expected: &str) {
        assert_eq!(review_text(Some(&parse(answer))), expected, "{answer}");
    }

    fn answer() -> Value {
        json!({
            "findings": [{
                "title": "Close it", "body": "It leaks.\nAlways.", "confidence_score": 0.9,
                "code_location": {
                    "absolute_file_path": "/a.rs", "line_range": { "start": 3, "end": 4 },
                },
            }],
            "overall_correctness": "patch is incorrect",
            "overall_explanation": " Not yet. ",
            "overall_confidence_score": 1,
        })
    }

    #[test]
    fn an_answer_is_read_also_from_between_other_words() {
        let text = "Not yet.\n\nReview comment:\n\n- Close it — /a.rs:3-4\n  It leaks.\n  Always.";
        check(&answer().to_string(), text);
        check(&format!("```json\n{}\n```", answer()), text);
    }

    #[test]
    fn incomplete_review_findings_are_accepted() {
        check(
            r#"{"findings":[{"title":"Look"}]}"#,
            "Review comment:\n\n- Look — :0-0",
        );
        check(r#"{"findings":[{}],"overall_explanation":"Fine"}"#, "Fine");
        check(
            r#"{"findings":"none","overall_explanation":""}"#,
            NO_RESPONSE,
        );
    }

    #[test]
    fn a_plain_answer_is_the_explanation() {
        check("It is fine, {really}.", "It is fine, {really}.");
        check("  ", NO_RESPONSE);
        assert_eq!(review_text(None), NO_RESPONSE);
    }

    #[test]
    fn several_findings_have_a_heading_of_their_own() {
        let mut two = answer();
        let first = two["findings"][0].clone();
        two["findings"] = json!([first.clone(), first]);
        two["overall_explanation"] = json!("");
        let text = review_text(Some(&parse(&two.to_string())));
        assert!(
            text.starts_with("Full review comments:\n\n- Close it"),
            "{text}"
        );
        assert_eq!(text.matches("- Close it").count(), 2);
    }
}
