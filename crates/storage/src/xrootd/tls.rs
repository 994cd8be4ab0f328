//! Sessions of TLS.

use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::failure::Failure;

/// A session to begin with the server of that name or address.
pub(crate) fn session(configuration: &Arc<ClientConfig>, host: &str) -> Result<ClientConnection, Failure> {
    let failed = |what: String| Failure::Broken(format!("TLS: {what}"));
    let name = ServerName::try_from(host.to_owned()).map_err(|error| failed(error.to_string()))?;
    ClientConnection::new(Arc::clone(configuration), name).map_err(|error| failed(error.to_string()))
}
