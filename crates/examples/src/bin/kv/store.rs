//! The keys and their values, and what commands do to them.

use std::collections::HashMap;
use std::ops::ControlFlow::{self, Break, Continue};

use crate::resp::{bulk, error, integer, list, status};

/// All keys and their values.
#[derive(Default)]
pub(crate) struct Store(HashMap<Box<[u8]>, Vec<u8>>);

impl Store {
    /// Does what a request says, and writes the reply. It breaks where that is the last one.
    pub(crate) fn run(&mut self, words: &[&[u8]], out: &mut Vec<u8>) -> ControlFlow<()> {
        let Some((name, words)) = words.split_first() else {
            return Continue(());
        };
        let mut upper = [0; 16];
        let upper = &mut upper[..name.len().min(16)];
        upper.copy_from_slice(&name[..upper.len()]);
        upper.make_ascii_uppercase();
        match (&*upper, words) {
            (b"GET", [key]) => bulk(out, self.get(key)),
            (b"SET", [key, value]) => {
                self.set(key, value);
                status(out, "OK");
            }
            (b"DEL", [_, ..]) => {
                let removed = words.iter().filter(|key| self.0.remove(**key).is_some());
                let removed = removed.count();
                integer(out, removed as i64);
            }
            (b"EXISTS", [_, ..]) => {
                let found = words.iter().filter(|key| self.0.contains_key(**key));
                integer(out, found.count() as i64);
            }
            (b"MGET", [_, ..]) => {
                list(out, words.len());
                words.iter().for_each(|key| bulk(out, self.get(key)));
            }
            (b"INCR", [key]) => match self.increment(key) {
                Some(value) => integer(out, value),
                None => error(out, "value is not an integer or out of range"),
            },
            (b"PING", []) => status(out, "PONG"),
            (b"PING" | b"ECHO", [text]) => bulk(out, Some(text)),
            (b"DBSIZE", []) => integer(out, self.0.len() as i64),
            (b"FLUSHALL", []) => {
                self.0.clear();
                status(out, "OK");
            }
            (b"CONFIG", [get, name]) if get.eq_ignore_ascii_case(b"GET") => {
                list(out, 2);
                bulk(out, Some(name));
                bulk(out, Some(b""));
            }
            (b"COMMAND", _) => list(out, 0),
            (b"QUIT", []) => {
                status(out, "OK");
                return Break(());
            }
            (
                b"GET" | b"SET" | b"DEL" | b"EXISTS" | b"MGET" | b"INCR" | b"PING" | b"ECHO"
                | b"DBSIZE" | b"FLUSHALL" | b"CONFIG" | b"QUIT",
                _,
            ) => {
                let name = String::from_utf8_lossy(upper).to_lowercase();
                error(
                    out,
                    &format!("wrong number of arguments for '{name}' command"),
                );
            }
            _ => error(out, &format!("unknown command '{}'", name.escape_ascii())),
        }
        Continue(())
    }

    fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.0.get(key).map(Vec::as_slice)
    }

    fn set(&mut self, key: &[u8], value: &[u8]) {
        match self.0.get_mut(key) {
            Some(before) => {
                before.clear();
                before.extend_from_slice(value);
            }
            None => drop(self.0.insert(key.into(), value.to_vec())),
        }
    }

    fn increment(&mut self, key: &[u8]) -> Option<i64> {
        let before = self.get(key).unwrap_or(b"0");
        let value = str::from_utf8(before)
            .ok()?
            .parse::<i64>()
            .ok()?
            .checked_add(1)?;
        self.set(key, value.to_string().as_bytes());
        Some(value)
    }
}
