//! Images that the provider makes: their entry among the tools.

use codex_model_client::ToolSpec;

use super::offer::{ToolSetBuilder, ToolSituation};

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    if situation.options().features.image_generation && situation.model.takes_images() {
        builder.specs.push(ToolSpec::ImageGeneration {
            output_format: "png".to_owned(),
        });
    }
}
