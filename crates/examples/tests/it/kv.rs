//! `kv`.

use std::io::{Read, Seek, Write};

use crate::support::{Program, ask, expect, output_of, output_with};

#[test]
fn commands_do_what_redis_does() {
    let kv = Program::start("kv");
    let mut client = kv.connect();
    for (command, reply) in [
        ("PING", "+PONG\r\n"),
        ("ping hello", "$5\r\nhello\r\n"),
        ("ECHO word", "$4\r\nword\r\n"),
        ("GET a", "$-1\r\n"),
        ("SET a 1", "+OK\r\n"),
        ("GET a", "$1\r\n1\r\n"),
        ("INCR a", ":2\r\n"),
        ("INCR new", ":1\r\n"),
        ("SET text abc", "+OK\r\n"),
        (
            "INCR text",
            "-ERR value is not an integer or out of range\r\n",
        ),
        ("SET a 9223372036854775807", "+OK\r\n"),
        ("INCR a", "-ERR value is not an integer or out of range\r\n"),
        (
            "MGET new none text",
            "*3\r\n$1\r\n1\r\n$-1\r\n$3\r\nabc\r\n",
        ),
        ("EXISTS a a none", ":2\r\n"),
        ("DBSIZE", ":3\r\n"),
        ("DEL a none new", ":2\r\n"),
        ("FLUSHALL", "+OK\r\n"),
        ("DBSIZE", ":0\r\n"),
        ("COMMAND", "*0\r\n"),
        ("CONFIG GET save", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"),
        (
            "GET",
            "-ERR wrong number of arguments for 'get' command\r\n",
        ),
        (
            "SET a",
            "-ERR wrong number of arguments for 'set' command\r\n",
        ),
        ("LPUSH a b", "-ERR unknown command 'LPUSH'\r\n"),
    ] {
        ask(
            &mut client,
            format!("{command}\r\n").as_bytes(),
            reply.as_bytes(),
        );
        let words: Vec<_> = command.split(' ').collect();
        // A second time as an array would change what the first has done.
        if words[0] == "GET" {
            ask(&mut client, array(&words).as_bytes(), reply.as_bytes());
        }
    }
    client.write_all(b"QUIT\r\n").expect("it reads");
    let mut rest = String::new();
    client.read_to_string(&mut rest).expect("it is closed");
    assert_eq!(rest, "+OK\r\n");
}

fn array(words: &[&str]) -> String {
    let words = words
        .iter()
        .map(|word| format!("${}\r\n{word}\r\n", word.len()));
    let (count, words) = (words.len(), words.collect::<String>());
    format!("*{count}\r\n{words}")
}

#[test]
fn requests_may_be_cut_anywhere_and_come_together() {
    let kv = Program::start("kv");
    let mut client = kv.connect();
    let long = "v".repeat(100_000);
    let requests = [
        array(&["SET", "key", "a\r\nb"]),
        "\r\n".to_owned(),
        array(&["GET", "key"]),
        array(&["SET", "long", &long]),
        array(&["GET", "long"]),
        "PING\n".to_owned(),
    ];
    let requests = requests.concat();
    let replies = format!("+OK\r\n$4\r\na\r\nb\r\n+OK\r\n$100000\r\n{long}\r\n+PONG\r\n");
    for cut in (1..100).chain([50_000, requests.len() - 3]) {
        client
            .write_all(&requests.as_bytes()[..cut])
            .expect("it reads");
        client
            .write_all(&requests.as_bytes()[cut..])
            .expect("it reads");
        expect(&mut client, replies.as_bytes());
    }
    let many = array(&["INCR", "n"]).repeat(10_000);
    let replies: String = (1..=10_000).map(|n| format!(":{n}\r\n")).collect();
    ask(&mut client, many.as_bytes(), replies.as_bytes());
}

#[test]
fn what_is_no_request_is_told_and_closed() {
    let kv = Program::start("kv");
    for (wrong, why) in [
        ("*x\r\n", "invalid multibulk length"),
        ("*-1\r\n", "invalid multibulk length"),
        ("*99999999999999999999\r\n", "invalid multibulk length"),
        ("*1\r\n+PING\r\n", "expected '$'"),
        ("*1\r\n$-4\r\n", "invalid bulk length"),
        ("*1\r\n$999999999\r\n", "invalid bulk length"),
    ] {
        let mut client = kv.connect();
        client.write_all(wrong.as_bytes()).expect("it reads");
        let mut told = String::new();
        client.read_to_string(&mut told).expect("it is closed");
        assert_eq!(told, format!("-ERR Protocol error: {why}\r\n"), "{wrong}");
    }
}

#[test]
fn the_programs_of_redis_talk_to_it() {
    let kv = Program::start("kv");
    let Some(set) = output_of("redis-cli", &["-p", kv.port(), "SET", "city", "Lyon"]) else {
        return;
    };
    assert_eq!(set, "OK\n");
    let got = output_of("redis-cli", &["-p", kv.port(), "GET", "city"]);
    assert_eq!(got.as_deref(), Some("Lyon\n"));
    let load = "-t set,get,incr,ping -c 10 -P 16 -n 2000 -r 100 --csv -p";
    let args: Vec<_> = load.split(' ').chain([kv.port()]).collect();
    let table = output_of("redis-benchmark", &args).expect("it comes with redis-cli");
    for test in ["PING_INLINE", "PING_MBULK", "SET", "GET", "INCR"] {
        assert!(table.contains(&format!("\"{test}\"")), "{table}");
    }
}

#[test]
fn much_is_brought_by_a_pipe() {
    let kv = Program::start("kv");
    let mut script = tempfile::tempfile().expect("a file");
    for key in 0..10_000 {
        let set = array(&["SET", &format!("key {key}"), &"v".repeat(key % 100)]);
        script.write_all(set.as_bytes()).expect("room");
    }
    script.rewind().expect("a file");
    let Some(told) = output_with("redis-cli", &["-p", kv.port(), "--pipe"], script) else {
        return;
    };
    assert!(told.contains("errors: 0, replies: 10000"), "{told}");
    ask(&mut kv.connect(), b"DBSIZE\r\n", b":10000\r\n");
}
