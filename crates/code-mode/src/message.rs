//! The lines between the engine and its cells.
//!
//! A line begins with a sign for the kernel or with the number of a cell; the rest is JSON that the kernel passes on
//! unread.
//!
//! ```text
//! =[tools]          to the kernel: what cells that start from now on can call
//! +7 {start}        start a cell
//! -7                kill it
//! 7 {answer}        to a cell, from a cell
//! -7                from the kernel: the process of the cell has ended
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest line in bytes. A cell that writes a longer one is killed.
pub const MAX_LINE: usize = 16 << 20;

/// A tool as scripts see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScriptTool {
    /// The name of the function.
    pub name: String,
    /// The description with the declaration.
    pub description: String,
    /// Whether the input is text rather than an object.
    pub freeform: bool,
}

/// What a cell starts with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CellStart {
    /// The JavaScript.
    pub source: String,
    /// The values that earlier cells stored, as JSON by key.
    #[serde(default)]
    pub stored: BTreeMap<String, String>,
    /// The cell is a console, which runs one script after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub console: Option<ConsoleFolders>,
}

/// The folders that a console names to its scripts. It cannot open them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleFolders {
    /// The working folder of the turn that started it.
    pub cwd: String,
    /// The home folder of the user.
    pub home_dir: Option<String>,
    /// The folder for temporary files.
    pub tmp_dir: String,
}

/// A script for a console.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConsoleScript {
    /// The JavaScript.
    pub run: String,
}

/// The answer to a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallAnswer {
    /// The number of the call.
    pub id: u64,
    /// The value, or the text that the promise is rejected with.
    pub result: Result<Value, String>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellCall {
    /// The number of the call in its cell.
    pub id: u64,
    /// The name of the function.
    pub name: String,
    /// An object, or text for tools that take text.
    pub input: Value,
}

/// What a cell reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CellMessage {
    /// Output.
    Text {
        /// The text.
        text: String,
    },
    /// Output.
    Image {
        /// An address, or the image itself.
        image_url: String,
        /// How closely the model looks at it.
        detail: String,
    },
    /// A tool is called.
    Call(CellCall),
    /// Output that the model gets before the call of the script has ended.
    Notify {
        /// The text.
        text: String,
    },
    /// The model wants to go on while the script does.
    Yield,
    /// A console has run a script.
    Ran {
        /// What it failed with.
        error: Option<String>,
    },
    /// The script has ended.
    Done {
        /// What it failed with.
        error: Option<String>,
        /// The values that it stored, as JSON by key.
        #[serde(default)]
        stored: BTreeMap<String, String>,
    },
}

/// A line from the kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelLine {
    /// A message of a cell.
    Message(u64, Box<CellMessage>),
    /// A cell has sent what is no message.
    Unreadable(u64),
    /// The process of a cell has ended.
    Ended(u64),
}

/// Reads a line of the kernel. None for what no kernel writes.
#[must_use]
pub fn read_line(line: &[u8]) -> Option<KernelLine> {
    let number = |bytes| std::str::from_utf8(bytes).ok()?.parse().ok();
    if let Some(cell) = line.strip_prefix(b"-") {
        return Some(KernelLine::Ended(number(cell)?));
    }
    let end = line.iter().position(|byte| *byte == b' ')?;
    let cell = number(&line[..end])?;
    // The kernel writes the number, the cell the rest.
    Some(match serde_json::from_slice(&line[end + 1..]) {
        Ok(message) => KernelLine::Message(cell, Box::new(message)),
        Err(_) => KernelLine::Unreadable(cell),
    })
}

/// The line that sets the tools of cells.
#[must_use]
pub fn tools_line(tools: &[ScriptTool]) -> Vec<u8> {
    line(b"=", tools)
}

/// The line that starts a cell.
#[must_use]
pub fn start_line(cell: u64, start: &CellStart) -> Vec<u8> {
    line(format!("+{cell} ").as_bytes(), start)
}

/// The line that answers a call of a cell.
#[must_use]
pub fn to_cell_line(cell: u64, answer: &CallAnswer) -> Vec<u8> {
    line(format!("{cell} ").as_bytes(), answer)
}

/// The line that runs a script in a console.
#[must_use]
pub fn run_line(cell: u64, script: &ConsoleScript) -> Vec<u8> {
    line(format!("{cell} ").as_bytes(), script)
}

/// The line that kills a cell.
#[must_use]
pub fn end_line(cell: u64) -> Vec<u8> {
    format!("-{cell}\n").into_bytes()
}

fn line(start: &[u8], value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    let mut line = start.to_vec();
    // These types always have a form as JSON.
    let written = serde_json::to_writer(&mut line, value);
    debug_assert!(written.is_ok());
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel_are_read() {
        let message = |json: &str| read_line(format!("7 {json}").as_bytes());
        let seven = |message| Some(KernelLine::Message(7, Box::new(message)));
        assert_eq!(message(r#"{"type":"yield"}"#), seven(CellMessage::Yield));
        let call = CellCall {
            id: 1,
            name: "a".to_owned(),
            input: Value::Null,
        };
        let json = r#"{"type":"call","id":1,"name":"a","input":null}"#;
        assert_eq!(message(json), seven(CellMessage::Call(call)));
        assert_eq!(read_line(b"-7"), Some(KernelLine::Ended(7)));
        for damaged in ["", "-", "7", "x {}", "-1 "] {
            assert_eq!(read_line(damaged.as_bytes()), None, "{damaged}");
        }
        let deep = format!("7 {{\"type\":{}", "[".repeat(1_000));
        for damaged in [
            br#"7 {"type":"x"}"#.as_slice(),
            b"7 ",
            b"7 \xff",
            deep.as_bytes(),
        ] {
            assert_eq!(read_line(damaged), Some(KernelLine::Unreadable(7)));
        }
    }
}
