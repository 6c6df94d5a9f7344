//! Chooses the reply to each request, separately for each thread.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::format::{HttpRefusal, ReplyUsage, RequestCondition, Scenario, ScriptedReply};
use crate::http_reply::HttpReply;
use crate::response_builder::{OfferedTools, ResponseBuilder, tokens};

/// The maximum number of threads whose progress is kept. When it is reached, all threads start again.
const MAX_THREADS: usize = 10_000;

/// A scenario with the progress of each thread.
#[derive(Debug)]
pub struct ScenarioPlayer {
    scenario: Scenario,
    threads: HashMap<String, ThreadProgress>,
    /// The number of replies so far.
    reply_number: u64,
}

/// The progress of one thread in the script.
#[derive(Debug, Default)]
struct ThreadProgress {
    /// Which replies were used.
    used: Vec<bool>,
    /// The tokens of the previous request, which a real server would have cached.
    cached: i64,
}

impl ScenarioPlayer {
    /// Starts a scenario.
    #[must_use]
    pub fn new(scenario: Scenario) -> Self {
        Self {
            scenario,
            threads: HashMap::new(),
            reply_number: 0,
        }
    }

    /// The reply to a request of the Responses API. Without a thread, requests with the same cache key belong together.
    pub fn reply(&mut self, thread: Option<&str>, body: &[u8]) -> HttpReply {
        let Ok(request) = serde_json::from_slice::<Value>(body) else {
            let reason = "the body of the request is not JSON";
            return refused(400, json!({ "message": reason }));
        };
        let key = || request["prompt_cache_key"].as_str();
        let thread = thread.or_else(key).unwrap_or_default();
        if self.threads.len() >= MAX_THREADS && !self.threads.contains_key(thread) {
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
        self.reply_number += 1;
        let tools = OfferedTools::from_request(&request);
        let mut response = ResponseBuilder::new(self.reply_number, &tools, self.scenario.pace);
        for step in &reply.steps {
            response.step(step);
        }
        let estimate = ReplyUsage {
            input,
            cached,
            ..ReplyUsage::default()
        };
        response.finish(reply.usage, estimate)
    }
}

impl ThreadProgress {
    /// The next reply that matches the request.
    fn next<'a>(&mut self, scenario: &'a Scenario, request: &Value) -> Option<&'a ScriptedReply> {
        let replies = &scenario.replies;
        self.used.resize(replies.len(), false);
        let find = |used: &[bool]| {
            let free = |index: &usize| replies[*index].repeat || !used[*index];
            (0..replies.len())
                .filter(free)
                .find(|index| matches(replies[*index].when.as_ref(), request))
        };
        let mut found = find(&self.used);
        if found.is_none() && scenario.restart {
            self.used.fill(false);
            found = find(&self.used);
        }
        let index = found?;
        self.used[index] = true;
        Some(&replies[index])
    }
}

fn matches(when: Option<&RequestCondition>, request: &Value) -> bool {
    let Some(RequestCondition {
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
    within(user, &|| last_user_text(request))
        && within(output, &|| last_output(request))
        && exit_code.is_none_or(|code| exit_code_of(&last_output(request)) == Some(code))
        && model.as_ref().is_none_or(|name| request["model"] == **name)
}

fn items(request: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    request["input"].as_array().into_iter().flatten()
}

/// The text of the user's last message.
fn last_user_text(request: &Value) -> String {
    let last = items(request).rfind(|item| item["role"] == "user");
    let parts = last.and_then(|item| item["content"].as_array());
    parts
        .into_iter()
        .flatten()
        .filter_map(|part| part["text"].as_str())
        .collect()
}

/// The output of the last tool call, if no message of the user follows it.
fn last_output(request: &Value) -> String {
    let last = items(request).rfind(|item| item["role"] == "user" || item.get("output").is_some());
    match last.and_then(|item| item.get("output")) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// The exit code in a tool's output; the tools report it in different forms.
fn exit_code_of(output: &str) -> Option<i64> {
    ["Exit code: ", "exited with code ", "\"exit_code\":"]
        .iter()
        .find_map(|form| {
            let rest = output.split_once(form)?.1.trim_start();
            let end = rest.find(|character: char| !character.is_ascii_digit() && character != '-');
            rest[..end.unwrap_or(rest.len())].parse().ok()
        })
}

fn refuse(refusal: &HttpRefusal) -> HttpReply {
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
