//! Who plays a scenario: finds the reply to each request, thread by thread.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::format::{Refusal, Reply, Scenario, Usage, When};
use crate::http_reply::HttpReply;
use crate::speech::{Speech, Tools, tokens};

/// Threads whose place in the script is kept. Of more, those begin anew.
const THREAD_LIMIT: usize = 10_000;

/// A scenario and how far each thread is in it.
#[derive(Debug)]
pub struct Player {
    scenario: Scenario,
    threads: HashMap<String, Progress>,
    /// Counts replies.
    number: u64,
}

/// How far a thread is.
#[derive(Debug, Default)]
struct Progress {
    /// Which replies were given.
    given: Vec<bool>,
    /// The tokens of the request before, which a real server would have cached.
    cached: i64,
}

impl Player {
    /// At the beginning of a scenario.
    #[must_use]
    pub fn new(scenario: Scenario) -> Self {
        Self {
            scenario,
            threads: HashMap::new(),
            number: 0,
        }
    }

    /// The reply to a request of the Responses API.
    pub fn reply(&mut self, body: &[u8]) -> HttpReply {
        let Ok(request) = serde_json::from_slice::<Value>(body) else {
            let reason = "the body of the request is not JSON";
            return refused(400, json!({ "message": reason }));
        };
        let thread = request["prompt_cache_key"].as_str().unwrap_or_default();
        if self.threads.len() >= THREAD_LIMIT && !self.threads.contains_key(thread) {
            self.threads.clear();
        }
        let progress = self.threads.entry(thread.to_owned()).or_default();
        let Some(reply) = progress.next(&self.scenario, &request) else {
            let reason = "the scenario has no reply left that fits this request";
            return refused(400, json!({ "message": reason }));
        };
        let input = tokens(body.len());
        let cached = std::mem::replace(&mut progress.cached, input).min(input);
        if let Some(refusal) = &reply.refuse {
            return refuse(refusal);
        }
        self.number += 1;
        let tools = Tools::of(&request);
        let mut speech = Speech::new(self.number, &tools, self.scenario.pace);
        for step in &reply.steps {
            speech.step(step);
        }
        let estimate = Usage {
            input,
            cached,
            ..Usage::default()
        };
        speech.finish(reply.usage, estimate)
    }
}

impl Progress {
    /// The reply that comes next.
    fn next<'a>(&mut self, scenario: &'a Scenario, request: &Value) -> Option<&'a Reply> {
        let replies = &scenario.replies;
        self.given.resize(replies.len(), false);
        let find = |given: &[bool]| {
            let free = |index: &usize| replies[*index].repeat || !given[*index];
            (0..replies.len())
                .filter(free)
                .find(|index| fits(replies[*index].when.as_ref(), request))
        };
        let mut found = find(&self.given);
        if found.is_none() && scenario.restart {
            self.given.fill(false);
            found = find(&self.given);
        }
        let index = found?;
        self.given[index] = true;
        Some(&replies[index])
    }
}

fn fits(when: Option<&When>, request: &Value) -> bool {
    let Some(When {
        user,
        output,
        exit_code,
        model,
    }) = when
    else {
        return true;
    };
    let within = |part: &Option<String>, text: &dyn Fn() -> String| {
        part.as_ref().is_none_or(|part| text().contains(part))
    };
    within(user, &|| last_of_user(request))
        && within(output, &|| last_output(request))
        && exit_code.is_none_or(|code| exit_code_of(&last_output(request)) == Some(code))
        && model.as_ref().is_none_or(|name| request["model"] == **name)
}

fn items(request: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    request["input"].as_array().into_iter().flatten()
}

/// What the person said last.
fn last_of_user(request: &Value) -> String {
    let last = items(request).rfind(|item| item["role"] == "user");
    let parts = last.and_then(|item| item["content"].as_array());
    parts
        .into_iter()
        .flatten()
        .filter_map(|part| part["text"].as_str())
        .collect()
}

/// What the tool that was called last gave, if the person has said nothing since.
fn last_output(request: &Value) -> String {
    let last = items(request).rfind(|item| item["role"] == "user" || item.get("output").is_some());
    match last.and_then(|item| item.get("output")) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// The exit code in an output, in whichever of its forms the tools report it.
fn exit_code_of(output: &str) -> Option<i64> {
    ["Exit code: ", "exited with code ", "\"exit_code\":"]
        .iter()
        .find_map(|form| {
            let rest = output.split_once(form)?.1.trim_start();
            let end = rest.find(|character: char| !character.is_ascii_digit() && character != '-');
            rest[..end.unwrap_or(rest.len())].parse().ok()
        })
}

fn refuse(refusal: &Refusal) -> HttpReply {
    let error = refusal.error.clone().unwrap_or_else(|| {
        let reason = format!("the scenario refuses with status {}", refusal.status);
        Map::from_iter([("message".to_owned(), Value::String(reason))])
    });
    let mut reply = refused(refusal.status, Value::Object(error));
    if let Some(seconds) = refusal.retry_after {
        reply = reply.header("retry-after", &seconds.to_string());
    }
    for (name, value) in &refusal.headers {
        reply = reply.header(name, value);
    }
    reply
}

pub(crate) fn refused(status: u16, error: Value) -> HttpReply {
    HttpReply::json(status, &json!({ "error": error }))
}

#[cfg(test)]
#[path = "player_tests.rs"]
mod tests;
