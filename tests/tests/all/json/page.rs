//! The page of `report` is strict HTML that loads nothing else, and a browser draws all of its figures.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use shardc_tests::command::shardc;
use shardc_tests::corpus::sample;
use shardc_tests::tools::scratch;

/// A gather of an argument whose name would close the surrounding HTML element if it weren't escaped.
const PROGRAM: &str = r#"
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(%a: tensor<1024x512xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<512x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>} loc("</script><i>&'\22")) -> (tensor<1024x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1024x512xbf16>, tensor<512x1024xbf16>) -> tensor<1024x1024xbf16>
  return %0 : tensor<1024x1024xbf16>
}"#;

fn page(program: &str) -> String {
    shardc(&["report", "-", "--target", "v5e:4x2", "--tries", "4"], program).succeeded().text()
}

/// Returns the elements of a page in order, or the reason why it is not strict HTML: every element must be closed
/// inside its parent, every attribute quoted, every `&` an entity.
fn elements(page: &str) -> Result<Vec<String>, String> {
    let mut rest = page.strip_prefix("<!DOCTYPE html>").ok_or("no document type")?;
    let (mut open, mut all): (Vec<String>, Vec<String>) = Default::default();
    while let Some(at) = rest.find(['<', '&', '>']) {
        let (from, is) = (&rest[at + 1..], &rest[at..at + 1]);
        let near = || rest[at..].chars().take(40).collect::<String>();
        if is == ">" {
            return Err(format!("a bracket that closes nothing: {}", near()));
        }
        if is == "&" {
            let known = ["amp;", "lt;", "gt;", "quot;"].iter().find(|name| from.starts_with(**name));
            rest = &from[known.ok_or_else(|| format!("no entity: {}", near()))?.len()..];
            continue;
        }
        let end = from.find('>').ok_or_else(|| format!("not closed: {}", near()))?;
        let (tag, after) = (&from[..end], &from[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            let opened = open.pop();
            if opened.as_deref() != Some(name) {
                return Err(format!("</{name}> closes {opened:?}"));
            }
            continue;
        }
        let (tag, alone) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(format!("no name of an element: {}", near()));
        }
        let mut left = attributes.trim();
        while !left.is_empty() {
            let quoted = left.split_once("=\"").and_then(|(key, value)| Some((key, value.split_once('"')?)));
            let Some((key, (_, others))) = quoted else { return Err(format!("an attribute of <{tag}>")) };
            if !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
                return Err(format!("the attribute '{key}' of <{tag}>"));
            }
            left = others.trim_start();
        }
        all.push(name.to_owned());
        if ["script", "style"].contains(&name) {
            let close = format!("</{name}>");
            let (_, after) = rest.split_once(&close).ok_or_else(|| format!("<{name}> isn't closed"))?;
            rest = after;
        } else if !alone && name != "meta" {
            open.push(name.to_owned());
        }
    }
    if open.is_empty() { Ok(all) } else { Err(format!("left open: {open:?}")) }
}

#[test]
fn the_page_is_strict_and_loads_nothing() {
    for program in [PROGRAM.to_owned(), sample("train_2d").text] {
        let page = page(&program);
        let elements = elements(&page).expect("strict HTML");
        for (name, least) in [("table", 3), ("svg", 1), ("script", 2), ("rect", 8), ("h2", 6)] {
            let count = elements.iter().filter(|e| *e == name).count();
            assert!(count >= least, "{count} of <{name}>");
        }
        let (_, data) = page.split_once("id=\"data\">").expect("data");
        let data: serde_json::Value = serde_json::from_str(data.split("</script>").next().unwrap()).expect("JSON");
        let cost = shardc(&["cost", "--json", "--target", "v5e:4x2", "-"], &program).json();
        for key in ["step_s", "exposed_s", "peak_bytes", "collectives"] {
            assert_eq!(data["cost"][key], cost[key], "{key}");
        }
        assert_eq!(data["memory"]["bytes"], cost["peak_bytes"]);
        assert!(!data["timeline"].as_array().expect("a list").is_empty());
        let addresses = page.replace("http://www.w3.org/2000/svg", "");
        for word in ["http:", "https:", "src=", "href=", "import ", "fetch(", "url("] {
            assert!(!addresses.contains(word), "the page has {word}");
        }
    }
}

/// Returns the browser's output and error output when it opens a file.
fn opened(folder: &Path, flags: &[&str], file: &Path) -> (String, String) {
    let mut child = Command::new("chromium")
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-extensions", "--disable-background-networking", "--enable-logging=stderr"])
        .args(["--window-size=1200,2400", "--virtual-time-budget=3000"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .args(flags)
        .arg(format!("file://{}", file.display()))
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(folder.join("out")).unwrap())
        .stderr(std::fs::File::create(folder.join("err")).unwrap())
        .spawn()
        .expect("a browser starts");
    let end = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("the browser doesn't end");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let read = |name: &str| String::from_utf8_lossy(&std::fs::read(folder.join(name)).unwrap()).into_owned();
    (read("out"), read("err"))
}

#[test]
#[cfg_attr(not(has = "chromium"), ignore = "install chromium")]
fn a_browser_draws_the_page() {
    let folder = scratch("report");
    let (file, blank) = (folder.join("report.html"), folder.join("blank.html"));
    std::fs::write(&file, page(&sample("train_2d").text)).unwrap();
    std::fs::write(&blank, "<!DOCTYPE html><html><body></body></html>").unwrap();
    let (dom, said) = opened(&folder, &["--dump-dom"], &file);
    let faults: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(faults.is_empty(), "{faults:?}");
    // The elements that the script drew.
    let part = |id: &str| {
        let (_, from) = dom.split_once(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id} in {said}"));
        from.split("<h2>").next().unwrap_or_default().to_owned()
    };
    assert!(part("timeline").matches("<rect").count() >= 4, "{}", part("timeline"));
    assert!(part("memory").matches("<rect").count() >= 4 && part("memory").matches("<td").count() >= 6);
    assert!(part("roofline").contains("<circle"));
    // A picture of the page is much larger than one of an empty page.
    let picture = |file: &Path, name: &str| {
        let path = folder.join(name);
        opened(&folder, &[&format!("--screenshot={}", path.display())], file);
        std::fs::metadata(&path).expect("a picture").len()
    };
    let (full, empty) = (picture(&file, "report.png"), picture(&blank, "blank.png"));
    assert!(full > 5 * empty, "{full} and {empty} bytes");
}
