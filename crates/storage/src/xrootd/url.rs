//! `root://` and `roots://` URLs, and where a redirection leads.

use crate::error::{Error, Result};
use crate::secret::{redacted, scrubbed};

/// Port of servers whose URL names none.
const DEFAULT_PORT: u16 = 1094;
/// Word for a redirector: servers that it should not send to again.
const TRIED: &str = "tried";

/// What is wrong with a redirection. Where to is not repeated: it may have what the server was shown.
const NO_SERVER: &str = "redirection to what is no server";

/// A file on a server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct FileAddress {
    /// Whether the connection must be encrypted (`roots`).
    pub(crate) is_secure: bool,
    /// Whom to log in as, if the URL says so.
    pub(crate) user: Option<String>,
    /// Name or address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// With its leading slash.
    pub(crate) path: String,
    /// What follows the `?`, for the server: may hold credentials.
    pub(crate) opaque: String,
    /// What a redirector wants the next server to see at the login.
    pub(crate) login_token: String,
}

impl FileAddress {
    /// Takes a URL apart. Options of arrowroot in its query are not for the server and are left out.
    pub(crate) fn parse(url: &str) -> Result<FileAddress> {
        let wrong = |what: &str| Error::Option {
            option: redacted(url),
            what: format!("{what}; write such as root://host:1094//directory/file.root"),
        };
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("is no URL"))?;
        let is_secure = match scheme.to_ascii_lowercase().as_str() {
            "root" | "xroot" => false,
            "roots" | "xroots" => true,
            _ => return Err(wrong("is no URL of XRootD")),
        };
        let (rest, opaque) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').ok_or_else(|| wrong("names no file"))?;
        if path.trim_matches('/').is_empty() {
            return Err(wrong("names no file"));
        }
        let (user, address) = match authority.rsplit_once('@') {
            Some((user, address)) => (user.split(':').next().filter(|name| !name.is_empty()), address),
            None => (None, authority),
        };
        let (host, port) = split_port(address).ok_or_else(|| wrong("has no valid host and port"))?;
        let opaque = opaque.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("arrowroot."));
        Ok(FileAddress {
            is_secure,
            user: user.map(str::to_owned),
            host: host.to_owned(),
            port: port.unwrap_or(DEFAULT_PORT),
            path: if path.starts_with('/') { path.to_owned() } else { format!("/{path}") },
            opaque: opaque.collect::<Vec<_>>().join("&"),
            login_token: String::new(),
        })
    }

    /// Where a redirection leads: `port` and `place` as the server says them, the latter
    /// `host[?opaque[?login token]]`, or a whole URL if the port is not above 0.
    pub(crate) fn redirected(&self, port: i32, place: &str) -> std::result::Result<FileAddress, String> {
        let mut words = place.trim_end_matches('\0').splitn(3, '?');
        let place = words.next().unwrap_or_default();
        let (opaque, login_token) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut next = self.clone();
        if place.contains("://") {
            let has_path = place
                .split_once("://")
                .is_some_and(|(_, rest)| rest.split_once('/').is_some_and(|(_, path)| !path.is_empty()));
            let text =
                if has_path { place.to_owned() } else { format!("{}/{}", place.trim_end_matches('/'), self.path) };
            let parsed = FileAddress::parse(&text).map_err(|_| NO_SERVER.to_owned())?;
            // An encrypted session stays encrypted.
            next = FileAddress { is_secure: self.is_secure || parsed.is_secure, opaque: self.opaque.clone(), ..parsed };
            next.user = next.user.or_else(|| self.user.clone());
        } else {
            let (host, own_port) = split_port(place).ok_or(NO_SERVER)?;
            next.host = host.to_owned();
            next.port = match (u16::try_from(port), own_port) {
                (Ok(port), _) if port > 0 => port,
                (_, Some(port)) => port,
                _ => return Err(format!("{NO_SERVER}, port {port}")),
            };
        }
        next.opaque = merged(&self.opaque, opaque);
        login_token.clone_into(&mut next.login_token);
        Ok(next)
    }

    /// The same with one more word for the server; one of that name is replaced.
    pub(crate) fn with_opaque(&self, pair: &str) -> FileAddress {
        FileAddress { opaque: merged(&self.opaque, pair), ..self.clone() }
    }

    /// The same, to be sent elsewhere than to these servers.
    pub(crate) fn without_servers(&self, hosts: &[String]) -> FileAddress {
        self.with_opaque(&format!("{TRIED}={}", hosts.join(",")))
    }

    /// Whether the server is told something of this name.
    pub(crate) fn has_opaque(&self, name: &str) -> bool {
        self.opaque.split('&').any(|pair| name_of(pair) == name)
    }

    /// Whether the server is told what gives access, as far as can be known: anything that messages would not show.
    pub(crate) fn may_tell_secrets(&self) -> bool {
        let is_shown = |pair: &str| {
            let url = format!("root://host/file?{pair}");
            redacted(&url) == url
        };
        self.opaque.split('&').any(|pair| !pair.is_empty() && name_of(pair) != TRIED && !is_shown(pair))
    }

    /// A text of the server without what is for the server alone.
    pub(crate) fn without_secrets(&self, text: &str) -> String {
        scrubbed(text, &format!("root://{}/{}", self.server(), self.path_and_opaque()))
    }

    /// What a request for the file names it by.
    pub(crate) fn path_and_opaque(&self) -> String {
        if self.opaque.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.opaque) }
    }

    /// The server as messages name it, unless the one that sent there made its name of what it was told.
    pub(crate) fn shown_server(&self) -> String {
        let told: Vec<_> = self.opaque.split('&').filter(|pair| name_of(pair) != TRIED).collect();
        let server = self.server();
        let shown = scrubbed(&server, &format!("root://-/{}?{}", self.path, told.join("&")));
        if shown == server { server } else { "another server".to_owned() }
    }

    /// Host and port.
    pub(crate) fn server(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

fn name_of(pair: &str) -> &str {
    pair.split_once('=').map_or(pair, |(name, _)| name)
}

/// Both lists; of equal names the second's value counts.
fn merged(first: &str, second: &str) -> String {
    let second: Vec<_> = second.split('&').filter(|pair| !pair.is_empty()).collect();
    let kept = first.split('&').filter(|pair| !pair.is_empty());
    let kept = kept.filter(|pair| !second.iter().any(|other| name_of(other) == name_of(pair)));
    kept.chain(second.iter().copied()).collect::<Vec<_>>().join("&")
}

/// Host and port of `host`, `host:port`, `[address]:port`.
fn split_port(address: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = if let Some(rest) = address.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        match rest.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None if rest.is_empty() => (host, None),
            None => return None,
        }
    } else {
        match address.split_once(':') {
            // An address of the sixth version without its brackets: as servers name each other.
            Some((_, port)) if port.contains(':') => (address, None),
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        }
    };
    let is_host = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && !b"/?#@\\".contains(&byte));
    let port = match port {
        Some(port) => Some(port.parse().ok().filter(|&port: &u16| port > 0)?),
        None => None,
    };
    is_host.then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(url: &str) -> FileAddress {
        FileAddress::parse(url).unwrap()
    }

    #[test]
    fn urls_are_taken_apart() {
        let target = parsed("root://me@host:2094//store/f.root?a=1&arrowroot.retries=2&b=2");
        assert_eq!((target.host.as_str(), target.port, target.is_secure), ("host", 2094, false));
        assert_eq!((target.user.as_deref(), target.path_and_opaque().as_str()), (Some("me"), "/store/f.root?a=1&b=2"));
        assert_eq!(parsed("XRootS://host/f").server(), parsed("roots://host/f").server());
        let target = parsed("roots://[::1]/store/f.root");
        assert_eq!((target.server().as_str(), target.is_secure), ("[::1]:1094", true));
        assert_eq!(target.path_and_opaque(), "/store/f.root");
        for wrong in
            ["root://host", "root://host//", "http://host/f", "root://:1//f", "root://host:0//f", "root://h:x//f"]
        {
            assert!(FileAddress::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_redirection_keeps_path_and_encryption_and_adds_what_it_brings() {
        let target = parsed("roots://manager//f.root?authz=x&a=1");
        let next = target.redirected(1095, "server?a=2&b=3?token=t\0").unwrap();
        assert_eq!(next.server(), "server:1095");
        assert_eq!(next.path_and_opaque(), "/f.root?authz=x&a=2&b=3");
        assert_eq!(next.login_token, "token=t");
        let next = target.redirected(-1, "root://server:99//g.root?c=4").unwrap();
        assert_eq!((next.server().as_str(), next.is_secure), ("server:99", true));
        assert_eq!(next.path_and_opaque(), "/g.root?authz=x&a=1&c=4");
        let next = target.redirected(-1, "root://server:99").unwrap();
        assert_eq!((next.server().as_str(), next.path.as_str()), ("server:99", "/f.root"));
        for (port, wrong) in [(0, "server"), (-1, "file:///etc/passwd"), (1, ""), (1, "a b"), (70_000, "server")] {
            assert!(target.redirected(port, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_a_message_would_not_show_may_be_secret() {
        for (query, may_be_secret) in [
            ("", false),
            ("?arrowroot.retries=2", false),
            ("?xrdcl.requuid=0a1b", false),
            ("?authz=Bearer%20abc", true),
            ("?xrdcl.requuid=0a1b&cap.sym=abc", true),
            ("?abc", true),
        ] {
            let target = parsed(&format!("root://host//f{query}")).without_servers(&["a".to_owned(), "b".to_owned()]);
            assert_eq!(target.may_tell_secrets(), may_be_secret, "{query}");
        }
    }

    proptest! {
        #[test]
        fn nonsense_is_refused_without_harm(url in "\\PC{0,40}", port: i32, place in "\\PC{0,40}") {
            let _ = FileAddress::parse(&url);
            let _ = FileAddress::parse(&format!("root://{url}"));
            let _ = parsed("root://host//f?a=1").redirected(port, &place);
        }
    }
}
