//! Failed requests as faults of a scenario.

use serde_json::{Value, json};

/// What a scripted server does to make a request fail as it did.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fault {
    /// A last step.
    Step(Value),
    /// The request is refused.
    Refusal(Value),
}

/// The fault that leads to this error message.
pub(super) fn fault(error: &str) -> Fault {
    let fail = |code: &str| Fault::Step(json!({ "fail": { "code": code, "message": error } }));
    if error.starts_with("stream disconnected before completion") {
        return Fault::Step(json!("cut"));
    }
    if error.starts_with("timed out waiting") {
        return Fault::Step(json!("stall"));
    }
    if error.contains("context window") {
        return fail("context_length_exceeded");
    }
    if error.starts_with("Quota exceeded") {
        return fail("insufficient_quota");
    }
    if error.contains("at capacity") {
        return fail("server_is_overloaded");
    }
    if error.contains("usage limit") {
        let error = json!({ "type": "usage_limit_reached", "message": error });
        return Fault::Refusal(json!({ "status": 429, "error": error }));
    }
    if error.contains("internal error") {
        return refusal(500, error);
    }
    let status = ["last status: ", "unexpected status "]
        .iter()
        .filter_map(|before| error.split_once(before))
        .find_map(|(_, rest)| rest.get(..3)?.parse::<u16>().ok());
    match status {
        Some(status @ 300..=599) => refusal(status, error),
        _ => refusal(400, error),
    }
}

fn refusal(status: u16, message: &str) -> Fault {
    Fault::Refusal(json!({ "status": status, "error": { "message": message } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_leads_to_its_fault() {
        let status = |error: &str| match fault(error) {
            Fault::Refusal(refusal) => refusal["status"].as_u64(),
            Fault::Step(_) => None,
        };
        assert_eq!(status("unexpected status 403 Forbidden: no"), Some(403));
        let limit = "exceeded retry limit, last status: 429 Too Many Requests";
        assert_eq!(status(limit), Some(429));
        assert_eq!(status("something else"), Some(400));
        let cut = "stream disconnected before completion: gone";
        assert_eq!(fault(cut), Fault::Step(json!("cut")));
    }
}
