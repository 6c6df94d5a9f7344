//! A rollout as a bundle: what the file of a thread says about its turns, requests and tool calls.
//!
//! A rollout has no requests. The items that the model answered with become a response, and the items before them its request,
//! which continues the response before. Times are those of the lines; tokens are those of the token counts.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};

/// Types of items that come from the model.
const ANSWERS: [&str; 6] = [
    "reasoning",
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "web_search_call",
    "image_generation_call",
];

/// Writes the bundle of a rollout into an empty folder. Lines that cannot be read are skipped.
pub(crate) fn write_bundle(rollout: &Path, folder: &Path) -> io::Result<()> {
    let mut writer = BundleWriter::new(folder)?;
    let mut lines = BufReader::new(codex_regular_file::open(rollout)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if let Ok(line) = serde_json::from_slice::<Value>(&line) {
            writer.line(&line)?;
        }
    }
    if writer.thread.is_empty() {
        let problem = "it has no thread id in its first lines";
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    writer.finish()
}

struct BundleWriter<'f> {
    folder: &'f Path,
    log: BufWriter<File>,
    seq: u64,
    payloads: u64,
    now: i64,
    started: i64,
    thread: String,
    provider: String,
    model: String,
    turn: Option<String>,
    turns: u64,
    /// Items that no request has yet.
    waiting: Vec<Value>,
    answer: Vec<Value>,
    /// The number of the request whose answer is being read.
    request: Option<u64>,
    requests: u64,
    /// Whether the next request continues the response before.
    is_continued: bool,
    open_calls: HashSet<String>,
}

impl<'f> BundleWriter<'f> {
    fn new(folder: &'f Path) -> io::Result<Self> {
        codex_private_files::create_dir_all(&folder.join("payloads"))?;
        Ok(Self {
            folder,
            log: BufWriter::new(File::create_new(folder.join("trace.jsonl"))?),
            seq: 0,
            payloads: 0,
            now: 0,
            started: 0,
            thread: String::new(),
            provider: String::new(),
            model: String::new(),
            turn: None,
            turns: 0,
            waiting: Vec::new(),
            answer: Vec::new(),
            request: None,
            requests: 0,
            is_continued: false,
            open_calls: HashSet::new(),
        })
    }

    fn line(&mut self, line: &Value) -> io::Result<()> {
        let at = line["timestamp"]
            .as_str()
            .and_then(|at| at.parse::<Timestamp>().ok());
        if let Some(at) = at {
            self.now = at.as_millisecond();
        }
        let payload = &line["payload"];
        match line["type"].as_str() {
            Some("session_meta") if self.thread.is_empty() => self.meta(payload),
            Some("turn_context") => {
                if let Some(model) = payload["model"].as_str() {
                    model.clone_into(&mut self.model);
                }
                Ok(())
            }
            Some("response_item") if !self.thread.is_empty() => self.item(payload),
            Some("compacted") if !self.thread.is_empty() => self.compacted(payload),
            Some("event_msg") if !self.thread.is_empty() => self.event(payload),
            _ => Ok(()),
        }
    }

    fn meta(&mut self, meta: &Value) -> io::Result<()> {
        let Some(id) = meta["id"].as_str().or_else(|| meta["meta"]["id"].as_str()) else {
            return Ok(());
        };
        id.clone_into(&mut self.thread);
        let provider = meta["model_provider"].as_str().unwrap_or("unknown");
        provider.clone_into(&mut self.provider);
        self.started = self.now;
        let metadata = self.payload("session_metadata", &json!({
            "thread_id": id, "agent_path": "/root", "model": null, "cwd": meta["cwd"],
            "session_source": meta["source"], "thread_source": null, "originator": meta["originator"],
        }))?;
        let trace = format!("rollout-{id}");
        self.event_line(json!({
            "type": "rollout_started", "trace_id": trace, "root_thread_id": id,
        }))?;
        self.event_line(json!({
            "type": "thread_started", "thread_id": id, "agent_path": "/root", "metadata_payload": metadata,
        }))
    }

    fn event(&mut self, event: &Value) -> io::Result<()> {
        match event["type"].as_str() {
            Some("task_started" | "turn_started") => {
                self.end_turn("completed")?;
                self.start_turn(event["turn_id"].as_str())
            }
            Some("task_complete" | "turn_complete") => self.end_turn("completed"),
            Some("turn_aborted") => self.end_turn("cancelled"),
            Some("token_count") => self.end_response(&event["info"]["last_token_usage"]),
            Some("error") => {
                self.end_response(&Value::Null)?;
                self.start_request()?;
                self.fail_request(event["message"].as_str().unwrap_or_default())
            }
            _ => Ok(()),
        }
    }

    fn item(&mut self, item: &Value) -> io::Result<()> {
        let kind = item["type"].as_str().unwrap_or_default();
        let is_answer = ANSWERS.contains(&kind) || item["role"] == "assistant";
        if is_answer {
            self.start_request()?;
            self.answer.push(item.clone());
            return match kind {
                "function_call" | "custom_tool_call" => self.call(item),
                _ => Ok(()),
            };
        }
        if let Some(call) = item["call_id"]
            .as_str()
            .filter(|_| kind.ends_with("_output"))
        {
            self.end_call(call, item)?;
        } else {
            self.end_response(&Value::Null)?;
        }
        if kind != "ghost_snapshot" {
            self.waiting.push(item.clone());
        }
        Ok(())
    }

    fn compacted(&mut self, compacted: &Value) -> io::Result<()> {
        self.end_response(&Value::Null)?;
        self.is_continued = false;
        self.waiting = match compacted["replacement_history"].as_array() {
            Some(history) => history.clone(),
            None => {
                let text = compacted["message"].as_str().unwrap_or_default();
                let content = json!([{ "type": "input_text", "text": text }]);
                vec![json!({ "type": "message", "role": "user", "content": content })]
            }
        };
        Ok(())
    }

    fn start_turn(&mut self, id: Option<&str>) -> io::Result<()> {
        self.turns += 1;
        let id = id.map_or_else(|| format!("turn-{}", self.turns), str::to_owned);
        self.turn = Some(id.clone());
        self.event_line(json!({
            "type": "codex_turn_started", "codex_turn_id": id, "thread_id": self.thread,
        }))
    }

    fn end_turn(&mut self, status: &str) -> io::Result<()> {
        self.end_response(&Value::Null)?;
        let Some(turn) = self.turn.clone() else {
            return Ok(());
        };
        let event = json!({ "type": "codex_turn_ended", "codex_turn_id": turn, "status": status });
        self.event_line(event)?;
        self.turn = None;
        Ok(())
    }

    fn start_request(&mut self) -> io::Result<()> {
        if self.request.is_some() {
            return Ok(());
        }
        if self.turn.is_none() {
            self.start_turn(None)?;
        }
        let input = std::mem::take(&mut self.waiting);
        let mut body = json!({ "model": self.model, "input": input });
        if self.is_continued {
            body["previous_response_id"] = json!(format!("response-{}", self.requests));
        }
        self.requests += 1;
        self.request = Some(self.requests);
        let request = self.payload("inference_request", &body)?;
        self.event_line(json!({
            "type": "inference_started", "inference_call_id": format!("request-{}", self.requests),
            "thread_id": self.thread, "codex_turn_id": self.turn, "model": self.model,
            "provider_name": self.provider, "request_payload": request,
        }))
    }

    fn end_response(&mut self, usage: &Value) -> io::Result<()> {
        let Some(number) = self.request.take() else {
            return Ok(());
        };
        let answer = std::mem::take(&mut self.answer);
        let id = format!("response-{number}");
        let response = self.payload("inference_response", &json!({
            "response_id": id, "upstream_request_id": null, "token_usage": usage, "output_items": answer,
        }))?;
        self.is_continued = true;
        self.event_line(json!({
            "type": "inference_completed", "inference_call_id": format!("request-{number}"),
            "response_id": id, "upstream_request_id": null, "response_payload": response,
        }))
    }

    fn fail_request(&mut self, error: &str) -> io::Result<()> {
        let Some(number) = self.request.take() else {
            return Ok(());
        };
        // The next request has everything again.
        self.is_continued = false;
        self.event_line(json!({
            "type": "inference_failed", "inference_call_id": format!("request-{number}"),
            "upstream_request_id": null, "error": error, "partial_response_payload": null,
        }))
    }

    fn call(&mut self, item: &Value) -> io::Result<()> {
        let (Some(id), Some(name)) = (item["call_id"].as_str(), item["name"].as_str()) else {
            return Ok(());
        };
        if !self.open_calls.insert(id.to_owned()) {
            return Ok(());
        }
        let kind = match name {
            "exec_command" | "write_stdin" | "apply_patch" => json!({ "type": name }),
            name => json!({ "type": "other", "name": name }),
        };
        let invocation = self.payload("tool_invocation", item)?;
        self.event_line(json!({
            "type": "tool_call_started", "tool_call_id": id, "model_visible_call_id": id,
            "code_mode_runtime_tool_id": null, "requester": { "type": "model" }, "kind": kind,
            "summary": { "type": "generic", "label": name, "input_preview": null, "output_preview": null },
            "invocation_payload": invocation,
        }))
    }

    fn end_call(&mut self, id: &str, output: &Value) -> io::Result<()> {
        if !self.open_calls.remove(id) {
            return Ok(());
        }
        let result = json!({ "type": "direct_response", "response_item": output });
        let result = self.payload("tool_result", &result)?;
        self.event_line(json!({
            "type": "tool_call_ended", "tool_call_id": id, "status": "completed", "result_payload": result,
        }))
    }

    fn payload(&mut self, kind: &str, value: &Value) -> io::Result<Value> {
        self.payloads += 1;
        let path = format!("payloads/{}.json", self.payloads);
        let mut file = BufWriter::new(File::create_new(self.folder.join(&path))?);
        serde_json::to_writer(&mut file, value)?;
        file.flush()?;
        let id = format!("raw_payload:{}", self.payloads);
        Ok(json!({ "raw_payload_id": id, "kind": { "type": kind }, "path": path }))
    }

    fn event_line(&mut self, event: Value) -> io::Result<()> {
        self.seq += 1;
        let line = json!({
            "schema_version": 1, "seq": self.seq, "wall_time_unix_ms": self.now,
            "rollout_id": self.thread, "thread_id": self.thread, "codex_turn_id": self.turn,
            "payload": event,
        });
        writeln!(self.log, "{line}")
    }

    fn finish(mut self) -> io::Result<()> {
        self.end_turn("completed")?;
        self.event_line(json!({
            "type": "thread_ended", "thread_id": self.thread, "status": "completed",
        }))?;
        self.event_line(json!({ "type": "rollout_ended", "status": "completed" }))?;
        self.log.flush()?;
        let manifest = json!({
            "schema_version": 1, "trace_id": format!("rollout-{}", self.thread), "rollout_id": self.thread,
            "root_thread_id": self.thread, "started_at_unix_ms": self.started,
            "raw_event_log": "trace.jsonl", "payloads_dir": "payloads",
        });
        std::fs::write(self.folder.join("manifest.json"), manifest.to_string())
    }
}
