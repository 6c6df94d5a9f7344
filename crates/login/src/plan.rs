//! The names of plans.

use codex_protocol::PlanType;

/// The plan of a name that the service uses.
pub fn plan_type(name: &str) -> PlanType {
    match name.to_ascii_lowercase().as_str() {
        "free" => PlanType::Free,
        "go" => PlanType::Go,
        "plus" => PlanType::Plus,
        "pro" => PlanType::Pro,
        "team" => PlanType::Team,
        "business" => PlanType::Business,
        "enterprise" | "hc" => PlanType::Enterprise,
        "edu" | "education" => PlanType::Edu,
        _ => PlanType::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_in_any_case() {
        assert_eq!(plan_type("Pro"), PlanType::Pro);
        assert_eq!(plan_type("education"), PlanType::Edu);
        assert_eq!(plan_type("hc"), PlanType::Enterprise);
        assert_eq!(plan_type("k12"), PlanType::Unknown);
    }
}
