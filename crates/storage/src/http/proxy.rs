//! Proxies, as curl takes them from the environment: `http_proxy`, `https_proxy` or `all_proxy`, but for `no_proxy`.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use ureq::unversioned::transport::{ConnectProxyConnector, ConnectionDetails, Connector, Either, Transport};
use ureq::{Proxy, ProxyProtocol};
use url::Url;

use super::handshake_deadline::HandshakeDeadline;
use super::tcp::Tcp;
use super::transport::Tls;

/// Which proxy leads to which server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Proxies {
    http: Option<FoundProxies>,
    https: Option<FoundProxies>,
    direct: Vec<Exception>,
}

/// What a variable says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FoundProxies {
    variable: &'static str,
    /// `None` if it names no proxy that can be used.
    proxy: Option<Proxy>,
}

/// Servers without a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Exception {
    All,
    /// A host with all hosts in it; of one port, or of all.
    Host(String, Option<u16>),
    /// Addresses that have the first bits in common.
    Net(IpAddr, u8),
}

impl Proxies {
    pub(super) fn of_environment() -> Proxies {
        Proxies::find(|name| std::env::var(name).ok())
    }

    fn find(variable: impl Fn(&str) -> Option<String>) -> Proxies {
        let value = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let first = |names: &[&'static str]| {
            names.iter().find_map(|&name| {
                let proxy = Proxy::new(value(name)?.trim()).ok();
                Some(FoundProxies { variable: name, proxy: proxy.filter(makes_tunnels) })
            })
        };
        let direct = value("no_proxy").or_else(|| value("NO_PROXY")).unwrap_or_default();
        let pieces = direct.split(|c: char| c == ',' || c.is_whitespace()).filter(|piece| !piece.is_empty());
        Proxies {
            http: first(&["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]),
            https: first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            direct: pieces.map(Exception::parse).collect(),
        }
    }

    /// The proxy on the way to a URL.
    ///
    /// # Errors
    /// The variable that names none which can be used.
    pub(super) fn of(&self, url: &Url) -> Result<Option<&Proxy>, &'static str> {
        let found = if url.scheme() == "https" { &self.https } else { &self.http };
        match found {
            Some(found) if !self.direct.iter().any(|exception| exception.has(url)) => {
                found.proxy.as_ref().map(Some).ok_or(found.variable)
            }
            _ => Ok(None),
        }
    }
}

impl Exception {
    fn parse(text: &str) -> Exception {
        if text == "*" {
            return Exception::All;
        }
        let network =
            text.split_once('/').and_then(|(address, bits)| Some((address.parse().ok()?, bits.parse().ok()?)));
        if let Some((address, bits)) = network {
            return Exception::Net(address, bits);
        }
        let name = text.trim_start_matches("*").trim_start_matches('.').to_lowercase();
        if name.parse::<IpAddr>().is_ok() {
            return Exception::Host(name, None);
        }
        let parted = name.rsplit_once(':').and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
        let (host, port) = parted.map_or((name, None), |(host, port)| (host, Some(port)));
        Exception::Host(host.trim_matches(['[', ']']).to_owned(), port)
    }

    fn has(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_lowercase();
        match self {
            Exception::All => true,
            Exception::Host(name, port) => {
                let is_inside = || host.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.'));
                (host == *name || is_inside()) && (port.is_none() || *port == url.port_or_known_default())
            }
            Exception::Net(address, bits) => match (address, host.parse()) {
                (IpAddr::V4(net), Ok(IpAddr::V4(host))) => {
                    let differ = u32::from(*net) ^ u32::from(host);
                    differ.leading_zeros() >= u32::from(*bits)
                }
                (IpAddr::V6(net), Ok(IpAddr::V6(host))) => {
                    let differ = u128::from(*net) ^ u128::from(host);
                    differ.leading_zeros() >= u32::from(*bits)
                }
                _ => false,
            },
        }
    }
}

fn makes_tunnels(proxy: &Proxy) -> bool {
    matches!(proxy.protocol(), ProxyProtocol::Http | ProxyProtocol::Https)
}

/// Where a proxy is, without its password.
pub(super) fn place_of(proxy: &Proxy) -> String {
    format!("{}:{}", proxy.host(), proxy.port())
}

/// The link of the chain of connectors that goes through a proxy, where there is one.
///
/// ureq would connect to the proxy with the whole chain, whose last link rewrites what is sent: what goes through the tunnel is not
/// for the proxy, and with TLS no text.
pub(super) struct ThroughProxy {
    asks: ConnectProxyConnector,
    /// For proxies that are connected to by TLS.
    tls: Tls,
}

impl ThroughProxy {
    pub(super) fn new(tls: Tls) -> ThroughProxy {
        ThroughProxy { asks: ConnectProxyConnector::default(), tls }
    }
}

impl fmt::Debug for ThroughProxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ThroughProxy")
    }
}

impl<In: Transport> Connector<In> for ThroughProxy {
    type Out = Either<In, Box<dyn Transport>>;

    fn connect(&self, details: &ConnectionDetails, chained: Option<In>) -> Result<Option<Self::Out>, ureq::Error> {
        let deadline = HandshakeDeadline::of(details);
        let (tls, on_the_way) = (self.tls.clone(), deadline.clone());
        let connect = move |proxy: &ConnectionDetails| {
            let connected = ().chain(Tcp).chain(tls.clone()).connect(proxy, None)?;
            Ok(on_the_way.on(connected.ok_or(ureq::Error::ConnectionFailed)?.boxed()))
        };
        let details = ConnectionDetails {
            addrs: details.addrs.clone(),
            current_time: Arc::clone(&details.current_time),
            run_connector: Arc::new(connect),
            register_shutdown: Arc::clone(&details.register_shutdown),
            ..*details
        };
        let connected = self.asks.connect(&details, chained);
        deadline.end();
        connected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        let value = |name: &str| Some(variables.iter().find(|(known, _)| *known == name)?.1.to_owned());
        Proxies::find(value)
    }

    fn port_on_the_way(proxies: &Proxies, url: &str) -> Option<u16> {
        proxies.of(&url.parse().unwrap()).unwrap().map(Proxy::port)
    }

    #[test]
    fn each_scheme_has_its_variable() {
        let both = proxies(&[("http_proxy", "http://a:1"), ("HTTPS_PROXY", "http://b:2"), ("all_proxy", "http://c:3")]);
        assert_eq!(port_on_the_way(&both, "http://h/x"), Some(1));
        assert_eq!(port_on_the_way(&both, "https://h/x"), Some(2));
        let one = proxies(&[("http_proxy", "a:1")]);
        assert_eq!(port_on_the_way(&one, "http://h/x"), Some(1));
        assert_eq!(port_on_the_way(&one, "https://h/x"), None);
        let rest = proxies(&[("ALL_PROXY", "http://c:3"), ("https_proxy", "")]);
        assert_eq!(port_on_the_way(&rest, "https://h/x"), Some(3));
        assert_eq!(port_on_the_way(&proxies(&[]), "http://h/x"), None);
    }

    #[test]
    fn a_variable_that_names_no_proxy_is_named_where_it_would_be_used() {
        let found = proxies(&[("https_proxy", "socks5://a:1"), ("no_proxy", "near")]);
        assert_eq!(found.of(&"https://h/x".parse().unwrap()), Err("https_proxy"));
        assert_eq!(found.of(&"https://near/x".parse().unwrap()), Ok(None));
        assert_eq!(found.of(&"http://h/x".parse().unwrap()), Ok(None));
    }

    #[test]
    fn exceptions_are_hosts_domains_ports_and_networks() {
        let is_direct = |exceptions: &str, url: &str| {
            let proxies = proxies(&[("all_proxy", "http://p:1"), ("NO_PROXY", exceptions)]);
            port_on_the_way(&proxies, url).is_none()
        };
        for (exceptions, url) in [
            ("a, localhost", "http://localhost:8080/x"),
            ("cern.ch", "https://eos.cern.ch/x"),
            (".cern.ch", "https://CERN.ch/x"),
            ("*.cern.ch", "https://eos.cern.ch/x"),
            ("h:8080", "http://h:8080/x"),
            ("h:443", "https://h/x"),
            ("::1", "http://[::1]:80/x"),
            ("[::1]:80", "http://[::1]/x"),
            ("10.0.0.0/8", "http://10.1.2.3/x"),
            ("2001:db8::/32", "http://[2001:db8::5]/x"),
            ("0.0.0.0/0", "http://1.2.3.4/x"),
            ("a *", "http://h/x"),
        ] {
            assert!(is_direct(exceptions, url), "{exceptions} {url}");
        }
        for (exceptions, url) in [
            ("cern.ch", "https://notcern.ch/x"),
            ("h:8080", "http://h/x"),
            ("10.0.0.0/8", "http://11.1.2.3/x"),
            ("10.0.0.0/8", "http://h/x"),
            ("2001:db8::/32", "http://10.1.2.3/x"),
            ("eos.cern.ch", "https://cern.ch/x"),
        ] {
            assert!(!is_direct(exceptions, url), "{exceptions} {url}");
        }
    }
}
