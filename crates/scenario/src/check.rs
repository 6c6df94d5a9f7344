//! What a scenario must hold beyond its shape: nothing in it can be left without effect.

use thiserror::Error;

use crate::format::{Refusal, Reply, Scenario, Step, When};

/// A scenario that cannot be played, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {reason}")]
pub struct Misfit {
    /// The way to the member, for example `replies[2].steps[0]`.
    pub place: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

pub(crate) fn check(scenario: &Scenario) -> Result<(), Misfit> {
    if scenario.replies.is_empty() {
        return misfit("replies", "a scenario needs at least one reply");
    }
    if scenario.pace.characters == 0 {
        return misfit("pace.characters", "must be at least 1");
    }
    for path in scenario.session.files.keys() {
        check_path(path)?;
    }
    for (index, reply) in scenario.replies.iter().enumerate() {
        check_reply(&format!("replies[{index}]"), reply)?;
    }
    Ok(())
}

fn check_path(path: &str) -> Result<(), Misfit> {
    use std::path::{Component, Path};
    let inside = |part| matches!(part, Component::Normal(_));
    if path.is_empty() || !Path::new(path).components().all(inside) {
        let place = format!("session.files.\"{path}\"");
        return misfit(place, "the path must stay inside the folder to work in");
    }
    Ok(())
}

fn check_reply(place: &str, reply: &Reply) -> Result<(), Misfit> {
    match (&reply.refuse, reply.steps.as_slice()) {
        (None, []) => misfit(place, "a reply needs `steps` or `refuse`"),
        (Some(_), [_, ..]) => misfit(place, "a reply has `steps` or `refuse`, not both"),
        (Some(refusal), []) => check_refusal(place, refusal),
        (None, steps) => check_steps(place, steps),
    }?;
    match &reply.when {
        Some(When {
            user: None,
            output: None,
            exit_code: None,
            model: None,
        }) => misfit(
            format!("{place}.when"),
            "needs `user`, `output`, `exit_code` or `model`; leave it out for any request",
        ),
        _ => Ok(()),
    }
}

fn check_refusal(place: &str, refusal: &Refusal) -> Result<(), Misfit> {
    if !(300..=599).contains(&refusal.status) {
        return misfit(
            format!("{place}.refuse.status"),
            "must be from 300 to 599; use `steps` for a reply that succeeds",
        );
    }
    let unsafe_text = |text: &str| text.is_empty() || text.contains(['\r', '\n', ':']);
    for (name, value) in &refusal.headers {
        if unsafe_text(name) || value.contains(['\r', '\n']) {
            let place = format!("{place}.refuse.headers.\"{name}\"");
            return misfit(place, "not a header");
        }
    }
    Ok(())
}

fn check_steps(place: &str, steps: &[Step]) -> Result<(), Misfit> {
    for (index, step) in steps.iter().enumerate() {
        let place = || format!("{place}.steps[{index}]");
        match (step, steps.get(index + 1)) {
            (Step::Cut | Step::Stall | Step::Fail(_), Some(_)) => {
                return misfit(place(), "nothing can follow this step");
            }
            (Step::Unfinished(_), None) => {
                return misfit(place(), "needs `cut`, `stall` or `fail` after it");
            }
            (Step::Plan(plan), _) if plan.is_empty() => {
                return misfit(place(), "the plan has no steps");
            }
            (Step::Item(fields) | Step::Event(fields), _)
                if !fields.get("type").is_some_and(|kind| kind.is_string()) =>
            {
                return misfit(place(), "needs a `type`");
            }
            _ => {}
        }
    }
    Ok(())
}

fn misfit<T>(place: impl Into<String>, reason: &'static str) -> Result<T, Misfit> {
    let place = place.into();
    Err(Misfit { place, reason })
}
