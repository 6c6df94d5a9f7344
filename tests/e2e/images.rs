//! Images on their way to the model: as they are, scaled down, or a word in their place.

use std::fs;
use std::io::Cursor;

use codex_test_support::{AppServer, HttpReply, ModelServer, sse};
use image::{DynamicImage, ImageFormat, RgbImage};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::command_exec::decode;
use crate::newer_requests::ScriptedThread;
use crate::setup::{experimental_server, scripted_home, server};

fn image(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let image = DynamicImage::ImageRgb8(RgbImage::new(width, height));
    let mut bytes = Vec::new();
    let written = image.write_to(&mut Cursor::new(&mut bytes), format);
    written.unwrap();
    bytes
}

/// A file, and what the model is shown of it.
struct ImageCase {
    name: &'static str,
    bytes: Vec<u8>,
    expected: Expected,
}

enum Expected {
    /// The same bytes, as this type.
    Same(&'static str),
    /// An image of this type and size.
    Scaled(&'static str, (u32, u32)),
    /// No image, but this word: what `view_image` says, and what a message says.
    Nothing(&'static str, &'static str),
}

fn files() -> Vec<ImageCase> {
    let png = image(64, 48, ImageFormat::Png);
    let cut = png[..60].to_vec();
    let shown = |name, bytes, expected| ImageCase {
        name,
        bytes,
        expected,
    };
    vec![
        shown("small.png", png.clone(), Expected::Same("image/png")),
        // What it is counts, not what it is called.
        shown("small.jpg", png, Expected::Same("image/png")),
        shown(
            "photo.jpg",
            image(60, 1536, ImageFormat::Jpeg),
            Expected::Scaled("image/jpeg", (30, 768)),
        ),
        shown(
            "wide.png",
            image(3000, 30, ImageFormat::Png),
            Expected::Scaled("image/png", (2048, 20)),
        ),
        shown(
            "old.gif",
            image(4, 3, ImageFormat::Gif),
            Expected::Scaled("image/png", (4, 3)),
        ),
        shown(
            "cut.png",
            cut,
            Expected::Nothing(
                "unable to process image at `{}`: unsupported image `image/png`",
                "Codex cannot attach image at `{}`: unsupported image `image/png`.",
            ),
        ),
        shown(
            "notes",
            b"words".to_vec(),
            Expected::Nothing(
                "unable to process image at `{}`: it cannot be decoded: its format is not known",
                "Image located at `{}` is invalid: it cannot be decoded: its format is not known",
            ),
        ),
    ]
}

impl ImageCase {
    #[track_caller]
    fn check_image(&self, url: &Value) {
        let url = url.as_str().unwrap();
        let (kind, data) = url
            .strip_prefix("data:")
            .unwrap()
            .split_once(";base64,")
            .unwrap();
        let bytes = decode(&json!(data));
        match self.expected {
            Expected::Same(expected) => {
                assert_eq!(
                    (kind, bytes == self.bytes),
                    (expected, true),
                    "{}",
                    self.name
                );
            }
            Expected::Scaled(expected, size) => {
                let image = image::load_from_memory(&bytes).unwrap();
                let shown = (kind, (image.width(), image.height()));
                assert_eq!(shown, (expected, size), "{}", self.name);
            }
            Expected::Nothing(..) => panic!("{} is shown: {url}", self.name),
        }
    }
}

/// A server in a folder with the files, whose model makes these calls and is then done.
async fn scripted(calls: &[Value]) -> (AppServer, ModelServer, TempDir, String) {
    let replies = [sse::items(calls), sse::text("done")];
    let model = ModelServer::start(replies.map(|events| HttpReply::stream(&events)));
    let model = model.await.unwrap();
    let home = scripted_home(&model, "approval_policy = \"never\"");
    for file in files() {
        fs::write(home.path().join(file.name), file.bytes).unwrap();
    }
    let mut server = server(&home).await;
    let thread = server.start_thread().await;
    (server, model, home, thread)
}

async fn turn(server: &mut AppServer, thread: &str, input: Value) {
    let params = json!({ "threadId": thread, "input": input });
    server.call("turn/start", params).await.unwrap();
    let ended = server.completed_turn().await;
    assert_eq!(ended["status"], "completed");
}

#[tokio::test]
async fn viewed_image_is_converted_for_the_model() {
    let look = |file: &ImageCase| {
        sse::function_call(file.name, "view_image", &json!({ "path": file.name }))
    };
    let calls: Vec<Value> = files().iter().map(look).collect();
    let (mut server, model, home, thread) = scripted(&calls).await;
    turn(
        &mut server,
        &thread,
        json!([{ "type": "text", "text": "look" }]),
    )
    .await;
    let request = model.request(1).await.json();
    let input = request["input"].as_array().unwrap();
    for file in files() {
        let is_it =
            |item: &&Value| item["type"] == "function_call_output" && item["call_id"] == file.name;
        let output = &input.iter().find(is_it).unwrap()["output"];
        match file.expected {
            Expected::Nothing(word, _) => {
                let path = home.path().join(file.name);
                assert_eq!(*output, word.replace("{}", path.to_str().unwrap()));
            }
            _ => file.check_image(&output[0]["image_url"]),
        }
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn user_image_is_converted_for_the_model() {
    let (mut server, model, home, thread) = scripted(&[]).await;
    let path = |file: &ImageCase| home.path().join(file.name).to_str().unwrap().to_owned();
    let attach = |file: &ImageCase| json!({ "type": "localImage", "path": path(file) });
    let input: Vec<Value> = files().iter().map(attach).collect();
    turn(&mut server, &thread, json!(input)).await;
    let request = model.request(0).await.json();
    let input = request["input"].as_array().unwrap();
    let mut parts = input.last().unwrap()["content"].as_array().unwrap().iter();
    for file in files() {
        let first = parts.next().unwrap();
        match file.expected {
            Expected::Nothing(_, word) => {
                assert_eq!(first["text"], word.replace("{}", &path(&file)));
            }
            _ => {
                file.check_image(&parts.next().unwrap()["image_url"]);
                assert_eq!(parts.next().unwrap()["text"], "</image>");
            }
        }
    }
    server.finish().await.unwrap();
}

/// The content of the first message of a thread.
fn first_message(turns: &Value) -> &Value {
    &turns[0]["items"][0]["content"]
}

#[tokio::test]
async fn user_image_is_stored_once() {
    let (mut server, _model, home, thread) = scripted(&[]).await;
    let file = home.path().join("wide.png");
    fs::write(&file, image(2000, 700, ImageFormat::Png)).unwrap();
    let read = server.result("fs/readFile", json!({ "path": file })).await;
    let data = read["dataBase64"].as_str().unwrap();
    let url = format!("data:image/png;base64,{data}");
    let input = json!([
        { "type": "text", "text": "look", "text_elements": [] },
        { "type": "image", "url": "https://example.com/a.png" },
        { "type": "image", "url": url },
    ]);
    let params = json!({ "threadId": thread, "input": input });
    server.call("turn/start", params).await.unwrap();
    let streamed = server.wait_for("item/completed").await.unwrap();
    assert_eq!(streamed["params"]["item"]["content"], input);
    server.completed_turn().await;
    let read = json!({ "threadId": thread, "includeTurns": true });
    let shown = server.result("thread/read", read.clone()).await;
    assert_eq!(*first_message(&shown["thread"]["turns"]), input);
    let path = shown["thread"]["path"].as_str().unwrap();
    let stored = fs::read_to_string(path).unwrap();
    assert_eq!(stored.matches(data).count(), 1);
    server.finish().await.unwrap();

    let mut server = experimental_server(&home).await;
    let page = json!({ "threadId": thread });
    let page = server.result("thread/turns/list", page).await;
    assert_eq!(*first_message(&page["data"]), input);
    for method in ["thread/read", "thread/resume", "thread/fork"] {
        let shown = server.result(method, read.clone()).await;
        assert_eq!(*first_message(&shown["thread"]["turns"]), input, "{method}");
    }
    server.finish().await.unwrap();
}

#[tokio::test]
async fn a_queued_message_keeps_its_image() {
    let begun = HttpReply::stream(&[sse::created("r")]).stall();
    let mut scripted = ScriptedThread::start([begun], json!({})).await;
    let input = json!([{ "type": "text", "text": "hi" }]);
    scripted.call("turn/start", json!({ "input": input })).await;
    scripted.server.wait_for("turn/started").await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("a.png"), folder.path().join("b.png"));
    fs::write(&path, image(1, 1, ImageFormat::Png)).unwrap();
    fs::write(&other, "no image").unwrap();
    let part = |path: &std::path::Path| json!({ "type": "localImage", "path": path });
    let input = json!([part(&path), part(&other)]);
    let message = json!({ "input": input, "clientUserMessageId": "c" });
    let queued = scripted.call("thread/queue/add", message).await;
    let kept = &queued["result"]["queuedSubmission"]["input"];
    let url = kept[0]["url"].as_str().unwrap();
    assert!(url.starts_with("data:image/png;base64,"), "{kept}");
    assert_eq!(kept[1]["type"], "localImage");
    scripted
        .call("turn/interrupt", json!({ "turnId": "" }))
        .await;
    scripted.server.completed_turn().await;
    scripted.server.finish().await.unwrap();
}
