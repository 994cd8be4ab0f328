//! From names to addresses, when a connection is made and not before.
//!
//! ureq asks its resolver before every request, even where a connection is at hand, and its own resolver starts a thread for each
//! question that must end in time: a thread, and perhaps a question to a name server, for each range that is read.

use std::net::SocketAddr;
use std::time::Duration;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{ConnectionDetails, NextTimeout};
use ureq::{Error, Timeout};

/// Finds no address: whoever connects does.
#[derive(Debug)]
pub(super) struct AtConnecting;

impl Resolver for AtConnecting {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

/// The addresses of the host to connect to, asked for anew each time: a name may stand for many machines in turn.
///
/// # Errors
/// If there are none, or none within `rest`.
pub(super) fn addresses(details: &ConnectionDetails, rest: Duration) -> Result<ResolvedSocketAddrs, Error> {
    if let Some(address) = written(details.uri) {
        let mut addresses = AtConnecting.empty();
        addresses.push(address);
        return Ok(addresses);
    }
    let timeout = NextTimeout { after: rest.into(), reason: Timeout::Resolve, ..NextTimeout::default() };
    DefaultResolver::default().resolve(details.uri, details.config, timeout)
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
}
