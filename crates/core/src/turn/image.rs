//! Images that the model made: emitted, and written to a file.

use std::io;
use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use codex_protocol::{ImageGenerationItem, ResponseItem, TurnItem};
use codex_session_base::history::developer_message;

use super::recording::RunningTurn;

impl RunningTurn<'_> {
    /// An image is complete. If it cannot be written, only the file is missing.
    pub(crate) async fn image_done(&mut self, item: ResponseItem) {
        let ResponseItem::ImageGenerationCall {
            id,
            status,
            revised_prompt,
            result,
        } = &item
        else {
            return;
        };
        let services = &self.scope.session;
        let folder = services.config.services.home.join("generated_images");
        let folder = folder.join(services.emitter.thread().as_str());
        let saved = keep(folder, id, result.clone())
            .await
            .inspect_err(|error| tracing::warn!("the image {id} was not kept: {error}"))
            .ok();
        let saved_path = saved.map(|path| path.display().to_string());
        let shown = TurnItem::ImageGeneration(ImageGenerationItem {
            id: id.clone(),
            status: status.clone(),
            revised_prompt: revised_prompt.clone(),
            result: result.clone(),
            saved_path: saved_path.clone(),
        });
        self.emitter.item_started(shown.clone());
        self.emitter.item_completed(shown, false);
        self.record(item);
        if let Some(path) = saved_path {
            self.record(developer_message([format!(
                "The generated image is stored as `{path}`. Copy it if it belongs into the project, and leave \
                 the original where it is."
            )]));
        }
    }
}

/// Runs on a blocking thread: it is megabytes of text, and the disk may be slow.
async fn keep(folder: PathBuf, id: &str, result: String) -> io::Result<PathBuf> {
    let path = folder.join(file_name(id));
    let kept = tokio::task::spawn_blocking(move || {
        let bytes = BASE64_STANDARD
            .decode(result)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        codex_private_files::create_dir_all(&folder)?;
        codex_private_files::write(&path, &bytes)?;
        Ok(path)
    });
    kept.await?
}

/// A file name without separators, whatever the id is.
fn file_name(id: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let stem: String = id
        .chars()
        .take(120)
        .map(|letter| if plain(letter) { letter } else { '_' })
        .collect();
    format!("{stem}.png")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        assert_eq!(file_name("ig_1-a"), "ig_1-a.png");
        assert_eq!(file_name("../../x y"), "______x_y.png");
        assert_eq!(file_name(""), ".png");
    }

    #[tokio::test]
    async fn images_are_kept_and_rubbish_is_an_error() {
        let home = tempfile::tempdir().expect("a folder");
        let kept = keep(home.path().join("a/b"), "ig", "aGk=".to_owned()).await;
        assert_eq!(std::fs::read(kept.expect("kept")).expect("read"), b"hi");
        let rubbish = keep(home.path().to_owned(), "ig", "***".to_owned()).await;
        assert!(rubbish.is_err());
    }
}
