//! Status codes this server sends, with the sentence that explains each.

/// Status code of a response (RFC 9110 section 15).
///
/// ```
/// use mely_http::Status;
/// assert_eq!(Status::NotFound.code(), 404);
/// assert_eq!(Status::NotFound.line(), "HTTP/1.1 404 Not Found\r\n");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // The names are the RFC's.
pub enum Status {
    Ok,
    NoContent,
    PartialContent,
    MovedPermanently,
    NotModified,
    BadRequest,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    RequestTimeout,
    PreconditionFailed,
    ContentTooLarge,
    UriTooLong,
    RangeNotSatisfiable,
    ExpectationFailed,
    HeaderFieldsTooLarge,
    InternalServerError,
    NotImplemented,
    ServiceUnavailable,
    VersionNotSupported,
}

macro_rules! statuses {
    ($($name:ident $code:literal $reason:literal $sentence:literal)*) => {
        impl Status {
            /// Every status this server sends.
            pub const ALL: &'static [Status] = &[$(Status::$name),*];

            /// The three-digit code.
            pub fn code(self) -> u16 {
                match self { $(Status::$name => $code),* }
            }

            /// The code and its reason phrase, as in `404 Not Found`.
            pub fn title(self) -> &'static str {
                match self { $(Status::$name => concat!($code, " ", $reason)),* }
            }

            /// The status line, with its line end.
            pub fn line(self) -> &'static str {
                match self { $(Status::$name => concat!("HTTP/1.1 ", $code, " ", $reason, "\r\n")),* }
            }

            /// What happened, in a sentence for whoever reads the page; empty for a success.
            pub fn sentence(self) -> &'static str {
                match self { $(Status::$name => $sentence),* }
            }
        }
    };
}

statuses! {
    Ok 200 "OK" ""
    NoContent 204 "No Content" ""
    PartialContent 206 "Partial Content" ""
    MovedPermanently 301 "Moved Permanently" "This is a directory: its address ends with a slash."
    NotModified 304 "Not Modified" ""
    BadRequest 400 "Bad Request" "The server could not make sense of this request."
    Forbidden 403 "Forbidden" "This exists, but the server may not show it."
    NotFound 404 "Not Found" "There is nothing at this address."
    MethodNotAllowed 405 "Method Not Allowed" "This server only answers GET, HEAD and OPTIONS."
    RequestTimeout 408 "Request Timeout" "The request took too long to arrive."
    PreconditionFailed 412 "Precondition Failed" "The file is no longer the one the request asked for."
    ContentTooLarge 413 "Content Too Large" "The request carries more content than the server accepts."
    UriTooLong 414 "URI Too Long" "The address is longer than the server accepts."
    RangeNotSatisfiable 416 "Range Not Satisfiable" "The file ends before the requested range."
    ExpectationFailed 417 "Expectation Failed" "The only expectation this server knows is 100-continue."
    HeaderFieldsTooLarge 431 "Request Header Fields Too Large" "The request has more or larger header fields than the server accepts."
    InternalServerError 500 "Internal Server Error" "The server could not read this file."
    NotImplemented 501 "Not Implemented" "The server does not know this method or transfer coding."
    ServiceUnavailable 503 "Service Unavailable" "The server is busy: please try again in a moment."
    VersionNotSupported 505 "HTTP Version Not Supported" "This server speaks HTTP/1.0 and HTTP/1.1."
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.title())
    }
}
