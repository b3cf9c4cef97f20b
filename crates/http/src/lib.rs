//! SWS, the HTTP/1.1 static file server of Mely: protocol without I/O, and the server on it.
