//! A page that lists a directory.

use crate::path::{SitePath, encode_name};
use crate::status::Status;
use rustix::fs::{Dir, FileType};
use std::fs::File;

/// Names on one page: more would let one request hold much memory.
const NAMES: usize = 10_000;

/// Builds the page for the directory open as `directory`.
pub(crate) fn page(path: &SitePath, directory: &File, dotfiles: bool) -> Result<Vec<u8>, Status> {
    let Names { names, more } = names(directory, dotfiles)?;
    let shown = format!("/{}", String::from_utf8_lossy(path.as_bytes()));
    let title = format!("Index of {}", escape(&shown));
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <h1>{title}</h1>\n<ul>\n"
    );
    if !path.as_bytes().is_empty() {
        html.push_str("<li><a href=\"../\">../</a></li>\n");
    }
    for (name, is_directory) in names {
        let slash = if is_directory { "/" } else { "" };
        let (link, text) = (encode_name(&name), escape(&String::from_utf8_lossy(&name)));
        html.push_str(&format!(
            "<li><a href=\"{link}{slash}\">{text}{slash}</a></li>\n"
        ));
    }
    html.push_str("</ul>\n");
    if more {
        html.push_str(&format!(
            "<p>This directory has more than the {NAMES} names shown here.</p>\n"
        ));
    }
    html.push_str("</html>\n");
    Ok(html.into_bytes())
}

/// Names in order, each with whether it is a directory.
struct Names {
    names: Vec<(Vec<u8>, bool)>,
    /// Whether some were left out.
    more: bool,
}

fn names(directory: &File, dotfiles: bool) -> Result<Names, Status> {
    let entries = Dir::read_from(directory).map_err(|_| Status::InternalServerError)?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|_| Status::InternalServerError)?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") || (!dotfiles && name.starts_with(b".")) {
            continue;
        }
        names.push((name.to_vec(), entry.file_type() == FileType::Directory));
        if names.len() > NAMES {
            break;
        }
    }
    names.sort();
    let more = names.len() > NAMES;
    names.truncate(NAMES);
    Ok(Names { names, more })
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}
