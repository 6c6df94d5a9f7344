//! A stored report as one text, for sending.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::store::{REPORT, Stored};

/// The maximum size of all attachments in a text. Larger ones stay on this machine.
const BODY_LIMIT: u64 = 16 * 1024 * 1024;

impl Stored {
    /// The report as it is kept and its attachments as JSON, as far as they are not too large.
    ///
    /// # Errors
    /// What was stored cannot be read.
    pub fn body(&self) -> std::io::Result<Vec<u8>> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Sent {
            name: String,
            data_base64: String,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Body {
            report: serde_json::Value,
            attachments: Vec<Sent>,
            left_out: Vec<String>,
        }
        let mut body = Body {
            report: serde_json::from_slice(&std::fs::read(self.folder.join(REPORT))?)?,
            attachments: Vec::new(),
            left_out: Vec::new(),
        };
        let mut room = BODY_LIMIT;
        for name in &self.attachments {
            let path = self.folder.join(name);
            match room.checked_sub(path.metadata()?.len()) {
                Some(left) => {
                    room = left;
                    body.attachments.push(Sent {
                        name: name.clone(),
                        data_base64: STANDARD.encode(std::fs::read(path)?),
                    });
                }
                None => body.left_out.push(name.clone()),
            }
        }
        Ok(serde_json::to_vec(&body)?)
    }
}
