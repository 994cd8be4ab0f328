//! Whom to trust, and how to say who is asking, over TLS.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::failure::Failure;
use crate::error::{Error, Result};
use crate::options::Network;

/// Where grid sites keep the authorities that they trust.
const GRID_AUTHORITIES: &str = "/etc/grid-security/certificates";

/// Trust and credentials, as the options and the environment say. Authorities are those of the system, those of
/// `X509_CERT_DIR` (or the usual directory of grid sites), and those that were named.
pub(crate) fn configuration(network: &Network) -> Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let grid = std::env::var_os("X509_CERT_DIR").map_or_else(|| PathBuf::from(GRID_AUTHORITIES), PathBuf::from);
    add_directory(&mut roots, &grid);
    if let Some(path) = &network.authorities {
        let n_before = roots.len();
        if path.is_dir() {
            add_directory(&mut roots, path);
        } else {
            roots.add_parsable_certificates(certificates(path, "authorities")?);
        }
        if roots.len() == n_before {
            return Err(wrong("authorities", path, "holds no certificate that is new and usable"));
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Option { option: "TLS".to_owned(), what: error.to_string() })?
        .with_root_certificates(roots);
    let Some(path) = &network.certificate else { return Ok(Arc::new(builder.with_no_client_auth())) };
    let chain = certificates(path, "certificate")?;
    let key_path = network.key.as_ref().unwrap_or(path);
    let key = PrivateKeyDer::from_pem_file(key_path).map_err(|error| wrong("key", key_path, &error.to_string()))?;
    let configuration = builder.with_client_auth_cert(chain, key);
    Ok(Arc::new(configuration.map_err(|error| wrong("certificate", path, &error.to_string()))?))
}

fn wrong(option: &str, path: &Path, what: &str) -> Error {
    Error::Option { option: option.to_owned(), what: format!("{}: {what}", path.display()) }
}

fn certificates(path: &Path, option: &str) -> Result<Vec<CertificateDer<'static>>> {
    let failed = |error: rustls::pki_types::pem::Error| wrong(option, path, &error.to_string());
    CertificateDer::pem_file_iter(path).map_err(failed)?.collect::<Result<_, _>>().map_err(failed)
}

/// Adds what can be used of a directory: such directories hold revocation lists and other things besides.
fn add_directory(roots: &mut RootCertStore, directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let is_authority = path.extension().is_some_and(|end| ["pem", "0", "crt"].iter().any(|known| end == *known));
        if let (true, Ok(found)) = (is_authority, certificates(&path, "authorities")) {
            roots.add_parsable_certificates(found);
        }
    }
}

/// A session to begin with the server of that name or address.
pub(crate) fn session(configuration: &Arc<ClientConfig>, host: &str) -> Result<ClientConnection, Failure> {
    let failed = |what: String| Failure::Broken(format!("TLS: {what}"));
    let name = ServerName::try_from(host.to_owned()).map_err(|error| failed(error.to_string()))?;
    ClientConnection::new(Arc::clone(configuration), name).map_err(|error| failed(error.to_string()))
}
