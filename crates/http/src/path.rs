//! From the path of a request target to a path below the root.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode, percent_encode};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What must be escaped in one segment of a URL path, and in HTML written around it.
const SEGMENT: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'/')
    .add(b'\\')
    .add(b'^')
    .add(b'[')
    .add(b']')
    .add(b'|')
    .add(b'&')
    .add(b'\'')
    .add(b':')
    .add(b';');

/// A decoded path below the root of a site: only normal components, joined by single slashes.
///
/// Names are bytes, as on disk: a backslash is a character like another, and so are bytes that are
/// not UTF-8. Empty segments vanish (`/a//b` is `/a/b`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SitePath {
    bytes: Vec<u8>,
    trailing_slash: bool,
}

/// Why a request path names nothing below the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathError {
    /// A NUL, no leading slash, or `..` above the root: 400.
    Malformed,
    /// An encoded slash, which no file name can hold, or a dotfile that is not to be shown: 404.
    NotFound,
}

impl std::fmt::Display for PathError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the path has a NUL byte, no leading slash, or leads above the root",
            Self::NotFound => "the path has an encoded slash or a hidden name",
        })
    }
}

impl std::error::Error for PathError {}

impl SitePath {
    /// Decodes the path of a request target (no query string) and resolves its dot segments,
    /// encoded or not, without ever leaving the root.
    ///
    /// An encoded slash (`%2F`) is [`PathError::NotFound`]: decoding it would make two segments of
    /// one, and no file name can hold it. A segment that begins with a dot is not found either,
    /// unless `dotfiles` are allowed.
    ///
    /// # Errors
    /// See [`PathError`].
    ///
    /// ```
    /// use mely_http::{PathError, SitePath};
    /// let path = SitePath::decode(b"/a/./b%20c/../d", false)?;
    /// assert_eq!(path.as_bytes(), b"a/d");
    /// assert_eq!(SitePath::decode(b"/../etc", false), Err(PathError::Malformed));
    /// assert_eq!(SitePath::decode(b"/.git/config", false), Err(PathError::NotFound));
    /// # Ok::<(), PathError>(())
    /// ```
    pub fn decode(target_path: &[u8], dotfiles: bool) -> Result<Self, PathError> {
        let segments = target_path.strip_prefix(b"/").ok_or(PathError::Malformed)?;
        let mut path = Self {
            bytes: Vec::with_capacity(segments.len()),
            trailing_slash: true,
        };
        for segment in segments.split(|&b| b == b'/') {
            let start = path.bytes.len();
            if start > 0 {
                path.bytes.push(b'/');
            }
            let name_at = path.bytes.len();
            path.bytes.extend(percent_decode(segment));
            let name = &path.bytes[name_at..];
            path.trailing_slash = matches!(name, b"" | b"." | b"..");
            if name.contains(&0) {
                return Err(PathError::Malformed);
            } else if name.contains(&b'/') {
                return Err(PathError::NotFound);
            } else if name == b".." {
                path.bytes.truncate(start);
                if !path.pop() {
                    return Err(PathError::Malformed);
                }
            } else if path.trailing_slash {
                path.bytes.truncate(start);
            }
        }
        if !dotfiles
            && path
                .bytes
                .split(|&b| b == b'/')
                .any(|name| name.starts_with(b"."))
        {
            return Err(PathError::NotFound);
        }
        Ok(path)
    }

    /// Path of a file already known to be below the root.
    pub(crate) fn file(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            trailing_slash: false,
        }
    }

    /// The path without leading or trailing slash; empty for the root itself.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same as a relative [`Path`]; empty for the root itself.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.bytes))
    }

    /// Whether the request wrote it as a directory, with a slash at its end.
    pub fn has_trailing_slash(&self) -> bool {
        self.trailing_slash
    }

    /// The absolute URL path that leads back to it, encoded, with a slash at its end for a
    /// directory.
    ///
    /// It begins with one slash only, so that it can never be read as naming another host.
    pub fn to_url(&self, directory: bool) -> String {
        let mut url = String::with_capacity(self.bytes.len() + 2);
        for name in self
            .bytes
            .split(|&b| b == b'/')
            .filter(|name| !name.is_empty())
        {
            url.push('/');
            url.push_str(&encode_name(name));
        }
        if directory || url.is_empty() {
            url.push('/');
        }
        url
    }

    /// The path of `name` inside this directory.
    pub(crate) fn join(&self, name: &[u8]) -> Self {
        let mut bytes = self.bytes.clone();
        if !bytes.is_empty() {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(name);
        Self::file(bytes)
    }

    fn pop(&mut self) -> bool {
        let slash = self.bytes.iter().rposition(|&b| b == b'/');
        let nonempty = !self.bytes.is_empty();
        self.bytes.truncate(slash.unwrap_or(0));
        nonempty
    }
}

/// One file name as it stands in a URL, safe inside an HTML attribute as well.
pub(crate) fn encode_name(name: &[u8]) -> String {
    percent_encode(name, SEGMENT).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Component;

    fn decoded(path: &[u8]) -> Result<(Vec<u8>, bool), PathError> {
        SitePath::decode(path, false).map(|p| (p.as_bytes().to_vec(), p.has_trailing_slash()))
    }

    #[test]
    fn forms_of_paths() {
        let good: &[(&[u8], &[u8], bool)] = &[
            (b"/", b"", true),
            (b"/a", b"a", false),
            (b"/a/", b"a", true),
            (b"//a//b", b"a/b", false),
            (b"/a/.", b"a", true),
            (b"/a/..", b"", true),
            (b"/a/b/../c", b"a/c", false),
            (b"/a/%2e%2E/c", b"c", false),
            (b"/%41%zz%", b"A%zz%", false),
            (b"/a\\..\\b", b"a\\..\\b", false),
            (b"/%5c", b"\\", false),
            (b"/%ff\xfe", b"\xff\xfe", false),
            (b"/%252e%252e/x", b"%2e%2e/x", false),
            (b"/.git/../x", b"x", false),
            (b"/a..b/..c/..", b"a..b", true),
        ];
        for (input, path, slash) in good {
            assert_eq!(
                decoded(input),
                Ok((path.to_vec(), *slash)),
                "{}",
                input.escape_ascii()
            );
        }
        let malformed: &[&[u8]] = &[
            b"",
            b"a",
            b"/..",
            b"/a/../..",
            b"/%2e%2e/etc",
            b"/a%00",
            b"/a/../../a",
            b"/..//..",
        ];
        for input in malformed {
            assert_eq!(
                decoded(input),
                Err(PathError::Malformed),
                "{}",
                input.escape_ascii()
            );
        }
        for input in [
            &b"/a%2fb"[..],
            b"/%2F",
            b"/.a",
            b"/a/.b/c",
            b"/...",
            b"/%2eb",
            b"/..%2f..",
        ] {
            assert_eq!(
                decoded(input),
                Err(PathError::NotFound),
                "{}",
                input.escape_ascii()
            );
        }
    }

    #[test]
    fn a_url_never_names_another_host() {
        let path = SitePath::decode(b"//evil.example/..//%5Cx y\"<", false).unwrap();
        assert_eq!(path.to_url(true), "/%5Cx%20y%22%3C/");
        assert_eq!(SitePath::decode(b"//", false).unwrap().to_url(true), "/");
    }

    fn request_path() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            &b"/"[..],
            b".",
            b"..",
            b"%2e",
            b"%2F",
            b"%00",
            b"\\",
            b"a",
            b"%",
            b"\xff",
            b"%c3%28",
        ]);
        let pieces =
            prop::collection::vec(piece, 0..24).prop_map(|p| [&b"/"[..], &p.concat()].concat());
        prop_oneof![pieces, any::<Vec<u8>>()]
    }

    proptest! {
        #[test]
        fn only_normal_components_come_out(input in request_path(), dotfiles: bool) {
            if let Ok(path) = SitePath::decode(&input, dotfiles) {
                for component in path.as_path().components() {
                    let Component::Normal(name) = component else {
                        return Err(TestCaseError::fail(format!("{component:?}")));
                    };
                    prop_assert!(dotfiles || !name.as_bytes().starts_with(b"."));
                }
                let bytes = path.as_bytes();
                prop_assert!(!bytes.starts_with(b"/") && !bytes.ends_with(b"/") && !bytes.contains(&0));
                prop_assert!(path.as_path().components().count() == bytes.split(|&b| b == b'/').filter(|n| !n.is_empty()).count());
            }
        }

        #[test]
        fn the_url_of_a_path_leads_back_to_it(input in request_path()) {
            if let Ok(path) = SitePath::decode(&input, true) {
                let url = path.to_url(path.has_trailing_slash());
                prop_assert!(!url.starts_with("//"));
                prop_assert_eq!(SitePath::decode(url.as_bytes(), true), Ok(path));
            }
        }
    }
}
