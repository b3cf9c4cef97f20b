//! When a connection waits, lingers and closes.

use super::*;

#[test]
fn errors_linger_so_that_the_peer_can_read_them() {
    let world = World::new();
    let now = world.at_ms(0);
    let mut connection = world.connection();
    connection.read_buffer()[..7].copy_from_slice(b"GET\0 / ");
    connection.advance(7, &now);
    assert_eq!(connection.parse(&now), Step::Write);
    assert!(!connection.keep_alive());
    let pending = connection.output.pending_bytes();
    connection.advance_output(pending, &now);
    assert_eq!(connection.parse(&now), Step::ShutdownWrite);
    let mut drained = 0;
    while connection.parse(&now) == Step::Read {
        let count = connection.read_buffer().len();
        connection.advance(count, &now);
        drained += count as u64;
    }
    assert!(drained >= world.protocol.limits().linger_bytes);
    assert_eq!(connection.parse(&now), Step::Close);
    assert_eq!(connection.parse(&now), Step::Close);
    assert_eq!(connection.deadline(), None);
}

#[test]
fn a_refused_connection_gets_503() {
    let world = World::new();
    let now = world.at_ms(0);
    let mut connection =
        Connection::refused(world.protocol.clone(), Status::ServiceUnavailable, &now);
    assert_eq!(connection.parse(&now), Step::Write);
    let Output::Bytes(slices) = connection.pending_output() else {
        panic!("a page")
    };
    assert_eq!(
        *slices[0],
        world
            .protocol
            .closing_page(Status::ServiceUnavailable, &now)[..]
    );
}

#[test]
fn deadlines_follow_what_is_waited_for() {
    let world = World::new();
    let due = |connection: &Connection| (connection.deadline().unwrap() - world.start).as_millis();
    let feed = |connection: &mut Connection, bytes: &str, ms| {
        connection.read_buffer()[..bytes.len()].copy_from_slice(bytes.as_bytes());
        connection.advance(bytes.len(), &world.at_ms(ms));
        connection.parse(&world.at_ms(ms))
    };
    let mut slow = world.connection();
    assert_eq!(due(&slow), 60_000);
    assert_eq!(feed(&mut slow, "G", 5_000), Step::Read);
    assert_eq!(feed(&mut slow, "E", 9_000), Step::Read);
    assert_eq!(due(&slow), 15_000, "one byte more buys no time");
    assert_eq!(slow.on_timeout(&world.at_ms(14_999)), None);
    assert_eq!(slow.on_timeout(&world.at_ms(15_000)), Some(Step::Write));
    let Output::Bytes(slices) = slow.pending_output() else {
        panic!("a page")
    };
    assert!(slices[0].starts_with(b"HTTP/1.1 408 "));
    assert_eq!(due(&slow), 45_000, "the time to write");
    assert_eq!(slow.on_timeout(&world.at_ms(45_000)), Some(Step::Close));

    let mut idle = world.connection();
    assert_eq!(idle.on_timeout(&world.at_ms(60_000)), Some(Step::Close));

    let mut stuck = world.connection();
    assert_eq!(feed(&mut stuck, &get("/big", ""), 1_000), Step::Request);
    assert_eq!(stuck.deadline(), None);
    stuck.check_in_cache(&world.site, &world.at_ms(2_000));
    assert_eq!(due(&stuck), 32_000);
    stuck.advance_output(10, &world.at_ms(3_000));
    assert_eq!(due(&stuck), 33_000, "progress buys time");
    stuck.advance_output(u64::MAX, &world.at_ms(4_000));
    assert_eq!(due(&stuck), 64_000, "idle again");

    let mut body = world.connection();
    assert_eq!(
        feed(&mut body, &get("/a.txt", "Content-Length: 9\r\n"), 1_000),
        Step::Read
    );
    assert_eq!(due(&body), 11_000);
    assert_eq!(body.on_timeout(&world.at_ms(11_000)), Some(Step::Write));
}

#[test]
fn a_peer_that_never_reads_holds_little() {
    let limits = Limits {
        max_output_bytes: 50_000,
        ..Limits::default()
    };
    let world = World::with(limits);
    let now = world.at_ms(0);
    let mut connection = world.connection();
    let requests = get("/big", "").repeat(40);
    let mut rest = requests.as_bytes();
    let mut answered = 0;
    for _ in 0..1000 {
        match connection.parse(&now) {
            Step::Read => {
                let room = connection.read_buffer();
                let count = room.len().min(rest.len());
                room[..count].copy_from_slice(&rest[..count]);
                rest = &rest[count..];
                connection.advance(count, &now);
            }
            Step::Request => {
                connection.check_in_cache(&world.site, &now);
                answered += 1;
            }
            _ => break,
        }
    }
    assert_eq!(answered, 3, "parsing stops at the limit");
}

#[test]
fn one_file_at_a_time_is_open_for_a_peer() {
    let world = World::new();
    let now = world.at_ms(0);
    let files = get("/streamed.bin", "").repeat(2);
    let mut connection = world.connection();
    connection.read_buffer()[..files.len()].copy_from_slice(files.as_bytes());
    connection.advance(files.len(), &now);
    assert_eq!(connection.parse(&now), Step::Request);
    connection.check_in_cache(&world.site, &now);
    assert_eq!(
        connection.parse(&now),
        Step::Write,
        "one open file at a time"
    );
}

#[test]
fn shutdown_lets_the_current_request_end() {
    let world = World::new();
    let now = world.at_ms(0);
    let mut idle = world.connection();
    idle.begin_shutdown();
    assert_eq!(idle.parse(&now), Step::Close);
    let mut busy = world.connection();
    let request = get("/a.txt", "");
    busy.read_buffer()[..request.len()].copy_from_slice(request.as_bytes());
    busy.advance(request.len(), &now);
    assert_eq!(busy.parse(&now), Step::Request);
    busy.begin_shutdown();
    assert_eq!(busy.check_in_cache(&world.site, &now), Some(Status::Ok));
    let Output::Bytes(slices) = busy.pending_output() else {
        panic!("an answer")
    };
    assert!(text(&slices[0]).contains("Connection: close"));
}

#[test]
fn shutdown_answers_what_has_arrived() {
    let world = World::new();
    let now = world.at_ms(0);
    for another_came in [true, false] {
        let mut connection = world.connection();
        answer_one(&world, &mut connection, &now);
        connection.begin_shutdown();
        // Another request may be in the socket.
        assert_eq!(connection.parse(&now), Step::Read);
        match another_came {
            true => answer_one(&world, &mut connection, &now),
            false => connection.read_nothing(),
        }
        assert_eq!(connection.parse(&now), Step::Close);
    }
}

fn answer_one(world: &World, connection: &mut Connection, now: &Now) {
    let request = get("/a.txt", "");
    connection.read_buffer()[..request.len()].copy_from_slice(request.as_bytes());
    connection.advance(request.len(), now);
    assert_eq!(connection.parse(now), Step::Request);
    connection.check_in_cache(&world.site, now);
    let Output::Bytes(slices) = connection.pending_output() else {
        panic!("an answer")
    };
    let sent = slices.iter().map(|slice| slice.len() as u64).sum();
    connection.advance_output(sent, now);
}

#[test]
fn idle_memory_can_be_given_back() {
    let world = World::new();
    let now = world.at_ms(0);
    let mut connection = world.connection();
    connection.read_buffer();
    connection.read_nothing();
    assert_eq!(connection.buffer.capacity(), 0);
    connection.read_buffer()[0] = b'G';
    connection.advance(1, &now);
    connection.read_nothing();
    assert_eq!(connection.buffer[0], b'G', "a partial request is not idle");
}
