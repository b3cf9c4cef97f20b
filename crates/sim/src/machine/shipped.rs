//! The machines that come with this crate, from `machines/`.

/// Name and TOML text.
const MACHINES: &[(&str, &str)] = &[
    ("xeon-e5410", include_str!("../../machines/xeon-e5410.toml")),
    ("xeon-5120", include_str!("../../machines/xeon-5120.toml")),
    ("epyc-9554", include_str!("../../machines/epyc-9554.toml")),
    (
        "xeon-8592-2s",
        include_str!("../../machines/xeon-8592-2s.toml"),
    ),
    ("kvm-xeon-2", include_str!("../../machines/kvm-xeon-2.toml")),
];

/// Their names.
///
/// ```
/// assert!(mely_sim::machine::shipped::names().any(|name| name == "epyc-9554"));
/// ```
pub fn names() -> impl Iterator<Item = &'static str> {
    MACHINES.iter().map(|&(name, _)| name)
}

/// The file of one, with what its figures come from.
///
/// ```
/// use mely_sim::machine::shipped;
///
/// assert!(shipped::toml("xeon-e5410").unwrap().contains("cores = 8"));
/// assert_eq!(shipped::toml("abacus"), None);
/// ```
#[must_use]
pub fn toml(name: &str) -> Option<&'static str> {
    let found = MACHINES.iter().find(|&&(known, _)| known == name);
    found.map(|&(_, toml)| toml)
}

#[cfg(test)]
mod tests {
    use super::super::Machine;
    use super::*;

    #[test]
    fn every_shipped_machine_is_one_under_its_name() {
        for name in names() {
            let machine = Machine::find(name).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(machine.name, name);
        }
    }
}
