//! Checks a scenario for members that would have no effect or cannot be played.

use thiserror::Error;

use crate::format::{HttpRefusal, ReplyStep, RequestCondition, Scenario, ScriptedReply};
use crate::realtime_format::{RealtimeProtocol, RealtimeScript, RealtimeStep};

/// Why a scenario cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {reason}")]
pub struct ScenarioProblem {
    /// The path of the member, for example `replies[2].steps[0]`.
    pub place: String,
    pub reason: &'static str,
}

pub(crate) fn check(scenario: &Scenario) -> Result<(), ScenarioProblem> {
    if scenario.replies.is_empty() {
        return problem("replies", "a scenario needs at least one reply");
    }
    if scenario.pace.characters == 0 {
        return problem("pace.characters", "must be at least 1");
    }
    for path in scenario.session.files.keys() {
        check_path(path)?;
    }
    for (index, reply) in scenario.replies.iter().enumerate() {
        check_reply(&format!("replies[{index}]"), reply)?;
    }
    match &scenario.realtime {
        Some(script) => check_realtime(script),
        None => Ok(()),
    }
}

fn check_path(path: &str) -> Result<(), ScenarioProblem> {
    use std::path::{Component, Path};
    let inside = |part| matches!(part, Component::Normal(_));
    if path.is_empty() || !Path::new(path).components().all(inside) {
        let place = format!("session.files.\"{path}\"");
        return problem(place, "the path must stay inside the folder to work in");
    }
    Ok(())
}

fn check_reply(place: &str, reply: &ScriptedReply) -> Result<(), ScenarioProblem> {
    match (&reply.refuse, reply.steps.as_slice()) {
        (None, []) => problem(place, "a reply needs `steps` or `refuse`"),
        (Some(_), [_, ..]) => problem(place, "a reply has `steps` or `refuse`, not both"),
        (Some(refusal), []) => check_refusal(place, refusal),
        (None, steps) => check_steps(place, steps),
    }?;
    match &reply.when {
        Some(RequestCondition {
            user: None,
            output: None,
            exit_code: None,
            model: None,
        }) => problem(
            format!("{place}.when"),
            "needs `user`, `output`, `exit_code` or `model`; leave it out for any request",
        ),
        _ => Ok(()),
    }
}

fn check_refusal(place: &str, refusal: &HttpRefusal) -> Result<(), ScenarioProblem> {
    if !(300..=599).contains(&refusal.status) {
        return problem(
            format!("{place}.refuse.status"),
            "must be from 300 to 599; use `steps` for a reply that succeeds",
        );
    }
    let unsafe_text = |text: &str| text.is_empty() || text.contains(['\r', '\n', ':']);
    for (name, value) in &refusal.headers {
        if unsafe_text(name) || value.contains(['\r', '\n']) {
            let place = format!("{place}.refuse.headers.\"{name}\"");
            return problem(place, "not a header");
        }
    }
    Ok(())
}

fn check_steps(place: &str, steps: &[ReplyStep]) -> Result<(), ScenarioProblem> {
    for (index, step) in steps.iter().enumerate() {
        let place = || format!("{place}.steps[{index}]");
        match (step, steps.get(index + 1)) {
            (ReplyStep::Cut | ReplyStep::Stall | ReplyStep::Fail(_), Some(_)) => {
                return problem(place(), "nothing can follow this step");
            }
            (ReplyStep::Unfinished(_), None) => {
                return problem(place(), "needs `cut`, `stall` or `fail` after it");
            }
            (ReplyStep::Plan(plan), _) if plan.is_empty() => {
                return problem(place(), "the plan has no steps");
            }
            (ReplyStep::Item(fields) | ReplyStep::Event(fields), _)
                if !fields.get("type").is_some_and(|kind| kind.is_string()) =>
            {
                return problem(place(), "needs a `type`");
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_realtime(script: &RealtimeScript) -> Result<(), ScenarioProblem> {
    for (index, reply) in script.replies.iter().enumerate() {
        for (number, step) in reply.steps.iter().enumerate() {
            let place = || format!("realtime.replies[{index}].steps[{number}]");
            let is_last = number + 1 == reply.steps.len();
            match step {
                RealtimeStep::Cut | RealtimeStep::Stall | RealtimeStep::Fail(_) if !is_last => {
                    return problem(place(), "nothing can follow this step");
                }
                RealtimeStep::Speech if script.version == RealtimeProtocol::V1 => {
                    return problem(place(), "the first version has no `speech`");
                }
                RealtimeStep::Event(fields)
                    if !fields.get("type").is_some_and(|kind| kind.is_string()) =>
                {
                    return problem(place(), "needs a `type`");
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn problem<T>(place: impl Into<String>, reason: &'static str) -> Result<T, ScenarioProblem> {
    let place = place.into();
    Err(ScenarioProblem { place, reason })
}
