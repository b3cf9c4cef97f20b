use super::*;
use proptest::prelude::*;

fn read_all(inflater: &mut Inflater, mut input: &[u8]) -> Result<Vec<u8>, Error> {
    let (mut out, mut room) = (Vec::new(), [0; 1000]);
    loop {
        match inflater.read(&mut input, &mut room)? {
            0 => return Ok(out),
            count => out.extend_from_slice(&room[..count]),
        }
    }
}

#[test]
fn a_bomb_is_told_before_it_goes_off() {
    let bomb = deflated(&vec![0; 8 << 20]);
    let error = read_all(&mut Inflater::new(&Limits::default()), &bomb);
    assert_eq!(error, Err(Error::InflatedTooMuch { max: 256 }));
    assert_eq!(
        inflated(&bomb, 1000),
        Err(Error::InflatedTooMuch { max: 1000 })
    );
    let patient = Limits {
        max_inflation_ratio: 2000,
        ..Limits::default()
    };
    let all = read_all(&mut Inflater::new(&patient), &bomb).unwrap();
    assert_eq!(all.len(), 8 << 20);
}

#[test]
fn nothing_follows_the_end() {
    let mut stream = deflated(b"all");
    assert_eq!(inflated(&stream, 3).unwrap(), b"all");
    assert_eq!(inflated(&stream, 2), Err(Error::InflatedTooMuch { max: 2 }));
    assert_eq!(
        inflated(&stream[..stream.len() - 1], 3),
        Err(Error::Inflate)
    );
    stream.push(0);
    let read = read_all(&mut Inflater::new(&Limits::default()), &stream);
    assert_eq!(read, Err(Error::Inflate));
}

#[test]
fn large_writes_are_flushed_whole() {
    // Bytes without a pattern, so that the compressed form passes every reserve.
    let mut state = 1_u32;
    let noise: Vec<u8> = (0..100_000)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    let mut wire = Vec::new();
    let mut deflater = Deflater::new();
    deflater.write(&noise, &mut wire);
    deflater.flush(&mut wire);
    let read = read_all(&mut Inflater::new(&Limits::default()), &wire);
    assert_eq!(read.unwrap(), noise);
}

proptest! {
    #[test]
    fn what_is_flushed_arrives(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..8),
        split in 1..50_usize,
    ) {
        let (mut deflater, mut inflater) = (Deflater::new(), Inflater::new(&Limits::default()));
        for message in &messages {
            let mut wire = Vec::new();
            deflater.write(message, &mut wire);
            deflater.flush(&mut wire);
            let mut read = Vec::new();
            for part in wire.chunks(split) {
                read.extend(read_all(&mut inflater, part).unwrap());
            }
            prop_assert_eq!(&read, message);
        }
    }

    #[test]
    fn any_bytes_inflate_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut headed = vec![0x78, 0x9c];
        headed.extend(&bytes);
        for bytes in [bytes, headed] {
            let _ = read_all(&mut Inflater::new(&Limits::default()), &bytes);
            if let Ok(out) = inflated(&bytes, 100) {
                prop_assert!(out.len() <= 100);
            }
        }
    }
}
