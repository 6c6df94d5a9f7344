//! The cursors of the newest turn and item of a thread.

use std::path::PathBuf;
use std::sync::Arc;

use codex_projection::ItemIds;
use codex_projection::dialect::StoredForm;

use super::{item_pages, turn_pages};
use crate::blocking::blocking;
use crate::failure::Failure;
use crate::server::AppServer;
use crate::thread::form_in;

/// The cursors of the newest turn and the newest item of a thread; none where there is none.
pub(crate) async fn newest_cursors(
    server: &Arc<AppServer>,
    path: PathBuf,
) -> Result<(Option<String>, Option<String>), Failure> {
    let of_file = path.clone();
    let form = blocking(move || Ok(form_in(&of_file, StoredForm::NEWEST))).await?;
    if form.ids == ItemIds::Untimed {
        return Ok((None, None));
    }
    let turns = turn_pages::newest_cursor(server, path.clone()).await?;
    let items = item_pages::newest_cursor(server, path).await?;
    Ok((turns, items))
}
