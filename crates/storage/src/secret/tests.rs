//! Tests of what is hidden of a text, and of what stays.

use super::*;
use proptest::prelude::*;

#[test]
fn what_is_hidden_and_gives_no_access_tells_files_apart() {
    let of = |query: &str| hidden_distinction(&format!("https://h/f?{query}"));
    assert_eq!(hidden_distinction("https://me:secret@h/f"), None);
    assert_eq!(of("authz=Bearer%20a"), None);
    assert_eq!(of("X-Amz-Signature=abc&X-Amz-Date=20260101T000000Z&X-Amz-Expires=60"), None);
    assert_eq!(of("sv=2024&sig=abc&se=2026"), None);
    assert_ne!(of("se=2026"), None);
    assert_ne!(of("file=1"), of("file=2"));
    assert_ne!(of("1"), of("2"));
    assert_eq!(of("file=1&token=a"), of("file=1&token=b"));
    assert_ne!(hidden_distinction("root://h//a?member=a"), hidden_distinction("root://h//a?member=b"));
}

#[test]
fn urls_are_shown_without_credentials() {
    assert_eq!(
        redacted("https://me:pw@host:1/p/f.root?X-Amz-Signature=ab&arrowroot.retries=3"),
        "https://host:1/p/f.root?X-Amz-Signature=...&arrowroot.retries=3"
    );
    assert_eq!(redacted("root://host//a@b?authz=Bearer%20x"), "root://host//a@b?authz=...");
    assert_eq!(redacted("/local/file?x=1"), "/local/file?x=1");
}

#[test]
fn so_are_urls_in_urls() {
    for (url, shown) in [
        ("zip://in.root::https://me:pw@h:9/a.zip?sig=S", "zip://in.root::https://h:9/a.zip?sig=..."),
        ("simplecache::s3://key:pw@bucket/f.root", "simplecache::s3://bucket/f.root"),
        ("zip://in.root::me:pw@h/a.zip::memory://x", "zip://h/a.zip::memory://x"),
        ("memory://x::me:pw@h/a.zip", "memory://h/a.zip"),
        ("zip://d/in.root::me:pw@h/a.zip", "zip://d/h/a.zip"),
        ("root://proxy//root://me:pw@h//f.root?authz=S", "root://proxy//root://h//f.root?authz=..."),
        ("https://a:b@proxy/https://me:pw@h/f", "https://proxy/https://h/f"),
        ("https://h/f?next=https://me:pw@h/g?sig=S", "https://h/f?next=...?sig=..."),
        ("zip://a?b::https://me:pw@h/z?sig=S", "zip://a?...?sig=..."),
        ("zip://in.root::/disk/a@b.zip", "zip://in.root::/disk/a@b.zip"),
        ("//me:pw@h/f?authz=S", "//h/f?authz=..."),
        ("/me:pw@h/f", "/h/f"),
        ("./me:pw@h/f", "./h/f"),
        ("/disk/a:b@c/f.root", "/disk/c/f.root"),
        ("./a@b.root", "./a@b.root"),
    ] {
        assert_eq!(redacted(url), shown);
    }
}

#[test]
fn what_has_no_name_is_hidden_and_names_are_harmless_only_if_known() {
    for (url, shown) in [
        ("https://h/f?SECRET", "https://h/f?..."),
        ("https://h/f?SECRET==&a=&", "https://h/f?...&...&"),
        ("https://h/f?a=1#SECRET", "https://h/f?a=...#..."),
        ("https://h/f#token=SECRET?x", "https://h/f#token=...?..."),
        ("s3://b/f#token=SECRET", "s3://b/f#token=..."),
        ("s3://b/run#1.root", "s3://b/run#1.root"),
        ("root://h//run#1=2.root", "root://h//run#1=2.root"),
        ("memory://run#1.root", "memory://run#1.root"),
        ("webdav://h/f#token=SECRET", "webdav://h/f#token=..."),
        ("https://h/f?arrowroot.tokens=SECRET", "https://h/f?arrowroot.tokens=..."),
        ("https://h/f?arrowroot.token=SECRET", "https://h/f?arrowroot.token=..."),
        ("https://h/f?arrowroot.s3_endpoint=me", "https://h/f?arrowroot.s3_endpoint=..."),
        ("https://h/f?arrowroot.cache_size=30MB;sig=S", "https://h/f?arrowroot.cache_size=..."),
        ("https://h/f?arrowroot.cache_size=30%20MB", "https://h/f?arrowroot.cache_size=30%20MB"),
    ] {
        assert_eq!(redacted(url), shown);
    }
}

#[test]
fn mistyped_urls_hide_what_others_do() {
    for (url, shown) in [
        ("http:/bob:SECRET@h/f.root", "http:/h/f.root"),
        ("http:/bob:SECRET@h/f?next=https://x/", "http:/h/f?next=..."),
        ("https::#SECRET::?://", "https::#...?..."),
        ("https:bob:SECRET@h/f.root", "h/f.root"),
        ("http//bob:SECRET@h/f.root?sig=SECRET", "http//h/f.root?sig=..."),
        ("http://h/f.root&token=SECRET", "http://h/f.root&token=..."),
        ("http://h/f.root;Token=SECRET", "http://h/f.root;Token=..."),
        ("http://h/f.root%3Ftoken=SECRET", "http://h/f.root%3Ftoken=..."),
        ("http:/h/f.root&a=1%26my_key=SECRET", "http:/h/f.root&a=1%26my_key=..."),
        ("root://h//f.root&authz=SECRET&x=1", "root://h//f.root&authz=..."),
        ("root://h//f.root;1&monkeys=3", "root://h//f.root;1&monkeys=3"),
        ("http;//bob:SECRET@h/f?x=SECRET", "http;//h/f?x=..."),
        ("http;/bob:SECRET@h", "http;/h"),
        ("https.//bob:SECRET@h", "https.//h"),
        ("htp//bob:SECRET@h/f?token=SECRET", "htp//h/f?token=..."),
        ("htp:/bob:SECRET@h/f", "htp:/h/f"),
        ("hhtp;//bob:SEC/RET@h/f", "hhtp;//h/f"),
        ("url=http;//bob:SECRET@h", "url=http;//h"),
        ("me:SECRET@h//bob:SECRET@g", "h//g"),
        ("http.root", "http.root"),
        ("http/run,7/a@b.root", "http/run,7/a@b.root"),
        ("data//a@b.root", "data//a@b.root"),
        ("f.root:/dir/a@b", "f.root:/dir/a@b"),
        ("/disk/http/a:b@c&token=1", "/disk/http/c&token=..."),
        ("x -----BEGIN PRIVATE KEY-----SECRET", "x ..."),
    ] {
        assert_eq!(redacted(url), shown);
        assert_eq!(redacted(shown), shown);
    }
    assert_eq!(redacted_place("me:SECRET@h:9"), "h:9");
    assert_eq!(scrubbed("a -----BEGIN PRIVATE KEY-----\nSECRET", ""), "a ...");
    assert_eq!(scrubbed("no --url=http:/bob:SECRET@h/f, (try", ""), "no --url=http:/h/f, (try");
    assert_eq!(
        scrubbed("'Authorization: Bearer SECRET' no bearer token", ""),
        "'Authorization: Bearer ...' no bearer token"
    );
    assert_eq!(hidden_distinction("root://h//f&token=a"), None);
}

#[test]
fn a_url_without_its_scheme_hides_what_it_would_with_it() {
    for (url, shown) in [
        ("me:SECRET@host/f?authz=SECRET", "host/f?authz=..."),
        ("me:SECRET@host:9/f.root?x=SECRET#SECRET", "host:9/f.root?x=...#..."),
        ("me:SECRET@host", "host"),
        ("127.0.0.1:9/f.root?authz=SECRET", "127.0.0.1:9/f.root?authz=..."),
        ("/data/f.root?v=1&X-Amz-Signature=SECRET", "/data/f.root?v=1&X-Amz-Signature=..."),
        ("/data/f?x=1&monkeys=2", "/data/f?x=1&monkeys=2"),
        ("/data/a:b@c", "/data/c"),
        ("a@b.root:Tree", "a@b.root:Tree"),
        ("f.root:dir/a@b", "f.root:dir/a@b"),
    ] {
        assert_eq!(redacted(url), shown);
        assert_eq!(redacted(shown), shown);
    }
    assert_eq!(scrubbed("no file 'me:SECRET@h/f?token=SECRET' here", ""), "no file 'h/f?token=...' here");
}

#[test]
fn passwords_may_hold_what_ends_a_host() {
    for url in ["https://me:p/w@h/f", "https://me:p#w@h/f", "https://me:p?w@h/f", "https://me:p::w@h/f"] {
        assert_eq!(redacted(url), "https://h/f", "{url}");
    }
    for url in ["root://[fe80::ab:cd]//a@b", "root://me@[fe80::ab:cd]:1//a@b", "https://h.ch:1/a@b"] {
        assert_eq!(redacted(url), url.replace("me@", ""));
    }
}

#[test]
fn whatever_stands_between_the_begin_of_a_url_and_an_at_is_hidden() {
    let begins = [
        "https://",
        "https:///",
        "https:////",
        "root:///",
        "s3:///",
        "davs:///",
        "htps:///",
        "simplecache::https:///",
        "http:/ /",
        "https:// /",
        "https://./",
        "https://h//",
        "https://h/https:///",
        "root://proxy///root:///",
        "https:///https://",
        "https//:",
        "https:/",
        "htp;//",
        "root://h:1094//",
        r"https:\\",
        "///",
        "url=https:///",
        "see ",
        "/data/",
        "file:///",
    ];
    for begin in begins {
        for user in ["me:SECRET@", "a.b:SECRET@", "me@h:SECRET@", "me%3ASECRET%40", "me%3aSECRET@"] {
            for (quote, end) in [("", ""), ("'", "'"), ("\"", "\", ok")] {
                let text = format!("{quote}{begin}{user}h/x{end}");
                assert!(!redacted(&text).contains("SECRET"), "{text}: {}", redacted(&text));
                assert!(!scrubbed(&text, "").contains("SECRET"), "{text}: {}", scrubbed(&text, ""));
                assert!(scrubbed(&text, "").contains("h/x"), "{text}: {}", scrubbed(&text, ""));
            }
        }
    }
    for text in [
        "https:///SECRET@h/x",
        "s3:///SECRET@b",
        "https://SECRET%40h",
        "https:/SECRET@h",
        "https:///me:pa/SECRET@h/x",
        "https://me:/SECRET@h/x",
        "https://me:1/SECRET@h/x",
        "https://me:12#SECRET@h/x",
        "root://me:1#SECRET@h//x",
        "https://me.you:/SECRET@h/x",
        "no https://me:p@ss SECRET@h/x, ok",
        "https://me:p@ss 'SECRET@h/x",
        "https://me:p SECRET@a b@h",
        "https://me:p://SECRET@h/x",
        "https:// /SECRET@h/x",
        "https:// /me:p/SECRET@h",
        "%40é/",
        "://%40\\%40",
        "://%40root//%40",
    ] {
        for form in [redacted(text), scrubbed(text, ""), scrubbed(text, text)] {
            assert!(!form.contains("SECRET"), "{text}: {form}");
            assert_eq!(redacted(&form), form);
        }
    }
}

#[test]
fn paths_and_sentences_stay() {
    for text in [
        "https://h/a@b/x",
        "s3://bucket/a@b/x",
        "/data/a@b.root",
        "file:///a@b.root",
        "root://h.cern.ch:1094//store/user@site/f.root",
        "root://localhost:1094//a@b",
        "root://127.0.0.1:1094//a@b",
        "https://h:8080/f.root: 404",
        "mail me@h, or you@h: both",
        "file.root:dir/a@b: no such key",
        "https://h/x: expected 3, got 4; ask a@b",
        "12:30:05 a@b",
        "git@github.com:a/b",
        "zip://in.root::/disk/a@b.zip",
        r"C:\a@b.root",
        "[(1, 'x'), (2, 'y')]: {'a': 5}",
    ] {
        assert_eq!(redacted(text), text);
        assert_eq!(scrubbed(text, ""), text);
    }
    assert_eq!(scrubbed("no https://me:pw@h/x: ask a@b", ""), "no https://h/x: ask a@b");
    assert_eq!(scrubbed("no 'https://me:pw@h' for 'a@b'", ""), "no 'https://h' for 'a@b'");
    // What may be a part of the path tells files apart.
    assert_ne!(hidden_distinction("root://h:1094//a@f.root"), hidden_distinction("root://h:1094//b@f.root"));
    assert_ne!(hidden_distinction("https://h/x/a:b@f.root"), hidden_distinction("https://h/x/c:b@f.root"));
    assert_eq!(hidden_distinction("root://proxy//root://me:pw@h//f"), None);
}

#[test]
fn users_that_no_parser_finds_and_passwords_of_databases_are_hidden() {
    for (text, shown) in [
        (r"https:\\me:SECRET@h\x.root", r"https:\\h\x.root"),
        (r"https:\\\\me:SECRET@h\\x.root", r"https:\\\\h\\x.root"),
        (r"https:\\me:p\SECRET@h\x.root", r"https:\\h\x.root"),
        (r"https:\\SECRET@h\x.root", r"https:\\h\x.root"),
        (r"C:\\data\\a@b.root", r"C:\\data\\a@b.root"),
        ("https://me:SECRET%40h/x.root", "https://h/x.root"),
        ("https://me:p/SECRET%40h/x.root", "https://h/x.root"),
        ("https://you@me:SECRET%40h/x.root", "https://h/x.root"),
        ("https://me:SECRET\u{ff20}h/x.root", "https://h/x.root"),
        ("https://h.ch:80/a%40b.root", "https://h.ch:80/a%40b.root"),
        ("https://me:p SECRET@h/x.root", "https://h/x.root"),
        ("https://me:p\"SECRET@h/x.root", "https://h/x.root"),
        ("http;//me:p SECRET@h/x.root", "http;//h/x.root"),
        ("host=h user=me password=SECRET dbname=x", "host=h user=me password=... dbname=x"),
        ("password = 'a SE\\'CRET' dbname=x", "password = '...' dbname=x"),
        (r"sslpassword=\'a SECRET\' dbname=x", r"sslpassword=\'...\' dbname=x"),
        ("Server=h;Pwd=SECRET", "Server=h;Pwd=..."),
        ("passwords=3 nopwd=4", "passwords=3 nopwd=4"),
    ] {
        for form in [redacted(text), scrubbed(text, ""), scrubbed(text, text)] {
            assert_eq!(form, shown, "{text}");
            assert_eq!(redacted(&form), form);
        }
        assert!(!scrubbed(&format!("no \"{text}\", a@b"), "").contains("SECRET"), "{text}");
    }
    assert_eq!(scrubbed("no https://h:80 for a@b, https://h: a@b", ""), "no https://h:80 for a@b, https://h: a@b");
}

#[test]
fn messages_of_others_are_scrubbed_of_what_is_hidden() {
    let url = "zip://in.root::https://me:pw%21456@h:9/a.zip?sig=Top/Secret&v=1&authz=Bearer%20abcdefgh";
    for (text, shown) in [
        ("no route to h:9", "no route to h:9"),
        ("GET https://me:pw%21456@h:9/a.zip?sig=Top/Secret : 404", "GET https://h:9/a.zip?sig=... : 404"),
        ("refused: /a.zip?v=1&sig=Top/Secret", "refused: /a.zip?v=...&sig=..."),
        ("login with 'pw!456'", "login with '...'"),
        ("token abcdefgh", "token ..."),
        ("sent on to 'https://you:pass@cdn/x?key=1'", "sent on to 'https://cdn/x?key=...'"),
    ] {
        assert_eq!(scrubbed(text, url), shown, "{text}");
    }
    assert_eq!(scrubbed("no user metoo; root://me@h", "root://me@h//f"), "no user metoo; root://h");
    assert_eq!(scrubbed("short and short-lived", "https://h/f?a=short-&b=short-lived"), "short and ...");
}

#[test]
fn what_was_sent_is_not_shown_in_any_form() {
    assert_eq!(basic_authorization("bob", "pw%21").expose(), "Basic Ym9iOnB3IQ==");
    let token = Secret::new("S3kr3t+TOKEN=");
    for said in ["S3kr3t+TOKEN=", "S3kr3t%2BTOKEN%3D", "UzNrcjN0K1RPS0VOPQ=="] {
        let shown = scrubbed_of_sent(&format!("token Bearer {said} expired"), &[], Some(&token));
        assert_eq!(shown.replace('=', ""), "token Bearer ... expired");
    }
    let user = "http://bob:pw%21@h/f";
    for said in ["Basic Ym9iOnB3IQ==", "bob:pw!", "bob:pw%21", "Basic Ym9iOnB3JTIx"] {
        let shown = scrubbed_of_sent(&format!("no {said} here"), &["http://h/g", user], None);
        assert_eq!(shown.replace("Basic ", "").replace('=', ""), "no ... here");
    }
    let signed = "http://h/f?X-Amz-Credential=AKIDEXAMPLE%2F20260101%2Fus%2Fs3%2Faws4_request";
    assert_eq!(scrubbed("no AKIDEXAMPLE here", signed), "no ... here");
}

#[test]
fn marks_without_an_end_take_no_time_of_their_own() {
    // Of so many, each followed by a look at all the others, the machine would be busy for hours.
    const N_MARKS: usize = 1_000_000;
    for (begin, mark) in [
        ("x://", "::"),
        ("x://", ":"),
        ("x://h/", "&"),
        ("/", "?"),
        ("https:", "://"),
        ("", "@:"),
        ("@", "//a:b"),
        ("", "x//a:b@"),
        ("x", ":\\\\a:b"),
        ("x://", "a:b c@"),
        ("x://", "a:b%40"),
        ("x", "password='"),
        ("root://", "#"),
        ("x://h", "#"),
        ("x", "://a:b"),
        ("", "/ "),
        ("x", "//a:b@ "),
        ("x", "//a:1/b@"),
        ("x:// ", "a b@c "),
    ] {
        let text = format!("{begin}{}", mark.repeat(N_MARKS));
        assert!(redacted(&text).starts_with(if begin == "https:" { "" } else { begin }), "{begin}{mark}");
    }
}

proptest! {
    #[test]
    fn no_password_is_shown(
        before in "(|see |'|\\(url=|[a-z]{1,5}: )", scheme in "(https?|root|s3|davs|ht[a-z]{1,4}|simplecache::https)",
        marks in "(:///{0,3}|:/|;//|://\\./|:/ /|:\\\\\\\\)", user in "[a-z][a-z.]{0,8}", begin in "(|[A-Za-z]{1,3}[/@#: ]|/)",
        password in "[A-Z]{4}[A-Z0-9]{6}", host in "[a-z]{1,6}(|\\.ch)(|:[0-9]{2,4})", path in "(|/|/[a-z]{1,5}|//[a-z]{1,5}\\.root)",
        behind in "(|, ok|' and so on|: [a-z]{1,9} [0-9])",
    ) {
        let url = format!("{scheme}{marks}{user}:{begin}{password}@{host}{path}");
        let text = format!("{before}{url}{behind}");
        for shown in [redacted(&url), redacted(&text), scrubbed(&text, ""), scrubbed(&text, &url)] {
            prop_assert!(!shown.contains(&password), "{text}: {shown}");
        }
        let bare = format!("{before}{scheme}{marks}{host}{path}{behind}");
        prop_assert_eq!(scrubbed(&bare, ""), bare);
    }

    #[test]
    fn any_text_is_redacted_and_what_was_hidden_stays_so(url in "([a-c]|://|::|[/?#&=@:;.é \"\\\\]|//|root|https|%40|pwd){0,12}") {
        let once = redacted(&url);
        prop_assert_eq!(&redacted(&once), &once);
        scrubbed(&once, &url);
    }
}
