//! The page.

use codex_trace_view::{Budget, ViewOptions, write_view};
use serde_json::Value;

use crate::support::{Bundle, NAMES};

pub(crate) fn page(bundle: &Bundle, budget: Budget) -> String {
    let mut page = Vec::new();
    let options = ViewOptions {
        budget,
        ..ViewOptions::default()
    };
    write_view(&bundle.reduce(), bundle.path(), &options, &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

/// What the script reads.
pub(crate) fn data(page: &str) -> Value {
    let start = r#"<script type="application/json" id="data">"#;
    let (_, rest) = page.split_once(start).unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_page_has_all_of_its_bundle() {
    for name in NAMES {
        let bundle = Bundle::unpack(name);
        let trace = bundle.reduce().trace;
        let data = data(&page(&bundle, Budget::default()));
        let length = |list: &str| data[list].as_array().unwrap().len();
        assert_eq!(length("items"), trace.conversation_items.len(), "{name}");
        assert_eq!(length("payloads"), trace.raw_payloads.len(), "{name}");
        assert_eq!(length("edges"), trace.interaction_edges.len(), "{name}");
        let spans = trace.threads.len()
            + trace.codex_turns.len()
            + trace.inference_calls.len()
            + trace.compaction_requests.len()
            + trace.code_cells.len()
            + trace.tool_calls.len()
            + trace.terminal_operations.len()
            + trace.terminal_sessions.len();
        assert_eq!(length("spans"), spans, "{name}");
        for payload in data["payloads"].as_array().unwrap() {
            assert!(
                payload["body"].is_string() && payload["cut"].is_null(),
                "{payload}"
            );
        }
    }
}

/// Also those that failed: the script looks through the answers of all.
#[test]
fn every_inference_has_an_answer_and_nothing_else_has() {
    let bundle = Bundle::unpack("engine_mixed");
    let data = data(&page(&bundle, Budget::default()));
    let spans = data["spans"].as_array().unwrap();
    for span in spans {
        let has = span["response"].is_array();
        assert_eq!(has, span["kind"] == "inference", "{span}");
    }
    assert!(
        spans
            .iter()
            .any(|span| span["response"] == serde_json::json!([]))
    );
}

/// The trace never ends a terminal; the page shows its end with its command's.
#[test]
fn a_terminal_ends_with_its_command() {
    let bundle = Bundle::unpack("engine_mixed");
    let data = data(&page(&bundle, Budget::default()));
    let terminals = data["spans"].as_array().unwrap().iter();
    let mut terminals = terminals
        .filter(|span| span["kind"] == "terminal")
        .peekable();
    assert!(terminals.peek().is_some());
    assert!(terminals.all(|terminal| terminal["open"].is_null()));
}

/// The prompts of the page, put together again, are those of the graph.
#[test]
fn prompts_come_back_from_their_steps() {
    for name in NAMES {
        let bundle = Bundle::unpack(name);
        let trace = bundle.reduce().trace;
        let data = data(&page(&bundle, Budget::default()));
        fn items(data: &Value, span: usize) -> Vec<u64> {
            let prompt = &data["spans"][span]["prompt"];
            let mut all = match prompt["base"].as_u64() {
                Some(base) => items(data, usize::try_from(base).unwrap()),
                None => Vec::new(),
            };
            all.truncate(usize::try_from(prompt["keep"].as_u64().unwrap()).unwrap());
            let added = prompt["add"].as_array().unwrap();
            all.extend(added.iter().map(|item| item.as_u64().unwrap()));
            all
        }
        for (at, span) in data["spans"].as_array().unwrap().iter().enumerate() {
            if span["kind"] != "inference" {
                continue;
            }
            let call = &trace.inference_calls[span["id"].as_str().unwrap()];
            let expected: Vec<String> = call
                .request_item_ids
                .iter()
                .map(ToString::to_string)
                .collect();
            let found: Vec<&str> = items(&data, at)
                .into_iter()
                .map(|item| {
                    data["items"][usize::try_from(item).unwrap()]["id"]
                        .as_str()
                        .unwrap()
                })
                .collect();
            assert_eq!(found, expected, "{name}");
        }
    }
}

/// Texts of a session cannot end the element that holds them, nor begin another.
#[test]
fn no_text_of_a_session_becomes_markup() {
    let bundle = Bundle::unpack("one_turn");
    let plain = page(&bundle, Budget::default());
    let bad = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>";
    bundle.set_model(bad);
    let page = page(&bundle, Budget::default());
    let tags = |page: &str, tag: &str| page.to_lowercase().matches(tag).count();
    for tag in ["<script", "</script", "<!--", "<img"] {
        assert_eq!(tags(&page, tag), tags(&plain, tag), "{tag}");
    }
    assert!(data(&page)["spans"].to_string().contains("<img src=x"));
}

#[test]
fn a_page_loads_nothing() {
    let page = page(&Bundle::unpack("one_turn"), Budget::default());
    let (head, _) = page.split_once("/*").unwrap_or((&page, ""));
    // Its script can fetch what is new in a running session; only the page of such a session may.
    assert!(head.contains("default-src 'none'"));
    assert!(!head.contains("connect-src"));
    for way in [
        "src=",
        "href=",
        "@import",
        "url(",
        "XMLHttpRequest",
        "import(",
    ] {
        let data = data(&page).to_string();
        assert!(
            !page.replace(&data, "").contains(way) || data.contains(way),
            "{way}"
        );
    }
}

#[test]
fn page_over_its_budget_is_cut_and_marked() {
    let bundle = Bundle::unpack("tools_and_terminals");
    let budget = Budget {
        payloads: 4000,
        texts: 1000,
    };
    let data = data(&page(&bundle, budget));
    let payloads = data["payloads"].as_array().unwrap();
    let bodies = payloads
        .iter()
        .map(|payload| payload["body"].as_str().unwrap().len());
    assert!(bodies.sum::<usize>() <= 4000);
    assert!(payloads.iter().any(|payload| payload["cut"] == true));
    assert!(
        payloads.iter().any(|payload| payload["cut"].is_null()),
        "the small ones are whole"
    );
    let parts = data["items"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|item| item["parts"].as_array());
    assert!(parts.flatten().any(|part| part["cut"].is_u64()));
}
