//! Files on S3 and what speaks its protocol: `s3://bucket/key`.
//!
//! Reads are those of [`crate::http`], single ranges over many connections, with URLs that are signed beforehand and anew
//! before they expire. Also `s3+http://host:port/bucket/key` and `s3+https://...`, which name the endpoint.
//!
//! Credentials, region and endpoint are taken as the AWS tools do, in this order: options (`s3_endpoint`, `s3_region`);
//! `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_DEFAULT_REGION`,
//! `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`; the profile `AWS_PROFILE` (or `default`) of `~/.aws/credentials`
//! (`AWS_SHARED_CREDENTIALS_FILE`) and `~/.aws/config` (`AWS_CONFIG_FILE`). As there, a profile that is named by
//! `AWS_PROFILE` does not hide the keys of the environment. Without credentials, requests are not signed, which is what
//! public buckets want. Roles, single sign-on, `credential_process` and the metadata service of EC2 are not asked.
//!
//! Endpoints that are not Amazon's, and buckets whose names are none of a host (with dots, capital letters, underscores), are
//! addressed by path, others by host.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rusty_s3::{Bucket, Credentials, S3Action, UrlStyle};
use url::Url;

use crate::error::{Error, Result, reason};
use crate::http::credentials::WITHHELD;
use crate::http::{Address, open_address};
use crate::options::Network;
use crate::secret::{hidden_distinction, redacted};
use crate::source::{Opened, Speculation};

/// For how long a signed URL is good, and when a new one is made.
const SIGNED_FOR: Duration = Duration::from_secs(3600);
const RENEWED_AFTER: Duration = Duration::from_secs(1800);
/// Variables that are a pair.
const KEY: &str = "AWS_ACCESS_KEY_ID";
const SECRET: &str = "AWS_SECRET_ACCESS_KEY";
/// The same in a profile.
const PROFILE_KEY: &str = "aws_access_key_id";
const PROFILE_SECRET: &str = "aws_secret_access_key";

/// Opens `s3://bucket/key`.
///
/// # Errors
/// [`Error::Option`] if the URL or a setting is none; those of [`crate::http`].
pub fn open_s3(url: &str, network: &Network, speculation: Speculation) -> Result<Opened> {
    let environment = |name: &str| std::env::var(name).ok();
    open_address(address(url, network, &environment)?, network, speculation, false)
}

type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

fn address(url: &str, network: &Network, environment: Environment<'_>) -> Result<Address> {
    let name = crate::redacted(url);
    let wrong = |what: &str| Error::Option { option: "URL".to_owned(), what: format!("{name}: {what}") };
    let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("no S3 URL"))?;
    // To leave out a version that was asked for would be to read another object.
    let rest = match rest.split_once('?') {
        Some((rest, "")) => rest,
        Some(_) => return Err(wrong("an S3 URL takes no query (versionId, ...), nor a key with a question mark")),
        None => rest,
    };
    let settings = Settings::find(environment)?;
    let (given, rest) = match scheme.to_ascii_lowercase().strip_prefix("s3+") {
        Some(protocol) => {
            let (host, rest) = rest.split_once('/').ok_or_else(|| wrong("no bucket"))?;
            (Some(format!("{protocol}://{host}")), rest)
        }
        None => (network.s3_endpoint.clone().or(settings.endpoint), rest),
    };
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    // As it is written, which is how the AWS tools take it: what looks encoded would else be another object.
    let key = key.to_owned();
    if bucket.is_empty() || key.is_empty() || key.split('/').any(|part| part == "." || part == "..") {
        return Err(wrong("expected s3://bucket/key"));
    }
    let region = network.s3_region.clone().or(settings.region).unwrap_or_else(|| "us-east-1".to_owned());
    // Old buckets have names that no host has.
    let is_in_host = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_host = bucket.bytes().all(is_in_host) && !bucket.starts_with('-') && !bucket.ends_with('-');
    let style = if given.is_none() && is_host { UrlStyle::VirtualHost } else { UrlStyle::Path };
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    let endpoint = given.unwrap_or_else(|| format!("https://s3.{region}.{domain}"));
    let endpoint = if endpoint.contains("://") { endpoint } else { format!("https://{endpoint}") };
    let wrong_endpoint = |what: String| Error::Option { option: "s3_endpoint".to_owned(), what };
    let given = endpoint.clone();
    let endpoint: Url =
        endpoint.parse().map_err(|error| wrong_endpoint(format!("{}: {error}", crate::redacted(&given))))?;
    let bucket = Bucket::new(endpoint, style, bucket.to_owned(), region).map_err(|error| {
        wrong_endpoint(format!("{}: {error}; write such as https://host:port", crate::redacted(&given)))
    })?;
    let found = settings.credentials.filter(|_| !network.is_anonymous);
    let hint = match &found {
        Some((_, origin)) => format!("requests were signed with the key of {origin} for region {}", bucket.region()),
        None if network.is_anonymous => WITHHELD.to_owned(),
        None => {
            let unread = settings.unread.iter().map(|what| format!(" ({what})")).collect::<String>();
            format!("no AWS credentials were found in the environment or ~/.aws{unread}: requests were not signed")
        }
    };
    let credentials = found.map(|(credentials, _)| credentials);
    let endpoint = bucket.base_url().clone();
    let hidden = hidden_distinction(url);
    Ok(Address::signed(name.clone(), (&endpoint, hidden), hint, Signer::locate(bucket, credentials, key)))
}

struct Signer;

impl Signer {
    /// Makes URLs that are good for some time.
    fn locate(bucket: Bucket, credentials: Option<Credentials>, key: String) -> impl Fn() -> Url + Send + Sync {
        let signed: Mutex<Option<(Url, SystemTime)>> = Mutex::new(None);
        move || {
            let mut signed = signed.lock().unwrap_or_else(PoisonError::into_inner);
            // By the clock that the server goes by: it goes on while a machine sleeps.
            let is_fresh = |made: &SystemTime| made.elapsed().is_ok_and(|age| age < RENEWED_AFTER);
            let fresh = signed.as_ref().filter(|(_, made)| is_fresh(made));
            if let Some((url, _)) = fresh {
                return url.clone();
            }
            let url = bucket.get_object(credentials.as_ref(), &key).sign(SIGNED_FOR);
            *signed = Some((url.clone(), SystemTime::now()));
            url
        }
    }
}

/// What the AWS tools would use.
struct Settings {
    /// And where they are from.
    credentials: Option<(Credentials, String)>,
    region: Option<String>,
    endpoint: Option<String>,
    /// Files that are there and could not be read, and why.
    unread: Vec<String>,
}

impl Settings {
    fn find(environment: Environment<'_>) -> Result<Settings> {
        let variable =
            |name: &str| environment(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let named = variable("AWS_PROFILE");
        let profile = named.clone().unwrap_or_else(|| "default".to_owned());
        let file = |name: &str, usual: &str| {
            let home = || variable("HOME").map(|home| PathBuf::from(home).join(".aws").join(usual));
            variable(name).map(PathBuf::from).or_else(home)
        };
        let credentials_file = file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
        let mut unread = Vec::new();
        let secrets = section(credentials_file, std::slice::from_ref(&profile), &mut unread);
        let in_config = [format!("profile {profile}"), profile.clone()];
        let config = section(file("AWS_CONFIG_FILE", "config"), &in_config, &mut unread);
        if let (Some(name), None, None) = (&named, &secrets, &config) {
            let unread = unread.iter().map(|what| format!("; {what}")).collect::<String>();
            let what =
                format!("there is no profile {name:?} in the files of AWS credentials and configuration{unread}");
            return Err(Error::Option { option: "AWS_PROFILE".to_owned(), what });
        }
        let (secrets, config) = (secrets.unwrap_or_default(), config.unwrap_or_default());
        let from_variables = match [KEY, SECRET].map(variable) {
            [Some(key), Some(secret)] => Some((made(key, secret, variable("AWS_SESSION_TOKEN")), KEY.to_owned())),
            [None, None] => None,
            [key, _] => {
                let (there, missing) = if key.is_some() { (KEY, SECRET) } else { (SECRET, KEY) };
                let what = format!("it is not set, but {there} is; set both, or none");
                return Err(Error::Option { option: missing.to_owned(), what });
            }
        };
        let from_profile = |values: &HashMap<String, String>| {
            let value = |name: &str| values.get(name).cloned();
            match [PROFILE_KEY, PROFILE_SECRET].map(value) {
                [Some(key), Some(secret)] => {
                    Ok(Some((made(key, secret, value("aws_session_token")), format!("the profile {profile:?}"))))
                }
                [None, None] => Ok(None),
                [key, _] => {
                    let (there, missing) =
                        if key.is_some() { (PROFILE_KEY, PROFILE_SECRET) } else { (PROFILE_SECRET, PROFILE_KEY) };
                    let what = format!("it has {there} but no {missing}; set both, or none");
                    Err(Error::Option { option: format!("the AWS profile {profile:?}"), what })
                }
            }
        };
        let credentials = match from_variables {
            Some(found) => Some(found),
            None => match from_profile(&secrets)? {
                Some(found) => Some(found),
                None => from_profile(&config)?,
            },
        };
        let setting = |name: &str| config.get(name).or_else(|| secrets.get(name)).cloned();
        Ok(Settings {
            credentials,
            region: variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")).or_else(|| setting("region")),
            endpoint: variable("AWS_ENDPOINT_URL_S3")
                .or_else(|| variable("AWS_ENDPOINT_URL"))
                .or_else(|| setting("endpoint_url")),
            unread,
        })
    }
}

fn made(key: String, secret: String, token: Option<String>) -> Credentials {
    match token {
        Some(token) => Credentials::new_with_token(key, secret, token),
        None => Credentials::new(key, secret),
    }
}

/// The values of the first of some sections of an INI file; `None` if there is none of them. If the file is there and cannot be
/// read, that is noted in `unread`.
fn section(path: Option<PathBuf>, names: &[String], unread: &mut Vec<String>) -> Option<HashMap<String, String>> {
    let path = path?;
    let text = || {
        if std::fs::metadata(&path)?.len() > 1 << 20 {
            return Err(std::io::Error::other("it has more than 1 MiB"));
        }
        std::fs::read_to_string(&path)
    };
    match text() {
        Ok(text) => parse_section(&text, names),
        Err(error) => {
            if error.kind() != std::io::ErrorKind::NotFound {
                unread.push(format!("{} cannot be read: {}", redacted(&path.to_string_lossy()), reason(&error)));
            }
            None
        }
    }
}

fn parse_section(text: &str, names: &[String]) -> Option<HashMap<String, String>> {
    let mut sections: HashMap<String, HashMap<String, String>> = HashMap::new();
    let mut current = None;
    for line in text.lines() {
        // Indented lines belong to a nested setting (`s3 =`), which is not this section's own.
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) || is_nested {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            let name = name.0.split_whitespace().collect::<Vec<_>>().join(" ");
            sections.entry(name.clone()).or_default();
            current = Some(name);
        } else if let (Some((name, value)), Some(section)) = (line.split_once('='), &current) {
            let value = value.split(" #").next().unwrap_or_default().trim();
            if !value.is_empty() {
                sections.entry(section.clone()).or_default().insert(name.trim().to_ascii_lowercase(), value.to_owned());
            }
        }
    }
    names.iter().find_map(|name| sections.remove(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    fn located(url: &str, options: &[(&str, &str)], variables: &[(&str, &str)]) -> Result<(String, Address)> {
        let mut network = Options::default();
        for (name, value) in options {
            network.set(name, value, "test").unwrap();
        }
        let variables: HashMap<String, String> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let address = address(url, &network.network, &|name| variables.get(name).cloned())?;
        Ok((address.original().to_string(), address))
    }

    const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"), ("AWS_SECRET_ACCESS_KEY", "hushhush")];

    #[test]
    fn without_credentials_nothing_is_signed() {
        let url = |url, options: &[_], variables: &[_]| located(url, options, variables).unwrap().0;
        assert_eq!(url("s3://b/a/f.root", &[], &[]), "https://b.s3.us-east-1.amazonaws.com/a/f.root");
        assert_eq!(url("s3://b/f", &[("s3_region", "eu-west-3")], &[]), "https://b.s3.eu-west-3.amazonaws.com/f");
        assert_eq!(url("s3://b/f", &[("s3_region", "cn-north-1")], &[]), "https://b.s3.cn-north-1.amazonaws.com.cn/f");
        for bucket in ["b.c", "MyBucket", "my_bucket"] {
            let path = format!("https://s3.us-east-1.amazonaws.com/{bucket}/f");
            assert_eq!(located(&format!("s3://{bucket}/f"), &[], &[]).unwrap().0, path);
        }
        assert_eq!(url("s3://b/f", &[("s3_endpoint", "http://h:9")], &[]), "http://h:9/b/f");
        assert_eq!(url("s3://b/f", &[], &[("AWS_ENDPOINT_URL", "http://h:9/x")]), "http://h:9/x/b/f");
        assert_eq!(url("s3+http://h:9/b/f g", &[], &[]), "http://h:9/b/f%20g");
        assert_eq!(url("s3://b/f?", &[], &[]), "https://b.s3.us-east-1.amazonaws.com/f");
        for wrong in ["s3://b", "s3://b/", "s3:///f", "s3://b/../f", "s3+http://h:9", "s3://b/f?versionId=1"] {
            assert!(matches!(located(wrong, &[], &[]), Err(Error::Option { .. })), "{wrong}");
        }
    }

    #[test]
    fn a_key_is_the_object_that_it_is_written_as() {
        for (key, sent) in [
            ("a%20b", "a%2520b"),
            ("a%2Fb", "a%252Fb"),
            ("%2e%2e/f", "%252e%252e/f"),
            ("run#1.root", "run%231.root"),
            ("a#b=c", "a%23b%3Dc"),
            ("100%", "100%25"),
        ] {
            let url = located(&format!("s3+http://h:9/b/{key}"), &[], &[]).unwrap().0;
            assert_eq!(url.replace("%2E", "%2e").replace("%252E", "%252e"), format!("http://h:9/b/{sent}"));
        }
    }

    #[test]
    fn credentials_sign_and_are_not_shown() {
        let (url, address) = located("s3://b/f", &[], &KEYS).unwrap();
        assert!(url.contains("X-Amz-Credential=AKIDEXAMPLE%2F") && url.contains("X-Amz-Signature="), "{url}");
        assert_eq!(address.name(), "s3://b/f");
        assert_eq!(address.original(), address.original(), "a signed URL is used again");
    }

    #[test]
    fn profiles_are_read_as_the_aws_tools_write_them() {
        let directory = tempfile::tempdir().unwrap();
        let (secrets, config) = (directory.path().join("credentials"), directory.path().join("config"));
        std::fs::write(&secrets, "# mine\n[default]\naws_access_key_id=A\naws_secret_access_key = B\n[lab]\naws_access_key_id = LABKEY\naws_secret_access_key = C\naws_session_token=T\n").unwrap();
        std::fs::write(&config, "[default]\nregion = eu-north-1\n[profile lab]\nregion=eu-south-2\ns3 =\n  region = no\nendpoint_url = https://lab:1\n").unwrap();
        let files =
            [("AWS_SHARED_CREDENTIALS_FILE", secrets.to_str().unwrap()), ("AWS_CONFIG_FILE", config.to_str().unwrap())];
        let url = located("s3://b/f", &[], &files).unwrap().0;
        assert!(url.starts_with("https://b.s3.eu-north-1.amazonaws.com/f?") && url.contains("=A%2F"), "{url}");
        let lab = [files[0], files[1], ("AWS_PROFILE", "lab")];
        let url = located("s3://b/f", &[], &lab).unwrap().0;
        assert!(url.starts_with("https://lab:1/b/f?") && url.contains("LABKEY%2F"), "{url}");
        assert!(url.contains("eu-south-2") && url.contains("X-Amz-Security-Token=T"), "{url}");
        let unknown = [files[0], files[1], ("AWS_PROFILE", "nobody")];
        assert!(located("s3://b/f", &[], &unknown).is_err_and(|error| error.to_string().contains("nobody")));
    }

    #[test]
    fn a_file_of_credentials_that_cannot_be_read_is_told() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join(".aws/credentials")).unwrap();
        let home = directory.path().to_str().unwrap();
        let unread = Settings::find(&|name| (name == "HOME").then(|| home.to_owned())).unwrap().unread.join("; ");
        assert!(unread.ends_with(".aws/credentials cannot be read: is a directory"), "{unread}");
    }

    #[test]
    fn half_a_pair_of_keys_is_an_error_that_names_the_other_half() {
        for (set, missing) in [(KEYS[0], KEYS[1].0), (KEYS[1], KEYS[0].0)] {
            let error = located("s3://b/f", &[], &[set]).err().unwrap().to_string();
            assert!(error.starts_with(missing), "{error}");
        }
    }

    #[test]
    fn half_a_pair_of_keys_in_a_profile_is_an_error_unless_others_are_taken() {
        let directory = tempfile::tempdir().unwrap();
        for (there, missing) in [(PROFILE_KEY, PROFILE_SECRET), (PROFILE_SECRET, PROFILE_KEY)] {
            for variable in ["AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"] {
                let path = directory.path().join(variable);
                std::fs::write(&path, format!("[default]\n{there} = hushhush\n")).unwrap();
                let file = (variable, path.to_str().unwrap());
                let error = located("s3://b/f", &[], &[file]).err().unwrap().to_string();
                assert!(error.contains(&format!("has {there} but no {missing}")), "{error}");
                assert!(error.contains("\"default\"") && !error.contains("hushhush"), "{error}");
                assert!(located("s3://b/f", &[], &[file, KEYS[0], KEYS[1]]).is_ok());
            }
        }
    }

    #[test]
    fn an_endpoint_that_is_none_is_named() {
        let error = located("s3://b/f", &[("s3_endpoint", "ftp://u:p@h")], &[]).err().unwrap().to_string();
        assert!(error.contains("ftp://") && !error.contains("u:p"), "{error}");
    }
}
