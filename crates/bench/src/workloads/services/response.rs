//! Reads responses, as much of HTTP as a client needs that knows what it asks for.

/// The most that a head may take.
const HEAD_MAX: usize = 16 << 10;

/// A response, as it comes in.
#[derive(Debug, Default)]
pub(crate) struct Response {
    /// Of the head, what has come before the rest of it.
    head: Vec<u8>,
    /// Bytes of the body to come, once the head is known.
    left: Option<usize>,
}

/// An answer that is no file: another status, or no head that can be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refused;

impl Response {
    /// Takes bytes in: whether the response is complete. The next bytes are those of
    /// the next response then.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<bool, Refused> {
        let left = match self.left {
            Some(left) => left.checked_sub(bytes.len()).ok_or(Refused)?,
            None if self.head.is_empty() => match body(bytes)? {
                Some(left) => left,
                None => return self.keep(bytes),
            },
            None => {
                self.keep(bytes)?;
                match body(&self.head)? {
                    Some(left) => left,
                    None => return Ok(false),
                }
            }
        };
        self.head.clear();
        self.left = (left > 0).then_some(left);
        Ok(left == 0)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<bool, Refused> {
        self.head.extend_from_slice(bytes);
        match self.head.len() > HEAD_MAX {
            true => Err(Refused),
            false => Ok(false),
        }
    }
}

/// How much of the body is still to come behind these bytes; `None` if they are not
/// all of the head. One response at a time is asked for: more than that is none.
fn body(bytes: &[u8]) -> Result<Option<usize>, Refused> {
    const END: &[u8] = b"\r\n\r\n";
    let Some(head) = bytes.windows(END.len()).position(|window| window == END) else {
        return Ok(None);
    };
    let (head, body) = (&bytes[..head], bytes.len() - head - END.len());
    let mut lines = head.split(|&byte| byte == b'\n');
    let status = lines.next().unwrap_or_default();
    if !status.starts_with(b"HTTP/1.1 200") {
        return Err(Refused);
    }
    let length = lines.find_map(length).ok_or(Refused)?;
    length.checked_sub(body).map(Some).ok_or(Refused)
}

/// The length that a line of the head tells, if it is the one that does.
fn length(line: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    let (name, value) = line.split_at_checked(NAME.len())?;
    match name.eq_ignore_ascii_case(NAME) {
        true => str::from_utf8(value).ok()?.trim().parse().ok(),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESPONSE: &[u8] =
        b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\nDate: now\r\n\r\nhello";

    #[test]
    fn a_response_may_come_in_any_two_parts() {
        for at in 1..RESPONSE.len() {
            let mut response = Response::default();
            let (first, second) = RESPONSE.split_at(at);
            assert_eq!(response.take(first), Ok(false), "{at}");
            assert_eq!(response.take(second), Ok(true), "{at}");
            assert_eq!(response.take(RESPONSE), Ok(true), "the next one, {at}");
        }
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let refused: [&[u8]; 4] = [
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
        ];
        for bytes in refused {
            assert_eq!(Response::default().take(bytes), Err(Refused));
        }
        let endless = vec![b'a'; HEAD_MAX + 1];
        assert_eq!(Response::default().take(&endless), Err(Refused));
    }
}
