//! The answer of a reviewer: its form, and what it decides.

use codex_protocol::{GuardianAssessmentStatus, GuardianRiskLevel, GuardianUserAuthorization};
use codex_session_base::gate::Assessment;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Actions with this score or a higher one are denied.
const DENIED_FROM: u8 = 80;

/// The JSON Schema of an answer.
pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["risk_level", "risk_score", "user_authorization", "rationale", "evidence"],
        "properties": {
            "risk_level": {"type": "string", "enum": ["low", "medium", "high"]},
            "risk_score": {"type": "integer", "minimum": 0, "maximum": 100},
            "user_authorization": {"type": "string", "enum": ["unknown", "low", "medium", "high"]},
            "rationale": {"type": "string"},
            "evidence": {"type": "array", "items": {
                "type": "object",
                "additionalProperties": false,
                "required": ["message", "why"],
                "properties": {"message": {"type": "string"}, "why": {"type": "string"}},
            }},
        },
    })
}

#[derive(Deserialize)]
struct Answer {
    risk_level: GuardianRiskLevel,
    risk_score: u8,
    user_authorization: Option<GuardianUserAuthorization>,
    rationale: String,
    #[serde(rename = "evidence")]
    _evidence: Vec<Evidence>,
}

#[derive(Deserialize)]
struct Evidence {
    #[serde(rename = "message")]
    _message: String,
    #[serde(rename = "why")]
    _why: String,
}

/// An answer in the form of later releases, which models may be used to.
#[derive(Deserialize)]
struct OutcomeAnswer {
    outcome: Outcome,
    risk_level: Option<GuardianRiskLevel>,
    user_authorization: Option<GuardianUserAuthorization>,
    #[serde(default)]
    rationale: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Allow,
    Deny,
}

/// Reads an answer. The score alone decides, or the outcome where there is no score.
pub(super) fn read(text: &str) -> Result<Assessment, String> {
    match parse::<Answer>(text) {
        Ok(answer) => read_score(answer),
        Err(error) => parse::<OutcomeAnswer>(text)
            .map(read_outcome)
            .map_err(|_| error),
    }
}

fn read_outcome(answer: OutcomeAnswer) -> Assessment {
    let risk_level = answer.risk_level.unwrap_or(match answer.outcome {
        Outcome::Allow => GuardianRiskLevel::Low,
        Outcome::Deny => GuardianRiskLevel::High,
    });
    let risk_score = match (answer.risk_level, risk_level) {
        (None, GuardianRiskLevel::High) | (_, GuardianRiskLevel::Critical) => 100,
        (_, GuardianRiskLevel::High) => 85,
        (_, GuardianRiskLevel::Medium) => 50,
        (_, GuardianRiskLevel::Low) => 10,
    };
    let status = match answer.outcome {
        Outcome::Allow => GuardianAssessmentStatus::Approved,
        Outcome::Deny => GuardianAssessmentStatus::Denied,
    };
    Assessment {
        status,
        risk_score,
        risk_level,
        user_authorization: answer.user_authorization,
        rationale: answer.rationale,
    }
}

fn read_score(answer: Answer) -> Result<Assessment, String> {
    if answer.risk_score > 100 {
        return Err(format!("the score {} is over 100", answer.risk_score));
    }
    let status = if answer.risk_score < DENIED_FROM {
        GuardianAssessmentStatus::Approved
    } else {
        GuardianAssessmentStatus::Denied
    };
    Ok(Assessment {
        status,
        risk_score: answer.risk_score,
        risk_level: answer.risk_level,
        user_authorization: answer.user_authorization,
        rationale: answer.rationale,
    })
}

/// The whole text as JSON, or what is between its first and its last brace.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let whole = serde_json::from_str(text);
    let error = match whole {
        Ok(answer) => return Ok(answer),
        Err(error) => error,
    };
    let braces = text.find('{').zip(text.rfind('}'));
    braces
        .and_then(|(start, end)| text.get(start..=end))
        .and_then(|inner| serde_json::from_str(inner).ok())
        .ok_or_else(|| format!("the answer cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(score: i32, level: &str) -> String {
        json!({"risk_level": level, "risk_score": score, "rationale": "why", "evidence": []})
            .to_string()
    }

    #[test]
    fn only_the_score_decides() {
        let status = |text: &str| read(text).map(|assessment| assessment.status);
        assert_eq!(
            status(&answer(79, "high")),
            Ok(GuardianAssessmentStatus::Approved)
        );
        assert_eq!(
            status(&answer(80, "low")),
            Ok(GuardianAssessmentStatus::Denied)
        );
        assert_eq!(
            status(r#"{"outcome":"allow"}"#),
            Ok(GuardianAssessmentStatus::Approved)
        );
        assert_eq!(
            status(r#"{"outcome":"deny"}"#),
            Ok(GuardianAssessmentStatus::Denied)
        );
        let wrapped = format!("Here it is:\n```json\n{}\n```", answer(1, "low"));
        assert_eq!(status(&wrapped), Ok(GuardianAssessmentStatus::Approved));
    }

    #[test]
    fn invalid_review_answers_are_refused() {
        let without = json!({"risk_level": "low", "risk_score": 1, "rationale": "why"}).to_string();
        let odd = [
            "approved",
            "",
            "{}",
            "risk_score: 0",
            r#"{"outcome":"maybe"}"#,
            r#"{"approved":true}"#,
            &without,
            &answer(101, "low"),
            &answer(-1, "low"),
            &answer(1, "none"),
            &format!("{}{}", answer(1, "low"), answer(99, "high")),
        ];
        for text in odd {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
