//! What the names of tools say about agents.

/// Whether a tool starts, changes or ends agents. The name may begin with a namespace.
pub fn manages_agents(tool: &str) -> bool {
    matches!(
        tool.rsplit(':').next().unwrap_or(tool),
        "spawn_agent"
            | "send_input"
            | "resume_agent"
            | "close_agent"
            | "send_message"
            | "followup_task"
            | "interrupt_agent"
    )
}

/// Whether a tool tells an agent what to do, which then does it with its own permissions.
pub fn directs_agents(tool: &str) -> bool {
    matches!(
        tool.rsplit(':').next().unwrap_or(tool),
        "send_input" | "send_message" | "followup_task"
    )
}
