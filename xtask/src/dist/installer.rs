//! The shell installer and the Homebrew formula, from the table of platforms.

use super::{
    archive::PackagedFile,
    checksums::hex_digest,
    platform::{PLATFORMS, Platform},
    product::Product,
};

/// Its two marks are replaced by the version and by the arms of a `case`.
const INSTALLER: &str = include_str!("installer/install.sh");

/// The name of a platform's archive.
pub(crate) fn archive_name(product: &Product, platform: &Platform) -> String {
    format!("{}-{}-{}.tar.gz", product.name, product.version, platform.name)
}

/// A shell script that installs the archive of the machine it runs on.
pub(crate) fn script(product: &Product) -> String {
    let mut arms = String::new();
    for platform in PLATFORMS {
        let (system, machine) = platform.uname;
        let arm = format!("  \"{system} {machine}\") platform={} ;;\n", platform.name);
        if !arms.contains(&arm) {
            arms.push_str(&arm);
        }
    }
    INSTALLER.replace("@VERSION@", &product.version).replace("@PLATFORMS@\n", &arms)
}

/// A formula for the archives that were made, as they are found at `url`.
pub(crate) fn formula(
    product: &Product,
    url: &str,
    archives: &[(Platform, PackagedFile)],
) -> String {
    let blocks: String =
        archives.iter().map(|(platform, file)| block(platform, url, file)).collect();
    let Product { name, version, summary, .. } = product;
    let summary = summary.trim_end_matches('.');
    format!(
        "class Muster < Formula\n  desc \"{summary}\"\n  version \"{version}\"\n  \
         license any_of: [\"MIT\", \"Apache-2.0\"]\n\n{blocks}\n  def install\n    \
         bin.install \"bin/{name}\"\n    share.install Dir[\"share/*\"]\n  end\n\n  \
         test do\n    assert_match version.to_s, shell_output(\"#{{bin}}/{name} --version\")\n  \
         end\nend\n"
    )
}

fn block(platform: &Platform, url: &str, file: &PackagedFile) -> String {
    let system = if platform.node.0 == "darwin" { "on_macos" } else { "on_linux" };
    let cpu = if platform.node.1 == "arm64" { "on_arm" } else { "on_intel" };
    format!(
        "  {system} do\n    {cpu} do\n      url \"{url}/{}\"\n      \
         sha256 \"{}\"\n    end\n  end\n",
        file.path,
        hex_digest(&file.bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_platform_is_known_to_the_script_once() {
        let product = Product {
            name: "muster".to_owned(),
            version: "1.2.3".to_owned(),
            summary: "Keeps work.".to_owned(),
            license: "MIT".to_owned(),
        };
        let script = script(&product);
        assert_eq!(script.matches("platform=linux-x64 ;;").count(), 1);
        assert!(script.contains("\"Darwin arm64\") platform=darwin-arm64 ;;"));
        assert!(script.contains("version=1.2.3") && !script.contains('@'), "{script}");
        let archive = PackagedFile::text("muster-1.2.3-linux-x64.tar.gz", "");
        let formula = formula(&product, "https://downloads.test", &[(PLATFORMS[0], archive)]);
        assert!(formula.contains("url \"https://downloads.test/muster-1.2.3-linux-x64.tar.gz\""));
    }
}
