//! `mely top` beside programs that run, and beside what only looks like one.

use crate::process::{Web, mely};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;

fn top(arguments: &[&str]) -> Output {
    mely().arg("top").args(arguments).output().unwrap()
}

/// The objects that it prints.
fn objects(output: &Output) -> Vec<Value> {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Gives these answers, one for each connection, and then no more.
fn answers(answers: Vec<String>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut listener, count) = (Some(listener), answers.len());
        for (at, answer) in answers.into_iter().enumerate() {
            let (mut stream, _) = listener.as_ref().unwrap().accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.unwrap() != "") {}
            // Who has the last answer finds nobody there.
            listener = listener.filter(|_| at + 1 < count);
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    address
}

fn ok(text: &str) -> String {
    let length = text.len();
    format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}")
}

/// The metrics of a program with one handler of each kind, which has run `n` times as long.
fn program(n: u64) -> String {
    let mut text = format!(
        "mely_events_run_total {}\nmely_events_pending 3\nmely_cycles_per_second 1e9\n\
         mely_steal_cost_cycles 1000\n\
         mely_worker_slept_seconds_total{{worker=\"0\"}} 0\n\
         mely_worker_slept_seconds_total{{worker=\"1\"}} {}\n\
         mely_worker_sleeps{{worker=\"1\"}} 0\n\
         mely_worker_slept_seconds_total{{worker=\"2\"}} {}\n\
         mely_worker_sleeps{{worker=\"2\"}} 1\n\
         mely_worker_steals_total{{worker=\"1\"}} {n}\n\
         mely_waiting_seconds{{rank=\"0\",handler=\"Log\",pinned=\"1\"}} 0.5\n\
         mely_waiting_color{{rank=\"0\"}} 77\n\
         mely_waiting_seconds{{rank=\"1\",handler=\"Else\",pinned=\"0\"}} 0.4\n",
        1_000 * n,
        1_000 * n,
        1_000 * n,
    );
    // Its moves cost more than they move; less, as many events come along; nothing; nobody knows.
    for (name, events, cost, penalty, moves) in [
        ("Touchy", 1_000, 2_000, 4.0, 500),
        ("Batched", 100_000, 2_000, 4.0, 500),
        ("Light", 1_000, 2_000, 1.5, 500),
        ("Unmoved", 1_000, 2_000, 9.0, 0),
    ] {
        let (events, moves) = (events * n, moves * n);
        text += &format!(
            "mely_handler_events_total{{handler=\"{name}\"}} {events}\n\
             mely_handler_cost_cycles{{handler=\"{name}\"}} {cost}\n\
             mely_handler_penalty{{handler=\"{name}\"}} {penalty}\n\
             mely_handler_moves_total{{handler=\"{name}\"}} {moves}\n\
             mely_handler_run_seconds_bucket{{handler=\"{name}\",le=\"0.000001\"}} 0\n\
             mely_handler_run_seconds_bucket{{handler=\"{name}\",le=\"0.000002\"}} {events}\n\
             mely_handler_run_seconds_bucket{{handler=\"{name}\",le=\"+Inf\"}} {events}\n\
             mely_handler_run_seconds_sum{{handler=\"{name}\"}} 0\n"
        );
    }
    text
}

#[test]
fn a_running_program_is_seen_at_work() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("index.html"), "hello").unwrap();
    let mut web = Web::start(root.path(), &["--metrics", "127.0.0.1:0", "--workers", "2"]);
    let url = web.line_with("metrics on");
    let url = url.split_whitespace().last().unwrap();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(&web.address).unwrap();
        let request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        stream.read_to_end(&mut Vec::new()).unwrap();
    }
    let objects = objects(&top(&[url, "--once", "--json", "--interval", "100ms"]));
    assert_eq!(objects.len(), 1);
    let seen = &objects[0];
    assert_eq!(seen["is_new"], false);
    let workers = seen["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 2);
    for worker in workers {
        let busy = worker["busy"].as_f64().unwrap();
        assert!((0.0..=1.0).contains(&busy), "{seen}");
    }
    let handlers = seen["handlers"].as_array().unwrap();
    let named = |name: &str| handlers.iter().find(|handler| handler["handler"] == name);
    // The looks themselves are events.
    let metrics = named("Metrics").unwrap_or_else(|| panic!("{seen}"));
    assert!(metrics["events_per_second"].as_f64() > Some(0.0), "{seen}");
    assert!(metrics["run"]["p99_seconds"].as_f64() > Some(0.0), "{seen}");
    let read = named("ReadRequest").unwrap_or_else(|| panic!("{seen}"));
    assert_eq!(read["events_per_second"], 0.0, "they were before");
    let table = top(&[url, "--once", "--interval", "100ms"]);
    let table = String::from_utf8(table.stdout).unwrap();
    for words in ["WORKER", "HANDLER", "Metrics", "events/s"] {
        assert!(table.contains(words), "{table}");
    }
    assert!(!table.contains('\x1b'), "no colors but on a terminal");
}

#[test]
fn what_is_counted_is_a_column_and_what_cannot_be_is_a_line() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("index.html"), "hello").unwrap();
    let metrics = ["--metrics", "127.0.0.1:0", "--counted"];
    for (what, headings) in [
        ("page-faults", &["FAULTS"][..]),
        ("cache-misses", &["L2 MISS", "  MISSES\n", "not counted: "]),
        ("nothing", &["MOVES/S\n"]),
    ] {
        let mut web = Web::start(root.path(), &[&metrics[..], &[what]].concat());
        let url = web.line_with("metrics on");
        let url = url.split_whitespace().last().unwrap();
        let table = top(&[url, "--once", "--interval", "50ms"]);
        let table = String::from_utf8(table.stdout).unwrap();
        assert!(
            headings.iter().any(|words| table.contains(words)),
            "{table}"
        );
        if what == "page-faults" {
            let objects = objects(&top(&[url, "--once", "--json", "--interval", "50ms"]));
            assert_eq!(objects[0]["counter"], "page_faults");
            let handlers = objects[0]["handlers"].as_array().unwrap();
            let looks = handlers.iter().find(|one| one["handler"] == "Metrics");
            let looks = looks.unwrap_or_else(|| panic!("{handlers:?}"));
            assert!(looks["counted_per_event"].as_f64() >= Some(0.0), "{looks}");
        }
    }
}

/// What a program tells of its counter, in two looks.
#[test]
fn what_is_counted_is_told_for_an_event_and_a_second() {
    let program = |n: u64, counter: &str| {
        let labels = format!("handler=\"Touchy\",counter=\"{counter}\"");
        program(n)
            + &format!(
                "mely_counter_workers{{counter=\"{counter}\"}} 2\n\
                 mely_counter_refused{{reason=\"worker 3 has \\\"none\\\"\"}} 1\n\
                 mely_handler_counted_total{{{labels}}} {}\n\
                 mely_handler_counted_events_total{{{labels}}} {}\n",
                2_500 * n,
                1_000 * n,
            )
    };
    let looks = |counter| vec![ok(&program(1, counter)), ok(&program(2, counter))];
    let address = answers(looks("l2_cache_misses"));
    let objects = objects(&top(&[&address, "--once", "--json", "--interval", "50ms"]));
    assert_eq!(objects[0]["not_counted"], "worker 3 has \"none\"");
    let handlers = objects[0]["handlers"].as_array().unwrap();
    for handler in handlers {
        let (an_event, a_second) = (
            &handler["counted_per_event"],
            &handler["counted_per_second"],
        );
        let is_known = handler["handler"] == "Touchy";
        assert_eq!(an_event.as_f64(), is_known.then_some(2.5), "{handler}");
        assert_eq!(a_second.as_f64().is_some(), is_known, "{handler}");
    }
    for (counter, heading) in [
        ("l2_cache_misses", "L2 MISS"),
        ("cache_misses", "  MISSES\n"),
        ("page_faults", "FAULTS"),
        ("what_comes_later", "COUNTED"),
    ] {
        let address = answers(looks(counter));
        let table = top(&[&address, "--once", "--interval", "50ms"]);
        let table = String::from_utf8(table.stdout).unwrap();
        for words in [heading, "not counted: worker 3", "  2.50\n"] {
            assert!(table.contains(words), "{words}: {table}");
        }
    }
}

#[test]
fn what_to_pin_is_told_by_the_rule() {
    let address = answers(vec![ok(&program(1)), ok(&program(2))]);
    let objects = objects(&top(&[&address, "--once", "--json", "--interval", "50ms"]));
    let advice = objects[0]["advice"].as_array().unwrap();
    let told: Vec<_> = advice
        .iter()
        .map(|one| {
            (
                one["advice"].as_str().unwrap(),
                one["handler"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [("pin", "Touchy"), ("unpin", "Log")], "{advice:?}");
    assert_eq!(advice[1]["color"], 77);
    assert_eq!(objects[0]["workers"][0]["busy"], 1.0);
    assert_eq!(objects[0]["workers"][1]["busy"], 0.0);
    let address = answers(vec![ok(&program(1)), ok(&program(2))]);
    let table = top(&[&address, "--once", "--interval", "50ms", "--rows", "2"]);
    let table = String::from_utf8(table.stdout).unwrap();
    for words in [
        "PIN Touchy: ",
        "UNPIN color 77: ",
        "worker 2",
        "ColorOptions::pin_to",
        "... and 2 more handlers",
        "1.41 µs",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
}

/// It looks again and again, takes a program that was started anew for what it is, and ends when
/// there is nothing more to look at.
#[test]
fn it_looks_until_the_program_has_gone() {
    let looks = [1, 2, 1, 3].map(|n| ok(&program(n))).to_vec();
    let address = answers(looks);
    let output = top(&[&address, "--json", "--interval", "50ms"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with(&format!("mely: {address}: cannot connect")),
        "{said}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let is_new = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["is_new"].clone());
    assert_eq!(is_new.collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn what_is_no_program_of_mely_is_told() {
    let moved = "HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n".to_owned();
    for (answer, words) in [
        (ok("up 1\n"), "no metrics of Mely"),
        (ok("<html>\n"), "line 1"),
        (moved, "301 Moved"),
        ("220 ready\r\n".to_owned(), "HTTP"),
        (String::new(), "too early"),
    ] {
        let address = answers(vec![answer]);
        let output = top(&[&address, "--once"]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with("mely: ") && said.contains(words), "{said}");
        assert_eq!(output.stdout, b"");
    }
}

#[test]
fn what_the_command_line_gets_wrong_is_told() {
    for (arguments, words) in [
        (&[][..], "ADDR"),
        (&["nowhere"], "HOST:PORT"),
        (&["https://127.0.0.1:1"], "https"),
        (&["127.0.0.1:1", "--interval", "1ms"], "50ms"),
        (&["127.0.0.1:1", "--interval", "soon"], "30s"),
        (&["127.0.0.1:1", "--rows", "many"], "many"),
    ] {
        let output = top(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    let help = String::from_utf8(top(&["--help"]).stdout).unwrap();
    for words in ["PIN", "UNPIN", "penalty", "L2 MISS", "--once"] {
        assert!(help.contains(words), "{help}");
    }
}
