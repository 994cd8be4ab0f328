//! From names to addresses, when a connection is made and not before.
//!
//! ureq asks its resolver before every request, even where a connection is at hand, and its own resolver starts a thread for each
//! question that must end in time: a thread, and perhaps a question to a name server, for each range that is read. Where no thread
//! can be had it panics.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use crate::connect::within;

/// Finds no address: whoever connects does.
#[derive(Debug)]
pub(super) struct AtConnecting;

impl Resolver for AtConnecting {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

/// The addresses of a host, asked for anew each time: a name may stand for many machines in turn.
///
/// # Errors
/// If there are none, or none within `rest`.
pub(super) fn addresses(uri: &Uri, rest: Duration) -> Result<Vec<SocketAddr>, Error> {
    if let Some(address) = written(uri) {
        return Ok(vec![address]);
    }
    let place = uri.scheme().zip(uri.authority());
    let place = place.and_then(|(scheme, authority)| DefaultResolver::host_and_port(scheme, authority));
    let place = place.ok_or_else(|| Error::BadUri(uri.to_string()))?;
    let found: Vec<SocketAddr> = within(rest, move || place.to_socket_addrs())??.collect();
    if found.is_empty() { Err(Error::HostNotFound) } else { Ok(found) }
}

/// The address, where it stands in the URL itself.
fn written(uri: &Uri) -> Option<SocketAddr> {
    DefaultResolver::host_and_port(uri.scheme()?, uri.authority()?)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_the_url_is_not_looked_up() {
        let written = |uri: &str| written(&uri.parse().unwrap()).map(|address| address.to_string());
        assert_eq!(written("http://127.0.0.1/x").as_deref(), Some("127.0.0.1:80"));
        assert_eq!(written("https://[::1]:8443/x").as_deref(), Some("[::1]:8443"));
        assert_eq!(written("http://localhost:80/x"), None);
        assert_eq!(written("http://1.2.3/x"), None, "the system knows what that means");
    }

    #[test]
    fn a_name_has_addresses_or_an_error() {
        let uri = |uri: &str| uri.parse::<Uri>().unwrap();
        let found = addresses(&uri("http://localhost:81/x"), Duration::from_secs(60)).unwrap();
        assert!(found.iter().all(|address| address.port() == 81) && !found.is_empty(), "{found:?}");
        let unknown = addresses(&uri("http://no-such-host.invalid/x"), Duration::from_secs(60)).unwrap_err();
        assert!(matches!(unknown, Error::Io(_)), "{unknown:?}");
    }
}
