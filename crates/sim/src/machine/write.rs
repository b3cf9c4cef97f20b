//! Writing a machine as the TOML file that it could have come from.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{CacheLevel, Groups, Machine};

/// What a figure comes from, by its key: `memory.local_cycles`, or
/// `cache.2.hit_cycles`.
pub(crate) type Notes = BTreeMap<String, String>;

impl Machine {
    /// Its file.
    ///
    /// ```
    /// use mely_sim::machine::Machine;
    ///
    /// let xeon = Machine::find("xeon-e5410")?;
    /// assert_eq!(Machine::parse("again.toml", &xeon.to_toml())?, xeon);
    /// # Ok::<(), mely_sim::machine::MachineError>(())
    /// ```
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.to_toml_with(&[], &Notes::new())
    }

    /// Its file, with comments at its head and behind its figures.
    pub(crate) fn to_toml_with(&self, head: &[String], notes: &Notes) -> String {
        let mut out = Writer {
            text: String::new(),
            table: String::new(),
            notes,
        };
        for line in head {
            out.line(format!("# {line}").trim_end());
        }
        out.pair("name", quoted(&self.name));
        out.pair("description", quoted(&self.description));
        out.pair("frequency_hz", grouped(self.frequency_hz));
        out.pair("cores", self.cores);
        out.pair("line_bytes", self.line_bytes);
        out.pair("cores_per_package", groups(&self.packages));
        out.pair("cores_per_node", groups(&self.nodes));
        out.pair("node_distances", format!("{:?}", self.node_distances));
        for cache in &self.caches {
            out.cache(cache);
        }
        let (memory, transfer, sync) = (&self.memory, &self.transfer, &self.sync);
        out.table("memory");
        out.pair("local_cycles", memory.local_cycles);
        out.pair("remote_cycles", memory.remote_cycles);
        out.pair("sequential_overlap", memory.sequential_overlap);
        out.table("transfer");
        out.pair("same_cache_cycles", transfer.same_cache_cycles);
        out.pair("same_package_cycles", transfer.same_package_cycles);
        out.pair("other_package_cycles", transfer.other_package_cycles);
        out.table("sync");
        out.pair("rmw_cycles", sync.rmw_cycles);
        out.pair("lock_handover_cycles", sync.lock_handover_cycles);
        out.pair("lock_spinner_cycles", sync.lock_spinner_cycles);
        out.pair("wake_call_cycles", sync.wake_call_cycles);
        out.pair("wake_latency_cycles", sync.wake_latency_cycles);
        out.pair("list_link_cycles", sync.list_link_cycles);
        out.table("runtime");
        out.pair("turn_cycles", self.runtime.turn_cycles);
        out.pair("event_cycles", self.runtime.event_cycles);
        out.pair("post_cycles", self.runtime.post_cycles);
        out.pair("queue_cycles", self.runtime.queue_cycles);
        out.pair("steal_cycles", self.runtime.steal_cycles);
        out.text
    }
}

struct Writer<'a> {
    text: String,
    /// What notes of the current table begin with.
    table: String,
    notes: &'a Notes,
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn table(&mut self, name: &str) {
        self.line(&format!("\n[{name}]"));
        self.table = format!("{name}.");
    }

    fn cache(&mut self, cache: &CacheLevel) {
        self.line("\n[[cache]]");
        self.table = format!("cache.{}.", cache.level);
        self.pair("level", cache.level);
        self.pair("size_bytes", grouped(cache.size_bytes));
        self.pair("ways", cache.ways);
        self.pair("shared_by", groups(&cache.shared_by));
        self.pair("hit_cycles", cache.hit_cycles);
    }

    fn pair(&mut self, key: &str, value: impl std::fmt::Display) {
        let mut line = format!("{key} = {value}");
        if let Some(note) = self.notes.get(&format!("{}{key}", self.table)) {
            // Writing to a string cannot fail.
            let _ = write!(line, " # {note}");
        }
        self.line(&line);
    }
}

/// TOML's basic strings know these escapes, and no control characters.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// 2_330_000_000.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push('_');
        }
        grouped.push(digit);
    }
    grouped
}

fn groups(groups: &Groups) -> String {
    match groups.size() {
        Some(size) => size.to_string(),
        None => format!("{:?}", groups.iter().collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::shipped;
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for name in shipped::names() {
            // Whole packages of every machine.
            for cores in [1, 2, 8, 128] {
                let mut machine = Machine::find(name).unwrap().with_cores(cores).unwrap();
                machine.description = "a \"quoted\" \\ one\n".to_owned();
                let notes = Notes::from([("memory.local_cycles".to_owned(), "a # note".into())]);
                let text = machine.to_toml_with(&["head".to_owned()], &notes);
                assert!(text.contains(" # a # note\n"), "{text}");
                let read = Machine::parse(name, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
                assert_eq!(read, machine);
            }
        }
    }
}
