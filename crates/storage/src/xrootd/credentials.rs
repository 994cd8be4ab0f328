//! Who is asking: tokens where the grid keeps them, and the security protocols that need no more than that.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::options::Network;
use crate::secret::Secret;

/// No token is larger; servers take less.
const MAX_TOKEN_BYTES: u64 = 64 << 10;

/// The token to show: the one that was given, or the one that WLCG's bearer token discovery finds.
pub(crate) fn token(network: &Network) -> Option<Secret> {
    network.token.clone().or_else(|| discover(|name| std::env::var(name).ok()))
}

/// `BEARER_TOKEN`, the file of `BEARER_TOKEN_FILE`, `$XDG_RUNTIME_DIR/bt_u$UID`, `/tmp/bt_u$UID`: the first that is set.
fn discover(variable: impl Fn(&str) -> Option<String>) -> Option<Secret> {
    let set = |name: &str| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    if let Some(token) = set("BEARER_TOKEN") {
        return Some(Secret::new(token));
    }
    if let Some(path) = set("BEARER_TOKEN_FILE") {
        return token_in(Path::new(&path));
    }
    let user = rustix::process::geteuid().as_raw();
    let runtime = set("XDG_RUNTIME_DIR").map(|directory| PathBuf::from(directory).join(format!("bt_u{user}")));
    let places = runtime.into_iter().chain([PathBuf::from(format!("/tmp/bt_u{user}"))]);
    // Anybody may put a file into the latter directory: only one's own counts.
    places.filter(|path| path.metadata().is_ok_and(|metadata| metadata.uid() == user)).find_map(|path| token_in(&path))
}

fn token_in(path: &Path) -> Option<Secret> {
    path.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() <= MAX_TOKEN_BYTES)?;
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim()).filter(|token| !token.is_empty()).map(Secret::new)
}

/// Account on this machine, as servers that ask for no proof want to know it.
pub(crate) fn account() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|name| !name.is_empty());
    let is_name = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    set("USER").or_else(|| set("LOGNAME")).filter(is_name).unwrap_or_else(|| "user".to_owned())
}

/// What a security protocol is to be told, if it is one that is spoken here and there is something to tell.
pub(crate) fn credentials(protocol: &str, token: Option<&Secret>) -> Option<Vec<u8>> {
    match protocol {
        "ztn" => token.and_then(|token| ztn(token.expose())),
        "unix" => Some(format!("unix\0{}\0", account()).into_bytes()),
        "host" => Some(b"host\0".to_vec()),
        _ => None,
    }
}

/// Name, version 0, operation T for token, two unused bytes; length of the token with its NUL; the token.
fn ztn(token: &str) -> Option<Vec<u8>> {
    let n_bytes = u16::try_from(token.len() + 1).ok()?;
    let mut bytes = b"ztn\0\0T\0\0".to_vec();
    bytes.extend(n_bytes.to_be_bytes());
    bytes.extend(token.as_bytes());
    bytes.push(0);
    Some(bytes)
}

/// As a word of a query: what is no letter, digit or mark becomes a percent and its number.
pub(crate) fn percent_encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_in_the_order_of_the_wlcg_profile() {
        let directory = std::env::temp_dir().join(format!("arrowroot-token-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let user = rustix::process::geteuid().as_raw();
        std::fs::write(directory.join("file"), " in-file\n").unwrap();
        std::fs::write(directory.join(format!("bt_u{user}")), "in-runtime\n").unwrap();
        let file = directory.join("file").to_string_lossy().into_owned();
        let runtime = directory.to_string_lossy().into_owned();
        let all = [("BEARER_TOKEN", " in-variable "), ("BEARER_TOKEN_FILE", &file), ("XDG_RUNTIME_DIR", &runtime)];
        let found = |first: usize| {
            let variable =
                |name: &str| all[first..].iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
            discover(variable).map(|token| token.expose().to_owned())
        };
        assert_eq!([0, 1, 2].map(|first| found(first).unwrap()), ["in-variable", "in-file", "in-runtime"]);
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn credentials_are_as_servers_take_them() {
        let token = Secret::new("abc");
        assert_eq!(credentials("ztn", Some(&token)).unwrap(), *b"ztn\0\0T\0\0\0\x04abc\0");
        assert_eq!(credentials("ztn", None), None);
        assert!(credentials("unix", None).unwrap().starts_with(b"unix\0"));
        assert_eq!(credentials("gsi", Some(&token)), None);
        assert_eq!(percent_encoded("Bearer a+b/c="), "Bearer%20a%2Bb%2Fc%3D");
    }
}
