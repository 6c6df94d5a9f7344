//! Properties of the terminal.

use std::io::IsTerminal;

use clap::ValueEnum;
use codex_client::Style;
use codex_client_commands::Screen;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Colours {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Also in a file or a pipe.
    Always,
    /// Nowhere.
    Never,
}

/// How text is shown on a stream.
pub(crate) fn screen(stream: &impl IsTerminal, colours: Colours) -> Screen {
    Screen {
        style: style(stream, colours),
        // Without a terminal there is no width.
        width: terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0)),
    }
}

fn style(stream: &impl IsTerminal, colours: Colours) -> Style {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    match colours {
        Colours::Always => Style::Colour,
        Colours::Auto if stream.is_terminal() && !is_set("NO_COLOR") && !dumb => Style::Colour,
        Colours::Auto | Colours::Never => Style::Plain,
    }
}
