//! The list of everything that is in the program, in the form of CycloneDX 1.5.

use anyhow::Result;
use serde_json::{Value, json};

use super::{linked::LinkedPackage, product::Product};

/// The list as a file.
pub(crate) fn text(product: &Product, packages: &[LinkedPackage]) -> Result<String> {
    Ok(serde_json::to_string_pretty(&document(product, packages))? + "\n")
}

fn document(product: &Product, packages: &[LinkedPackage]) -> Value {
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "name": product.name,
            "version": product.version,
            "licenses": [{ "expression": product.license }],
        } },
        "components": packages.iter().map(component).collect::<Vec<_>>(),
    })
}

fn component(package: &LinkedPackage) -> Value {
    let mut component = json!({
        "type": "library",
        "name": package.name,
        "version": package.version,
        "purl": package.url(),
    });
    if let Some(license) = &package.license {
        component["licenses"] = json!([{ "expression": license }]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::linked::Registry;

    #[test]
    fn a_package_has_its_address_and_its_license() {
        let product = Product {
            name: "muster".to_owned(),
            version: "1.0.0".to_owned(),
            summary: String::new(),
            license: "MIT".to_owned(),
        };
        let package = LinkedPackage {
            registry: Registry::Npm,
            name: "page".to_owned(),
            version: "2.0.0".to_owned(),
            license: Some("ISC".to_owned()),
            terms: Vec::new(),
        };
        let expected = json!([{
            "type": "library", "name": "page", "version": "2.0.0",
            "purl": "pkg:npm/page@2.0.0",
            "licenses": [{ "expression": "ISC" }],
        }]);
        assert_eq!(document(&product, &[package])["components"], expected);
    }
}
