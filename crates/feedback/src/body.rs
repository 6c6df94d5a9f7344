//! A stored report as JSON, for upload.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::store::{REPORT, StoredReport};

/// The maximum size of all attachments in the JSON. Further ones are left out.
const MAX_BODY_BYTES: u64 = 16 * 1024 * 1024;

impl StoredReport {
    /// The report and its attachments as JSON.
    ///
    /// # Errors
    /// The stored files cannot be read.
    pub fn body(&self) -> std::io::Result<Vec<u8>> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct AttachmentBody {
            name: String,
            data_base64: String,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct ReportBody {
            report: serde_json::Value,
            attachments: Vec<AttachmentBody>,
            left_out: Vec<String>,
        }
        let mut body = ReportBody {
            report: serde_json::from_slice(&std::fs::read(self.folder.join(REPORT))?)?,
            attachments: Vec::new(),
            left_out: Vec::new(),
        };
        let mut room = MAX_BODY_BYTES;
        for name in &self.attachments {
            let path = self.folder.join(name);
            match room.checked_sub(path.metadata()?.len()) {
                Some(left) => {
                    room = left;
                    body.attachments.push(AttachmentBody {
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
