//! The header fields a static file server looks at, gathered in one pass.

use crate::lines::byte_set;
use crate::request::{Framing, RequestHead, Span, Version};
use crate::status::Status;
use httparse::Header;

/// What the fields say about host, framing and persistence, before any rule is applied.
#[derive(Default)]
struct Seen {
    hosts: u32,
    content_length: Option<u64>,
    transfer_encoding: bool,
    chunked: u32,
    close: bool,
    keep_alive: bool,
}

/// Reads `headers` into `head`, whose version is already known. `base` is the address where spans
/// begin.
pub(crate) fn gather(
    head: &mut RequestHead,
    headers: &[Header<'_>],
    base: usize,
) -> Result<(), Status> {
    let mut seen = Seen::default();
    for header in headers {
        field(head, &mut seen, header, base)?;
    }
    if seen.hosts > 1 || (seen.hosts == 0 && head.version == Version::Http11) {
        return Err(Status::BadRequest);
    }
    head.framing = framing(&seen, head.version)?;
    head.keep_alive = !seen.close && (head.version == Version::Http11 || seen.keep_alive);
    // A 1.0 peer does not know the interim response (RFC 9110 section 10.1.1).
    head.expects_continue &= head.version == Version::Http11;
    Ok(())
}

fn field(
    head: &mut RequestHead,
    seen: &mut Seen,
    header: &Header<'_>,
    base: usize,
) -> Result<(), Status> {
    let name = header.name;
    let value = header.value;
    let span = Span::of(value, base);
    // The length tells most fields apart, so few names are compared.
    match name.len() {
        4 if name.eq_ignore_ascii_case("host") => {
            seen.hosts += 1;
            if !is_host(value.trim_ascii()) {
                return Err(Status::BadRequest);
            }
        }
        5 if name.eq_ignore_ascii_case("range") => head.range.add(span),
        6 if name.eq_ignore_ascii_case("expect") => expect(head, value),
        8 if name.eq_ignore_ascii_case("if-match") => head.if_match.push(span),
        8 if name.eq_ignore_ascii_case("if-range") => head.if_range.add(span),
        10 if name.eq_ignore_ascii_case("connection") => {
            for token in list(value) {
                seen.close |= token.eq_ignore_ascii_case(b"close");
                seen.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
            }
        }
        13 if name.eq_ignore_ascii_case("if-none-match") => head.if_none_match.push(span),
        14 if name.eq_ignore_ascii_case("content-length") => content_length(seen, value)?,
        17 if name.eq_ignore_ascii_case("if-modified-since") => head.if_modified_since.add(span),
        17 if name.eq_ignore_ascii_case("transfer-encoding") => transfer_encoding(seen, value)?,
        19 if name.eq_ignore_ascii_case("if-unmodified-since") => {
            head.if_unmodified_since.add(span)
        }
        _ => {}
    }
    Ok(())
}

fn expect(head: &mut RequestHead, value: &[u8]) {
    for expectation in list(value) {
        if expectation.eq_ignore_ascii_case(b"100-continue") {
            head.expects_continue = true;
        } else {
            head.refusal = head.refusal.or(Some(Status::ExpectationFailed));
        }
    }
}

/// A list of equal lengths counts as one (RFC 9110 section 8.6); any doubt is an error, because
/// two readers who disagree about it disagree about where the next request begins.
fn content_length(seen: &mut Seen, value: &[u8]) -> Result<(), Status> {
    for length in value.split(|&b| b == b',').map(<[u8]>::trim_ascii) {
        let digits = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
        let length = std::str::from_utf8(length)
            .ok()
            .filter(|_| digits)
            .and_then(|t| t.parse().ok());
        let length: u64 = length.ok_or(Status::BadRequest)?;
        if seen.content_length.is_some_and(|earlier| earlier != length) {
            return Err(Status::BadRequest);
        }
        seen.content_length = Some(length);
    }
    Ok(())
}

fn transfer_encoding(seen: &mut Seen, value: &[u8]) -> Result<(), Status> {
    seen.transfer_encoding = true;
    for coding in list(value) {
        if !coding.eq_ignore_ascii_case(b"chunked") {
            return Err(Status::NotImplemented);
        }
        seen.chunked += 1;
    }
    Ok(())
}

fn framing(seen: &Seen, version: Version) -> Result<Framing, Status> {
    match (seen.transfer_encoding, seen.content_length) {
        (false, None | Some(0)) => Ok(Framing::Empty),
        (false, Some(length)) => Ok(Framing::Length(length)),
        // HTTP/1.0 has no transfer codings, and a length beside them is an attempt at smuggling.
        (true, None) if seen.chunked == 1 && version == Version::Http11 => Ok(Framing::Chunked),
        (true, _) => Err(Status::BadRequest),
    }
}

fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&b| b == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|token| !token.is_empty())
}

const HOST: [bool; 256] = byte_set(b"-._~%!$&'()*+;=:[]");

/// Whether these bytes may stand in a host and port; an empty value is allowed (RFC 9112
/// section 3.2).
pub(crate) fn is_host(host: &[u8]) -> bool {
    host.iter().all(|&byte| HOST[usize::from(byte)])
}
