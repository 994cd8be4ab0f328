//! Who is asking, and security protocols that need no more than a token or a name. Tokens are found as for HTTP.

use crate::http::credentials::Credentials;
use crate::options::Network;
use crate::secret::Secret;

/// Where there is no name of an account, or none that may be told.
const NOBODY: &str = "user";

/// Who is asking: what options and environment say of it at one moment.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) account: String,
    pub(crate) credentials: Credentials,
}

impl Identity {
    /// That of now.
    pub(crate) fn find(network: &Network) -> Identity {
        // Some servers take the name of an account for a proof.
        let account = if network.is_anonymous { NOBODY.to_owned() } else { account() };
        Identity { account, credentials: Credentials::find(network) }
    }

    /// What a security protocol is to be told, if it is one that is spoken here and there is something to tell.
    pub(crate) fn proof(&self, protocol: &str, token: Option<&Secret>) -> Option<Vec<u8>> {
        match protocol {
            "ztn" => token.and_then(|token| ztn(token.expose())),
            "unix" => Some(format!("unix\0{}\0", self.account).into_bytes()),
            "host" => Some(b"host\0".to_vec()),
            _ => None,
        }
    }
}

/// Account on this machine, as servers that ask for no proof want to know it.
fn account() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|name| !name.is_empty());
    let is_name = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    set("USER").or_else(|| set("LOGNAME")).filter(is_name).unwrap_or_else(|| NOBODY.to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_as_servers_take_them() {
        let token = Secret::new("abc");
        let credentials = Credentials::find(&crate::Options::default().network);
        let identity = Identity { account: "me".to_owned(), credentials };
        assert_eq!(identity.proof("ztn", Some(&token)).unwrap(), *b"ztn\0\0T\0\0\0\x04abc\0");
        assert_eq!(identity.proof("ztn", None), None);
        assert!(identity.proof("unix", None).unwrap().starts_with(b"unix\0"));
        assert_eq!(identity.proof("gsi", Some(&token)), None);
    }
}
