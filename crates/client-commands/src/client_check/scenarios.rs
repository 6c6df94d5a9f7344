//! The ready scenarios, as part of this program.

/// The name of a scenario and its file.
pub(super) type ReadyScenario = (&'static str, &'static str);

macro_rules! scenario {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../../scenarios/", $name, ".toml")),
        )
    };
}

/// All of them, by name.
pub(super) const READY_SCENARIOS: [ReadyScenario; 22] = [
    scenario!("approve-command"),
    scenario!("approve-patch"),
    scenario!("ask-for-more"),
    scenario!("ask-the-person"),
    scenario!("chat"),
    scenario!("context-full"),
    scenario!("cut-stream"),
    scenario!("decline-command"),
    scenario!("failing-command"),
    scenario!("hello"),
    scenario!("long-output"),
    scenario!("parallel-commands"),
    scenario!("plan"),
    scenario!("rate-limited"),
    scenario!("realtime"),
    scenario!("reasoning"),
    scenario!("server-error"),
    scenario!("slow-answer"),
    scenario!("stall"),
    scenario!("tour"),
    scenario!("usage-limit"),
    scenario!("websocket"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ready_scenario_is_part_of_the_program() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
        let entries = std::fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = paths
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .collect();
        files.sort();
        assert_eq!(
            READY_SCENARIOS.map(|(name, _)| name.to_owned()).to_vec(),
            files
        );
    }
}
